//! Space in a file: taking it, giving it back, and saying how much there is.
//!
//! On tmpfs to allocate *is* to touch: [`allocate`] costs 0.35 s a GiB (measured, 4 KiB
//! pages), and space that was not allocated is found missing by a SIGBUS at the first
//! store. So it is allocated ahead of use, and a lack of it is an error here.
//!
//! ```
//! use cenote_region::space::{allocate, allocated, inner_pages, punch};
//! let file = tempfile::tempfile()?;
//! allocate(&file, 0, 1 << 20)?;
//! assert!(allocated(&file)?.bytes() >= 1 << 20);
//! assert_eq!(inner_pages(100..20_000), Some(4096..16_384));
//! punch(&file, 0, 1 << 20)?;
//! assert!(allocated(&file)?.bytes() < 1 << 20);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{FallocateFlags, StatVfs};
use rustix::io::Errno;

use crate::quantity::{ByteSize, PAGE};

/// What one call allocates. tmpfs undoes a call that a signal interrupts, so a call must be
/// short beside the period of a profiler's timer: this is about 3 ms.
const STEP: u64 = 8 << 20;

/// How often one step is tried when signals interrupt it.
const ATTEMPTS_MAX: u32 = 64;

/// What `st_blocks` counts in, whatever the file system's block is (stat(2)).
const STAT_BLOCK: u64 = 512;

