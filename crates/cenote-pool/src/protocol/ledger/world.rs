//! What the ledger asks of the outside, and what it answers when it cannot.

use std::io;

use crate::change::Change;
use crate::id::Place;
use crate::protocol::Memory;

/// What the ledger cannot do by itself.
pub trait World {
    /// The memory of head tables.
    type Heads: Memory;

    /// Makes sure that the board has this many entries and records allocated.
    ///
    /// # Errors
    /// No space.
    fn grow_board(&mut self, entries: u64, records: u64) -> io::Result<()>;

    /// Zeroed memory for head table `number`.
    ///
    /// # Errors
    /// No space.
    fn make_heads(&mut self, number: u64, words: u64) -> io::Result<Self::Heads>;

    /// A head table that readers no longer need to find.
    fn drop_heads(&mut self, number: u64);

    /// Stores a manifest's bytes in an arena of the pool's own.
    ///
    /// # Errors
    /// No space.
    fn write_manifest(&mut self, bytes: &[u8]) -> io::Result<Place>;

    /// Makes a change durable: after this returns it survives the daemon.
    ///
    /// # Errors
    /// The log cannot be written; nothing has happened.
    fn log(&mut self, change: &Change) -> io::Result<()>;

    /// A named place in a sequence, where a test may stop the world.
    fn step(&mut self, _name: &'static str) {}
}

/// How a commit treats a name that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum IfExists {
    /// Refuse.
    Fail,
    /// Publish a new version in its place.
    Replace,
    /// Publish a new version that has the old one's rows, and then these.
    Append,
}

/// Why a change was refused; nothing has happened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The name is taken.
    #[error("frame {0:?} exists")]
    Exists(String),
    /// The name stands for another version than it was to.
    #[error("frame {name:?} stands for version {found}, not {expected}")]
    Conflict {
        /// Which.
        name: String,
        /// As wanted; 0 for none.
        expected: u64,
        /// As found; 0 for none.
        found: u64,
    },
    /// There is no such name.
    #[error("no frame {0:?}")]
    NotFound(String),
    /// The board has no slot left.
    #[error("the board is full: {used} of {room} {what}")]
    BoardFull {
        /// Entries or records.
        what: &'static str,
        /// In use.
        used: u64,
        /// In all.
        room: u64,
    },
    /// The world refused.
    #[error("the pool could not write")]
    Io(#[from] io::Error),
}
