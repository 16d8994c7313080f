//! The pool behind a socket: one thread a client, requests in order.

use std::collections::HashMap;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cenote_region::process::peer_credentials;
use cenote_region::socket::{expect_soon, send_with_fds};

use crate::id::{Epoch, SessionId};
use crate::message::{MESSAGE_BYTES_MAX, Refusal, Request, Response};
use crate::pool::Pool;
use crate::session::Peer;

mod told;

/// A client that does not read its answer for so long is cut off.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
const ACCEPT_TICK: Duration = Duration::from_millis(50);
/// How long the next request is looked for before the thread sleeps.
const SOON: Duration = Duration::from_micros(100);
/// How long requests under way may take when the server ends.
const END_WITHIN: Duration = Duration::from_secs(2);
const STACK_BYTES: usize = 512 << 10;

/// A pool that listens.
#[derive(Debug)]
pub struct Server {
    pool: Arc<Pool>,
    listener: UnixListener,
    /// The connections, to be ended with the server.
    clients: Arc<Mutex<HashMap<u64, UnixStream>>>,
    accepted: AtomicU64,
}

impl Server {
    /// Listens in the pool's directory. A socket that an earlier daemon left is replaced:
    /// the directory's lock is ours.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub fn bind(pool: Arc<Pool>) -> io::Result<Server> {
        let path = pool.dir().file("socket");
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // The name of a socket has 107 bytes; a name below /proc is short.
        let dir = std::fs::File::open(pool.dir().path())?;
        let short = format!("/proc/self/fd/{}/socket", std::os::fd::AsRawFd::as_raw_fd(&dir));
        let listener = UnixListener::bind(short)?;
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Server { pool, listener, clients: Arc::default(), accepted: AtomicU64::new(0) })
    }

    /// Serves until the pool is told to stop, or `stop` says so.
    ///
    /// # Errors
    /// The listening socket fails.
    pub fn run(&self, stop: &dyn Fn() -> bool) -> io::Result<()> {
        while !self.pool.is_stopping() && !stop() {
            match self.listener.accept() {
                Ok((stream, _)) => self.spawn(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Out of descriptors: clients that end give some back.
                Err(_) => std::thread::sleep(ACCEPT_TICK),
            }
        }
        self.hang_up();
        Ok(())
    }

    /// Ends all connections, and waits a little for requests under way.
    fn hang_up(&self) {
        self.pool.stop();
        let clients = || self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        for client in clients().values() {
            let _ = client.shutdown(std::net::Shutdown::Read);
        }
        let deadline = Instant::now() + END_WITHIN;
        while !clients().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn wait(&self) {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut fds = [PollFd::new(&self.listener, PollFlags::IN)];
        let tick = Timespec { tv_sec: 0, tv_nsec: i64::from(ACCEPT_TICK.subsec_nanos()) };
        let _ = poll(&mut fds, Some(&tick));
    }

    fn spawn(&self, stream: UnixStream) {
        let pool = self.pool.clone();
        let Ok(handle) = stream.try_clone() else { return };
        let number = self.accepted.fetch_add(1, Ordering::Relaxed);
        let clients = self.clients.clone();
        clients.lock().unwrap_or_else(PoisonError::into_inner).insert(number, handle);
        let builder = std::thread::Builder::new().name("cenote-client".to_owned());
        // If no thread can be had the connection closes, which tells the client.
        let ended = self.clients.clone();
        let spawned = builder.stack_size(STACK_BYTES).spawn(move || {
            // However it ends, a panic included, the client hears of it.
            let _listed = Listed { clients, number };
            let mut connection = Connection { pool, stream, session: None, refused: None };
            let _ = connection.serve();
        });
        if spawned.is_err() {
            ended.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        }
    }
}

/// A connection in the server's list.
struct Listed {
    clients: Arc<Mutex<HashMap<u64, UnixStream>>>,
    number: u64,
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.remove(&self.number);
    }
}

