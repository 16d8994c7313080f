//! This process's lease page: slots to take, and sets of leases that are let go one by one.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cenote_pool::id::{EntryId, Generation};
use cenote_pool::protocol::Memory;
use cenote_pool::protocol::board::Location;
use cenote_pool::protocol::lease::{Holder, LeasePage, SLOTS_MAX};
use cenote_pool::protocol::word::{Lease, LeaseKind};
use cenote_pool::words::Shared;
use cenote_region::process::{ProcessId, start_time};

use crate::error::Error;
use crate::session::Session;

/// The page, and which of its slots are free. The slots themselves are written by whoever
/// has taken them; the lock is only for the list.
#[derive(Debug)]
pub(crate) struct Leases {
    pub(crate) page: LeasePage<Shared>,
    free: Mutex<Slots>,
    /// Keeps the session alive; in a child, its own.
    pub(crate) alive: Mutex<Option<OwnedFd>>,
    /// In a child: the page under this mapping is now the child's, the list is not.
    inherited: AtomicBool,
    /// In a child for which no page could be had: the page is the parent's, who keeps these
    /// leases for it.
    borrowed: AtomicBool,
    /// Slots that children read by which have no page of their own: never cleared.
    promised: Mutex<HashSet<u32>>,
    has_promised: AtomicBool,
    /// Nothing here holds any more.
    lost: AtomicBool,
}

#[derive(Debug)]
struct Slots {
    free: Vec<u32>,
    /// Slots below this were given out at some time.
    used: u32,
    allocated: u32,
}

impl Leases {
    /// Takes a page.
    pub(crate) fn new(page: LeasePage<Shared>, allocated: u64, alive: Option<OwnedFd>) -> Leases {
        page.set_holder(Some(this_process()));
        let slots = Slots { free: Vec::new(), used: 0, allocated: clamp(allocated) };
        Leases {
            page,
            free: Mutex::new(slots),
            alive: Mutex::new(alive),
            inherited: AtomicBool::new(false),
            borrowed: AtomicBool::new(false),
            promised: Mutex::default(),
            has_promised: AtomicBool::new(false),
            lost: AtomicBool::new(false),
        }
    }

    /// Whether leases taken before a fork hold in this process.
    pub(crate) fn hold(&self) -> bool {
        !self.lost.load(Ordering::Acquire)
    }

    /// Whether the page was inherited over a fork: no new lease is taken in it.
    pub(crate) fn is_inherited(&self) -> bool {
        self.inherited.load(Ordering::Acquire)
    }

