//! A client's lease page as the pool sees it: a file, copied whenever it is read.
//!
//! The client may write anything into its page, and may cut it short; a mapping of a file
//! that was cut short ends whoever touches it, a read of it says so. Cost: one or two system
//! calls of some 2 µs, and 8 bytes for each slot in use.
//!
//! The kernel copies bytes and promises no whole words. It need not: a slot that is being
//! written while it is copied is one whose client has not yet passed its fence, and that
//! client looks at the board again; and a slot that holds changes in one byte at most, when
//! a place lease becomes a version lease.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use cenote_region::space::{allocate, allocated};

use crate::id::SessionId;
use crate::protocol::lease::{
    HEADER_WORDS, LeasePage, Leased, SLOTS_INITIAL, SLOTS_MAX, new_header,
};
use crate::protocol::{Memory, Ordering};
use crate::words::open_own;

/// Slots that are read with the header.
const SLOTS_AT_ONCE: u64 = 512;

/// Words as they were a moment ago.
#[derive(Clone, Debug)]
pub struct Snapshot(Vec<u8>);

impl Memory for Snapshot {
    fn len(&self) -> u64 {
        self.0.len() as u64 / 8
    }

    fn load(&self, at: u64, _order: Ordering) -> u64 {
        let at = usize::try_from(at).unwrap_or(usize::MAX).saturating_mul(8);
        let word = at.checked_add(8).and_then(|end| self.0.get(at..end));
        word.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    /// A copy is not written.
    fn store(&self, _at: u64, _value: u64, _order: Ordering) {}

    fn fence(&self) {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// A lease page.
#[derive(Debug)]
pub struct PageFile {
    /// `None`: there is no page to be read.
    file: Option<File>,
    slots: AtomicU64,
}

fn bytes(slots: u64) -> u64 {
    (HEADER_WORDS + slots) * 8
}

impl PageFile {
    /// Makes a page: as long as it will ever be, its first slots allocated.
    ///
    /// # Errors
    /// No space, or the file system refuses.
    pub fn create(path: &Path, session: SessionId) -> io::Result<PageFile> {
        let file = open_own(path, true)?;
        file.set_len(bytes(SLOTS_MAX))?;
        allocate(&file, 0, bytes(SLOTS_INITIAL)).map_err(io::Error::other)?;
        for (at, word) in (0u64..).zip(new_header(session)) {
            file.write_all_at(&word.to_le_bytes(), at * 8)?;
        }
        Ok(PageFile { file: Some(file), slots: SLOTS_INITIAL.into() })
    }

    /// Opens the page of a session. `None`: this is no page of it.
    pub fn open(path: &Path, session: SessionId) -> Option<PageFile> {
        let file = open_own(path, false).ok()?;
        let slots = (allocated(&file).ok()?.0 / 8).saturating_sub(HEADER_WORDS);
        let slots = slots.clamp(SLOTS_INITIAL, SLOTS_MAX).into();
        let this = PageFile { file: Some(file), slots };
        (this.read()?.session() == Some(session)).then_some(this)
    }

    /// The page of a client that lives and whose page is damaged.
    #[must_use]
    pub fn unreadable() -> PageFile {
        PageFile { file: None, slots: 0.into() }
    }

    /// Slots that are allocated.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.slots.load(Ordering::Acquire)
    }

    /// Allocates more slots, up to the bound.
    ///
    /// # Errors
    /// No space.
    pub fn grow(&self, to: u64) -> io::Result<u64> {
        let to = to.clamp(SLOTS_INITIAL, SLOTS_MAX).next_power_of_two();
        let have = self.slots();
        if to > have {
            let file = self.file.as_ref().ok_or(io::ErrorKind::InvalidData)?;
            allocate(file, bytes(have), bytes(to) - bytes(have)).map_err(io::Error::other)?;
            self.slots.store(to, Ordering::Release);
        }
        Ok(self.slots())
    }

    /// The page as it is now, with as many slots as are in use. `None`: it cannot be read, so
    /// that what its client reads is not known. The pool's scan passes its fence before.
    pub fn read(&self) -> Option<LeasePage<Snapshot>> {
        let file = self.file.as_ref()?;
        let first = self.read_slots(file, SLOTS_AT_ONCE.min(self.slots()))?;
        let in_use = first.in_use_bound().min(self.slots());
        if in_use <= SLOTS_AT_ONCE { Some(first) } else { self.read_slots(file, in_use) }
    }

    /// Adds what the page says is read; where it cannot be read, everything.
    pub fn scan(&self, leased: &mut Leased) {
        match self.read() {
            Some(page) => page.scan(self.slots(), |lease| leased.add(lease)),
            None => leased.add_unknown(),
        }
    }

    /// The header alone.
    pub fn read_header(&self) -> Option<LeasePage<Snapshot>> {
        self.read_slots(self.file.as_ref()?, 0)
    }

    fn read_slots(&self, file: &File, slots: u64) -> Option<LeasePage<Snapshot>> {
        let mut words = vec![0; usize::try_from(bytes(slots)).ok()?];
        file.read_exact_at(&mut words, 0).ok()?;
        Some(LeasePage::new(Snapshot(words)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{EntryId, Generation};
    use crate::protocol::word::{Lease, LeaseKind};
    use crate::words::Shared;

    fn leases(page: &PageFile) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        let read = page.read()?;
        read.scan(page.slots(), |lease| found.push(lease.entry.0));
        Some(found)
    }

    /// The pool read lease pages through a mapping: a client that cut its page short, or any
    /// other program that did, ended the daemon by SIGBUS.
    #[test]
    fn what_a_client_does_to_its_page_is_read_and_never_fatal() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = dir.path().join("lease.7");
        let page = PageFile::create(&path, SessionId(7)).unwrap();
        let client = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        {
            let words = Shared::read_write(&client, HEADER_WORDS + SLOTS_MAX).unwrap();
            let mapped = LeasePage::new(words);
            let lease = |entry| Lease {
                entry: EntryId(entry),
                generation: Generation(1),
                kind: LeaseKind::Place,
            };
            mapped.set_in_use(3);
            mapped.set(1, lease(5));
            assert_eq!(leases(&page), Some(vec![5]));
            page.grow(10_000).unwrap();
            mapped.set_in_use(9_000);
            mapped.set(8_999, lease(6));
            assert_eq!(leases(&page), Some(vec![5, 6]));
            mapped.set_in_use(u64::MAX);
            assert_eq!(leases(&page), Some(vec![5, 6]));
        }
        assert!(PageFile::open(&path, SessionId(7)).is_some());
        assert!(PageFile::open(&path, SessionId(8)).is_none());
        for length in [60_000, 8_000, 1, 0] {
            client.set_len(length).unwrap();
            assert_eq!(leases(&page), None, "cut to {length}");
        }
        assert_eq!(leases(&PageFile::unreadable()), None);
    }
}
