//! A pool in miniature: words without files, an arena of numbers instead of bytes.
//!
//! What a reader would find in a chunk is one number a place, so that a place that is
//! written again while somebody reads it shows at once.

use std::io;
use std::sync::Arc;

use cenote_pool::change::{Change, Frames};
use cenote_pool::id::{ArenaId, EntryId, Epoch, Incarnation, Place};
use cenote_pool::manifest::{ChunkRef, ColumnRef, Draft, Manifest, encode};
use cenote_pool::protocol::Memory;
use cenote_pool::protocol::board::{Board, Identity, Location, Shape};
use cenote_pool::protocol::ledger::{
    IfExists, Inherited, Ledger, ManifestParts, Put, Sealed, World,
};
use cenote_pool::row::Row;

/// Room enough for every test here.
pub(crate) const SHAPE: Shape = Shape { entries: 192, records: 256, arenas: 1 };

pub(crate) fn identity() -> Identity {
    Identity { boot: 7, pool: 9, shape: SHAPE }
}

pub(crate) fn place(offset: u64) -> Place {
    Place { arena: ArenaId(0), incarnation: Incarnation(1), offset, length: 64 }
}

pub(crate) fn row(name: &str) -> Row {
    let mut row = Row::unnamed(EntryId(0), 0, 0);
    row.name = name.to_owned();
    row
}

/// What the model's arena is made of.
pub(crate) trait Cells {
    fn read(&self, offset: u64) -> u64;
    fn write(&self, offset: u64, value: u64);
}

/// A place that was freed and written by somebody else.
pub(crate) const RUBBISH: u64 = u64::MAX;

/// The world of the model: a bump arena, a log that survives, manifests as they are.
pub(crate) struct ModelWorld<M, C> {
    pub(crate) heads: Box<dyn FnMut(u64, u64) -> M>,
    pub(crate) cells: Arc<C>,
    pub(crate) next: u64,
    pub(crate) log: Vec<Change>,
    /// What stands at the place of each manifest. A chunk's checksum is its content.
    pub(crate) manifests: std::collections::HashMap<u64, Manifest>,
    pub(crate) step: Box<dyn FnMut(&'static str)>,
}

impl<M: Memory, C: Cells> World for ModelWorld<M, C> {
    type Heads = M;

    fn grow_board(&mut self, entries: u64, records: u64) -> io::Result<()> {
        assert!(entries <= SHAPE.entries && records <= SHAPE.records, "the model is too small");
        Ok(())
    }

    fn make_heads(&mut self, number: u64, words: u64) -> io::Result<M> {
        Ok((self.heads)(number, words))
    }

    fn drop_heads(&mut self, _number: u64) {}

    fn write_manifest(&mut self, bytes: &[u8]) -> io::Result<Place> {
        let at = self.allocate(cenote_region::copy::checksum(bytes));
        // Longer than a chunk: what comes next stands behind it.
        self.next = at + (bytes.len() as u64).next_multiple_of(64);
        self.manifests.insert(at, Manifest::decode(bytes).expect("the model's own"));
        Ok(Place { length: bytes.len() as u64, ..place(at) })
    }

    fn log(&mut self, change: &Change) -> io::Result<()> {
        (self.step)("log: before");
        self.log.push(change.clone());
        Ok(())
    }

    fn step(&mut self, name: &'static str) {
        (self.step)(name);
    }
}

impl<M: Memory, C: Cells> ModelWorld<M, C> {
    pub(crate) fn allocate(&mut self, content: u64) -> u64 {
        let at = self.next;
        self.next += 64;
        self.cells.write(at, content);
        at
    }

    /// Seals one chunk with this content.
    pub(crate) fn seal(&mut self, content: u64) -> Sealed {
        let at = self.allocate(content);
        Sealed { place: place(at), checksum: content }
    }

    /// The catalog, as the log gives it.
    pub(crate) fn frames(&self) -> Frames {
        let mut frames = Frames::default();
        for change in &self.log {
            frames.apply(change);
        }
        frames
    }
}

/// Commits one chunk with `content` under `name`, a partition of its own.
pub(crate) fn put<M: Memory, H: Memory, C: Cells>(
    ledger: &mut Ledger<M, H>,
    world: &mut ModelWorld<H, C>,
    name: &str,
    content: u64,
) {
    commit(ledger, world, name, content, None);
}

/// As [`put`], after what there is: `kept` of its parts are referred to, the others are taken
/// into the own part.
pub(crate) fn append<M: Memory, H: Memory, C: Cells>(
    ledger: &mut Ledger<M, H>,
    world: &mut ModelWorld<H, C>,
    name: &str,
    content: u64,
    kept: usize,
) {
    commit(ledger, world, name, content, Some(kept));
}

fn commit<M: Memory, H: Memory, C: Cells>(
    ledger: &mut Ledger<M, H>,
    world: &mut ModelWorld<H, C>,
    name: &str,
    content: u64,
    kept: Option<usize>,
) {
    let sealed = world.seal(content);
    let mut references = Vec::new();
    if let (Some(_), Some(version)) = (kept, ledger.get(name)) {
        references = version.as_references();
    }
    let taken = references.split_off(kept.unwrap_or(0).min(references.len()));
    let mut chunks: Vec<ChunkRef> = Vec::new();
    for taken in taken {
        let version = ledger.version(taken.entry, taken.generation).expect("it is referred to");
        chunks.extend(&world.manifests[&version.location.place.offset].chunks);
    }
    let inherited = Inherited {
        references: references.clone(),
        chunks: chunks.iter().map(|c| c.entry).collect(),
    };
    let count = u32::try_from(chunks.len() + 1).expect("few");
    let draft = Draft {
        // What makes its bytes unlike any other manifest's.
        schema: world.next.to_le_bytes().to_vec(),
        num_columns: 1,
        partitions: vec![1; count as usize],
        columns: (0..count).map(|chunk| ColumnRef { chunk, layout: 0 }).collect(),
        layouts: vec![vec![1]],
        statistics: Vec::new(),
    };
    let make = |entries: &[EntryId], row: &Row| {
        chunks.push(ChunkRef { entry: entries[0], length: 64, checksum: content });
        encode(&draft, &references, &chunks, row.version, row.created_ns)
    };
    let num_rows = u64::from(count) + inherited.references.iter().map(|r| r.rows).sum::<u64>();
    let put = Put {
        row: Row { num_rows, created_ns: world.next, ..row(name) },
        if_exists: if kept.is_some() { IfExists::Append } else { IfExists::Replace },
        expect: None,
        data: &[sealed],
        inherited,
        partitions: count,
        schema: 0,
    };
    ledger.commit(world, put, make).expect("the model has room");
}

pub(crate) fn board<M: Memory>(memory: M) -> Board<M> {
    let board = Board::create(memory, identity());
    board.set_epoch(Epoch(1), 1);
    board.set_lengths(SHAPE.entries, SHAPE.records, SHAPE.arenas);
    board
}

pub(crate) fn read_manifest<M, C: Cells>(
    world: &ModelWorld<M, C>,
    location: &Location,
) -> Result<ManifestParts, String> {
    let at = location.place.offset;
    if world.cells.read(at) != location.checksum {
        return Err("its manifest's bytes do not match their checksum".to_owned());
    }
    let manifest = world.manifests.get(&at).cloned();
    manifest.map(ManifestParts::from).ok_or_else(|| "no manifest".to_owned())
}
