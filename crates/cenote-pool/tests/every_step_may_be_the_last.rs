//! The owner of a pool stops at each store it makes, and a new one takes over.
//!
//! A random history of commits, replacements, drops, renames, moves and collections runs
//! over plain words while readers take and drop leases. It is run once to count the owner's
//! steps (a store, or an entry of the log), then again for every step with the owner stopped
//! there. After each stop: every frame whose commit was logged is there with its bytes,
//! every lease still reads what it read before, and when the leases are gone nothing is
//! left over.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    clippy::arc_with_non_send_sync,
    reason = "a test fails where it unwraps; its numbers are small"
)]

#[allow(dead_code, reason = "each of the two models uses a part")]
mod model;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_pool::id::EntryId;
use cenote_pool::protocol::Memory;
use cenote_pool::protocol::board::Board;
use cenote_pool::protocol::heads::{HeadTable, hash_name};
use cenote_pool::protocol::lease::{self, HeadMiss, LeasePage, Leased};
use cenote_pool::protocol::ledger::Ledger;
use cenote_pool::protocol::word::{Lease, LeaseKind};
use model::{Cells, ModelWorld, RUBBISH, SHAPE, board, place, put, read_manifest};

struct Stopped;

/// Counts down to the owner's last step.
#[derive(Clone)]
struct Budget(Rc<Cell<u64>>);

impl Budget {
    fn spend(&self) {
        match self.0.get() {
            0 => panic_any(Stopped),
            left => self.0.set(left - 1),
        }
    }
}

/// Words that outlive their owner.
#[derive(Clone)]
struct Words {
    words: Arc<Vec<AtomicU64>>,
    budget: Option<Budget>,
}

impl Words {
    fn new(words: u64, budget: Option<Budget>) -> Words {
        let words = (0..words).map(|_| AtomicU64::new(0)).collect();
        Words { words: Arc::new(words), budget }
    }

    fn read_only(&self) -> Words {
        Words { words: self.words.clone(), budget: None }
    }

    fn owned_by(&self, budget: &Budget) -> Words {
        Words { words: self.words.clone(), budget: Some(budget.clone()) }
    }
}

impl Memory for Words {
    fn len(&self) -> u64 {
        self.words.len() as u64
    }
    fn load(&self, at: u64, order: Ordering) -> u64 {
        self.words.get(at as usize).map_or(0, |w| w.load(order))
    }
    fn store(&self, at: u64, value: u64, order: Ordering) {
        if let Some(budget) = &self.budget {
            budget.spend();
        }
        if let Some(word) = self.words.get(at as usize) {
            word.store(value, order);
        }
    }
    fn fence(&self) {}
}

#[derive(Default)]
struct Arena(std::cell::RefCell<BTreeMap<u64, u64>>);

impl Cells for Arena {
    fn read(&self, offset: u64) -> u64 {
        self.0.borrow().get(&offset).copied().unwrap_or(RUBBISH)
    }
    fn write(&self, offset: u64, value: u64) {
        self.0.borrow_mut().insert(offset, value);
    }
}

/// A small generator, so that a seed is a history.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

const NAMES: [&str; 4] = ["open", "high", "low", "close"];
const SLOTS: u32 = 32;

/// What readers hold: slot → where they read and what they found.
type Held = BTreeMap<u32, (u64, u64)>;

struct Pool {
    board: Words,
    heads: Rc<std::cell::RefCell<BTreeMap<u64, Words>>>,
    page: LeasePage<Words>,
    cells: Arc<Arena>,
    /// What a reader must find: before the operation under way, and after it.
    names: BTreeMap<String, u64>,
    after: BTreeMap<String, u64>,
    held: Held,
    content: u64,
}

type Book = Ledger<Words, Words>;
type World = ModelWorld<Words, Arena>;

