//! Frames into files of every format, to standard output, and back.

use std::io::Write;
use std::process::Stdio;

use crate::support::{Scratch, prices, text};

#[test]
fn each_format_goes_out_and_comes_back() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("p.csv", prices("AAA", 300));
    scratch.ok(&["put", "p.csv"]);
    let whole = prices("AAA", 300);
    let endings = [
        "parquet",
        "arrow",
        "arrows",
        "csv",
        "csv.gz",
        "csv.zst",
        "jsonl",
        "jsonl.gz",
        "jsonl.zst",
    ];
    for ending in endings {
        let file = format!("out.{ending}");
        let written = scratch.json(&["get", "p", "-o", &file]);
        assert_eq!(written["num_rows"], 300);
        assert_eq!(written["bytes"], std::fs::metadata(scratch.path(&file)).unwrap().len());
        scratch.ok(&["put", &file, "--name", "back", "--replace"]);
        let back = scratch.ok(&["get", "back", "--format", "csv", "-o", "-"]);
        // JSON has no dates: they come back as the text that they were
        assert_eq!(back, whole, "{ending}");
    }
}

#[test]
fn standard_input_is_put_and_standard_output_is_written() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    let put = |arguments: &[&str], content: &[u8]| {
        let mut command = scratch.command(arguments);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(content).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let csv = prices("AAA", 50);
    assert_eq!(put(&["put", "-", "--name", "a", "--format", "csv"], csv.as_bytes()).0, Some(0));
    let stream = scratch.command(&["get", "a", "-o", "-", "--format", "arrows"]).output().unwrap();
    // told by its content
    assert_eq!(put(&["put", "-", "--name", "b"], &stream.stdout).0, Some(0));
    let parquet =
        scratch.command(&["get", "a", "-o", "-", "--format", "parquet"]).output().unwrap();
    assert_eq!(put(&["put", "-", "--name", "c"], &parquet.stdout).0, Some(0));
    for name in ["a", "b", "c"] {
        assert_eq!(scratch.ok(&["get", name, "-o", "-", "--format", "csv"]), csv, "{name}");
    }
    assert_eq!(scratch.json(&["ls"])[0]["source"], "standard input");
    let (code, said) = put(&["put", "-", "--name", "d"], b"");
    assert!(code == Some(1) && said.contains("`standard input` is empty"), "{said}");
    let (code, said) = put(&["put", "-", "--name", "d", "--format", "csv"], b"x,y\n1\n");
    assert!(code == Some(1) && said.contains("`standard input`, line 2"), "{said}");
    scratch.fails(&["put", "-"], 2, &["standard input has no name"]);
}

#[test]
fn what_a_format_cannot_say_is_refused_with_column_and_type() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("n.jsonl", "{\"a\":1,\"l\":[1,2]}\n{\"a\":2,\"l\":[]}\n");
    scratch.ok(&["put", "n.jsonl"]);
    scratch.fails(&["get", "n", "-o", "n.csv"], 1, &["CSV cannot say column \"l\" of type List"]);
    assert!(!scratch.path("n.csv").exists());
    scratch.ok(&["get", "n", "--columns", "a", "-o", "n.csv"]);
    scratch.ok(&["get", "n", "-o", "n.parquet"]);
    let words = &["does not say what to write"];
    scratch.fails(&["get", "n", "-o", "n.xlsx"], 2, words);
    scratch.fails(&["get", "n", "-o", "-"], 2, &["nothing says what to write"]);
    scratch.fails(&["get", "n", "-o", "n.parquet.gz"], 2, &["compression of its own"]);
}

#[test]
fn patterns_and_folders_as_columns() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    for day in [2, 10] {
        scratch.write(&format!("t/date=2024-01-{day:02}/part.csv"), prices("AAA", day));
    }
    scratch.write("t/_SUCCESS", "");
    scratch.fails(&["put", "t"], 1, &["column `date` is in `", "--no-hive", "--columns"]);
    let columns = ["put", "t", "--columns", "close,date", "--name", "c"];
    assert_eq!(scratch.json(&columns)["num_columns"], 2);
    // from the folder
    assert_eq!(scratch.json(&["get", "c", "--rows", "1..2"])["rows"][0]["date"], "2024-01-02");
    let said = scratch.run(&["put", "t", "--no-hive"]);
    assert!(said.code == Some(0) && said.err.contains("1 file skipped"), "{said:?}");
    let done = scratch.json(&["put", "t/**/*.csv", "--name", "g", "--no-hive"]);
    assert_eq!((&done["num_files"], &done["num_rows"]), (&2.into(), &12.into()));
    scratch.fails(&["put", "t/*.nothing", "--name", "h"], 1, &["nothing matches"]);
    scratch.fails(&["put", text(&scratch.path("t/*.csv"))], 2, &["a pattern has no name"]);
}
