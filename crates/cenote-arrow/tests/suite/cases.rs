//! Arrays with a known answer: the types a first user brings, and the edges of each layout.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array,
    Int32Array, Int64Array, LargeStringArray, ListArray, ListViewArray, NullArray, RunArray,
    StringArray, StringViewArray, StructArray, TimestampNanosecondArray, make_array,
    new_empty_array,
};
use arrow_buffer::Buffer;
use arrow_buffer::alloc::Allocation;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};
use cenote_arrow::{ColumnLayout, ColumnPlan, PlanError};

use crate::chunk::Chunk;
use crate::roundtrip::{bytes, check_equal, round_trip};

fn columns() -> Vec<ArrayRef> {
    let words = [Some("ACME"), None, Some(""), Some("ÅÉ"), Some("a value of some length")];
    let struct_array = StructArray::try_from(vec![
        ("price", Arc::new(Float64Array::from(vec![Some(1.5), None, Some(f64::NAN)])) as ArrayRef),
        ("symbol", Arc::new(StringArray::from(vec![None, Some("b"), Some("c")])) as ArrayRef),
    ]);
    vec![
        Arc::new(Int64Array::from(vec![1, -2, i64::MAX])),
        Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])),
        Arc::new(Float64Array::from(vec![0.0, -0.0, f64::INFINITY])),
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)])),
        Arc::new(StringArray::from(words.to_vec())),
        Arc::new(LargeStringArray::from(words.to_vec())),
        Arc::new(StringViewArray::from(words.to_vec())),
        Arc::new(TimestampNanosecondArray::from(vec![1, 2]).with_timezone("Asia/Shanghai")),
        Arc::new(Date32Array::from(vec![Some(20_000), None])),
        Arc::new(Decimal128Array::from(vec![123, -5]).with_precision_and_scale(20, 4).unwrap()),
        Arc::new(
            vec![Some("x"), None, Some("y"), Some("x")]
                .into_iter()
                .collect::<DictionaryArray<Int8Type>>(),
        ),
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
            Some(vec![Some(1), None]),
            None,
            Some(vec![]),
            Some(vec![Some(4)]),
        ])),
        Arc::new(struct_array.unwrap()),
        Arc::new(NullArray::new(3)),
        Arc::new(
            RunArray::<Int32Type>::try_new(
                &Int32Array::from(vec![2, 3, 7]),
                &StringArray::from(vec![Some("a"), None, Some("b")]),
            )
            .unwrap(),
        ),
    ]
}

#[test]
fn every_slice_of_every_column_comes_back() {
    let mut checked = 0;
    for column in columns() {
        for at in 0..=column.len() {
            for len in 0..=column.len() - at {
                let slice = column.slice(at, len);
                check_equal(&round_trip(&slice, 64), &slice);
                checked += 1;
            }
        }
        check_equal(&round_trip(&new_empty_array(column.data_type()), 0), &column.slice(0, 0));
    }
    assert!(checked > 200, "only {checked} slices were checked");
}

#[test]
fn equal_rows_give_equal_bytes() {
    let all = StringArray::from(vec![Some("left"), Some("one"), None, Some("two"), Some("right")]);
    let own = StringArray::from(vec![Some("one"), None, Some("two")]);
    let (slice, own) = (ColumnPlan::new(&all.slice(1, 3), 0), ColumnPlan::new(&own, 0));
    let (slice, own) = (slice.unwrap(), own.unwrap());
    assert_eq!(slice.layout(), own.layout());
    let (mut a, mut b) = (vec![1; 192], vec![2; 192]);
    slice.fill(&mut a);
    own.fill(&mut b);
    assert_eq!(a, b);
    // Validity: rows 0 and 2, zeros after the last row.
    assert_eq!(a[0], 0b101);
    assert!(a[1..64].iter().all(|&byte| byte == 0));
    assert_eq!(a[64..80], [0, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0]);
    assert_eq!(&a[128..134], b"onetwo");
}

