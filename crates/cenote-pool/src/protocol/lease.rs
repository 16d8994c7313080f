//! Leases: a client says in its own page what it reads, then looks again.
//!
//! A hazard pointer per chunk. The client stores (entry, generation) into a slot, passes a
//! full fence and loads the entry again; unchanged means that the lease holds. The pool
//! changes the entry, passes a full fence and reads every page; a place that no page names
//! is free. One of the two fences comes first, so either the client sees the change or the
//! pool sees the lease.
//!
//! ```text
//! word 0    magic, session, holder (process id, start time), slots in use (a bound), use cursor
//! word 64   the use ring: 128 words, manifest entries as they are opened
//! word 512  slots, 0 = empty
//! ```
//!
//! The page's one writer is the client. The pool believes nothing else about it: any word
//! is either a lease or is skipped.

use std::collections::HashMap;

use super::board::{Board, Location};
use super::heads::{Found, HeadSlot, HeadTable};
use super::word::{ChunkKind, Entry, Head, Lease, LeaseKind};
use super::{Memory, Ordering};
use crate::id::{EntryId, Generation, SessionId};

/// Marks a lease page.
pub const MAGIC: u64 = u64::from_le_bytes(*b"CENOTE-L");
/// Words before the first slot.
pub const HEADER_WORDS: u64 = 512;
/// Slots that a page starts with: 32 KiB.
pub const SLOTS_INITIAL: u64 = 4096;
/// Most slots of a page: 8 MiB of them.
pub const SLOTS_MAX: u64 = 1 << 20;
/// A version of more chunks than this is pinned whole by one [`LeaseKind::Version`] slot.
pub const CHUNK_LEASES_MAX: usize = 1024;
const RING_AT: u64 = 64;
/// Entries that the use ring remembers.
pub const RING_WORDS: u64 = 128;
const RETRIES_MAX: usize = 64;
/// Tries before a client asks the pool about a head that keeps moving.
const HEAD_TRIES_MAX: usize = 8;

mod at {
    pub(super) const MAGIC: u64 = 0;
    pub(super) const SESSION: u64 = 1;
    pub(super) const HOLDER: u64 = 2;
    pub(super) const IN_USE: u64 = 3;
    pub(super) const RING: u64 = 4;
}

/// Who reads by a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its process id, as it sees itself.
    pub pid: u32,
    /// When it began: the low half of its start time, which tells it from another process of
    /// that number, or from one in another PID namespace.
    pub start: u32,
}

/// The first words of a new page.
#[must_use]
pub fn new_header(session: SessionId) -> [u64; 2] {
    [MAGIC, session.0]
}

/// Why a lease was not had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// The chunk's life is over: the version was replaced or dropped.
    #[error("chunk {0} is gone")]
    Gone(EntryId),
    /// The board names a record that is not this chunk's: damage.
    #[error("the board contradicts itself about chunk {0}")]
    Damaged(EntryId),
}

/// One client's lease page.
#[derive(Clone, Debug)]
pub struct LeasePage<M> {
    memory: M,
}

impl<M: Memory> LeasePage<M> {
    /// Writes the header of a new page (the pool does, before it hands the page out).
    pub fn create(memory: M, session: SessionId) -> LeasePage<M> {
        for (at, word) in new_header(session).into_iter().enumerate() {
            memory.store(at as u64, word, Ordering::Release);
        }
        LeasePage { memory }
    }

    /// A page that exists.
    pub fn new(memory: M) -> LeasePage<M> {
        LeasePage { memory }
    }

    /// The memory below.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Whose page it says it is; `None` if it is no lease page.
    pub fn session(&self) -> Option<SessionId> {
        (self.memory.load(at::MAGIC, Ordering::Acquire) == MAGIC)
            .then(|| SessionId(self.memory.load(at::SESSION, Ordering::Relaxed)))
    }

    /// The process that reads by this page, as it sees itself; `None` before one has taken the
    /// page, and after it has let go of it for good.
    pub fn holder(&self) -> Option<Holder> {
        let word = self.memory.load(at::HOLDER, Ordering::Acquire);
        #[expect(clippy::cast_possible_truncation, reason = "the two halves of a word")]
        (word != 0).then_some(Holder { pid: word as u32, start: (word >> 32) as u32 })
    }

    /// Says who holds the page now. Async-signal-safe over mapped memory.
    pub fn set_holder(&self, holder: Option<Holder>) {
        let word = holder.map_or(0, |h| u64::from(h.pid) | (u64::from(h.start) << 32));
        self.memory.store(at::HOLDER, word, Ordering::Release);
    }

    /// Slots below this may be in use.
    pub fn in_use(&self) -> u64 {
        let room = self.memory.len().saturating_sub(HEADER_WORDS).min(SLOTS_MAX);
        self.memory.load(at::IN_USE, Ordering::Acquire).min(room)
    }

    /// What the page says of that, as it says it.
    pub fn in_use_bound(&self) -> u64 {
        self.memory.load(at::IN_USE, Ordering::Acquire)
    }

