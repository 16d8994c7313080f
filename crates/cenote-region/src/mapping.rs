//! A file (or device) seen as memory.
//!
//! A [`Mapping`] owns addresses, not bytes: other processes see and change what it shows, and
//! the file may be shorter than the mapping (addresses are cheap; an arena is mapped once,
//! at its largest). So nothing here hands out a slice by itself: [`Mapping::bytes`] and
//! [`Mapping::writable`] check the bounds, and their callers vouch for the contents.
//!
//! Cost: a mapping is a few microseconds; the first access to a page present in the file
//! about 0.1 µs (measured on tmpfs, 4 KiB pages, faults taken sixteen at a time), which
//! [`Mapping::populate_read`] and [`Mapping::populate_write`] take ahead of time.
//! Fails: touching a page behind the end of the file raises SIGBUS.
//!
//! ```
//! use cenote_region::mapping::Mapping;
//! let file = tempfile::tempfile()?;
//! file.set_len(4096)?;
//! let mapping = Mapping::read_write(&file, 4096)?;
//! assert_eq!(mapping.len(), 4096);
//! assert!(mapping.writable(4000, 97).is_none());
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags};
use rustix::process::Pid;

/// What the kernel aligns its advice to.
#[expect(clippy::cast_possible_truncation, reason = "4096")]
const PAGE: usize = crate::quantity::PAGE as usize;

/// A shared mapping of a file from its start; unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    len: usize,
    writable: bool,
    /// The process that has these addresses, where a child of it has not.
    only_in: Option<Pid>,
}

