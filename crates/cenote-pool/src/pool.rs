//! The owner of a pool: one lock around ledger, space, catalog and sessions, and the
//! threads that work behind it.
//!
//! The same code serves a socket ([`crate::server`]) and a single process that embeds it:
//! both call [`Pool::hello`] and [`Pool::handle`].
//!
//! What is slow is done without the lock: allocating, punching holes, reading lease pages,
//! redb's transactions, verifying.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::boardfile::BoardFile;
use crate::catalog::Catalog;
use crate::change::Change;
use crate::id::{ArenaId, EntryId, Epoch, Place, SessionId};
use crate::message::{LostFrame, PROTOCOL_VERSION, Refusal, Request, Response, Resume};
use crate::protocol::lease::Leased;
use crate::protocol::ledger::{Ledger, World};
use crate::row::Row;
use crate::rundir::RunDir;
use crate::session::{Liveness, Peer, SESSIONS_MAX, Session};
use crate::space::Space;
use crate::step::reach;
use crate::words::{Shared, open_own};

mod append;
mod change;
mod find;
mod grant;
mod keeper;
mod names;
mod open;
mod report;

pub use open::OpenError;

/// How a pool is run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it lives.
    pub dir: RunDir,
    /// What its arenas may take together; `None`: half of what the file system and the
    /// memory limit allow.
    pub capacity: Option<u64>,
    /// Bytes to keep allocated ahead of demand; `None`: a quarter of the capacity, at most
    /// 1.25 GiB.
    pub reserve: Option<u64>,
    /// Ends the pool's owner after so long without a client.
    pub idle_exit: Option<Duration>,
    /// Whether the pool goes with its owner.
    pub ephemeral: bool,
}

/// What the ledger needs of the outside, and the request that it works for.
pub(crate) struct Estate {
    dir: RunDir,
    board: BoardFile,
    space: Space,
    catalog: Catalog,
    request: (SessionId, u64),
}

impl Estate {
    /// Does what takes a few pages; where there are none, once more without the arenas that
    /// are ready for the next puts.
    fn with_room<T>(&mut self, work: impl Fn(&mut Estate) -> io::Result<T>) -> io::Result<T> {
        match work(self) {
            Err(_) if self.space.trim(0) => work(self),
            outcome => outcome,
        }
    }
}

impl World for Estate {
    type Heads = Arc<Shared>;

    fn grow_board(&mut self, entries: u64, records: u64) -> io::Result<()> {
        self.with_room(|estate| estate.board.grow(entries, records, 0))
    }

    fn make_heads(&mut self, number: u64, words: u64) -> io::Result<Arc<Shared>> {
        let path = self.dir.heads(number);
        // A table of this number was never published: its owner stopped while writing it.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = open_own(&path, true)?;
        cenote_region::space::allocate(&file, 0, words * 8).map_err(io::Error::other)?;
        Ok(Arc::new(Shared::read_write_not_in_children(&file, words)?))
    }

    fn drop_heads(&mut self, number: u64) {
        let _ = std::fs::remove_file(self.dir.heads(number));
    }

    fn write_manifest(&mut self, bytes: &[u8]) -> io::Result<Place> {
        self.with_room(|estate| estate.space.write_own(bytes))
    }

    fn log(&mut self, change: &Change) -> io::Result<()> {
        reach("log: before");
        self.catalog.append(self.request.0, self.request.1, change)?;
        self.board.view().set_logged(self.catalog.number());
        Ok(())
    }

    fn step(&mut self, name: &'static str) {
        reach(name);
    }
}

/// What a session's files take, and some.
const SESSION_BYTES: u64 = 256 << 10;

/// Versions that cannot be served, by name and number, and why.
type Lost = BTreeMap<(String, u64), (Row, String)>;

type Book = Ledger<Arc<Shared>, Arc<Shared>>;

pub(crate) struct Core {
    ledger: Book,
    estate: Estate,
    sessions: BTreeMap<SessionId, Session>,
    next_session: u64,
    /// Versions of the catalog, by name and number, that this daemon could not take over.
    lost: Lost,
    /// Chunks whose bytes do not match their checksums.
    corrupt: HashMap<EntryId, ()>,
    /// How often each version was opened.
    uses: HashMap<EntryId, u64>,
    unverified: Vec<EntryId>,
    last_client: Instant,
    /// Something was retired since the keeper last looked.
    fresh: bool,
    /// Something was freed since the cleaner last looked.
    thinned: bool,
    /// Sessions that have ended, and that the catalog still knows.
    ended: Vec<SessionId>,
}

