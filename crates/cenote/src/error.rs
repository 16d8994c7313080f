//! What can go wrong, with the numbers in it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use arrow_schema::{ArrowError, DataType};
use cenote_arrow::{LayoutError, PlanError, SchemaError};
use cenote_pool::manifest::ManifestError;
use cenote_pool::message::Refusal;
use cenote_pool::nearest::{did_you_mean, nearest};
use cenote_pool::pool::OpenError;
use cenote_region::quantity::ByteSize;

use crate::predicate::{Misfit, PredicateError};

/// Why a pool cannot be reached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// No daemon listens.
    #[error("no daemon serves it")]
    NotRunning,
    /// The daemon is there and does not go on.
    #[error("its daemon, process {pid}, is stopped; `kill -CONT {pid}` lets it go on")]
    Stopped {
        /// The daemon.
        pid: u32,
    },
    /// No answer in time.
    #[error("no answer from its daemon within {0:?}")]
    Silent(Duration),
    /// A daemon was started and does not answer.
    #[error("a daemon was started and ended at once: {0}")]
    Start(String),
    /// The system refused.
    #[error("{0}")]
    Io(std::io::Error),
    /// The pool was made anew; what this connection knew of it is gone.
    #[error("it was made anew since this connection began")]
    Remade,
    /// The process was forked, and the pool belongs to its parent.
    #[error("it is the parent's alone (embedded); connect to a served pool instead")]
    Parents,
}

/// Any failure of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The pool says no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The pool cannot be reached.
    #[error("the pool in {path} cannot be reached: {why}{}", remedy(path, why))]
    Unavailable {
        /// Its directory.
        path: PathBuf,
        /// Why.
        why: Unavailable,
    },
    /// A pool of this process could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The frame has no such column.
    #[error(
        "frame {frame:?} has no column {column:?}; its columns are {}{}",
        list(known),
        did_you_mean(&nearest(column, known.iter().map(String::as_str)))
    )]
    NoColumn {
        /// The frame.
        frame: String,
        /// As asked.
        column: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A predicate cannot be read.
    #[error(transparent)]
    Predicate(#[from] PredicateError),
    /// A predicate nests too deep.
    #[error("the predicate nests deeper than {} levels", crate::predicate::DEPTH_MAX)]
    TooDeep,
    /// A predicate does not fit a column.
    #[error("column {column:?} is of type {data_type}: {misfit}")]
    Misfit {
        /// The column.
        column: String,
        /// Its type.
        data_type: DataType,
        /// Why.
        misfit: Misfit,
    },
    /// The rows asked for are not rows of the frame.
    #[error("there are no rows {start}..{stop} in frame {frame:?}: it has {rows}, counted from 0")]
    Rows {
        /// The frame.
        frame: String,
        /// First.
        start: i64,
        /// One past the last.
        stop: i64,
        /// How many there are.
        rows: u64,
    },
    /// The bytes of a frame are not what was written.
    #[error("frame {frame:?} version {version} is damaged: {what}; it is not served")]
    Damaged {
        /// The frame.
        frame: String,
        /// Its version.
        version: u64,
        /// In what way.
        what: String,
    },
    /// The process was forked while no lease page for the child could be had.
    #[error(
        "this frame was inherited over a fork while the pool could not be reached; get it again"
    )]
    LostInFork,
    /// A batch does not have the schema of its frame.
    #[error("a batch has the schema {found}, the frame {expected}")]
    Schema {
        /// Of the batch.
        found: String,
        /// Of the frame.
        expected: String,
    },
    /// What was to be appended has other columns than the frame.
    #[error(
        "column {at} of what is appended to frame {frame:?} is {}, in the frame it is {}: convert it, or put a new frame",
        column_text(found),
        column_text(expected)
    )]
    Append {
        /// The frame.
        frame: String,
        /// The first column that differs, counted from 0.
        at: usize,
        /// Its name and type in what was to be appended; `None`: it has no such column.
        found: Option<Box<(String, String)>>,
        /// Its name and type in the frame; `None`: it has no such column.
        expected: Option<Box<(String, String)>>,
    },
    /// An array cannot be stored.
    #[error("column {column:?} cannot be stored")]
    Plan {
        /// Which.
        column: String,
        /// Why.
        source: PlanError,
    },
    /// A schema cannot be stored.
    #[error("the schema cannot be stored")]
    Encode(#[from] SchemaError),
    /// The data could not be read from where it comes.
    #[error(transparent)]
    Source(Box<dyn std::error::Error + Send + Sync>),
    /// Arrow refuses.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// A lease page is full.
    #[error("this process reads {used} chunks at once, the most that one may")]
    Leases {
        /// In use.
        used: u64,
    },
    /// The system refused.
    #[error("cannot {what}")]
    Io {
        /// Do what.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// This process may not map any more memory.
    #[error("cannot {what}: {}", addresses(*limit))]
    Addresses {
        /// Do what.
        what: &'static str,
        /// What its addresses are limited to, in bytes (`RLIMIT_AS`), where they are.
        limit: Option<u64>,
    },
    /// A reference that is none.
    #[error("this is no reference to a frame")]
    Reference,
    /// The writer was used after its end.
    #[error("the writer of frame {0:?} has ended")]
    Ended(String),
}

/// The ways in which a stored version can contradict itself.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Contradiction {
    #[error("{0}")]
    Manifest(#[from] ManifestError),
    #[error("{0}")]
    Layout(#[from] LayoutError),
    #[error("{0}")]
    Schema(#[from] SchemaError),
    #[error("it names board entry {entry} of {entries}")]
    Entry { entry: u32, entries: u64 },
    #[error("the manifest at board entry {entry}, to which it refers, is not what it says")]
    Part { entry: u32 },
}

fn column_text(column: &Option<Box<(String, String)>>) -> String {
    match column.as_deref() {
        Some((name, kind)) => format!("{name:?} ({kind})"),
        None => "not there".to_owned(),
    }
}

fn list(names: &[String]) -> String {
    let mut text = names.iter().take(12).map(|n| format!("{n:?}")).collect::<Vec<_>>().join(", ");
    if names.len() > 12 {
        text += &format!(" and {} more", names.len() - 12);
    }
    text
}

/// Who reads "no daemon" is told what brings one, whichever face he has before him.
fn remedy(path: &Path, why: &Unavailable) -> String {
    match why {
        Unavailable::NotRunning => {
            format!("; `cenote serve --address {}` starts one", path.display())
        }
        Unavailable::Silent(_) => "; it may be busy: try again".to_owned(),
        Unavailable::Remade => "; connect again".to_owned(),
        _ => String::new(),
    }
}

fn addresses(limit: Option<u64>) -> String {
    match limit {
        Some(limit) => format!(
            "this process may have {} of addresses (`ulimit -v {}`), and an arena takes 256 MiB of \
             them; start it after `ulimit -v unlimited`",
            ByteSize(limit),
            limit >> 10
        ),
        None => "the kernel has no room for another mapping; `sysctl vm.max_map_count` says how \
                 many a process may have, /proc/meminfo whether there is memory"
            .to_owned(),
    }
}

impl Error {
    /// For a mapping that fails: mostly for want of addresses.
    pub(crate) fn map(what: &'static str) -> impl FnOnce(std::io::Error) -> Error {
        move |source| {
            if source.kind() != std::io::ErrorKind::OutOfMemory {
                return Error::Io { what, source };
            }
            let limit = rustix::process::getrlimit(rustix::process::Resource::As).current;
            Error::Addresses { what, limit }
        }
    }

    pub(crate) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Error {
        move |source| Error::Io { what, source }
    }
}
