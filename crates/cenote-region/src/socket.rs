//! Bytes and file descriptors over a Unix stream socket.
//!
//! A pool hands out memory by handing out descriptors. A stream keeps descriptors with the
//! bytes they were sent with but knows no messages: framing is the caller's, and so are
//! deadlines (`set_read_timeout`, `set_write_timeout`). After an error in the middle of a
//! message the stream is out of step and should be closed.
//!
//! ```
//! use std::os::{fd::AsFd, unix::net::UnixStream};
//! use cenote_region::socket::{recv_with_fds, send_with_fds};
//! let (left, right) = UnixStream::pair()?;
//! send_with_fds(&left, b"arena", &[tempfile::tempfile()?.as_fd()])?;
//! let mut buffer = [0; 16];
//! let (len, fds) = recv_with_fds(&right, &mut buffer, 1)?;
//! assert_eq!((&buffer[..len], fds.len()), (&b"arena"[..], 1));
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// Descriptors in one message: the kernel's own bound (`SCM_MAX_FD`).
pub const FDS_MAX: usize = 253;

const CONTROL_LEN: usize = cmsg_space!(ScmRights(FDS_MAX));

/// Why descriptors did not cross; the source of the [`io::Error`] that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FdError {
    /// A stream carries descriptors only along with bytes.
    #[error("descriptors need at least one byte to travel with")]
    NoBytes,
    /// More than a message can carry.
    #[error("{count} descriptors in one message, of {FDS_MAX} at most")]
    TooMany {
        /// How many were given.
        count: usize,
    },
    /// The peer sent more than it may; all were closed.
    #[error("the peer sent {count} descriptors where {max} were allowed")]
    Unexpected {
        /// How many came.
        count: usize,
        /// How many the receiver allowed.
        max: usize,
    },
    /// The kernel dropped some, as a rule since this process has no more (`RLIMIT_NOFILE`);
    /// the others were closed.
    #[error("descriptors were lost: this process may be at its limit of open files")]
    Lost,
}

impl FdError {
    fn on_sending(self) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, self)
    }

    fn on_receiving(self) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, self)
    }
}

/// Sends all of `bytes`, and `fds` with the first of them. They stay open here.
///
/// Never raises SIGPIPE.
///
/// # Errors
/// `InvalidInput` around an [`FdError`], before anything is sent; `BrokenPipe` where the peer
/// has gone; `WouldBlock` at the socket's write timeout, when part may have been sent.
pub fn send_with_fds(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let socket = socket.as_fd();
    if fds.len() > FDS_MAX {
        return Err(FdError::TooMany { count: fds.len() }.on_sending());
    }
    let mut sent = 0;
    if !fds.is_empty() {
        if bytes.is_empty() {
            return Err(FdError::NoBytes.on_sending());
        }
        let mut space = [MaybeUninit::uninit(); CONTROL_LEN];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fits = control.push(SendAncillaryMessage::ScmRights(fds));
        assert!(fits, "the buffer is made for FDS_MAX");
        let vector = [IoSlice::new(bytes)];
        sent = retry_on_intr(|| {
            rustix::net::sendmsg(socket, &vector, &mut control, SendFlags::NOSIGNAL)
        })?;
    }
    while sent < bytes.len() {
        sent += retry_on_intr(|| rustix::net::send(socket, &bytes[sent..], SendFlags::NOSIGNAL))?;
    }
    Ok(())
}

/// Looks for bytes to receive, for at most `most`, without going to sleep; whether there are
/// some. An answer that comes within microseconds would else wait for a sleeping core to wake,
/// which takes tens of them on an idle machine. Gives the core up between looks.
pub fn expect_soon(socket: impl AsFd, most: Duration) -> bool {
    let begin = Instant::now();
    loop {
        let mut look = [PollFd::new(&socket, PollFlags::IN)];
        match rustix::event::poll(&mut look, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            _ => return true,
        }
        if begin.elapsed() >= most {
            return false;
        }
        std::thread::yield_now();
    }
}