    /// Raises the bound that the pool's scan reads up to.
    pub fn set_in_use(&self, slots: u64) {
        self.memory.store(at::IN_USE, slots, Ordering::Release);
    }

    /// Stores a lease. It holds only after a fence and a second look at the board.
    #[inline(always)]
    pub fn set(&self, slot: u32, lease: Lease) {
        self.memory.store(HEADER_WORDS + u64::from(slot), lease.pack(), Ordering::Relaxed);
    }

    /// Gives a lease up.
    #[inline(always)]
    pub fn clear(&self, slot: u32) {
        // SYNC lease-clear: pairs with `scan`; all reads of the chunk come before.
        self.memory.store(HEADER_WORDS + u64::from(slot), 0, Ordering::Release);
    }

    /// What slot says.
    pub fn get(&self, slot: u32) -> Option<Lease> {
        Lease::unpack(self.memory.load(HEADER_WORDS + u64::from(slot), Ordering::Acquire))
    }

    /// Remembers that a manifest was opened. Lossy; costs two stores.
    #[inline]
    pub fn note_use(&self, manifest: EntryId) {
        let cursor = self.memory.load(at::RING, Ordering::Relaxed);
        self.memory.store(
            RING_AT + cursor % RING_WORDS,
            u64::from(manifest.0) + 1,
            Ordering::Relaxed,
        );
        self.memory.store(at::RING, cursor.wrapping_add(1), Ordering::Release);
    }

    /// Manifests opened since `cursor`, oldest forgotten first; returns the new cursor.
    pub fn uses_since(&self, cursor: u64, mut each: impl FnMut(EntryId)) -> u64 {
        let now = self.memory.load(at::RING, Ordering::Acquire);
        for i in now.wrapping_sub(now.wrapping_sub(cursor).min(RING_WORDS))..now {
            let word = self.memory.load(RING_AT + i % RING_WORDS, Ordering::Relaxed);
            if let Some(entry) = word.checked_sub(1).and_then(|e| u32::try_from(e).ok()) {
                each(EntryId(entry));
            }
        }
        now
    }

    /// Copies every live slot to `to`, at the same places, for a child about to be forked.
    pub fn copy_to(&self, to: &LeasePage<impl Memory>) -> u64 {
        let in_use = self.in_use();
        to.set_in_use(in_use);
        let mut live = 0;
        for at in HEADER_WORDS..HEADER_WORDS + in_use {
            let word = self.memory.load(at, Ordering::Acquire);
            live += u64::from(word != 0);
            to.memory.store(at, word, Ordering::Relaxed);
        }
        to.memory.fence();
        live
    }

    /// Reads all leases of the first `slots` slots; to be called by the pool after
    /// [`Memory::fence`].
    pub fn scan(&self, slots: u64, mut each: impl FnMut(Lease)) {
        for at in HEADER_WORDS..HEADER_WORDS + self.in_use().min(slots) {
            // SYNC lease-clear: pairs with `clear`.
            if let Some(lease) = Lease::unpack(self.memory.load(at, Ordering::Acquire)) {
                each(lease);
            }
        }
    }
}

/// Takes a lease on each of `wanted` in the slot beside it, all behind one fence, and
/// returns through `each` where the chunk stands. All or nothing: on an error every slot is
/// clear again.
///
/// Costs per chunk two loads of its entry, one store and its record's line; per call one
/// fence. Never waits: it starts again only when the pool has moved a chunk meanwhile.
///
/// # Errors
/// [`LeaseError`].
pub fn acquire<B: Memory, P: Memory>(
    board: &Board<B>,
    page: &LeasePage<P>,
    wanted: &[(EntryId, u32)],
    mut each: impl FnMut(usize, Location),
) -> Result<(), LeaseError> {
    let result = acquire_slots(board, page, wanted, &mut each);
    if result.is_err() {
        for &(_, slot) in wanted {
            page.clear(slot);
        }
    }
    result
}

#[inline]
fn acquire_slots<B: Memory, P: Memory>(
    board: &Board<B>,
    page: &LeasePage<P>,
    wanted: &[(EntryId, u32)],
    each: &mut impl FnMut(usize, Location),
) -> Result<(), LeaseError> {
    for &(entry, slot) in wanted {
        let Entry { generation, record } = board.entry(entry);
        record.ok_or(LeaseError::Gone(entry))?;
        page.memory.step("lease: entry read");
        page.set(slot, Lease { entry, generation, kind: LeaseKind::Place });
    }
    page.memory.step("lease: stored");
    // SYNC lease: pairs with the fence before the pool's scan.
    page.memory.fence();
    page.memory.step("lease: fence passed");
    for (i, &(entry, slot)) in wanted.iter().enumerate() {
        let mut tries = 0;
        let (generation, record) = loop {
            let now = board.entry(entry);
            let record = now.record.ok_or(LeaseError::Gone(entry))?;
            let lease = Lease { entry, generation: now.generation, kind: LeaseKind::Place };
            if page.get(slot) == Some(lease) {
                break (now.generation, record);
            }
            // The pool has moved the chunk: pin the new place instead.
            tries += 1;
            if tries > RETRIES_MAX {
                return Err(LeaseError::Damaged(entry));
            }
            page.set(slot, lease);
            page.memory.fence();
        };
        let location = board.location(record).ok_or(LeaseError::Damaged(entry))?;
        if location.tenant.entry != entry || location.tenant.generation != generation {
            return Err(LeaseError::Damaged(entry));
        }
        each(i, location);
    }
    Ok(())
}

