//! Predicates over frames: what is leased, what is copied, and that a filtered frame is the
//! rows that it should be, however it is come by.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use cenote::{Error, Frame, IfExists, Pool, Predicate, Selection, column};
use proptest::prelude::*;

const ROWS: usize = 20_000;
const PARTITIONS: usize = 10;

/// Ten partitions; `day` rises over all of them, `value` does not, `name` says the partition.
fn days(pool: &Pool) {
    let batch = |part: usize| {
        let whole = |n: usize| i32::try_from(n).unwrap();
        let day = Int32Array::from_iter_values(whole(part * ROWS)..whole((part + 1) * ROWS));
        let value = |i: usize| (!i.is_multiple_of(7)).then(|| ((i * 7919) % 1000) as f64);
        let value = Float64Array::from_iter((0..ROWS).map(value));
        let name = StringArray::from_iter_values((0..ROWS).map(|_| format!("part {part}")));
        let columns: [(&str, ArrayRef); 3] =
            [("day", Arc::new(day)), ("value", Arc::new(value)), ("name", Arc::new(name))];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(n, c)| (n, c, true))).unwrap()
    };
    let batches: Vec<_> = (0..PARTITIONS).map(batch).collect();
    pool.put("days", &batches, IfExists::Replace).unwrap();
}

fn pool() -> Pool {
    Pool::embedded(Some(256 << 20)).unwrap()
}

fn get(pool: &Pool, predicate: &str, columns: Option<&[&str]>) -> Frame {
    let columns = columns.map(|names| names.iter().map(|n| (*n).to_owned()).collect());
    let predicate = Some(Predicate::parse(predicate).unwrap());
    pool.get_selected("days", &Selection { columns, predicate, ..Selection::default() }).unwrap()
}

fn values(frame: &Frame, column: &str) -> Vec<Option<f64>> {
    let batches = frame.batches().unwrap();
    assert_eq!(batches.len(), frame.num_partitions());
    let of = |batch: &RecordBatch| {
        let array = arrow_array_cast(batch.column_by_name(column).unwrap());
        array.iter().collect::<Vec<_>>()
    };
    let all: Vec<_> = batches.iter().flat_map(of).collect();
    assert_eq!(all.len() as u64, frame.num_rows());
    all
}

fn arrow_array_cast(array: &ArrayRef) -> Float64Array {
    match array.as_primitive_opt::<Int32Type>() {
        Some(whole) => whole.iter().map(|v| v.map(f64::from)).collect(),
        None => array.as_primitive::<Float64Type>().clone(),
    }
}

#[test]
fn only_what_may_match_is_leased() {
    let pool = pool();
    days(&pool);
    let whole = pool.get("days").unwrap();
    // Two of ten partitions; of the second, some rows.
    let some = get(&pool, "day >= 160000 and day < 190000", Some(&["value"]));
    assert_eq!((some.num_partitions(), some.num_rows()), (2, 30_000));
    // Of one that is wanted whole the predicate's column is not needed.
    let column = whole.nbytes() / 10 / 4;
    assert!(some.nbytes() < 6 * column, "{} of {}", some.nbytes(), whole.nbytes());
    let none = get(&pool, "day < 0", None);
    assert_eq!((none.num_rows(), none.num_partitions(), none.nbytes()), (0, 0, 0));
    assert!(none.batches().unwrap().is_empty());
    assert_eq!(none.schema(), whole.schema());
    let text = some.explain();
    assert!(text.contains("partitions: 10; by their statistics 2"), "{text}");
    assert!(text.contains("of 1 all are; 1 looked at"), "{text}");
}

#[test]
fn runs_are_read_in_place_and_others_gathered() {
    let pool = pool();
    days(&pool);
    let whole = pool.get("days").unwrap().batches().unwrap();
    let at = |batch: &RecordBatch, row: usize| {
        &raw const batch.column(0).as_primitive::<Int32Type>().values()[row]
    };
    let run = get(&pool, "day between 25000 and 45000", None);
    assert_eq!(run.first_row(), Some(25_000));
    let batches = run.batches().unwrap();
    assert_eq!(at(&batches[0], 0), at(&whole[1], 5000));
    assert_eq!(at(&batches[1], 0), at(&whole[2], 0));
    let gaps = get(&pool, "day < 100 and value > 500", None);
    assert_eq!(gaps.first_row(), None);
    let batches = gaps.batches().unwrap();
    let inside = whole[0].column(0).as_primitive::<Int32Type>().values().as_ptr_range();
    assert!(!inside.contains(&at(&batches[0], 0)));
    // The frame may go; what was gathered stays.
    drop(gaps);
    assert!(batches[0].column(1).as_primitive::<Float64Type>().iter().all(|v| v.unwrap() > 500.0));
}