#[test]
fn a_slice_without_nulls_has_no_bitmap() {
    let array = Int64Array::from(vec![None, Some(1), Some(2)]);
    let plan = ColumnPlan::new(&array.slice(1, 2), 0).unwrap();
    assert_eq!((plan.segments().len(), plan.null_count()), (1, 0));
    assert!(plan.segments()[0].as_bytes().is_some());
}

#[test]
fn what_is_laid_out_anew_is_counted() {
    let text = StringArray::from((0..20).map(|i| (i % 3 > 0).then_some("x")).collect::<Vec<_>>());
    let flags = BooleanArray::from(vec![true; 20]);
    let counts = |array: &dyn Array| ColumnPlan::new(array, 0).unwrap().realigned();
    assert_eq!((counts(&text), counts(&flags)), (0, 0));
    assert_eq!(counts(&text.slice(8, 9)), 1, "offsets");
    assert_eq!(counts(&text.slice(3, 9)), 2, "and validity");
    assert_eq!((counts(&flags.slice(8, 5)), counts(&flags.slice(1, 8))), (0, 1));
}

#[test]
fn an_empty_string_column_has_one_offset() {
    let data = ArrayData::builder(DataType::Utf8)
        .add_buffer(Buffer::default())
        .add_buffer(Buffer::default());
    let plan = ColumnPlan::from_data(&data.build().unwrap(), 0).unwrap();
    assert_eq!(plan.segments().len(), 1);
    assert_eq!(plan.segments()[0].as_bytes(), Some(&[0; 4][..]));
}

/// Filtered and sliced views keep whole buffers in Arrow; the pool must not.
#[test]
fn sparse_views_are_gathered() {
    let text = |i: usize| format!("a symbol that is too long for a view {i:04}");
    let all = (0..1000).map(|i| (i % 5 != 0).then(|| text(i))).collect::<StringViewArray>();
    let whole = ColumnPlan::new(&all, 0).unwrap();
    assert!(whole.segments().iter().all(|segment| segment.len() % 16 != 1));
    let slice = all.slice(400, 10);
    let plan = ColumnPlan::new(&slice, 0).unwrap();
    assert_eq!(bytes(&plan), 2 + 10 * 16 + 8 * text(0).len() as u64);
    check_equal(&round_trip(&slice, 0), &slice);
    let nulls = all.slice(400, 1);
    assert_eq!(bytes(&ColumnPlan::new(&nulls, 0).unwrap()), 1 + 16);
    check_equal(&round_trip(&nulls, 0), &nulls);
}

/// Two far rows of a long child, out of order: the child between them stays behind.
#[test]
fn sparse_list_views_are_gathered() {
    let child = Int64Array::from_iter_values(0..10_000);
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let views = |offsets: Vec<i32>, sizes: Vec<i32>| {
        ListViewArray::new(
            Arc::clone(&item),
            offsets.into(),
            sizes.into(),
            Arc::new(child.clone()),
            None,
        )
    };
    let sparse = views(vec![9_000, 5, 77, 12], vec![3, 0, 2, 1]);
    assert_eq!(bytes(&ColumnPlan::new(&sparse, 0).unwrap()), 4 * (4 + 4) + 6 * 8);
    check_equal(&round_trip(&sparse, 0), &sparse);
    let dense = views(vec![9_000, 5, 9_004, 9_001], vec![3, 0, 2, 3]);
    assert_eq!(bytes(&ColumnPlan::new(&dense, 0).unwrap()), 4 * (4 + 4) + 6 * 8);
    check_equal(&round_trip(&dense, 0), &dense);
}

/// Arrow allows an offset on a struct itself, which its own arrays never make.
#[test]
fn a_struct_with_an_offset_of_its_own() {
    let child = Int32Array::from(vec![1, 2, 3, 4]).to_data().slice(1, 3);
    let fields = vec![Field::new("a", DataType::Int32, true)].into();
    let data = ArrayData::builder(DataType::Struct(fields)).len(2).offset(1);
    let data = data.add_child_data(child).build().unwrap();
    let plan = ColumnPlan::from_data(&data, 0).unwrap();
    assert_eq!(plan.segments()[0].as_bytes(), Some(&[3, 0, 0, 0, 4, 0, 0, 0][..]));
}