/// A pool and its owner.
pub struct Pool {
    config: Config,
    capacity: u64,
    reserve: u64,
    epoch: Epoch,
    pool_id: u64,
    started: Instant,
    /// When the filler last came round, in milliseconds since then; its own word.
    filled_ms: AtomicU64,
    core: Mutex<Core>,
    /// Space was given back, or something else that a waiter may wait for.
    freed: Condvar,
    /// Work for the keeper.
    wake: Condvar,
    stopping: AtomicBool,
    keepers: Mutex<Vec<JoinHandle<()>>>,
    /// Held as long as the pool is owned.
    lock: Mutex<Option<File>>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("dir", &self.config.dir).field("epoch", &self.epoch).finish()
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Core> {
        // A thread that panicked inside has left nothing that the next request relies on
        // half done: the ledger's sequences are those of a crash.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the pool lives.
    pub fn dir(&self) -> &RunDir {
        &self.config.dir
    }

    /// The owner's epoch.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The pool's identity, unchanged by restarts.
    pub fn id(&self) -> u64 {
        self.pool_id
    }

    /// Whether the pool has been told to stop.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Admits a client, or takes one back whose connection broke. The descriptor keeps the
    /// client alive; a client that comes back has its own.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn hello(
        &self,
        protocol: u32,
        resume: Option<Resume>,
        arenas: &[ArenaId],
        peer: Peer,
    ) -> Result<(Response, Option<OwnedFd>), Refusal> {
        if protocol != PROTOCOL_VERSION {
            return Err(Refusal::Protocol { client: protocol, daemon: PROTOCOL_VERSION });
        }
        let mut core = self.lock();
        let core = &mut *core;
        if let Some(Resume { session: id, pool, attempt }) = resume
            && pool == self.pool_id
            && let Some(session) = core.sessions.get_mut(&id)
        {
            if !session.reconnect(peer, attempt) {
                return Err(Refusal::NoSession { session: id });
            }
            let (slots, sequence) = (session.slots(), session.sequence);
            let unknown: Vec<_> =
                session.arenas.iter().copied().filter(|id| !arenas.contains(id)).collect();
            session.arenas.retain(|id| arenas.contains(id));
            for arena in unknown {
                core.estate.space.close(arena);
            }
            return Ok((self.welcome(id, slots, sequence), None));
        }
        self.admit(core, peer, None)
    }

    fn welcome(&self, session: SessionId, slots: u64, sequence: u64) -> Response {
        Response::Welcome { session, epoch: self.epoch, pool: self.pool_id, slots, sequence }
    }

    fn admit(
        &self,
        core: &mut Core,
        peer: Peer,
        spare_of: Option<SessionId>,
    ) -> Result<(Response, Option<OwnedFd>), Refusal> {
        if core.sessions.len() >= SESSIONS_MAX {
            let (what, room) = ("clients".to_owned(), SESSIONS_MAX as u64);
            return Err(Refusal::Bound { what, used: core.sessions.len() as u64, room });
        }
        let id = SessionId((u64::from(self.epoch.0) << 32) | core.next_session);
        core.next_session += 1;
        let space = cenote_region::space::fs_space(self.dir().path());
        if space.is_ok_and(|space| space.available.0 < SESSION_BYTES) {
            // A client that can only read is worth more than an arena for the next put.
            core.estate.space.trim(0);
        }
        let (session, lock) = Session::create(self.dir(), id, peer, spare_of)
            .map_err(|error| system("make a session", &error))?;
        let slots = session.slots();
        core.sessions.insert(id, session);
        reach("session: made");
        Ok((self.welcome(id, slots, 0), Some(lock)))
    }

