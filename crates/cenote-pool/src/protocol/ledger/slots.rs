//! Entries and records: taking them, publishing, withdrawing, moving.

use super::{Ledger, LedgerError, Memory, RetiredPlace, World};
use crate::id::{EntryId, Generation, Place, RecordId};
use crate::protocol::board::Location;
use crate::protocol::word::{ChunkKind, Entry, GENERATION_LAST, Tenant};

impl<M: Memory, H: Memory> Ledger<M, H> {
    /// Moves an unleased chunk's bytes, already copied, to `place`. A reader that came in
    /// between keeps the old place.
    ///
    /// # Errors
    /// The board is full.
    pub fn relocate<W: World<Heads = H>>(
        &mut self,
        world: &mut W,
        entry: EntryId,
        place: Place,
    ) -> Result<(), LedgerError> {
        self.make_room(world, 1)?;
        let Some(chunk) = self.chunks.get(&entry) else { return Ok(()) };
        let (old, checksum) = (chunk.place, chunk.checksum);
        let (old_record, old_generation) = (chunk.record, chunk.generation);
        if old_generation.0 >= GENERATION_LAST {
            return Ok(());
        }
        let record = self.take_record();
        let generation = Generation(old_generation.0 + 1);
        let tenant = Tenant { entry, generation, kind: ChunkKind::Data };
        let location = Location { tenant, place, checksum, verified: true };
        self.board.write_location(record, &location);
        world.step("move: record written");
        self.board.publish(entry, generation, record);
        world.step("move: entry published");
        self.retired_places.push(RetiredPlace {
            entry,
            generation: old_generation,
            record: old_record,
            place: old,
            ticket: self.ticket,
            moved: true,
        });
        if let Some(chunk) = self.chunks.get_mut(&entry) {
            (chunk.place, chunk.record, chunk.generation) = (place, record, generation);
        }
        Ok(())
    }

    pub(super) fn make_room<W: World<Heads = H>>(
        &mut self,
        world: &mut W,
        count: usize,
    ) -> Result<(), LedgerError> {
        let missing = |free: usize| u32::try_from(count.saturating_sub(free)).unwrap_or(u32::MAX);
        let shape = self.board.identity().shape;
        let entries = u64::from(self.entries_end) + u64::from(missing(self.free_entries.len()));
        let records = u64::from(self.records_end) + u64::from(missing(self.free_records.len()));
        let (used, _, _) = self.board.lengths();
        if entries > shape.entries {
            return Err(LedgerError::BoardFull { what: "entries", used, room: shape.entries });
        }
        if records > shape.records {
            let used = u64::from(self.records_end);
            return Err(LedgerError::BoardFull { what: "records", used, room: shape.records });
        }
        world.grow_board(entries, records)?;
        Ok(())
    }

    fn take_record(&mut self) -> RecordId {
        self.free_records.pop().unwrap_or_else(|| {
            self.records_end += 1;
            RecordId(self.records_end - 1)
        })
    }

    /// Record, then entry. [`Self::make_room`] was called.
    pub(super) fn publish(
        &mut self,
        kind: ChunkKind,
        place: Place,
        checksum: u64,
    ) -> (EntryId, Generation, RecordId) {
        let record = self.take_record();
        let entry = self.free_entries.pop().unwrap_or_else(|| {
            self.entries_end += 1;
            EntryId(self.entries_end - 1)
        });
        let generation = self.board.entry(entry).generation;
        let tenant = Tenant { entry, generation, kind };
        let location = Location { tenant, place, checksum, verified: true };
        self.board.write_location(record, &location);
        self.board.publish(entry, generation, record);
        (entry, generation, record)
    }

    /// Takes back what no manifest has named: no reader can hold it.
    pub(super) fn unpublish(&mut self, published: &[(EntryId, Generation, RecordId)]) {
        for &(entry, generation, record) in published {
            self.withdraw(entry, generation);
            self.board.clear_location(record);
            self.free_records.push(record);
        }
    }

    /// Ends this life of the entry. It may be reused at once: leases on the old life name
    /// the old generation.
    pub(super) fn withdraw(&mut self, entry: EntryId, generation: Generation) {
        let next = Generation(generation.0.saturating_add(1));
        self.board.withdraw(entry, next);
        if next.0 < GENERATION_LAST {
            self.free_entries.push(entry);
        }
    }

    /// Notes what a check of a chunk's bytes found.
    pub fn set_verified(&self, entry: EntryId, verified: bool) {
        if let Some(record) = Entry::unpack(self.board.entry_word(entry)).record {
            self.board.set_verified(record, verified);
        }
    }
}
