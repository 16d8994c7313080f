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
