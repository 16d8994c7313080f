//! Ctrl-C at a put, a get or an export: nothing is left, whether it listens or is killed.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{DEADLINE, Scratch, prices, send, wait};

/// Waits until a client has more than `bytes` in arenas that it is writing.
fn wait_until_open(scratch: &Scratch, child: &mut Child, bytes: u64) {
    let began = Instant::now();
    while scratch.json(&["info"])["open"].as_u64().unwrap() <= bytes {
        assert!(child.try_wait().unwrap().is_none(), "the put ended before it was interrupted");
        assert!(began.elapsed() < DEADLINE);
    }
}

fn big(scratch: &Scratch) {
    let lines = prices("AAA", 400_000);
    let (header, lines) = lines.split_once('\n').unwrap();
    scratch.write("big.csv", format!("{header}\n{}", lines.repeat(10)));
}

#[test]
fn in_the_middle_of_a_big_put() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "1GiB"]);
    scratch.write("p.csv", prices("AAA", 10));
    scratch.ok(&["put", "p.csv"]);
    let before = scratch.settled();
    big(&scratch);
    for (signal, code) in
        [(Signal::INT, Some(130)), (Signal::TERM, Some(143)), (Signal::KILL, None)]
    {
        let mut put = scratch.command(&["put", "big.csv"]).spawn().unwrap();
        wait_until_open(&scratch, &mut put, 0);
        send(&put, signal);
        assert_eq!(wait(&mut put), code);
        let output = put.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.stdout, b"");
        if code.is_some() {
            assert_eq!(err, "error: interrupted: nothing was put\n");
        }
        assert_eq!(scratch.settled(), before);
    }
    // And then it works.
    scratch.ok(&["put", "big.csv"]);
    assert_eq!(scratch.json(&["ls"])[0]["num_rows"], 4_000_000);
}

/// A put that waits for room hears nothing but its watcher.
#[test]
fn while_it_waits_for_room() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "32MiB"]);
    let before = scratch.settled();
    big(&scratch);
    let mut put = scratch.command(&["put", "big.csv", "--wait", "600"]).spawn().unwrap();
    wait_until_open(&scratch, &mut put, 1 << 20);
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    send(&put, Signal::INT);
    assert_eq!(wait(&mut put), Some(130));
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(scratch.settled(), before);
    // Twice is at once.
    let mut put = scratch.command(&["put", "big.csv", "--wait", "600"]).spawn().unwrap();
    wait_until_open(&scratch, &mut put, 1 << 20);
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    send(&put, Signal::INT);
    std::thread::sleep(Duration::from_millis(100));
    send(&put, Signal::INT);
    assert_eq!(wait(&mut put), Some(130));
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(scratch.settled(), before);
}

/// Waits until a process has written to a file of the test that has no name.
fn wait_until_written(scratch: &Scratch, child: &mut Child) {
    let unnamed = scratch.path("#");
    let is_written = |descriptor: std::io::Result<std::fs::DirEntry>| {
        let link = descriptor.ok()?.path();
        let target = std::fs::read_link(&link).ok()?;
        let ours = target.to_string_lossy().starts_with(&*unnamed.to_string_lossy());
        (ours && std::fs::metadata(&link).ok()?.len() > 0).then_some(())
    };
    let descriptors = format!("/proc/{}/fd", child.id());
    let began = Instant::now();
    loop {
        let found = std::fs::read_dir(&descriptors).into_iter().flatten().find_map(is_written);
        if found.is_some() {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was interrupted");
        assert!(began.elapsed() < DEADLINE);
    }
}

#[test]
fn a_file_in_the_making_leaves_nothing() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "1GiB"]);
    big(&scratch);
    scratch.ok(&["put", "big.csv"]);
    std::fs::remove_file(scratch.path("big.csv")).unwrap();
    scratch.write("out", "before");
    let names = || {
        let entries = std::fs::read_dir(scratch.path("")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let mut tried = 0;
    for arguments in
        [&["get", "big", "-o", "out", "--format", "csv"][..], &["export", "big", "-o", "out"]]
    {
        for (signal, code) in [(Signal::KILL, None), (Signal::INT, Some(130))] {
            let mut child = scratch.command(arguments).spawn().unwrap();
            wait_until_written(&scratch, &mut child);
            send(&child, signal);
            assert_eq!(wait(&mut child), code, "{arguments:?}");
            assert_eq!(names(), before, "{arguments:?}, {signal:?}");
            assert_eq!(std::fs::read(scratch.path("out")).unwrap(), b"before");
            tried += 1;
        }
        scratch.ok(arguments);
        assert_eq!(names(), before);
        assert!(std::fs::metadata(scratch.path("out")).unwrap().len() > 1 << 20);
        scratch.write("out", "before");
    }
    assert_eq!(tried, 4);
}
