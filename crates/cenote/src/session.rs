//! One process's stay with a pool.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use cenote_pool::id::{ArenaId, EntryId, Generation, Incarnation, Place, SessionId};
use cenote_pool::message::{Refusal, Request, Response, Resume};
use cenote_pool::protocol::board::Board;
use cenote_pool::protocol::heads::HeadTable;
use cenote_pool::protocol::lease::{HEADER_WORDS, LeasePage, SLOTS_MAX};
use cenote_pool::rundir::RunDir;
use cenote_pool::words::{Shared, open_own};
use cenote_region::quantity::PAGE;
use tracing::{debug, info};

use crate::error::{Error, Unavailable};
use crate::lease::Leases;
use crate::link::{Link, Welcome, retry, unexpected};
use crate::maps::{Maps, Writable};
use crate::version::{Part, Version};

/// Versions whose manifests are kept decoded.
const VERSIONS_KEPT_MAX: usize = 4096;
/// Parts of versions that are kept decoded.
const PARTS_KEPT_MAX: usize = 8192;
/// An arena with more granted is not kept between puts.
pub(crate) const KEEP_BELOW: u64 = 16 << 20;
/// First grant of an arena.
const FIRST_BYTES: u64 = 256 << 10;
/// An idle arena is grown by up to so much.
const GROW_BELOW: u64 = 4 << 20;
/// A deadline of zero would be none at all.
const LEAST_WAIT: Duration = Duration::from_millis(10);
/// Arenas that are kept between puts.
const IDLE_MAX: usize = 4;

