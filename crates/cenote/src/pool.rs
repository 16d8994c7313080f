//! A connection to a pool.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use cenote_pool::id::SessionId;
use cenote_pool::message::{FrameInfo, PoolInfo, Request, Response, SessionInfo};
use cenote_pool::pool::{Config, Pool as Owner};
use cenote_pool::protocol::ledger::IfExists;
use cenote_pool::rundir::{RunDir, user_directory};

use crate::error::{Error, Unavailable};
use crate::frame::{Frame, FrameRef};
use crate::link::{ANSWER_WITHIN, Embedded, Link, unexpected};
use crate::selection::Selection;
use crate::session::Session;
use crate::start::{Daemon, owned};
use crate::writer::FrameWriter;

/// A daemon that was killed is started again within, where somebody sees to that.
const AFTER_KILL: Duration = Duration::from_secs(2);
/// A daemon that was stopped to be started again is there within.
const AFTER_STOP: Duration = Duration::from_millis(500);

/// How to connect.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The pool: a path, or the name of a pool of this user. `None`: `CENOTE_ADDRESS`, or
    /// the user's default pool.
    pub address: Option<String>,
    /// Starts a daemon where none serves the pool.
    pub start: Option<Daemon>,
    /// How long to wait for an answer; 30 s unless said.
    pub answer_within: Option<Duration>,
}

/// A connection to a pool; cheap to clone. All its methods may be called from any thread.
#[derive(Clone, Debug)]
pub struct Pool {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    options: Options,
    session: RwLock<Arc<Session>>,
    /// One thread at a time makes a new session.
    renewing: Mutex<()>,
}

impl Pool {
    /// Connects to a pool of this host.
    ///
    /// Where its daemon has just ended, the next one is waited for: two seconds if it was
    /// killed, half a second if it was stopped, and as long as for an answer if a daemon is
    /// starting.
    ///
    /// # Errors
    /// [`Error::Unavailable`]: nobody serves it, and none was to be started or could be.
    pub fn connect(options: Options) -> Result<Pool, Error> {
        Pool::connected(options, true)
    }

