//! Why a pool is not opened, with the numbers where it is for want of space.

use std::io;
use std::path::PathBuf;

use cenote_region::quantity::ByteSize;
use cenote_region::space::AllocateError;

use crate::protocol::board::HeaderError;
use crate::rundir::{RunDir, RunDirError};

/// Why a pool is not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another daemon owns it.
    #[error("the pool in {path} is owned by process {pid}{}", if *stopped { ", which is stopped (kill -CONT lets it go on)" } else { "" })]
    Owned {
        /// The pool.
        path: PathBuf,
        /// The owner.
        pid: u32,
        /// Whether the owner is stopped.
        stopped: bool,
    },
    /// It was made by another version of this program, and is left as it is.
    #[error(
        "the pool in {path} cannot be read: {source}; use the release that made it, or remove the directory"
    )]
    Layout {
        /// The pool.
        path: PathBuf,
        /// The two versions.
        source: HeaderError,
    },
    /// The directory cannot be used.
    #[error(transparent)]
    Dir(#[from] RunDirError),
    /// There is no room for even an empty pool.
    #[error("a pool needs {needed} bytes of capacity; {path} has room for {available}")]
    NoRoom {
        /// The pool.
        path: PathBuf,
        /// At least.
        needed: u64,
        /// As found.
        available: u64,
    },
    /// Its file system is full.
    #[error(
        "cannot open the pool in {path}: its file system is full, {} free of {}",
        ByteSize(*free),
        ByteSize(*total)
    )]
    Full {
        /// The pool.
        path: PathBuf,
        /// Bytes that are free.
        free: u64,
        /// Bytes in all.
        total: u64,
    },
    /// The system refused.
    #[error("cannot open the pool in {path}")]
    Io {
        /// The pool.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl OpenError {
    /// The system refused; where it did for want of space, with the numbers.
    pub(in crate::pool) fn io(dir: &RunDir, source: io::Error) -> OpenError {
        let path = dir.path().to_owned();
        match cenote_region::space::fs_space(&path) {
            Ok(space) if is_full(&source) => {
                OpenError::Full { path, free: space.available.0, total: space.total.0 }
            }
            _ => OpenError::Io { path, source },
        }
    }
}

/// Whether an error, or what lies behind it, is that there is no space.
fn is_full(error: &io::Error) -> bool {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        match error.downcast_ref::<io::Error>() {
            Some(io) if io.kind() == io::ErrorKind::StorageFull => return true,
            _ if matches!(error.downcast_ref(), Some(AllocateError::NoSpace { .. })) => {
                return true;
            }
            // An error that wraps another one shows that one's sources as its own.
            Some(io) if io.get_ref().is_some() => next = io.get_ref().map(|inner| inner as _),
            _ => next = error.source(),
        }
    }
    false
}
