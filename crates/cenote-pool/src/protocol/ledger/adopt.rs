//! A new daemon takes over what an old one left, wherever it stopped.
//!
//! The catalog says which names there are. Everything else is read off the board, and each
//! thing is believed only as far as it agrees with the others: a name is kept if its
//! manifest's entry, record and bytes agree with the row, and each chunk's entry and record
//! agree with the manifest. A name that fails is *lost*, with the reason.
//!
//! What the board holds beyond that was being made or being freed when the old daemon
//! stopped. It is retired, and goes when a lease scan has passed, like everything else. A
//! manifest that is retired and still leased brings its chunks back with it: its reader may
//! be about to lease them.

use std::collections::HashMap;

use super::{ChunkState, Ledger, LedgerError, Named, RetiredPlace, Version, World};
use crate::id::{EntryId, Place, RecordId};
use crate::protocol::Memory;
use crate::protocol::board::{Board, Location};
use crate::protocol::heads::{HeadTable, table_words};
use crate::protocol::lease::Leased;
use crate::protocol::word::{ChunkKind, GENERATION_LAST};
use crate::row::Row;

/// The chunks that a manifest names: entry, length, checksum.
pub type ManifestChunks = Vec<(EntryId, u64, u64)>;

/// A name of the catalog whose data cannot be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The row, with the name and where the data came from.
    pub row: Row,
    /// What did not agree.
    pub reason: String,
}

/// What adoption found.
#[derive(Debug)]
pub struct Adopted<M, H> {
    /// The ledger, ready.
    pub ledger: Ledger<M, H>,
    /// Names that cannot be served.
    pub lost: Vec<Lost>,
}

struct Survey {
    records: HashMap<RecordId, Location>,
    free_records: Vec<RecordId>,
    entries_end: u32,
    records_end: u32,
}

impl<M: Memory, H: Memory> Ledger<M, H> {
    /// Rebuilds the ledger from the board and the catalog's `rows`.
    ///
    /// `leased` is one full scan of all lease pages. `sound` says whether a place lies in an
    /// arena that exists. `read_manifest` reads and checks a manifest's bytes.
    ///
    /// # Errors
    /// No space for a head table.
    pub fn adopt<W: World<Heads = H>>(
        board: Board<M>,
        world: &mut W,
        rows: Vec<Row>,
        leased: &Leased,
        sound: impl Fn(&Place) -> bool,
        mut read_manifest: impl FnMut(&Location) -> Result<ManifestChunks, String>,
    ) -> Result<Adopted<M, H>, LedgerError> {
        let survey = survey(&board, &sound);
        let number = board.heads().wrapping_add(1);
        let bytes: usize = rows.iter().map(|row| row.name.len() + 16).sum();
        let (words, slots, name_words) =
            table_words(2 * (rows.len() as u64).max(32), 2 * bytes as u64);
        let heads = HeadTable::create(world.make_heads(number, words)?, number, slots, name_words);
        let mut ledger = Ledger {
            board,
            heads,
            entries_end: survey.entries_end,
            records_end: survey.records_end,
            free_entries: Vec::new(),
            free_records: survey.free_records,
            chunks: HashMap::new(),
            names: std::collections::BTreeMap::new(),
            retired_versions: Vec::new(),
            retired_places: Vec::new(),
            ticket: 0,
        };
        let mut lost = Vec::new();
        let mut named = std::collections::HashSet::new();
        for row in rows {
            if !named.insert(row.manifest) {
                let reason = "its manifest is another frame's".to_owned();
                lost.push(Lost { row, reason });
                continue;
            }
            match ledger.adopt_row(&survey.records, &row, &mut read_manifest) {
                Ok(version) => {
                    let head = ledger.heads.insert(&row.name, Some(version.manifest));
                    ledger.names.insert(row.name, Named { version, head });
                }
                Err(reason) => lost.push(Lost { row, reason }),
            }
        }
        world.step("adopt: names found");
        ledger.adopt_retired(&survey.records, leased, &mut read_manifest);
        ledger.free_the_rest(survey.records);
        world.step("adopt: orphans retired");
        let old = number.wrapping_sub(1);
        ledger.board.set_heads(number);
        world.step("adopt: heads published");
        world.drop_heads(old);
        Ok(Adopted { ledger, lost })
    }

    /// The version that a row names, if everything about it agrees.
    fn adopt_row(
        &mut self,
        records: &HashMap<RecordId, Location>,
        row: &Row,
        read_manifest: &mut impl FnMut(&Location) -> Result<ManifestChunks, String>,
    ) -> Result<Version, String> {
        let entry = self.board.entry(row.manifest);
        let record = entry.record.ok_or("its manifest's board entry is empty")?;
        let location = *records.get(&record).ok_or("its manifest's location record is damaged")?;
        if location.tenant.entry != row.manifest
            || location.tenant.generation != entry.generation
            || location.tenant.kind != ChunkKind::Manifest
        {
            return Err("its manifest's board entry and location record disagree".to_owned());
        }
        if location.checksum != row.manifest_checksum
            || location.place.length != row.manifest_length
        {
            return Err("its manifest on the board is not the catalog's".to_owned());
        }
        let chunks = read_manifest(&location)?;
        self.adopt_version(records, row.clone(), record, location, &chunks)
    }

