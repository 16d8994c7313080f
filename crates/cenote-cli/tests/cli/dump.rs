//! Export and import of whole frames.

use std::io::Write;
use std::process::Stdio;

use crate::support::{Scratch, prices};

/// A pool with two frames, and its export.
fn exported(scratch: &Scratch, more: &[&str]) -> Vec<u8> {
    scratch.write("p.csv", prices("AAA", 200));
    scratch.write("n.jsonl", "{\"a\":1,\"l\":[1,2]}\n{\"a\":null,\"l\":[]}\n");
    scratch.ok(&["put", "p.csv"]);
    scratch.ok(&["put", "n.jsonl"]);
    let done = scratch.json(&[&["export", "--all", "-o", "d.cenote"], more].concat());
    assert_eq!((&done["num_rows"], done["frames"].as_array().unwrap().len()), (&202.into(), 2));
    let bytes = std::fs::read(scratch.path("d.cenote")).unwrap();
    assert_eq!(done["bytes"], bytes.len());
    bytes
}

fn as_arrow(scratch: &Scratch, name: &str) -> Vec<u8> {
    scratch.command(&["get", name, "-o", "-", "--format", "arrows"]).output().unwrap().stdout
}

#[test]
fn what_is_exported_is_imported_the_same() {
    for more in [&[][..], &["--compress"]] {
        let (one, other) = (Scratch::new(), Scratch::new());
        let _daemons = (one.serve(&["--capacity", "64MiB"]), other.serve(&["--capacity", "64MiB"]));
        let bytes = exported(&one, more);
        // through a pipe
        let mut child = other.command(&["import", "-"]).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        for name in ["p", "n"] {
            assert_eq!(as_arrow(&one, name), as_arrow(&other, name), "{name}");
        }
        let (here, there) = (one.json(&["ls"]), other.json(&["ls"]));
        assert_eq!(
            (&here[0]["source"], &here[1]["source"]),
            (&there[0]["source"], &there[1]["source"])
        );
    }
}

/// What `log` says of the versions that can be had, without what differs between pools.
fn living(scratch: &Scratch, name: &str) -> (serde_json::Value, Vec<serde_json::Value>) {
    let mut log = scratch.json(&["log", name]);
    let versions = log["versions"].as_array_mut().unwrap();
    versions.retain(|version| version["state"] != "Gone");
    let versions = std::mem::take(versions);
    (log["keep"].clone(), versions)
}

