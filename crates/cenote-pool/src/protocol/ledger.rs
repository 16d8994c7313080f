//! The ledger: what the pool knows of its chunks and versions, and the only hand that
//! writes board and heads.
//!
//! The order of a commit is what crash safety rests on:
//!
//! 1. location records, then entries, of the data chunks;
//! 2. the manifest's bytes, its record, its entry;
//! 3. the log ([`World::log`]): from here on the commit has happened;
//! 4. the name's head: from here on readers see it;
//! 5. the versions that are kept no longer are let go: a manifest to which no other refers is
//!    withdrawn and its place retired.
//!
//! A daemon that dies before 3 leaves chunks that nothing names; [`Ledger::adopt`] frees
//! them. One that dies after 3 leaves a row of the catalog from which `adopt` rebuilds head
//! and retirement.
//!
//! Nothing is freed by the step that ends its life. It is *retired*, and
//! [`Ledger::collect`] frees it once a scan of all lease pages, begun after a fence, does
//! not find it. A version's chunks are retired only when nobody leases its manifest, nor that
//! of a version that refers to it.

use std::collections::{BTreeMap, HashMap};

use super::Memory;
use super::board::Board;
use super::heads::{HeadTable, table_words};
use crate::change::Frames;
use crate::id::{ArenaId, EntryId, Generation, Place, RecordId};
use crate::row::Record;

mod adopt;
mod collect;
mod commit;
mod names;
mod slots;
mod version;
mod world;

pub use adopt::{Adopted, Lost, ManifestParts};
pub use collect::{Freed, Pins};
pub use commit::{Inherited, Put, REFERENCES_A_LEVEL, inherit};
pub use version::{Life, Version};
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
    /// The versions whose own part has it.
    versions: Vec<Life>,
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

/// The versions that a name holds.
#[derive(Debug, Default)]
struct Named {
    held: BTreeMap<u64, Life>,
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
    /// Every version that is not freed.
    versions: HashMap<Life, Version>,
    names: BTreeMap<String, Named>,
    /// What the catalog knows: lost versions, and those that are gone, too.
    frames: Frames,
    /// Versions that no name holds, and that count or are withdrawn.
    let_go: Vec<Life>,
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
        Ok(Ledger::over(board, heads))
    }

    fn over(board: Board<M>, heads: HeadTable<H>) -> Ledger<M, H> {
        Ledger {
            board,
            heads,
            entries_end: 0,
            records_end: 0,
            free_entries: Vec::new(),
            free_records: Vec::new(),
            chunks: HashMap::new(),
            versions: HashMap::new(),
            names: BTreeMap::new(),
            frames: Frames::default(),
            let_go: Vec::new(),
            retired_places: Vec::new(),
            ticket: 0,
        }
    }

    /// The board.
    pub fn board(&self) -> &Board<M> {
        &self.board
    }

    /// The names and their current versions, in order.
    pub fn names(&self) -> impl Iterator<Item = (&str, &Version)> {
        self.names.keys().filter_map(|name| Some((name.as_str(), self.get(name)?)))
    }

    /// The current version of a name.
    pub fn get(&self, name: &str) -> Option<&Version> {
        let record = self.frames.0.get(name)?;
        self.held(name, record.settings.current)
    }

    /// A version that a name holds.
    pub fn held(&self, name: &str, version: u64) -> Option<&Version> {
        self.versions.get(self.names.get(name)?.held.get(&version)?)
    }

    /// All versions that a name holds, oldest first.
    pub fn held_by(&self, name: &str) -> impl Iterator<Item = &Version> {
        let named = self.names.get(name).into_iter();
        named.flat_map(|named| named.held.values()).filter_map(|life| self.versions.get(life))
    }

    /// What the catalog knows of a name.
    pub fn record(&self, name: &str) -> Option<&Record> {
        self.frames.0.get(name)
    }

    /// What the catalog knows of all names.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Every version that is not freed: held, referred to, or still read.
    pub fn versions(&self) -> impl Iterator<Item = &Version> {
        self.versions.values()
    }

    /// The version with this manifest.
    pub fn version(&self, manifest: EntryId, generation: Generation) -> Option<&Version> {
        self.versions.get(&(manifest, generation))
    }

    /// Where a live data chunk stands.
    pub fn place(&self, entry: EntryId) -> Option<(Place, u64)> {
        self.chunks.get(&entry).map(|chunk| (chunk.place, chunk.checksum))
    }

    /// All live data chunks: each with its bytes and the manifests whose own parts have it.
    pub fn chunks(&self) -> impl Iterator<Item = (EntryId, u64, &[Life])> {
        self.chunks.iter().map(|(&entry, c)| (entry, c.place.length, c.versions.as_slice()))
    }

    /// The version that a chunk, in this life, belongs to first, and the chunk's bytes.
    pub fn chunk(&self, entry: EntryId, generation: Generation) -> Option<(Life, u64)> {
        let chunk = self.chunks.get(&entry).filter(|c| c.generation == generation)?;
        Some((*chunk.versions.first()?, chunk.place.length))
    }

    /// The manifests whose own parts have a chunk.
    pub fn owners(&self, entry: EntryId) -> &[Life] {
        self.chunks.get(&entry).map_or(&[], |chunk| &chunk.versions)
    }

    /// Places whose chunks are gone or moved but that somebody may still read.
    pub fn retired_places(&self) -> impl Iterator<Item = (EntryId, Generation, Place)> {
        self.retired_places.iter().map(|r| (r.entry, r.generation, r.place))
    }

    /// Every place that must not be touched: of live chunks, manifests, and retired ones.
    pub fn occupied(&self) -> impl Iterator<Item = Place> {
        let manifests = self.versions.values().map(|version| version.location.place);
        let chunks = self.chunks.values().map(|c| c.place);
        let retired = self.retired_places.iter();
        let retired = retired.filter(|r| !self.versions.contains_key(&(r.entry, r.generation)));
        manifests.chain(chunks).chain(retired.map(|r| r.place))
    }

    /// The data chunks that stand in some arenas, for the cleaner.
    pub fn chunks_in(&self, arenas: &[ArenaId]) -> Vec<(EntryId, Place, u64)> {
        let here = self.chunks.iter().filter(|(_, c)| arenas.contains(&c.place.arena));
        here.map(|(&entry, c)| (entry, c.place, c.checksum)).collect()
    }
}
