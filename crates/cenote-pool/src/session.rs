//! Clients: who they are, whether they live, what they read.
//!
//! A session is a lease page and a liveness file. The pool takes an OFD lock on the file and
//! gives the descriptor away, so that the kernel releases the lock when the last process
//! that holds it is gone, however it went. A client is dead when its lock is free *and* its
//! process is known to be gone; a free lock alone may only mean that somebody closed all
//! descriptors. Such a session is quarantined: nothing that it might read is reused.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use cenote_region::lock::{is_locked_by_other, try_lock_exclusive};
use cenote_region::process::{PidFd, ProcessId, command_line, start_time};
use cenote_region::space::allocate;

use crate::id::{ArenaId, SessionId};
use crate::protocol::lease::{HEADER_WORDS, LeasePage, SLOTS_INITIAL, SLOTS_MAX};
use crate::rundir::RunDir;
use crate::step::reach;
use crate::words::{Shared, open_own};

/// Most sessions at a time.
pub const SESSIONS_MAX: usize = 1 << 16;

/// One client.
#[derive(Debug)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its process as the pool sees it; 0 where it cannot.
    pub pid: u32,
    start: u64,
    pidfd: Option<PidFd>,
    /// Its command line.
    pub command: String,
    /// What it reads.
    pub page: Arc<LeasePage<Shared>>,
    page_file: File,
    /// Not locked by us: asks whether the client's lock is still held.
    probe: File,
    slots: u64,
    /// Arenas that it may write.
    pub arenas: Vec<ArenaId>,
    /// Its last change.
    pub sequence: u64,
    /// Whether a connection of it is open.
    pub connected: bool,
    /// Made ahead for a child; the session that asked.
    pub spare_of: Option<SessionId>,
    /// The lock is free and the process may live.
    pub quarantined: bool,
    /// When it came.
    pub since: std::time::Instant,
    /// Where its use ring was read up to.
    pub ring: u64,
}

/// Whether a client lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It does.
    Alive,
    /// It does not.
    Dead,
    /// Its lock is free, and its process is there or cannot be seen.
    Unclear,
}

fn page_words(slots: u64) -> u64 {
    HEADER_WORDS + slots
}

impl Session {
    /// Makes a session and the descriptor that its client is to hold.
    ///
    /// # Errors
    /// No space, or the file system refuses.
    pub fn create(
        dir: &RunDir,
        id: SessionId,
        peer: Peer,
        spare_of: Option<SessionId>,
    ) -> io::Result<(Session, OwnedFd)> {
        let held = open_own(&dir.alive(id), true)?;
        if !try_lock_exclusive(&held)? {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the session's number is taken"));
        }
        let command = peer.command.replace(['\n', '\r'], " ");
        let spare = spare_of.map_or(0, |s| s.0);
        let text = format!("{}\n{}\n{spare}\n{command}\n", peer.pid, peer.start);
        (&held).write_all(text.as_bytes())?;
        reach("session: liveness file locked");
        let page_file = open_own(&dir.lease(id), true)?;
        page_file.set_len(page_words(SLOTS_MAX) * 8)?;
        allocate(&page_file, 0, page_words(SLOTS_INITIAL) * 8).map_err(io::Error::other)?;
        let memory = Shared::read_write_not_in_children(&page_file, page_words(SLOTS_MAX))?;
        let page = Arc::new(LeasePage::create(memory, id));
        let probe = File::open(dir.alive(id))?;
        let session = Session {
            id,
            pid: peer.pid,
            start: peer.start,
            pidfd: peer.pidfd,
            command,
            page,
            page_file,
            probe,
            slots: SLOTS_INITIAL,
            arenas: Vec::new(),
            sequence: 0,
            connected: spare_of.is_none(),
            spare_of,
            quarantined: false,
            since: std::time::Instant::now(),
            ring: 0,
        };
        Ok((session, held.into()))
    }

    /// Takes over a session that an earlier daemon left. `None`: its files make no session.
    pub fn adopt(dir: &RunDir, id: SessionId) -> Option<Session> {
        let probe = File::open(dir.alive(id)).ok()?;
        let text = std::fs::read_to_string(dir.alive(id)).unwrap_or_default();
        let mut lines = text.lines();
        let pid: u32 = lines.next()?.parse().ok()?;
        let start: u64 = lines.next()?.parse().ok()?;
        let spare: u64 = lines.next()?.parse().ok()?;
        let command = lines.next().unwrap_or_default().to_owned();
        let page_file = open_own(&dir.lease(id), false).ok()?;
        let memory =
            Shared::read_write_not_in_children(&page_file, page_words(SLOTS_MAX)).ok()?;
        let page = LeasePage::new(memory);
        if page.session() != Some(id) {
            return None;
        }
        let slots = cenote_region::space::allocated(&page_file).ok()?.0 / 8;
        let pidfd = same_process(pid, start).then(|| PidFd::open(ProcessId(pid)).ok()).flatten();
        Some(Session {
            id,
            pid,
            start,
            pidfd,
            command,
            page: Arc::new(page),
            page_file,
            probe,
            slots: slots.saturating_sub(HEADER_WORDS).clamp(SLOTS_INITIAL, SLOTS_MAX),
            arenas: Vec::new(),
            sequence: 0,
            connected: false,
            spare_of: (spare != 0).then_some(SessionId(spare)),
            quarantined: false,
            since: std::time::Instant::now(),
            ring: 0,
        })
    }

