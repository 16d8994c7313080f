//! Files whose columns or types differ.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_array::{TimestampNanosecondArray, TimestampSecondArray};
use cenote_load::{LoadError, Options};

use crate::parquet_files::parquet;
use crate::{folder, load, load_one, shown, types};

fn file(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    parquet(&RecordBatch::try_from_iter(columns).unwrap(), 10)
}

fn evolving() -> Options {
    Options { evolve: true, ..Options::default() }
}

#[test]
fn strictly_a_difference_is_an_error_that_says_the_way_out() {
    let a = file(vec![("p", Arc::new(Int32Array::from(vec![1])))]);
    let b = file(vec![("p", Arc::new(Int64Array::from(vec![2])))]);
    let folder = folder(&[("a.parquet", &a), ("b.parquet", &b)]);
    let text = load_one(folder.path()).unwrap_err().to_string();
    assert!(text.starts_with("column `p` is Int64 in `"), "{text}");
    assert!(text.ends_with("a.parquet`; --evolve makes both Int64"), "{text}");
    let whole = load(&[folder.path().to_path_buf()], &evolving()).unwrap();
    assert_eq!((shown(&whole), types(&whole)), ("p\n1\n2\n".into(), vec!["Int64".to_owned()]));
}

#[test]
fn columns_that_a_file_lacks_are_null() {
    let a = file(vec![
        ("n", Arc::new(Int32Array::from(vec![1])) as ArrayRef),
        ("s", Arc::new(StringArray::from(vec!["x"]))),
    ]);
    let b = file(vec![
        ("new", Arc::new(Int64Array::from(vec![7])) as ArrayRef),
        ("n", Arc::new(Float64Array::from(vec![2.5]))),
    ]);
    let folder = folder(&[("a.parquet", &a), ("b.parquet", &b)]);
    let path = [folder.path().to_path_buf()];
    let whole = load(&path, &evolving()).unwrap();
    assert_eq!(shown(&whole), "n,s,new\n1.0,x,-\n2.5,-,7\n");
    assert!(whole.schema().fields().iter().skip(1).all(|field| field.is_nullable()));
    let one = Options { columns: Some(vec!["new".into()]), ..evolving() };
    assert_eq!(shown(&load(&path, &one).unwrap()), "new\n-\n7\n");
}

/// Pieces of a large file, small files together, declared and inferred columns.
#[test]
fn csv_files_may_lack_columns() {
    let many = "n,s\n".to_owned() + &"1,x\n".repeat(1 << 20);
    let small = b"d,b,s,t,f,new,n\n2013-02-08,true,y,2013-02-08 09:30:00,0.5,7,2\n";
    let (blank, last): (&[u8], &[u8]) = (b"\n", b"n,f\n3,1.5\n");
    let files: [(&str, &[u8]); 4] =
        [("a.csv", many.as_bytes()), ("b.csv", small), ("c.csv", blank), ("d.csv", last)];
    let folder = folder(&files);
    let paths = [folder.path().to_path_buf()];
    let error = load(&paths, &Options::default()).unwrap_err();
    assert!(matches!(error, LoadError::ColumnsDiffer { .. }), "{error}");
    let schema = cenote_load::parse_schema("new:int32").unwrap();
    let whole = load(&paths, &Options { schema: Some(schema), ..evolving() }).unwrap();
    let names = ["Int64", "Utf8", "Date32", "Boolean", "Timestamp(s)", "Float64", "Int32"];
    assert_eq!(crate::types(&whole), names);
    let rows = whole.num_rows();
    assert_eq!(rows, (1 << 20) + 2);
    assert_eq!(
        shown(&whole.slice(rows - 3, 3)),
        "n,s,d,b,t,f,new\n1,x,-,-,-,-,-\n2,y,2013-02-08,true,2013-02-08T09:30:00,0.5,7\n\
         3,-,-,-,-,1.5,-\n"
    );
    let nulls: Vec<usize> = whole.columns().iter().map(|c| c.null_count()).collect();
    assert_eq!(nulls, [0, 1, rows - 1, rows - 1, rows - 1, rows - 2, rows - 1]);
    let one = Options { columns: Some(vec!["new".into(), "n".into()]), ..evolving() };
    let whole = load(&paths, &one).unwrap();
    assert_eq!(shown(&whole.slice(rows - 2, 2)), "new,n\n7,2\n-,3\n");
    let twice = crate::folder(&[("a.csv", b"n\n1\n"), ("b.csv", b"n,m,m\n1,2,3\n")]);
    let error = load(&[twice.path().to_path_buf()], &evolving()).unwrap_err();
    assert!(matches!(error, LoadError::DuplicateColumns { .. }), "{error}");
}

#[test]
fn what_would_lose_something_stays_an_error() {
    let a = file(vec![("p", Arc::new(Int64Array::from(vec![1])))]);
    let b = file(vec![("p", Arc::new(StringArray::from(vec!["2"])))]);
    let folder = folder(&[("a.parquet", &a), ("b.parquet", &b)]);
    let error = load(&[folder.path().to_path_buf()], &evolving()).unwrap_err();
    assert!(matches!(error, LoadError::TypesDiffer { .. }), "{error}");
}

#[test]
fn a_time_beyond_the_finer_unit_is_an_error() {
    let a = file(vec![("t", Arc::new(TimestampNanosecondArray::from(vec![1])))]);
    // seconds are kept as milliseconds in Parquet
    let b = file(vec![("t", Arc::new(TimestampSecondArray::from(vec![10_000_000_000])))]);
    let folder = folder(&[("a.parquet", &a), ("b.parquet", &b)]);
    let error = load(&[folder.path().to_path_buf()], &evolving()).unwrap_err();
    let LoadError::Widen { column, source, .. } = &error else { panic!("{error:?}") };
    assert_eq!(column, "t");
    assert!(source.to_string().to_lowercase().contains("overflow"), "{source}");
}
