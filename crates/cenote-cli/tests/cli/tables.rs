//! Tables in, out, listed, renamed and dropped.

use std::process::Stdio;

use crate::support::{Scratch, prices, text};

#[test]
fn a_folder_of_csv_goes_in_and_comes_out_in_each_format() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("prices/AAA.csv", prices("AAA", 60));
    scratch.write("prices/BBB.csv", prices("BBB", 40));

    let line = scratch.ok(&["put", "prices"]);
    assert!(line.starts_with("prices v1: 100 rows x 4 columns, "), "{line}");
    assert!(line.ends_with(" rows/s\n"), "{line}");
    assert_eq!(line.lines().count(), 1);

    let frames = scratch.json(&["ls"]);
    assert_eq!(frames.as_array().unwrap().len(), 1);
    assert_eq!(frames[0]["name"], "prices");
    assert_eq!(frames[0]["num_rows"], 100);
    assert_eq!(frames[0]["num_columns"], 4);
    assert_eq!(frames[0]["source"], text(&scratch.path("prices")));
    assert!(scratch.ok(&["ls"]).starts_with("NAME"));

    // What comes out is what went in, in every format, read back through the pool.
    for file in ["out.parquet", "out.csv", "out.arrow"] {
        scratch.ok(&["get", "prices", "-o", file]);
    }
    let whole = prices("AAA", 60) + prices("BBB", 40).split_once('\n').unwrap().1;
    assert_eq!(std::fs::read_to_string(scratch.path("out.csv")).unwrap(), whole);
    scratch.ok(&["put", "out.parquet", "--name", "again"]);
    scratch.ok(&["get", "again", "-o", "again.csv"]);
    assert_eq!(std::fs::read_to_string(scratch.path("again.csv")).unwrap(), whole);
    let arrow = std::fs::File::open(scratch.path("out.arrow")).unwrap();
    let arrow = arrow_ipc::reader::FileReader::try_new(arrow, None).unwrap();
    assert_eq!(arrow.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 100);
    // No file is left beside those.
    let left = std::fs::read_dir(scratch.path("")).unwrap().map(|e| e.unwrap().file_name());
    assert_eq!(left.filter(|n| n.to_string_lossy().starts_with('.')).count(), 0);
}

#[test]
fn rows_for_which_a_predicate_is_true() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("p.csv", prices("AAA", 50));
    scratch.ok(&["put", "p.csv"]);

    let get = ["get", "p", "--where", "date > '2000-01-31' and volume is not null"];
    let part = scratch.json(&[&get[..], &["--columns", "date", "--head", "3"]].concat());
    assert_eq!(part["num_rows"], 22);
    assert_eq!(part["rows"].as_array().unwrap().len(), 3);
    assert_eq!(part["rows"][0]["date"], "2000-02-01");
    scratch.ok(&[&get[..], &["--head", "5", "-o", "part.csv"]].concat());
    let lines = std::fs::read_to_string(scratch.path("part.csv")).unwrap();
    assert_eq!(lines.lines().count(), 6);
}

#[test]
fn part_of_a_frame() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("p.csv", prices("AAA", 50));
    scratch.ok(&["put", "p.csv"]);

    let part = scratch.json(&["get", "p", "--columns", "volume,date", "--rows", "10..20"]);
    assert_eq!(part["num_rows"], 10);
    assert_eq!(part["schema"][0]["name"], "volume");
    assert_eq!(part["schema"][1]["type"], "Date32");
    assert_eq!(part["rows"].as_array().unwrap().len(), 10);
    assert_eq!(part["rows"][0]["volume"], 10_000);
    assert_eq!(part["rows"][0]["date"], "2000-01-11");

    let head = scratch.json(&["get", "p", "--rows", "48..", "--head", "5"]);
    assert_eq!(head["num_rows"], 2);
    assert_eq!(head["rows"].as_array().unwrap().len(), 2);

    let shown = scratch.ok(&["get", "p", "--head", "3"]);
    assert!(shown.contains("p v1: 50 rows x 4 columns"), "{shown}");
    assert!(shown.contains("2000-01-03") && !shown.contains("2000-01-04"), "{shown}");
    assert!(shown.contains("and 47 more rows"), "{shown}");

    scratch.ok(&["get", "p", "--rows", "..7", "-o", "seven.csv"]);
    let seven = std::fs::read_to_string(scratch.path("seven.csv")).unwrap();
    assert_eq!(seven.lines().count(), 8);
}