#[test]
fn misaligned_input_is_taken() {
    let mut bytes = vec![0];
    bytes.extend([2i32, 5, 9].iter().flat_map(|offset| offset.to_le_bytes()));
    let offsets = Buffer::from(bytes).slice(1);
    let builder = ArrayData::builder(DataType::Utf8).len(2).add_buffer(offsets);
    let builder = builder.add_buffer(Buffer::from(b"..abcdefg".to_vec()));
    // SAFETY: valid but for the alignment, and only planned.
    let data = unsafe { builder.build_unchecked() };
    let plan = ColumnPlan::from_data(&data, 0).unwrap();
    let layout = ColumnLayout::decode(plan.layout(), &DataType::Utf8, 2, plan.end()).unwrap();
    let back = Chunk::of(&plan).array(&layout);
    check_equal(&back, &StringArray::from(vec!["abc", "defg"]));
}

#[test]
fn broken_arrays_are_refused() {
    let utf8 = |offsets: [i32; 3]| {
        let bytes = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect::<Vec<u8>>();
        let builder = ArrayData::builder(DataType::Utf8).len(2).add_buffer(Buffer::from(bytes));
        // SAFETY: not valid, but only planned, which checks what it reads.
        unsafe { builder.add_buffer(Buffer::from(b"abc".to_vec())).build_unchecked() }
    };
    assert!(ColumnPlan::from_data(&utf8([0, 1, 3]), 0).is_ok());
    for offsets in [[0, 1, 4], [-1, 1, 3], [2, 1, 1]] {
        let result = ColumnPlan::from_data(&utf8(offsets), 0);
        assert!(matches!(result, Err(PlanError::Malformed { .. })), "{offsets:?}");
    }
}

/// The lease goes when the last buffer goes, and not before.
#[test]
fn buffers_keep_the_owner() {
    let array = StringArray::from(vec![Some("kept"), None]);
    let plan = ColumnPlan::new(&array, 0).unwrap();
    let chunk = Chunk::of(&plan);
    let layout = ColumnLayout::decode(plan.layout(), &DataType::Utf8, 2, plan.end()).unwrap();
    let back = chunk.array(&layout);
    assert_eq!(Arc::strong_count(&chunk), 1 + 3, "validity, offsets, data");
    let inside = back.to_data().buffers()[1].as_ptr();
    // SAFETY: within the chunk: its third line.
    assert_eq!(inside.cast_mut(), unsafe { chunk.start().add(128) }.as_ptr(), "no copy");
    let slice = back.slice(0, 1);
    drop(back);
    let owner = Arc::downgrade(&chunk);
    drop(chunk);
    assert!(owner.upgrade().is_some());
    check_equal(&slice, &array.slice(0, 1));
    drop(slice);
    assert!(owner.upgrade().is_none());
}

#[test]
fn corrupt_content_is_found() {
    let plan = ColumnPlan::new(&StringArray::from(vec!["ab", "cd"]), 0).unwrap();
    let layout = ColumnLayout::decode(plan.layout(), &DataType::Utf8, 2, plan.end()).unwrap();
    let mut content = vec![0; 128];
    plan.fill(&mut content);
    assert!(Chunk::new(&content).checked_array(&layout).is_ok());
    for (at, byte) in [(4, 9), (64, 0xff)] {
        let mut corrupt = content.clone();
        corrupt[at] = byte;
        let error = Chunk::new(&corrupt).checked_array(&layout).unwrap_err();
        assert_eq!(error.data_type, DataType::Utf8);
    }
}

#[test]
fn an_owner_may_be_anything() {
    let array = make_array(Int64Array::from(vec![4, 5]).to_data());
    let plan = ColumnPlan::new(&array, 0).unwrap();
    let chunk = Chunk::of(&plan);
    let layout = ColumnLayout::decode(plan.layout(), &DataType::Int64, 2, plan.end()).unwrap();
    let owner: Arc<dyn Allocation> = Arc::new((Arc::clone(&chunk), "lease"));
    // SAFETY: the owner holds the chunk, which was filled from the plan.
    let back = unsafe { layout.array(chunk.start(), &owner) };
    drop((chunk, owner));
    check_equal(&back, &array);
}
