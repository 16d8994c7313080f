//! Compressed files and archives, damaged ones too.

use std::fs;
use std::io::Write;

use bzip2::write::BzEncoder;
use cenote_load::LoadError;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::{folder, load_one, shown};

const TEXT: &[u8] = b"x,y\n1,a\n2,b\n";

fn wrapped() -> Vec<(&'static str, Vec<u8>)> {
    let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(TEXT).unwrap();
    let mut bzip2 = BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(TEXT).unwrap();
    let mut xz = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
    xz.write_all(TEXT).unwrap();
    vec![
        ("gz", gzip.finish().unwrap()),
        ("bz2", bzip2.finish().unwrap()),
        ("xz", xz.finish().unwrap()),
        ("zst", zstd::encode_all(TEXT, 1).unwrap()),
    ]
}

#[test]
fn each_wrapper_alone_and_in_a_folder() {
    let mut looked = 0;
    for (ending, bytes) in wrapped() {
        let name = format!("x.csv.{ending}");
        let folder = folder(&[(&name, &bytes), ("unnamed", &bytes)]);
        assert_eq!(shown(&load_one(&folder.path().join(&name)).unwrap()), "x,y\n1,a\n2,b\n");
        // by what it is, not by what it is called
        assert_eq!(load_one(&folder.path().join("unnamed")).unwrap().num_rows(), 2);
        assert_eq!(load_one(folder.path()).unwrap().num_rows(), 2);
        looked += 1;
    }
    assert_eq!(looked, 4);
}

#[test]
fn pieces_one_after_the_other_are_one_file() {
    for (ending, bytes) in wrapped() {
        let twice = [bytes.clone(), bytes].concat();
        let folder = folder(&[(&format!("x.csv.{ending}"), &twice)]);
        let error = load_one(folder.path()).map(|batch| batch.num_rows());
        // the second header is a row of text
        assert_eq!(error.unwrap(), 5, "{ending}");
    }
}

#[test]
fn a_damaged_wrapper_names_the_file() {
    for (ending, bytes) in wrapped() {
        let cut = &bytes[..bytes.len() - 9];
        let folder = folder(&[(&format!("x.csv.{ending}"), cut)]);
        let error = load_one(folder.path()).unwrap_err();
        assert!(matches!(error, LoadError::Unpack { .. }), "{ending}: {error:?}");
        assert!(error.to_string().contains(&format!("x.csv.{ending}`")), "{error}");
    }
}

#[test]
fn archives_hold_members_of_every_method() {
    let folder = folder(&[]);
    let path = folder.path().join("x.zip");
    let mut writer = ZipWriter::new(fs::File::create(&path).unwrap());
    let methods = [
        CompressionMethod::Stored,
        CompressionMethod::Deflated,
        CompressionMethod::Bzip2,
        CompressionMethod::Zstd,
    ];
    for (number, method) in methods.into_iter().enumerate() {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(format!("d/{number}.csv"), options).unwrap();
        writer.write_all(TEXT).unwrap();
    }
    // a member that is itself compressed
    writer.start_file("d/9.csv.zst", SimpleFileOptions::default()).unwrap();
    writer.write_all(&zstd::encode_all(TEXT, 1).unwrap()).unwrap();
    writer.finish().unwrap();
    assert_eq!(load_one(&path).unwrap().num_rows(), 10);
}

#[test]
fn what_fills_a_disk_is_refused() {
    // two gigabytes of nothing in some hundred kilobytes
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    let zeros = vec![b'\n'; 16 << 20];
    for _ in 0..128 {
        encoder.write_all(&zeros).unwrap();
    }
    let bytes = encoder.finish().unwrap();
    assert!(bytes.len() < 1 << 18, "{}", bytes.len());
    let folder = folder(&[("x.jsonl.zst", &bytes)]);
    let error = load_one(folder.path()).unwrap_err();
    let LoadError::Io { source, .. } = error else { panic!("{error:?}") };
    assert!(source.to_string().contains("unpacks to more than"), "{source}");
}
