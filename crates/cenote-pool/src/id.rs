//! Names of things in shared memory and on the wire: small numbers with a type each.
//!
//! Every one has a bound; the bound is asserted where a value is made, so that a number
//! read back from a shared page is either in range or refused.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A slot of the board; names a chunk for as long as the chunk lives.
    EntryId,
    u32
);
id!(
    /// Counts the lives of a board slot. Belongs to the slot and never goes back.
    Generation,
    u32
);
id!(
    /// A location record of the board.
    RecordId,
    u32
);
id!(
    /// An arena; never given to a second file.
    ArenaId,
    u32
);
id!(
    /// How often an arena has changed its writer.
    Incarnation,
    u32
);
id!(
    /// One client's stay with the pool: the epoch in which it began, and a number.
    SessionId,
    u64
);
id!(
    /// Counts the daemons that have owned a pool.
    Epoch,
    u32
);

impl SessionId {
    /// The pool itself, as owner of an arena.
    pub const POOL: SessionId = SessionId(u64::MAX);
    /// Nobody.
    pub const NONE: SessionId = SessionId(0);
}

/// Where a chunk's bytes stand: a run of bytes of one arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The arena.
    pub arena: ArenaId,
    /// Which of the arena's writers wrote it.
    pub incarnation: Incarnation,
    /// First byte, a multiple of [`CHUNK_ALIGN`].
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

impl Place {
    /// One past the last byte. Saturates, so that a place read from a damaged board
    /// compares as out of bounds instead of wrapping.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// Alignment of a chunk's first byte.
pub const CHUNK_ALIGN: u64 = 64;
/// Chunks of this many bytes start on a page of their own, so that their space can be
/// given back alone.
pub const PAGE_ALIGNED_FROM: u64 = 64 << 10;
/// Longest name of a frame, in bytes of UTF-8.
pub const NAME_BYTES_MAX: usize = 255;
/// Most chunks a version may have.
pub const VERSION_CHUNKS_MAX: usize = 1 << 22;
