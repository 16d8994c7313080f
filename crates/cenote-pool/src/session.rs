//! Clients: who they are, whether they live, what they read.
//!
//! A session is a lease page and a liveness file. The pool takes an OFD lock on the file and
//! gives the descriptor away, so that the kernel releases the lock when the last process
//! that holds it is gone, however it went. A client is dead when its lock is free *and* its
//! process is known to be gone, or has let go of its page; a free lock alone may only mean
//! that somebody closed all descriptors. Such a session is quarantined: nothing that it
//! might read is reused.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use cenote_region::lock::{is_locked_by_other, try_lock_exclusive};
use cenote_region::process::{PidFd, ProcessId, command_line, start_time, state};

use crate::id::{ArenaId, SessionId};
use crate::page::PageFile;
use crate::protocol::lease::{Holder, Leased};
use crate::rundir::RunDir;
use crate::step::reach;
use crate::words::open_own;

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
    pub page: Arc<PageFile>,
    /// Not locked by us: asks whether the client's lock is still held.
    probe: File,
    /// Arenas that it may write.
    pub arenas: Vec<ArenaId>,
    /// Its last change.
    pub sequence: u64,
    /// Whether a connection of it is open.
    pub connected: bool,
    /// Which try of its client's the present connection is; an earlier one is not heard.
    pub connection: u64,
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
            let text = "the session's number is taken";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
        let made = Session::make(dir, id, peer, spare_of, &held);
        if made.is_err() {
            let _ = std::fs::remove_file(dir.lease(id));
            let _ = std::fs::remove_file(dir.alive(id));
        }
        Ok((made?, held.into()))
    }

    fn make(
        dir: &RunDir,
        id: SessionId,
        peer: Peer,
        spare_of: Option<SessionId>,
        mut held: &File,
    ) -> io::Result<Session> {
        let probe = File::open(dir.alive(id))?;
        let command = peer.command.replace(['\n', '\r'], " ");
        let spare = spare_of.map_or(0, |s| s.0);
        let text = format!("{}\n{}\n{spare}\n{command}\n", peer.pid, peer.start);
        held.write_all(text.as_bytes())?;
        reach("session: liveness file locked");
        let page = PageFile::create(&dir.lease(id), id)?;
        let known = Known { pid: peer.pid, start: peer.start, spare_of, command };
        let mut session = Session::new(id, known, page, probe);
        session.pidfd = peer.pidfd;
        session.connected = spare_of.is_none();
        Ok(session)
    }

    /// Takes over a session that an earlier daemon left. `None`: its files make no session.
    ///
    /// A client that lives and whose files are damaged is kept: nobody knows what it reads.
    pub fn adopt(dir: &RunDir, id: SessionId) -> Option<Session> {
        let probe = File::open(dir.alive(id)).ok()?;
        let lives = is_locked_by_other(&probe).unwrap_or(true);
        let text = std::fs::read(dir.alive(id)).unwrap_or_default();
        let known = Known::parse(&String::from_utf8_lossy(&text));
        let page = PageFile::open(&dir.lease(id), id);
        if !lives && (known.is_none() || page.is_none()) {
            return None;
        }
        let page = page.unwrap_or_else(PageFile::unreadable);
        let mut session = Session::new(id, known.unwrap_or_default(), page, probe);
        let (pid, start) = (session.pid, session.start);
        if same_process(pid, start) {
            session.pidfd = PidFd::open(ProcessId(pid)).ok();
        }
        Some(session)
    }

    fn new(id: SessionId, known: Known, page: PageFile, probe: File) -> Session {
        let Known { pid, start, spare_of, command } = known;
        Session {
            id,
            pid,
            start,
            pidfd: None,
            command,
            page: Arc::new(page),
            probe,
            arenas: Vec::new(),
            sequence: 0,
            connected: false,
            connection: 0,
            spare_of,
            quarantined: false,
            since: std::time::Instant::now(),
            ring: 0,
        }
    }

    /// The client is connected again. False: it has come back since.
    pub fn reconnect(&mut self, peer: Peer, attempt: u64) -> bool {
        if attempt <= self.connection {
            return false;
        }
        self.connected = true;
        self.connection = attempt;
        if peer.pid == self.pid || self.pid == 0 {
            self.pidfd = peer.pidfd;
            self.pid = peer.pid;
            self.start = peer.start;
        }
        true
    }

    /// Slots of the page that are allocated.
    pub fn slots(&self) -> u64 {
        self.page.slots()
    }

    /// Allocates more slots, up to the bound.
    ///
    /// # Errors
    /// No space.
    pub fn grow(&self, to: u64) -> io::Result<u64> {
        self.page.grow(to)
    }

    /// Adds what it reads; where its page cannot be read, everything.
    pub fn scan(&self, leased: &mut Leased) {
        self.page.scan(leased);
    }

    /// The process that reads, as far as this one can see it; 0 where it cannot.
    pub fn reader(&self) -> u32 {
        match self.page.read_header().and_then(|page| page.holder()) {
            Some(holder) if self.spare_of.is_some() && is_process(holder) => holder.pid,
            _ => self.pid,
        }
    }

    /// Whether it is a page for a child that was not forked.
    pub fn is_unused_spare(&self) -> bool {
        self.spare_of.is_some() && self.page.read_header().is_some_and(|p| p.holder().is_none())
    }

    /// Whether its client has let go of its page, as one that ends in good order does.
    pub fn has_let_go(&self) -> bool {
        self.page.read_header().is_some_and(|page| page.holder().is_none())
    }

    /// Whether the client lives. A few system calls.
    pub fn liveness(&self) -> Liveness {
        if is_locked_by_other(self.probe.as_fd()).unwrap_or(true) {
            return Liveness::Alive;
        }
        let unclear = match (self.page.read_header().map(|page| page.holder()), &self.pidfd) {
            // Let go of; or never taken, since a daemon ended before its client had an answer.
            (Some(None), _) => false,
            // The page of a child that is not known otherwise.
            (Some(Some(holder)), _) if self.spare_of.is_some() => is_process(holder),
            (_, Some(pidfd)) => pidfd.is_alive().unwrap_or(true),
            (Some(_), None) if self.pid == 0 => true,
            (_, None) => same_process(self.pid, self.start),
        };
        if unclear { Liveness::Unclear } else { Liveness::Dead }
    }

    /// Ends the client's process.
    ///
    /// # Errors
    /// It cannot be signalled, or is gone.
    pub fn kill(&self) -> io::Result<()> {
        use cenote_region::process::Signal;
        match &self.pidfd {
            Some(pidfd) => pidfd.signal(Signal::KILL),
            None => PidFd::open(ProcessId(self.reader()))?.signal(Signal::KILL),
        }
    }

    /// Removes its files.
    pub fn remove(&self, dir: &RunDir) {
        // The lease page first: a liveness file without one is adopted as nothing.
        let _ = std::fs::remove_file(dir.lease(self.id));
        let _ = std::fs::remove_file(dir.alive(self.id));
    }
}