impl Pool {
    fn new(budget: &Budget) -> (Pool, Book, World) {
        let memory = Words::new(SHAPE.words(), None);
        let heads: Rc<std::cell::RefCell<BTreeMap<u64, Words>>> = Rc::default();
        let page = LeasePage::new(Words::new(lease::HEADER_WORDS + u64::from(SLOTS), None));
        page.set_in_use(u64::from(SLOTS));
        let cells = Arc::new(Arena::default());
        drop(board(memory.read_only()));
        let pool = Pool {
            board: memory,
            heads,
            page,
            cells,
            names: BTreeMap::new(),
            after: BTreeMap::new(),
            held: Held::new(),
            content: 0,
        };
        let mut world = pool.world(budget, 0);
        let owned = Board::open(pool.board.owned_by(budget)).expect("a sound header");
        let ledger = Ledger::create(owned, &mut world).expect("room");
        (pool, ledger, world)
    }

    fn world(&self, budget: &Budget, next: u64) -> World {
        let (tables, owner, steps) = (self.heads.clone(), budget.clone(), budget.clone());
        ModelWorld {
            heads: Box::new(move |number, words| {
                let memory = Words::new(words, None);
                let owned = memory.owned_by(&owner);
                tables.borrow_mut().insert(number, memory);
                owned
            }),
            cells: self.cells.clone(),
            next,
            log: Vec::new(),
            manifests: Default::default(),
            step: Box::new(move |_| steps.spend()),
        }
    }

    fn collect(&self, ledger: &mut Book) -> bool {
        let mark = ledger.mark();
        let mut leased = Leased::default();
        self.page.scan(u64::MAX, |lease| leased.add(lease));
        let freed = ledger.collect(mark, &leased);
        for place in &freed.places {
            self.cells.write(place.offset, RUBBISH);
        }
        freed.again
    }

    /// One operation of a history, chosen by `random`.
    fn operate(&mut self, ledger: &mut Book, world: &mut World, random: &mut Random) {
        self.after = self.names.clone();
        let name = NAMES[random.next(4) as usize];
        match random.next(12) {
            0..=3 => {
                self.content += 1;
                let content = self.content;
                self.after.insert(name.to_owned(), content);
                put(ledger, world, name, content);
            }
            4 => {
                if self.after.remove(name).is_some() {
                    ledger.drop_name(world, name).expect("it exists");
                }
            }
            5 => {
                let to = NAMES[random.next(4) as usize];
                if self.names.contains_key(name) && !self.names.contains_key(to) {
                    let content = self.after.remove(name).expect("it exists");
                    self.after.insert(to.to_owned(), content);
                    ledger.rename(world, name, to).expect("allowed");
                }
            }
            6 => {
                if let Some(version) = ledger.get(name) {
                    let entry = version.chunks[0];
                    let (_, checksum) = ledger.place(entry).expect("a live chunk");
                    let to = world.allocate(checksum);
                    ledger.relocate(world, entry, place(to)).expect("room");
                }
            }
            7..=8 => {
                self.collect(ledger);
            }
            9..=10 => self.read(name, random),
            _ => {
                let slot = random.next(u64::from(SLOTS)) as u32;
                self.page.clear(slot);
                self.held.remove(&slot);
            }
        }
        self.names = self.after.clone();
    }

    fn table(&self) -> HeadTable<Words> {
        let number = Board::open(self.board.read_only()).expect("sound").heads();
        let memory = self.heads.borrow()[&number].read_only();
        HeadTable::open(memory, number).expect("a published table is whole")
    }

    /// Reads a name as a client does; `None` if there is no such name.
    fn look(&self, name: &str, slot: u32) -> Option<(EntryId, u64)> {
        let board = Board::open(self.board.read_only()).expect("sound");
        match lease::acquire_head(&board, &self.table(), &self.page, name, hash_name(name), slot) {
            Ok(found) => Some((found.manifest, found.location.place.offset)),
            Err(HeadMiss::Absent) => None,
            Err(other) => panic!("{name}: {other:?}"),
        }
    }

