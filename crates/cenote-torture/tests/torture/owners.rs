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
    // Without a page for the child its parent keeps what it has.
    let mut child = child.expect_goes();
    child.ask("check one").ok();
    child.end();
    client.end();
    scene.aftermath(0, "fork beside a stopped daemon");
}

/// A child that was forked while there was no daemon read what was reused: its frames said
/// so, arrays that had been made of them did not.
#[test]
fn a_child_forked_without_a_daemon_reads_on() {
    for round in 0..4 {
        let scene = Scene::new(&format!("no daemon {round}"), tight());
        scene.start();
        let mut client = scene.client_to_be("a client", 2000, None).ready();
        let mut writer = scene.client("a writer");
        writer.ask("put a 1 m").ok();
        client.ask("hold one a").ok();
        client.ask("arrays two a").ok();
        if round % 2 == 0 {
            scene.kill_daemon()
        } else {
            scene.daemon().stop()
        }
        let mut child = scene.fork_beside(&mut client).1.expect_goes();
        if round % 2 == 0 {
            scene.start()
        } else {
            scene.daemon().signal(Signal::CONT)
        }
        client.ask("release one").ok();
        client.ask("release two").ok();
        if round < 2 {
            client.kill();
        }
        for counter in 2..200 {
            writer.ask(&format!("put a {counter} m")).ok();
        }
        child.ask("check two").ok();
        child.ask("check one").ok();
        // Its own child has a page again, and reads on without it.
        let mut grandchild = scene.fork(&mut child).1.expect_goes();
        child.ask("release one").ok();
        child.end();
        if round >= 2 {
            client.end();
        }
        for counter in 200..300 {
            writer.ask(&format!("put a {counter} m")).ok();
        }
        grandchild.ask("check two").ok();
        grandchild.end();
        writer.end();
        scene.aftermath(0, "no daemon");
    }
}

/// Arrays outlived the connection that they had come over, which a fork then did not know of:
/// a child that dropped them took its parent's lease.
#[test]
fn arrays_that_outlive_their_connection_are_looked_after_by_a_fork() {
    let scene = Scene::new("outlive", tight());
    scene.start();
    let mut writer = scene.client("a writer");
    writer.ask("put a 1 m").ok();
    let mut client = scene.client("a client");
    client.ask("borrow one a").ok();
    client.ask("borrow two a").ok();
    let mut child = scene.fork(&mut client).1.expect_goes();
    child.ask("release one").ok();
    client.ask("release two").ok();
    for counter in 2..200 {
        writer.ask(&format!("put a {counter} m")).ok();
    }
    client.ask("check one").ok();
    child.ask("check two").ok();
    child.end();
    client.end();
    writer.end();
    scene.aftermath(0, "arrays that outlive their connection");
}

/// Little room: what is free is soon used again.
fn tight() -> Setting {
    Setting { capacity: Some(16 << 20), ..Setting::default() }
}

/// A child that had never used the pool itself had nobody to ask for a page for its own
/// child: what that one had inherited was reused under it.
#[test]
fn a_grandchild_goes_on_though_its_parent_never_used_the_pool() {
    let scene = Scene::new("grandchild", tight());
    scene.start();
    let mut writer = scene.client("a writer");
    writer.ask("put a 1 m").ok();
    let mut client = scene.client("a client");
    client.ask("hold one a").ok();
    client.ask("arrays two a").ok();
    let mut child = scene.fork(&mut client).1.expect_goes();
    let mut grandchild = scene.fork(&mut child).1.expect_goes();
    child.kill();
    client.end();
    for counter in 2..200 {
        writer.ask(&format!("put a {counter} m")).ok();
    }
    grandchild.ask("check two").ok();
    grandchild.ask("check one").ok();
    let (_, third) = scene.fork(&mut grandchild);
    let mut third = third.expect_goes();
    grandchild.end();
    for counter in 200..300 {
        writer.ask(&format!("put a {counter} m")).ok();
    }
    third.ask("check two").ok();
    assert_eq!(scene.ask(&mut third, "read a").ok()[0], "299");
    third.end();
    writer.end();
    scene.aftermath(0, "a grandchild");
}
