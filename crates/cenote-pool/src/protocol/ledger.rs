//! The ledger: what the pool knows of its chunks and versions, and the only hand that
//! writes board and heads.
//!
//! The order of a commit is what crash safety rests on:
//!
//! 1. location records, then entries, of the data chunks;
//! 2. the manifest's bytes, its record, its entry;
//! 3. the log ([`World::log`]): from here on the commit has happened;
//! 4. the name's head: from here on readers see it;
//! 5. the old version's manifest entry is withdrawn and its place retired.
//!
//! A daemon that dies before 3 leaves chunks that nothing names; [`Ledger::adopt`] frees
//! them. One that dies after 3 leaves a row of the catalog from which `adopt` rebuilds head
//! and retirement.
//!
//! Nothing is freed by the step that ends its life. It is *retired*, and
//! [`Ledger::collect`] frees it once a scan of all lease pages, begun after a fence, does
//! not find it. A version's chunks are retired only when nobody leases its manifest.

use std::collections::{BTreeMap, HashMap};

use super::Memory;
use super::board::{Board, Location};
use super::heads::{Found, HeadSlot, HeadTable, hash_name, table_words};
use super::lease::Leased;
use super::word::{ChunkKind, Entry, GENERATION_LAST, Tenant};
use crate::id::{ArenaId, EntryId, Generation, Place, RecordId};
use crate::row::{Change, Row};

mod adopt;
mod collect;
mod world;

pub use adopt::{Adopted, Lost, ManifestChunks};
pub use collect::Freed;
pub use world::{IfExists, LedgerError, World};

/// A chunk that its writer has sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sealed {
    /// Where.
    pub place: Place,
    /// Its checksum.
    pub checksum: u64,
}

#[derive(Clone, Debug)]
struct ChunkState {
    place: Place,
    checksum: u64,
    record: RecordId,
    generation: Generation,
    /// The versions that contain it.
    versions: Vec<(EntryId, Generation)>,
}

/// A version that a name stands for, or that somebody still reads.
#[derive(Clone, Debug)]
pub struct Version {
    /// Its name when it was committed.
    pub row: Row,
    /// Its manifest.
    pub manifest: EntryId,
    /// The life of the manifest's entry.
    pub generation: Generation,
    /// Where the manifest stands.
    pub location: Location,
    record: RecordId,
    /// Its data chunks, in the manifest's order.
    pub chunks: Box<[EntryId]>,
    /// Bytes of its chunks.
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct RetiredPlace {
    entry: EntryId,
    generation: Generation,
    record: RecordId,
    place: Place,
    ticket: u64,
    moved: bool,
}

#[derive(Debug)]
struct Named {
    version: Version,
    head: Option<HeadSlot>,
}

/// Board, heads and all that hangs on them. One per pool, under its lock.
#[derive(Debug)]
pub struct Ledger<M, H> {
    board: Board<M>,
    heads: HeadTable<H>,
    entries_end: u32,
    records_end: u32,
    free_entries: Vec<EntryId>,
    free_records: Vec<RecordId>,
    chunks: HashMap<EntryId, ChunkState>,
    names: BTreeMap<String, Named>,
    retired_versions: Vec<(u64, Version)>,
    retired_places: Vec<RetiredPlace>,
    ticket: u64,
}

impl<M: Memory, H: Memory> Ledger<M, H> {
    /// A ledger over an empty board.
    ///
    /// # Errors
    /// No space for the first head table.
    pub fn create<W: World<Heads = H>>(
        board: Board<M>,
        world: &mut W,
    ) -> Result<Ledger<M, H>, LedgerError> {
        let number = board.heads().wrapping_add(1);
        let (words, slots, name_words) = table_words(64, 64 * 24);
        let heads = HeadTable::create(world.make_heads(number, words)?, number, slots, name_words);
        board.set_heads(number);
        Ok(Ledger {
            board,
            heads,
            entries_end: 0,
            records_end: 0,
            free_entries: Vec::new(),
            free_records: Vec::new(),
            chunks: HashMap::new(),
            names: BTreeMap::new(),
            retired_versions: Vec::new(),
            retired_places: Vec::new(),
            ticket: 0,
        })
    }

