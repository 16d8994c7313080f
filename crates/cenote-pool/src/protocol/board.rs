//! The board: for each chunk, where it stands now.
//!
//! An *entry* is one word: generation, state, index of a *location record*. The record is
//! complete before the entry names it, and is not reused until a scan of the lease pages
//! has passed. So a reader sees either the old place or the new one, never a torn one, and
//! never waits for a writer: there is no lock bit that a dead daemon could leave set.
//!
//! ```text
//! word 0      header (512 words): what never changes, its checksum, then the live words
//! word 512    entries, one word each
//! then        location records, 8 words each
//! then        arena records, 8 words each
//! ```
//!
//! The parts have room for [`Shape`]'s counts in a sparse file; only what the live words
//! `entries`, `records` and `arenas` count is allocated, and nobody reads beyond it.

use super::word::{Entry, INDEX_END, Tenant};
use super::{Memory, Ordering};
use crate::id::{ArenaId, EntryId, Epoch, Generation, Incarnation, Place, RecordId, SessionId};

/// "CENOTE" and the kind of page.
pub const MAGIC: u64 = u64::from_le_bytes(*b"CENOTE-B");
/// Version of everything that `docs/format.md` draws.
pub const LAYOUT_VERSION: u64 = 2;
/// Words before the first entry.
pub const HEADER_WORDS: u64 = 512;
/// Words of a location record.
pub const RECORD_WORDS: u64 = 8;
/// Words of an arena record.
pub const ARENA_WORDS: u64 = 8;

/// High half of an arena record's first word; 0: never made.
const ARENA_THERE: u64 = 1;
const ARENA_GONE: u64 = 2;

/// Words of the header. Up to `CHECKSUM` they are written once, before the file has its name.
mod at {
    pub(super) const MAGIC: u64 = 0;
    pub(super) const VERSION: u64 = 1;
    pub(super) const BOOT_HIGH: u64 = 2;
    pub(super) const BOOT_LOW: u64 = 3;
    pub(super) const POOL: u64 = 4;
    pub(super) const ENTRIES_MAX: u64 = 5;
    pub(super) const RECORDS_MAX: u64 = 6;
    pub(super) const ARENAS_MAX: u64 = 7;
    pub(super) const CHECKSUM: u64 = 8;
    pub(super) const EPOCH: u64 = 16;
    pub(super) const HEADS: u64 = 17;
    pub(super) const ENTRIES: u64 = 18;
    pub(super) const RECORDS: u64 = 19;
    pub(super) const ARENAS: u64 = 20;
    pub(super) const OWNER: u64 = 21;
    pub(super) const CAPACITY: u64 = 22;
    pub(super) const LOGGED: u64 = 23;
}

/// How many of each there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Most entries, at most 2^28.
    pub entries: u64,
    /// Most location records, at most 2^28.
    pub records: u64,
    /// Most arenas in the life of a pool.
    pub arenas: u64,
}

impl Shape {
    /// What a pool is made with: 16 million chunks, a sparse file of 1.2 GiB.
    pub const DEFAULT: Shape = Shape { entries: 1 << 24, records: 1 << 24, arenas: 1 << 20 };

    const fn records_at(&self) -> u64 {
        HEADER_WORDS + self.entries
    }

    const fn arenas_at(&self) -> u64 {
        self.records_at() + self.records * RECORD_WORDS
    }

    /// Words of the whole board.
    #[must_use]
    pub const fn words(&self) -> u64 {
        self.arenas_at() + self.arenas * ARENA_WORDS
    }

    /// The words that hold the first `count` entries, as (first, one past last).
    #[must_use]
    pub const fn entry_words(&self, count: u64) -> (u64, u64) {
        (HEADER_WORDS, HEADER_WORDS + count)
    }

    /// The words that hold the first `count` records.
    #[must_use]
    pub const fn record_words(&self, count: u64) -> (u64, u64) {
        (self.records_at(), self.records_at() + count * RECORD_WORDS)
    }

    /// The words that hold the first `count` arena records.
    #[must_use]
    pub const fn arena_words(&self, count: u64) -> (u64, u64) {
        (self.arenas_at(), self.arenas_at() + count * ARENA_WORDS)
    }

    const fn is_sane(&self) -> bool {
        self.entries <= INDEX_END as u64
            && self.records <= INDEX_END as u64
            && self.arenas <= u32::MAX as u64
    }
}

