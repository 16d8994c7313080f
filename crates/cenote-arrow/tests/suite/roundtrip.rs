//! Random arrays come back equal, and slices bring their own bytes only.

use arrow_array::{Array, ArrayRef, make_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::DataType;
use cenote_arrow::{ALIGNMENT, ColumnLayout, ColumnPlan};
use proptest::prelude::*;

use crate::chunk::Chunk;
use crate::generate::{self, Random};

/// Plans, fills, decodes and builds; checks the plan's own promises on the way.
pub(crate) fn round_trip(array: &dyn Array, base: u64) -> ArrayRef {
    let plan = ColumnPlan::new(array, base).unwrap();
    check_segments(&plan);
    let chunk = Chunk::of(&plan);
    let rows = array.len() as u64;
    let layout = ColumnLayout::decode(plan.layout(), array.data_type(), rows, plan.end()).unwrap();
    assert_eq!(layout.rows(), rows);
    assert_eq!(layout.null_count(), plan.null_count());
    assert_eq!(layout.nbytes(), bytes(&plan));
    let back = chunk.array(&layout);
    let checked = chunk.checked_array(&layout).unwrap();
    assert_eq!(back.to_data(), checked.to_data());
    back
}

pub(crate) fn check_equal(back: &dyn Array, array: &dyn Array) {
    assert_eq!(back.data_type(), array.data_type());
    assert_eq!(back.len(), array.len());
    assert_eq!(back.null_count(), array.null_count());
    assert_eq!(back.to_data(), array.to_data());
}

/// Bytes that the plan writes, without padding.
pub(crate) fn bytes(plan: &ColumnPlan) -> u64 {
    plan.segments().iter().map(|segment| segment.len() as u64).sum()
}

fn check_segments(plan: &ColumnPlan) {
    let mut end = plan.base();
    for segment in plan.segments() {
        assert_eq!(segment.offset() % ALIGNMENT, 0);
        assert!(segment.len() > 0);
        assert_eq!(segment.offset(), end, "segments follow each other, one line apart at most");
        end = (segment.offset() + segment.len() as u64).next_multiple_of(ALIGNMENT);
    }
    assert_eq!(end, plan.end());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn random_arrays_come_back(
        data_type in generate::data_type(),
        len in prop_oneof![Just(0usize), 0..70usize],
        seed: u64,
        lines in 0..3u64,
    ) {
        let array = generate::array(&mut Random(seed), &data_type, len);
        let back = round_trip(&array, lines * ALIGNMENT);
        check_equal(&back, &array);
        // What was read can be planned again, and gives the same bytes.
        let first = ColumnPlan::new(&array, 0).unwrap();
        let second = ColumnPlan::new(&back, 0).unwrap();
        prop_assert_eq!(first.layout(), second.layout());
        let (mut a, mut b) = (vec![1; size(&first)], vec![2; size(&second)]);
        first.fill(&mut a);
        second.fill(&mut b);
        prop_assert_eq!(a, b);
    }

    #[test]
    fn a_slice_brings_its_own_bytes(
        data_type in generate::data_type(),
        seed: u64,
    ) {
        let mut random = Random(seed);
        let array = generate::array(&mut random, &data_type, 60);
        let (at, len) = (random.below(array.len() + 1), random.below(20));
        let slice = array.slice(at, len.min(array.len() - at));
        // Arrow's own deep copy of the slice is the measure.
        let data = slice.to_data();
        let mut copy = MutableArrayData::new(vec![&data], false, data.len());
        if !data.is_empty() {
            copy.try_extend(0, 0, data.len()).unwrap();
        }
        let copy = make_array(copy.freeze());
        let own = bytes(&ColumnPlan::new(&slice, 0).unwrap());
        let copied = bytes(&ColumnPlan::new(&copy, 0).unwrap());
        // List views and dense unions may keep gaps: see the bound on list views in `cases`.
        let may_have_gaps = ["ListView", "Dense"].map(|t| format!("{data_type:?}").contains(t));
        if may_have_gaps == [false, false] {
            prop_assert!(own <= copied, "{own} bytes, a copy has {copied}");
        }
        check_equal(&round_trip(&slice, 0), &slice);
    }

    #[test]
    fn pieces_of_any_size_equal_the_whole(
        data_type in generate::data_type(),
        len in 0..200usize,
        seed: u64,
    ) {
        let mut random = Random(seed);
        let array = generate::array(&mut random, &data_type, len);
        let plan = ColumnPlan::new(&array, 0).unwrap();
        for segment in plan.segments() {
            let mut whole = vec![0xff; segment.len()];
            segment.fill(0, &mut whole);
            if let Some(bytes) = segment.as_bytes() {
                prop_assert_eq!(bytes, &whole[..]);
            }
            let mut pieces = vec![0xee; segment.len()];
            let mut at = 0;
            while at < pieces.len() {
                let piece = 1 + random.below((pieces.len() - at).min(23));
                segment.fill(at as u64, &mut pieces[at..at + piece]);
                at += piece;
            }
            prop_assert_eq!(pieces, whole);
        }
    }
}

fn size(plan: &ColumnPlan) -> usize {
    usize::try_from(plan.end() - plan.base()).unwrap()
}

#[test]
fn a_hundred_rows_of_a_million_take_a_hundred_rows() {
    let mut types = 0;
    for (data_type, row_bytes) in [
        (DataType::Boolean, 1),
        (DataType::Float64, 8),
        (DataType::Utf8, 4 + 5),
        (DataType::LargeBinary, 8 + 5),
        // A kept view uses half of its buffers at least.
        (DataType::Utf8View, 16 + 2 * 20),
    ] {
        let array = generate::array(&mut Random(7), &data_type, 1_000_000);
        let slice = array.slice(123_457, 100);
        let plan = ColumnPlan::new(&slice, 0).unwrap();
        let bound = 100 * row_bytes + 13 + 8;
        assert!(bytes(&plan) <= bound, "{data_type}: {} bytes for 100 rows", bytes(&plan));
        check_equal(&round_trip(&slice, 0), &slice);
        types += 1;
    }
    assert_eq!(types, 5);
}
