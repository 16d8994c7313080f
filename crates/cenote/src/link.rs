//! A client's connection to its pool: a socket, or the pool itself in the same process.
//!
//! Requests go one at a time. A connection that breaks is made again within the deadline and
//! the request repeated: the pool knows a change that it has made by its number, and an
//! arena whose grant was never heard of by its absence from the client's list.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_pool::id::{ArenaId, Epoch, SessionId};
use cenote_pool::message::{
    MESSAGE_BYTES_MAX, PROTOCOL_VERSION, Refusal, Request, Response, Resume,
};
use cenote_pool::pool::Pool as Owner;
use cenote_pool::rundir::RunDir;
use cenote_pool::session::Peer;
use cenote_region::process::{ProcessId, state};
use cenote_region::socket::{expect_soon, recv_with_fds};

use crate::error::{Error, Unavailable};
use crate::patience;

/// How long a client waits for an answer, and for a daemon that is being restarted.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(30);
const RETRY_EVERY: Duration = Duration::from_millis(20);
/// How long an answer is looked for before this thread sleeps: most come within it.
const SOON: Duration = Duration::from_micros(100);

/// What a hello gave.
#[derive(Debug)]
pub(crate) struct Welcome {
    pub(crate) session: SessionId,
    pub(crate) epoch: Epoch,
    pub(crate) pool: u64,
    pub(crate) slots: u64,
    pub(crate) alive: Option<OwnedFd>,
}

#[derive(Debug)]
pub(crate) enum Link {
    Socket { dir: RunDir, stream: Option<UnixStream>, epoch: Epoch, answer_within: Duration },
    Embedded(Embedded),
}

/// A pool of this process, which ends with the last that uses it.
#[derive(Debug)]
pub(crate) struct Embedded {
    owner: Arc<Owner>,
    process: u32,
}

impl Embedded {
    pub(crate) fn new(owner: Arc<Owner>) -> Embedded {
        Embedded { owner, process: std::process::id() }
    }
}

impl std::ops::Deref for Embedded {
    type Target = Owner;
    fn deref(&self) -> &Owner {
        &self.owner
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // The parent's pool is not a child's to end.
        if self.process == std::process::id() {
            self.owner.close(true);
        }
    }
}

/// A failure of one exchange.
enum Fault {
    /// The connection is no more; another may do.
    Broken(io::Error),
    Final(Error),
    /// The caller does not want to wait for the answer.
    Abandoned(Error),
}

impl Link {
    pub(crate) fn socket(dir: RunDir, answer_within: Duration) -> Link {
        Link::Socket { dir, stream: None, epoch: Epoch(0), answer_within }
    }

    fn unavailable(&self, why: Unavailable) -> Error {
        let path = match self {
            Link::Socket { dir, .. } => dir.path().to_owned(),
            Link::Embedded(pool) => pool.dir().path().to_owned(),
        };
        Error::Unavailable { path, why }
    }

    /// Introduces the client.
    pub(crate) fn hello(
        &mut self,
        resume: Option<Resume>,
        arenas: &[ArenaId],
        within: Duration,
    ) -> Result<Welcome, Error> {
        match self {
            Link::Embedded(pool) => {
                let (response, alive) =
                    pool.hello(PROTOCOL_VERSION, resume, arenas, Peer::own())?;
                welcome(response, alive)
            }
            Link::Socket { dir, .. } => {
                let dir = dir.clone();
                let stream = open(&dir).map_err(|why| self.unavailable(why))?;
                stream.set_read_timeout(Some(within)).map_err(Error::io("set a deadline"))?;
                stream.set_write_timeout(Some(within)).map_err(Error::io("set a deadline"))?;
                let request = Request::Hello {
                    protocol: PROTOCOL_VERSION,
                    pid: std::process::id(),
                    resume,
                    arenas: arenas.to_vec(),
                };
                let (response, fds) =
                    exchange(&stream, Epoch(0), &request).map_err(|e| match e {
                        Fault::Broken(error) => self.broken(&error),
                        Fault::Final(error) | Fault::Abandoned(error) => error,
                    })?;
                let welcome = welcome(response, fds.into_iter().next())?;
                if let Link::Socket { stream: own, epoch, .. } = self {
                    *own = Some(stream);
                    *epoch = welcome.epoch;
                }
                Ok(welcome)
            }
        }
    }

    /// Asks once, and waits `within` for the answer. `None`: the connection is broken, or the daemon is another: say hello again.
    pub(crate) fn try_call(
        &mut self,
        session: SessionId,
        request: &Request,
        within: Duration,
    ) -> Result<Option<(Response, Option<OwnedFd>)>, Error> {
        let outcome = match self {
            Link::Embedded(pool) => {
                return Ok(Some(match request {
                    Request::Spare { slots } => pool.spare(session, *slots)?,
                    other => (refused(pool.handle(session, other.clone()))?, None),
                }));
            }
            Link::Socket { stream: None, .. } => return Ok(None),
            Link::Socket { stream: Some(stream), epoch, .. } => {
                let set = stream.set_read_timeout(Some(within));
                set.map_err(Fault::Broken).and_then(|()| exchange(stream, *epoch, request))
            }
        };
        match outcome {
            Ok((Response::Refused(Refusal::Epoch { .. }), _)) => {
                self.hang_up();
                Ok(None)
            }
            Ok((response, fds)) => Ok(Some((refused(response)?, fds.into_iter().next()))),
            Err(Fault::Broken(error)) => {
                self.hang_up();
                // A daemon that is there and silent would be silent again.
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
                    return Err(self.broken(&error));
                }
                Ok(None)
            }
            Err(Fault::Final(error)) => Err(error),
            Err(Fault::Abandoned(error)) => {
                // The answer would be taken for that to the next question.
                self.hang_up();
                Err(error)
            }
        }
    }

    fn broken(&self, error: &io::Error) -> Error {
        let Link::Socket { dir, answer_within, .. } = self else {
            return self.unavailable(Unavailable::NotRunning);
        };
        let pid: u32 = std::fs::read_to_string(dir.file("lock"))
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0);
        let why = match error.kind() {
            _ if matches!(state(ProcessId(pid)), Some('T' | 't')) => Unavailable::Stopped { pid },
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                Unavailable::Silent(*answer_within)
            }
            _ => Unavailable::NotRunning,
        };
        self.unavailable(why)
    }

    pub(crate) fn hang_up(&mut self) {
        if let Link::Socket { stream, .. } = self {
            *stream = None;
        }
    }

    /// How long to go on trying to reach a daemon.
    pub(crate) fn patience(&self) -> Duration {
        match self {
            Link::Socket { answer_within, .. } => *answer_within,
            Link::Embedded(_) => Duration::ZERO,
        }
    }
}