/// The words of the header that never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The machine's boot, so that a board from before a reboot is known as such.
    pub boot: u128,
    /// This pool, at random.
    pub pool: u64,
    /// The board's room.
    pub shape: Shape,
}

/// Why a board is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Not a board.
    #[error("no cenote board: magic {0:#x}")]
    Magic(u64),
    /// Another layout; nothing was changed.
    #[error("the board has layout version {found}, this program reads version {known}")]
    Version {
        /// In the file.
        found: u64,
        /// Ours.
        known: u64,
    },
    /// The fixed words do not add up.
    #[error(
        "the board's header is damaged: checksum {found:#x} over words that give {computed:#x}"
    )]
    Checksum {
        /// In the file.
        found: u64,
        /// Of the words.
        computed: u64,
    },
    /// The file is shorter than its header says.
    #[error("the board has {words} words, its header promises {promised}")]
    Short {
        /// In the file.
        words: u64,
        /// By the header.
        promised: u64,
    },
}

/// Where a chunk stands, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The entry that names, or named, this record.
    pub tenant: Tenant,
    /// The bytes.
    pub place: Place,
    /// Their checksum (`cenote_region::checksum`).
    pub checksum: u64,
    /// Whether this daemon, or its writer, has seen the bytes match the checksum. A reader
    /// verifies what nobody has.
    pub verified: bool,
}

/// Who may write an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaOwner {
    /// How many writers it has had.
    pub incarnation: Incarnation,
    /// The present one, [`SessionId::NONE`] if nobody.
    pub session: SessionId,
    /// Bytes of the file, holes included.
    pub size: u64,
    /// Bytes from the start that the owner was granted.
    pub granted: u64,
}

/// A view of the board. The pool's view writes; a client's memory is mapped read-only.
#[derive(Clone, Debug)]
pub struct Board<M> {
    memory: M,
    identity: Identity,
}

fn header_checksum(memory: &impl Memory) -> u64 {
    let mut bytes = [0u8; 64];
    for (i, chunk) in bytes.chunks_exact_mut(8).enumerate() {
        chunk.copy_from_slice(&memory.load(i as u64, Ordering::Relaxed).to_le_bytes());
    }
    cenote_region::copy::hash(&bytes)
}

impl<M: Memory> Board<M> {
    /// Writes a new board's header. The memory must be all zero and not yet be shared.
    pub fn create(memory: M, identity: Identity) -> Board<M> {
        assert!(identity.shape.is_sane() && memory.len() >= identity.shape.words());
        let store = |at, value| memory.store(at, value, Ordering::Relaxed);
        store(at::MAGIC, MAGIC);
        store(at::VERSION, LAYOUT_VERSION);
        #[expect(clippy::cast_possible_truncation, reason = "the two halves of a u128")]
        {
            store(at::BOOT_HIGH, (identity.boot >> 64) as u64);
            store(at::BOOT_LOW, identity.boot as u64);
        }
        store(at::POOL, identity.pool);
        store(at::ENTRIES_MAX, identity.shape.entries);
        store(at::RECORDS_MAX, identity.shape.records);
        store(at::ARENAS_MAX, identity.shape.arenas);
        store(at::CHECKSUM, header_checksum(&memory));
        Board { memory, identity }
    }

    /// Opens an existing board after checking its header.
    ///
    /// # Errors
    /// [`HeaderError`]: not a board, another layout, or damaged.
    pub fn open(memory: M) -> Result<Board<M>, HeaderError> {
        let load = |at| memory.load(at, Ordering::Acquire);
        if load(at::MAGIC) != MAGIC {
            return Err(HeaderError::Magic(load(at::MAGIC)));
        }
        // In every version the first nine words are these, so that another version is told
        // from damage.
        let (found, computed) = (load(at::CHECKSUM), header_checksum(&memory));
        if found != computed {
            return Err(HeaderError::Checksum { found, computed });
        }
        if load(at::VERSION) != LAYOUT_VERSION {
            return Err(HeaderError::Version { found: load(at::VERSION), known: LAYOUT_VERSION });
        }
        let shape = Shape {
            entries: load(at::ENTRIES_MAX),
            records: load(at::RECORDS_MAX),
            arenas: load(at::ARENAS_MAX),
        };
        if !shape.is_sane() || memory.len() < shape.words() {
            return Err(HeaderError::Short { words: memory.len(), promised: shape.words() });
        }
        let boot = (u128::from(load(at::BOOT_HIGH)) << 64) | u128::from(load(at::BOOT_LOW));
        let identity = Identity { boot, pool: load(at::POOL), shape };
        Ok(Board { memory, identity })
    }

