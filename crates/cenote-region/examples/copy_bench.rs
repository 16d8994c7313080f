//! How fast bytes are copied into a pool, beside `memcpy` on the same memory.
//!
//! Everything is warm: the target is allocated and mapped tmpfs memory, the source has
//! been written. The candidates take turns, so that a busy machine slows all of them, and
//! the median counts. GB are 10⁹ bytes, of the source.
//!
//! `cargo run --release -p cenote-region --example copy_bench [MiB a thread] [rounds]`

#![allow(clippy::print_stdout, reason = "an example reports on standard output")]
#![allow(unsafe_code, reason = "measures an unsafe function on raw mapped memory")]

use std::error::Error;
use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use cenote_region::copy::{LEAF, copy_and_hash, hash};
use cenote_region::mapping::Mapping;

/// One thread's source and target.
struct Lane {
    source: Vec<u8>,
    target: Mapping,
}

impl Lane {
    fn new(len: usize, seed: u64) -> Result<Self, Box<dyn Error>> {
        let file = tempfile::tempfile_in("/dev/shm")?;
        file.set_len(len as u64)?;
        let target = Mapping::read_write(&file, len as u64)?;
        target.populate_write(0..len as u64)?;
        let mut state = seed;
        let mut source = Vec::with_capacity(len);
        while source.len() < len {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            source.extend_from_slice(&state.to_le_bytes());
        }
        Ok(Self { source, target })
    }

    fn target_at(&self, offset: usize, len: usize) -> *mut u8 {
        match self.target.writable(offset as u64, len as u64) {
            Some(at) => at.as_ptr(),
            None => unreachable!("the target is as long as the source"),
        }
    }
}

fn memcpy(lane: &Lane) {
    let at = lane.target_at(0, lane.source.len());
    // SAFETY: the target has room for the source, and one writer: this thread.
    unsafe { std::ptr::copy_nonoverlapping(lane.source.as_ptr(), at, lane.source.len()) };
}

fn memcpy_leaves(lane: &Lane) {
    for (i, leaf) in lane.source.chunks(LEAF).enumerate() {
        let at = lane.target_at(i * LEAF, leaf.len());
        // SAFETY: the target has room for the source, and one writer: this thread.
        unsafe { std::ptr::copy_nonoverlapping(leaf.as_ptr(), at, leaf.len()) };
    }
}

fn hash_leaves(lane: &Lane) {
    for leaf in lane.source.chunks(LEAF) {
        black_box(hash(leaf));
    }
}

fn copy_and_hash_leaves(lane: &Lane) {
    for (i, leaf) in lane.source.chunks(LEAF).enumerate() {
        let at = lane.target_at(i * LEAF, leaf.len());
        // SAFETY: the target has room for the source, and one writer: this thread.
        black_box(unsafe { copy_and_hash(at, leaf) });
    }
}

fn memcpy_then_hash(lane: &Lane) {
    memcpy_leaves(lane);
    hash_leaves(lane);
}

type Work = fn(&Lane);

const CANDIDATES: [(&str, Work); 5] = [
    ("memcpy, whole", memcpy),
    ("memcpy, 1 MiB leaves", memcpy_leaves),
    ("hash, 1 MiB leaves", hash_leaves),
    ("copy_and_hash, 1 MiB leaves", copy_and_hash_leaves),
    ("memcpy, then hash", memcpy_then_hash),
];

/// Seconds for all lanes at once, a thread each.
fn time(lanes: &[Lane], work: Work) -> f64 {
    let start_line = Barrier::new(lanes.len() + 1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = lanes
            .iter()
            .map(|lane| {
                scope.spawn(|| {
                    start_line.wait();
                    work(lane);
                })
            })
            .collect();
        start_line.wait();
        let start = Instant::now();
        for thread in threads {
            assert!(thread.join().is_ok(), "a copy panicked");
        }
        start.elapsed().as_secs_f64()
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mib: usize = arguments.next().map_or(Ok(1024), |text| text.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(15), |text| text.parse())?;
    for threads in [1, 2] {
        let len = (mib << 20) / threads;
        let lanes: Vec<Lane> =
            (0..threads).map(|i| Lane::new(len, i as u64)).collect::<Result<_, _>>()?;
        let mut speeds = vec![Vec::new(); CANDIDATES.len()];
        let mut ratios = vec![Vec::new(); CANDIDATES.len()];
        for round in 0..=rounds {
            let speed =
                CANDIDATES.map(|(_, work)| (len * threads) as f64 / time(&lanes, work) / 1e9);
            if round == 0 {
                continue; // warms up
            }
            for (i, speed_i) in speed.iter().enumerate() {
                speeds[i].push(*speed_i);
                ratios[i].push(speed_i / speed[0]);
            }
        }
        println!("{threads} thread(s), {} MiB each, median of {rounds}", len >> 20);
        for (i, (name, _)) in CANDIDATES.iter().enumerate() {
            let (speed, ratio) = (median(speeds[i].clone()), median(ratios[i].clone()));
            println!("  {name:<30} {speed:6.2} GB/s   {ratio:5.2} of memcpy");
        }
    }
    Ok(())
}
