//! Arrow IPC files and streams.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{DictionaryArray, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use cenote_load::{Kind, LoadError, Options};

use crate::parquet_files::sample;
use crate::{folder, load, load_one, open, shown};

fn file(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let schema = batches[0].schema();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

#[test]
fn files_and_streams_are_the_same_table() {
    let whole = sample(10_000);
    let batches: Vec<_> = (0..10).map(|n| whole.slice(n * 1000, 1000)).collect();
    let zstd = file(&batches, Some(CompressionType::ZSTD));
    let lz4 = file(&batches, Some(CompressionType::LZ4_FRAME));
    let kinds = [file(&batches, None), stream(&batches), zstd, lz4];
    for bytes in &kinds {
        // told by its content
        let folder = folder(&[("x", bytes), ("y.feather", bytes)]);
        assert_eq!(load_one(&folder.path().join("x")).unwrap(), whole);
        let source = open(folder.path(), &Options::default()).unwrap();
        assert_eq!((source.files()[0].kind(), source.num_rows()), (Kind::Arrow, Some(20_000)));
        let small = Options { batch_rows: 300, ..Options::default() };
        assert_eq!(load(&[folder.path().join("y.feather")], &small).unwrap(), whole);
    }
    let zipped = zstd::encode_all(kinds[1].as_slice(), 1).unwrap();
    let folder = folder(&[("x.arrows.zst", &zipped)]);
    assert_eq!(load_one(folder.path()).unwrap(), whole);
}

#[test]
fn a_stream_may_replace_its_dictionary() {
    let batch = |values: &[&str]| {
        let column: DictionaryArray<Int32Type> = values.iter().copied().collect();
        RecordBatch::try_from_iter([("d", Arc::new(column) as _)]).unwrap()
    };
    let batches = [batch(&["a", "b", "a"]), batch(&["c", "a"]), batch(&["z"])];
    let folder = folder(&[("x.arrows", &stream(&batches))]);
    assert_eq!(shown(&load_one(folder.path()).unwrap()), "d\na\nb\na\nc\na\nz\n");
}

#[test]
fn every_cut_is_an_error_or_a_table() {
    let batches = [sample(50), sample(30)];
    for (bytes, least) in [(file(&batches, None), 6), (stream(&batches), 1)] {
        let mut whole = 0;
        for length in least..bytes.len() {
            let folder = folder(&[("x.arrow", &bytes[..length])]);
            match load_one(&folder.path().join("x.arrow")) {
                // a stream may end after any message
                Ok(batch) => {
                    assert!([0, 50, 80].contains(&batch.num_rows()));
                    whole += 1;
                }
                Err(error) => assert!(error.to_string().contains("x.arrow"), "{error}"),
            }
        }
        assert!(whole < 16, "{whole}");
    }
    let folder = folder(&[("x.arrow", b"rubbish that is long enough")]);
    let error = load_one(folder.path()).unwrap_err();
    assert!(matches!(error, LoadError::Ipc { .. }), "{error:?}");
}
