//! The work behind the lock: dead clients, retired places, dead pages, the catalog, the
//! reserve, thin arenas, and verifying what was taken over.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use cenote_region::copy::checksum_reader;
use cenote_region::space::punch;
use tracing::{debug, error, info, trace, warn};

use super::open::TICK;
use super::{Arc, Core, EntryId, Leased, Liveness, Ordering, Place, PoisonError, Pool, SessionId};
use crate::protocol::ledger::{Life, Pins};
use crate::row::Row;
use crate::space::fill;
use crate::step::reach;

/// Ready arenas beyond the reserve are kept this long for the next put.
const WARM_FOR: Duration = Duration::from_secs(10);
const CATALOG_EVERY: Duration = Duration::from_millis(200);
const EXPIRE_EVERY: Duration = Duration::from_secs(10);
const CLEAN_EVERY: Duration = Duration::from_secs(1);
/// Largest chunk that the cleaner moves.
const MOVE_BYTES_MAX: u64 = 1 << 20;
/// Chunks moved in one round of the cleaner.
const MOVES_MAX: usize = 4096;

impl Pool {
    pub(super) fn start_keepers(self: &Arc<Self>) {
        let spawn = |name: &str, work: fn(&Pool)| {
            let pool = Arc::downgrade(self);
            let keeper = std::thread::Builder::new().name(format!("cenote-{name}"));
            let run = move || {
                // The pool ends when its last user lets go of it; a keeper is none.
                while let Some(pool) = pool.upgrade() {
                    if pool.is_stopping() {
                        break;
                    }
                    work(&pool);
                }
            };
            keeper.spawn(run).ok()
        };
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        keepers.extend(spawn("keeper", Pool::keep));
        keepers.extend(spawn("filler", Pool::fill_ahead));
        keepers.extend(spawn("verifier", Pool::verify));
    }

    /// One round of the keeper.
    fn keep(&self) {
        {
            let mut core = self.lock();
            if !core.fresh && !self.is_stopping() {
                core = self.wake.wait_timeout(core, TICK).unwrap_or_else(PoisonError::into_inner).0;
            }
            core.fresh = false;
        }
        self.sweep();
        let begin = Instant::now();
        self.collect();
        self.punch();
        self.note_uses();
        // A scan costs the same for one place as for a thousand: let some gather, and take
        // at most a tenth of a core.
        std::thread::sleep((begin.elapsed() * 10).clamp(Duration::from_millis(1), TICK * 4));
    }

    /// Ends the sessions whose clients are dead.
    pub(super) fn sweep(&self) {
        let mut ended = Vec::new();
        self.sweep_into(&mut ended);
        // Without the lock: whoever reads the log may be slow.
        for (session, pid, command, let_go) in ended {
            if let_go {
                debug!(%session, pid, "a client has gone: {command}");
            } else {
                info!(%session, pid, "a client was ended: {command}; what it held is free");
            }
        }
    }

    fn sweep_into(&self, ended: &mut Vec<(SessionId, u32, String, bool)>) {
        let mut core = self.lock();
        let core = &mut *core;
        let mut dead = Vec::new();
        for session in core.sessions.values_mut() {
            match session.liveness() {
                Liveness::Alive => session.quarantined = false,
                Liveness::Unclear => session.quarantined = !session.connected,
                Liveness::Dead => dead.push(session.id),
            }
        }
        for id in &dead {
            reach("session: found dead");
            if let Some(session) = core.sessions.remove(id) {
                for arena in &session.arenas {
                    core.estate.space.close(*arena);
                    reach("session: arena closed");
                }
                let let_go = session.has_let_go();
                ended.push((*id, session.pid, session.command.clone(), let_go));
                session.remove(self.dir());
                core.ended.push(*id);
                reach("session: removed");
            }
        }
        if !core.sessions.is_empty() {
            core.last_client = Instant::now();
        }
        if !dead.is_empty() {
            self.freed.notify_all();
        }
    }

