//! One pool, one owner.

use std::time::{Duration, Instant};

use cenote_region::process::Signal;

use crate::history::History;
use crate::scene::{Answer, Scene, Setting, times};

#[test]
fn a_second_daemon_is_refused_and_says_by_whom() {
    let scene = Scene::new("second", Setting::default());
    scene.start();
    let mut client = scene.client("a client");
    client.ask("put a 1 m").ok();
    for _ in 0..times(5) {
        scene.second_daemon_is_refused(false);
    }
    assert_eq!(client.ask("read a").ok(), ["1", "1"]);
    client.end();
    scene.aftermath(0, "a second daemon");
}

#[test]
fn of_many_that_start_at_once_one_owns_the_pool() {
    for round in 0..times(3) {
        let scene = Scene::new(&format!("many {round}"), Setting::default());
        let mut history = History::default();
        for round in 0..3 {
            let mut all: Vec<_> = (0..6).map(|_| scene.daemon_to_be(None)).collect();
            let said: Vec<_> = all.iter_mut().map(|d| d.hear(|| {}).said()).collect();
            let ready: Vec<usize> =
                (0..all.len()).filter(|&i| said[i].starts_with("ready")).collect();
            assert_eq!(ready.len(), 1, "{said:?}");
            for text in said.iter().filter(|text| text.starts_with("failed")) {
                assert!(text.contains("is owned by process"), "{text}");
            }
            scene.own(all.swap_remove(ready[0]));
            drop(all);
            let mut client = scene.client("a client");
            history.change(&scene, &mut client, "put a # m");
            history.change(&scene, &mut client, "put b # s");
            client.end();
            let pool = scene.connect();
            history.settle(&pool, "many");
            if round == 2 {
                scene.aftermath(1, "many daemons");
            }
            scene.kill_daemon();
        }
    }
}

/// The old daemon is stopped, not dead: nobody takes its pool, its clients read on, and say
/// whom they wait for; it goes on as if nothing had been.
#[test]
fn a_stopped_daemon_keeps_its_pool() {
    let scene = Scene::new("stopped", Setting::default());
    let mut history = History::default();
    scene.start();
    let mut patient = scene.client("a patient client");
    let mut short = scene.client_to_be("a client in a hurry", 300, None).ready();
    history.change(&scene, &mut patient, "put a # m");
    history.change(&scene, &mut short, "put b # m");
    patient.ask("hold one a").ok();
    scene.daemon().stop();
    scene.second_daemon_is_refused(true);
    let begin = Instant::now();
    let error = short.ask("put b 77 m").err();
    assert!(error.starts_with("stopped") && error.contains("kill -CONT"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    // A new client does not wait for ever, either.
    let mut third = scene.client_to_be("a third client", 200, None);
    for line in ["read a", "read b", "hold two a", "check two"] {
        short.ask(line).ok();
    }
    patient.ask("check one").ok();
    patient.tell("put a 78 m");
    std::thread::sleep(Duration::from_millis(200));
    scene.daemon().signal(Signal::CONT);
    patient.hear(|| {}).ok();
    assert_eq!(third.hear(|| {}).said(), "ready");
    // What was given up may have happened, or not, and no more than once.
    let version: u64 = short.ask("put b 79 m").ok()[0].parse().unwrap();
    assert!(version == 2 || version == 3, "{version}");
    assert_eq!(short.ask("read b").ok()[0], "79");
    short.ask("release two").ok();
    patient.ask("release one").ok();
    for client in [patient, short, third] {
        client.end();
    }
    scene.aftermath(0, "a stopped daemon");
}

/// A client that gave up waiting for its commit wrote its next version over the bytes of the
/// first, which the daemon, once it went on, then committed: a frame with wrong bytes.
#[test]
fn bytes_of_a_commit_that_was_given_up_are_not_written_again() {
    let scene = Scene::new("given up", Setting::default());
    scene.start();
    let mut client = scene.client_to_be("a client in a hurry", 150, None).ready();
    for round in 0..times(10) {
        client.ask("put a 1 m").ok();
        scene.daemon().stop();
        let error = client.ask("put b 2 m").err();
        assert!(error.starts_with("stopped"), "{error}");
        // It has no arena but the ones it had.
        client.tell("put c 3 m");
        std::thread::sleep(Duration::from_millis(5 * round));
        scene.daemon().signal(Signal::CONT);
        let third = client.hear(|| {}).said();
        for name in ["a", "b", "c"] {
            let said = client.ask(&format!("read {name}")).said();
            assert!(said.starts_with("ok") || said.starts_with("err not-found"), "{said}");
            assert!(name != "c" || !third.starts_with("ok") || said.starts_with("ok"), "{said}");
        }
        for name in ["a", "b", "c"] {
            let _ = client.ask(&format!("drop {name}"));
        }
    }
    client.end();
    scene.aftermath(0, "given up");
}

/// A forked child that had ended and that nobody had waited for was taken for a process that
/// had closed its descriptors: what it had read was kept until its parent ended.
#[test]
fn a_child_that_nobody_has_waited_for_holds_nothing() {
    let scene = Scene::new("zombie", Setting::default());
    scene.start();
    let mut client = scene.client("a client");
    client.ask("put a 1 m").ok();
    client.ask("hold one a").ok();
    let mut child = scene.fork(&mut client).1.expect_goes();
    client.ask("put a 2 m").ok();
    client.ask("release one").ok();
    child.ask("check one").ok();
    child.signal(Signal::KILL);
    let pool = scene.connect();
    scene.settled(&pool, 1, "a zombie");
    let zombie = cenote_region::process::ProcessId(child.pid);
    assert_eq!(cenote_region::process::state(zombie), Some('Z'), "its parent has waited for it");
    drop(pool);
    client.end();
    scene.aftermath(0, "a zombie");
}

/// A fork asks for a page for the child. It must not take as long as other answers may.
#[test]
fn a_fork_does_not_wait_for_a_stopped_daemon() {
    let scene = Scene::new("fork stopped", Setting::default());
    scene.start();
    let mut client = scene.client("a client");
    client.ask("put a 1 m").ok();
    client.ask("hold one a").ok();
    scene.daemon().stop();
    let begin = Instant::now();
    let (answer, child) = scene.fork_beside(&mut client);
    assert!(matches!(answer, Answer::Said(_)));
    assert!(begin.elapsed() < Duration::from_secs(6), "{:?}", begin.elapsed());
    scene.daemon().signal(Signal::CONT);
    // Without a page the child has no lease, and says so.
    let mut child = child.expect_goes();
    let error = child.ask("check one").err();
    assert!(error.starts_with("lost-in-fork"), "{error}");
    assert_eq!(scene.ask(&mut child, "read a").ok(), ["1", "1"]);
    child.end();
    client.end();
    scene.aftermath(0, "fork beside a stopped daemon");
}
