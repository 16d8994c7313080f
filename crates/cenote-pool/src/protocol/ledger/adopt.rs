//! A new daemon takes over what an old one left, wherever it stopped.
//!
//! The catalog says which versions there are. Everything else is read off the board, and each
//! thing is believed only as far as it agrees with the others: a version is kept if its
//! manifest's entry, record and bytes agree with the row, if those of each manifest that it
//! refers to agree with the reference, and if each chunk's entry and record agree with the
//! manifest. A version that fails is *lost*, with the reason; others of its name may not be.
//!
//! What the board holds beyond that was being made or being freed when the old daemon
//! stopped. It is retired, and goes when a lease scan has passed, like everything else. A
//! manifest that is retired and still leased brings its chunks back with it, and what it
//! refers to: its reader may be about to lease them.

use std::collections::HashMap;

use super::version::{Life, State, life_of};
use super::{ChunkState, Ledger, LedgerError, RetiredPlace, Version, World};
use crate::change::Frames;
use crate::id::{EntryId, Generation, Place, RecordId};
use crate::manifest::{Manifest, Reference};
use crate::protocol::Memory;
use crate::protocol::board::{Board, Location};
use crate::protocol::heads::{HeadTable, table_words};
use crate::protocol::lease::Leased;
use crate::protocol::word::{ChunkKind, Entry, GENERATION_LAST};
use crate::row::Row;

use survey::{Survey, survey};

mod survey;

/// What adoption wants to know of a manifest.
#[derive(Clone, Debug, Default)]
pub struct ManifestParts {
    /// The version it is.
    pub version: u64,
    /// The manifests that it refers to.
    pub references: Vec<Reference>,
    /// Partitions of its own part.
    pub partitions: u32,
    /// Rows of its own part.
    pub rows: u64,
    /// The chunks of its own part: entry, length, checksum.
    pub chunks: Vec<(EntryId, u64, u64)>,
    /// Hash of its schema's bytes.
    pub schema: u64,
}

impl From<Manifest> for ManifestParts {
    fn from(manifest: Manifest) -> ManifestParts {
        let Manifest { references, draft, chunks, version, .. } = manifest;
        ManifestParts {
            version,
            references,
            partitions: u32::try_from(draft.partitions.len()).unwrap_or(u32::MAX),
            rows: draft.num_rows(),
            chunks: chunks.iter().map(|c| (c.entry, c.length, c.checksum)).collect(),
            schema: cenote_region::copy::hash(&draft.schema),
        }
    }
}

/// A version of the catalog whose data cannot be served.
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
    /// Versions that cannot be served.
    pub lost: Vec<Lost>,
}

/// What the adopter goes by.
struct Evidence<'a, F> {
    records: &'a HashMap<RecordId, Location>,
    /// The records of manifests.
    manifests: HashMap<Life, RecordId>,
    read: F,
}

impl<M: Memory, H: Memory> Ledger<M, H> {
    /// Rebuilds the ledger from the board and what the catalog knows.
    ///
    /// `leased` is one full scan of all lease pages. `sound` says whether a place lies in an
    /// arena that exists. `read_manifest` reads and checks a manifest's bytes.
    ///
    /// # Errors
    /// No space for a head table.
    pub fn adopt<W: World<Heads = H>>(
        board: Board<M>,
        world: &mut W,
        frames: Frames,
        leased: &Leased,
        sound: impl Fn(&Place) -> bool,
        read_manifest: impl FnMut(&Location) -> Result<ManifestParts, String>,
    ) -> Result<Adopted<M, H>, LedgerError> {
        let Survey { records, free_records, entries_end, records_end } = survey(&board, &sound);
        let number = board.heads().wrapping_add(1);
        let bytes: usize = frames.0.keys().map(|name| name.len() + 16).sum();
        let (words, slots, name_words) =
            table_words(2 * (frames.0.len() as u64).max(32), 2 * bytes as u64);
        let heads = HeadTable::create(world.make_heads(number, words)?, number, slots, name_words);
        let mut ledger = Ledger::over(board, heads);
        (ledger.entries_end, ledger.records_end) = (entries_end, records_end);
        ledger.free_records = free_records;
        let manifests = records.iter().filter(|(_, l)| l.tenant.kind == ChunkKind::Manifest);
        let manifests =
            manifests.map(|(&r, l)| ((l.tenant.entry, l.tenant.generation), r)).collect();
        let mut evidence = Evidence { records: &records, manifests, read: read_manifest };
        let lost = ledger.adopt_names(&mut evidence, frames);
        world.step("adopt: names found");
        ledger.adopt_leased(&mut evidence, leased);
        ledger.settle();
        ledger.free_the_rest(&records);
        world.step("adopt: orphans retired");
        let old = number.wrapping_sub(1);
        ledger.board.set_heads(number);
        world.step("adopt: heads published");
        world.drop_heads(old);
        Ok(Adopted { ledger, lost })
    }

