//! Which location records of a board can be believed.

use std::collections::{HashMap, HashSet};

use crate::id::{Place, RecordId};
use crate::protocol::Memory;
use crate::protocol::board::{Board, Location};

pub(super) struct Survey {
    pub(super) records: HashMap<RecordId, Location>,
    pub(super) free_records: Vec<RecordId>,
    pub(super) entries_end: u32,
    pub(super) records_end: u32,
}

/// Reads all records; those that are out of any bound count as free.
pub(super) fn survey<M: Memory>(board: &Board<M>, sound: &impl Fn(&Place) -> bool) -> Survey {
    let (entries, count, _) = board.lengths();
    let mut records = HashMap::new();
    let mut free_records = Vec::new();
    #[expect(clippy::cast_possible_truncation, reason = "bounded by 2^28")]
    let (entries_end, records_end) = (entries as u32, count as u32);
    let overlapping = overlapping(board, records_end);
    for at in 0..records_end {
        let record = RecordId(at);
        match board.location(record) {
            Some(location)
                if location.tenant.entry.0 < entries_end
                    && sound(&location.place)
                    && !overlapping.contains(&record) =>
            {
                // Whoever reads it next looks for himself.
                board.set_verified(record, false);
                records.insert(record, location);
            }
            other => {
                if other.is_some() {
                    board.clear_location(record);
                }
                free_records.push(record);
            }
        }
    }
    Survey { records, free_records, entries_end, records_end }
}

/// Records that claim bytes of another: none is believed. No history of stores makes one; a
/// damaged board does, and freeing either place would take the other's bytes.
fn overlapping<M: Memory>(board: &Board<M>, records_end: u32) -> HashSet<RecordId> {
    let all = (0..records_end).map(RecordId);
    let mut places: Vec<_> = all.filter_map(|r| Some((r, board.location(r)?.place))).collect();
    places.sort_unstable_by_key(|(_, place)| (place.arena, place.offset));
    let mut found = HashSet::new();
    let mut widest: Option<(RecordId, Place)> = None;
    for (record, place) in places {
        if let Some((other, wide)) = widest
            && wide.arena == place.arena
            && wide.end().max(wide.offset + 1) > place.offset
        {
            found.extend([record, other]);
        }
        if widest.is_none_or(|(_, w)| w.arena != place.arena || w.end() < place.end()) {
            widest = Some((record, place));
        }
    }
    found
}
