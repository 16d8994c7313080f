//! The lease protocol under every interleaving, and under the weak orderings that the
//! memory model allows, by loom. The code that runs is the code of the pool and its clients.
//!
//! Each property has a twin in which one rule is broken; loom must find the fault in it.
//! A model that passes whatever it is given would prove nothing.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test fails where it unwraps; its numbers are small"
)]

#[allow(dead_code, reason = "each of the two models uses a part")]
mod model;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use cenote_pool::id::{EntryId, Generation, RecordId};
use cenote_pool::protocol::Memory;
use cenote_pool::protocol::board::{Board, Location};
use cenote_pool::protocol::heads::{HeadTable, hash_name};
use cenote_pool::protocol::lease::{self, LeaseError, LeasePage, Leased};
use cenote_pool::protocol::ledger::Ledger;
use cenote_pool::protocol::word::{ChunkKind, Lease, LeaseKind, Tenant};
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use model::{Cells, ModelWorld, RUBBISH, SHAPE, append, place, put};

/// The words that a test touches; the rest read as 0.
#[derive(Clone)]
struct Words {
    words: Arc<BTreeMap<u64, AtomicU64>>,
    fences: bool,
    /// A word that reads as 0.
    frozen: Option<u64>,
}

impl Words {
    fn new(at: impl IntoIterator<Item = u64>) -> Words {
        let words = at.into_iter().map(|at| (at, AtomicU64::new(0))).collect();
        Words { words: Arc::new(words), fences: true, frozen: None }
    }

    fn without_fences(mut self) -> Words {
        self.fences = false;
        self
    }
}

impl Memory for Words {
    fn len(&self) -> u64 {
        1 << 20
    }
    fn load(&self, at: u64, order: Ordering) -> u64 {
        if self.frozen == Some(at) {
            return 0;
        }
        self.words.get(&at).map_or(0, |w| w.load(order))
    }
    fn store(&self, at: u64, value: u64, order: Ordering) {
        if let Some(word) = self.words.get(&at) {
            word.store(value, order);
        }
    }
    fn fence(&self) {
        if self.fences {
            loom::sync::atomic::fence(Ordering::SeqCst);
        }
    }
}

/// The arena: one number for each 64 bytes.
struct Arena(Vec<AtomicU64>);

impl Arena {
    fn new(cells: usize) -> Arena {
        Arena((0..cells).map(|_| AtomicU64::new(0)).collect())
    }
}

impl Cells for Arena {
    fn read(&self, offset: u64) -> u64 {
        self.0[offset as usize / 64].load(Ordering::Relaxed)
    }
    fn write(&self, offset: u64, value: u64) {
        self.0[offset as usize / 64].store(value, Ordering::Relaxed);
    }
}

fn board_words(entries: u64, records: u64) -> impl Iterator<Item = u64> {
    let (first, _) = SHAPE.record_words(0);
    // The number of the head table, entries, and the six used words of each record.
    let records = (0..records).flat_map(move |r| (0..6).map(move |w| first + r * 8 + w));
    std::iter::once(17)
        .chain(SHAPE.entry_words(entries).0..SHAPE.entry_words(entries).1)
        .chain(records)
}

fn page(slots: u64) -> Words {
    Words::new(std::iter::once(3).chain(lease::HEADER_WORDS..lease::HEADER_WORDS + slots))
}

const ENTRY: EntryId = EntryId(0);
const CONTENT: u64 = 77;

/// A board with one chunk at `offset`, in its first life.
fn one_chunk(words: Words, offset: u64) -> Board<Words> {
    let board = Board::create(words, model::identity());
    let generation = Generation(1);
    write(&board, RecordId(0), generation, offset);
    board.publish(ENTRY, generation, RecordId(0));
    board
}

fn write(board: &Board<Words>, record: RecordId, generation: Generation, offset: u64) {
    let tenant = Tenant { entry: ENTRY, generation, kind: ChunkKind::Data };
    let location = Location { tenant, place: place(offset), checksum: CONTENT, verified: true };
    board.write_location(record, &location);
}

fn scan(pages: &[&LeasePage<Words>]) -> Leased {
    let mut leased = Leased::default();
    for page in pages {
        page.scan(u64::MAX, |lease| leased.add(lease));
    }
    leased
}

