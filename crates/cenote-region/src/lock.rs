//! Open-file-description locks: who holds the descriptor holds the lock.
//!
//! An OFD lock (fcntl_locking(2)) belongs to the open file description, not to a process: it
//! travels with the descriptor over a socket, and the kernel releases it when the last copy
//! closes, however its holder ends. A pool is owned by such a lock, and so is a client's
//! life. There is no unlocking but closing. Locks are seen through every descriptor of the
//! same file that was opened anew; through copies of one descriptor they are one's own.
//!
//! Cost: one system call. Fails: file systems without locks say `ENOLCK` or `EINVAL`.
//!
//! ```
//! use cenote_region::lock::{is_locked_by_other, try_lock_exclusive};
//! let file = tempfile::NamedTempFile::new()?;
//! let other = file.reopen()?;
//! assert!(try_lock_exclusive(&file)?);
//! assert!(is_locked_by_other(&other)?);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Takes the whole file exclusively, without waiting; `false` where another holds it.
/// Whoever holds it already takes it once more.
///
/// # Errors
/// `EBADF` where `file` is not open for writing.
pub fn try_lock_exclusive(file: impl AsFd) -> io::Result<bool> {
    match fcntl(&file, libc::F_OFD_SETLK, &mut whole_file()) {
        Ok(()) => Ok(true),
        Err(error) => match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EACCES) => Ok(false),
            _ => Err(error),
        },
    }
}

/// Whether the file is locked through a descriptor that is no copy of `file`. The answer may
/// be old at once.
///
/// # Errors
/// Those of the file system.
pub fn is_locked_by_other(file: impl AsFd) -> io::Result<bool> {
    let mut lock = whole_file();
    fcntl(&file, libc::F_OFD_GETLK, &mut lock)?;
    Ok(lock.l_type != kind(libc::F_UNLCK))
}

#[expect(clippy::cast_possible_truncation, reason = "the kernel's lock kinds are 0, 1, 2")]
const fn kind(kind: i32) -> i16 {
    kind as i16
}

/// From the start (0) to the end, wherever that will be (length 0).
fn whole_file() -> libc::flock {
    libc::flock {
        l_type: kind(libc::F_WRLCK),
        l_whence: kind(libc::SEEK_SET),
        l_start: 0,
        l_len: 0,
        l_pid: 0, // as OFD locks demand
    }
}

fn fcntl(file: &impl AsFd, command: i32, lock: &mut libc::flock) -> io::Result<()> {
    let file = file.as_fd().as_raw_fd();
    // SAFETY: `file` is open while it is borrowed; both commands read and write one `flock`.
    match unsafe { libc::fcntl(file, command, std::ptr::from_mut(lock)) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::socket::{recv_with_fds, send_with_fds};

    #[test]
    fn a_second_description_is_refused() {
        let first = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        let second = first.reopen().unwrap();
        assert!(!is_locked_by_other(&second).unwrap());
        assert!(try_lock_exclusive(&first).unwrap());
        assert!(try_lock_exclusive(&first).unwrap(), "once more by its holder");
        assert!(!try_lock_exclusive(&second).unwrap());
        assert!(is_locked_by_other(&second).unwrap());
        assert!(!is_locked_by_other(&first).unwrap(), "it is one's own");
    }

    #[test]
    fn the_lock_travels_with_the_descriptor_and_ends_with_its_last_copy() {
        let named = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        let witness = named.reopen().unwrap();
        let original = named.reopen().unwrap();
        assert!(try_lock_exclusive(&original).unwrap());
        let (pool, client) = UnixStream::pair().unwrap();
        send_with_fds(&pool, b"x", &[original.as_fd()]).unwrap();
        drop(original);
        assert!(is_locked_by_other(&witness).unwrap(), "held by the message under way");
        let (n, mut received) = recv_with_fds(&client, &mut [0; 8], 1).unwrap();
        assert_eq!((n, received.len()), (1, 1));
        let held = received.remove(0);
        drop(pool);
        drop(client);
        assert!(is_locked_by_other(&witness).unwrap());
        assert!(!try_lock_exclusive(&witness).unwrap());
        let copy = held.try_clone().unwrap();
        drop(held);
        assert!(is_locked_by_other(&witness).unwrap(), "held by the copy");
        drop(copy);
        // A child that another test forks may hold a copy until it executes its program.
        let freed = (0..2000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            !is_locked_by_other(&witness).unwrap()
        });
        assert!(freed);
        assert!(try_lock_exclusive(&witness).unwrap());
    }

    #[test]
    fn a_read_only_descriptor_cannot_lock() {
        let named = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        let reader = std::fs::File::open(named.path()).unwrap();
        let error = try_lock_exclusive(&reader).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
        assert!(try_lock_exclusive(&named).unwrap());
        assert!(is_locked_by_other(&reader).unwrap(), "but it can ask");
    }
}
