//! Leases at their bounds: versions with more chunks than are leased one by one, pages that
//! grow, pages that are full.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use cenote::{Error, IfExists, Pool, Selection};
use cenote_pool::protocol::lease::{CHUNK_LEASES_MAX, SLOTS_INITIAL, SLOTS_MAX};

use crate::clear;
use crate::scene::{Scene, Setting};

const ROWS: u64 = 100;

/// So many columns, a chunk each; every value says which column, row and version it is.
fn wide(columns: u64, version: u64) -> RecordBatch {
    let column = |at: u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values((0..ROWS).map(|row| value(at, row, version))))
    };
    RecordBatch::try_from_iter((0..columns).map(|at| (format!("c{at}"), column(at)))).unwrap()
}

fn value(column: u64, row: u64, version: u64) -> u64 {
    (version << 40) + (column << 16) + row
}

fn assert_wide(batches: &[RecordBatch], first: u64, version: u64) {
    assert_eq!(batches.len(), 1);
    for (column, at) in batches[0].columns().iter().zip(first..) {
        let column: &UInt64Array = column.as_any().downcast_ref().unwrap();
        let wanted = UInt64Array::from_iter_values((0..ROWS).map(|row| value(at, row, version)));
        assert_eq!(column, &wanted, "column {at} of version {version}");
    }
}

fn put(pool: &Pool, columns: u64, version: u64) {
    pool.put("wide", &[wide(columns, version)], IfExists::Replace).unwrap();
}

/// One lease for all of them, which holds until the last array of the version is gone.
#[test]
fn a_version_of_more_chunks_than_are_leased_singly() {
    let scene = Scene::new("wide", Setting::default());
    scene.start();
    let pool = scene.connect();
    for columns in [CHUNK_LEASES_MAX as u64 - 1, CHUNK_LEASES_MAX as u64, 1025, 3000] {
        put(&pool, columns, 1);
        let frame = pool.get("wide").unwrap();
        let batches = frame.batches().unwrap();
        let last = vec![batches[0].project(&[usize::try_from(columns).unwrap() - 1]).unwrap()];
        drop(frame);
        for version in 2..40 {
            put(&pool, columns, version);
        }
        assert_wide(&batches, 0, 1);
        drop(batches);
        // One column is left of it.
        for version in 40..80 {
            put(&pool, columns, version);
        }
        assert_wide(&last, columns - 1, 1);
        assert_wide(&pool.get("wide").unwrap().batches().unwrap(), 0, 79);
        drop(last);
        scene.settled(&pool, 0, &format!("{columns} chunks"));
    }
    drop(pool);
    clear(&scene);
    scene.aftermath(0, "wide");
}

/// A child inherits a page of more slots than pages begin with.
#[test]
fn a_page_that_has_grown_is_inherited() {
    let scene = Scene::new("grown", Setting { capacity: Some(512 << 20), ..Setting::default() });
    scene.start();
    let mut parent = scene.client("a parent");
    // Eight slots a version: seven chunks and the manifest.
    let versions = SLOTS_INITIAL / 8 + 90;
    for version in 0..versions {
        parent.ask(&format!("put a {version} m")).ok();
        parent.ask(&format!("hold {version} a")).ok();
    }
    let (_, child) = scene.fork(&mut parent);
    let mut child = child.expect_goes();
    for version in 0..versions {
        parent.ask(&format!("release {version}")).ok();
    }
    for counter in 0..200 {
        parent.ask(&format!("put a {counter} l")).ok();
    }
    for version in 0..versions {
        assert_eq!(child.ask(&format!("check {version}")).ok(), [version.to_string()]);
    }
    // The parent goes, a new daemon comes.
    parent.kill();
    scene.kill_daemon();
    scene.start();
    let mut writer = scene.client("a writer");
    for counter in 0..50 {
        writer.ask(&format!("put a {counter} l")).ok();
    }
    for version in (0..versions).rev() {
        assert_eq!(child.ask(&format!("check {version}")).ok(), [version.to_string()]);
    }
    child.kill();
    writer.end();
    drop(parent);
    scene.aftermath(0, "grown");
}

/// An error, at once; the pool and the process go on.
#[test]
fn a_page_that_is_full_is_an_error() {
    let scene = Scene::new("full page", Setting::default());
    scene.start();
    let pool = scene.connect();
    put(&pool, 1003, 1);
    // Frames of parts have leases of their own: all columns but the first.
    let columns: Vec<String> = (1..1003).map(|at| format!("c{at}")).collect();
    let part = Selection { columns: Some(columns), ..Selection::default() };
    let mut frames = Vec::new();
    let begin = Instant::now();
    let error = loop {
        match pool.get_selected("wide", &part) {
            Ok(frame) => frames.push(frame),
            Err(error) => break error,
        }
        assert!(frames.len() < 2000, "it is never full");
    };
    eprintln!("{} frames, {:?}", frames.len(), begin.elapsed());
    assert!(matches!(error, Error::Leases { .. }), "{error}");
    let slots = frames.len() as u64 * 1003;
    assert!(slots <= SLOTS_MAX && slots + 2006 > SLOTS_MAX, "{slots}");
    // A million leases are read by the daemon, which still answers others.
    put(&pool, 1003, 2);
    assert_wide(&frames[0].batches().unwrap(), 1, 1);
    assert_wide(&frames[frames.len() - 1].batches().unwrap(), 1, 1);
    let begin = Instant::now();
    assert!(pool.info().unwrap().retired_held > 0);
    let mut other = scene.client("another");
    other.ask("put b 1 m").ok();
    assert_eq!(other.ask("read b").ok(), ["1", "1"]);
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    let again = pool.get_selected("wide", &part);
    assert!(matches!(again, Err(Error::Leases { .. })), "{again:?}");
    frames.truncate(frames.len() / 2);
    assert_wide(&pool.get_selected("wide", &part).unwrap().batches().unwrap(), 1, 2);
    assert_wide(&frames[0].batches().unwrap(), 1, 1);
    drop(frames);
    other.ask("drop b").ok();
    other.end();
    drop(pool);
    clear(&scene);
    scene.aftermath(0, "full page");
}

/// In bytes of UTF-8, of which the last character may have several.
#[test]
fn names_of_255_bytes() {
    let scene = Scene::new("names", Setting::default());
    scene.start();
    let pool = scene.connect();
    for fits in ["n".repeat(255), "a".to_owned() + &"é".repeat(127), "👾".repeat(63) + "abc"] {
        assert_eq!(fits.len(), 255);
        pool.put(&fits, &[wide(2, 1)], IfExists::Fail).unwrap();
        assert_wide(&pool.get(&fits).unwrap().batches().unwrap(), 0, 1);
        for longer in [fits.clone() + "x", "x".to_owned() + &fits] {
            let error = pool.put(&longer, &[wide(2, 1)], IfExists::Fail).unwrap_err();
            assert!(error.to_string().contains("256 bytes"), "{error}");
            let error = pool.rename(&fits, &longer).unwrap_err();
            assert!(error.to_string().contains("256 bytes"), "{error}");
            assert!(pool.get(&longer).is_err());
        }
    }
    assert_eq!(pool.frames().unwrap().len(), 3);
    drop(pool);
    scene.kill_daemon();
    scene.start();
    assert_eq!(scene.connect().frames().unwrap().len(), 3);
    clear(&scene);
    scene.aftermath(0, "names");
}