fn bounded(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// A reader leases a chunk and reads it, while the pool ends its life and reuses its place.
fn lease_against_reuse(fences: bool) {
    bounded(move || {
        let fenced = |words: Words| if fences { words } else { words.without_fences() };
        let board = one_chunk(fenced(Words::new(board_words(1, 1))), 0);
        let page = LeasePage::new(fenced(page(1)));
        let cells = Arc::new(Arena::new(1));
        cells.write(0, CONTENT);
        let reader = {
            let (board, page, cells) = (board.clone(), page.clone(), cells.clone());
            loom::thread::spawn(move || {
                page.set_in_use(1);
                let mut at = None;
                match lease::acquire(&board, &page, &[(ENTRY, 0)], |_, l| at = Some(l.place)) {
                    Ok(()) => {
                        assert_eq!(cells.read(at.expect("leased").offset), CONTENT);
                        page.clear(0);
                    }
                    Err(LeaseError::Gone(_)) => {}
                    Err(other) => panic!("{other}"),
                }
            })
        };
        board.withdraw(ENTRY, Generation(2));
        board.memory().fence();
        if !scan(&[&page]).pins(ENTRY, Generation(1)) {
            board.clear_location(RecordId(0));
            cells.write(0, RUBBISH);
        }
        reader.join().unwrap();
    });
}

#[test]
fn a_leased_place_is_not_reused() {
    lease_against_reuse(true);
}

#[test]
#[should_panic(expected = "left == right")]
fn without_the_fences_it_would_be() {
    lease_against_reuse(false);
}

/// A reader leases a chunk while the pool moves it and reuses the old place.
#[test]
fn a_moved_chunk_is_read_at_one_of_its_places() {
    bounded(|| {
        let board = one_chunk(Words::new(board_words(1, 2)), 0);
        let page = LeasePage::new(page(1));
        page.set_in_use(1);
        let cells = Arc::new(Arena::new(2));
        cells.write(0, CONTENT);
        let reader = {
            let (board, page, cells) = (board.clone(), page.clone(), cells.clone());
            loom::thread::spawn(move || {
                let mut at = None;
                lease::acquire(&board, &page, &[(ENTRY, 0)], |_, l| at = Some(l.place))
                    .expect("the chunk lives throughout");
                assert_eq!(cells.read(at.expect("leased").offset), CONTENT);
                page.clear(0);
            })
        };
        cells.write(64, CONTENT);
        write(&board, RecordId(1), Generation(2), 64);
        board.publish(ENTRY, Generation(2), RecordId(1));
        board.memory().fence();
        if !scan(&[&page]).pins(ENTRY, Generation(1)) {
            board.clear_location(RecordId(0));
            cells.write(0, RUBBISH);
        }
        reader.join().unwrap();
    });
}

/// A version is pinned by one slot, while the pool moves one of its chunks.
#[test]
fn a_version_lease_pins_the_place_of_each_chunk() {
    bounded(|| {
        let manifest = EntryId(1);
        let board = one_chunk(Words::new(board_words(2, 2)), 0);
        let page = LeasePage::new(page(1));
        page.set_in_use(1);
        let cells = Arc::new(Arena::new(2));
        cells.write(0, CONTENT);
        let reader = {
            let (board, page, cells) = (board.clone(), page.clone(), cells.clone());
            loom::thread::spawn(move || {
                let generation = Generation(5);
                page.set(0, Lease { entry: manifest, generation, kind: LeaseKind::Version });
                page.memory().fence();
                let location = lease::locate(&board, ENTRY).expect("the version lives");
                assert_eq!(cells.read(location.place.offset), CONTENT);
                page.clear(0);
            })
        };
        cells.write(64, CONTENT);
        write(&board, RecordId(1), Generation(2), 64);
        board.publish(ENTRY, Generation(2), RecordId(1));
        board.memory().fence();
        let leased = scan(&[&page]);
        if !leased.pins(ENTRY, Generation(1)) && !leased.pins_version(manifest, Generation(5)) {
            board.clear_location(RecordId(0));
            cells.write(0, RUBBISH);
        }
        reader.join().unwrap();
    });
}

/// A process forks: its leases are copied to the child's page, then the parent drops its own.
fn fork_against_reuse(parent_first: bool) {
    bounded(move || {
        let board = one_chunk(Words::new(board_words(1, 1)), 0);
        let (parent, child) = (LeasePage::new(page(1)), LeasePage::new(page(1)));
        let cells = Arc::new(Arena::new(1));
        cells.write(0, CONTENT);
        parent.set_in_use(1);
        lease::acquire(&board, &parent, &[(ENTRY, 0)], |_, _| {}).expect("it lives");
        let forking = {
            let (parent, child, cells) = (parent.clone(), child.clone(), cells.clone());
            loom::thread::spawn(move || {
                parent.copy_to(&child);
                parent.clear(0);
                // The child reads on.
                assert_eq!(cells.read(0), CONTENT);
                child.clear(0);
            })
        };
        board.withdraw(ENTRY, Generation(2));
        board.memory().fence();
        let order = if parent_first { [&parent, &child] } else { [&child, &parent] };
        if !scan(&order).pins(ENTRY, Generation(1)) {
            cells.write(0, RUBBISH);
        }
        forking.join().unwrap();
    });
}

#[test]
fn a_fork_hands_its_leases_on() {
    fork_against_reuse(true);
}

#[test]
#[should_panic(expected = "left == right")]
fn a_scan_that_reads_the_child_before_the_parent_would_miss_them() {
    fork_against_reuse(false);
}

/// The whole way from a name to its bytes, while the pool publishes a new version, ends the
/// old one and reuses its places.
#[test]
fn a_name_is_read_whole_while_it_is_replaced() {
    replace_under_a_reader(true);
}

#[test]
#[should_panic]
fn a_pool_that_did_not_look_at_leases_would_tear_it() {
    replace_under_a_reader(false);
}

fn replace_under_a_reader(look: bool) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let words = Words::new(board_words(4, 4));
        let board = Board::create(words.clone(), model::identity());
        let cells = Arc::new(Arena::new(12));
        let heads = Words::new((0..4096).filter(|at| {
            // Header, and the one slot and one name that the test uses.
            let slot = hash_name("x") & 127;
            (64 + slot * 4..64 + slot * 4 + 4).contains(at) || (576..578).contains(at)
        }));
        let (made, reading) = (heads.clone(), heads.clone());
        let mut world = ModelWorld {
            heads: Box::new(move |_, _| made.clone()),
            cells: std::sync::Arc::new(Shared(cells.clone())),
            next: 0,
            log: Vec::new(),
            manifests: Default::default(),
            step: Box::new(|_| {}),
        };
        let mut ledger = Ledger::create(board.clone(), &mut world).expect("room");
        put(&mut ledger, &mut world, "x", 1);
        let table = HeadTable::create(reading, 1, 128, 320);
        let page = LeasePage::new(page(2));
        page.set_in_use(2);
        let reader = {
            let (page, cells) = (page.clone(), cells.clone());
            loom::thread::spawn(move || {
                let found = lease::acquire_head(&board, &table, &page, "x", hash_name("x"), 0)
                    .expect("it exists");
                // The model's manifests stand in odd cells, after the data they name.
                let manifest = found.location.place.offset;
                assert_ne!(cells.read(manifest), RUBBISH);
                let entry = if manifest == 64 { EntryId(0) } else { EntryId(2) };
                let mut at = None;
                lease::acquire(&board, &page, &[(entry, 1)], |_, l| at = Some(l))
                    .expect("a leased manifest keeps its chunks");
                let at = at.expect("leased");
                assert_eq!(cells.read(at.place.offset), at.checksum);
                page.clear(0);
                page.clear(1);
            })
        };
        put(&mut ledger, &mut world, "x", 2);
        for _ in 0..2 {
            let mark = ledger.mark();
            let leased = if look { scan(&[&page]) } else { Leased::default() };
            for place in ledger.collect(mark, &leased).places {
                cells.write(place.offset, RUBBISH);
            }
        }
        reader.join().unwrap();
    });
}

