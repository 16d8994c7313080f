//! Random tables written by arrow's CSV writer read back equal.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use cenote_load::Options;
use proptest::prelude::*;

use crate::{folder, load};

/// Values of one column, with what makes the type plain put first.
fn column(rows: usize) -> impl Strategy<Value = ArrayRef> {
    fn some<T: std::fmt::Debug>(
        value: impl Strategy<Value = T>,
        rows: usize,
    ) -> impl Strategy<Value = Vec<Option<T>>> {
        proptest::collection::vec(proptest::option::weighted(0.9, value), rows)
    }
    // the first value decides what a column without others would be
    fn first<T>(mut values: Vec<Option<T>>, value: T) -> Vec<Option<T>> {
        if let Some(first) = values.first_mut() {
            *first = Some(value);
        }
        values
    }
    let float = prop_oneof![any::<f64>(), -1e6..1e6f64, Just(f64::NAN), Just(f64::NEG_INFINITY)];
    prop_oneof![
        some(any::<bool>(), rows)
            .prop_map(|v| Arc::new(BooleanArray::from(first(v, true))) as ArrayRef),
        some(any::<i64>(), rows).prop_map(|v| Arc::new(Int64Array::from(first(v, 0))) as ArrayRef),
        some(float, rows).prop_map(|v| Arc::new(Float64Array::from(first(v, 0.5))) as ArrayRef),
        some(-700_000..2_900_000i32, rows)
            .prop_map(|v| Arc::new(Date32Array::from(first(v, 0))) as ArrayRef),
        some(-9_000_000_000_000_000..9_000_000_000_000_000i64, rows)
            .prop_map(|v| Arc::new(TimestampMicrosecondArray::from(first(v, 1))) as ArrayRef),
        // an empty string cannot be told from null
        some("\\PC{1,12}|[,\"\n\r a]{1,6}", rows)
            .prop_map(|v| Arc::new(StringArray::from(first(v, "x".into()))) as ArrayRef),
    ]
}

fn table() -> impl Strategy<Value = RecordBatch> {
    (1usize..60, 1usize..6).prop_flat_map(|(rows, columns)| {
        proptest::collection::vec(column(rows), columns).prop_map(|columns| {
            let named = columns.into_iter().enumerate().map(|(n, c)| (format!("c {n}"), c, true));
            RecordBatch::try_from_iter_with_nullable(named).unwrap()
        })
    })
}

fn csv(batch: &RecordBatch) -> Vec<u8> {
    let mut out = Vec::new();
    arrow_csv::Writer::new(&mut out).write(batch).unwrap();
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn csv_reads_back_equal(batch in table(), at in any::<prop::sample::Index>(), batch_rows in 1usize..80) {
        // as two files, the second with its columns the other way round
        let at = at.index(batch.num_rows());
        let (head, tail) = (batch.slice(0, at), batch.slice(at, batch.num_rows() - at));
        let reversed: Vec<usize> = (0..tail.num_columns()).rev().collect();
        let tail = tail.project(&reversed).unwrap();
        let (head, tail) = (csv(&head), csv(&tail));
        let mut files = vec![("b.csv", tail.as_slice())];
        if at > 0 {
            files.insert(0, ("a.csv", head.as_slice()));
        }
        let folder = folder(&files);
        let options = Options { batch_rows, ..Options::default() };
        let mut read = load(&[folder.path().to_path_buf()], &options).unwrap();
        if at == 0 {
            read = read.project(&reversed).unwrap();
        }
        prop_assert_eq!(&read, &batch);
    }
}
