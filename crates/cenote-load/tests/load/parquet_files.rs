//! Parquet: row groups, folders, and what is said of files that do not fit.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use cenote_load::{LoadError, Options, ParquetFault, parse_schema};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::files::zip;
use crate::{folder, load, load_one, open};

/// Writes with small row groups.
pub(crate) fn parquet(batch: &RecordBatch, group_rows: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let properties =
        WriterProperties::builder().set_max_row_group_row_count(Some(group_rows)).build();
    let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    out
}

pub(crate) fn sample(rows: i64) -> RecordBatch {
    let names: StringArray =
        (0..rows).map(|n| (n % 7 != 0).then(|| format!("S{}", n % 50))).collect();
    let list: ArrayRef = Arc::new(arrow_array::ListArray::from_iter_primitive::<
        arrow_array::types::Int64Type,
        _,
        _,
    >((0..rows).map(|n| Some((0..n % 3).map(Some)))));
    RecordBatch::try_from_iter_with_nullable([
        ("n", Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef, false),
        ("name", Arc::new(names) as ArrayRef, true),
        ("list", list, true),
    ])
    .unwrap()
}

#[test]
fn row_groups_come_in_order() {
    let batch = sample(10_000);
    let folder = folder(&[("x.parquet", &parquet(&batch, 300))]);
    let path = folder.path().join("x.parquet");
    for batch_rows in [1 << 18, 1000, 100] {
        let options = Options { batch_rows, ..Options::default() };
        assert_eq!(load(std::slice::from_ref(&path), &options).unwrap(), batch);
        for part in open(&path, &options).unwrap().batches() {
            assert!(part.unwrap().num_rows() <= batch_rows);
        }
    }
}

#[test]
fn files_are_joined_by_column_names() {
    let batch = sample(100);
    let swapped = batch.project(&[2, 0, 1]).unwrap();
    let folder = folder(&[("a.parquet", &parquet(&batch, 30)), ("b.pq", &parquet(&swapped, 30))]);
    let whole = load_one(folder.path()).unwrap();
    assert_eq!((whole.slice(0, 100), whole.slice(100, 100)), (batch.clone(), batch.clone()));
    let path = folder.path().join("x.zip");
    zip(&path, &[("a.parquet", &parquet(&batch, 30)), ("b.parquet", &parquet(&swapped, 30))]);
    assert_eq!(load_one(&path).unwrap(), whole);
}

#[test]
fn files_that_do_not_fit_are_named() {
    let ints = RecordBatch::try_from_iter([("p", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]);
    let floats =
        RecordBatch::try_from_iter([("p", Arc::new(Float64Array::from(vec![1.0])) as ArrayRef)]);
    let (ints, floats) = (parquet(&ints.unwrap(), 10), parquet(&floats.unwrap(), 10));
    let folder = folder(&[("a.parquet", &ints), ("b.parquet", &floats)]);
    let text = load_one(folder.path()).unwrap_err().to_string();
    assert!(
        text.starts_with("column `p` is Float64 in `") && text.contains("b.parquet` and Int64 in"),
        "{text}"
    );

    let options = Options { schema: parse_schema("p:utf8").ok(), ..Options::default() };
    let error = load(&[folder.path().join("a.parquet")], &options).unwrap_err();
    assert!(matches!(error, LoadError::DeclaredForTyped { .. }), "{error}");
}

#[test]
fn what_is_not_the_same_in_all_files_is_not_claimed() {
    let file = |key: &str, nullable: bool| {
        let field = Field::new("p", DataType::Int64, nullable);
        let metadata = [("same".into(), "1".into()), ("row".into(), key.into())];
        let schema =
            Schema::new_with_metadata(vec![field], std::collections::HashMap::from(metadata));
        let values = Arc::new(Int64Array::from(vec![1]));
        parquet(&RecordBatch::try_new(Arc::new(schema), vec![values]).unwrap(), 10)
    };
    let folder = folder(&[("a.parquet", &file("a", false)), ("b.parquet", &file("b", true))]);
    let schema = open(folder.path(), &Options::default()).unwrap().schema();
    assert!(schema.field(0).is_nullable());
    assert_eq!(schema.metadata().get("same").map(String::as_str), Some("1"));
    assert_eq!(schema.metadata().get("row"), None);
    assert_eq!(load_one(folder.path()).unwrap().num_rows(), 2);
}

#[test]
fn empty_tables_have_a_schema_and_no_batches() {
    let empty = sample(0);
    let folder = folder(&[("x.parquet", &parquet(&empty, 10))]);
    let source = open(folder.path(), &Options::default()).unwrap();
    assert_eq!((source.schema(), source.num_rows()), (empty.schema(), Some(0)));
    assert_eq!(source.batches().count(), 0);
}

#[test]
fn broken_files_are_told_apart() {
    let whole = parquet(&sample(1000), 300);
    let fault = |content: &[u8]| {
        let folder = folder(&[("x.parquet", content)]);
        match load_one(&folder.path().join("x.parquet")) {
            Err(LoadError::NotParquet { fault, .. }) => fault,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(fault(b"PAR1"), ParquetFault::TooShort { bytes: 4 });
    assert_eq!(fault(b"a,b\n1,2\n3,4\n"), ParquetFault::Head { found: *b"a,b\n" });
    assert!(matches!(fault(&whole[..whole.len() / 2]), ParquetFault::Tail { .. }));
    let folder = folder(&[("x.parquet", b"")]);
    let error = load_one(&folder.path().join("x.parquet")).unwrap_err();
    assert!(matches!(error, LoadError::Empty { .. }));
    // in a folder, a broken file is not passed over
    std::fs::write(folder.path().join("y.parquet"), &whole[..100]).unwrap();
    let text = load_one(folder.path()).unwrap_err().to_string();
    assert!(
        text.contains("y.parquet` is not a Parquet file that can be read: it ends with"),
        "{text}"
    );
}
