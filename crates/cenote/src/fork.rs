//! What happens to leases when a process forks.
//!
//! The child inherits frames, and Arrow buffers, whose leases stand in its parent's page.
//! When the parent lets go of them, or dies, the child would read memory that is reused. So
//! before a fork the leases are copied to a spare page, whose liveness descriptor the child
//! inherits; in the child, that page takes the place of the parent's at the same addresses,
//! and all that was inherited goes on unchanged. Where no page can be had, the daemon being
//! down, the parent promises to keep what is leased: it stays pinned until both are gone.
//!
//! The handlers run in the thread that forks. In the child they close descriptors, store
//! words and map one page: nothing there takes a lock that another thread may have held.

use std::cell::RefCell;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::time::Duration;

use cenote_pool::message::{Request, Response};
use cenote_pool::protocol::lease::{HEADER_WORDS, LeasePage, SLOTS_MAX};
use cenote_pool::words::{Shared, open_own};
use cenote_region::process::at_fork;

use crate::link::Link;
use crate::session::Session;

/// How long a fork waits for a spare page.
const SPARE_WITHIN: Duration = Duration::from_secs(2);

/// A lease page for a child to come.
#[derive(Debug)]
pub(crate) struct Spare {
    page: LeasePage<Shared>,
    file: std::fs::File,
    alive: OwnedFd,
}

/// What a fork takes with it. The list of sessions stays locked over the fork, so that the
/// child finds it whole and free.
struct Forking {
    sessions: MutexGuard<'static, Vec<Weak<Session>>>,
    each: Vec<(Arc<Session>, Legacy)>,
}

/// What a child inherits of a session's leases.
enum Legacy {
    /// There are none.
    Nothing,
    /// They are in a page of its own.
    Page(Spare),
    /// They stay in its parent's.
    Promise,
}

impl Legacy {
    fn page(&self) -> Option<&Spare> {
        match self {
            Legacy::Page(spare) => Some(spare),
            Legacy::Nothing | Legacy::Promise => None,
        }
    }
}

static SESSIONS: Mutex<Vec<Weak<Session>>> = Mutex::new(Vec::new());
static HANDLERS: Once = Once::new();

thread_local! {
    /// What `prepare` made, for the handler after the fork, in either process.
    static FORKING: RefCell<Option<Forking>> = const { RefCell::new(None) };
}

/// Has the session's leases survive forks.
pub(crate) fn register(session: &Arc<Session>) {
    HANDLERS.call_once(|| {
        // Without handlers children would read what is reused: better no pool at all.
        at_fork(prepare, parent, child).expect("pthread_atfork has room for one more");
    });
    let mut sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    sessions.retain(|session| session.strong_count() > 0);
    sessions.push(Arc::downgrade(session));
}

extern "C" fn prepare() {
    let sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let all: Vec<_> = sessions.iter().filter_map(Weak::upgrade).collect();
    let each = all.into_iter().map(|session| {
        let in_use = session.leases.page.in_use();
        if in_use == 0 || !session.leases.hold() {
            return (session, Legacy::Nothing);
        }
        let Some(spare) = Spare::make(&session, in_use) else {
            session.leases.promise();
            return (session, Legacy::Promise);
        };
        session.leases.page.copy_to(&spare.page);
        cenote_pool::step::reach("fork: leases copied");
        (session, Legacy::Page(spare))
    });
    let each = each.collect();
    FORKING.set(Some(Forking { sessions, each }));
}

extern "C" fn parent() {
    // The child holds its page by now; the parent's copy of the descriptor must go, or the
    // page would outlive the child.
    FORKING.take();
    cenote_pool::step::reach("fork: parent goes on");
}

extern "C" fn child() {
    let Some(Forking { sessions, each }) = FORKING.take() else { return };
    for (session, legacy) in &each {
        session.leases.become_childs(legacy.page().map(|s| s.file.as_fd()));
    }
    for (session, legacy) in each {
        // The parent's descriptor goes, the child's own stays open for its life. A lock that
        // another thread held stays locked: then both stay, and the parent's page lives as
        // long as this child. So it must where the child reads by it.
        match (session.leases.alive.try_lock(), legacy) {
            (Ok(mut alive), Legacy::Page(spare)) => *alive = Some(spare.alive),
            (Ok(mut alive), Legacy::Nothing) => *alive = None,
            (_, legacy) => std::mem::forget(legacy),
        }
        if session.is_embedded() {
            // Its pool is the parent's alone: what is there may be read, no more is to be had.
            session.leases.lose();
        }
        // Its destructor could wait for locks that nobody holds any more.
        std::mem::forget(session);
    }
    drop(sessions);
    cenote_pool::step::reach("fork: child goes on");
}

/// Asks over a connection that is made for it.
fn ask_anew(session: &Session, request: &Request) -> Option<(Response, Option<OwnedFd>)> {
    let mut link = Link::socket(session.dir.clone(), SPARE_WITHIN);
    // Its session ends with this function.
    let welcome = link.hello(None, &[], SPARE_WITHIN).ok()?;
    if welcome.pool != session.pool() {
        return None;
    }
    link.try_call(welcome.session, request, SPARE_WITHIN).ok()?
}

impl Spare {
    /// A page with room for so many slots.
    fn make(session: &Session, slots: u64) -> Option<Spare> {
        let request = Request::Spare { slots };
        let (response, alive) = if session.is_forked() {
            // Inherited: it has no connection of its own.
            ask_anew(session, &request)?
        } else {
            session.try_call_within(&request, SPARE_WITHIN)?
        };
        let Response::Welcome { session: id, slots: allocated, .. } = response else { return None };
        if allocated < slots {
            return None;
        }
        let (file, alive) = (open_own(&session.dir.lease(id), false).ok()?, alive?);
        let page = Shared::read_write(&file, HEADER_WORDS + SLOTS_MAX).ok()?;
        Some(Spare { page: LeasePage::new(page), file, alive })
    }
}