/// Waits a little before the next try; false once the deadline has passed.
///
/// # Errors
/// The caller does not want to go on.
pub(crate) fn retry(deadline: Instant) -> Result<bool, Error> {
    patience::go_on()?;
    let left = deadline.saturating_duration_since(Instant::now());
    std::thread::sleep(RETRY_EVERY.min(left));
    Ok(!left.is_zero())
}

fn open(dir: &RunDir) -> Result<UnixStream, Unavailable> {
    let directory = std::fs::File::open(dir.path()).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Unavailable::NotRunning,
        _ => Unavailable::Io(error),
    })?;
    dir.check().map_err(|error| Unavailable::Io(io::Error::other(error.to_string())))?;
    // Short, whatever the directory's path is: a socket's name has 107 bytes.
    let path = format!("/proc/self/fd/{}/socket", directory.as_raw_fd());
    UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Unavailable::NotRunning,
        _ => Unavailable::Io(error),
    })
}

fn welcome(response: Response, alive: Option<OwnedFd>) -> Result<Welcome, Error> {
    match refused(response)? {
        Response::Welcome { session, epoch, pool, slots, .. } => {
            Ok(Welcome { session, epoch, pool, slots, alive })
        }
        other => Err(unexpected(&other)),
    }
}

fn refused(response: Response) -> Result<Response, Error> {
    match response {
        Response::Refused(refusal) => Err(refusal.into()),
        other => Ok(other),
    }
}

pub(crate) fn unexpected(response: &Response) -> Error {
    let text = format!("{response:?}");
    let what = format!("the pool's answer fits no question: {}", &text[..text.len().min(80)]);
    Refusal::Unsound { what }.into()
}

/// Waits for the first byte of an answer, as long as the stream's own deadline says.
fn await_answer(stream: &UnixStream) -> Result<(), Fault> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let within = stream.read_timeout().map_err(Fault::Broken)?.unwrap_or(ANSWER_WITHIN);
    let deadline = Instant::now() + within;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let piece = Timespec::try_from(left.min(patience::EVERY))
            .map_err(|error| Fault::Broken(io::Error::other(error)))?;
        match poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&piece)) {
            Ok(0) if left.is_zero() => return Err(Fault::Broken(io::ErrorKind::TimedOut.into())),
            Ok(0) | Err(rustix::io::Errno::INTR) => patience::go_on().map_err(Fault::Abandoned)?,
            Ok(_) => return Ok(()),
            Err(error) => return Err(Fault::Broken(error.into())),
        }
    }
}

fn exchange(
    mut stream: &UnixStream,
    epoch: Epoch,
    request: &Request,
) -> Result<(Response, Vec<OwnedFd>), Fault> {
    let mut bytes = vec![0; 4];
    bytes = postcard::to_extend(&(epoch, request), bytes)
        .map_err(|error| Fault::Broken(io::Error::other(error)))?;
    let length = u32::try_from(bytes.len() - 4).ok().filter(|n| *n <= MESSAGE_BYTES_MAX);
    let Some(length) = length else {
        let (what, used) = ("bytes in one message".to_owned(), bytes.len() as u64);
        let refusal = Refusal::Bound { what, used, room: u64::from(MESSAGE_BYTES_MAX) };
        return Err(Fault::Final(refusal.into()));
    };
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    stream.write_all(&bytes).map_err(Fault::Broken)?;
    let ended = || Fault::Broken(io::ErrorKind::UnexpectedEof.into());
    if !expect_soon(stream, SOON) {
        await_answer(stream)?;
    }
    let mut head = vec![0; 512];
    let (read, fds) = recv_with_fds(stream, &mut head, 1).map_err(Fault::Broken)?;
    head.truncate(read);
    while head.len() < 4 {
        let mut more = [0; 4];
        let missing = 4 - head.len();
        stream.read_exact(&mut more[..missing]).map_err(Fault::Broken)?;
        head.extend(&more[..missing]);
    }
    if read == 0 {
        return Err(ended());
    }
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    if length > MESSAGE_BYTES_MAX {
        return Err(ended());
    }
    let end = 4 + length as usize;
    let have = head.len();
    if have < end {
        head.resize(end, 0);
        stream.read_exact(&mut head[have..]).map_err(Fault::Broken)?;
    }
    let response = postcard::from_bytes(&head[4..end])
        .map_err(|error| Fault::Broken(io::Error::other(error)))?;
    Ok((response, fds))
}