#[test]
fn versions_come_back_as_they_were() {
    let (one, other) = (Scratch::new(), Scratch::new());
    let _daemons = (one.serve(&["--capacity", "64MiB"]), other.serve(&["--capacity", "64MiB"]));
    let lines = prices("AAA", 3000);
    one.write("p.csv", &lines);
    one.write("q.csv", lines.replace("close", "price"));
    let put = |more: &[&str]| {
        one.ok(&[&["put", "p.csv", "--name", "p"], more].concat());
    };
    put(&["--note", "is gone"]);
    put(&["--replace", "--note", "the first that is kept", "--expect-version", "1"]);
    one.ok(&["tag", "p", "published"]);
    one.ok(&["keep", "p", "3", "--days", "1"]);
    put(&["--append"]);
    put(&["--append", "--note", "more"]);
    one.ok(&["put", "q.csv", "--name", "p", "--replace"]);
    one.ok(&["put", "q.csv", "--name", "p", "--append"]);
    one.ok(&["tag", "p", "v5", "--version", "5"]);
    one.ok(&["rm", "p", "--version", "3"]);
    let (keep, versions) = living(&one, "p");
    let numbers: Vec<u64> = versions.iter().map(|v| v["version"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [2, 4, 5, 6]);

    let whole = one.json(&["export", "p", "-o", "p.cenote"]);
    // 3,000 rows of version 2, 6,000 more of 4, 3,000 of 5, 3,000 more of 6
    assert_eq!((&whole["num_versions"], &whole["num_rows"]), (&4.into(), &15_000.into()));
    let path = one.path("p.cenote");
    let done = other.json(&["import", path.to_str().unwrap()]);
    let frame = &done["frames"][0];
    assert_eq!((&frame["version"], &frame["num_versions"]), (&6.into(), &4.into()));
    let (kept, came) = living(&other, "p");
    assert_eq!(kept, keep);
    for (was, is) in versions.iter().zip(&came) {
        let mut is = is.clone();
        // bytes depend on how rows were packed into chunks
        is["nbytes"] = was["nbytes"].clone();
        assert_eq!(*was, is);
    }
    assert_eq!(came.len(), 4);
    let as_arrow = |scratch: &Scratch, which: &[&str]| {
        let arguments = [&["get", "p", "-o", "-", "--format", "arrows"], which].concat();
        let output = scratch.command(&arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let time = came[1]["created_ns"].as_u64().unwrap();
    let moment = chrono_text(time);
    for which in [
        &["--version", "2"][..],
        &["--version", "4"],
        &["--version", "5"],
        &[],
        &["--tag", "published"],
        &["--tag", "v5"],
        &["--as-of", &moment],
    ] {
        assert_eq!(as_arrow(&one, which), as_arrow(&other, which), "{which:?}");
    }
    // versions that go on share what they have in common
    let diff = other.json(&["diff", "p", "2", "4"]);
    assert_eq!(diff["shared_bytes"], diff["from"]["nbytes"]);
    // and the frame goes on as it would have
    other.write("q.csv", lines.replace("close", "price"));
    other.ok(&["put", "q.csv", "--name", "p", "--append"]);
    assert_eq!(other.json(&["ls"])[0]["version"], 7);

    let current = one.json(&["export", "p", "-o", "c.cenote", "--current"]);
    assert_eq!((&current["num_versions"], &current["num_rows"]), (&1.into(), &6_000.into()));
    // over a frame that there is: its next version, of the rows that it goes on from, too
    let done = other.json(&["import", path.to_str().unwrap(), "--replace"]);
    assert_eq!((&done["frames"][0]["version"], &done["num_rows"]), (&8.into(), &6_000.into()));
    assert_eq!(as_arrow(&one, &[]), as_arrow(&other, &[]));
    assert_eq!(living(&other, "p").0, keep);
}

/// A time as the command line takes it.
fn chrono_text(ns: u64) -> String {
    let time = arrow_array::temporal_conversions::timestamp_ns_to_datetime(ns.cast_signed());
    format!("{}Z", time.unwrap().format("%Y-%m-%dT%H:%M:%S%.9f"))
}

#[test]
fn an_export_of_another_layout_is_refused() {
    let scratch = Scratch::new();
    let head = br#"{"format_version": 1, "written_by": "0.0.9", "frames": []}"#;
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(head.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, "cenote-export.json", &head[..]).unwrap();
    scratch.write("old.cenote", tar.into_inner().unwrap());
    scratch.fails(&["import", "old.cenote"], 1, &["version 1", "reads version 2"]);
}

#[test]
fn names_that_exist_are_refused_replaced_or_changed() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    exported(&scratch, &[]);
    scratch.fails(&["import", "d.cenote"], 1, &["exists"]);
    let done = scratch.json(&["import", "d.cenote", "--replace"]);
    assert_eq!(done["frames"][0]["version"], 2);
    let done = scratch.json(&["import", "d.cenote", "p", "--as", "p=q"]);
    assert_eq!((&done["frames"][0]["name"], &done["num_rows"]), (&"q".into(), &200.into()));
    assert_eq!(as_arrow(&scratch, "p"), as_arrow(&scratch, "q"));
    scratch.fails(&["import", "d.cenote", "z"], 1, &["no frame \"z\""]);
    scratch.fails(&["import", "d.cenote", "--as", "p=n"], 2, &["two frames would be called"]);
    scratch.fails(&["export", "z", "-o", "z.cenote"], 1, &["\"z\""]);
    assert!(!scratch.path("z.cenote").exists());
}

#[test]
fn of_a_damaged_export_nothing_is_seen() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    let bytes = exported(&scratch, &[]);
    scratch.ok(&["rm", "p"]);
    scratch.ok(&["rm", "n"]);
    let before = scratch.settled();
    let mut looked = 0;
    // a tar archive ends in zeros, which may be cut
    let end = bytes.len() - 4096;
    for length in (0..end).step_by(end / 20 + 1) {
        scratch.write("cut.cenote", &bytes[..length]);
        let said = scratch.run(&["import", "cut.cenote"]);
        assert_eq!(said.code, Some(1), "{length}: {said:?}");
        looked += 1;
    }
    // a bit in the values of a piece
    let at = bytes.windows(8).position(|w| w == 100.25_f64.to_le_bytes()).unwrap();
    let mut flipped = bytes;
    flipped[at] ^= 1;
    scratch.write("bit.cenote", &flipped);
    scratch.fails(&["import", "bit.cenote"], 1, &["its checksum is another"]);
    assert_eq!((looked, scratch.settled()["frames"].clone()), (20, before["frames"].clone()));
    scratch.write("x.cenote", "date,close\n");
    scratch.fails(&["import", "x.cenote"], 1, &["is no export of cenote"]);
}