#[test]
fn replaced_renamed_dropped() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("p.csv", prices("AAA", 5));
    scratch.ok(&["put", "p.csv"]);
    let said = scratch.fails(&["put", "p.csv"], 1, &["\"p\"", "exists"]);
    assert!(said.err.contains("--replace") && !said.err.contains("replace=True"), "{said:?}");
    scratch.write("p.csv", prices("AAA", 6));
    let done = scratch.json(&["put", "p.csv", "--replace"]);
    assert_eq!((&done["version"], &done["num_rows"]), (&2.into(), &6.into()));

    scratch.ok(&["mv", "p", "q"]);
    scratch.ok(&["put", "p.csv"]);
    scratch.fails(&["mv", "p", "q"], 1, &["\"q\"", "exists"]);
    scratch.fails(&["get", "pp"], 1, &["no frame \"pp\"", "did you mean \"p\""]);

    // All that can be dropped is, the rest is told.
    let said = scratch.run(&["rm", "p", "none", "q"]);
    assert_eq!(said.code, Some(1));
    assert_eq!(said.out, "dropped p\ndropped q\n");
    assert!(said.err.contains("no frame \"none\""), "{said:?}");
    assert_eq!(scratch.json(&["ls"]), serde_json::json!([]));
    assert_eq!(scratch.settled()["sealed"], 0);
}

#[test]
fn csv_as_it_comes() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("t.csv", "1;x\n2;-\n");
    let options =
        ["--no-header", "--delimiter", ";", "--null", "-", "--schema", "column_1:float32"];
    scratch.ok(&[&["put", "t.csv"], &options[..]].concat());
    let rows = scratch.json(&["get", "t"]);
    assert_eq!(rows["schema"][0]["type"], "Float32");
    assert_eq!(rows["rows"][1], serde_json::json!({"column_1": 2.0, "column_2": null}));
}

#[test]
fn categories_of_several_parts_go_into_each_format() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "256MiB"]);
    // Enough rows for two partitions, each with a dictionary of its own.
    let mut csv = "name,n\n".to_owned();
    for i in 0..300_000 {
        csv += if i < 280_000 { "AAA,1\n" } else { "BBB,2\n" };
    }
    scratch.write("in.csv", csv);
    scratch.ok(&["put", "in.csv", "--name", "c", "--schema", "name:category"]);
    for file in ["c.parquet", "c.csv", "c.arrow"] {
        let out = scratch.ok(&["get", "c", "-o", file]);
        assert!(out.contains("300,000 rows x 2 columns"), "{out}");
    }
    let arrow = std::fs::File::open(scratch.path("c.arrow")).unwrap();
    let batches = arrow_ipc::reader::FileReader::try_new(arrow, None).unwrap();
    assert_eq!(batches.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 300_000);
    let out = std::fs::read_to_string(scratch.path("c.csv")).unwrap();
    assert_eq!(out, std::fs::read_to_string(scratch.path("in.csv")).unwrap());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("p.csv", prices("AAA", 5));
    scratch.ok(&["put", "p.csv"]);
    let readings: [&[&str]; 4] = [&["ls"], &["info", "--json"], &["get", "p"], &["leases"]];
    for reading in readings {
        let mut child = scratch.command(reading).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{reading:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn help_is_for_people() {
    let scratch = Scratch::new();
    let help = scratch.ok(&["--help"]);
    assert!(help.contains("Examples:") && help.contains("Exit codes:"), "{help}");
    let commands =
        ["serve", "put", "get", "ls", "rm", "mv", "info", "leases", "evict-client", "stop"];
    for command in commands {
        assert!(help.contains(command), "{command}");
        assert!(scratch.ok(&[command, "--help"]).contains("--address"), "{command}");
    }
    assert_eq!(scratch.run(&["put"]).code, Some(2));
    assert_eq!(scratch.run(&["no-such-command"]).code, Some(2));
    // Colour is for terminals.
    let forced = scratch.command(&["ls"]).stderr(Stdio::piped()).output().unwrap();
    assert!(!forced.stderr.contains(&0x1b));
}

/// A CSV as a spreadsheet writes it where numbers have a decimal comma.
#[test]
fn put_reads_the_csv_of_other_countries() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    let text = "Bericht\nTag;Preis;St\u{fc}ck;Preis\n8.2.2013;1.234,5;7;x\n9.2.2013;-,25;8;y\n";
    let latin: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    scratch.write("de.csv", latin);
    let put: [&str; 11] = [
        "put",
        "de.csv",
        "--skip-lines",
        "1",
        "--decimal",
        ",",
        "--thousands",
        ".",
        "--date-format",
        "%d.%m.%Y",
        "--encoding=latin1",
    ];
    scratch.fails(&put, 1, &["2 columns `Preis`", "columns 2, 4", "--rename-duplicates"]);
    let said = scratch.run(&[&put[..], &["--rename-duplicates"]].concat()).err;
    assert!(said.contains("fields are separated by ';'"), "{said}");
    let shown = scratch.ok(&["get", "de"]);
    for word in ["Tag", "date32", "Preis_1", "St\u{fc}ck", "2013-02-08", "1234.5", "-0.25"] {
        assert!(shown.to_lowercase().contains(&word.to_lowercase()), "{word}: {shown}");
    }
    for (wrong, word) in [
        (["--delimiter", "\""], "--delimiter and --quote"),
        (["--thousands", "."], "--decimal and --thousands"),
        (["--quote", "ab"], "--quote takes one character"),
    ] {
        scratch.fails(&[&["put", "de.csv"], &wrong[..]].concat(), 2, &[word]);
    }
}
