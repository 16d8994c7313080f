//! The owner of a pool stops at each store it makes, and a new one takes over.
//!
//! A random history of commits, replacements, appends, drops, renames, tags, expiries, moves and
//! collections runs over plain words while readers take and drop leases. It is run once to count the owner's
//! steps (a store, or an entry of the log), then again for every step with the owner stopped
//! there. After each stop: every version that was logged and is kept is there with its bytes,
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
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_pool::id::EntryId;
use cenote_pool::manifest::{ChunkRef, Manifest};
use cenote_pool::protocol::Memory;
use cenote_pool::protocol::board::Board;
use cenote_pool::protocol::heads::{HeadTable, hash_name};
use cenote_pool::protocol::lease::{self, HeadMiss, LeasePage, Leased};
use cenote_pool::protocol::ledger::Ledger;
use cenote_pool::protocol::word::{Lease, LeaseKind};
use cenote_pool::row::Keep;
use model::{Cells, ModelWorld, RUBBISH, SHAPE, append, board, place, put, read_manifest};

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
/// One more, for looking.
const SPARE: u32 = SLOTS;

/// What readers hold: slot → where they read and what they found.
type Held = BTreeMap<u32, Vec<(u64, u64)>>;
type Manifests = HashMap<u64, Manifest>;

struct Pool {
    board: Words,
    heads: Rc<std::cell::RefCell<BTreeMap<u64, Words>>>,
    page: LeasePage<Words>,
    cells: Arc<Arena>,
    /// What a reader must find: before the operation under way, and after it.
    names: BTreeMap<String, Vec<u64>>,
    after: BTreeMap<String, Vec<u64>>,
    held: Held,
    /// Slots of readers that have opened a version and not yet looked up its parts.
    opened: BTreeMap<u32, Vec<u64>>,
    content: u64,
}

type Book = Ledger<Words, Words>;
type World = ModelWorld<Words, Arena>;

impl Pool {
    fn new(budget: &Budget) -> (Pool, Book, World) {
        let memory = Words::new(SHAPE.words(), None);
        let heads: Rc<std::cell::RefCell<BTreeMap<u64, Words>>> = Rc::default();
        let page = LeasePage::new(Words::new(lease::HEADER_WORDS + u64::from(SLOTS) + 1, None));
        page.set_in_use(u64::from(SLOTS) + 1);
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
            opened: BTreeMap::new(),
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
        let current = self.names.get(name).cloned();
        match random.next(19) {
            0..=2 => {
                self.content += 1;
                let content = self.content;
                self.after.insert(name.to_owned(), vec![content]);
                put(ledger, world, name, content);
            }
            3..=6 => {
                self.content += 1;
                let content = self.content;
                // A long one begins anew, so that the model stays small.
                let mut all = current.filter(|all| all.len() < 6).unwrap_or_default();
                all.push(content);
                let is_new = all.len() == 1;
                self.after.insert(name.to_owned(), all);
                if is_new {
                    put(ledger, world, name, content);
                } else {
                    append(ledger, world, name, content, random.next(4) as usize);
                }
            }
            7 => {
                if self.after.remove(name).is_some() {
                    ledger.drop_name(world, name).expect("it exists");
                }
            }
            8 => {
                let to = NAMES[random.next(4) as usize];
                if current.is_some() && !self.names.contains_key(to) {
                    let content = self.after.remove(name).expect("it exists");
                    self.after.insert(to.to_owned(), content);
                    ledger.rename(world, name, to).expect("allowed");
                }
            }
            9 => self.change_what_is_kept(ledger, world, name, random),
            10..=11 => {
                if let Some(version) = ledger.get(name) {
                    let entry = version.chunks[0];
                    let (_, checksum) = ledger.place(entry).expect("a live chunk");
                    let to = world.allocate(checksum);
                    ledger.relocate(world, entry, place(to)).expect("room");
                }
            }
            12..=13 => {
                self.collect(ledger);
            }
            14..=16 => self.read(name, &world.manifests, random),
            _ => {
                let slot = random.next(u64::from(SLOTS)) as u32;
                self.page.clear(slot);
                self.held.remove(&slot);
                self.opened.remove(&slot);
            }
        }
        self.names = self.after.clone();
    }