// SAFETY: addresses belong to the process, not to a thread; the type gives no access to
// memory that is not either `unsafe` or atomic.
unsafe impl Send for Mapping {}
// SAFETY: as above; every method takes `&self` and changes no field, `dont_fork` apart, which
// takes the mapping itself.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `len` bytes of `file` for reading.
    ///
    /// # Errors
    /// `EINVAL` where `len` is zero, `EACCES` where `file` is not readable, `ENOMEM`.
    pub fn read_only(file: impl AsFd, len: u64) -> io::Result<Self> {
        Self::map(file, len, false)
    }

    /// Maps the first `len` bytes of `file` for reading and writing.
    ///
    /// # Errors
    /// `EINVAL` where `len` is zero, `EACCES` where `file` is not writable, `ENOMEM`.
    pub fn read_write(file: impl AsFd, len: u64) -> io::Result<Self> {
        Self::map(file, len, true)
    }

    fn map(file: impl AsFd, len: u64, writable: bool) -> io::Result<Self> {
        // A slice, and an offset into it, must fit an `isize`.
        let len = isize::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?.cast_unsigned();
        let protection =
            if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let hint = std::ptr::null_mut();
        // SAFETY: without MAP_FIXED the kernel chooses addresses that nothing else has.
        let start = unsafe { rustix::mm::mmap(hint, len, protection, MapFlags::SHARED, file, 0) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { start, len, writable, only_in: None })
    }

    /// Shows `file` at these addresses instead, or private zeros where there is none: a child
    /// that was forked gets words of its own where its parent's were.
    ///
    /// Async-signal-safe: one system call. Only for [`WordMap`](crate::words::WordMap), which
    /// hands out nothing but atomic words.
    pub(crate) fn replace(&self, file: Option<std::os::fd::BorrowedFd<'_>>) -> io::Result<()> {
        let at = self.start.as_ptr().cast();
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        match file {
            Some(file) => {
                let flags = MapFlags::SHARED | MapFlags::FIXED;
                // SAFETY: the addresses are this mapping's own, whole; what is read through
                // them is atomic words, which may change at any time.
                unsafe { rustix::mm::mmap(at, self.len, protection, flags, file, 0) }?;
            }
            None => {
                let flags = MapFlags::PRIVATE | MapFlags::FIXED;
                // SAFETY: as above.
                unsafe { rustix::mm::mmap_anonymous(at, self.len, protection, flags) }?;
            }
        }
        Ok(())
    }

    /// Leaves the mapping out of children (`MADV_DONTFORK`).
    ///
    /// A child that forks off has other memory, or none, at these addresses: it may drop the
    /// mapping, and must not use it in any other way. Who maps sees to that ([`at_fork`]).
    ///
    /// [`at_fork`]: crate::process::at_fork
    ///
    /// # Errors
    /// `ENOMEM` where the kernel has no room to split its records.
    pub fn dont_fork(mut self) -> io::Result<Self> {
        let all = 0..self.len as u64;
        self.advise(&all, Advice::LinuxDontFork)?;
        self.only_in = Some(rustix::process::getpid());
        Ok(self)
    }

    /// Asks for huge pages (`MADV_HUGEPAGE`). On tmpfs the kernel heeds it only where the mount
    /// has the option `huge=advise`, and for pages that this mapping is the first to touch; so
    /// a refusal is no error.
    pub fn advise_huge(&self) {
        let _ = self.advise(&(0..self.len as u64), Advice::LinuxHugepage);
    }

    /// Faults the pages of `range` in, writable (`MADV_POPULATE_WRITE`); pages that the file
    /// lacks are allocated.
    ///
    /// # Errors
    /// `EFAULT` behind the end of the file, where an access would raise SIGBUS; `EINVAL`
    /// where `range` leaves the mapping, before Linux 5.14, or on a read-only mapping.
    pub fn populate_write(&self, range: Range<u64>) -> io::Result<()> {
        self.advise(&range, Advice::LinuxPopulateWrite)
    }

    /// Faults the pages of `range` in for reading (`MADV_POPULATE_READ`).
    ///
    /// # Errors
    /// As [`populate_write`](Self::populate_write).
    pub fn populate_read(&self, range: Range<u64>) -> io::Result<()> {
        self.advise(&range, Advice::LinuxPopulateRead)
    }

    /// Only for advice that changes no byte a reader may see.
    fn advise(&self, range: &Range<u64>, advice: Advice) -> io::Result<()> {
        let len = range.end.checked_sub(range.start).ok_or(io::ErrorKind::InvalidInput)?;
        // The kernel wants a page boundary; the start of the page is in the mapping too.
        let (at, len) = self.at(range.start, len).ok_or(io::ErrorKind::InvalidInput)?;
        let before = at.addr().get() % PAGE;
        let (at, len) = (at.as_ptr().wrapping_sub(before), len + before);
        loop {
            // SAFETY: the range is inside the mapping, which `self` owns, and none of the
            // advice given here changes or drops contents.
            match unsafe { rustix::mm::madvise(at.cast(), len, advice) } {
                Err(rustix::io::Errno::INTR) => {}
                result => return Ok(result?),
            }
        }
    }

    /// The first address.
    #[must_use]
    pub fn as_ptr(&self) -> *const u8 {
        self.start.as_ptr()
    }

    /// The length in bytes, never zero.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a mapping is never empty")]
    pub fn len(&self) -> u64 {
        self.len as u64
    }

    /// Whether it was made by [`read_write`](Self::read_write).
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The bytes at `offset`; `None` where they leave the mapping.
    ///
    /// Cost: two comparisons.
    ///
    /// # Safety
    /// While the slice lives the range is in the file and *sealed*: no process writes to it,
    /// punches it, or shortens the file. A pool rests this on its seal and lease rules,
    /// which every process of the pool's user keeps; one that breaks them can make these
    /// bytes change or raise SIGBUS, so contents are trusted no further than that user is.
    #[must_use]
    pub unsafe fn bytes(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let (at, len) = self.at(offset, len)?;
        // SAFETY: `at` and `len` are inside the mapping, which outlives the borrow of
        // `self`; the caller vouches that it is backed and that nobody writes.
        Some(unsafe { std::slice::from_raw_parts(at.as_ptr(), len) })
    }

    /// The address of `len` bytes at `offset` for writing; `None` where they leave the mapping
    /// or the mapping is read-only.
    ///
    /// Writing through it is what needs a proof: that the caller is the one writer of the
    /// range, that no slice of it exists, that it is in the file, and that `self` lives.
    #[must_use]
    pub fn writable(&self, offset: u64, len: u64) -> Option<NonNull<u8>> {
        if !self.writable {
            return None;
        }
        self.at(offset, len).map(|(at, _)| at)
    }

    /// The first address, for what is built on mappings.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn byte_len(&self) -> usize {
        self.len
    }

    /// The address of `offset`, and `len`, where `len` bytes from there are inside.
    fn at(&self, offset: u64, len: u64) -> Option<(NonNull<u8>, usize)> {
        let (offset, len) = (usize::try_from(offset).ok()?, usize::try_from(len).ok()?);
        if offset.checked_add(len)? > self.len {
            return None;
        }
        Some((NonNull::new(self.start.as_ptr().wrapping_add(offset))?, len))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.only_in.is_some_and(|owner| owner != rustix::process::getpid()) {
            return; // in a child: these addresses are not there, or someone else's
        }
        // SAFETY: the range was mapped by `map` and is unmapped once; slices of it borrow
        // `self`, and writers vouched that it lives.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok(), "munmap: {unmapped:?}");
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;

    const LEN: u64 = 1 << 20;

    fn file() -> File {
        let file = tempfile::tempfile_in("/dev/shm").unwrap();
        file.set_len(LEN).unwrap();
        file
    }

    #[test]
    fn what_is_written_is_in_the_file_and_in_other_mappings() {
        let file = file();
        let writer = Mapping::read_write(&file, LEN).unwrap();
        let reader = Mapping::read_only(&file, LEN).unwrap();
        let at = writer.writable(5000, 6).unwrap();
        // SAFETY: six bytes inside the file; no slice of them exists.
        unsafe { std::ptr::copy_nonoverlapping(b"cenote".as_ptr(), at.as_ptr(), 6) };
        // SAFETY: written above, and by nobody after.
        assert_eq!(unsafe { reader.bytes(5000, 6) }, Some(&b"cenote"[..]));
        let mut read = [0; 6];
        file.read_exact_at(&mut read, 5000).unwrap();
        assert_eq!(&read, b"cenote");
        assert!(reader.writable(5000, 6).is_none(), "read-only");
    }

    #[test]
    fn bounds() {
        let mapping = Mapping::read_write(file(), LEN).unwrap();
        for (offset, len, inside) in [
            (0, LEN, true),
            (LEN, 0, true),
            (LEN, 1, false),
            (1, LEN, false),
            (u64::MAX, 1, false),
            (1, u64::MAX, false),
            (u64::MAX, u64::MAX, false),
        ] {
            assert_eq!(mapping.writable(offset, len).is_some(), inside, "{offset} {len}");
            // SAFETY: nobody writes; the file has the whole mapping.
            assert_eq!(unsafe { mapping.bytes(offset, len) }.is_some(), inside, "{offset} {len}");
        }
    }

    #[test]
    fn lengths_that_cannot_be_mapped() {
        for len in [0, u64::MAX, 1 << 62] {
            assert!(Mapping::read_only(file(), len).is_err(), "{len}");
        }
    }

    #[test]
    fn a_mapping_may_be_longer_than_its_file() {
        let mapping = Mapping::read_write(file(), 64 * LEN).unwrap();
        mapping.advise_huge();
        mapping.populate_write(100..LEN).unwrap();
        mapping.populate_read(LEN / 2..LEN).unwrap();
        let error = mapping.populate_write(LEN..LEN + 1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
        let error = mapping.populate_read(0..64 * LEN + 1).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_child_neither_sees_nor_unmaps_what_was_left_out() {
        let mapping = Mapping::read_write(file(), LEN).unwrap().dont_fork().unwrap();
        let (at, len) = (mapping.start.as_ptr(), mapping.len);
        // SAFETY: the child calls only functions that are safe after a fork: mmap, msync,
        // munmap, getpid and _exit.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let anonymous = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
            let place = at.cast();
            // SAFETY: MAP_FIXED_NOREPLACE replaces nothing: it fails were the range mapped.
            let own = unsafe { libc::mmap(place, len, libc::PROT_READ, anonymous, -1, 0) };
            drop(mapping);
            // SAFETY: asks only whether the range is still mapped.
            let kept = unsafe { libc::msync(place, len, libc::MS_ASYNC) } == 0;
            // SAFETY: leaves without running the parent's destructors.
            unsafe { libc::_exit(i32::from(!(own == place && kept))) };
        }
        let mut status = 0;
        // SAFETY: `status` outlives the call.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
    }
}