    /// The board.
    pub fn board(&self) -> &Board<M> {
        &self.board
    }

    /// The names and their current versions, in order.
    pub fn names(&self) -> impl Iterator<Item = (&str, &Version)> {
        self.names.iter().map(|(name, named)| (name.as_str(), &named.version))
    }

    /// The current version of a name.
    pub fn get(&self, name: &str) -> Option<&Version> {
        self.names.get(name).map(|named| &named.version)
    }

    /// Versions without a name that somebody still reads.
    pub fn retired(&self) -> impl Iterator<Item = &Version> {
        self.retired_versions.iter().map(|(_, version)| version)
    }

    /// The version with this manifest, current or retired.
    pub fn version(&self, manifest: EntryId, generation: Generation) -> Option<&Version> {
        let is = |v: &&Version| v.manifest == manifest && v.generation == generation;
        self.retired().find(is).or_else(|| self.names().map(|(_, v)| v).find(is))
    }

    /// Where a live data chunk stands.
    pub fn place(&self, entry: EntryId) -> Option<(Place, u64)> {
        self.chunks.get(&entry).map(|chunk| (chunk.place, chunk.checksum))
    }

    /// The version that a chunk, in this life, belongs to first, and the chunk's bytes.
    pub fn chunk(
        &self,
        entry: EntryId,
        generation: Generation,
    ) -> Option<((EntryId, Generation), u64)> {
        let chunk = self.chunks.get(&entry).filter(|c| c.generation == generation)?;
        Some((*chunk.versions.first()?, chunk.place.length))
    }

    /// Whether any lease on it, or a version lease on one of its versions, is in `leased`.
    pub fn is_leased(&self, entry: EntryId, leased: &Leased) -> bool {
        self.chunks.get(&entry).is_some_and(|chunk| {
            leased.pins(entry, chunk.generation)
                || chunk.versions.iter().any(|&(m, g)| leased.pins_version(m, g))
        })
    }

    /// Commits a version. `manifest` makes its bytes from the entries of `data`.
    ///
    /// # Errors
    /// [`LedgerError`]; then nothing has happened.
    pub fn commit<W: World<Heads = H>>(
        &mut self,
        world: &mut W,
        mut row: Row,
        if_exists: IfExists,
        data: &[Sealed],
        manifest: impl FnOnce(&[EntryId], &Row) -> Vec<u8>,
    ) -> Result<&Version, LedgerError> {
        let name = row.name.clone();
        let previous = self.names.get(&name).map(|named| named.version.row.version);
        if previous.is_some() && if_exists == IfExists::Fail {
            return Err(LedgerError::Exists(name));
        }
        row.version = previous.unwrap_or(row.version.saturating_sub(1)) + 1;
        self.make_room(world, data.len() + 1)?;
        self.make_head_room(world, &name)?;

        let mut published = Vec::with_capacity(data.len());
        for sealed in data {
            let tenant = ChunkKind::Data;
            published.push(self.publish(tenant, sealed.place, sealed.checksum));
            world.step("commit: entry published");
        }
        let entries: Box<[EntryId]> = published.iter().map(|p| p.0).collect();
        let bytes = manifest(&entries, &row);
        row.manifest_checksum = cenote_region::copy::checksum(&bytes);
        row.manifest_length = bytes.len() as u64;
        let place = match world.write_manifest(&bytes) {
            Ok(place) => place,
            Err(error) => {
                self.unpublish(&published);
                return Err(error.into());
            }
        };
        world.step("commit: manifest written");
        let own = self.publish(ChunkKind::Manifest, place, row.manifest_checksum);
        row.manifest = own.0;
        world.step("commit: manifest published");
        if let Err(error) = world.log(&Change::Commit(row.clone())) {
            self.unpublish(&published);
            self.unpublish(&[own]);
            return Err(error.into());
        }
        world.step("commit: logged");

        let (manifest, generation, record) = own;
        for (sealed, &(entry, generation, record)) in data.iter().zip(&published) {
            self.chunks.insert(
                entry,
                ChunkState {
                    place: sealed.place,
                    checksum: sealed.checksum,
                    record,
                    generation,
                    versions: vec![(manifest, own.1)],
                },
            );
        }
        let version = Version {
            bytes: data.iter().map(|d| d.place.length).sum(),
            location: Location {
                tenant: Tenant { entry: manifest, generation, kind: ChunkKind::Manifest },
                place,
                checksum: row.manifest_checksum,
                verified: true,
            },
            row,
            manifest,
            generation,
            record,
            chunks: entries,
        };
        self.point(world, &name, version);
        self.names.get(&name).map(|n| &n.version).ok_or(LedgerError::NotFound(name))
    }