/// A reader opens a version that an append has made, and reads the part that it shares with
/// the one before, while the name gets something else and everything is collected.
#[test]
fn what_a_leased_version_refers_to_stays() {
    append_under_a_reader(true);
}

#[test]
#[should_panic]
fn a_pool_that_does_not_look_frees_what_is_referred_to() {
    append_under_a_reader(false);
}

fn append_under_a_reader(look: bool) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let words = Words::new(board_words(6, 6));
        let board = Board::create(words.clone(), model::identity());
        let cells = Arc::new(Arena::new(18));
        let heads = Words::new((0..4096).filter(|at| {
            let slot = hash_name("x") & 127;
            (64 + slot * 4..64 + slot * 4 + 4).contains(at) || (576..578).contains(at)
        }));
        let (made, reading) = (heads.clone(), heads.clone());
        let mut world = ModelWorld {
            heads: Box::new(move |_, _| made.clone()),
            cells: std::sync::Arc::new(Shared(cells.clone())),
            next: 0,
            log: Vec::new(),
            manifests: Default::default(),
            step: Box::new(|_| {}),
        };
        let mut ledger = Ledger::create(board.clone(), &mut world).expect("room");
        put(&mut ledger, &mut world, "x", 1);
        append(&mut ledger, &mut world, "x", 2, 1);
        let appended = ledger.get("x").expect("committed");
        let (second, first) = (appended.manifest(), appended.references[0]);
        let chunk = ledger.version(first.entry, first.generation).expect("kept").chunks[0];
        let table = HeadTable::create(reading, 1, 128, 320);
        let page = LeasePage::new(page(2));
        page.set_in_use(2);
        let reader = {
            let (page, cells) = (page.clone(), cells.clone());
            loom::thread::spawn(move || {
                let found = lease::acquire_head(&board, &table, &page, "x", hash_name("x"), 0)
                    .expect("it exists");
                if found.manifest == second {
                    let part = lease::locate(&board, first.entry).expect("it is referred to");
                    assert_eq!(part.tenant.generation, first.generation);
                    assert_ne!(cells.read(part.place.offset), RUBBISH);
                    let mut at = None;
                    lease::acquire(&board, &page, &[(chunk, 1)], |_, l| at = Some(l))
                        .expect("a leased version keeps the chunks of all its parts");
                    let at = at.expect("leased");
                    assert_eq!(cells.read(at.place.offset), at.checksum);
                }
                page.clear(0);
                page.clear(1);
            })
        };
        put(&mut ledger, &mut world, "x", 3);
        for _ in 0..3 {
            let mark = ledger.mark();
            let leased = if look { scan(&[&page]) } else { Leased::default() };
            for place in ledger.collect(mark, &leased).places {
                cells.write(place.offset, RUBBISH);
            }
        }
        reader.join().unwrap();
    });
}

