//! How far a load has come, readable from another thread, and the way to stop it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::notice::Notice;

/// What a load is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Looking for files.
    Listing,
    /// Reading first records of CSV files (or all, where the schema is to be exact before
    /// decoding), or Parquet footers, to learn the schema.
    Scanning,
    /// Giving out batches.
    Decoding,
}

/// One reading of a [`Meter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Bytes of the input files, as stored, that this stage has dealt with.
    pub bytes_done: u64,
    /// Bytes of the input files, as stored; 0 while listing.
    pub bytes_total: u64,
    /// Rows given out in this stage.
    pub rows_done: u64,
    /// Index into [`Source::files`](crate::Source::files) of the file whose rows were given
    /// out last.
    pub file: u64,
}

/// A shared counter: the load writes it, a progress bar reads it.
///
/// Clones are the same meter. Cost of an update: one relaxed addition a quarter MiB.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    stage: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    rows: AtomicU64,
    file: AtomicU64,
    cancelled: AtomicBool,
    notices: Mutex<Vec<Notice>>,
}

impl Meter {
    /// A meter at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Where the load is now. The fields are read one by one: they may be a moment apart.
    #[must_use]
    pub fn read(&self) -> Progress {
        let stage = match self.0.stage.load(Relaxed) {
            0 => Stage::Listing,
            1 => Stage::Scanning,
            _ => Stage::Decoding,
        };
        Progress {
            stage,
            bytes_done: self.0.done.load(Relaxed),
            bytes_total: self.0.total.load(Relaxed),
            rows_done: self.0.rows.load(Relaxed),
            file: self.0.file.load(Relaxed),
        }
    }

    /// Asks the load to stop: [`Source::open_with`](crate::Source::open_with) or the next
    /// batch then returns [`LoadError::Cancelled`](crate::LoadError::Cancelled) within the
    /// time of one cut or batch. For a handler of Ctrl-C; it cannot be taken back.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Relaxed);
    }

    /// Whether it was asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled()
    }

    /// What the load had to say beside its rows, once it has come to its end.
    #[must_use]
    pub fn notices(&self) -> Vec<Notice> {
        self.0.notices.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn tell(&self, notices: Vec<Notice>) {
        *self.0.notices.lock().unwrap_or_else(PoisonError::into_inner) = notices;
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.0.cancelled.load(Relaxed)
    }

    pub(crate) fn enter(&self, stage: Stage, bytes_total: u64) {
        self.0.done.store(0, Relaxed);
        self.0.rows.store(0, Relaxed);
        self.0.total.store(bytes_total, Relaxed);
        self.0.stage.store(stage as u8, Relaxed);
    }

    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.0.done.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn add_rows(&self, rows: u64, file: usize) {
        self.0.rows.fetch_add(rows, Relaxed);
        self.0.file.store(file as u64, Relaxed);
    }
}
