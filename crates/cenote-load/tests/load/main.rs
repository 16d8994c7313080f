//! Files on disk through the public door.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests; they say what they skip")]

mod csv;
mod dialects;
mod evolve;
mod files;
mod fuzz;
mod int96;
mod ipc;
mod json;
mod market_data;
mod notices;
mod parquet_files;
mod paths;
mod pieces;
mod round_trip;
mod rubbish;
mod wrapped;

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use cenote_load::{LoadError, Options, Source};
use tempfile::TempDir;

/// A folder with these files; the names may have folders in them.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn open(path: &Path, options: &Options) -> Result<Source, LoadError> {
    Source::open(&[path.to_path_buf()], options)
}

/// Everything as one batch; the announced number of rows must be the one that comes.
fn load(paths: &[PathBuf], options: &Options) -> Result<RecordBatch, LoadError> {
    let source = Source::open(paths, options)?;
    let (schema, rows) = (source.schema(), source.num_rows());
    let batches = source.batches().collect::<Result<Vec<_>, _>>()?;
    let whole = concat_batches(&schema, &batches).unwrap();
    assert_eq!(Some(whole.num_rows() as u64), rows);
    Ok(whole)
}

fn load_one(path: &Path) -> Result<RecordBatch, LoadError> {
    load(&[path.to_path_buf()], &Options::default())
}

/// Loads one CSV file with this content.
fn load_csv(content: &[u8], options: &Options) -> Result<RecordBatch, LoadError> {
    let folder = folder(&[("x.csv", content)]);
    load(&[folder.path().join("x.csv")], options)
}

/// A table as text, as people read it.
fn shown(batch: &RecordBatch) -> String {
    let mut out = Vec::new();
    let mut writer = arrow_csv::WriterBuilder::new().with_null("-".into()).build(&mut out);
    writer.write(batch).unwrap();
    drop(writer);
    String::from_utf8(out).unwrap()
}

fn types(batch: &RecordBatch) -> Vec<String> {
    batch.schema().fields().iter().map(|field| field.data_type().to_string()).collect()
}