struct Shared(Arc<Arena>);

impl Cells for Shared {
    fn read(&self, offset: u64) -> u64 {
        self.0.read(offset)
    }
    fn write(&self, offset: u64, value: u64) {
        self.0.write(offset, value);
    }
}

/// A reader looks a name up while the pool publishes another table of names, withdraws the
/// old manifest, and gives its entry to another name's manifest at once.
///
/// The head in the old table never moves again, so a second look at it alone proves nothing:
/// readers opened the other name's table.
fn look_up_against_a_new_table(look_at_the_table: bool) {
    bounded(move || {
        let board = Board::create(Words::new(board_words(2, 3)), model::identity());
        let manifest = |record, entry, generation, offset| {
            let kind = ChunkKind::Manifest;
            let tenant = Tenant { entry: EntryId(entry), generation: Generation(generation), kind };
            let (place, checksum) = (place(offset), CONTENT + offset);
            board.write_location(
                RecordId(record),
                &Location { tenant, place, checksum, verified: true },
            );
            board.publish(EntryId(entry), Generation(generation), RecordId(record));
        };
        manifest(0, 0, 1, 0);
        let slot = hash_name("x") & 127;
        let words = || Words::new((64 + slot * 4..64 + slot * 4 + 4).chain(576..578));
        let mut old = HeadTable::create(words(), 0, 128, 320);
        old.insert("x", Some(EntryId(0))).expect("room");
        let page = LeasePage::new(page(1));
        page.set_in_use(1);
        let reader = {
            let (board, page, old) = (board.clone(), page.clone(), old.clone());
            loom::thread::spawn(move || {
                // Without the second look at the board: what the old code did.
                let view = if look_at_the_table { board.clone() } else { frozen_table(&board) };
                if let Ok(found) = lease::acquire_head(&view, &old, &page, "x", hash_name("x"), 0) {
                    assert!(found.location.place.offset < 128, "another name's manifest");
                    page.clear(0);
                }
            })
        };
        manifest(1, 1, 1, 64);
        let mut new = HeadTable::create(words(), 1, 128, 320);
        new.insert("x", Some(EntryId(1))).expect("room");
        board.set_heads(1);
        board.withdraw(EntryId(0), Generation(2));
        manifest(2, 0, 2, 128);
        reader.join().unwrap();
    });
}

/// The board, but for the number of its table, which stays what it was.
fn frozen_table(board: &Board<Words>) -> Board<Words> {
    let mut memory = board.memory().clone();
    memory.frozen = Some(17);
    Board::create(memory, model::identity())
}

#[test]
fn a_new_table_is_not_missed() {
    look_up_against_a_new_table(true);
}

#[test]
#[should_panic(expected = "another name's manifest")]
fn a_reader_that_trusts_the_old_table_opens_another_name() {
    look_up_against_a_new_table(false);
}
