//! Times in INT96: kept exactly, or refused.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampNanosecondType;
use cenote_load::LoadError;
use parquet::data_type::{Int96, Int96Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const EPOCH: u32 = 2_440_588;

/// Writes one time a Julian day, one nanosecond after midnight.
fn write(path: &Path, days: &[u32]) {
    let schema = Arc::new(parse_message_type("message m { required int96 t; }").unwrap());
    let properties = Arc::new(WriterProperties::default());
    let mut file =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, properties).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let times: Vec<Int96> = days.iter().map(|day| Int96::from(vec![1, 0, *day])).collect();
    column.typed::<Int96Type>().write_batch(&times, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    file.close().unwrap();
}

#[test]
fn int96_is_kept_exactly_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write(&path, &[EPOCH, EPOCH + 19_723]);
    let batch = crate::load_one(&path).unwrap();
    let times = batch.column(0).as_primitive::<TimestampNanosecondType>();
    assert_eq!(times.values(), &[1, 19_723 * 86_400_000_000_000 + 1]);

    write(&path, &[EPOCH, EPOCH + 200_000]);
    match crate::load_one(&path) {
        Err(LoadError::Int96 { column, row_group: 0, seconds, .. }) => {
            assert_eq!((column.as_str(), seconds), ("t", 200_000 * 86_400));
        }
        other => panic!("{other:?}"),
    }
}
