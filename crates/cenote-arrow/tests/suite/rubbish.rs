//! Layouts that no writer wrote: decoding is total, and stays in bounds.

use arrow_array::Array;
use arrow_schema::{DataType, Field};
use cenote_arrow::{ColumnLayout, ColumnPlan, LayoutError, MAX_DEPTH, PlanError};
use proptest::prelude::*;
use std::sync::Arc;

use crate::chunk::Chunk;
use crate::generate::{self, Random};

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    /// A mutated layout over random bytes: whatever decodes can be looked at in full.
    #[test]
    fn mutated_layouts_stay_in_bounds(
        data_type in generate::data_type(),
        len in 0..40usize,
        seed: u64,
        mutations in 0..4usize,
        noise: bool,
    ) {
        let mut random = Random(seed);
        let array = generate::array(&mut random, &data_type, len);
        let plan = ColumnPlan::new(&array, 0).unwrap();
        let mut bytes = plan.layout().to_vec();
        for _ in 0..mutations {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = random.bytes(1)[0],
                2 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, random.bytes(1)[0]),
            }
        }
        // Content: what was planned, or noise.
        let mut content = vec![0; usize::try_from(plan.end()).unwrap()];
        plan.fill(&mut content);
        if noise {
            for _ in 0..1 + random.below(8) {
                let at = random.below(content.len());
                if let Some(byte) = content.get_mut(at) {
                    *byte = random.bytes(1)[0];
                }
            }
        }
        let chunk = Chunk::new(&content);
        if let Ok(layout) = ColumnLayout::decode(&bytes, &data_type, len as u64, chunk.len()) {
            if let Ok(array) = chunk.checked_array(&layout) {
                prop_assert_eq!(array.len(), len);
                // Touches every value that the array reaches.
                let again = ColumnPlan::new(&array, 0).unwrap();
                Chunk::of(&again);
            }
        } else {
            prop_assert!(mutations > 0, "an untouched layout was refused");
        }
    }

    #[test]
    fn random_bytes_are_decoded_or_refused(
        data_type in generate::data_type(),
        bytes in proptest::collection::vec(any::<u8>(), 0..60),
        rows in 0..4u64,
    ) {
        // Mostly with the version byte right, so that the rest is looked at.
        for first in [1, bytes.first().copied().unwrap_or(0)] {
            let mut bytes = bytes.clone();
            if let Some(byte) = bytes.first_mut() {
                *byte = first;
            }
            let _ = ColumnLayout::decode(&bytes, &data_type, rows, 4096);
        }
    }

    #[test]
    fn every_truncation_is_refused(data_type in generate::data_type(), seed: u64) {
        let array = generate::array(&mut Random(seed), &data_type, 9);
        let (plan, rows) = (ColumnPlan::new(&array, 0).unwrap(), array.len() as u64);
        for end in 0..plan.layout().len() {
            let cut = &plan.layout()[..end];
            prop_assert!(ColumnLayout::decode(cut, &data_type, rows, plan.end()).is_err());
        }
        let mut longer = plan.layout().to_vec();
        longer.push(0);
        let result = ColumnLayout::decode(&longer, &data_type, rows, plan.end());
        let trailing = matches!(result, Err(LayoutError::TrailingBytes { extra: 1 }));
        prop_assert!(trailing);
    }
}

/// The layout of three int64 without nulls: version, node, one buffer, no child.
const THREE: [u8; 8] = [1, 3, 0, 0, 1, 0, 24, 0];

fn decode(bytes: &[u8], chunk_len: u64) -> Result<ColumnLayout, LayoutError> {
    ColumnLayout::decode(bytes, &DataType::Int64, 3, chunk_len)
}

fn with(at: usize, byte: u8) -> [u8; 8] {
    let mut bytes = THREE;
    bytes[at] = byte;
    bytes
}

#[test]
fn each_field_of_a_layout_is_checked() {
    let array = arrow_array::Int64Array::from(vec![1, 2, 3]);
    assert_eq!(ColumnPlan::new(&array, 0).unwrap().layout(), THREE);
    assert_eq!(decode(&THREE, 24).unwrap().nbytes(), 24);
    assert!(matches!(decode(&with(0, 2), 64), Err(LayoutError::UnknownVersion { version: 2 })));
    assert!(matches!(decode(&with(1, 4), 64), Err(LayoutError::WrongLength { found: 4, .. })));
    assert!(matches!(decode(&with(2, 1), 64), Err(LayoutError::BadNullCount { .. })));
    assert!(matches!(decode(&with(3, 1), 64), Err(LayoutError::BadNullCount { .. })));
    assert!(matches!(decode(&with(3, 2), 64), Err(LayoutError::BadFlags { flags: 2, .. })));
    assert!(matches!(decode(&with(4, 2), 64), Err(LayoutError::WrongBufferCount { .. })));
    assert!(matches!(decode(&with(5, 1), 64), Err(LayoutError::OutOfBounds { line: 1, .. })));
    assert!(matches!(decode(&with(6, 23), 64), Err(LayoutError::WrongBufferLength { .. })));
    assert!(matches!(decode(&with(7, 1), 64), Err(LayoutError::WrongChildCount { .. })));
    assert!(matches!(decode(&THREE, 23), Err(LayoutError::OutOfBounds { chunk_len: 23, .. })));
    let overlapping = [1, 3, 1, 1, 1, 0, 1, 0, 24, 0];
    assert!(matches!(decode(&overlapping, 64), Err(LayoutError::Overlap { line: 0 })));
}

#[test]
fn nesting_is_bounded_on_both_sides() {
    let nested = |depth: usize| {
        (1..depth).fold(DataType::Int8, |inner, _| {
            DataType::List(Arc::new(Field::new("item", inner, true)))
        })
    };
    let deepest = arrow_array::new_empty_array(&nested(MAX_DEPTH));
    let plan = ColumnPlan::new(&deepest, 0).unwrap();
    ColumnLayout::decode(plan.layout(), deepest.data_type(), 0, plan.end()).unwrap();
    let deeper = arrow_array::new_empty_array(&nested(MAX_DEPTH + 1));
    assert!(matches!(ColumnPlan::new(&deeper, 0), Err(PlanError::TooDeep)));
    let result = ColumnLayout::decode(plan.layout(), deeper.data_type(), 0, plan.end());
    assert!(result.is_err());
}

#[test]
fn a_column_starts_on_a_line() {
    let array = arrow_array::Int64Array::from(vec![1]);
    assert!(matches!(ColumnPlan::new(&array, 8), Err(PlanError::Misaligned { base: 8 })));
    let last = u64::MAX - 63;
    assert!(matches!(ColumnPlan::new(&array, last), Err(PlanError::TooLarge)));
}
