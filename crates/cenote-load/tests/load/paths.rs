//! Patterns, folders that are columns, files beside the data.

use std::fs;
use std::path::PathBuf;

use cenote_load::{Kind, LoadError, Options, Source};

use crate::parquet_files::{parquet, sample};
use crate::{folder, load, load_one, open, shown, types};

#[test]
fn patterns_match_files_and_folders() {
    let folder = folder(&[
        ("a/part-10.csv", b"x\n10\n"),
        ("a/part-9.csv", b"x\n9\n"),
        ("a/deep/er/part-1.csv", b"x\n1\n"),
        ("a/notes.md", b"x"),
        ("b/part-2.csv", b"x\n2\n"),
    ]);
    let shown_of =
        |pattern: &str| shown(&load_one(&folder.path().join(pattern)).unwrap()).replace('\n', " ");
    assert_eq!(shown_of("a/*.csv"), "x 9 10 ");
    assert_eq!(shown_of("a/**/*"), "x 1 9 10 ");
    assert_eq!(shown_of("[ab]"), "x 1 9 10 2 ");
    assert_eq!(shown_of("**/part-?.csv"), "x 1 9 2 ");
    let none = load_one(&folder.path().join("*.parquet")).unwrap_err();
    assert!(matches!(none, LoadError::NoMatch { .. }), "{none}");
    let wrong = load_one(&folder.path().join("a/***.csv")).unwrap_err();
    assert!(matches!(wrong, LoadError::Pattern { .. }), "{wrong}");
    // a file whose name looks like a pattern is that file
    fs::write(folder.path().join("x[1].csv"), "x\n7\n").unwrap();
    assert_eq!(shown_of("x[1].csv"), "x 7 ");
}

#[test]
fn files_beside_the_data_are_skipped_and_counted() {
    let folder = folder(&[
        ("part.csv", b"x\n1\n"),
        ("_SUCCESS", b""),
        (".part.csv.crc", b"x"),
        ("_delta_log/0.json", b"{}"),
        ("notes.md", b"x"),
    ]);
    let source = open(folder.path(), &Options::default()).unwrap();
    assert_eq!((source.files().len(), source.num_skipped()), (1, 4));
}

#[test]
fn folders_are_columns() {
    let files: Vec<(String, Vec<u8>)> = [(2, "N"), (10, "N"), (2, "O'X%20"), (3, "Q")]
        .iter()
        .map(|(day, venue)| {
            let path = format!("date=2024-01-{day:02}/venue={venue}/m={day}/part.parquet");
            (path, parquet(&sample(5), 3))
        })
        .collect();
    let files: Vec<_> = files.iter().map(|(path, b)| (path.as_str(), b.as_slice())).collect();
    let folder = folder(&files);
    let whole = load_one(folder.path()).unwrap();
    assert_eq!(whole.num_rows(), 20);
    assert_eq!(types(&whole)[3..], ["Date32", "Dictionary(Int32, Utf8)", "Int64"]);
    let paths = whole.project(&[3, 4, 5]).unwrap();
    let rows: Vec<String> = shown(&paths).lines().map(str::to_owned).collect();
    assert_eq!((&*rows[1], &*rows[6]), ("2024-01-02,N,2", "2024-01-02,O'X ,2"));
    assert_eq!((&*rows[11], &*rows[20]), ("2024-01-03,Q,3", "2024-01-10,N,10"));

    // chosen and in order; below a folder that is one, it is none
    let wanted = |columns: &[&str]| Options {
        columns: Some(columns.iter().map(|c| (*c).to_owned()).collect()),
        ..Options::default()
    };
    let path = folder.path().to_path_buf();
    let some = load(std::slice::from_ref(&path), &wanted(&["m"])).unwrap();
    assert_eq!(types(&some), ["Int64"]);
    let some = load(std::slice::from_ref(&path), &wanted(&["venue", "name"])).unwrap();
    assert_eq!(types(&some), ["Dictionary(Int32, Utf8)", "Utf8"]);
    let below = load_one(&path.join("date=2024-01-10")).unwrap();
    assert_eq!(below.num_columns(), 5);
    let off = Options { hive: false, ..Options::default() };
    assert_eq!(load(std::slice::from_ref(&path), &off).unwrap().num_columns(), 3);
    let none = load(&[path], &wanted(&["nowhere"])).unwrap_err();
    assert!(matches!(none, LoadError::NoSuchColumn { .. }), "{none}");
}

#[test]
fn a_column_of_both_folder_and_file_is_an_error() {
    let folder = folder(&[("x=1/x.csv", b"x\n1\n")]);
    let error = load_one(folder.path()).unwrap_err();
    assert!(matches!(error, LoadError::PathColumn { .. }), "{error}");
}

#[test]
fn folders_that_say_different_columns_are_an_error() {
    let folder = folder(&[("a=1/x.csv", b"x\n1\n"), ("b=1/x.csv", b"x\n1\n")]);
    let text = load_one(folder.path()).unwrap_err().to_string();
    assert!(text.contains("name `b` and those above `"), "{text}");
}

#[test]
fn a_format_can_be_said() {
    let folder = folder(&[("x.dat", b"x;y\n1;2\n"), ("y.log", b"x;y\n3;4\n")]);
    let options = Options { format: Some(Kind::Csv), delimiter: Some(b';'), ..Options::default() };
    let batch = load(&[folder.path().to_path_buf()], &options).unwrap();
    assert_eq!(shown(&batch), "x,y\n1,2\n3,4\n");
}

#[test]
fn what_is_known_and_not_loaded_says_the_way_out() {
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    let folder = folder(&[("x.orc", b"ORC\x0a\x0b"), ("x.tar", &tar)]);
    let text = load_one(&folder.path().join("x.orc")).unwrap_err().to_string();
    assert!(text.contains("is ORC, which is not loaded: read it with pyarrow.orc"), "{text}");
    let text = load_one(&folder.path().join("x.tar")).unwrap_err().to_string();
    assert!(text.contains("is a tar archive"), "{text}");
    let fifo = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
    assert!(matches!(load_one(&fifo), Err(LoadError::NotAFile { .. })));
    assert!(matches!(load_one(&PathBuf::from("/dev/zero")), Err(LoadError::NotAFile { .. })));
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(Source::open(&[empty], &Options::default()).is_err());
}
