//! A full pool: the refusal's facts, and what a wait for room ends with.

use std::time::{Duration, Instant};

use cenote::{Error, IfExists, Limit, Pool, Refusal};
use cenote_torture::content::{Size, batches, check};

use crate::scene::{Scene, times};
use crate::{clear, small};

const CAPACITY: u64 = 32 << 20;

fn fill(pool: &Pool) -> (u64, Refusal) {
    for i in 0..1000 {
        let name = format!("fill{i}");
        match pool.put(&name, &batches(&name, i, Size::Large), IfExists::Fail) {
            Ok(_) => {}
            Err(Error::Refused(refusal)) => return (i, refusal),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("it is never full");
}

/// Who reads what nobody can find any more, and who writes what is not committed.
#[test]
fn the_refusal_says_how_much_and_by_whom() {
    let scene = Scene::new("holders", small(CAPACITY));
    scene.start();
    let pool = scene.connect();
    let mut reader = scene.client("a reader");
    let mut filler = scene.client("a filler");
    let stale = batches("held", 1, Size::Large);
    pool.put("held", &stale, IfExists::Fail).unwrap();
    reader.ask("hold one held").ok();
    let stale_bytes = pool.get("held").unwrap().nbytes();
    pool.put("held", &batches("held", 2, Size::Small), IfExists::Replace).unwrap();
    // Beside the 1.3 MB that are read, 6.5 MB that are being written, and never are committed.
    let mut writer = pool.writer("open", stale[0].schema(), IfExists::Fail).unwrap();
    for counter in 0..5 {
        writer.write_all(&batches("open", counter, Size::Large)).unwrap();
    }
    let mut count = 0;
    while filler.ask(&format!("put fill{count} {count} l")).said().starts_with("ok") {
        count += 1;
        assert!(count < 100, "it is never full");
    }
    let refused = pool.put("large", &batches("large", 1, Size::Huge), IfExists::Fail);
    let Err(Error::Refused(Refusal::Exhausted { asked, free, largest, capacity, limit, holders })) =
        refused
    else {
        panic!("{refused:?}")
    };
    assert!(largest <= free && free < asked, "{asked} asked, {free} free, {largest}");
    assert_eq!((capacity, limit), (CAPACITY, Limit::Capacity));
    let held = |pid: u32| holders.iter().find(|h| h.pid == pid).map_or(0, |h| h.bytes);
    assert!(held(reader.pid) >= stale_bytes, "{holders:?}, {stale_bytes} stale");
    assert!(held(std::process::id()) >= 6 << 20, "{holders:?}");
    assert!(holders.is_sorted_by_key(|h| std::cmp::Reverse(h.bytes)), "{holders:?}");
    assert!(holders.iter().all(|h| !h.command.is_empty()), "{holders:?}");
    reader.ask("check one").ok();
    // What they let go of is room.
    drop(writer);
    let batches = batches("large", 1, Size::Large);
    pool.put("large", &batches, IfExists::Fail).unwrap();
    reader.ask("release one").ok();
    for client in [reader, filler] {
        client.end();
    }
    drop(pool);
    clear(&scene);
    scene.aftermath(0, "holders");
}

#[test]
fn a_wait_that_ends_in_a_refusal_leaves_no_trace() {
    let scene = Scene::new("no trace", small(CAPACITY));
    scene.start();
    let pool = scene.connect();
    fill(&pool);
    let before = scene.settled(&pool, 0, "full");
    let made = batches("late", 1, Size::Large);
    for wait_ms in [0, 1, 120, 700] {
        let wait = Duration::from_millis(wait_ms);
        let begin = Instant::now();
        let mut writer = pool.writer("late", made[0].schema(), IfExists::Fail).unwrap().wait(wait);
        let outcome = writer.write_all(&made);
        let waited = begin.elapsed();
        assert!(matches!(outcome, Err(Error::Refused(Refusal::Exhausted { .. }))), "{outcome:?}");
        drop(writer);
        // It counts whole milliseconds.
        assert!(waited + Duration::from_millis(1) >= wait, "{waited:?} of {wait:?}");
        assert!(waited < wait + Duration::from_secs(3), "{waited:?} of {wait:?}");
    }
    let after = scene.settled(&pool, 0, "refused");
    assert_eq!((before.frames, before.chunks), (after.frames, after.chunks));
    assert!(after.used <= before.used + (1 << 20), "{before:?} {after:?}");
    assert!(pool.get("late").is_err());
    drop(pool);
    clear(&scene);
    scene.aftermath(0, "no trace");
}

/// A put of more than the whole pool waited for its deadline, though no drop could help it.
#[test]
fn what_can_never_fit_is_refused_at_once() {
    let scene = Scene::new("never", small(8 << 20));
    scene.start();
    let pool = scene.connect();
    let made: arrow_array::ArrayRef =
        std::sync::Arc::new(arrow_array::UInt64Array::from(vec![7; 2 << 20]));
    let made = arrow_array::RecordBatch::try_from_iter([("a", made)]).unwrap();
    let begin = Instant::now();
    let mut writer =
        pool.writer("never", made.schema(), IfExists::Fail).unwrap().wait(Duration::from_secs(20));
    let outcome = writer.write_all(&[made]);
    assert!(matches!(outcome, Err(Error::Refused(Refusal::Exhausted { .. }))), "{outcome:?}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    drop(writer);
    drop(pool);
    scene.aftermath(0, "never");
}

/// Room comes when a reader lets go of an old version, when a writer is killed, and when the
/// daemon is replaced meanwhile.
#[test]
fn a_wait_ends_when_another_frees_room() {
    let scene = Scene::new("room", small(CAPACITY));
    scene.start();
    let mut reader = scene.client("a reader");
    let mut waiter = scene.client("a waiter");
    let pool = scene.connect();
    pool.put("held", &batches("held", 1, Size::Huge), IfExists::Fail).unwrap();
    reader.ask("hold one held").ok();
    pool.drop_frame("held").unwrap();
    fill(&pool);
    waiter.tell("put late 1 l 30000");
    std::thread::sleep(Duration::from_millis(150));
    let begin = Instant::now();
    reader.ask("release one").ok();
    waiter.hear(|| {}).ok();
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());

    let mut writer = scene.client("a writer");
    fill_again(&pool);
    writer.tell("put late 1 l 30000");
    waiter.tell("put later 1 l 30000");
    std::thread::sleep(Duration::from_millis(150));
    scene.kill_daemon();
    scene.start();
    std::thread::sleep(Duration::from_millis(150));
    writer.kill();
    pool.drop_frame("fill0").unwrap();
    pool.drop_frame("fill1").unwrap();
    waiter.hear(|| {}).ok();
    assert_eq!(waiter.ask("read later").ok()[0], "1");
    for client in [reader, waiter] {
        client.end();
    }
    drop(writer);
    drop(pool);
    clear(&scene);
    scene.aftermath(0, "room");
}

fn fill_again(pool: &Pool) {
    for i in 0..1000 {
        let name = format!("more{i}");
        if pool.put(&name, &batches(&name, i, Size::Large), IfExists::Fail).is_err() {
            return;
        }
    }
}

/// It is granted an arena in an answer that it never reads.
#[test]
fn a_waiter_that_is_stopped_and_killed_keeps_no_arena() {
    for round in 0..times(2) {
        let scene = Scene::new(&format!("stopped waiter {round}"), small(24 << 20));
        scene.start();
        let pool = scene.connect();
        let (count, _) = fill(&pool);
        let mut waiter = scene.client("a waiter");
        waiter.tell("put late 1 l 60000");
        std::thread::sleep(Duration::from_millis(80));
        waiter.stop();
        for i in 0..count {
            pool.drop_frame(&format!("fill{i}")).unwrap();
        }
        std::thread::sleep(Duration::from_millis(60));
        waiter.kill();
        let (again, _) = fill(&pool);
        assert!(again + 1 >= count, "{again} of {count}");
        let found = check("fill0", &pool.get("fill0").unwrap().batches().unwrap());
        assert_eq!(found, Ok(0));
        drop(pool);
        clear(&scene);
        scene.aftermath(0, "stopped waiter");
        let pool = scene.connect();
        assert_eq!(scene.settled(&pool, 0, "stopped waiter").open, 0);
    }
}