/// What [`acquire_head`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLease {
    /// The head's slot.
    pub slot: HeadSlot,
    /// The head's word when the lease was taken; unchanged means: still the current version.
    pub word: u64,
    /// The leased manifest.
    pub manifest: EntryId,
    /// In which life.
    pub generation: Generation,
    /// Where it stands.
    pub location: Location,
}

/// Why a name was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadMiss {
    /// The name does not exist.
    Absent,
    /// The pool has published another head table: map it and try again.
    NewTable,
    /// The head moved under each of some tries, or the table is damaged: ask the pool.
    AskPool,
}

/// Name → current manifest, leased in `slot`. On a miss the slot is clear.
///
/// # Errors
/// [`HeadMiss`].
pub fn acquire_head<B: Memory, H: Memory, P: Memory>(
    board: &Board<B>,
    heads: &HeadTable<H>,
    page: &LeasePage<P>,
    name: &str,
    hash: u64,
    slot: u32,
) -> Result<HeadLease, HeadMiss> {
    for _ in 0..HEAD_TRIES_MAX {
        let found = heads.find(name, hash);
        let word = match found {
            Found::Slot(head) => heads.head_word(head),
            Found::Absent | Found::Damaged => 0,
        };
        if board.heads() != heads.number() {
            return Err(HeadMiss::NewTable);
        }
        let head_slot = match found {
            Found::Slot(head) => head,
            Found::Absent => return Err(HeadMiss::Absent),
            Found::Damaged => return Err(HeadMiss::AskPool),
        };
        let Some(manifest) = Head::unpack(word).manifest else { return Err(HeadMiss::Absent) };
        let mut leased = None;
        let outcome = acquire(board, page, &[(manifest, slot)], |_, location| {
            leased = Some(location);
        });
        // The entry may have been given to another chunk between the two loads. If the head
        // still names it, in a table that is still the current one (no head of an old table
        // moves any more), it is this name's manifest: it cannot be given away before the
        // head has moved.
        if let (Ok(()), Some(location)) = (outcome, leased) {
            let same = heads.head_word(head_slot) == word && board.heads() == heads.number();
            if same && location.tenant.kind == ChunkKind::Manifest {
                let generation = location.tenant.generation;
                return Ok(HeadLease { slot: head_slot, word, manifest, generation, location });
            }
            page.clear(slot);
        }
    }
    Err(HeadMiss::AskPool)
}

/// Where a chunk of a version stands that is pinned by a [`LeaseKind::Version`] lease.
///
/// # Errors
/// [`LeaseError`].
pub fn locate<B: Memory>(board: &Board<B>, entry: EntryId) -> Result<Location, LeaseError> {
    let Entry { generation, record } = board.entry(entry);
    let record = record.ok_or(LeaseError::Gone(entry))?;
    let location = board.location(record).ok_or(LeaseError::Damaged(entry))?;
    if location.tenant.entry != entry || location.tenant.generation != generation {
        // Not a move: a moved chunk's old record stays, since the version lease pins it.
        return Err(LeaseError::Damaged(entry));
    }
    Ok(location)
}

/// All leases that one scan of all pages found.
#[derive(Clone, Debug, Default)]
pub struct Leased {
    pins: HashMap<(EntryId, Generation), bool>,
    unknown: bool,
}

impl Leased {
    /// Adds one.
    pub fn add(&mut self, lease: Lease) {
        let whole = lease.kind == LeaseKind::Version;
        *self.pins.entry((lease.entry, lease.generation)).or_default() |= whole;
    }

    /// Somebody reads, and what is not known: everything is pinned.
    pub fn add_unknown(&mut self) {
        self.unknown = true;
    }

    /// Whether some page names this life of the entry.
    #[must_use]
    pub fn pins(&self, entry: EntryId, generation: Generation) -> bool {
        self.unknown || self.pins.contains_key(&(entry, generation))
    }

    /// Whether some page pins the whole version of this manifest.
    #[must_use]
    pub fn pins_version(&self, entry: EntryId, generation: Generation) -> bool {
        self.unknown || self.pins.get(&(entry, generation)) == Some(&true)
    }

    /// Whether everything is pinned, since not all is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.unknown
    }

    /// Each life that some page names, and whether it pins the whole version of this manifest.
    pub fn iter(&self) -> impl Iterator<Item = ((EntryId, Generation), bool)> {
        self.pins.iter().map(|(&life, &whole)| (life, whole))
    }

    /// How many different (entry, generation) are pinned.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pins.len()
    }

    /// Whether nothing is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pins.is_empty() && !self.unknown
    }
}
