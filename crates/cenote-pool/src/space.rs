//! The pool's space: arena files, who writes them, and how much there is.
//!
//! An arena is a sparse file whose first `granted` bytes are allocated. Allocation is the
//! slow part (on tmpfs it touches every page, about 0.35 s a GiB), so it is done ahead of
//! demand where possible, and never under the pool's lock: a caller reserves under the lock
//! ([`Space::plan`]), allocates without it ([`fill`]), and reports ([`Space::filled`]).
//!
//! What counts against the capacity is what the file system says.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;

use cenote_region::headroom::memory_headroom;
use cenote_region::quantity::PAGE;
use cenote_region::space::{allocate, allocated, fs_space, punch};

use crate::arena::Book;
use crate::boardfile::BoardFile;
use crate::id::{ArenaId, CHUNK_ALIGN, Incarnation, Place, SessionId};
use crate::message::Limit;
use crate::protocol::board::ArenaOwner;
use crate::rundir::RunDir;
use crate::step::reach;

mod ahead;

/// Size of an arena's file, unless a chunk needs more.
pub const ARENA_BYTES: u64 = 256 << 20;
/// Left alone of the file system and of the memory limit.
const MARGIN_BYTES: u64 = 4 << 20;

/// One arena.
#[derive(Debug)]
pub struct Arena {
    /// Its file.
    pub file: Arc<File>,
    /// Its chunks.
    pub book: Book,
    /// Who may write it.
    pub owner: ArenaOwner,
    /// Being filled by [`fill`]: bytes still to be allocated.
    pending: u64,
    /// Punching is under way without the lock.
    busy: bool,
    /// Parts of what was granted are holes: the arena cannot be handed out again.
    holes: bool,
}

impl Arena {
    fn new(file: File, owner: ArenaOwner) -> Arena {
        let holes = allocated(&file).map_or(0, |size| size.0) < owner.granted;
        Arena { file: Arc::new(file), book: Book::default(), owner, pending: 0, busy: false, holes }
    }

    /// Bytes that the file system has given it.
    pub fn allocated(&self) -> u64 {
        allocated(&*self.file).map_or(0, |size| size.0)
    }

    /// Bytes that are being allocated for it.
    pub fn pending_bytes(&self) -> u64 {
        self.pending
    }

    fn is_free(&self) -> bool {
        self.owner.session == SessionId::NONE
            && self.book.is_empty()
            && self.pending == 0
            && !self.busy
    }
}

/// All arenas of a pool.
#[derive(Debug)]
pub struct Space {
    dir: RunDir,
    board: BoardFile,
    arenas: BTreeMap<ArenaId, Arena>,
    next: u32,
    capacity: u64,
    /// The pool's own arena and the next free byte in it.
    own: Option<(ArenaId, u64)>,
}

/// Space reserved and not yet allocated.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The arena.
    pub arena: ArenaId,
    file: Arc<File>,
    from: u64,
    to: u64,
}

impl Plan {
    /// Bytes still to be allocated.
    pub fn bytes(&self) -> u64 {
        self.to - self.from
    }
}

/// How much is missing, where.
#[derive(Clone, Copy, Debug)]
pub struct Shortage {
    /// Bytes free for new allocations.
    pub free: u64,
    /// Of which in one piece.
    pub largest: u64,
    /// What limits it.
    pub limit: Limit,
}

/// Why no arena was planned.
#[derive(Debug)]
pub enum PlanError {
    /// Not now.
    Short(Shortage),
    /// The board has no room for another arena record.
    Arenas,
    /// The file system refused.
    Io(io::Error),
}

impl From<io::Error> for PlanError {
    fn from(error: io::Error) -> PlanError {
        PlanError::Io(error)
    }
}

/// Allocates what was planned. Slow; call it without the pool's lock.
///
/// # Errors
/// No space after all.
pub fn fill(plan: &Plan) -> io::Result<()> {
    if plan.to > plan.from {
        allocate(&*plan.file, plan.from, plan.to - plan.from).map_err(io::Error::other)?;
    }
    Ok(())
}