/// Receives what is there, at least a byte and at most the buffer, and the descriptors that
/// came with it, marked close-on-exec. Zero bytes: the peer has closed.
///
/// # Errors
/// `InvalidData` around an [`FdError`], with every descriptor that came closed; `WouldBlock`
/// at the socket's read timeout; `ConnectionReset`.
pub fn recv_with_fds(
    socket: impl AsFd,
    buffer: &mut [u8],
    fds_max: usize,
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); CONTROL_LEN];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut vector = [IoSliceMut::new(buffer)];
    let received = retry_on_intr(|| {
        rustix::net::recvmsg(&socket, &mut vector, &mut control, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        return Err(FdError::Lost.on_receiving());
    }
    if fds.len() > fds_max {
        return Err(FdError::Unexpected { count: fds.len(), max: fds_max }.on_receiving());
    }
    Ok((received.bytes, fds))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    fn fd_error(error: &io::Error) -> FdError {
        *error.get_ref().and_then(|source| source.downcast_ref()).unwrap()
    }

    #[test]
    fn what_is_there_soon_is_seen() {
        let (left, right) = UnixStream::pair().unwrap();
        assert!(!expect_soon(&right, Duration::from_millis(1)));
        send_with_fds(&left, &[1], &[]).unwrap();
        assert!(expect_soon(&right, Duration::ZERO));
        drop(left);
        assert!(expect_soon(&right, Duration::ZERO), "an end is something to receive");
    }

    #[test]
    fn descriptors_arrive_open_and_close_on_exec() {
        let (left, right) = UnixStream::pair().unwrap();
        let mut file = tempfile::tempfile_in("/dev/shm").unwrap();
        file.write_all(b"cenote").unwrap();
        send_with_fds(&left, b"ab", &[file.as_fd(), left.as_fd()]).unwrap();
        drop(file);
        let mut buffer = [0; 8];
        let (len, mut fds) = recv_with_fds(&right, &mut buffer, 2).unwrap();
        assert_eq!((&buffer[..len], fds.len()), (&b"ab"[..], 2));
        let flags = rustix::io::fcntl_getfd(&fds[0]).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        let mut file = File::from(fds.remove(0));
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "cenote");
    }

    #[test]
    fn more_bytes_than_the_socket_holds() {
        let (left, right) = UnixStream::pair().unwrap();
        let bytes: Vec<u8> = (0..4 << 20).map(|i: u32| i.to_le_bytes()[1]).collect();
        let file = tempfile::tempfile_in("/dev/shm").unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| send_with_fds(&left, &bytes, &[file.as_fd()]).unwrap());
            let mut received = Vec::new();
            let mut buffer = vec![0; 60_000];
            let mut fds = 0;
            while received.len() < bytes.len() {
                let (len, some) = recv_with_fds(&right, &mut buffer, 1).unwrap();
                assert!(len > 0);
                assert!(some.is_empty() || received.is_empty(), "they come with the first byte");
                fds += some.len();
                received.extend_from_slice(&buffer[..len]);
            }
            assert_eq!(fds, 1);
            assert!(received == bytes);
        });
    }

    #[test]
    fn as_many_as_the_kernel_allows() {
        let (left, right) = UnixStream::pair().unwrap();
        let fds = vec![left.as_fd(); FDS_MAX + 1];
        send_with_fds(&left, b"x", &fds[..FDS_MAX]).unwrap();
        let (_, received) = recv_with_fds(&right, &mut [0; 1], FDS_MAX).unwrap();
        assert_eq!(received.len(), FDS_MAX);
        let error = send_with_fds(&left, b"x", &fds).unwrap_err();
        assert_eq!(fd_error(&error), FdError::TooMany { count: FDS_MAX + 1 });
    }

    #[test]
    fn unexpected_descriptors_are_closed() {
        let (left, right) = UnixStream::pair().unwrap();
        let (mut kept, passed) = UnixStream::pair().unwrap();
        send_with_fds(&left, b"x", &[passed.as_fd()]).unwrap();
        drop(passed);
        let error = recv_with_fds(&right, &mut [0; 1], 0).unwrap_err();
        assert_eq!(fd_error(&error), FdError::Unexpected { count: 1, max: 0 });
        assert_eq!(kept.read(&mut [0; 1]).unwrap(), 0, "its peer has closed");
    }

    #[test]
    fn nothing_to_travel_with() {
        let (left, right) = UnixStream::pair().unwrap();
        let error = send_with_fds(&left, b"", &[left.as_fd()]).unwrap_err();
        assert_eq!(fd_error(&error), FdError::NoBytes);
        send_with_fds(&left, b"", &[]).unwrap();
        drop(left);
        let (len, fds) = recv_with_fds(&right, &mut [0; 1], 1).unwrap();
        assert_eq!((len, fds.len()), (0, 0), "the peer has closed");
        let error = send_with_fds(&right, b"x", &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