    fn adopt_version(
        &mut self,
        records: &HashMap<RecordId, Location>,
        row: Row,
        record: RecordId,
        location: Location,
        chunks: &ManifestChunks,
    ) -> Result<Version, String> {
        for (i, &(entry, length, checksum)) in chunks.iter().enumerate() {
            let word = self.board.entry(entry);
            let Some(record) = word.record else {
                return Err(format!("the board entry of its chunk {i} is empty"));
            };
            let agrees = records.get(&record).is_some_and(|l| {
                l.tenant.entry == entry
                    && l.tenant.generation == word.generation
                    && l.place.length == length
                    && l.checksum == checksum
            });
            if !agrees {
                return Err(format!("the location record of its chunk {i} is damaged"));
            }
        }
        let key = (location.tenant.entry, location.tenant.generation);
        let mut bytes = 0;
        for &(entry, length, checksum) in chunks {
            bytes += length;
            let word = self.board.entry(entry);
            let Some((record, l)) = word.record.and_then(|r| Some((r, records.get(&r)?))) else {
                continue;
            };
            let state = self.chunks.entry(entry).or_insert_with(|| ChunkState {
                place: l.place,
                checksum,
                record,
                generation: word.generation,
                versions: Vec::new(),
            });
            state.versions.push(key);
        }
        Ok(Version {
            row,
            manifest: key.0,
            generation: key.1,
            location,
            record,
            chunks: chunks.iter().map(|c| c.0).collect(),
            bytes,
        })
    }

    /// Manifests whose names are gone but that somebody leases.
    fn adopt_retired(
        &mut self,
        records: &HashMap<RecordId, Location>,
        leased: &Leased,
        read_manifest: &mut impl FnMut(&Location) -> Result<ManifestChunks, String>,
    ) {
        // The board does not tell which manifests have names: an owner that stopped between
        // the log and the head leaves the old version's entry in place.
        let named: std::collections::HashSet<RecordId> =
            self.names.values().map(|n| n.version.record).collect();
        for (&record, location) in records {
            let tenant = location.tenant;
            if tenant.kind != ChunkKind::Manifest
                || !leased.pins(tenant.entry, tenant.generation)
                || named.contains(&record)
            {
                continue;
            }
            // One that cannot be read keeps its own place; its chunks' leases keep theirs.
            let Ok(chunks) = read_manifest(location) else { continue };
            let row = Row::unnamed(tenant.entry, location.checksum, location.place.length);
            if let Ok(version) = self.adopt_version(records, row, record, *location, &chunks) {
                self.retired_versions.push((0, version));
            }
        }
    }

    /// Withdraws entries that nothing names, and retires the places of all records that no
    /// live entry names.
    fn free_the_rest(&mut self, records: HashMap<RecordId, Location>) {
        let mut named: HashMap<EntryId, RecordId> =
            self.chunks.iter().map(|(&entry, chunk)| (entry, chunk.record)).collect();
        named.extend(self.names.values().map(|n| (n.version.manifest, n.version.record)));
        for at in 0..self.entries_end {
            let entry = EntryId(at);
            let word = self.board.entry(entry);
            if named.contains_key(&entry) {
                continue;
            }
            if word.record.is_some() {
                self.withdraw(entry, word.generation);
            } else if word.generation.0 < GENERATION_LAST {
                self.free_entries.push(entry);
            }
        }
        for (record, location) in records {
            let tenant = location.tenant;
            if named.get(&tenant.entry) == Some(&record) {
                continue;
            }
            // A generation beyond the slot's own would come round again: step over it.
            let word = self.board.entry(tenant.entry);
            if word.record.is_none() && tenant.generation >= word.generation {
                let next = crate::id::Generation(tenant.generation.0.saturating_add(1));
                self.board.withdraw(tenant.entry, next);
            }
            self.retired_places.push(RetiredPlace {
                entry: tenant.entry,
                generation: tenant.generation,
                record,
                place: location.place,
                ticket: 0,
                moved: self.chunks.contains_key(&tenant.entry),
            });
        }
        self.ticket = 1;
    }
}

/// Reads all records; those that are out of any bound count as free.
fn survey<M: Memory>(board: &Board<M>, sound: &impl Fn(&Place) -> bool) -> Survey {
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
fn overlapping<M: Memory>(
    board: &Board<M>,
    records_end: u32,
) -> std::collections::HashSet<RecordId> {
    let all = (0..records_end).map(RecordId);
    let mut places: Vec<_> = all.filter_map(|r| Some((r, board.location(r)?.place))).collect();
    places.sort_unstable_by_key(|(_, place)| (place.arena, place.offset));
    let mut found = std::collections::HashSet::new();
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