impl Space {
    /// The arenas that are in `dir`, as the board says who owns them. Files without a record
    /// are removed. Call [`Space::settle`] before anything is handed out.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn open(dir: RunDir, board: BoardFile, capacity: u64) -> io::Result<Space> {
        let mut arenas = BTreeMap::new();
        let mut next = 0;
        for number in dir.numbered("arena")? {
            let Ok(number) = u32::try_from(number) else { continue };
            let id = ArenaId(number);
            let Some(owner) = board.view().arena(id) else {
                std::fs::remove_file(dir.arena(id))?;
                continue;
            };
            next = next.max(number + 1);
            let file = OpenOptions::new().read(true).write(true).open(dir.arena(id))?;
            let length = file.metadata()?.len();
            let owner = ArenaOwner { size: length, granted: owner.granted.min(length), ..owner };
            arenas.insert(id, Arena::new(file, owner));
        }
        let (_, _, known) = board.view().lengths();
        for number in 0..u32::try_from(known).unwrap_or(u32::MAX) {
            let id = ArenaId(number);
            if board.view().was_arena(id) {
                // The number of a file that is gone is not given to another.
                next = next.max(number + 1);
            }
            if board.view().arena(id).is_some() && !arenas.contains_key(&id) {
                board.view().clear_arena(id);
            }
        }
        Ok(Space { dir, board, arenas, next, capacity, own: None })
    }

    /// Whether a place lies in an arena that exists, within what was granted.
    pub fn holds(&self, place: &Place) -> bool {
        self.arenas.get(&place.arena).is_some_and(|arena| {
            place.incarnation <= arena.owner.incarnation && place.end() <= arena.owner.size
        })
    }

    /// After adoption: enters the places in use, and closes arenas whose writers are gone.
    pub fn settle(
        &mut self,
        occupied: impl Iterator<Item = Place>,
        lives: impl Fn(SessionId) -> bool,
    ) {
        for place in occupied {
            if let Some(arena) = self.arenas.get_mut(&place.arena) {
                let fits = arena.book.occupy(&place);
                debug_assert!(fits.is_ok(), "adoption drops records that overlap: {fits:?}");
            }
        }
        let ids: Vec<_> = self.arenas.keys().copied().collect();
        for id in ids {
            let session = self.arenas[&id].owner.session;
            if session == SessionId::NONE || !lives(session) {
                self.close(id);
            }
        }
    }

    /// The arenas.
    pub fn arenas(&self) -> impl Iterator<Item = (ArenaId, &Arena)> {
        self.arenas.iter().map(|(&id, arena)| (id, arena))
    }

    /// One arena.
    pub fn arena(&self, id: ArenaId) -> Option<&Arena> {
        self.arenas.get(&id)
    }

    /// What the arenas may take together.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// What they take now, and what is being allocated for them.
    pub fn used(&self) -> u64 {
        self.arenas.values().map(|a| a.allocated() + a.pending).sum()
    }

    fn pending(&self) -> u64 {
        self.arenas.values().map(|a| a.pending).sum()
    }

    /// Bytes that could be newly allocated, with everything that is ready given back first.
    pub fn shortage(&self) -> Shortage {
        let used = self.used();
        let ready: u64 = self.arenas.values().filter(|a| a.is_free()).map(Arena::allocated).sum();
        let mut free = self.capacity.saturating_sub(used);
        let mut limit = Limit::Capacity;
        let mut lower = |bound: u64, what| {
            if bound < free {
                (free, limit) = (bound, what);
            }
        };
        let pending = self.pending() + MARGIN_BYTES;
        if let Ok(space) = fs_space(self.dir.path()) {
            lower(space.available.0.saturating_sub(pending), Limit::FileSystem);
        }
        if let Some(headroom) = memory_headroom() {
            lower(headroom.0.saturating_sub(pending), Limit::Memory);
        }
        let free = free.saturating_add(ready);
        Shortage { free, largest: free, limit }
    }

    /// Reserves an arena with `bytes` in one piece for `session`, warm if there is one.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn plan(&mut self, session: SessionId, bytes: u64) -> Result<Plan, PlanError> {
        let short = |space: &Space| PlanError::Short(space.shortage());
        let bytes = bytes.max(CHUNK_ALIGN).checked_next_multiple_of(PAGE);
        let bytes = bytes.filter(|b| *b <= self.capacity).ok_or_else(|| short(self))?;
        // The smallest that is large enough, else the largest. A large one is kept for who
        // needs it: a client holds what it is granted for as long as it writes.
        let modest = bytes.saturating_mul(4).max(16 << 20);
        let free = self.arenas.iter().filter(|(_, a)| a.is_free() && a.owner.granted <= modest);
        let best = free.map(|(&id, a)| (id, a.owner.granted)).min_by_key(|&(_, granted)| {
            if granted >= bytes { (0, granted) } else { (1, u64::MAX - granted) }
        });
        let (id, granted) = match best {
            Some(found) => found,
            None => (self.make(ARENA_BYTES.min(self.capacity).max(bytes))?, 0),
        };
        let to = granted.max(bytes);
        if let Err(error) = self.reserve(id, granted, to) {
            if granted == 0 {
                self.remove(id);
            }
            return Err(error);
        }
        let Some(arena) = self.arenas.get_mut(&id) else { return Err(PlanError::Arenas) };
        let size = arena.owner.size.max(to);
        if size > arena.owner.size
            && let Err(error) = arena.file.set_len(size)
        {
            arena.pending -= to - granted;
            return Err(error.into());
        }
        arena.book.open();
        arena.owner = ArenaOwner {
            incarnation: Incarnation(arena.owner.incarnation.0 + 1),
            session,
            size,
            granted,
        };
        // On the board before the descriptor is handed out: whoever takes over from this
        // daemon knows that somebody may be writing there.
        self.board.view().set_arena(id, &arena.owner);
        reach("arena: owner recorded");
        Ok(Plan { arena: id, file: arena.file.clone(), from: granted, to })
    }

    /// Reserves more of an arena.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn plan_more(&mut self, id: ArenaId, to: u64) -> Result<Plan, PlanError> {
        let Some(arena) = self.arenas.get(&id) else { return Err(PlanError::Arenas) };
        let (from, file) = (arena.owner.granted, arena.file.clone());
        let to = to.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX).min(arena.owner.size);
        let to = to.max(from);
        self.reserve(id, from, to)?;
        Ok(Plan { arena: id, file, from, to })
    }

    fn reserve(&mut self, id: ArenaId, from: u64, to: u64) -> Result<(), PlanError> {
        let missing = to.saturating_sub(from);
        let Some(arena) = self.arenas.get_mut(&id) else { return Err(PlanError::Arenas) };
        // Making room must not take it.
        let busy = std::mem::replace(&mut arena.busy, true);
        let outcome = self.make_room(missing);
        if let Some(arena) = self.arenas.get_mut(&id) {
            arena.busy = busy;
            if outcome.is_ok() {
                arena.pending += missing;
            }
        }
        outcome
    }

    /// Gives back ready arenas until `missing` bytes can be allocated.
    fn make_room(&mut self, missing: u64) -> Result<(), PlanError> {
        if missing == 0 {
            return Ok(());
        }
        let shortage = self.shortage();
        if missing > shortage.free {
            return Err(PlanError::Short(shortage));
        }
        loop {
            let ready: u64 =
                self.arenas.values().filter(|a| a.is_free()).map(Arena::allocated).sum();
            if missing <= self.shortage().free - ready {
                return Ok(());
            }
            let smallest = self.arenas.iter().filter(|(_, a)| a.is_free());
            let Some(id) = smallest.min_by_key(|(_, a)| a.owner.granted).map(|(&id, _)| id) else {
                return Err(PlanError::Short(self.shortage()));
            };
            self.remove(id);
        }
    }

    /// The outcome of [`fill`].
    pub fn filled(&mut self, plan: &Plan, outcome: &io::Result<()>) -> Option<ArenaOwner> {
        let arena = self.arenas.get_mut(&plan.arena)?;
        arena.pending -= plan.to - plan.from;
        if outcome.is_ok() {
            arena.owner.granted = arena.owner.granted.max(plan.to);
            self.board.view().set_arena(plan.arena, &arena.owner);
            if arena.owner.session == SessionId::NONE && !arena.book.is_empty() {
                // Its writer has gone meanwhile: what it was to have is dead.
                arena.book.close(arena.owner.granted);
            }
        } else {
            // What was allocated before the failure goes back.
            let _ = punch(&*arena.file, plan.from, plan.to - plan.from);
        }
        Some(arena.owner)
    }

    fn make(&mut self, size: u64) -> Result<ArenaId, PlanError> {
        let id = ArenaId(self.next);
        if u64::from(id.0) >= self.board.view().identity().shape.arenas {
            return Err(PlanError::Arenas);
        }
        self.board.grow(0, 0, u64::from(id.0) + 1)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(self.dir.arena(id))?;
        // Whatever comes, the number is used up: another file must not be taken for this one.
        self.next += 1;
        if let Err(error) = file.set_len(size) {
            std::fs::remove_file(self.dir.arena(id))?;
            return Err(error.into());
        }
        let owner =
            ArenaOwner { incarnation: Incarnation(0), session: SessionId::NONE, size, granted: 0 };
        self.arenas.insert(id, Arena::new(file, owner));
        Ok(id)
    }

    fn remove(&mut self, id: ArenaId) {
        if let Some(arena) = self.arenas.remove(&id) {
            // Unlinking does not harm a mapping, but would hide what it keeps: punch first.
            let length = arena.owner.size / PAGE * PAGE;
            let _ = punch(&*arena.file, 0, length);
            let _ = std::fs::remove_file(self.dir.arena(id));
            if u64::from(id.0) < self.board.view().lengths().2 {
                self.board.view().clear_arena(id);
            }
        }
    }

    /// The arena's writer is done, or gone.
    pub fn close(&mut self, id: ArenaId) {
        let Some(arena) = self.arenas.get_mut(&id) else { return };
        arena.owner.session = SessionId::NONE;
        if self.own.is_some_and(|(own, _)| own == id) {
            self.own = None;
        }
        arena.book.close(arena.owner.granted);
        self.board.view().set_arena(id, &arena.owner);
        reach("arena: closed");
        self.recycle(id);
    }

    /// An arena without writer and chunks is kept warm if it is whole, else removed.
    fn recycle(&mut self, id: ArenaId) {
        let Some(arena) = self.arenas.get_mut(&id) else { return };
        if arena.owner.session != SessionId::NONE || !arena.book.is_empty() || arena.busy {
            return;
        }
        if arena.holes || arena.owner.granted == 0 {
            self.remove(id);
        } else {
            let _ = arena.book.take_unpunched();
        }
    }

    /// A committed chunk.
    ///
    /// # Errors
    /// In words: the place is not the session's to commit.
    pub fn occupy(&mut self, session: SessionId, place: &Place) -> Result<(), String> {
        let arena = self.arenas.get_mut(&place.arena).ok_or("no such arena")?;
        let owner = &arena.owner;
        if owner.session != session || owner.incarnation != place.incarnation {
            return Err(format!("arena {} is not this client's", place.arena));
        }
        if place.end() > owner.granted {
            let granted = owner.granted;
            return Err(format!("a chunk ends at {} of {granted} granted bytes", place.end()));
        }
        arena.book.occupy(place).map_err(|error| error.to_string())
    }

    /// A commit that came to nothing: its bytes are still its writer's.
    pub fn release(&mut self, place: &Place) {
        if let Some(arena) = self.arenas.get_mut(&place.arena) {
            arena.book.release(place);
        }
    }

    /// A chunk that nobody reads any more.
    pub fn vacate(&mut self, place: &Place) {
        let Some(arena) = self.arenas.get_mut(&place.arena) else { return };
        arena.book.vacate(place);
        self.recycle(place.arena);
    }

    /// Dead pages to punch, arena by arena; the arenas are not handed out meanwhile.
    pub fn take_dead(&mut self) -> Vec<(ArenaId, Arc<File>, Vec<std::ops::Range<u64>>)> {
        let mut dead = Vec::new();
        for (&id, arena) in &mut self.arenas {
            if arena.book.has_unpunched() && !arena.busy {
                arena.busy = true;
                arena.holes = true;
                dead.push((id, arena.file.clone(), arena.book.take_unpunched()));
            }
        }
        dead
    }

    /// The pages were punched.
    pub fn punched(&mut self, id: ArenaId) {
        if let Some(arena) = self.arenas.get_mut(&id) {
            arena.busy = false;
            self.recycle(id);
        }
    }

    /// Reads bytes of an arena. Bounds are checked; nothing is mapped.
    ///
    /// # Errors
    /// No such arena, or not so many bytes.
    pub fn read(&self, place: &Place, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let arena = self.arenas.get(&place.arena).ok_or(io::ErrorKind::NotFound)?;
        arena.file.read_exact_at(into, place.offset + offset)
    }
}

#[cfg(test)]
mod tests;
