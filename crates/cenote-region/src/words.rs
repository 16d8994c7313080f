//! A mapping seen as atomic 64-bit words: boards, lease pages, headers.
//!
//! Other processes store to these words at any time and may store anything; a word is
//! therefore only ever loaded and stored whole, and what it says is checked by the reader.
//! That makes access safe, whatever a peer does; only shortening the file under a mapping
//! kills (SIGBUS). Words are in the order of the machine: a pool does not leave its host.
//!
//! Cost: an access is a comparison and the access.
//!
//! ```
//! use std::sync::atomic::Ordering;
//! use cenote_region::{mapping::Mapping, words::WordMap};
//! let file = tempfile::tempfile()?;
//! file.set_len(4096)?;
//! let words = WordMap::new(Mapping::read_write(&file, 4096)?);
//! words.store(3, 17, Ordering::Release);
//! assert_eq!(words.load(3, Ordering::Acquire), 17);
//! assert!(words.get(512).is_none());
//! # Ok::<(), std::io::Error>(())
//! ```

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::mapping::Mapping;

/// The words of a mapping; a remainder shorter than a word is left out.
#[derive(Debug)]
pub struct WordMap {
    start: NonNull<AtomicU64>,
    len: usize,
    /// `len`, or nothing where the mapping is read-only: one comparison checks both.
    writable_len: usize,
    mapping: Mapping,
}

// SAFETY: `start` points into `mapping`, which can be sent; words are atomic.
unsafe impl Send for WordMap {}
// SAFETY: `start` points into `mapping`, which can be shared; words are atomic.
unsafe impl Sync for WordMap {}

impl WordMap {
    /// The words of `mapping`. All of them must be in its file before they are used.
    #[must_use]
    pub fn new(mapping: Mapping) -> Self {
        let len = mapping.byte_len() / size_of::<AtomicU64>();
        let start = mapping.start().cast();
        Self { start, len, writable_len: if mapping.is_writable() { len } else { 0 }, mapping }
    }

    /// How many words there are.
    #[must_use]
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none: the mapping is shorter than a word.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The mapping.
    #[must_use]
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Shows the words of `file`, as long as this one, or private zeros, from now on at the
    /// same addresses. For a child after a fork; one system call, async-signal-safe.
    ///
    /// # Errors
    /// `ENOMEM`, `EACCES`.
    pub fn replace(&self, file: Option<std::os::fd::BorrowedFd<'_>>) -> std::io::Result<()> {
        self.mapping.replace(file)
    }

    /// The word at `index` for any atomic operation; `None` behind the end, and for every
    /// index of a read-only mapping, where an operation that writes would be fatal.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<&AtomicU64> {
        if index < self.writable_len { Some(self.word(index)) } else { None }
    }

    /// The value at `index`; `None` behind the end.
    #[must_use]
    #[inline(always)]
    pub fn try_load(&self, index: usize, ordering: Ordering) -> Option<u64> {
        if index < self.len { Some(self.word(index).load(ordering)) } else { None }
    }

    /// The value at `index`.
    ///
    /// # Panics
    /// Where `index` is not less than [`len`](Self::len), or `ordering` stores.
    #[must_use]
    #[inline(always)]
    pub fn load(&self, index: usize, ordering: Ordering) -> u64 {
        assert!(index < self.len, "word {index} of {}", self.len);
        self.word(index).load(ordering)
    }

    /// Sets the value at `index`.
    ///
    /// # Panics
    /// Where `index` is not less than [`len`](Self::len), the mapping is read-only, or
    /// `ordering` loads.
    #[inline(always)]
    pub fn store(&self, index: usize, value: u64, ordering: Ordering) {
        assert!(index < self.writable_len, "word {index} of {} writable", self.writable_len);
        self.word(index).store(value, ordering);
    }

    /// The callers have compared `index` with `len`.
    #[inline(always)]
    fn word(&self, index: usize) -> &AtomicU64 {
        debug_assert!(index < self.len);
        let at = self.start.as_ptr().wrapping_add(index);
        // SAFETY: `index < len`, so the word is inside the mapping, which `self` owns and
        // which starts at a page, hence aligned. Peers may store to it meanwhile, which an
        // atomic allows; on a read-only mapping only loads reach it (`writable_len`), and
        // an aligned 64-bit load writes nothing.
        unsafe { &*at }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn file(len: u64) -> File {
        let file = tempfile::tempfile_in("/dev/shm").unwrap();
        file.set_len(len).unwrap();
        file
    }

    #[test]
    fn two_mappings_are_the_same_words() {
        let file = file(8192);
        let writer = WordMap::new(Mapping::read_write(&file, 8192).unwrap());
        let reader = WordMap::new(Mapping::read_only(&file, 8192).unwrap());
        assert_eq!((writer.len(), reader.len()), (1024, 1024));
        writer.store(1023, 7, Ordering::Release);
        assert_eq!(reader.load(1023, Ordering::Acquire), 7);
        assert_eq!(writer.get(1023).unwrap().fetch_add(1, Ordering::AcqRel), 7);
        assert_eq!(reader.try_load(1023, Ordering::Acquire), Some(8));
        assert_eq!(reader.try_load(1024, Ordering::Acquire), None);
        assert!(writer.get(1024).is_none());
        assert!(reader.get(0).is_none(), "read-only words are only loaded");
    }

    #[test]
    fn a_remainder_is_left_out() {
        assert_eq!(WordMap::new(Mapping::read_write(file(4096), 23).unwrap()).len(), 2);
        assert!(WordMap::new(Mapping::read_write(file(4096), 7).unwrap()).is_empty());
    }

    #[test]
    #[should_panic(expected = "word 512 of 512")]
    fn loading_behind_the_end_panics() {
        let words = WordMap::new(Mapping::read_only(file(4096), 4096).unwrap());
        let _ = words.load(512, Ordering::Relaxed);
    }

    #[test]
    #[should_panic(expected = "word 0 of 0 writable")]
    fn storing_read_only_panics() {
        WordMap::new(Mapping::read_only(file(4096), 4096).unwrap()).store(0, 1, Ordering::Relaxed);
    }
}
