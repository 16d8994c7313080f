//! The cost of reading: kept well below PyArrow's own import, about 1 µs a column.
//!
//! Run by hand, in a release build, on a quiet machine:
//! `cargo test --release -p cenote-arrow -- --ignored --nocapture speed`

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, StringArray};
use arrow_buffer::alloc::Allocation;
use cenote_arrow::stats::ColumnStats;
use cenote_arrow::{ColumnLayout, ColumnPlan};

use crate::chunk::Chunk;

const ROUNDS: u32 = 200_000;

fn time(name: &str, mut run: impl FnMut()) {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        run();
    }
    let each = start.elapsed() / ROUNDS;
    eprintln!("{name}: {each:?} a column");
}

#[test]
#[ignore = "a measurement, not a check"]
fn planning_decoding_and_building() {
    let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.0; 1000]));
    let words: ArrayRef = Arc::new(StringArray::from(vec![Some("w"), None]));
    let mut measured = 0;
    for array in [numbers, words] {
        let name = array.data_type().to_string();
        let plan = ColumnPlan::new(&array, 0).unwrap();
        let chunk = Chunk::of(&plan);
        let rows = array.len() as u64;
        let decode = || ColumnLayout::decode(plan.layout(), array.data_type(), rows, plan.end());
        let layout = decode().unwrap();
        let owner: Arc<dyn Allocation> = Arc::clone(&chunk) as _;
        time(&format!("{name}, plan"), || {
            black_box(ColumnPlan::new(&array, 0).unwrap());
        });
        time(&format!("{name}, decode"), || {
            black_box(decode().unwrap());
        });
        time(&format!("{name}, array"), || {
            // SAFETY: the chunk is filled from the plan, and lives in the owner.
            black_box(unsafe { layout.array(chunk.start(), &owner) });
        });
        measured += 1;
    }
    assert_eq!(measured, 2);
}

/// How fast values are looked at while they are in the caches: a put adds this to its copy.
#[test]
#[ignore = "a measurement, not a check"]
fn statistics() {
    const ROWS: usize = 1 << 16;
    let mix = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12;
    let some = |i: usize| (!i.is_multiple_of(10)).then(|| mix(i) as f64);
    let texts = |i: usize| format!("{:016x}", mix(i));
    let arrays: Vec<(&str, ArrayRef)> = vec![
        ("float64", Arc::new(Float64Array::from_iter_values((0..ROWS).map(|i| mix(i) as f64)))),
        ("float64, a tenth null", Arc::new(Float64Array::from_iter((0..ROWS).map(some)))),
        ("int64", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|i| mix(i).cast_signed())))),
        ("text of 16 bytes", Arc::new(StringArray::from_iter_values((0..ROWS).map(texts)))),
    ];
    let mut measured = 0;
    for (name, array) in arrays {
        let bytes = array.to_data().get_slice_memory_size().unwrap();
        let start = Instant::now();
        for _ in 0..500 {
            black_box(ColumnStats::of(black_box(&array)));
        }
        let each = start.elapsed() / 500;
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let speed = bytes as f64 / each.as_secs_f64() / 1e9;
        eprintln!("{name}: {each:?} for {ROWS} rows, {speed:.1} GB/s");
        measured += 1;
    }
    assert_eq!(measured, 4);
}
