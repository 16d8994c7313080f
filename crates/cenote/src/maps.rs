//! Arenas as this process has them mapped.
//!
//! An arena is mapped for reading once per process, at its file's length; a mapping stays
//! for the next frame until there are many, or its arena is gone. A mapping for writing
//! stays a little after its arena was given back: the pool likes to hand the same one out
//! again, and its pages are in place.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use cenote_pool::id::{ArenaId, Place};
use cenote_pool::rundir::RunDir;
use cenote_region::mapping::Mapping;

/// Unused mappings for reading that are kept.
const READ_KEPT_MAX: usize = 32;
/// How long a reader waits for the list of mappings.
const LOCK_WITHIN: Duration = Duration::from_millis(100);
/// Mappings for writing that are kept.
const WRITE_KEPT_MAX: usize = 4;

#[derive(Debug)]
pub(crate) struct Maps {
    dir: RunDir,
    read: Mutex<HashMap<ArenaId, Arc<Mapping>>>,
    write: Mutex<Vec<(ArenaId, Arc<Writable>)>>,
}

/// An arena mapped for writing, and how much of it is in the page table.
#[derive(Debug)]
pub(crate) struct Writable {
    pub(crate) mapping: Mapping,
    populated: AtomicU64,
}

impl Writable {
    /// Whether `..end` may have pages that are not in the page table yet.
    pub(crate) fn is_fresh(&self, end: u64) -> bool {
        end > self.populated.load(Ordering::Relaxed)
    }

    /// Brings a range that is allocated into the page table: quicker than a fault a page.
    ///
    /// By reading: the kernel maps what it reads around in one go, writable as the mapping is,
    /// where a populating write takes each page by itself.
    pub(crate) fn populate(&self, start: u64, end: u64) {
        // If it fails, faults do the same one by one.
        let _ = self.mapping.populate_read(start..end);
    }

    /// Notes that `..end` is in the page table.
    pub(crate) fn set_populated(&self, end: u64) {
        self.populated.fetch_max(end, Ordering::Relaxed);
    }
}

impl Maps {
    pub(crate) fn new(dir: RunDir) -> Maps {
        Maps { dir, read: Mutex::default(), write: Mutex::default() }
    }

    /// The arena of a place that is leased.
    pub(crate) fn read(&self, place: &Place) -> io::Result<Arc<Mapping>> {
        // In a child the list may have been in another thread's hands at the fork, for ever:
        // then it does without.
        let mut maps = lock_soon(&self.read);
        if let Some(map) = maps.as_ref().and_then(|maps| maps.get(&place.arena))
            && map.len() >= place.end()
        {
            return Ok(map.clone());
        }
        let file = File::open(self.dir.arena(place.arena))?;
        let length = file.metadata()?.len();
        if length < place.end() {
            let text = format!("arena {} has {length} bytes, not {}", place.arena, place.end());
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
        }
        let mapping = Mapping::read_only(&file, length)?;
        mapping.advise_huge();
        let map = Arc::new(mapping);
        if let Some(maps) = &mut maps {
            if maps.len() >= READ_KEPT_MAX {
                maps.retain(|_, map| Arc::strong_count(map) > 1);
            }
            maps.insert(place.arena, map.clone());
        }
        Ok(map)
    }

    /// An arena that this client owns.
    pub(crate) fn write(&self, arena: ArenaId, size: u64) -> io::Result<Arc<Writable>> {
        let mut maps = self.write.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) =
            maps.iter().position(|(id, map)| *id == arena && map.mapping.len() >= size)
        {
            let found = maps.remove(at);
            maps.push(found.clone());
            return Ok(found.1);
        }
        let file = OpenOptions::new().read(true).write(true).open(self.dir.arena(arena))?;
        let mapping = Mapping::read_write(&file, size)?;
        mapping.advise_huge();
        let map = Arc::new(Writable { mapping, populated: 0.into() });
        maps.retain(|(id, _)| *id != arena);
        if maps.len() >= WRITE_KEPT_MAX {
            maps.remove(0);
        }
        maps.push((arena, map.clone()));
        Ok(map)
    }

    /// Forgets arenas that are gone.
    pub(crate) fn forget(&self, gone: impl Fn(ArenaId) -> bool) {
        let mut maps = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        maps.retain(|id, map| Arc::strong_count(map) > 1 || !gone(*id));
        let mut maps = self.write.lock().unwrap_or_else(PoisonError::into_inner);
        maps.retain(|(id, map)| Arc::strong_count(map) > 1 || !gone(*id));
    }
}

/// The lock, if it can be had before long.
fn lock_soon<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    let deadline = Instant::now() + LOCK_WITHIN;
    loop {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(guard)) => return Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() > deadline => return None,
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
}