struct Connection {
    pool: Arc<Pool>,
    stream: UnixStream,
    /// The session, and which of its connections this is.
    session: Option<(SessionId, u64)>,
    /// When the log was last told that there was no room for it.
    refused: Option<Instant>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some((session, connection)) = self.session {
            self.pool.disconnected(session, connection);
        }
    }
}

impl Connection {
    fn serve(&mut self) -> io::Result<()> {
        self.stream.set_nonblocking(false)?;
        self.stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let peer = peer_credentials(&self.stream)?;
        if peer.uid != rustix::process::geteuid().as_raw() {
            return Ok(());
        }
        loop {
            // Who has just been answered often asks again at once.
            expect_soon(&self.stream, SOON);
            let mut length = [0; 4];
            match self.stream.read_exact(&mut length) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                other => other?,
            }
            let length = u32::from_le_bytes(length);
            let mut body = Vec::new();
            if length <= MESSAGE_BYTES_MAX {
                // Grows as bytes come: a length alone takes no memory.
                (&self.stream).take(u64::from(length)).read_to_end(&mut body)?;
            }
            let (response, fd) = match postcard::from_bytes::<(Epoch, Request)>(&body) {
                Ok((epoch, request)) if body.len() == length as usize => {
                    self.answer(epoch, request)
                }
                _ => {
                    let what = "it is no message of this protocol".to_owned();
                    let refused = Response::Refused(Refusal::Unsound { what });
                    self.send(&refused, None)?;
                    return Ok(());
                }
            };
            self.send(&response, fd)?;
        }
    }

    fn answer(&mut self, epoch: Epoch, request: Request) -> (Response, Option<OwnedFd>) {
        let words = told::words(&request);
        let answer = self.answer_untold(epoch, request);
        let session = self.session.map(|(session, _)| session);
        told::tell(session, words.as_deref(), &answer.0, &mut self.refused);
        answer
    }

    fn answer_untold(&mut self, epoch: Epoch, request: Request) -> (Response, Option<OwnedFd>) {
        let outcome = match (self.session, request) {
            (None, Request::Hello { protocol, pid: _, resume, arenas }) => {
                let peer = Peer::of(&self.stream);
                let (told_pid, told_command) = (peer.pid, peer.command.clone());
                let hello = self.pool.hello(protocol, resume, &arenas, peer);
                if let Ok((Response::Welcome { session, .. }, _)) = &hello {
                    let connection = self.pool.connection(*session).unwrap_or(0);
                    tracing::debug!(%session, pid = told_pid, "a client: {told_command}");
                    self.session = Some((*session, connection));
                }
                hello
            }
            (None, _) => {
                Err(Refusal::Unsound { what: "the first message is not Hello".to_owned() })
            }
            (Some(_), _) if epoch != self.pool.epoch() => {
                Err(Refusal::Epoch { epoch: self.pool.epoch() })
            }
            (Some((session, connection)), _)
                if self.pool.connection(session) != Some(connection) =>
            {
                // Its client waits for the answer no more, and has said so by another hello.
                Err(Refusal::NoSession { session })
            }
            (Some((session, _)), Request::Spare { slots }) => self.pool.spare(session, slots),
            (Some((session, connection)), request) => {
                let is_new = matches!(request, Request::Arena { .. });
                let response = self.pool.handle(session, request);
                if let Response::Arena { arena, .. } = response
                    && is_new
                    && self.pool.connection(session) != Some(connection)
                {
                    // Nobody hears of this arena.
                    self.pool.handle(session, Request::Return { arena });
                }
                Ok((response, None))
            }
        };
        outcome.unwrap_or_else(|refusal| (Response::Refused(refusal), None))
    }

    fn send(&mut self, response: &Response, fd: Option<OwnedFd>) -> io::Result<()> {
        let body = postcard::to_stdvec(response).map_err(io::Error::other)?;
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        let mut bytes = Vec::with_capacity(body.len() + 4);
        bytes.extend(length.to_le_bytes());
        bytes.extend(body);
        let fds: Vec<_> = fd.iter().map(AsFd::as_fd).collect();
        send_with_fds(&self.stream, &bytes, &fds)
    }
}