    /// Drops a name.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], [`LedgerError::Io`].
    pub fn drop_name<W: World<Heads = H>>(
        &mut self,
        world: &mut W,
        name: &str,
    ) -> Result<(), LedgerError> {
        if !self.names.contains_key(name) {
            return Err(LedgerError::NotFound(name.to_owned()));
        }
        world.log(&Change::Drop { name: name.to_owned() })?;
        world.step("drop: logged");
        if let Some(named) = self.names.remove(name) {
            self.forget_head(name, &named);
            world.step("drop: head cleared");
            self.retire_version(world, named.version);
        }
        Ok(())
    }

    /// Gives a version another name. Readers that hold it notice nothing.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn rename<W: World<Heads = H>>(
        &mut self,
        world: &mut W,
        from: &str,
        to: &str,
    ) -> Result<(), LedgerError> {
        if self.names.contains_key(to) {
            return Err(LedgerError::Exists(to.to_owned()));
        }
        if !self.names.contains_key(from) {
            return Err(LedgerError::NotFound(from.to_owned()));
        }
        self.make_head_room(world, to)?;
        world.log(&Change::Rename { from: from.to_owned(), to: to.to_owned() })?;
        world.step("rename: logged");
        if let Some(named) = self.names.remove(from) {
            self.forget_head(from, &named);
            world.step("rename: old head cleared");
            let mut version = named.version;
            version.row.name = to.to_owned();
            self.point(world, to, version);
        }
        Ok(())
    }

    fn forget_head(&mut self, name: &str, named: &Named) {
        match named.head {
            Some(slot) => self.heads.set(slot, None),
            None => {
                if let Found::Slot(slot) = self.heads.find(name, hash_name(name)) {
                    self.heads.set(slot, None);
                }
            }
        }
    }

    /// Makes sure that `name` has a slot or can be given one: after the log nothing may fail.
    fn make_head_room<W: World<Heads = H>>(
        &mut self,
        world: &mut W,
        name: &str,
    ) -> Result<(), LedgerError> {
        let known = matches!(self.heads.find(name, hash_name(name)), Found::Slot(_));
        if !known && !self.heads.has_room(name) {
            self.regrow_heads(world)?;
        }
        Ok(())
    }

    /// Points `name` at `version` and retires what it pointed at. [`Self::make_head_room`]
    /// was called.
    fn point<W: World<Heads = H>>(&mut self, world: &mut W, name: &str, version: Version) {
        let manifest = version.manifest;
        let head = match self.heads.find(name, hash_name(name)) {
            Found::Slot(slot) => {
                self.heads.set(slot, Some(manifest));
                Some(slot)
            }
            Found::Absent | Found::Damaged => self.heads.insert(name, Some(manifest)),
        };
        debug_assert!(head.is_some(), "room was made");
        let old = self.names.insert(name.to_owned(), Named { version, head });
        world.step("head set");
        if let Some(old) = old {
            self.retire_version(world, old.version);
        }
    }

    /// Writes all names into a new table with room to grow, and publishes it.
    fn regrow_heads<W: World<Heads = H>>(&mut self, world: &mut W) -> Result<(), LedgerError> {
        let old = self.heads.number();
        let number = old + 1;
        let count = self.names.len() as u64;
        let bytes: usize = self.names.keys().map(|name| name.len() + 16).sum();
        let (words, slots, name_words) = table_words(2 * count.max(32), 2 * bytes as u64);
        let memory = world.make_heads(number, words)?;
        let mut table = HeadTable::create(memory, number, slots, name_words);
        for (name, named) in &mut self.names {
            named.head = table.insert(name, Some(named.version.manifest));
        }
        world.step("heads: table written");
        self.heads = table;
        self.board.set_heads(number);
        world.step("heads: table published");
        world.drop_heads(old);
        Ok(())
    }