    /// As [`Self::connect`], without a wait for a daemon that may be on its way: for who would
    /// start one.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub fn connect_at_once(options: Options) -> Result<Pool, Error> {
        Pool::connected(options, false)
    }

    fn connected(options: Options, patient: bool) -> Result<Pool, Error> {
        let session = open(&options, patient)?;
        Ok(Pool {
            inner: Arc::new(Inner {
                options,
                session: RwLock::new(session),
                renewing: Mutex::new(()),
            }),
        })
    }

    /// A pool of this process alone, gone with the last handle and frame of it. Buffers that
    /// were got from it stay good.
    ///
    /// # Errors
    /// [`Error::Open`]: no space.
    pub fn embedded(capacity: Option<u64>) -> Result<Pool, Error> {
        sweep_embedded();
        let unique = cenote_region::random::random_u64().map_err(Error::io("make a name"))?;
        let dir = RunDir::at(
            user_directory().join(format!("embedded-{}-{unique:016x}", std::process::id())),
        );
        let config = Config {
            dir: dir.clone(),
            capacity,
            reserve: Some(0),
            idle_exit: None,
            ephemeral: true,
        };
        let owner = Owner::open(config)?;
        let session = Session::open(dir, Link::Embedded(Embedded::new(owner)))?;
        Ok(Pool {
            inner: Arc::new(Inner {
                options: Options::default(),
                session: RwLock::new(session),
                renewing: Mutex::new(()),
            }),
        })
    }

    /// Where the pool lives.
    #[must_use]
    pub fn dir(&self) -> RunDir {
        self.inner.session.read().unwrap_or_else(PoisonError::into_inner).dir.clone()
    }

    /// This process's session: a new one after a fork, or where the pool was made anew.
    pub(crate) fn session(&self) -> Result<Arc<Session>, Error> {
        let now = || self.inner.session.read().unwrap_or_else(PoisonError::into_inner).clone();
        let session = now();
        if !session.is_forked() && session.leases.hold() {
            return Ok(session);
        }
        if session.is_embedded() {
            return Err(session.unavailable(Unavailable::Parents));
        }
        // In a child another thread's hold on the lock would be for ever.
        let guard = self.inner.renewing.try_lock();
        let again = now();
        if !again.is_forked() && again.leases.hold() {
            return Ok(again);
        }
        let fresh = open(&self.inner.options, true)?;
        if let Ok(mut slot) = self.inner.session.try_write() {
            // The old one's frames keep it; a child must not run its end.
            std::mem::forget(std::mem::replace(&mut *slot, fresh.clone()));
        }
        drop(guard);
        Ok(fresh)
    }

    /// Puts a table in: one version of the frame `name`, a partition a batch.
    ///
    /// The bytes are copied, so the input may change afterwards. Durable when this returns.
    ///
    /// # Errors
    /// [`Error::Refused`]: the name exists or cannot be used, or there is no room.
    pub fn put(
        &self,
        name: &str,
        batches: &[RecordBatch],
        if_exists: IfExists,
    ) -> Result<u64, Error> {
        let schema = match batches.first() {
            Some(batch) => batch.schema(),
            None => Arc::new(arrow_schema::Schema::empty()),
        };
        let mut writer = self.writer(name, schema, if_exists)?;
        writer.write_all(batches)?;
        writer.commit()
    }

    /// Adds rows to a frame: a new version of it that has the old one's, too, and costs only what
    /// is new. Where there is no such frame this makes it. Two that append at once both do.
    ///
    /// # Errors
    /// [`Error::Append`] where the columns are not the frame's; else as [`Self::put`].
    pub fn append(&self, name: &str, batches: &[RecordBatch]) -> Result<u64, Error> {
        self.put(name, batches, IfExists::Append)
    }

    /// A writer for a frame.
    ///
    /// # Errors
    /// The name or the schema cannot be used.
    pub fn writer(
        &self,
        name: &str,
        schema: SchemaRef,
        if_exists: IfExists,
    ) -> Result<FrameWriter, Error> {
        FrameWriter::new(self.session()?, name, schema, if_exists)
    }

    /// The current version of a frame. No copy, no message: a few loads from shared memory.
    ///
    /// # Errors
    /// [`Error::Refused`] with [`Refusal::NotFound`](crate::Refusal::NotFound).
    pub fn get(&self, name: &str) -> Result<Frame, Error> {
        Frame::open(&self.session()?, name, &Selection::default())
    }

    /// Some columns and rows of the current version; only their chunks are leased.
    ///
    /// # Errors
    /// As [`Self::get`]; [`Error::NoColumn`], [`Error::Rows`].
    pub fn get_selected(&self, name: &str, selection: &Selection) -> Result<Frame, Error> {
        Frame::open(&self.session()?, name, selection)
    }

    /// As [`Self::get_selected`] where that takes no message to the pool, opens no file and
    /// waits for nobody; `None` where it would: the name may still be there.
    ///
    /// For callers that hold a lock of their own, Python's say, and would have to let go of it
    /// for anything that may wait.
    ///
    /// # Errors
    /// [`Error::NoColumn`], [`Error::Rows`], [`Error::Damaged`].
    pub fn get_at_once(&self, name: &str, selection: &Selection) -> Result<Option<Frame>, Error> {
        let session = self.inner.session.read().unwrap_or_else(PoisonError::into_inner).clone();
        if session.is_forked() || !session.leases.hold() {
            return Ok(None);
        }
        Frame::open_at_once(&session, name, selection)
    }

    /// Whether a frame of this name is seen, without a message to the pool: where it is not,
    /// it may be there all the same.
    #[must_use]
    pub fn is_seen(&self, name: &str) -> bool {
        let session = self.inner.session.read().unwrap_or_else(PoisonError::into_inner).clone();
        !session.is_forked() && session.leases.hold() && Frame::is_seen(&session, name)
    }

    /// The version that a reference names, from any process of the host.
    ///
    /// # Errors
    /// The version is gone, since nobody held it.
    pub fn open(&self, reference: &FrameRef) -> Result<Frame, Error> {
        Frame::open_reference(&self.session()?, reference)
    }

    /// Drops a frame. Who reads it goes on.
    ///
    /// # Errors
    /// No such frame.
    pub fn drop_frame(&self, name: &str) -> Result<(), Error> {
        let name = name.to_owned();
        self.done(|sequence| Request::Drop { sequence, name })
    }

    /// Renames a frame.
    ///
    /// # Errors
    /// No such frame, or the new name is taken.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.done(|sequence| Request::Rename { sequence, from, to })
    }

    pub(crate) fn done(&self, request: impl FnOnce(u64) -> Request) -> Result<(), Error> {
        match self.session()?.change(request)? {
            Response::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// All frames, by name.
    ///
    /// # Errors
    /// The pool cannot be reached.
    pub fn frames(&self) -> Result<Vec<FrameInfo>, Error> {
        match self.session()?.call(&Request::List)? {
            Response::Frames(frames) => Ok(frames),
            other => Err(unexpected(&other)),
        }
    }

    /// The state of the pool.
    ///
    /// # Errors
    /// The pool cannot be reached.
    pub fn info(&self) -> Result<PoolInfo, Error> {
        match self.session()?.call(&Request::Info)? {
            Response::Info(info) => Ok(*info),
            other => Err(unexpected(&other)),
        }
    }

    /// Who reads what.
    ///
    /// # Errors
    /// The pool cannot be reached.
    pub fn leases(&self) -> Result<Vec<SessionInfo>, Error> {
        match self.session()?.call(&Request::Leases)? {
            Response::Leases(leases) => Ok(leases),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends a client's process, and with it what it holds.
    ///
    /// # Errors
    /// No such client, or it does not end.
    pub fn evict(&self, session: SessionId) -> Result<(), Error> {
        match self.session()?.call(&Request::Evict { session })? {
            Response::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// This connection's session, as [`Self::leases`] lists it.
    ///
    /// # Errors
    /// After a fork the pool cannot be reached.
    pub fn session_id(&self) -> Result<SessionId, Error> {
        Ok(self.session()?.id)
    }

    /// Ends the daemon. What is in the pool stays, for the next one.
    ///
    /// # Errors
    /// The pool cannot be reached.
    pub fn stop_daemon(&self) -> Result<(), Error> {
        match self.session()?.call(&Request::Stop)? {
            Response::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}

fn open(options: &Options, patient: bool) -> Result<Arc<Session>, Error> {
    let dir = RunDir::from_address(options.address.as_deref());
    let within = options.answer_within.unwrap_or(ANSWER_WITHIN);
    let try_open = || Session::open(dir.clone(), Link::socket(dir.clone(), within));
    let not_running = |error: &Error| {
        matches!(
            error,
            Error::Unavailable { why: Unavailable::NotRunning | Unavailable::Remade, .. }
        )
    };
    let begin = Instant::now();
    let deadline = begin + within;
    let mut started: Option<(std::process::Child, u64)> = None;
    loop {
        match try_open() {
            Err(error) if not_running(&error) => {
                let Some(daemon) = &options.start else {
                    let wait = if patient { on_its_way(&dir).min(within) } else { Duration::ZERO };
                    if begin.elapsed() >= wait || !crate::link::retry(begin + wait)? {
                        return Err(error);
                    }
                    continue;
                };
                if started.is_none() {
                    started = Some(daemon.spawn(&dir)?);
                }
                let ended = started.as_mut().and_then(|(child, _)| child.try_wait().ok().flatten());
                // It may have ended because another was quicker.
                if ended.is_some() && try_open().is_err() && !owned(&dir) {
                    let why = Unavailable::Start(
                        daemon.last_words(&dir, started.map_or(0, |(_, said)| said)),
                    );
                    return Err(Error::Unavailable { path: dir.path().to_owned(), why });
                }
                if !crate::link::retry(deadline)? {
                    return Err(error);
                }
            }
            outcome => return outcome,
        }
    }
}

/// How long a daemon may be waited for that nobody here starts, by what the last one left.
fn on_its_way(dir: &RunDir) -> Duration {
    if owned(dir) {
        return ANSWER_WITHIN;
    }
    // A daemon that stops takes its socket with it.
    match (dir.file("board").exists(), dir.file("socket").exists()) {
        (true, true) => AFTER_KILL,
        (true, false) => AFTER_STOP,
        (false, _) => Duration::ZERO,
    }
}

/// Embedded pools whose processes were killed.
fn sweep_embedded() {
    let Ok(entries) = std::fs::read_dir(user_directory()) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with("embedded-") {
            continue;
        }
        let lock = cenote_pool::words::open_own(&path.join("lock"), false);
        let free = lock.is_ok_and(|f| cenote_region::lock::try_lock_exclusive(&f).unwrap_or(false));
        if free {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}