    /// Versions of the catalog, those that live.
    fn adopt_names<F>(&mut self, evidence: &mut Evidence<'_, F>, frames: Frames) -> Vec<Lost>
    where
        F: FnMut(&Location) -> Result<ManifestParts, String>,
    {
        let mut lost = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for (name, record) in &frames.0 {
            for row in record.living() {
                let adopted = if seen.insert(row.manifest) {
                    self.adopt_row(evidence, row)
                } else {
                    Err("its manifest is another frame's".to_owned())
                };
                match adopted {
                    Ok(life) => {
                        let named = self.names.entry(name.clone()).or_default();
                        named.held.insert(row.version, life);
                        if row.version == record.settings.current {
                            self.heads.insert(name, Some(row.manifest));
                        }
                    }
                    Err(reason) => lost.push(Lost { row: row.clone(), reason }),
                }
            }
        }
        self.frames = frames;
        lost
    }

    /// The version that a row names, if everything about it agrees.
    fn adopt_row<F>(&mut self, evidence: &mut Evidence<'_, F>, row: &Row) -> Result<Life, String>
    where
        F: FnMut(&Location) -> Result<ManifestParts, String>,
    {
        let entry = self.entry(row.manifest);
        let record = entry.record.ok_or("its manifest's board entry is empty")?;
        let location =
            *evidence.records.get(&record).ok_or("its manifest's location record is damaged")?;
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
        let parts = (evidence.read)(&location)?;
        for reference in &parts.references {
            self.adopt_reference(evidence, row, reference, true)?;
        }
        let life = (row.manifest, entry.generation);
        self.adopt_version(evidence, row.clone(), record, parts)?;
        self.set_standing(life, true);
        Ok(life)
    }

    /// A manifest to which another refers; `live`: readers must find it on the board.
    fn adopt_reference<F>(
        &mut self,
        evidence: &mut Evidence<'_, F>,
        referrer: &Row,
        reference: &Reference,
        live: bool,
    ) -> Result<(), String>
    where
        F: FnMut(&Location) -> Result<ManifestParts, String>,
    {
        let life = life_of(reference);
        let what = |text: &str| format!("the manifest at entry {}, a part of it, {text}", life.0);
        if live && !self.is_published(life, evidence.manifests.get(&life).copied()) {
            return Err(what("is not on the board"));
        }
        let Some(&record) = evidence.manifests.get(&life) else {
            return Err(what("has no location record"));
        };
        let location = evidence.records.get(&record).copied().ok_or_else(|| what("is damaged"))?;
        if location.place.length != reference.length || location.checksum != reference.checksum {
            return Err(what("is another than was referred to"));
        }
        if !self.versions.contains_key(&life) {
            let parts = (evidence.read)(&location)
                .map_err(|reason| format!("a manifest that it refers to: {reason}"))?;
            let row = Row {
                name: referrer.name.clone(),
                version: parts.version,
                ..Row::unnamed(life.0, location.checksum, location.place.length)
            };
            self.adopt_version(evidence, row, record, parts)
                .map_err(|reason| format!("a manifest that it refers to: {reason}"))?;
        }
        let own = self.versions.get(&life).map(|version| version.own);
        if own != Some(*reference) {
            return Err(what("has another content than was referred to"));
        }
        Ok(())
    }

    /// An entry, as far as there are any.
    fn entry(&self, entry: EntryId) -> Entry {
        if entry.0 < self.entries_end { self.board.entry(entry) } else { Entry::default() }
    }

    fn is_published(&self, life: Life, record: Option<RecordId>) -> bool {
        let word = self.entry(life.0);
        word.generation == life.1 && word.record.is_some() && word.record == record
    }

    /// Adds a version, held by nobody, if its own part's chunks are what it says. One that is
    /// there already is left as it is.
    fn adopt_version<F>(
        &mut self,
        evidence: &Evidence<'_, F>,
        row: Row,
        record: RecordId,
        parts: ManifestParts,
    ) -> Result<(), String> {
        let location = *evidence.records.get(&record).ok_or("its location record is damaged")?;
        let life = (location.tenant.entry, location.tenant.generation);
        if let Some(known) = self.versions.get_mut(&life) {
            known.row = row;
            return Ok(());
        }
        for (i, &(entry, length, checksum)) in parts.chunks.iter().enumerate() {
            let word = self.entry(entry);
            let Some(record) = word.record else {
                return Err(format!("the board entry of its chunk {i} is empty"));
            };
            let agrees = evidence.records.get(&record).is_some_and(|l| {
                l.tenant.entry == entry
                    && l.tenant.generation == word.generation
                    && l.tenant.kind == ChunkKind::Data
                    && l.place.length == length
                    && l.checksum == checksum
            });
            if !agrees {
                return Err(format!("the location record of its chunk {i} is damaged"));
            }
        }
        for &(entry, _, checksum) in &parts.chunks {
            let Entry { record, generation } = self.entry(entry);
            let found = record.and_then(|r| Some((r, evidence.records.get(&r)?)));
            let Some((record, l)) = found else { continue };
            let (place, versions) = (l.place, Vec::new());
            let state = ChunkState { place, checksum, record, generation, versions };
            self.chunks.entry(entry).or_insert(state);
        }
        let own = Reference {
            entry: life.0,
            generation: life.1,
            partitions: parts.partitions,
            chunks: u32::try_from(parts.chunks.len()).unwrap_or(u32::MAX),
            rows: parts.rows,
            length: location.place.length,
            checksum: location.checksum,
        };
        self.add(Version {
            row,
            location,
            record,
            own,
            references: parts.references.into(),
            chunks: parts.chunks.iter().map(|c| c.0).collect(),
            num_chunks: 0,
            bytes: 0,
            own_bytes: 0,
            schema: parts.schema,
            state: State::default(),
        });
        Ok(())
    }

    /// Makes an adopted version count, and perhaps be held.
    fn set_standing(&mut self, life: Life, held: bool) {
        let Some(version) = self.versions.get_mut(&life) else { return };
        version.state.held |= held;
        if std::mem::replace(&mut version.state.counts, true) {
            return;
        }
        let references: Vec<Life> = version.references.iter().map(life_of).collect();
        let mut bytes = version.own_bytes;
        for life in references {
            let Some(other) = self.versions.get_mut(&life) else { continue };
            other.state.referrers += 1;
            bytes += other.own_bytes;
        }
        if let Some(version) = self.versions.get_mut(&life) {
            version.bytes = bytes;
        }
    }

    /// Manifests that no name holds but that somebody leases.
    fn adopt_leased<F>(&mut self, evidence: &mut Evidence<'_, F>, leased: &Leased)
    where
        F: FnMut(&Location) -> Result<ManifestParts, String>,
    {
        // The board does not tell which manifests have names: an owner that stopped between
        // the log and the head leaves the old version's entry in place.
        let all: Vec<(Life, RecordId)> =
            evidence.manifests.iter().map(|(&life, &record)| (life, record)).collect();
        for (life, record) in all {
            let counts = self.versions.get(&life).is_some_and(|version| version.state.counts);
            if counts || !leased.pins(life.0, life.1) {
                continue;
            }
            let Some(location) = evidence.records.get(&record).copied() else { continue };
            // One that cannot be read keeps its own place; its chunks' leases keep theirs.
            let Ok(parts) = (evidence.read)(&location) else { continue };
            let unnamed = Row::unnamed(life.0, location.checksum, location.place.length);
            let row = self.versions.get(&life).map_or(unnamed, |version| version.row.clone());
            for reference in &parts.references {
                // What is left of it is kept for the lease.
                let _ = self.adopt_reference(evidence, &row, reference, false);
            }
            if self.adopt_version(evidence, row, record, parts).is_ok() {
                self.set_standing(life, false);
            }
        }
    }

    /// Sorts what was adopted: held, referred to, or let go.
    fn settle(&mut self) {
        let mut let_go = Vec::new();
        for (&life, version) in &mut self.versions {
            let word = self.board.entry(life.0);
            let published = word.generation == life.1 && word.record == Some(version.record);
            let state = &mut version.state;
            if state.held {
                continue;
            }
            state.withdrawn = !published || state.referrers == 0;
            if state.withdrawn || state.counts {
                let_go.push(life);
            }
        }
        self.let_go = let_go;
    }

    /// Withdraws entries that nothing names, and retires the places of all records that no
    /// live entry names.
    fn free_the_rest(&mut self, records: &HashMap<RecordId, Location>) {
        let mut named: HashMap<EntryId, RecordId> =
            self.chunks.iter().map(|(&entry, chunk)| (entry, chunk.record)).collect();
        let published = self.versions.values().filter(|version| !version.state.withdrawn);
        named.extend(published.map(|version| (version.manifest(), version.record)));
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
        for (&record, location) in records {
            let tenant = location.tenant;
            if named.get(&tenant.entry) == Some(&record) {
                continue;
            }
            // A generation beyond the slot's own would come round again: step over it.
            let word = self.board.entry(tenant.entry);
            if word.record.is_none() && tenant.generation >= word.generation {
                let next = Generation(tenant.generation.0.saturating_add(1));
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
