//! Times the lease of one chunk: store, fence, look again, read the chunk's first byte, let
//! go; while the pool's scan of the page runs on another core.
//!
//! Hot: one chunk again and again. Cold: a random one of a million, so that its board entry,
//! its location record and its bytes each miss the caches. One JSON object a line.

#![expect(unsafe_code, reason = "reads a chunk under its lease")]

use std::fs::File;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use cenote_pool::id::{ArenaId, EntryId, Generation, Incarnation, Place, RecordId};
use cenote_pool::protocol::Memory;
use cenote_pool::protocol::board::{Board, Identity, Location, Shape};
use cenote_pool::protocol::lease::{self, HEADER_WORDS, LeasePage, Leased, SLOTS_INITIAL};
use cenote_pool::protocol::word::{ChunkKind, Tenant};
use cenote_pool::words::Shared;
use cenote_region::mapping::Mapping;

const CHUNKS: u32 = 1_000_000;
const ROUNDS: usize = 31;
const BATCH: u64 = 200_000;

fn file(bytes: u64) -> File {
    let file = tempfile::tempfile_in("/dev/shm").expect("a file on tmpfs");
    file.set_len(bytes).expect("its length");
    file
}

/// A board of a million chunks of 64 bytes each, all in one arena.
fn board() -> (Board<Arc<Shared>>, Mapping) {
    let shape = Shape { entries: 1 << 20, records: 1 << 20, arenas: 16 };
    let memory = Shared::read_write(&file(shape.words() * 8), shape.words()).expect("a mapping");
    let board = Board::create(Arc::new(memory), Identity { boot: 1, pool: 1, shape });
    let arena = file(u64::from(CHUNKS) * 64);
    let mapping = Mapping::read_write(&arena, u64::from(CHUNKS) * 64).expect("a mapping");
    mapping.populate_write(0..mapping.len()).expect("memory");
    for i in 0..CHUNKS {
        let tenant = Tenant { entry: EntryId(i), generation: Generation(1), kind: ChunkKind::Data };
        let offset = u64::from(i) * 64;
        let place = Place { arena: ArenaId(0), incarnation: Incarnation(1), offset, length: 64 };
        let location = Location { tenant, place, checksum: 7, verified: true };
        board.write_location(RecordId(i), &location);
        board.publish(EntryId(i), Generation(1), RecordId(i));
    }
    (board, mapping)
}

fn once(board: &Board<Arc<Shared>>, page: &LeasePage<Shared>, arena: &Mapping, entry: u32) -> u8 {
    let mut place = None;
    lease::acquire(board, page, &[(EntryId(entry), 0)], |_, l| place = Some(l.place))
        .expect("the chunk lives");
    let place = place.expect("leased");
    // SAFETY: the chunk is leased and nobody writes this arena.
    let byte = unsafe { arena.bytes(place.offset, place.length) }.expect("in bounds")[0];
    page.clear(0);
    byte
}

/// Median and 99th percentile over rounds, in nanoseconds a lease.
fn time(mut round: impl FnMut()) -> (f64, f64) {
    round();
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            round();
            begin.elapsed().as_nanos() as f64 / BATCH as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[ROUNDS / 2], times[ROUNDS - 1])
}

#[expect(clippy::print_stdout, reason = "this program's output")]
fn report(metric: &str, ours: f64, slowest: f64, scans: u64) {
    println!(
        r#"{{"metric": "{metric}", "ours": {ours:.1}, "unit": "ns", "slowest": {slowest:.1}, "chunks": {CHUNKS}, "rounds": {ROUNDS}, "scans_meanwhile": {scans}}}"#
    );
}

fn main() {
    let (board, arena) = board();
    let words = HEADER_WORDS + SLOTS_INITIAL;
    let page_file = file(words * 8);
    let page = LeasePage::new(Shared::read_write(&page_file, words).expect("a mapping"));
    page.set_in_use(SLOTS_INITIAL);
    let (stop, scans) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let scanner = {
        let (stop, scans) = (stop.clone(), scans.clone());
        let page = LeasePage::new(Shared::read_write(&page_file, words).expect("a mapping"));
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                page.memory().fence();
                let mut leased = Leased::default();
                page.scan(SLOTS_INITIAL, |lease| leased.add(lease));
                black_box(leased.len());
                scans.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    let (hot, slowest) = time(|| {
        for _ in 0..BATCH {
            black_box(once(&board, &page, &arena, black_box(4711)));
        }
    });
    report("lease and read first byte, hot", hot, slowest, scans.load(Ordering::Relaxed));
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let (cold, slowest) = time(|| {
        for _ in 0..BATCH {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let entry = ((state >> 40) * u64::from(CHUNKS)) >> 24;
            black_box(once(&board, &page, &arena, u32::try_from(entry).unwrap_or(0)));
        }
    });
    report("lease and read first byte, cold", cold, slowest, scans.load(Ordering::Relaxed));
    stop.store(true, Ordering::Relaxed);
    scanner.join().expect("the scanner ends");
}
