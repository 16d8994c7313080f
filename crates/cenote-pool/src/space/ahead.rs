//! Arenas that no client has asked for: ready ones for the next puts, the pool's own for
//! manifests and for what the cleaner moves, and thin ones that it is to clear.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::os::unix::fs::FileExt;

use cenote_region::quantity::PAGE;

use super::{ARENA_BYTES, Arena, Plan, PlanError, Space};
use crate::id::{ArenaId, CHUNK_ALIGN, Incarnation, Place, RecordId, SessionId};

/// An arena of the pool's own, for manifests and for chunks that the cleaner moved.
const OWN_ARENA_BYTES: u64 = 64 << 20;
/// A ready arena for a chunk that needs one of its own.
const LARGE_BYTES: u64 = 1 << 30;
/// Less is not worth an arena ahead of demand.
const GRANT_BYTES: u64 = 1 << 20;

impl Space {
    /// Writes `bytes` into an arena of the pool's own.
    ///
    /// # Errors
    /// No space.
    pub fn write_own(&mut self, bytes: &[u8]) -> io::Result<Place> {
        let length = bytes.len() as u64;
        let fits = |own: Option<(ArenaId, u64)>, arenas: &BTreeMap<ArenaId, Arena>| {
            own.is_some_and(|(id, at)| arenas.get(&id).is_some_and(|a| at + length <= a.owner.size))
        };
        if !fits(self.own, &self.arenas) {
            if let Some((id, _)) = self.own.take() {
                self.close(id);
            }
            let id = self.make(OWN_ARENA_BYTES.max(length)).map_err(|error| match error {
                PlanError::Io(error) => error,
                _ => io::Error::new(io::ErrorKind::StorageFull, "the board has no room for arenas"),
            })?;
            if let Some(arena) = self.arenas.get_mut(&id) {
                arena.owner.session = SessionId::POOL;
                arena.owner.incarnation = Incarnation(1);
                arena.owner.granted = arena.owner.size;
                arena.holes = true;
                self.board.view().set_arena(id, &arena.owner);
            }
            self.own = Some((id, 0));
        }
        let (id, at) = self.own.ok_or(io::ErrorKind::NotFound)?;
        let arena = self.arenas.get_mut(&id).ok_or(io::ErrorKind::NotFound)?;
        arena.file.write_all_at(bytes, at)?;
        let place = Place { arena: id, incarnation: arena.owner.incarnation, offset: at, length };
        arena.book.occupy(&place).map_err(io::Error::other)?;
        let align = if length >= crate::id::PAGE_ALIGNED_FROM { PAGE } else { CHUNK_ALIGN };
        self.own = Some((id, (at + length.max(1)).next_multiple_of(align)));
        Ok(place)
    }

    /// Bytes allocated ahead of demand.
    pub fn ready(&self) -> u64 {
        self.arenas.values().filter(|a| a.is_free()).map(Arena::allocated).sum()
    }

    /// Whether an arena is being filled that no client has asked for.
    pub fn fills_ahead(&self) -> bool {
        let nobodys = |a: &&Arena| a.owner.session == SessionId::NONE && a.pending_bytes() > 0;
        self.arenas.values().any(|a| nobodys(&a))
    }

    /// Plans one more ready arena, if less than `reserve` bytes are ready and there is ample
    /// space.
    pub fn plan_ahead(&mut self, reserve: u64) -> Option<Plan> {
        // One for a large chunk, the rest for streams.
        let missing = reserve.saturating_sub(self.ready()) / PAGE * PAGE;
        let missing = if missing >= LARGE_BYTES { LARGE_BYTES } else { missing.min(ARENA_BYTES) };
        let shortage = self.shortage();
        if missing < GRANT_BYTES || shortage.free.saturating_sub(self.ready()) < 2 * missing {
            return None;
        }
        let id = self.make(ARENA_BYTES.max(missing)).ok()?;
        let arena = self.arenas.get_mut(&id)?;
        arena.pending = missing;
        self.board.view().set_arena(id, &arena.owner);
        Some(Plan { arena: id, file: arena.file.clone(), from: 0, to: missing })
    }

    /// Gives ready arenas back until at most `keep` bytes are ready. Smallest first.
    pub fn trim(&mut self, keep: u64) -> bool {
        let mut removed = false;
        while self.ready() > keep {
            let smallest = self.arenas.iter().filter(|(_, a)| a.is_free());
            let Some((&id, _)) = smallest.min_by_key(|(_, a)| a.owner.granted) else { break };
            self.remove(id);
            removed = true;
        }
        removed
    }

    /// Before adoption, where the file system has no room for the new owner's own files: gives
    /// back arenas that are nobody's and that no record of the board names. What is named, and
    /// by whom, is not looked at: all that adoption can find in use has a record.
    pub fn trim_unnamed(&mut self) {
        let (_, records, _) = self.board.view().lengths();
        let records = 0..u32::try_from(records).unwrap_or(u32::MAX);
        let location = |record| self.board.view().location(RecordId(record));
        let named: HashSet<ArenaId> =
            records.filter_map(location).map(|location| location.place.arena).collect();
        let nobodys = |(id, arena): &(&ArenaId, &Arena)| {
            arena.owner.session == SessionId::NONE && !named.contains(id)
        };
        let unnamed: Vec<_> = self.arenas.iter().filter(nobodys).map(|(&id, _)| id).collect();
        for id in unnamed {
            self.remove(id);
        }
    }

    /// Arenas without a writer in which little is alive.
    pub fn thin(&self) -> Vec<ArenaId> {
        let is_thin = |a: &&Arena| {
            a.owner.session == SessionId::NONE
                && !a.busy
                && !a.book.is_empty()
                && a.allocated() > 4 * a.book.live_bytes() + PAGE
        };
        self.arenas.iter().filter(|(_, a)| is_thin(a)).map(|(&id, _)| id).collect()
    }
}