    /// The words of the header that never change.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The memory below.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Which daemon, counted from the first, owns or last owned the pool.
    pub fn epoch(&self) -> Epoch {
        #[expect(clippy::cast_possible_truncation, reason = "stored from a u32")]
        Epoch(self.memory.load(at::EPOCH, Ordering::Acquire) as u32)
    }

    /// The owner's process id.
    pub fn owner(&self) -> u64 {
        self.memory.load(at::OWNER, Ordering::Acquire)
    }

    /// The capacity that the pool was made with, 0 before it is set.
    pub fn capacity(&self) -> u64 {
        self.memory.load(at::CAPACITY, Ordering::Acquire)
    }

    /// Remembers the capacity for the next owner.
    pub fn set_capacity(&self, bytes: u64) {
        self.memory.store(at::CAPACITY, bytes, Ordering::Release);
    }

    /// The number of the last change that the log was given.
    pub fn logged(&self) -> u64 {
        self.memory.load(at::LOGGED, Ordering::Acquire)
    }

    /// Notes that the log has changes up to this one: a log that knows fewer has lost some.
    pub fn set_logged(&self, number: u64) {
        self.memory.store(at::LOGGED, number, Ordering::Release);
    }

    /// Takes the board over.
    pub fn set_epoch(&self, epoch: Epoch, owner: u64) {
        self.memory.store(at::OWNER, owner, Ordering::Relaxed);
        self.memory.store(at::EPOCH, u64::from(epoch.0), Ordering::Release);
    }

    /// Number of the current head table.
    #[inline(always)]
    pub fn heads(&self) -> u64 {
        // SYNC heads-table: pairs with `set_heads`.
        self.memory.load(at::HEADS, Ordering::Acquire)
    }

    /// Publishes a complete head table.
    pub fn set_heads(&self, number: u64) {
        // SYNC heads-table: pairs with `heads`; the table's words come before its number.
        self.memory.store(at::HEADS, number, Ordering::Release);
    }

    /// Allocated entries, records and arena records.
    pub fn lengths(&self) -> (u64, u64, u64) {
        let shape = &self.identity.shape;
        let load = |at| self.memory.load(at, Ordering::Acquire);
        (
            load(at::ENTRIES).min(shape.entries),
            load(at::RECORDS).min(shape.records),
            load(at::ARENAS).min(shape.arenas),
        )
    }

    /// Says that more is allocated. The space must exist in the file before.
    pub fn set_lengths(&self, entries: u64, records: u64, arenas: u64) {
        self.memory.store(at::ENTRIES, entries, Ordering::Release);
        self.memory.store(at::RECORDS, records, Ordering::Release);
        self.memory.store(at::ARENAS, arenas, Ordering::Release);
    }

    /// The entry's word. Out of range reads as 0, a free slot.
    #[inline(always)]
    pub fn entry_word(&self, entry: EntryId) -> u64 {
        if u64::from(entry.0) >= self.identity.shape.entries {
            return 0;
        }
        // SYNC board-entry: pairs with `publish`; brings the record's words with it.
        self.memory.load(HEADER_WORDS + u64::from(entry.0), Ordering::Acquire)
    }

    /// The entry.
    #[inline(always)]
    pub fn entry(&self, entry: EntryId) -> Entry {
        Entry::unpack(self.entry_word(entry))
    }

    fn record_at(&self, record: RecordId) -> u64 {
        self.identity.shape.records_at() + u64::from(record.0) * RECORD_WORDS
    }

    /// Reads a record. `None`: free, or damaged. The words are of one record only while it
    /// cannot be reused: under a lease, or in the pool.
    #[inline]
    pub fn location(&self, record: RecordId) -> Option<Location> {
        if u64::from(record.0) >= self.identity.shape.records {
            return None;
        }
        let at = self.record_at(record);
        let load = |i| self.memory.load(at + i, Ordering::Relaxed);
        let tenant = Tenant::unpack(load(0))?;
        let arena = load(1);
        #[expect(clippy::cast_possible_truncation, reason = "the two halves of a word")]
        let place = Place {
            arena: ArenaId(arena as u32),
            incarnation: Incarnation((arena >> 32) as u32),
            offset: load(2),
            length: load(3),
        };
        Some(Location { tenant, place, checksum: load(4), verified: load(5) == 1 })
    }