#[test]
fn a_reference_keeps_the_predicate_and_its_few_leases() {
    let pool = pool();
    days(&pool);
    let frame = get(&pool, "value > 900 and day < 30000", Some(&["day"]));
    let bytes = frame.reference().to_bytes();
    let again = pool.open(&cenote::FrameRef::from_bytes(&bytes).unwrap()).unwrap();
    assert_eq!(again.predicate(), frame.predicate());
    assert_eq!(again.nbytes(), frame.nbytes());
    assert_eq!(values(&again, "day"), values(&frame, "day"));
}

#[test]
fn a_frame_is_filtered_again() {
    let pool = pool();
    days(&pool);
    let frame = pool.get("days").unwrap();
    let once = frame.filter(&column("value").gt(900)).unwrap();
    let twice = once.filter(&column("name").eq("part 3")).unwrap();
    let all = get(&pool, "value > 900 and name = 'part 3'", None);
    assert_eq!(values(&twice, "day"), values(&all, "day"));
    assert_eq!(twice.predicate(), all.predicate());
    let narrow = twice.select(&["day"]).unwrap();
    assert_eq!(values(&narrow, "day"), values(&all, "day"));
    // It has no such column any more.
    assert!(matches!(narrow.filter(&column("value").gt(1)), Err(Error::NoColumn { .. })));
    let rows = Some((0, 10));
    let selection =
        Selection { rows, predicate: twice.predicate().cloned(), ..Selection::default() };
    assert_eq!(pool.get_selected("days", &selection).unwrap().num_rows(), 0);
}

#[test]
fn parts_filled_in_place_have_statistics() {
    let pool = pool();
    let schema = Arc::new(arrow_schema::Schema::new(vec![arrow_schema::Field::new(
        "n",
        arrow_schema::DataType::Int32,
        false,
    )]));
    let mut writer = pool.writer("filled", schema, IfExists::Fail).unwrap();
    for part in 0..3 {
        let partition = writer.allocate(1000).unwrap();
        let (start, bytes) = partition.column(0).unwrap();
        for (i, number) in (part * 1000..).take(bytes / 4).enumerate() {
            let to = start.as_ptr().cast::<i32>().wrapping_add(i);
            // SAFETY: the part is this test's alone, and has `bytes` bytes.
            #[expect(unsafe_code, reason = "filled as a program fills it")]
            unsafe {
                to.write(number);
            }
        }
        writer.seal(&partition).unwrap();
    }
    writer.commit().unwrap();
    let predicate = Some(column("n").ge(2500));
    let frame = pool.get_selected("filled", &Selection { predicate, ..Selection::default() });
    let frame = frame.unwrap();
    assert_eq!((frame.num_partitions(), frame.num_rows()), (1, 500));
    assert!(frame.explain().contains("by their statistics 1"));
}

fn predicates() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (0..220_000i32).prop_map(|n| format!("day >= {n}")),
        (0..220_000i32).prop_map(|n| format!("day < {n}.5")),
        (0..1000u32).prop_map(|n| format!("value != {n}")),
        (0..1000u32).prop_map(|n| format!("value <= {n}")),
        (0..12u32).prop_map(|n| format!("name = 'part {n}'")),
        (0..12u32).prop_map(|n| format!("name in ('part {n}', 'part 3')")),
        Just("value is null".to_owned()),
        Just("name like 'part _'".to_owned()),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) and ({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) or ({b})")),
            inner.prop_map(|a| format!("not ({a})")),
        ]
    })
}

#[test]
fn pruned_is_unpruned() {
    let pool = pool();
    days(&pool);
    // The same rows in one partition: hardly ever pruned.
    let whole = pool.get("days").unwrap();
    let batches = whole.batches().unwrap();
    let one = arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap();
    pool.put("one", &[one], IfExists::Fail).unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 60,
        ..ProptestConfig::default()
    });
    runner
        .run(&(predicates(), 0..200_000i64, 0..200_000i64), |(text, a, b)| {
            let predicate = Some(Predicate::parse(&text).unwrap());
            let rows = Some((a.min(b), a.max(b)));
            let selection = Selection { rows, predicate, ..Selection::default() };
            let parts = pool.get_selected("days", &selection).unwrap();
            let one = pool.get_selected("one", &selection).unwrap();
            prop_assert_eq!(values(&parts, "day"), values(&one, "day"), "{}", &text);
            prop_assert_eq!(values(&parts, "value"), values(&one, "value"));
            Ok(())
        })
        .unwrap();
    assert!(get(&pool, "day < 10", None).nbytes() < whole.nbytes());
}