    /// Frees what nobody reads any more.
    pub(super) fn collect(&self) {
        loop {
            let (mark, pages, last) = {
                let mut core = self.lock();
                if !core.ledger.has_retired() {
                    return;
                }
                let mark = core.ledger.mark();
                let pages: Vec<_> = core.sessions.values().map(|s| s.page.clone()).collect();
                (mark, pages, core.sessions.keys().last().copied())
            };
            let mut leased = Leased::default();
            for page in &pages {
                page.scan(&mut leased);
            }
            let mut core = self.lock();
            let core = &mut *core;
            // Sessions that came meanwhile hold nothing that was retired before the mark,
            // unless a fork has handed it to them; then it is in their page by now.
            let newer = (
                std::ops::Bound::Excluded(last.unwrap_or(SessionId::NONE)),
                std::ops::Bound::Unbounded,
            );
            for session in core.sessions.range(newer).map(|(_, s)| s) {
                session.scan(&mut leased);
            }
            let freed = core.ledger.collect(mark, &leased);
            trace!(places = freed.places.len(), "collected");
            reach("collect: records cleared");
            for place in &freed.places {
                core.estate.space.vacate(place);
            }
            if !freed.places.is_empty() {
                core.thinned = true;
                core.corrupt.retain(|entry, ()| core.ledger.place(*entry).is_some());
                self.freed.notify_all();
            }
            if !freed.again {
                return;
            }
        }
    }

    /// Gives dead pages back to the file system.
    pub(super) fn punch(&self) {
        let dead = self.lock().estate.space.take_dead();
        if dead.is_empty() {
            return;
        }
        for (_, file, ranges) in &dead {
            for range in ranges {
                let _ = punch(&**file, range.start, range.end - range.start);
                reach("punch: done");
            }
        }
        let mut core = self.lock();
        for (id, _, _) in &dead {
            core.estate.space.punched(*id);
        }
        self.freed.notify_all();
    }

    fn note_uses(&self) {
        let mut core = self.lock();
        let Core { sessions, uses, ledger, .. } = &mut *core;
        for session in sessions.values_mut() {
            let Some(page) = session.page.read_header() else { continue };
            session.ring = page.uses_since(session.ring, |manifest| {
                *uses.entry(manifest).or_default() += 1;
            });
        }
        if uses.len() > 2 * ledger.names().count() + 1024 {
            let live: std::collections::HashSet<_> =
                ledger.names().map(|(_, v)| v.manifest()).collect();
            uses.retain(|manifest, _| live.contains(manifest));
        }
    }

    /// One round of the filler: catalog, reserve, thin arenas, idling.
    fn fill_ahead(&self) {
        self.write_catalog();
        let plan = self.lock().estate.space.plan_ahead(self.reserve);
        if let Some(plan) = plan {
            let outcome = fill(&plan);
            let mut core = self.lock();
            core.estate.space.filled(&plan, &outcome);
            if outcome.is_err() {
                core.estate.space.trim(0);
            }
            self.freed.notify_all();
        }
        // Whether a period has ended since the last round. A round may come late, when it had
        // much to allocate; what is due then is done then.
        let now_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let last_ms = self.filled_ms.swap(now_ms, Ordering::Relaxed);
        let every = |period: Duration| {
            let period_ms = u64::try_from(period.as_millis()).unwrap_or(u64::MAX);
            now_ms / period_ms > last_ms / period_ms
        };
        if every(WARM_FOR) {
            self.lock().estate.space.trim(self.reserve);
        }
        if !self.owns_directory() {
            warn!("the pool's directory is gone, or another daemon's: this one ends");
            // There is nothing left to serve; a successor must not be disturbed.
            self.stop();
            return;
        }
        if every(EXPIRE_EVERY) {
            self.expire();
        }
        if every(CLEAN_EVERY) {
            self.clean();
        }
        let core = self.lock();
        if let Some(idle) = self.config.idle_exit
            && core.sessions.is_empty()
            && core.last_client.elapsed() > idle
        {
            drop(core);
            self.stop();
            return;
        }
        if !self.is_stopping() {
            drop(
                self.freed
                    .wait_timeout(core, CATALOG_EVERY)
                    .unwrap_or_else(PoisonError::into_inner),
            );
        }
        std::thread::sleep(Duration::from_millis(20));
    }

    fn write_catalog(&self) {
        let (batch, ended) = {
            let mut core = self.lock();
            (core.estate.catalog.batch(), std::mem::take(&mut core.ended))
        };
        // If it fails, the journal still has everything, and the next round tries again.
        if !batch.is_empty() && batch.write().is_ok() {
            let _ = self.lock().estate.catalog.applied(&batch);
            reach("catalog: journal cut");
        }
        if !ended.is_empty() && batch.forget(&ended).is_err() {
            self.lock().ended.extend(ended);
        }
    }