/// An arena that this client owns, and the first byte that is free in it.
#[derive(Debug)]
pub(crate) struct WriteArena {
    pub(crate) id: ArenaId,
    pub(crate) incarnation: Incarnation,
    pub(crate) size: u64,
    pub(crate) granted: u64,
    pub(crate) at: u64,
    pub(crate) map: Arc<Writable>,
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) dir: RunDir,
    pub(crate) id: SessionId,
    pub(crate) pool: u64,
    pub(crate) board: Board<Arc<Shared>>,
    heads: RwLock<Arc<HeadTable<Shared>>>,
    pub(crate) leases: Arc<Leases>,
    pub(crate) maps: Maps,
    link: Mutex<Link>,
    idle: Mutex<Vec<WriteArena>>,
    owned: Mutex<Vec<ArenaId>>,
    sequence: Mutex<u64>,
    /// Tries to connect again.
    attempts: AtomicU64,
    versions: Mutex<HashMap<(EntryId, Generation), Arc<Version>>>,
    /// By the manifest whose own part it is.
    parts: Mutex<HashMap<(EntryId, Generation), Arc<Part>>>,
    embedded: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// Introduces this process over `link`.
    pub(crate) fn open(dir: RunDir, mut link: Link) -> Result<Arc<Session>, Error> {
        let embedded = matches!(link, Link::Embedded(_));
        let Welcome { session, pool, slots, alive, .. } = {
            let within = link.patience();
            link.hello(None, &[], within)?
        };
        let map = Error::map("map the pool's board");
        let board = Shared::read_all(&dir.file("board")).map_err(map)?;
        let board = Board::open(Arc::new(board))
            .map_err(|error| Error::io("read the pool's board")(std::io::Error::other(error)))?;
        if board.identity().pool != pool {
            let why = Unavailable::Remade;
            return Err(Error::Unavailable { path: dir.path().to_owned(), why });
        }
        let page = open_own(&dir.lease(session), false)
            .and_then(|file| Shared::read_write(&file, HEADER_WORDS + SLOTS_MAX))
            .map_err(Error::map("map the lease page"))?;
        let heads = open_heads(&dir, &board)?;
        let this = Arc::new(Session {
            maps: Maps::new(dir.clone()),
            dir,
            id: session,
            pool,
            board,
            heads: RwLock::new(heads),
            leases: Arc::new(Leases::new(LeasePage::new(page), slots, alive)),
            link: Mutex::new(link),
            idle: Mutex::default(),
            owned: Mutex::default(),
            sequence: Mutex::new(0),
            attempts: AtomicU64::new(0),
            versions: Mutex::default(),
            parts: Mutex::default(),
            embedded,
        });
        crate::fork::register(&this);
        debug!(session = %this.id, path = %this.dir.path().display(), "connected");
        Ok(this)
    }

    /// Whether this is another process than the one that introduced itself.
    pub(crate) fn is_forked(&self) -> bool {
        self.leases.is_inherited()
    }

    /// The pool's identity.
    pub(crate) fn pool(&self) -> u64 {
        self.pool
    }

    pub(crate) fn is_embedded(&self) -> bool {
        self.embedded
    }

    pub(crate) fn unavailable(&self, why: Unavailable) -> Error {
        Error::Unavailable { path: self.dir.path().to_owned(), why }
    }

    /// Asks the pool; over a broken connection, again.
    pub(crate) fn call(&self, request: &Request) -> Result<Response, Error> {
        Ok(self.call_waiting(request, Duration::ZERO)?.0)
    }

    /// As [`Self::call`], where the pool may take `wait` before it answers.
    pub(crate) fn call_waiting(
        &self,
        request: &Request,
        wait: Duration,
    ) -> Result<(Response, Option<OwnedFd>), Error> {
        if self.is_forked() {
            return Err(self.unavailable(Unavailable::Parents));
        }
        let mut link = lock(&self.link);
        let patience = link.patience();
        let deadline = Instant::now() + patience;
        loop {
            if let Some(answer) = link.try_call(self.id, request, patience + wait)? {
                if let Response::Arena { arena, .. } = &answer.0 {
                    // Before another thread can reconnect and not name it.
                    let mut owned = lock(&self.owned);
                    if !owned.contains(arena) {
                        owned.push(*arena);
                    }
                }
                return Ok(answer);
            }
            self.reconnect(&mut link, deadline, patience)?;
        }
    }

    /// Asks once, if the connection is free within `within`: for a fork, which must not wait
    /// for a thread that waits for it.
    pub(crate) fn try_call_within(
        &self,
        request: &Request,
        within: Duration,
    ) -> Option<(Response, Option<OwnedFd>)> {
        let deadline = Instant::now() + within;
        let mut link = loop {
            match self.link.try_lock() {
                Ok(link) => break link,
                Err(std::sync::TryLockError::Poisoned(link)) => break link.into_inner(),
                Err(std::sync::TryLockError::WouldBlock) if Instant::now() > deadline => {
                    return None;
                }
                Err(std::sync::TryLockError::WouldBlock) => {
                    std::thread::sleep(Duration::from_micros(50));
                }
            }
        };
        for _ in 0..2 {
            let left = deadline.saturating_duration_since(Instant::now()).max(LEAST_WAIT);
            if let Some(answer) = link.try_call(self.id, request, left).ok()? {
                return Some(answer);
            }
            self.reconnect(&mut link, Instant::now(), left).ok()?;
        }
        None
    }

    fn reconnect(&self, link: &mut Link, deadline: Instant, within: Duration) -> Result<(), Error> {
        let arenas = lock(&self.owned).clone();
        loop {
            let attempt = self.attempts.fetch_add(1, Ordering::Relaxed) + 1;
            let resume = Resume { session: self.id, pool: self.pool, attempt };
            match link.hello(Some(resume), &arenas, within) {
                Ok(welcome) if welcome.session == self.id && welcome.pool == self.pool => {
                    info!(session = %self.id, attempt, "connected again");
                    return Ok(());
                }
                Ok(_) => {
                    // Another pool, or one that has given this session up.
                    link.hang_up();
                    self.leases.lose();
                    return Err(self.unavailable(Unavailable::Remade));
                }
                Err(error @ Error::Unavailable { why: Unavailable::NotRunning, .. }) => {
                    if !retry(deadline)? {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Asks for a change, numbered so that it happens once however often it is asked for.
    pub(crate) fn change(&self, request: impl FnOnce(u64) -> Request) -> Result<Response, Error> {
        let mut sequence = lock(&self.sequence);
        *sequence += 1;
        self.call(&request(*sequence))
    }

    /// The current head table.
    #[inline]
    pub(crate) fn heads(&self) -> Arc<HeadTable<Shared>> {
        self.heads.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Maps the head table that the board names now.
    pub(crate) fn renew_heads(&self) -> Result<(), Error> {
        let heads = open_heads(&self.dir, &self.board)?;
        *self.heads.write().unwrap_or_else(PoisonError::into_inner) = heads;
        Ok(())
    }

    /// Takes slots of the lease page if they are at hand; whether it has.
    pub(crate) fn slots_at_hand(&self, count: usize, into: &mut Vec<u32>) -> bool {
        let no = |_| Err(self.unavailable(Unavailable::NotRunning));
        self.leases.take(count, no, into).is_ok()
    }

    /// A manifest that was decoded before.
    pub(crate) fn known_version(
        &self,
        manifest: EntryId,
        generation: Generation,
    ) -> Option<Arc<Version>> {
        lock(&self.versions).get(&(manifest, generation)).cloned()
    }

    /// Takes slots of the lease page.
    pub(crate) fn slots(&self, count: usize, into: &mut Vec<u32>) -> Result<(), Error> {
        let grow = |to| match self.call(&Request::Slots { to })? {
            Response::Welcome { slots, .. } => Ok(slots),
            other => Err(unexpected(&other)),
        };
        self.leases.take(count, grow, into)
    }

    /// A decoded manifest, from the cache or by `read`.
    pub(crate) fn version<E>(
        &self,
        manifest: EntryId,
        generation: Generation,
        read: impl FnOnce() -> Result<Version, E>,
    ) -> Result<Arc<Version>, E> {
        if let Some(found) = lock(&self.versions).get(&(manifest, generation)) {
            return Ok(found.clone());
        }
        let version = Arc::new(read()?);
        let mut versions = lock(&self.versions);
        if versions.len() >= VERSIONS_KEPT_MAX {
            versions.retain(|_, version| Arc::strong_count(version) > 1);
            if versions.len() >= VERSIONS_KEPT_MAX {
                versions.clear();
            }
            self.maps.forget(|arena| self.board.arena(arena).is_none());
        }
        // An entry is one version's for one generation only.
        versions.retain(|key, _| key.0 != manifest || key.1 == generation);
        versions.insert((manifest, generation), version.clone());
        Ok(version)
    }

    /// The own part of a manifest, from the cache or by `read`.
    pub(crate) fn part<E>(
        &self,
        manifest: (EntryId, Generation),
        read: impl FnOnce() -> Result<Part, E>,
    ) -> Result<Arc<Part>, E> {
        if let Some(found) = lock(&self.parts).get(&manifest) {
            return Ok(found.clone());
        }
        let part = Arc::new(read()?);
        let mut parts = lock(&self.parts);
        if parts.len() >= PARTS_KEPT_MAX {
            // Those of versions that are kept are kept.
            parts.retain(|_, part| Arc::strong_count(part) > 1);
            if parts.len() >= PARTS_KEPT_MAX {
                parts.clear();
            }
        }
        parts.insert(manifest, part.clone());
        Ok(part)
    }

    /// An arena in which `bytes` have room; not all of them need be granted.
    pub(crate) fn take_arena(&self, bytes: u64, wait: Duration) -> Result<WriteArena, Error> {
        {
            let mut idle = lock(&self.idle);
            // Little is grown in place; for much, the pool may have an arena ready.
            let fits = |a: &WriteArena| {
                let end = a.at.next_multiple_of(PAGE) + bytes;
                end <= a.granted || end <= a.size.min(a.granted + GROW_BELOW)
            };
            if let Some(at) = idle.iter().position(fits) {
                return Ok(idle.swap_remove(at));
            }
        }
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let request = Request::Arena { bytes: bytes.max(FIRST_BYTES), wait_ms };
        let response = match self.call_waiting(&request, wait) {
            // The least that is worth a request does not fit; what is needed may.
            Err(Error::Refused(Refusal::Exhausted { .. })) if bytes < FIRST_BYTES => {
                self.call_waiting(&Request::Arena { bytes, wait_ms }, wait)?.0
            }
            answer => answer?.0,
        };
        let Response::Arena { arena, incarnation, size, granted } = response else {
            return Err(unexpected(&response));
        };
        cenote_pool::step::reach("client: arena granted");
        let map = match self.maps.write(arena, size) {
            Ok(map) => map,
            Err(error) => {
                self.return_arena(arena);
                return Err(Error::map("map an arena")(error));
            }
        };
        Ok(WriteArena { id: arena, incarnation, size, granted, at: 0, map })
    }

    /// Asks for more of an arena, ample if that can be had at once, so that `..to` is granted.
    pub(crate) fn grow(
        &self,
        arena: &mut WriteArena,
        to: u64,
        wait: Duration,
    ) -> Result<(), Error> {
        let ample = (arena.granted * 2).min(arena.granted + (64 << 20)).min(arena.size);
        let ask = |to: u64, wait: Duration| {
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            self.call_waiting(&Request::Grow { arena: arena.id, to, wait_ms }, wait)
        };
        let answer = match ask(to.max(ample), Duration::ZERO) {
            // What would be ample does not fit; what is needed may, now or later.
            Err(Error::Refused(Refusal::Exhausted { .. })) => ask(to, wait)?,
            answer => answer?,
        };
        match answer.0 {
            Response::Arena { granted, .. } => {
                arena.granted = granted;
                Ok(())
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Gives an arena up, or keeps it for the next put.
    pub(crate) fn put_arena(&self, arena: WriteArena) {
        let mut idle = lock(&self.idle);
        let worth = arena.granted <= KEEP_BELOW && arena.at + (64 << 10) <= arena.size;
        if worth && idle.len() < IDLE_MAX {
            idle.push(arena);
        } else {
            drop(idle);
            self.return_arena(arena.id);
        }
    }

    /// Gives an arena up.
    pub(crate) fn return_arena(&self, id: ArenaId) {
        // A pool that cannot be reached learns it from the list of the next hello.
        lock(&self.owned).retain(|owned| *owned != id);
        let _ = self.call(&Request::Return { arena: id });
    }

    /// Maps the arena of a leased place.
    pub(crate) fn map(&self, place: &Place) -> Result<Arc<cenote_region::mapping::Mapping>, Error> {
        self.maps.read(place).map_err(Error::map("map an arena"))
    }
}

fn open_heads(dir: &RunDir, board: &Board<Arc<Shared>>) -> Result<Arc<HeadTable<Shared>>, Error> {
    let mut last = None;
    // The pool may publish another table between the two steps, and remove this one.
    for _ in 0..100 {
        let number = board.heads();
        match Shared::read_all(&dir.heads(number)) {
            Ok(memory) => {
                if let Some(table) = HeadTable::open(memory, number) {
                    return Ok(Arc::new(table));
                }
                let text = format!("head table {number} is damaged");
                last = Some(std::io::Error::other(text));
            }
            Err(error) => last = Some(error),
        }
    }
    let error = last.unwrap_or_else(|| std::io::ErrorKind::NotFound.into());
    Err(Error::io("read the pool's names")(error))
}