    /// A reader opens a name and holds its chunk.
    fn read(&mut self, name: &str, random: &mut Random) {
        let free = |slot: &u32| self.page.get(*slot).is_none();
        let mut slots = (0..SLOTS).filter(free);
        let (Some(own), Some(slot)) = (slots.next(), slots.next()) else { return };
        let Some((manifest, _)) = self.look(name, own) else { return };
        let board = Board::open(self.board.read_only()).expect("sound");
        let entry = self.chunk_of(name, manifest);
        if random.next(4) == 0 {
            // Pin the whole version instead.
            let generation = board.entry(manifest).generation;
            self.page.set(slot, Lease { entry: manifest, generation, kind: LeaseKind::Version });
            let location = lease::locate(&board, entry).expect("pinned");
            self.hold(slot, location.place.offset);
        } else {
            let mut found = None;
            lease::acquire(&board, &self.page, &[(entry, slot)], |_, l| found = Some(l))
                .expect("its manifest is leased");
            self.hold(slot, found.expect("leased").place.offset);
        }
        self.page.clear(own);
    }

    fn hold(&mut self, slot: u32, offset: u64) {
        let content = self.cells.read(offset);
        assert_ne!(content, RUBBISH, "a leased place was written again");
        self.held.insert(slot, (offset, content));
    }

    /// The single chunk of a version: in the model, the one whose checksum is its content.
    fn chunk_of(&self, name: &str, _manifest: EntryId) -> EntryId {
        let board = Board::open(self.board.read_only()).expect("sound");
        let wanted = self.names[name];
        (0..SHAPE.entries as u32)
            .map(EntryId)
            .find(|&e| {
                let record = board.entry(e).record;
                record.and_then(|r| board.location(r)).is_some_and(|l| l.checksum == wanted)
            })
            .expect("a committed chunk is on the board")
    }

    /// Everything that must hold, whoever stopped where.
    fn check(&mut self, either: bool) {
        for (offset, content) in self.held.values() {
            assert_eq!(self.cells.read(*offset), *content, "a lease was overrun");
        }
        for name in NAMES {
            let found = self.look(name, 0).map(|_| ());
            self.page.clear(0);
            let (before, after) = (self.names.contains_key(name), self.after.contains_key(name));
            let expected = found.is_some() == before || (either && found.is_some() == after);
            assert!(expected, "{name}: found {found:?}, committed {before}");
        }
    }
}

/// Runs a history until the budget ends; returns whether it was stopped.
fn run(seed: u64, budget: &Budget) -> (Option<Pool>, Option<World>, Option<Book>, bool) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let started = catch_unwind(AssertUnwindSafe(|| Pool::new(budget)));
    let Ok((mut pool, mut ledger, mut world)) = started else { return (None, None, None, true) };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..40 {
            pool.operate(&mut ledger, &mut world, &mut random);
        }
    }));
    if let Err(panic) = &outcome {
        assert!(panic.is::<Stopped>(), "seed {seed}: the history itself failed");
    }
    let stopped = outcome.is_err();
    (Some(pool), Some(world), (!stopped).then_some(ledger), stopped)
}

fn adopt(pool: &mut Pool, old: World, budget: &Budget) -> Result<(Book, World), ()> {
    let mut world = pool.world(budget, old.next + 1024);
    world.log = old.log;
    world.manifests = old.manifests;
    let rows = world.rows();
    let mut leased = Leased::default();
    pool.page.scan(u64::MAX, |lease| leased.add(lease));
    let owned = Board::open(pool.board.owned_by(budget)).expect("sound");
    let reader = pool.world(budget, 0);
    let manifests = world.manifests.clone();
    let reader = ModelWorld { manifests, ..reader };
    let read = |location: &_| read_manifest(&reader, location);
    let adopted = catch_unwind(AssertUnwindSafe(|| {
        Ledger::adopt(owned, &mut world, rows, &leased, |p| p.offset < 1 << 40, read).expect("room")
    }));
    match adopted {
        Ok(adopted) => {
            assert!(adopted.lost.is_empty(), "lost {:?}", adopted.lost);
            Ok((adopted.ledger, world))
        }
        Err(panic) => {
            assert!(panic.is::<Stopped>(), "adoption failed");
            Err(())
        }
    }
}