    /// The pool is gone from under this session: nothing holds any more.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Release);
    }

    /// In a child, just forked: `page` takes the place of the parent's; without one the
    /// parent's stays, and is not written. Async-signal-safe.
    pub(crate) fn become_childs(&self, page: Option<std::os::fd::BorrowedFd<'_>>) {
        self.inherited.store(true, Ordering::Release);
        let replaced = page.map(|page| self.page.memory().replace(Some(page)));
        if matches!(replaced, Some(Ok(()))) {
            self.borrowed.store(false, Ordering::Release);
            self.page.set_holder(Some(this_process()));
        } else {
            self.borrowed.store(true, Ordering::Release);
        }
    }

    /// Before a fork for which no page can be had: what is leased now is kept for the child,
    /// for as long as one of the two lives.
    pub(crate) fn promise(&self) {
        let mut promised = self.promised.lock().unwrap_or_else(PoisonError::into_inner);
        let in_use = u32::try_from(self.page.in_use()).unwrap_or(0);
        promised.extend((0..in_use).filter(|slot| self.page.get(*slot).is_some()));
        self.has_promised.store(true, Ordering::Release);
    }

    fn keep_promised(&self, slots: &[u32]) -> Vec<u32> {
        let promised = self.promised.lock().unwrap_or_else(PoisonError::into_inner);
        slots.iter().copied().filter(|slot| !promised.contains(slot)).collect()
    }

    /// Takes `count` slots; `grow` asks the pool for more.
    pub(crate) fn take(
        &self,
        count: usize,
        grow: impl Fn(u64) -> Result<u64, Error>,
        into: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let mut slots = self.lock();
        // Another thread may take what was grown for this one.
        while let Some(missing) = slots.missing(count) {
            let wanted = u64::from(slots.allocated) + missing as u64;
            if wanted > SLOTS_MAX {
                return Err(Error::Leases { used: u64::from(slots.used) });
            }
            drop(slots);
            let allocated = clamp(grow(wanted)?);
            slots = self.lock();
            slots.allocated = slots.allocated.max(allocated);
        }
        let from_free = count.min(slots.free.len());
        let at = slots.free.len() - from_free;
        into.extend(slots.free.drain(at..));
        let new = u32::try_from(count - from_free).unwrap_or(0);
        if new > 0 {
            into.extend(slots.used..slots.used + new);
            slots.used += new;
            self.page.set_in_use(u64::from(slots.used));
        }
        Ok(())
    }

    /// Clears slots and puts them back.
    pub(crate) fn give(&self, slots: &[u32]) {
        if self.borrowed.load(Ordering::Acquire) {
            return;
        }
        if self.has_promised.load(Ordering::Acquire) && !self.is_inherited() {
            let slots = self.keep_promised(slots);
            return self.clear(&slots);
        }
        self.clear(slots);
    }

    fn clear(&self, slots: &[u32]) {
        for &slot in slots {
            self.page.clear(slot);
        }
        cenote_pool::step::reach("lease: given up");
        if !self.is_inherited() {
            self.lock().free.extend(slots);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Slots> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Leases {
    /// Nobody reads by the page any more: its session ends here, though the process goes on.
    fn drop(&mut self) {
        // Unless the process was forked past all handlers, and the page is its parent's.
        if self.page.holder().is_some_and(|holder| holder.pid == std::process::id()) {
            self.page.set_holder(None);
        }
    }
}

fn this_process() -> Holder {
    let pid = ProcessId::current();
    let start = start_time(pid).map_or(0, |start| start.0 & u64::from(u32::MAX));
    Holder { pid: pid.0, start: u32::try_from(start).unwrap_or(0) }
}

impl Slots {
    fn missing(&self, count: usize) -> Option<usize> {
        let room = self.free.len() + (self.allocated - self.used) as usize;
        count.checked_sub(room).filter(|n| *n > 0)
    }
}

fn clamp(slots: u64) -> u32 {
    u32::try_from(slots.min(SLOTS_MAX)).unwrap_or(0)
}

/// Leases on some chunks of one version. Each is let go when its last user is: the frame, or
/// a buffer that points into the chunk. Counts only go up from a user that exists, so a lease
/// once let go is never taken up again.
#[derive(Debug)]
pub(crate) struct LeaseSet {
    /// Lives as long as what was read by it: a fork looks after the leases of its sessions.
    session: Arc<Session>,
    /// Slot 0 pins the manifest; with `whole`, that is all.
    slots: Box<[u32]>,
    pub(crate) whole: bool,
    /// Where each chunk stands, in the order in which they were asked for.
    pub(crate) locations: Box<[Location]>,
    users: Box<[AtomicU32]>,
    /// Chunks whose bytes this process has looked at, where the pool had not.
    verified: Box<[AtomicBool]>,
}

impl LeaseSet {
    /// One user for each lease.
    pub(crate) fn new(
        session: Arc<Session>,
        slots: Vec<u32>,
        whole: bool,
        locations: Vec<Location>,
    ) -> LeaseSet {
        debug_assert_eq!(slots.len(), if whole { 1 } else { locations.len() + 1 });
        let users = slots.iter().map(|_| AtomicU32::new(1)).collect();
        let unknown = locations.iter().any(|location| !location.verified);
        let verified = if unknown { locations.len() } else { 0 };
        LeaseSet {
            session,
            slots: slots.into(),
            whole,
            locations: locations.into(),
            users,
            verified: (0..verified).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Whether this process has looked at a chunk's bytes.
    pub(crate) fn is_verified(&self, chunk: usize) -> bool {
        self.verified.get(chunk).is_some_and(|v| v.load(Ordering::Relaxed))
    }

    /// Notes that it has, and found them right.
    pub(crate) fn set_verified(&self, chunk: usize) {
        if let Some(verified) = self.verified.get(chunk) {
            verified.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the leases hold in this process.
    pub(crate) fn hold(&self) -> bool {
        self.session.leases.hold()
    }

    fn lease_of(&self, chunk: usize) -> usize {
        if self.whole { 0 } else { chunk + 1 }
    }

    /// Another user of a chunk's lease. Only while the caller is itself a user.
    pub(crate) fn add_user(&self, chunk: usize) {
        self.users[self.lease_of(chunk)].fetch_add(1, Ordering::Relaxed);
    }

    /// A user fewer.
    pub(crate) fn remove_user(&self, chunk: usize) {
        self.release(self.lease_of(chunk));
    }

    /// The frame lets go of everything that nobody else uses.
    pub(crate) fn release_all(&self) {
        let mut free = Vec::with_capacity(self.slots.len());
        for (users, &slot) in self.users.iter().zip(&self.slots) {
            if users.fetch_sub(1, Ordering::AcqRel) == 1 {
                free.push(slot);
            }
        }
        self.session.leases.give(&free);
    }

    fn release(&self, lease: usize) {
        // AcqRel: all reads by the other users come before the slot is cleared.
        if self.users[lease].fetch_sub(1, Ordering::AcqRel) == 1 {
            self.session.leases.give(&[self.slots[lease]]);
        }
    }
}

/// Pins a whole version with one slot.
pub(crate) fn pin_version(
    page: &LeasePage<Shared>,
    slot: u32,
    manifest: EntryId,
    generation: Generation,
) {
    page.set(slot, Lease { entry: manifest, generation, kind: LeaseKind::Version });
    page.memory().fence();
}
