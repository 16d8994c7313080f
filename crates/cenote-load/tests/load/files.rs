//! Folders, archives, several paths.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use cenote_load::{Checksums, Kind, LoadError, Meter, Options, Source, Stage, Wrap};
use flate2::{Compression, write::GzEncoder};
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{folder, load, load_one, open, shown};

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zip(path: &std::path::Path, members: &[(&str, &[u8])]) {
    let mut writer = ZipWriter::new(File::create(path).unwrap());
    for (name, content) in members {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn a_folder_is_read_in_order_of_paths() {
    let folder = folder(&[
        ("b.csv", b"x,y\n3,c\n"),
        ("a/z.csv", b"y,x\nb,2.5\n"),
        ("a/b.csv.gz", &gzip(b"x,y\n1,a\n")),
        ("a/.hidden.csv", b"rubbish\n"),
        (".git/x.csv", b"rubbish\n"),
        ("README.md", b"not a table"),
        ("empty.csv", b""),
        ("blank.csv", b"\n"),
        ("only_header.csv", b"y,x\n"),
    ]);
    symlink(folder.path().join("b.csv"), folder.path().join("c.csv")).unwrap();
    symlink(folder.path(), folder.path().join("loop")).unwrap();
    let batch = load_one(folder.path()).unwrap();
    assert_eq!(shown(&batch), "x,y\n1.0,a\n2.5,b\n3.0,c\n3.0,c\n");
    let source = open(folder.path(), &Options::default()).unwrap();
    assert_eq!(source.files().len(), 5);
    assert!(source.files().iter().all(|file| file.kind() == Kind::Csv && file.bytes() > 0));
}

#[test]
fn an_archive_is_read_like_a_folder() {
    let folder = folder(&[]);
    let path = folder.path().join("x.zip");
    zip(
        &path,
        &[
            ("prices/b.csv", b"x\n2\n"),
            ("prices/a.csv", b"x\n1\n"),
            ("__MACOSX/prices/._a.csv", b"\0\0"),
            ("notes.txt", b"x"),
        ],
    );
    assert_eq!(shown(&load_one(&path).unwrap()), "x\n1\n2\n");
    // an archive in a folder, and one whose name does not say so
    assert_eq!(shown(&load_one(folder.path()).unwrap()), "x\n1\n2\n");
    let renamed = folder.path().join("prices");
    fs::rename(&path, &renamed).unwrap();
    assert_eq!(shown(&load_one(&renamed).unwrap()), "x\n1\n2\n");
}

/// Of the bytes as stored: of a compressed file, the compressed ones.
#[test]
fn checksums_of_files_are_those_of_their_bytes() {
    let folder = folder(&[("a.csv", b"x\n1\n"), ("b.csv.gz", &gzip(b"x\n2\n"))]);
    zip(&folder.path().join("c.zip"), &[("d.csv", b"x\n3\n")]);
    let meter = Meter::new();
    let paths = [folder.path().to_path_buf()];
    let source = Source::begin(&paths, &Options::default(), &meter).unwrap();
    let found = Checksums::begin(source.files(), &meter).unwrap().finish().unwrap();
    let wanted = [&b"x\n1\n"[..], &gzip(b"x\n2\n"), b"x\n3\n"].map(cenote_region::copy::hash);
    assert_eq!(found, wanted);
    fs::write(folder.path().join("a.csv"), "x\n1\n2\n").unwrap();
    let error = Checksums::begin(source.files(), &meter).unwrap().finish().unwrap_err();
    assert!(matches!(error, LoadError::Changed { .. }), "{error}");
    meter.cancel();
    let error = Checksums::begin(&source.files()[1..], &meter).unwrap().finish().unwrap_err();
    assert!(matches!(error, LoadError::Cancelled), "{error}");
}

#[test]
fn a_text_that_says_it_is_something_else_is_refused() {
    let folder = folder(&[("script.py", b"import os, sys\n"), ("x.txt", b"a,b\n1,2\n")]);
    let path = folder.path().join("script.py");
    let text = load_one(&path).unwrap_err().to_string();
    assert!(text.contains("script.py` is none of .csv, .tsv, .txt, .parquet"), "{text}");
    fs::write(folder.path().join("p.md.gz"), gzip(b"a,b\n1,2\n")).unwrap();
    let error = load_one(&folder.path().join("p.md.gz")).unwrap_err();
    assert!(matches!(error, LoadError::UnknownEnding { .. }), "{error}");
    let as_csv = Options { format: Some(Kind::Csv), ..Options::default() };
    assert_eq!(load(&[path], &as_csv).unwrap().num_columns(), 2);
    assert_eq!(load_one(&folder.path().join("x.txt")).unwrap().num_columns(), 2);
}

#[test]
fn errors_in_an_archive_name_the_member() {
    let folder = folder(&[]);
    let path = folder.path().join("x.zip");
    zip(&path, &[("a.csv", b"x,y\n1,2\n"), ("b.csv", b"x,y\n1\n")]);
    let text = load_one(&path).unwrap_err().to_string();
    assert!(text.contains("x.zip: b.csv`, line 2: 1 field where the first record has 2"), "{text}");

    // a flipped bit in the compressed data is found by the member's checksum
    let text = "x,y\n".to_owned() + &"1,2\n".repeat(10_000);
    zip(&path, &[("a.csv", text.as_bytes())]);
    let mut bytes = fs::read(&path).unwrap();
    bytes[60] ^= 0x10;
    fs::write(&path, &bytes).unwrap();
    load_one(&path).unwrap_err();
    fs::write(&path, &bytes[..bytes.len() - 30]).unwrap();
    assert!(matches!(load_one(&path), Err(LoadError::Archive { .. })));
    let cut = gzip(text.as_bytes());
    fs::write(folder.path().join("x.csv.gz"), &cut[..cut.len() - 20]).unwrap();
    let error = load_one(&folder.path().join("x.csv.gz")).unwrap_err();
    assert!(matches!(error, LoadError::Unpack { wrap: Wrap::Gzip, .. }), "{error}");
    assert!(error.to_string().contains("is not whole gzip: it is truncated"), "{error}");
}

#[test]
fn files_must_have_the_same_columns() {
    let case = |content: &[u8]| {
        let folder = folder(&[("a.csv", b"x,y\n1,2\n"), ("b.csv", content)]);
        load_one(folder.path()).unwrap_err().to_string()
    };
    let text = case(b"x,z\n1,2\n");
    assert!(text.contains("b.csv` does not fit `"), "{text}");
    assert!(text.ends_with("a.csv`: without `y` with additional `z`"), "{text}");
    assert!(case(b"x\n1\n").ends_with("without `y`"));
    assert!(case(b"x,y,x\n1,2,3\n").contains("has column `x` twice"));
}

#[test]
fn what_cannot_be_loaded_is_said() {
    let folder = folder(&[
        ("mixed/a.csv", b"x\n1\n"),
        ("mixed/b.bin", b"PAR1xxxxxxxxPAR1"),
        ("none/README.md", b"x"),
        ("binary", b"\x7fELF\0\0\0"),
        ("text", b"x\n1\n"),
    ]);
    let error = |name: &str| load_one(&folder.path().join(name)).unwrap_err();
    let text = error("mixed").to_string();
    assert!(text.contains("a.csv` is CSV and `") && text.contains("b.bin` is Parquet"), "{text}");
    assert!(matches!(error("none"), LoadError::NothingToLoad { skipped: 1, .. }));
    assert!(matches!(error("binary"), LoadError::UnknownKind { .. }));
    assert!(matches!(error("missing"), LoadError::Io { .. }));
    assert!(matches!(load(&[], &Options::default()), Err(LoadError::NothingToLoad { .. })));
    let null = load_one(&PathBuf::from("/dev/null"));
    assert!(matches!(null, Err(LoadError::NotAFile { .. })));
    // text without an extension is CSV where it was named
    assert_eq!(shown(&load_one(&folder.path().join("text")).unwrap()), "x\n1\n");
}

#[test]
fn many_small_files_are_few_batches() {
    let files: Vec<(String, String)> =
        (0..200).map(|n| (format!("{n:03}.csv"), format!("n\n{n}\n{n}\n"))).collect();
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    let folder = folder(&files);
    let rows = |batch_rows| -> Vec<usize> {
        let options = Options { batch_rows, ..Options::default() };
        let batches = open(folder.path(), &options).unwrap().batches();
        batches.map(|batch| batch.unwrap().num_rows()).collect()
    };
    assert_eq!(rows(1 << 18), [400]);
    assert_eq!(rows(100), [100; 4]);
    assert_eq!(rows(99), [[98].repeat(4), vec![8]].concat());
}

#[test]
fn progress_ends_at_the_total_and_cancelling_ends_the_load() {
    let text = "x,y\n".to_owned() + &"1,2\n".repeat(100_000);
    let folder = folder(&[("a.csv", text.as_bytes()), ("b.csv.gz", &gzip(text.as_bytes()))]);
    let (options, meter) = (Options { batch_rows: 10_000, ..Options::default() }, Meter::new());
    let paths = [folder.path().to_path_buf()];
    let source = Source::open_with(&paths, &options, &meter).unwrap();
    let progress = meter.read();
    assert_eq!(progress.stage, Stage::Scanning);
    assert_eq!(
        (progress.bytes_done, progress.bytes_total),
        (source.bytes_total(), source.bytes_total())
    );
    let total = source.bytes_total();
    let mut batches = source.batches();
    assert_eq!(batches.by_ref().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 200_000);
    let progress = batches.progress();
    assert_eq!((progress.stage, progress.rows_done, progress.file), (Stage::Decoding, 200_000, 1));
    assert_eq!(progress.bytes_done, total);

    let mut batches = Source::open_with(&paths, &options, &meter).unwrap().batches();
    batches.next().unwrap().unwrap();
    meter.cancel();
    assert!(matches!(batches.next(), Some(Err(LoadError::Cancelled))));
    assert!(batches.next().is_none());
    assert!(matches!(Source::open_with(&paths, &options, &meter), Err(LoadError::Cancelled)));
}

#[test]
fn a_stream_dropped_early_ends_its_threads() {
    let text = "x,y\n".to_owned() + &"1,2\n".repeat(100_000);
    let folder = folder(&[("a.csv", text.as_bytes()), ("b.csv.gz", &gzip(text.as_bytes()))]);
    let options = Options { batch_rows: 100, ..Options::default() };
    for taken in 0..20 {
        let mut batches = open(folder.path(), &options).unwrap().batches();
        assert_eq!(batches.by_ref().take(taken).count(), taken);
        drop(batches); // joins
    }
}

#[test]
fn after_an_error_nothing_comes() {
    let folder = folder(&[("a.csv", b"x\n1\n"), ("b.csv", b"x\n2\n"), ("c.csv", b"x\ny\n")]);
    let schema = cenote_load::parse_schema("x:int64").ok();
    let options = Options { schema, ..Options::default() };
    let source = Source::begin(&[folder.path().to_path_buf()], &options, &Meter::new()).unwrap();
    let mut batches = source.batches();
    assert!(matches!(batches.next(), Some(Err(LoadError::Value { line: 2, .. }))));
    assert_eq!(batches.count(), 0);
}

#[test]
fn a_file_that_changes_between_the_passes_is_refused() {
    let folder = folder(&[("a.csv", b"x\n1\n")]);
    let source = open(folder.path(), &Options::default()).unwrap();
    fs::write(folder.path().join("a.csv"), b"x\n1\ntwo\n").unwrap();
    let mut batches = source.batches();
    assert!(matches!(batches.next(), Some(Err(LoadError::Changed { .. }))));
    assert!(batches.next().is_none());
}
