//! Versions: appended, kept, tagged, compared, found again and dropped.

use crate::support::{Scratch, prices, text};

#[test]
fn a_frame_grows_and_its_versions_are_found_again() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("p.csv", prices("AAA", 20));
    scratch.write("q.csv", prices("BBB", 5));

    scratch.ok(&["put", "p.csv", "--append", "--note", "the beginning"]);
    assert!(scratch.ok(&["keep", "p", "5"]).contains("newest 5 versions"));
    let said = scratch.json(&["put", "q.csv", "--name", "p", "--append", "--expect-version", "1"]);
    assert_eq!((&said["version"], &said["num_rows"]), (&2.into(), &5.into()));
    let refused = ["put", "q.csv", "--name", "p", "--append", "--expect-version", "1"];
    scratch.fails(&refused, 1, &["version 2", "version 1 was expected"]);
    assert_eq!(scratch.json(&["get", "p"])["num_rows"], 25);
    assert_eq!(scratch.json(&["get", "p", "--version", "1"])["num_rows"], 20);

    let log = scratch.json(&["log", "p"]);
    let versions = log["versions"].as_array().unwrap();
    assert_eq!(versions.len(), 2);
    assert_eq!(versions[0]["made"]["note"], "the beginning");
    assert_eq!(versions[1]["made"]["append"], true);
    let file = &versions[1]["made"]["files"][0];
    assert_eq!(file["path"], text(&scratch.path("q.csv")));
    assert_eq!(file["bytes"], std::fs::metadata(scratch.path("q.csv")).unwrap().len());
    assert!(file["modified_ns"].as_u64().unwrap() > 0);
    assert!(file["checksum"].is_null());
    scratch.write("abc.csv", "abc");
    scratch.ok(&["put", "abc.csv", "--checksum"]);
    let made = &scratch.json(&["log", "abc"])["versions"][0]["made"];
    // XXH3 (64 bits) of "abc"
    assert_eq!(made["files"][0]["checksum"], 0x78af_5f94_892f_3950_u64);
    scratch.ok(&["rm", "abc"]);
    let created = versions[0]["created_ns"].as_u64().unwrap();
    let shown = scratch.ok(&["log", "p"]);
    assert!(shown.contains("current") && shown.contains("the beginning"), "{shown}");
    assert!(shown.find("current").unwrap() < shown.find("kept").unwrap(), "{shown}");

    // A second later than the first, at the latest when the second came, it was the first.
    let second = versions[1]["created_ns"].as_u64().unwrap();
    assert!(created < second);
    scratch.fails(&["get", "p", "--as-of", "2001-01-01"], 1, &["no version of that time"]);
    assert_eq!(scratch.json(&["get", "p", "--as-of", "2200-01-01"])["num_rows"], 25);

    let diff = scratch.json(&["diff", "p", "1", "v2"]);
    assert_eq!((&diff["from"]["num_rows"], &diff["to"]["num_rows"]), (&20.into(), &25.into()));
    assert_eq!(diff["shared_bytes"], diff["from"]["nbytes"]);
    let text = scratch.ok(&["diff", "p", "1", "2"]);
    assert!(text.contains("20 -> 25"));
    let volume = &diff["statistics"][2];
    assert_eq!((&volume["name"], &volume["from"]["nulls"]), (&"volume".into(), &0.into()));
    assert_eq!((&volume["from"]["min"], &volume["from"]["max"]), (&0.into(), &19_000.into()));
    assert_eq!(diff["statistics"][0]["to"]["min"], "2000-01-01");
    assert!(text.contains("with the same values, as far as is known\n"), "{text}");

    scratch.ok(&["tag", "p", "good", "--version", "1"]);
    scratch.ok(&["keep", "p", "1"]);
    assert_eq!(scratch.json(&["get", "p", "--tag", "good"])["num_rows"], 20);
    let said = scratch.fails(&["rm", "p", "--version", "1"], 1, &["has the tag"]);
    assert!(said.err.contains("--remove"), "{said:?}");
    scratch.fails(&["rm", "p", "--version", "2"], 1, &["is the current one"]);
    scratch.ok(&["tag", "p", "good", "--remove"]);
    scratch.fails(&["get", "p", "--version", "1"], 1, &["no version 1", "it has 2"]);
    assert!(scratch.ok(&["log", "p"]).contains("gone"));
    scratch.ok(&["rm", "p"]);
    scratch.settled();
}

#[test]
fn other_columns_are_not_appended() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("p.csv", prices("AAA", 20));
    scratch.write("q.csv", "date,close\n2001-01-01,x\n");
    scratch.ok(&["put", "p.csv"]);
    scratch.fails(&["put", "q.csv", "--name", "p", "--append"], 1, &["column 1", "in the frame"]);
    let said = scratch.run(&["put", "p.csv", "--append", "--replace"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("cannot be used with"), "{said:?}");
    assert_eq!(scratch.json(&["get", "p"])["num_rows"], 20);
}