fn nothing_is_left(pool: &mut Pool, ledger: &mut Book) {
    for slot in 0..SLOTS {
        pool.page.clear(slot);
    }
    pool.held.clear();
    for _ in 0..4 {
        pool.collect(ledger);
    }
    assert!(!ledger.has_retired());
    let records = (0..SHAPE.records as u32)
        .filter(|&r| ledger.board().location(cenote_pool::id::RecordId(r)).is_some())
        .count();
    let entries = (0..SHAPE.entries as u32)
        .filter(|&e| ledger.board().entry(EntryId(e)).record.is_some())
        .count();
    let live = 2 * ledger.names().count();
    assert_eq!((records, entries), (live, live), "records and entries of nobody");
}

fn quiet_stops() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<Stopped>() {
            default(info);
        }
    }));
}

#[test]
fn an_owner_stopped_at_any_store_loses_nothing_and_leaks_nothing() {
    quiet_stops();
    let seeds = std::env::var("CENOTE_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(40u64);
    let mut stops = 0;
    for seed in 1..=seeds {
        println!("seed {seed}");
        let endless = Budget(Rc::new(Cell::new(u64::MAX)));
        let (_, _, ledger, stopped) = run(seed, &endless);
        assert!(!stopped && ledger.is_some());
        let steps = u64::MAX - endless.0.get();
        for step in 0..steps {
            let budget = Budget(Rc::new(Cell::new(step)));
            let (Some(mut pool), Some(world), _, true) = run(seed, &budget) else { continue };
            stops += 1;
            // The adopter may be stopped too, at any of its steps; the last one finishes.
            let mut old = world;
            for again in [step % 7, step % 29, u64::MAX] {
                budget.0.set(again);
                let kept = (old.log.clone(), old.manifests.clone(), old.next);
                match adopt(&mut pool, old, &budget) {
                    Ok((mut ledger, mut next)) => {
                        budget.0.set(u64::MAX);
                        pool.check(true);
                        let logged = next.rows();
                        pool.names =
                            logged.iter().map(|r| (r.name.clone(), content_of(&next, r))).collect();
                        let mut random = Random(step + 1);
                        for _ in 0..6 {
                            pool.operate(&mut ledger, &mut next, &mut random);
                            pool.check(false);
                        }
                        nothing_is_left(&mut pool, &mut ledger);
                        break;
                    }
                    Err(()) => {
                        old = pool.world(&budget, kept.2 + 4096);
                        old.log = kept.0;
                        old.manifests = kept.1;
                    }
                }
            }
        }
    }
    println!("{stops} stops");
    assert!(stops > 1000, "only {stops} stops: the harness does not look");
}

fn content_of(world: &World, row: &cenote_pool::row::Row) -> u64 {
    let at = world
        .manifests
        .iter()
        .find(|(at, _)| world.cells.read(**at) == row.manifest_checksum)
        .map(|(at, _)| *at)
        .expect("a logged manifest is written");
    world.manifests[&at][0].2
}

#[test]
fn a_slot_near_its_last_generation_is_taken_out_of_use() {
    let budget = Budget(Rc::new(Cell::new(u64::MAX)));
    let (mut pool, mut ledger, mut world) = Pool::new(&budget);
    put(&mut ledger, &mut world, "open", 1);
    let entry = ledger.get("open").expect("committed").chunks[0];
    ledger.drop_name(&mut world, "open").expect("it exists");
    while pool.collect(&mut ledger) {}
    // As if the slot had lived four billion times.
    let last = cenote_pool::id::Generation(cenote_pool::protocol::word::GENERATION_LAST - 1);
    ledger.board().withdraw(entry, last);
    put(&mut ledger, &mut world, "open", 2);
    pool.names.insert("open".to_owned(), 2);
    ledger.drop_name(&mut world, "open").expect("it exists");
    for _ in 0..3 {
        pool.collect(&mut ledger);
    }
    for content in 3..20 {
        put(&mut ledger, &mut world, "open", content);
        let version = ledger.get("open").expect("committed");
        assert!(version.chunks[0] != entry && version.manifest != entry, "slot {entry} came back");
        pool.collect(&mut ledger);
        pool.collect(&mut ledger);
    }
}
