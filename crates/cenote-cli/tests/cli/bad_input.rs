//! Input that cannot be loaded: the error says what and where, and nothing is left.

use crate::support::{Scratch, prices, text};

#[test]
fn says_what_and_where_and_leaves_no_trace() {
    let scratch = Scratch::new();
    let daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("p.csv", prices("AAA", 3000));
    scratch.ok(&["put", "p.csv"]);
    scratch.ok(&["get", "p", "-o", "whole.parquet"]);
    let before = scratch.settled();
    assert_eq!(before["frames"], 1);

    let parquet = std::fs::read(scratch.path("whole.parquet")).unwrap();
    scratch.write("cut.parquet", &parquet[..parquet.len() / 2]);
    scratch.fails(&["put", "cut.parquet"], 1, &["cut.parquet", "truncated"]);
    let mut wrong = parquet.clone();
    wrong[20..400].fill(0xff);
    scratch.write("wrong.parquet", &wrong);
    scratch.fails(&["put", "wrong.parquet"], 1, &["wrong.parquet"]);

    scratch.write("latin.csv", b"a,b\n1,x\n2,caf\xe9\n");
    scratch.fails(&["put", "latin.csv"], 1, &["latin.csv", "line 3", "field 2", "not UTF-8"]);
    scratch.write("ragged.csv", "a,b\n1,2\n3\n");
    scratch.fails(&["put", "ragged.csv"], 1, &["ragged.csv", "line 3", "1 field where"]);
    scratch.write("huge.csv", "a\n1.5\n1e400\n");
    scratch.fails(&["put", "huge.csv"], 1, &["huge.csv", "line 3", "`a`", "`1e400`", "Float64"]);
    scratch.write("twice.jsonl", "{\"a\":1}\n{\"a\":1,\"a\":2}\n");
    scratch.fails(&["put", "twice.jsonl"], 1, &["twice.jsonl", "line 2", "`a`", "twice"]);
    scratch.write("script.py", "import os, sys\nprint(1, 2)\n");
    scratch.fails(&["put", "script.py"], 1, &["script.py", ".csv", ".parquet", "--format csv"]);
    scratch.write("empty.csv", "");
    scratch.fails(&["put", "empty.csv"], 1, &["empty.csv", "empty"]);
    scratch.fails(&["put", "nowhere"], 1, &["nowhere"]);

    let long = "n".repeat(10_000);
    scratch.fails(&["put", "p.csv", "--name", &long], 1, &["10000 bytes", "255"]);
    for name in ["../etc/passwd", "a/b", "/"] {
        scratch.fails(
            &["put", "p.csv", "--name", name],
            1,
            &["path separator", &format!("{name:?}")],
        );
    }
    scratch.fails(&["put", "p.csv", "--name", ""], 1, &["at least one character"]);
    scratch.fails(&["put", "p.csv", "--name", "a\x1b[31m"], 1, &["control character"]);
    scratch.fails(&["mv", "p", &long], 1, &["10000 bytes"]);
    scratch.fails(&["get", &long], 1, &["no frame"]);

    let schema = ["--name", "q", "--schema"];
    let put = |types| [&["put", "p.csv"], &schema[..], &[types]].concat();
    scratch.fails(&put("none:int64"), 1, &["`none`", "`close`"]);
    scratch.fails(&put("close:int46"), 2, &["`close`", "int46", "int64"]);
    scratch.fails(&put("name:int64"), 1, &["p.csv", "line 2", "`name`", "`AAA`"]);

    scratch.fails(&["get", "p", "--columns", "date,none"], 1, &["\"none\"", "\"close\""]);
    scratch.fails(&["get", "p", "--rows", "-5..10"], 1, &["-5..10", "3000"]);
    scratch.fails(&["get", "p", "--rows", "20..10"], 1, &["20..10"]);
    scratch.fails(&["get", "p", "--rows", "4000..4001"], 1, &["4000..4001", "3000"]);
    assert_eq!(scratch.run(&["get", "p", "--rows", "five"]).code, Some(2));
    scratch.fails(&["get", "p", "-o", "p.xls"], 2, &["p.xls"]);
    scratch.fails(&["get", "p", "-o", "no/such/folder.csv"], 1, &["no/such/folder.csv"]);
    scratch.fails(&["put", "p.csv", "whole.parquet", "--name", "q"], 1, &["CSV", "Parquet"]);
    scratch.fails(&["put", "p.csv", "p.csv"], 2, &["several paths"]);
    scratch.fails(&["put", "-"], 2, &["standard input"]);

    assert_eq!(scratch.settled(), before);
    assert_eq!(scratch.json(&["ls"])[0]["version"], 1);
    drop(daemon);
}

#[test]
fn a_table_that_does_not_fit_is_refused_with_numbers() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "4MiB"]);
    scratch.write("small.csv", prices("AAA", 10));
    scratch.ok(&["put", "small.csv"]);
    let before = scratch.settled();
    scratch.write("big.csv", prices("AAA", 300_000));
    let words = ["no room", "asked", "free", "capacity 4 MiB"];
    let said = scratch.fails(&["put", "big.csv"], 1, &words);
    assert!(said.err.contains("cenote leases"), "{said:?}");
    // With a deadline it waits, and says the same.
    let began = std::time::Instant::now();
    scratch.fails(&["put", "big.csv", "--wait", "0.5"], 1, &words);
    assert!(began.elapsed().as_millis() >= 500);
    assert_eq!(scratch.settled(), before);
}

#[test]
fn without_a_daemon_it_says_how_to_start_one() {
    let scratch = Scratch::new();
    scratch.write("p.csv", prices("AAA", 10));
    let commands: [&[&str]; 4] = [&["put", "p.csv"], &["ls"], &["get", "p"], &["stop"]];
    for command in commands {
        let said = scratch.fails(command, 1, &["no daemon serves it"]);
        let start = format!("cenote serve --address {}", text(&scratch.pool()));
        assert!(said.err.contains(&start), "{said:?}");
    }
    assert!(!scratch.pool().exists());
}