    fn retire_version<W: World<Heads = H>>(&mut self, world: &mut W, version: Version) {
        let next = self.withdraw(version.manifest, version.generation);
        debug_assert!(next.0 > version.generation.0);
        self.retired_places.push(RetiredPlace {
            entry: version.manifest,
            generation: version.generation,
            record: version.record,
            place: version.location.place,
            ticket: self.ticket,
            moved: false,
        });
        self.retired_versions.push((self.ticket, version));
        world.step("retire: manifest withdrawn");
    }

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
        let Some(chunk) = self.chunks.get(&entry).cloned() else { return Ok(()) };
        if chunk.generation.0 >= GENERATION_LAST {
            return Ok(());
        }
        let record = self.take_record();
        let generation = Generation(chunk.generation.0 + 1);
        let tenant = Tenant { entry, generation, kind: ChunkKind::Data };
        let location = Location { tenant, place, checksum: chunk.checksum, verified: true };
        self.board.write_location(record, &location);
        world.step("move: record written");
        self.board.publish(entry, generation, record);
        world.step("move: entry published");
        self.retired_places.push(RetiredPlace {
            entry,
            generation: chunk.generation,
            record: chunk.record,
            place: chunk.place,
            ticket: self.ticket,
            moved: true,
        });
        self.chunks.insert(entry, ChunkState { place, record, generation, ..chunk });
        Ok(())
    }

    fn make_room<W: World<Heads = H>>(
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
    fn publish(
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
    fn unpublish(&mut self, published: &[(EntryId, Generation, RecordId)]) {
        for &(entry, generation, record) in published {
            self.withdraw(entry, generation);
            self.board.clear_location(record);
            self.free_records.push(record);
        }
    }

    /// Ends this life of the entry. It may be reused at once: leases on the old life name
    /// the old generation.
    fn withdraw(&mut self, entry: EntryId, generation: Generation) -> Generation {
        let next = Generation(generation.0.saturating_add(1));
        self.board.withdraw(entry, next);
        if next.0 < GENERATION_LAST {
            self.free_entries.push(entry);
        }
        next
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
        for (ticket, version) in &mut self.retired_versions {
            if version.manifest == manifest && version.generation == generation {
                *ticket = now;
            }
        }
        for retired in &mut self.retired_places {
            if retired.entry == manifest && retired.generation == generation {
                retired.ticket = now;
            }
        }
    }

    /// Whether anything waits to be freed.
    pub fn has_retired(&self) -> bool {
        !self.retired_places.is_empty() || !self.retired_versions.is_empty()
    }

    /// Places whose chunks are gone or moved but that somebody may still read.
    pub fn retired_places(&self) -> impl Iterator<Item = (EntryId, Generation, Place)> {
        self.retired_places.iter().map(|r| (r.entry, r.generation, r.place))
    }

    /// Every place that must not be touched: of live chunks, manifests, and retired ones.
    pub fn occupied(&self) -> impl Iterator<Item = Place> {
        let manifests = self.names.values().map(|n| n.version.location.place);
        let chunks = self.chunks.values().map(|c| c.place);
        manifests.chain(chunks).chain(self.retired_places.iter().map(|r| r.place))
    }

    /// The data chunks that stand in some arenas, for the cleaner.
    pub fn chunks_in(&self, arenas: &[ArenaId]) -> Vec<(EntryId, Place, u64)> {
        let here = self.chunks.iter().filter(|(_, c)| arenas.contains(&c.place.arena));
        here.map(|(&entry, c)| (entry, c.place, c.checksum)).collect()
    }

    /// Notes what a check of a chunk's bytes found.
    pub fn set_verified(&self, entry: EntryId, verified: bool) {
        if let Some(record) = Entry::unpack(self.board.entry_word(entry)).record {
            self.board.set_verified(record, verified);
        }
    }
}