    /// Moves what is alive in thin arenas together, so that they can be given back. Only
    /// small chunks: around large ones the dead pages are holes already.
    fn clean(&self) {
        let (thin, chunks) = {
            let mut core = self.lock();
            if !std::mem::take(&mut core.thinned) {
                return;
            }
            let thin = core.estate.space.thin();
            let chunks = if thin.is_empty() { Vec::new() } else { core.ledger.chunks_in(&thin) };
            (thin, chunks)
        };
        if thin.is_empty() {
            return;
        }
        // Whether a chunk is leased is asked once for all: a lease that comes later keeps the
        // old place.
        let leased = super::open::scan_all(&self.lock().sessions);
        let pins = self.lock().ledger.pins(&leased);
        let mut moved = 0;
        for (entry, place, checksum) in chunks {
            if moved >= MOVES_MAX || self.is_stopping() {
                return;
            }
            if place.length <= MOVE_BYTES_MAX
                && self.relocate(entry, place, checksum, &pins).is_some()
            {
                moved += 1;
            }
        }
        if moved > 0 {
            self.lock().fresh = true;
        }
    }

    fn relocate(&self, entry: EntryId, place: Place, checksum: u64, pins: &Pins<'_>) -> Option<()> {
        let mut core = self.lock();
        let core = &mut *core;
        if core.ledger.place(entry) != Some((place, checksum)) || core.ledger.is_leased(entry, pins)
        {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(place.length).ok()?];
        core.estate.space.read(&place, 0, &mut bytes).ok()?;
        if cenote_region::copy::checksum(&bytes) != checksum {
            core.condemn(entry);
            return None;
        }
        let to = core.estate.space.write_own(&bytes).ok()?;
        reach("move: bytes copied");
        if core.ledger.relocate(&mut core.estate, entry, to).is_err() {
            core.estate.space.vacate(&to);
            return None;
        }
        Some(())
    }

    /// Looks whether the bytes that were taken over match their checksums. Until it has, each
    /// client looks itself.
    fn verify(&self) {
        let next = {
            let mut core = self.lock();
            let entry = core.unverified.pop();
            entry.and_then(|entry| {
                let (place, checksum) = core.ledger.place(entry)?;
                let file = core.estate.space.arena(place.arena)?.file.clone();
                Some((entry, place, checksum, file))
            })
        };
        let Some((entry, place, checksum, file)) = next else {
            let core = self.lock();
            if core.unverified.is_empty() && !self.stopping.load(Ordering::Acquire) {
                drop(
                    self.wake.wait_timeout(core, TICK * 10).unwrap_or_else(PoisonError::into_inner),
                );
            }
            return;
        };
        let read = |offset: u64, into: &mut [u8]| {
            std::os::unix::fs::FileExt::read_exact_at(&*file, into, place.offset + offset)
        };
        let sound = checksum_reader(read, place.length).is_ok_and(|found| found == checksum);
        let mut core = self.lock();
        // The place may have been given up meanwhile; then this says nothing.
        if core.ledger.place(entry) == Some((place, checksum)) {
            core.ledger.set_verified(entry, sound);
            if !sound {
                core.condemn(entry);
            }
        }
    }
}

impl Core {
    /// A chunk's bytes are not what was written: its frames are lost.
    fn condemn(&mut self, entry: crate::id::EntryId) {
        self.corrupt.insert(entry, ());
        self.ledger.set_verified(entry, false);
        let owners: HashSet<Life> = self.ledger.owners(entry).iter().copied().collect();
        let held = self.ledger.versions().filter(|version| version.is_held());
        let rows: Vec<Row> = held
            .filter(|version| version.lives().any(|life| owners.contains(&life)))
            .map(|version| version.row.clone())
            .collect();
        for row in rows {
            let reason = "its bytes do not match their checksum".to_owned();
            let (frame, version) = (row.name.clone(), row.version);
            error!(frame, version, "damaged, and not served: {reason}");
            self.lost.insert((frame, version), (row, reason));
        }
    }
}
