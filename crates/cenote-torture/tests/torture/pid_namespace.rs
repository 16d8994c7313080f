//! Clients and daemons that do not see each other's processes: containers that share a
//! /dev/shm.

use std::time::Duration;

use cenote_region::process::{PidFd, ProcessId, Signal};

use crate::scene::{Agent, Scene, Setting};

fn unshare() -> Option<Vec<String>> {
    let words = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
    let works = std::process::Command::new(words[0])
        .args(&words[1..])
        .arg("true")
        .output()
        .is_ok_and(|output| output.status.success());
    if !works {
        eprintln!("pid_namespace skipped: unshare --pid --fork --mount-proc does not work here");
    }
    works.then(|| words.map(str::to_owned).to_vec())
}

/// The process that unshare has forked.
fn inner(agent: &Agent) -> PidFd {
    let path = format!("/proc/{0}/task/{0}/children", agent.pid);
    for _ in 0..1000 {
        let children = std::fs::read_to_string(&path).unwrap_or_default();
        if let Some(pid) = children.split_ascii_whitespace().next() {
            return PidFd::open(ProcessId(pid.parse().unwrap())).unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("unshare has no child");
}

#[test]
fn a_client_in_a_namespace_of_its_own() {
    let Some(within) = unshare() else { return };
    let scene = Scene::new("pid", Setting::default());
    scene.start();
    let mut writer = scene.client("a writer");
    writer.ask("put a 1 m").ok();
    for round in 0..4 {
        let story = format!("namespace {round}");
        let mut client = scene.client_within("a client inside", 20_000, None, &within).ready();
        client.ask("hold one a").ok();
        client.ask("arrays two a").ok();
        client.ask("put own 1 m").ok();
        let (_, child) = scene.fork(&mut client);
        // Its pid is another one inside: only the socket's word counts.
        let mut child = child.expect_goes();
        writer.ask("put a 2 m").ok();
        writer.ask("put a 3 m").ok();
        client.ask("check one").ok();
        child.ask("check one").ok();
        if round % 2 == 1 {
            scene.kill_daemon();
            scene.start();
            let pool = scene.connect();
            assert!(pool.info().unwrap().retired_held > 0, "{story}: what it reads was freed");
            scene.ask(&mut writer, "put a 4 m").ok();
            client.ask("check one").ok();
            client.ask("check two").ok();
            child.ask("check one").ok();
            client.ask("put own 2 m").ok();
        }
        if round < 2 {
            inner(&client).signal(Signal::KILL).unwrap();
            // With the first process of its namespace go all others.
            client.mourn_killed_inside();
        } else {
            drop(client);
        }
        drop(child);
        let pool = scene.connect();
        scene.settled(&pool, 1, &story);
    }
    writer.end();
    scene.aftermath(0, "namespace");
}

/// Where a daemon sees neither process nor death, it keeps what may be read, and shows it.
#[test]
fn a_daemon_in_a_namespace_of_its_own() {
    let Some(within) = unshare() else { return };
    let scene = Scene::new("pid outside", Setting { within, ..Setting::default() });
    scene.start();
    let mut writer = scene.client("a writer outside");
    writer.ask("put a 1 m").ok();
    let mut reader = scene.client("a reader outside");
    reader.ask("hold one a").ok();
    writer.ask("put a 2 m").ok();
    writer.ask("put a 3 m").ok();
    reader.ask("check one").ok();
    // The kernel tells the daemon of a death, if it cannot name the process.
    reader.kill();
    let pool = scene.connect();
    scene.settled(&pool, 1, "a reader outside was killed");
    // After a restart nobody tells it.
    let mut reader = scene.client("a reader outside");
    reader.ask("hold one a").ok();
    writer.ask("put a 4 m").ok();
    writer.ask("put a 5 m").ok();
    let inner = inner(&scene.daemon());
    inner.signal(Signal::KILL).unwrap();
    while inner.is_alive().unwrap() {
        std::thread::sleep(Duration::from_millis(1));
    }
    scene.kill_daemon();
    scene.start();
    assert_eq!(scene.ask(&mut writer, "put a 6 m").ok()[0], "6");
    reader.ask("check one").ok();
    // Not connected since: killed now, it cannot be told from one that lives.
    reader.kill();
    std::thread::sleep(Duration::from_millis(300));
    let info = pool.info().unwrap();
    assert!(info.retired_held > 0 && info.leaked == 0, "{info:?}");
    let leases = pool.leases().unwrap();
    assert!(leases.iter().any(|s| s.quarantined && s.pid == 0), "{leases:?}");
    writer.ask("put a 7 m").ok();
    assert_eq!(writer.ask("read a").ok()[0], "7");
}