/// What a liveness file says.
#[derive(Debug, Default)]
struct Known {
    pid: u32,
    start: u64,
    spare_of: Option<SessionId>,
    command: String,
}

impl Known {
    fn parse(text: &str) -> Option<Known> {
        let mut lines = text.lines();
        let pid = lines.next()?.parse().ok()?;
        let start = lines.next()?.parse().ok()?;
        let spare: u64 = lines.next()?.parse().ok()?;
        let spare_of = (spare != 0).then_some(SessionId(spare));
        Some(Known { pid, start, spare_of, command: lines.next().unwrap_or_default().to_owned() })
    }
}

/// Whether the holder of a page is a process that can be seen from here.
fn is_process(holder: Holder) -> bool {
    let start = started(holder.pid);
    start.is_some_and(|start| start & u64::from(u32::MAX) == u64::from(holder.start))
}

/// Whether `pid` still is the process that started at `start`.
fn same_process(pid: u32, start: u64) -> bool {
    pid != 0 && started(pid) == Some(start)
}

/// When the process began, if it still runs: a child that its parent has not waited for has
/// a number and no memory.
fn started(pid: u32) -> Option<u64> {
    let pid = ProcessId(pid);
    let start = start_time(pid)?;
    (!matches!(state(pid), None | Some('Z' | 'X'))).then_some(start.0)
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
        let credentials = cenote_region::process::peer_credentials(socket).ok();
        let pid = credentials.and_then(|peer| peer.pid).map_or(0, |pid| pid.0);
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
