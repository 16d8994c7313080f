//! The layouts of the shared words: 28 bits of index, 4 of state, 32 of generation.
//!
//! ```text
//! bit  63            32 31    28 27                 0
//!     +----------------+--------+--------------------+
//!     |   generation   | state  |       index        |   board entry: index of a record
//!     |   generation   | kind   |       entry        |   lease slot
//!     |     stamp      | state  |       entry        |   head
//!     |   generation   | kind   |       entry        |   word 0 of a location record
//!     +----------------+--------+--------------------+
//! ```

use crate::id::{EntryId, Generation, RecordId};

/// Bits of an index.
pub const INDEX_BITS: u32 = 28;
/// One past the largest index that a word can carry.
pub const INDEX_END: u32 = 1 << INDEX_BITS;
/// A slot of this generation is never given out again: the next would be too near to
/// wrapping.
pub const GENERATION_LAST: u32 = u32::MAX - 1;

const fn pack(index: u32, state: u8, generation: u32) -> u64 {
    debug_assert!(index < INDEX_END && state < 16);
    (index as u64) | ((state as u64) << INDEX_BITS) | ((generation as u64) << 32)
}

#[expect(clippy::cast_possible_truncation, reason = "masked to the field's width")]
const fn unpack(word: u64) -> (u32, u8, u32) {
    ((word as u32) & (INDEX_END - 1), ((word >> INDEX_BITS) & 15) as u8, (word >> 32) as u32)
}

/// A board entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Which life of the slot this is.
    pub generation: Generation,
    /// The record that says where the chunk stands; `None` while the slot is free.
    pub record: Option<RecordId>,
}

impl Entry {
    /// The word.
    #[must_use]
    #[inline(always)]
    pub fn pack(self) -> u64 {
        match self.record {
            Some(record) => pack(record.0, 1, self.generation.0),
            None => pack(0, 0, self.generation.0),
        }
    }

    /// Reads a word; an unknown state reads as free.
    #[must_use]
    #[inline(always)]
    pub fn unpack(word: u64) -> Entry {
        let (index, state, generation) = unpack(word);
        Entry {
            generation: Generation(generation),
            record: (state == 1).then_some(RecordId(index)),
        }
    }
}

/// What a lease pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseKind {
    /// The chunk's present place; of a manifest also the lives of all its chunks.
    Place = 1,
    /// The present places of all chunks of the version whose manifest is named.
    Version = 2,
}

/// A lease slot: which chunk, in which life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The board entry.
    pub entry: EntryId,
    /// Its generation when the lease was taken.
    pub generation: Generation,
    /// What is pinned.
    pub kind: LeaseKind,
}

impl Lease {
    /// The word; never 0, which is an empty slot.
    #[must_use]
    #[inline(always)]
    pub fn pack(self) -> u64 {
        pack(self.entry.0, self.kind as u8, self.generation.0)
    }

    /// Reads a slot. `None`: empty, or no lease at all (a damaged page).
    #[must_use]
    #[inline(always)]
    pub fn unpack(word: u64) -> Option<Lease> {
        let (index, kind, generation) = unpack(word);
        let kind = match kind {
            1 => LeaseKind::Place,
            2 => LeaseKind::Version,
            _ => return None,
        };
        Some(Lease { entry: EntryId(index), generation: Generation(generation), kind })
    }
}

/// A head: which manifest a name stands for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The manifest's entry; `None`: the name is dropped.
    pub manifest: Option<EntryId>,
    /// Counts the changes of this head.
    pub stamp: u32,
}

impl Head {
    /// The word.
    #[must_use]
    #[inline(always)]
    pub fn pack(self) -> u64 {
        match self.manifest {
            Some(entry) => pack(entry.0, 1, self.stamp),
            None => pack(0, 2, self.stamp),
        }
    }

    /// Reads a word; anything but a live head reads as dropped.
    #[must_use]
    #[inline(always)]
    pub fn unpack(word: u64) -> Head {
        let (index, state, stamp) = unpack(word);
        Head { manifest: (state == 1).then_some(EntryId(index)), stamp }
    }
}

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkKind {
    /// Columns of one partition.
    Data = 1,
    /// A manifest.
    Manifest = 2,
}

/// Word 0 of a location record: whose place the record describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// The entry that names, or named, the record.
    pub entry: EntryId,
    /// In which life.
    pub generation: Generation,
    /// What stands there.
    pub kind: ChunkKind,
}

impl Tenant {
    /// The word; never 0, which is a free record.
    #[must_use]
    pub fn pack(self) -> u64 {
        pack(self.entry.0, self.kind as u8, self.generation.0)
    }

    /// Reads the word; `None`: the record is free or damaged.
    #[must_use]
    pub fn unpack(word: u64) -> Option<Tenant> {
        let (index, kind, generation) = unpack(word);
        let kind = match kind {
            1 => ChunkKind::Data,
            2 => ChunkKind::Manifest,
            _ => return None,
        };
        Some(Tenant { entry: EntryId(index), generation: Generation(generation), kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_they_went_in_at_their_bounds() {
        for index in [0, 1, INDEX_END - 1] {
            for generation in [0, 1, GENERATION_LAST, u32::MAX] {
                let generation = Generation(generation);
                let entry = Entry { generation, record: Some(RecordId(index)) };
                assert_eq!(Entry::unpack(entry.pack()), entry);
                let lease = Lease { entry: EntryId(index), generation, kind: LeaseKind::Version };
                assert_eq!(Lease::unpack(lease.pack()), Some(lease));
                let head = Head { manifest: Some(EntryId(index)), stamp: generation.0 };
                assert_eq!(Head::unpack(head.pack()), head);
                let tenant =
                    Tenant { entry: EntryId(index), generation, kind: ChunkKind::Manifest };
                assert_eq!(Tenant::unpack(tenant.pack()), Some(tenant));
            }
        }
        assert_eq!(Lease::unpack(0), None);
        assert_eq!(Tenant::unpack(0), None);
        assert_eq!(Head::unpack(0).manifest, None);
    }
}
