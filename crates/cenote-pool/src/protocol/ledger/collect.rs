//! Letting versions go, and freeing what nobody reads any more.
//!
//! A version that no name holds is *let go*. While versions that count refer to it, its
//! manifest stays published: a reader of theirs looks it up on the board. When none does, its
//! entry is withdrawn and its place retired; when no lease is found that needs it, it is
//! freed, and chunks that were only its own are withdrawn and retired in their turn.
//!
//! A version that was let go still counts until a scan finds it unleased: whoever opened it
//! while it was current may be about to look up what it refers to. From then on it does not:
//! nobody opens it any more but by a reference of an earlier time, who is told that the
//! version is gone where what it refers to is.

use std::collections::HashSet;

use super::version::{Life, life_of};
use super::{Ledger, Memory, RetiredPlace, World};
use crate::id::{EntryId, Generation, Place};
use crate::protocol::lease::Leased;

/// What one pass freed.
#[derive(Clone, Debug, Default)]
pub struct Freed {
    /// Places that may be written again.
    pub places: Vec<Place>,
    /// Whether the pass retired what only the next pass can free.
    pub again: bool,
}

/// What a scan of all lease pages pins.
#[derive(Debug)]
pub struct Pins<'a> {
    leased: &'a Leased,
    /// Manifests that a leased version refers to.
    included: HashSet<Life>,
    /// Manifests all of whose chunks are pinned.
    whole: HashSet<Life>,
}

impl Pins<'_> {
    fn manifest(&self, life: Life) -> bool {
        self.leased.pins(life.0, life.1) || self.included.contains(&life)
    }

    fn chunk_of(&self, owners: &[Life]) -> bool {
        self.leased.is_unknown() || owners.iter().any(|owner| self.whole.contains(owner))
    }
}

impl<M: Memory, H: Memory> Ledger<M, H> {
    /// What a scan pins, version leases and references followed. Costs the leases, once.
    pub fn pins<'a>(&self, leased: &'a Leased) -> Pins<'a> {
        let mut pins = Pins { leased, included: HashSet::new(), whole: HashSet::new() };
        for (life, is_whole) in leased.iter() {
            let Some(version) = self.versions.get(&life) else { continue };
            pins.included.extend(version.references.iter().map(life_of));
            if is_whole {
                pins.whole.extend(version.lives());
            }
        }
        pins
    }

    /// Whether any lease on it, or a version lease on a version that has it, was found.
    pub fn is_leased(&self, entry: EntryId, pins: &Pins<'_>) -> bool {
        self.chunks.get(&entry).is_some_and(|chunk| {
            pins.leased.pins(entry, chunk.generation) || pins.chunk_of(&chunk.versions)
        })
    }

    /// No name holds it any more.
    pub(super) fn let_go<W: World<Heads = H>>(&mut self, world: &mut W, life: Life) {
        let ticket = self.ticket;
        let Some(version) = self.versions.get_mut(&life) else { return };
        version.state.held = false;
        version.state.ticket = ticket;
        self.let_go.push(life);
        if version.state.referrers == 0 {
            self.retire(life);
            world.step("retire: manifest withdrawn");
        }
    }

    /// Withdraws a version's manifest and retires its place.
    pub(super) fn retire(&mut self, life: Life) {
        let ticket = self.ticket;
        let Some(version) = self.versions.get_mut(&life) else { return };
        if version.state.withdrawn {
            return;
        }
        version.state.withdrawn = true;
        version.state.ticket = ticket;
        let (record, place) = (version.record, version.location.place);
        self.withdraw(life.0, life.1);
        let (entry, generation) = life;
        let retired = RetiredPlace { entry, generation, record, place, ticket, moved: false };
        self.retired_places.push(retired);
    }

    /// Passes the fence that a scan must follow, and returns the mark for
    /// [`Self::collect`]: everything retired so far.
    pub fn mark(&mut self) -> u64 {
        self.board.memory().fence();
        self.ticket += 1;
        self.ticket
    }

    /// Somebody has put this version into a lease page just now: a scan that was begun before
    /// does not count.
    pub fn refresh(&mut self, manifest: EntryId, generation: Generation) {
        let now = self.ticket;
        if let Some(version) = self.versions.get_mut(&(manifest, generation)) {
            version.state.ticket = now;
        }
        for retired in &mut self.retired_places {
            if retired.entry == manifest && retired.generation == generation {
                retired.ticket = now;
            }
        }
    }

    /// Whether anything waits to be freed.
    pub fn has_retired(&self) -> bool {
        !self.retired_places.is_empty() || !self.let_go.is_empty()
    }

    /// Frees what was retired before `mark` (see [`Ledger::mark`]) and is not in `leased`,
    /// which was scanned after it.
    pub fn collect(&mut self, mark: u64, leased: &Leased) -> Freed {
        let pins = self.pins(leased);
        let mut freed = Freed::default();
        for retired in std::mem::take(&mut self.retired_places) {
            let life = (retired.entry, retired.generation);
            let owners = || self.chunks.get(&retired.entry).map(|c| c.versions.as_slice());
            let pinned = pins.manifest(life)
                || (retired.moved && pins.chunk_of(owners().unwrap_or_default()));
            if retired.ticket >= mark || pinned {
                self.retired_places.push(retired);
                continue;
            }
            self.board.clear_location(retired.record);
            self.free_records.push(retired.record);
            freed.places.push(retired.place);
        }
        for life in std::mem::take(&mut self.let_go) {
            let Some(version) = self.versions.get(&life) else { continue };
            let state = version.state;
            if state.ticket >= mark || pins.manifest(life) {
                self.let_go.push(life);
                continue;
            }
            if state.counts {
                freed.again |= self.uncount(life);
            }
            if state.withdrawn {
                freed.again |= self.free(life);
            }
        }
        freed
    }

    /// The version counts no longer for what it refers to; whether some of that was retired.
    fn uncount(&mut self, life: Life) -> bool {
        let Some(version) = self.versions.get_mut(&life) else { return false };
        version.state.counts = false;
        let references: Vec<Life> = version.references.iter().map(life_of).collect();
        let mut retired = false;
        for life in references {
            let Some(version) = self.versions.get_mut(&life) else { continue };
            version.state.referrers = version.state.referrers.saturating_sub(1);
            let state = version.state;
            if state.referrers == 0 && !state.held && !state.withdrawn {
                self.retire(life);
                retired = true;
                if !state.counts {
                    // One that counts waits there already.
                    self.let_go.push(life);
                }
            }
        }
        retired
    }

    /// Ends a version; whether chunks of it were retired.
    fn free(&mut self, life: Life) -> bool {
        let Some(version) = self.versions.remove(&life) else { return false };
        let mut retired = false;
        for &entry in &version.chunks {
            let Some(chunk) = self.chunks.get_mut(&entry) else { continue };
            chunk.versions.retain(|&owner| owner != life);
            if !chunk.versions.is_empty() {
                continue;
            }
            if let Some(chunk) = self.chunks.remove(&entry) {
                self.withdraw(entry, chunk.generation);
                self.retired_places.push(RetiredPlace {
                    entry,
                    generation: chunk.generation,
                    record: chunk.record,
                    place: chunk.place,
                    ticket: self.ticket,
                    moved: false,
                });
                retired = true;
            }
        }
        retired
    }
}