    /// A lease page for a child of `parent` that is about to be forked.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn spare(
        &self,
        parent: SessionId,
        slots: u64,
    ) -> Result<(Response, Option<OwnedFd>), Refusal> {
        let mut core = self.lock();
        let parents = core.sessions.get(&parent).ok_or(Refusal::NoSession { session: parent })?;
        let peer = Peer { command: format!("child of {}", parents.command), ..Peer::default() };
        let (response, alive) = self.admit(&mut core, peer, Some(parent))?;
        let Response::Welcome { session, .. } = response else { return Ok((response, alive)) };
        let spare = core.sessions.get(&session).ok_or(Refusal::NoSession { session })?;
        // A scan reads as many slots as the pool has allocated: the child's are among them.
        let slots = spare.grow(slots).map_err(|error| system("grow a lease page", &error))?;
        Ok((self.welcome(session, slots, 0), alive))
    }

    /// Answers any request but the two that hand out descriptors.
    pub fn handle(&self, session: SessionId, request: Request) -> Response {
        self.try_handle(session, request).unwrap_or_else(Response::Refused)
    }

    fn try_handle(&self, session: SessionId, request: Request) -> Result<Response, Refusal> {
        let unsound = |what: &str| Err(Refusal::Unsound { what: what.to_owned() });
        match request {
            Request::Hello { .. } | Request::Spare { .. } => unsound("introduced twice"),
            Request::Arena { bytes, wait_ms } => self.arena(session, bytes, wait_ms),
            Request::Grow { arena, to, wait_ms } => self.grow(session, arena, to, wait_ms),
            Request::Return { arena } => self.give_back(session, arena),
            Request::Slots { to } => self.slots(session, to),
            Request::Commit(commit) => self.commit(session, *commit),
            Request::Drop { sequence, name } => self.drop_frame(session, sequence, &name),
            Request::Rename { sequence, from, to } => self.rename(session, sequence, &from, &to),
            Request::Confirm { manifest, generation } => self.confirm(manifest, generation),
            Request::Keep { sequence, name, keep } => self.set_keep(session, sequence, &name, keep),
            Request::Tag { sequence, name, tag, version } => {
                self.tag(session, sequence, (&name, &tag), version)
            }
            Request::Untag { sequence, name, tag } => self.untag(session, sequence, (&name, &tag)),
            Request::DropVersion { sequence, name, version } => {
                self.drop_version(session, sequence, &name, version)
            }
            Request::Find { name, which } => self.find(&name, &which),
            Request::Log { name } => self.log(&name),
            Request::Corrupt { entry } => Ok(self.corrupt(entry)),
            Request::Verified { entry } => Ok(self.verified(entry)),
            Request::List => Ok(self.list()),
            Request::Info => Ok(Response::Info(Box::new(self.info()))),
            Request::Leases => Ok(self.leases()),
            Request::Evict { session } => self.evict(session),
            Request::Stop => {
                self.stop();
                Ok(Response::Done)
            }
        }
    }

    /// Which connection of the session is its present one; `None` if it has ended.
    pub fn connection(&self, session: SessionId) -> Option<u64> {
        self.lock().sessions.get(&session).map(|session| session.connection)
    }

    /// A connection of a session has ended.
    pub fn disconnected(&self, session: SessionId, connection: u64) {
        let mut core = self.lock();
        if let Some(session) = core.sessions.get_mut(&session)
            && session.connection == connection
        {
            session.connected = false;
        }
        self.wake.notify_all();
    }

    /// Begins to stop: background work ends, waiters are refused.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        // Under the lock, so that nobody is between looking and waiting.
        let core = self.lock();
        self.wake.notify_all();
        self.freed.notify_all();
        drop(core);
    }

    /// Whether the directory still has the lock file that this owner holds. It may have been
    /// removed by hand, and a successor have made it anew.
    fn owns_directory(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let held = lock.as_ref().and_then(|file| file.metadata().ok());
        let found = std::fs::symlink_metadata(self.dir().file("lock")).ok();
        let same = held.zip(found).map(|(a, b)| a.dev() == b.dev() && a.ino() == b.ino());
        same.unwrap_or(false)
    }

    /// Stops and waits for the background threads; flushes the catalog. An ephemeral pool,
    /// and one without frames that ended for want of clients, takes its directory with it.
    pub fn close(&self, discard: bool) {
        self.stop();
        let keepers =
            std::mem::take(&mut *self.keepers.lock().unwrap_or_else(PoisonError::into_inner));
        for keeper in keepers {
            // The last to let go of an embedded pool may be one of its own threads.
            if keeper.thread().id() != std::thread::current().id() {
                let _ = keeper.join();
            }
        }
        let mut core = self.lock();
        // What is in the journal is safe where it is; in redb it is read faster.
        let _ = core.estate.catalog.flush();
        if !self.owns_directory() {
            // What is at this path now is somebody else's.
            *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
            return;
        }
        let _ = std::fs::remove_file(self.dir().file("socket"));
        let empty = core.ledger.names().next().is_none()
            && core.lost.is_empty()
            && core.sessions.values().all(|s| s.liveness() == Liveness::Dead);
        if self.config.ephemeral || (discard && empty) {
            let _ = std::fs::remove_dir_all(self.dir().path());
        }
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if self.config.ephemeral {
            self.close(true);
        }
    }
}

pub(crate) fn system(what: &str, error: &dyn std::error::Error) -> Refusal {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text += &format!(": {inner_text}");
        }
        source = inner.source();
    }
    Refusal::System { what: what.to_owned(), error: text }
}

/// Takes the lock of a directory, or says who has it.
pub(crate) fn lock_directory(dir: &RunDir) -> Result<File, OpenError> {
    let io = |source| OpenError::io(dir, source);
    let mut lock = open_own(&dir.file("lock"), true).map_err(io)?;
    if !cenote_region::lock::try_lock_exclusive(&lock).map_err(io)? {
        let text = std::fs::read_to_string(dir.file("lock")).unwrap_or_default();
        let pid: u32 = text.trim().parse().unwrap_or(0);
        let pid = cenote_region::process::ProcessId(pid);
        let stopped = matches!(cenote_region::process::state(pid), Some('T' | 't'));
        return Err(OpenError::Owned { path: dir.path().to_owned(), pid: pid.0, stopped });
    }
    // Cut afterwards: on a full file system the page that is there stays.
    let id = std::process::id().to_string();
    lock.write_all(id.as_bytes()).map_err(io)?;
    lock.set_len(id.len() as u64).map_err(io)?;
    Ok(lock)
}
