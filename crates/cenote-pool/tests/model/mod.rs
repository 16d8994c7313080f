//! A pool in miniature: words without files, an arena of numbers instead of bytes.
//!
//! What a reader would find in a chunk is one number a place, so that a place that is
//! written again while somebody reads it shows at once.

use std::io;
use std::sync::Arc;

use cenote_pool::id::{ArenaId, EntryId, Epoch, Incarnation, Place};
use cenote_pool::protocol::Memory;
use cenote_pool::protocol::board::{Board, Identity, Location, Shape};
use cenote_pool::protocol::ledger::{IfExists, Ledger, ManifestChunks, Sealed, World};
use cenote_pool::row::{Change, Row};

/// Room enough for every test here.
pub(crate) const SHAPE: Shape = Shape { entries: 64, records: 96, arenas: 1 };

pub(crate) fn identity() -> Identity {
    Identity { boot: 7, pool: 9, shape: SHAPE }
}

pub(crate) fn place(offset: u64) -> Place {
    Place { arena: ArenaId(0), incarnation: Incarnation(1), offset, length: 64 }
}

pub(crate) fn row(name: &str) -> Row {
    let mut row = Row::unnamed(EntryId(0), 0, 0);
    row.name = name.to_owned();
    row.version = 1;
    row
}

/// What the model's arena is made of.
pub(crate) trait Cells {
    fn read(&self, offset: u64) -> u64;
    fn write(&self, offset: u64, value: u64);
}

/// A place that was freed and written by somebody else.
pub(crate) const RUBBISH: u64 = u64::MAX;

/// The world of the model: a bump arena, a log that survives, manifests of two words.
pub(crate) struct ModelWorld<M, C> {
    pub(crate) heads: Box<dyn FnMut(u64, u64) -> M>,
    pub(crate) cells: Arc<C>,
    pub(crate) next: u64,
    pub(crate) log: Vec<Change>,
    /// Manifest place → the chunks it names.
    pub(crate) manifests: std::collections::HashMap<u64, ManifestChunks>,
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
        let entry = EntryId(u32::from_le_bytes(bytes[..4].try_into().expect("4 bytes")));
        let content = u64::from_le_bytes(bytes[4..12].try_into().expect("8 bytes"));
        self.manifests.insert(at, vec![(entry, 64, content)]);
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
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = std::collections::BTreeMap::new();
        for change in &self.log {
            match change {
                Change::Commit(row) => {
                    rows.insert(row.name.clone(), row.clone());
                }
                Change::Drop { name } => {
                    rows.remove(name);
                }
                Change::Rename { from, to } => {
                    if let Some(row) = rows.remove(from) {
                        rows.insert(to.clone(), Row { name: to.clone(), ..row });
                    }
                }
            }
        }
        rows.into_values().collect()
    }
}

/// Commits one chunk with `content` under `name`. The manifest's bytes name it.
pub(crate) fn put<M: Memory, H: Memory, C: Cells>(
    ledger: &mut Ledger<M, H>,
    world: &mut ModelWorld<H, C>,
    name: &str,
    content: u64,
) {
    let sealed = world.seal(content);
    let unique = world.next;
    let make = |entries: &[EntryId], _: &Row| {
        let mut bytes = entries[0].0.to_le_bytes().to_vec();
        bytes.extend(content.to_le_bytes());
        bytes.extend(unique.to_le_bytes());
        bytes
    };
    ledger
        .commit(world, row(name), IfExists::Replace, &[sealed], make)
        .expect("the model has room");
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
) -> Result<ManifestChunks, String> {
    let at = location.place.offset;
    if world.cells.read(at) != location.checksum {
        return Err("its manifest's bytes do not match their checksum".to_owned());
    }
    world.manifests.get(&at).cloned().ok_or_else(|| "no manifest".to_owned())
}