/// Why space could not be allocated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AllocateError {
    /// The file system, or a quota on it, is full.
    #[error(
        "no space for {requested}: {done} of it allocated, then {available} left on the file system"
    )]
    NoSpace {
        /// What was asked for.
        requested: ByteSize,
        /// How much of it, from its start, is there now.
        done: ByteSize,
        /// What the file system said afterwards that it had.
        available: ByteSize,
    },
    /// Any other refusal.
    #[error("could not allocate {requested}, {done} of it done")]
    Refused {
        /// What was asked for.
        requested: ByteSize,
        /// How much of it, from its start, is there now.
        done: ByteSize,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Allocates the range, and makes the file as long as its end; what is there stays.
///
/// Cost: on tmpfs that of touching every page that is new; elsewhere of metadata. A memory
/// cgroup is not asked: past its limit the kernel kills, so ask [`memory_headroom`] first.
///
/// tmpfs leaves the zeroing of a page to its first fault, one page at a time. A second call
/// over the same pages does it here, which is a third of the price and off the path of the
/// process that writes; and only zeroed pages are mapped many at a time by a populating
/// read: 80 ms a GiB instead of 310 (measured, 4 KiB pages).
///
/// [`memory_headroom`]: crate::headroom::memory_headroom
///
/// # Errors
/// [`AllocateError`]. The first `done` bytes stay allocated; [`punch`] gives them back.
pub fn allocate(file: impl AsFd, offset: u64, len: u64) -> Result<(), AllocateError> {
    let file = file.as_fd();
    let requested = ByteSize(len);
    let mut done = 0;
    while done < len {
        let step = STEP.min(len - done);
        let failed = match offset.checked_add(done) {
            Some(at) => retry(|| rustix::fs::fallocate(file, FallocateFlags::empty(), at, step)),
            None => Err(Errno::FBIG),
        };
        match failed {
            Ok(()) => {
                // Only a matter of speed: whatever it says, the space is there.
                let zero =
                    || rustix::fs::fallocate(file, FallocateFlags::empty(), offset + done, step);
                let _ = retry(zero);
                done += step;
            }
            Err(Errno::NOSPC | Errno::DQUOT) => {
                let available = rustix::fs::fstatvfs(file)
                    .map_or(ByteSize::ZERO, |stat| FsSpace::of(&stat).available);
                return Err(AllocateError::NoSpace { requested, done: ByteSize(done), available });
            }
            Err(errno) => {
                let source = errno.into();
                return Err(AllocateError::Refused { requested, done: ByteSize(done), source });
            }
        }
    }
    Ok(())
}

fn retry(mut call: impl FnMut() -> Result<(), Errno>) -> Result<(), Errno> {
    for _ in 1..ATTEMPTS_MAX {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
    call()
}

/// Gives whole pages back to the file system; they read as zeros afterwards, in mappings too.
///
/// Cost: on tmpfs 0.16-0.19 s a GiB (measured, 4 KiB pages).
///
/// # Errors
/// `InvalidInput` where an end is not on a page boundary ([`inner_pages`] finds the whole
/// pages of a range); `EOPNOTSUPP` where the file system cannot; `EPERM` on a memfd sealed
/// against writing.
pub fn punch(file: impl AsFd, offset: u64, len: u64) -> io::Result<()> {
    // The kernel would zero parts of pages, which may belong to a neighbour.
    if !offset.is_multiple_of(PAGE) || !len.is_multiple_of(PAGE) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if len == 0 {
        return Ok(());
    }
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(retry(|| rustix::fs::fallocate(&file, flags, offset, len))?)
}

/// The pages that lie wholly in `range`; `None` where there is none.
#[must_use]
pub fn inner_pages(range: Range<u64>) -> Option<Range<u64>> {
    let start = range.start.checked_next_multiple_of(PAGE)?;
    let end = range.end / PAGE * PAGE;
    (start < end).then_some(start..end)
}

/// What the file takes up on its file system, holes left out.
///
/// Cost: one system call.
///
/// # Errors
/// Those of fstat(2).
pub fn allocated(file: impl AsFd) -> io::Result<ByteSize> {
    let blocks = rustix::fs::fstat(file)?.st_blocks;
    Ok(ByteSize(u64::try_from(blocks).unwrap_or(0).saturating_mul(STAT_BLOCK)))
}

/// The space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsSpace {
    /// All of it; [`ByteSize::MAX`] on a tmpfs without a limit.
    pub total: ByteSize,
    /// What a process without privileges can still allocate.
    pub available: ByteSize,
}

impl FsSpace {
    fn of(stat: &StatVfs) -> Self {
        if stat.f_blocks == 0 {
            // tmpfs mounted with size=0
            return Self { total: ByteSize::MAX, available: ByteSize::MAX };
        }
        let size = |blocks: u64| ByteSize(blocks.saturating_mul(stat.f_frsize));
        Self { total: size(stat.f_blocks), available: size(stat.f_bavail) }
    }
}

/// The space of the file system that `path` is on.
///
/// # Errors
/// Those of statvfs(3); `NotFound` where nothing is at `path`.
pub fn fs_space(path: &Path) -> io::Result<FsSpace> {
    Ok(FsSpace::of(&rustix::fs::statvfs(path)?))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn file() -> File {
        tempfile::tempfile_in("/dev/shm").unwrap()
    }

    #[test]
    fn allocated_punched_and_counted() {
        let file = file();
        let len = 2 * STEP + 3 * PAGE;
        allocate(&file, 0, len).unwrap();
        assert_eq!(allocated(&file).unwrap(), ByteSize(len));
        assert_eq!(file.metadata().unwrap().len(), len);
        punch(&file, PAGE, 2 * PAGE).unwrap();
        assert_eq!(allocated(&file).unwrap(), ByteSize(len - 2 * PAGE));
        assert_eq!(file.metadata().unwrap().len(), len, "the length stays");
        allocate(&file, 0, len).unwrap();
        assert_eq!(allocated(&file).unwrap(), ByteSize(len));
    }

    #[test]
    fn parts_of_pages_are_not_punched() {
        let file = file();
        for (offset, len) in [(1, PAGE), (0, PAGE - 1), (PAGE, 1)] {
            let error = punch(&file, offset, len).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
        punch(&file, PAGE, 0).unwrap();
    }

    /// On a file system of its own, so that no other is filled; that takes privileges.
    #[test]
    fn a_lack_of_space_is_an_error_with_numbers() {
        let directory = tempfile::tempdir().unwrap();
        let size = STEP + 4 * PAGE;
        let options = std::ffi::CString::new(format!("size={size}")).unwrap();
        let flags = rustix::mount::MountFlags::empty();
        let mounted =
            rustix::mount::mount("none", directory.path(), "tmpfs", flags, Some(&*options));
        if let Err(errno) = mounted {
            eprintln!("skipped: mounting a tmpfs is refused ({errno})");
            return;
        }
        let file = tempfile::tempfile_in(directory.path()).unwrap();
        let result = allocate(&file, 0, 2 * STEP);
        let space = fs_space(directory.path()).unwrap();
        drop(file);
        rustix::mount::unmount(directory.path(), rustix::mount::UnmountFlags::DETACH).unwrap();
        assert_eq!(space.total, ByteSize(size));
        match result.unwrap_err() {
            AllocateError::NoSpace { requested, done, available } => {
                assert_eq!(requested, ByteSize(2 * STEP));
                assert_eq!((done, available), (ByteSize(STEP), ByteSize(4 * PAGE)));
            }
            error => panic!("{error}"),
        }
    }

    #[test]
    fn the_space_of_a_file_system() {
        let space = fs_space(Path::new("/dev/shm")).unwrap();
        assert!(space.available <= space.total);
        assert!(fs_space(Path::new("/dev/shm/nothing here")).is_err());
    }

    #[test]
    fn an_end_beyond_what_files_have_is_refused() {
        let error = allocate(file(), u64::MAX - 1, 2).unwrap_err();
        assert!(matches!(error, AllocateError::Refused { .. }), "{error}");
    }

    #[test]
    fn whole_pages_of_a_range() {
        assert_eq!(inner_pages(0..PAGE), Some(0..PAGE));
        assert_eq!(inner_pages(1..PAGE), None);
        assert_eq!(inner_pages(1..2 * PAGE + 1), Some(PAGE..2 * PAGE));
        assert_eq!(inner_pages(5..5), None);
        assert_eq!(inner_pages(u64::MAX - 1..u64::MAX), None);
    }

    #[test]
    fn steps_survive_signals() {
        let mut left = 3;
        let result = retry(|| {
            left -= 1;
            if left == 0 { Ok(()) } else { Err(Errno::INTR) }
        });
        assert_eq!(result, Ok(()));
        let mut calls = 0;
        let result = retry(|| {
            calls += 1;
            Err(Errno::INTR)
        });
        assert_eq!((result, calls), (Err(Errno::INTR), ATTEMPTS_MAX));
    }
}