    fn change_what_is_kept(
        &mut self,
        ledger: &mut Book,
        world: &mut World,
        name: &str,
        random: &mut Random,
    ) {
        let Some(record) = ledger.record(name) else { return };
        let living: Vec<u64> = record.living().map(|row| row.version).collect();
        let some = living[random.next(living.len() as u64) as usize];
        let is_tagged = record.settings.tags.values().any(|version| *version == some);
        let is_needed = some == record.settings.current || is_tagged;
        match random.next(5) {
            0 | 1 => {
                let keep = Keep { versions: 1 + random.next(3) as u32, seconds: None };
                ledger.keep(world, name, keep, 0).expect("it exists");
            }
            2 => ledger.tag(world, name, "t", Some(some), 0).expect("it exists"),
            3 => ledger.tag(world, name, "t", None, 0).expect("it exists"),
            _ if !is_needed => ledger.drop_versions(world, name, vec![some]).expect("not needed"),
            _ => {}
        }
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

    /// The chunks of a version whose manifest stands there, as a reader finds them on the board:
    /// where each is, and what it is to read there. The version is leased.
    fn chunks(&self, manifests: &Manifests, at: u64) -> Vec<(EntryId, u64, u64)> {
        let board = Board::open(self.board.read_only()).expect("sound");
        assert_ne!(self.cells.read(at), RUBBISH, "a leased manifest was written again");
        let own = &manifests[&at];
        let mut parts = Vec::new();
        for reference in &own.references {
            let part = lease::locate(&board, reference.entry).expect("it is referred to");
            assert_eq!(part.tenant.generation, reference.generation, "another manifest");
            assert_eq!(self.cells.read(part.place.offset), reference.checksum, "written again");
            parts.push(&manifests[&part.place.offset]);
        }
        parts.push(own);
        let each = |chunk: &ChunkRef| {
            let location = lease::locate(&board, chunk.entry).expect("its version is leased");
            assert_eq!(location.checksum, chunk.checksum, "another chunk");
            (chunk.entry, location.place.offset, chunk.checksum)
        };
        parts.iter().flat_map(|part| &part.chunks).map(each).collect()
    }

    /// A reader opens a name, and holds a chunk of it, or all, or only its manifest for now.
    fn read(&mut self, name: &str, manifests: &Manifests, random: &mut Random) {
        let free = |slot: &u32| self.page.get(*slot).is_none();
        let mut slots = (0..SLOTS).filter(free);
        let (Some(own), Some(slot)) = (slots.next(), slots.next()) else { return };
        let Some((manifest, at)) = self.look(name, own) else { return };
        let board = Board::open(self.board.read_only()).expect("sound");
        let chunks = self.chunks(manifests, at);
        let contents: Vec<u64> = chunks.iter().map(|chunk| chunk.2).collect();
        assert_eq!(contents, self.names[name]);
        match random.next(3) {
            0 => {
                // Pin the whole version.
                let generation = board.entry(manifest).generation;
                let kind = LeaseKind::Version;
                self.page.set(slot, Lease { entry: manifest, generation, kind });
                self.hold(slot, self.chunks(manifests, at).iter().map(|c| c.1).collect());
            }
            1 => {
                let (entry, _, content) = chunks[random.next(chunks.len() as u64) as usize];
                let mut found = None;
                lease::acquire(&board, &self.page, &[(entry, slot)], |_, l| found = Some(l))
                    .expect("its manifest is leased");
                let found = found.expect("leased");
                assert_eq!(found.checksum, content);
                self.hold(slot, vec![found.place.offset]);
            }
            _ => {
                self.opened.insert(own, vec![at]);
                return;
            }
        }
        self.page.clear(own);
    }

    fn hold(&mut self, slot: u32, offsets: Vec<u64>) {
        let each = offsets.into_iter().map(|offset| {
            let content = self.cells.read(offset);
            assert_ne!(content, RUBBISH, "a leased place was written again");
            (offset, content)
        });
        let held = each.collect();
        self.held.insert(slot, held);
    }

    /// Everything that must hold, whoever stopped where.
    fn check(&mut self, manifests: &Manifests, either: bool) {
        for (offset, content) in self.held.values().flatten() {
            assert_eq!(self.cells.read(*offset), *content, "a lease was overrun");
        }
        // Whoever has opened a version can still come to all of it.
        for at in self.opened.values().flatten() {
            for (_, offset, content) in self.chunks(manifests, *at) {
                assert_eq!(self.cells.read(offset), content, "an opened version was freed");
            }
        }
        for name in NAMES {
            let found = self.look(name, SPARE).map(|(_, at)| {
                self.chunks(manifests, at).iter().map(|chunk| chunk.2).collect::<Vec<_>>()
            });
            self.page.clear(SPARE);
            let (before, after) = (self.names.get(name), self.after.get(name));
            let expected = found.as_ref() == before || (either && found.as_ref() == after);
            assert!(expected, "{name}: found {found:?}, committed {before:?}");
        }
    }

    /// Each version that the catalog keeps is held with what was committed; nothing else is
    /// there but what these refer to.
    fn check_versions(&self, ledger: &Book, world: &World, quiet: bool) {
        let mut lives = std::collections::HashSet::new();
        let mut kept = 0;
        for (name, record) in &world.frames().0 {
            for row in record.living() {
                let version = ledger.held(name, row.version).expect("the catalog has it");
                assert_eq!(version.row.manifest_checksum, row.manifest_checksum);
                let chunks = self.chunks(&world.manifests, version.location.place.offset);
                assert_eq!(chunks.len() as u64, version.num_chunks);
                assert!(chunks.iter().all(|chunk| self.cells.read(chunk.1) == chunk.2));
                lives.extend(version.lives());
                kept += 1;
            }
        }
        assert_eq!(ledger.versions().filter(|version| version.is_held()).count(), kept);
        if quiet {
            assert_eq!(ledger.versions().count(), lives.len(), "versions of nobody");
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
    let frames = world.frames();
    let mut leased = Leased::default();
    pool.page.scan(u64::MAX, |lease| leased.add(lease));
    let owned = Board::open(pool.board.owned_by(budget)).expect("sound");
    let reader = pool.world(budget, 0);
    let manifests = world.manifests.clone();
    let reader = ModelWorld { manifests, ..reader };
    let read = |location: &_| read_manifest(&reader, location);
    let adopted = catch_unwind(AssertUnwindSafe(|| {
        Ledger::adopt(owned, &mut world, frames, &leased, |p| p.offset < 1 << 40, read)
            .expect("room")
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

fn nothing_is_left(pool: &mut Pool, ledger: &mut Book, world: &mut World) {
    for slot in 0..SLOTS {
        pool.page.clear(slot);
    }
    pool.held.clear();
    pool.opened.clear();
    for names_are_left in [true, false] {
        if !names_are_left {
            let names: Vec<String> = ledger.names().map(|(name, _)| name.to_owned()).collect();
            for name in names {
                ledger.drop_name(world, &name).expect("it exists");
            }
        }
        for _ in 0..4 {
            pool.collect(ledger);
        }
        assert!(!ledger.has_retired());
        pool.check_versions(ledger, world, true);
        on_the_board(ledger);
    }
    assert_eq!((ledger.versions().count(), ledger.chunks().count()), (0, 0));
}

/// What is on the board is what the ledger knows.
fn on_the_board(ledger: &Book) {
    let records = (0..SHAPE.records as u32)
        .filter(|&r| ledger.board().location(cenote_pool::id::RecordId(r)).is_some())
        .count();
    let entries = (0..SHAPE.entries as u32)
        .filter(|&e| ledger.board().entry(EntryId(e)).record.is_some())
        .count();
    let live = ledger.versions().count() + ledger.chunks().count();
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
                        pool.check(&next.manifests, true);
                        pool.check_versions(&ledger, &next, false);
                        let current = ledger.names();
                        let current = current.map(|(name, version)| {
                            let chunks =
                                pool.chunks(&next.manifests, version.location.place.offset);
                            (name.to_owned(), chunks.iter().map(|chunk| chunk.2).collect())
                        });
                        pool.names = current.collect();
                        let mut random = Random(step + 1);
                        for _ in 0..6 {
                            pool.operate(&mut ledger, &mut next, &mut random);
                            pool.check(&next.manifests, false);
                            pool.check_versions(&ledger, &next, false);
                        }
                        nothing_is_left(&mut pool, &mut ledger, &mut next);
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
    pool.names.insert("open".to_owned(), vec![2]);
    ledger.drop_name(&mut world, "open").expect("it exists");
    for _ in 0..3 {
        pool.collect(&mut ledger);
    }
    for content in 3..20 {
        put(&mut ledger, &mut world, "open", content);
        let version = ledger.get("open").expect("committed");
        assert!(
            version.chunks[0] != entry && version.manifest() != entry,
            "slot {entry} came back"
        );
        pool.collect(&mut ledger);
        pool.collect(&mut ledger);
    }
}