    /// Writes a record that no entry names yet.
    pub fn write_location(&self, record: RecordId, location: &Location) {
        assert!(u64::from(record.0) < self.identity.shape.records);
        let at = self.record_at(record);
        let place = &location.place;
        let store = |i, value| self.memory.store(at + i, value, Ordering::Relaxed);
        store(1, u64::from(place.arena.0) | (u64::from(place.incarnation.0) << 32));
        store(2, place.offset);
        store(3, place.length);
        store(4, location.checksum);
        store(5, u64::from(location.verified));
        // Last: a record whose tenant is set is whole, so that a new daemon can tell a place
        // in use from one whose writing was cut off.
        self.memory.store(at, location.tenant.pack(), Ordering::Release);
    }

    /// Notes whether the bytes were seen to match their checksum.
    pub fn set_verified(&self, record: RecordId, verified: bool) {
        self.memory.store(self.record_at(record) + 5, u64::from(verified), Ordering::Release);
    }

    /// Gives a record back; its place is free.
    pub fn clear_location(&self, record: RecordId) {
        self.memory.store(self.record_at(record), 0, Ordering::Release);
    }

    /// Makes `entry` name `record`, whose words are complete.
    pub fn publish(&self, entry: EntryId, generation: Generation, record: RecordId) {
        assert!(u64::from(entry.0) < self.identity.shape.entries);
        let word = Entry { generation, record: Some(record) }.pack();
        // SYNC board-entry: pairs with `entry_word`.
        self.memory.store(HEADER_WORDS + u64::from(entry.0), word, Ordering::Release);
    }

    /// Makes `entry` name nothing. `generation` is the one it will next live in.
    pub fn withdraw(&self, entry: EntryId, generation: Generation) {
        assert!(u64::from(entry.0) < self.identity.shape.entries);
        let word = Entry { generation, record: None }.pack();
        self.memory.store(HEADER_WORDS + u64::from(entry.0), word, Ordering::Release);
    }

    /// Who may write arena `id`; `None` if it was never made, or is gone.
    pub fn arena(&self, id: ArenaId) -> Option<ArenaOwner> {
        if u64::from(id.0) >= self.identity.shape.arenas {
            return None;
        }
        let at = self.identity.shape.arenas_at() + u64::from(id.0) * ARENA_WORDS;
        let state = self.memory.load(at, Ordering::Acquire);
        if state >> 32 != ARENA_THERE {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the low half of a word")]
        let incarnation = Incarnation(state as u32);
        let load = |i| self.memory.load(at + i, Ordering::Relaxed);
        Some(ArenaOwner {
            incarnation,
            session: SessionId(load(1)),
            size: load(2),
            granted: load(3),
        })
    }

    /// Writes down who may write arena `id`, before the arena is handed out.
    pub fn set_arena(&self, id: ArenaId, owner: &ArenaOwner) {
        assert!(u64::from(id.0) < self.identity.shape.arenas);
        let at = self.identity.shape.arenas_at() + u64::from(id.0) * ARENA_WORDS;
        self.memory.store(at + 2, owner.size, Ordering::Relaxed);
        self.memory.store(at + 3, owner.granted, Ordering::Relaxed);
        self.memory.store(at + 1, owner.session.0, Ordering::Release);
        let state = (ARENA_THERE << 32) | u64::from(owner.incarnation.0);
        self.memory.store(at, state, Ordering::Release);
    }

    /// Notes that the arena's file is gone. Its number is not given to another: clients may
    /// have the file mapped.
    pub fn clear_arena(&self, id: ArenaId) {
        assert!(u64::from(id.0) < self.identity.shape.arenas);
        let at = self.identity.shape.arenas_at() + u64::from(id.0) * ARENA_WORDS;
        self.memory.store(at, ARENA_GONE << 32, Ordering::Release);
    }

    /// Whether there ever was an arena `id`.
    pub fn was_arena(&self, id: ArenaId) -> bool {
        let at = self.identity.shape.arenas_at() + u64::from(id.0) * ARENA_WORDS;
        u64::from(id.0) < self.identity.shape.arenas && self.memory.load(at, Ordering::Acquire) != 0
    }
}
