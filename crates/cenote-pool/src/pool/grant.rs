//! Handing out arenas, and saying no with the numbers.

use std::time::{Duration, Instant};

use super::{Core, MutexGuard, Ordering, PoisonError, Pool, system};
use crate::id::{ArenaId, SessionId};
use crate::message::{Holder, Refusal, Response};
use crate::space::{Plan, PlanError, Shortage, fill};

/// Longest that a request may wait for room.
const WAIT_MAX: Duration = Duration::from_secs(3600);
/// How long a put waits for the reserve to be filled, if it needs that space itself.
const FILL_WITHIN: Duration = Duration::from_secs(2);

impl Pool {
    pub(super) fn arena(
        &self,
        session: SessionId,
        bytes: u64,
        wait_ms: u64,
    ) -> Result<Response, Refusal> {
        let plan = self.plan(session, bytes, wait_ms, |core| {
            let plan = core.estate.space.plan(session, bytes)?;
            if let Some(session) = core.sessions.get_mut(&session) {
                session.arenas.push(plan.arena);
            }
            Ok(plan)
        })?;
        let id = plan.arena;
        let response = self.fill(&plan);
        if response.is_err() {
            // If the session has ended meanwhile, so has its hold on the arena.
            let _ = self.give_back(session, id);
        }
        response
    }

    pub(super) fn grow(
        &self,
        session: SessionId,
        arena: ArenaId,
        to: u64,
        wait_ms: u64,
    ) -> Result<Response, Refusal> {
        let missing = {
            let core = self.lock();
            self.owns(&core, session, arena)?;
            to.saturating_sub(core.estate.space.arena(arena).map_or(0, |a| a.owner.granted))
        };
        let more = |core: &mut Core| core.estate.space.plan_more(arena, to);
        let plan = self.plan(session, missing, wait_ms, more)?;
        self.fill(&plan)
    }

    pub(super) fn give_back(
        &self,
        session: SessionId,
        arena: ArenaId,
    ) -> Result<Response, Refusal> {
        let mut core = self.lock();
        self.owns(&core, session, arena)?;
        core.estate.space.close(arena);
        if let Some(session) = core.sessions.get_mut(&session) {
            session.arenas.retain(|&id| id != arena);
        }
        self.freed.notify_all();
        self.wake.notify_all();
        Ok(Response::Done)
    }

    pub(super) fn slots(&self, session: SessionId, to: u64) -> Result<Response, Refusal> {
        let mut core = self.lock();
        let found = core.sessions.get_mut(&session).ok_or(Refusal::NoSession { session })?;
        let slots = found.grow(to).map_err(|error| system("grow a lease page", &error))?;
        let sequence = found.sequence;
        Ok(self.welcome(session, slots, sequence))
    }

    fn owns(&self, core: &Core, session: SessionId, arena: ArenaId) -> Result<(), Refusal> {
        let owner = core.estate.space.arena(arena).map(|a| a.owner.session);
        if owner == Some(session) {
            return Ok(());
        }
        Err(Refusal::Unsound { what: format!("arena {arena} is not this client's") })
    }

    /// Reserves with `plan`, waiting for room up to the deadline.
    fn plan(
        &self,
        session: SessionId,
        asked: u64,
        wait_ms: u64,
        mut plan: impl FnMut(&mut Core) -> Result<Plan, PlanError>,
    ) -> Result<Plan, Refusal> {
        let begin = Instant::now();
        let deadline = begin + Duration::from_millis(wait_ms).min(WAIT_MAX);
        let mut core = self.lock();
        let mut collected = false;
        loop {
            // It may end while it waits; then nobody would close what it was given.
            if !core.sessions.contains_key(&session) {
                return Err(Refusal::NoSession { session });
            }
            match plan(&mut core) {
                Ok(plan) => return Ok(plan),
                Err(PlanError::Io(error)) => return Err(system("make an arena", &error)),
                Err(PlanError::Arenas) => {
                    let room = core.estate.board.view().identity().shape.arenas;
                    return Err(Refusal::Bound { what: "arenas".to_owned(), used: room, room });
                }
                Err(PlanError::Short(shortage)) => {
                    if !collected {
                        // What is free in truth and not yet collected.
                        drop(core);
                        self.collect();
                        self.punch();
                        core = self.lock();
                        collected = true;
                        continue;
                    }
                    // What is being allocated ahead is free in a moment.
                    if core.estate.space.fills_ahead() && begin.elapsed() < FILL_WITHIN {
                        core = self.wait(core, Duration::from_millis(50));
                        continue;
                    }
                    let left = deadline.saturating_duration_since(Instant::now());
                    // What is more than all of it will not fit, however long.
                    let never = asked > self.capacity;
                    if never || left.is_zero() || self.stopping.load(Ordering::Acquire) {
                        return Err(self.exhausted(&core, asked, shortage));
                    }
                    core = self.wait(core, left.min(Duration::from_millis(250)));
                }
            }
        }
    }

    fn wait<'a>(&self, core: MutexGuard<'a, Core>, most: Duration) -> MutexGuard<'a, Core> {
        self.freed.wait_timeout(core, most).unwrap_or_else(PoisonError::into_inner).0
    }

    fn fill(&self, plan: &Plan) -> Result<Response, Refusal> {
        let outcome = fill(plan);
        let mut core = self.lock();
        let owner = core.estate.space.filled(plan, &outcome);
        crate::step::reach("arena: filled");
        if let Err(error) = outcome {
            let shortage = core.estate.space.shortage();
            if shortage.free < plan.bytes() {
                return Err(self.exhausted(&core, plan.bytes(), shortage));
            }
            return Err(system("allocate an arena", &error));
        }
        let owner = owner.ok_or(Refusal::Unsound { what: "the arena is gone".to_owned() })?;
        Ok(Response::Arena {
            arena: plan.arena,
            incarnation: owner.incarnation,
            size: owner.size,
            granted: owner.granted,
        })
    }

    pub(super) fn exhausted(&self, core: &Core, asked: u64, shortage: Shortage) -> Refusal {
        let mut holders: Vec<Holder> = self
            .session_infos(core)
            .into_iter()
            .map(|info| {
                let stale =
                    info.leases.iter().filter(|l| !l.current).map(|l| l.nbytes).sum::<u64>();
                Holder { pid: info.pid, command: info.command, bytes: stale + info.open }
            })
            .filter(|holder| holder.bytes > 0)
            .collect();
        holders.sort_unstable_by_key(|holder| std::cmp::Reverse(holder.bytes));
        holders.truncate(5);
        Refusal::Exhausted {
            asked,
            free: shortage.free,
            largest: shortage.largest,
            capacity: self.capacity,
            limit: shortage.limit,
            holders,
        }
    }
}
