//! A process by a descriptor, which unlike its id is never used again.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags};

pub use rustix::process::Signal;

use super::ProcessId;

/// `SO_PEERPIDFD` (Linux 6.5, `asm-generic/socket.h`).
const SO_PEERPIDFD: i32 = 77;

/// Who connected a socket, or made the pair it belongs to; the kernel's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerCredentials {
    /// The process, as it was when it connected; `None` where it is not in this PID namespace
    /// (a container that shares the socket's directory).
    pub pid: Option<ProcessId>,
    /// Its effective user.
    pub uid: u32,
    /// Its effective group.
    pub gid: u32,
}

/// The credentials of a Unix socket's peer.
///
/// # Errors
/// `ENOTSOCK`.
pub fn peer_credentials(socket: impl AsFd) -> io::Result<PeerCredentials> {
    // rustix's type demands a process id that is not zero, which is what the kernel writes
    // for a peer of another PID namespace; so the raw option is read.
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    get_option(socket.as_fd(), libc::SO_PEERCRED, &mut credentials)?;
    let pid = u32::try_from(credentials.pid).ok().filter(|pid| *pid > 0).map(ProcessId);
    Ok(PeerCredentials { pid, uid: credentials.uid, gid: credentials.gid })
}

/// A process, named for good. Closing it does nothing to the process.
#[derive(Debug)]
pub struct PidFd(OwnedFd);

impl PidFd {
    /// The process that has this id now. Whether it is the one that was meant, its
    /// [`start_time`](super::start_time) tells once this descriptor is open.
    ///
    /// # Errors
    /// `ESRCH` where there is none; `InvalidInput` where it is no id, or a thread's; `ENOSYS` before Linux 5.3.
    pub fn open(pid: ProcessId) -> io::Result<Self> {
        let pid = i32::try_from(pid.0).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
        let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self(rustix::process::pidfd_open(pid, PidfdFlags::empty())?))
    }

    /// The process at the other end of a Unix socket. Before Linux 6.5 it is looked up by
    /// the id that connected, which may by then be another process.
    ///
    /// # Errors
    /// `ESRCH` where it has gone and was waited for, or cannot be seen; those of
    /// [`peer_credentials`].
    pub fn from_socket_peer(socket: impl AsFd) -> io::Result<Self> {
        let mut fd: RawFd = -1;
        match get_option(socket.as_fd(), SO_PEERPIDFD, &mut fd) {
            Ok(()) if fd >= 0 => {
                // SAFETY: the kernel has opened this descriptor for the call that returned
                // it, close-on-exec, and nobody else knows it.
                Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
            }
            Ok(()) => Err(io::ErrorKind::InvalidData.into()),
            Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => {
                let gone = || io::Error::from_raw_os_error(libc::ESRCH);
                Self::open(peer_credentials(socket)?.pid.ok_or_else(gone)?)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether it still runs, or is stopped. A zombie is dead: it holds no memory.
    ///
    /// Cost: one system call, which does not wait.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub fn is_alive(&self) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        Ok(rustix::io::retry_on_intr(|| rustix::event::poll(&mut fds, Some(&now)))? == 0)
    }

    /// Sends it `signal`.
    ///
    /// # Errors
    /// `ESRCH` where it has gone; `EPERM` where it belongs to another user.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(rustix::process::pidfd_send_signal(&self.0, signal)?)
    }
}

/// To be polled: it becomes readable when the process dies.
impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for PidFd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl From<PidFd> for OwnedFd {
    fn from(pidfd: PidFd) -> Self {
        pidfd.0
    }
}

/// What a socket option of a fixed size is read into: plain numbers, valid whatever the
/// kernel writes.
trait OptionValue {}
impl OptionValue for i32 {}
impl OptionValue for libc::ucred {}

fn get_option<T: OptionValue>(socket: BorrowedFd<'_>, name: i32, value: &mut T) -> io::Result<()> {
    let size = libc::socklen_t::try_from(size_of::<T>()).map_err(io::Error::other)?;
    let mut len = size;
    let (socket, at) = (socket.as_raw_fd(), std::ptr::from_mut(value).cast());
    // SAFETY: `socket` is open while it is borrowed; the kernel writes at most `len` bytes,
    // the size of `value`, of which any are valid.
    let result = unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, name, at, &raw mut len) };
    match result {
        0 if len == size => Ok(()),
        0 => Err(io::ErrorKind::InvalidData.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::process::{Child, Command};
    use std::time::Duration;

    use super::*;
    use crate::process::state;

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    fn eventually(what: impl Fn() -> bool) -> bool {
        (0..2000).any(|_| {
            let done = what();
            if !done {
                std::thread::sleep(Duration::from_millis(5));
            }
            done
        })
    }

    #[test]
    fn stopped_is_alive_and_a_zombie_is_dead() {
        let mut child = sleeper();
        let pid = ProcessId(child.id());
        let pidfd = PidFd::open(pid).unwrap();
        assert!(pidfd.is_alive().unwrap());
        pidfd.signal(Signal::STOP).unwrap();
        assert!(eventually(|| state(pid) == Some('T')));
        assert!(pidfd.is_alive().unwrap(), "stopped");
        pidfd.signal(Signal::KILL).unwrap();
        assert!(eventually(|| !pidfd.is_alive().unwrap()));
        assert_eq!(state(pid), Some('Z'));
        child.wait().unwrap();
        assert!(!pidfd.is_alive().unwrap());
        let error = pidfd.signal(Signal::TERM).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
        assert!(PidFd::open(pid).is_err());
    }

    #[test]
    fn ids_that_are_none() {
        for pid in [0, u32::MAX] {
            let error = PidFd::open(ProcessId(pid)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn the_peer_of_a_socket() {
        let (left, _right) = UnixStream::pair().unwrap();
        let peer = peer_credentials(&left).unwrap();
        assert_eq!(peer.pid, Some(ProcessId::current()));
        assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
        assert_eq!(peer.gid, rustix::process::getegid().as_raw());
        let pidfd = PidFd::from_socket_peer(&left).unwrap();
        assert!(pidfd.is_alive().unwrap());
        let file = tempfile::tempfile().unwrap();
        assert!(PidFd::from_socket_peer(&file).is_err());
        assert!(peer_credentials(&file).is_err());
    }
}