    /// The client is connected again.
    pub fn reconnect(&mut self, peer: Peer) {
        self.connected = true;
        if peer.pid == self.pid || self.pid == 0 {
            self.pidfd = peer.pidfd;
            self.pid = peer.pid;
            self.start = peer.start;
        }
    }

    /// Slots of the page that are allocated.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// Allocates more slots, up to the bound.
    ///
    /// # Errors
    /// No space.
    pub fn grow(&mut self, to: u64) -> io::Result<u64> {
        let to = to.next_power_of_two().clamp(SLOTS_INITIAL, SLOTS_MAX);
        if to > self.slots {
            let (start, end) = (page_words(self.slots) * 8, page_words(to) * 8);
            allocate(&self.page_file, start, end - start).map_err(io::Error::other)?;
            self.slots = to;
        }
        Ok(self.slots)
    }

    /// Reads its leases. `None`: the page was cut short, so that what it reads is not known.
    pub fn scan(&self, each: impl FnMut(crate::protocol::word::Lease)) -> Option<()> {
        let length = self.page_file.metadata().ok()?.len();
        (length >= page_words(SLOTS_MAX) * 8).then(|| self.page.scan(self.slots, each))
    }

    /// Whether the client lives. Two system calls.
    pub fn liveness(&self) -> Liveness {
        if is_locked_by_other(self.probe.as_fd()).unwrap_or(true) {
            return Liveness::Alive;
        }
        if self.spare_of.is_some() {
            // The page of a child that is not known otherwise: its parent's lock copy is
            // closed, and so is its own.
            let holder = u32::try_from(self.page.holder()).unwrap_or(0);
            return if holder != 0 && start_time(ProcessId(holder)).is_some() {
                Liveness::Unclear
            } else {
                Liveness::Dead
            };
        }
        match &self.pidfd {
            Some(pidfd) if pidfd.is_alive().unwrap_or(true) => Liveness::Unclear,
            Some(_) => Liveness::Dead,
            None if self.pid == 0 => Liveness::Unclear,
            None if same_process(self.pid, self.start) => Liveness::Unclear,
            None => Liveness::Dead,
        }
    }

    /// Ends the client's process.
    ///
    /// # Errors
    /// It cannot be signalled, or is gone.
    pub fn kill(&self) -> io::Result<()> {
        use cenote_region::process::Signal;
        match &self.pidfd {
            Some(pidfd) => pidfd.signal(Signal::KILL),
            None => PidFd::open(ProcessId(u32::try_from(self.page.holder()).unwrap_or(self.pid)))?
                .signal(Signal::KILL),
        }
    }

    /// Removes its files.
    pub fn remove(&self, dir: &RunDir) {
        // The lease page first: a liveness file without one is adopted as nothing.
        let _ = std::fs::remove_file(dir.lease(self.id));
        let _ = std::fs::remove_file(dir.alive(self.id));
    }
}

/// Whether `pid` still is the process that started at `start`.
fn same_process(pid: u32, start: u64) -> bool {
    pid != 0 && start_time(ProcessId(pid)).is_some_and(|s| s.0 == start)
}

/// The process at the other end of a connection.
#[derive(Debug, Default)]
pub struct Peer {
    /// Its id, 0 where it cannot be seen from here.
    pub pid: u32,
    /// When it began.
    pub start: u64,
    /// A hold on it that outlives its id.
    pub pidfd: Option<PidFd>,
    /// Its command line.
    pub command: String,
}

impl Peer {
    /// Who is at the other end of a socket.
    pub fn of(socket: impl AsFd) -> Peer {
        let socket = socket.as_fd();
        let pidfd = PidFd::from_socket_peer(socket).ok();
        let pid = cenote_region::process::peer_credentials(socket).map_or(0, |peer| peer.pid.0);
        Peer {
            pid,
            start: start_time(ProcessId(pid)).map_or(0, |s| s.0),
            pidfd,
            command: command_line(ProcessId(pid)),
        }
    }

    /// This process.
    pub fn own() -> Peer {
        let pid = ProcessId::current();
        Peer {
            pid: pid.0,
            start: start_time(pid).map_or(0, |s| s.0),
            pidfd: PidFd::open(pid).ok(),
            command: command_line(pid),
        }
    }
}
