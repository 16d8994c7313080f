//! The cost of reading: kept well below PyArrow's own import, about 1 µs a column.
//!
//! Run by hand, in a release build, on a quiet machine:
//! `cargo test --release -p cenote-arrow -- --ignored --nocapture speed`

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, Float64Array, StringArray};
use arrow_buffer::alloc::Allocation;
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
