//! Rubbish for as long as it is given time: `CENOTE_FUZZ_SECONDS`, 2 unless said.
//!
//! Layouts and contents are mutated together, starting from real ones of random types. Whatever
//! decodes is looked at in full, and must be inside its chunk; nothing may panic.

use std::time::{Duration, Instant};

use arrow_array::Array;
use arrow_data::ArrayData;
use cenote_arrow::{ColumnLayout, ColumnPlan};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::chunk::Chunk;
use crate::generate::{self, Random};

fn seconds() -> Duration {
    let said = std::env::var("CENOTE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(said.unwrap_or(2))
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    match random.below(6) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.bytes(1)[0],
        2 => bytes.truncate(at),
        3 => bytes.insert(at, random.bytes(1)[0]),
        4 => bytes[at] = 0xff,
        _ => {
            bytes.remove(at);
        }
    }
}

/// Every buffer lies in the chunk, or is empty.
fn inside(data: &ArrayData, start: usize, end: usize) -> bool {
    let within = |at: usize, len: usize| len == 0 || (at >= start && at + len <= end);
    let nulls = data.nulls().map(arrow_buffer::NullBuffer::buffer);
    nulls.into_iter().chain(data.buffers()).all(|b| within(b.as_ptr().addr(), b.len()))
        && data.child_data().iter().all(|child| inside(child, start, end))
}

#[test]
fn rubbish_is_refused_or_stays_inside() {
    let (began, limit) = (Instant::now(), seconds());
    let seed = std::env::var("CENOTE_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    eprintln!("CENOTE_SEED={seed}");
    let mut random = Random(seed);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed.to_le_bytes(); 4].concat());
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let types = generate::data_type();
    let (mut tried, mut decoded, mut valid) = (0u64, 0u64, 0u64);
    while began.elapsed() < limit {
        let data_type = types.new_tree(&mut runner).unwrap().current();
        let len = random.below(50);
        let array = generate::array(&mut random, &data_type, len);
        let plan = ColumnPlan::new(&array, 0).unwrap();
        let mut content = vec![0; usize::try_from(plan.end()).unwrap()];
        plan.fill(&mut content);
        for _ in 0..50 {
            let (mut layout, mut bytes) = (plan.layout().to_vec(), content.clone());
            for _ in 0..random.below(4) {
                mutate(&mut random, &mut layout);
            }
            for _ in 0..random.below(4) {
                mutate(&mut random, &mut bytes);
            }
            let chunk = Chunk::new(&bytes);
            tried += 1;
            let result = ColumnLayout::decode(&layout, &data_type, len as u64, chunk.len());
            let Ok(layout) = result else { continue };
            decoded += 1;
            let Ok(back) = chunk.checked_array(&layout) else { continue };
            valid += 1;
            let start = chunk.start().addr().get();
            let end = start + usize::try_from(chunk.len()).unwrap();
            assert!(inside(&back.to_data(), start, end), "{data_type} at {seed}");
            // Touches every value that the array reaches.
            Chunk::of(&ColumnPlan::new(&back, 0).unwrap());
        }
    }
    assert!(tried > 1000 && decoded > 100 && valid > 100, "{tried} tried, {decoded}, {valid}");
}
