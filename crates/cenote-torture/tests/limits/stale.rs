//! What a killed daemon leaves behind, and what else may stand in its place.

use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use cenote::{Error, Options, Pool, Unavailable};

use crate::clear;
use crate::scene::{Scene, Setting};

fn connect_now(scene: &Scene) -> Result<Pool, Error> {
    let address = Some(scene.run_dir().display().to_string());
    Pool::connect_at_once(Options {
        address,
        start: None,
        answer_within: Some(Duration::from_secs(2)),
    })
}

/// A socket that nobody listens to says so at once, and is replaced.
#[test]
fn a_socket_without_a_daemon() {
    let scene = Scene::new("socket", Setting::default());
    scene.start();
    let mut client = scene.client("a client");
    client.ask("put a 1 m").ok();
    scene.kill_daemon();
    assert!(scene.path("socket").exists());
    let begin = Instant::now();
    let refused = connect_now(&scene);
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    let Err(Error::Unavailable { why: Unavailable::NotRunning, .. }) = refused else {
        panic!("{refused:?}")
    };
    // Whatever stands in its place is replaced, too.
    for round in 0..4 {
        let path = scene.path("socket");
        let _ = std::fs::remove_file(&path);
        match round {
            0 => drop(UnixListener::bind(&path).unwrap()),
            1 => std::fs::write(&path, "no socket").unwrap(),
            2 => std::os::unix::fs::symlink("/nowhere/at/all", &path).unwrap(),
            _ => {}
        }
        scene.start();
        assert_eq!(client.ask("read a").ok()[0], "1", "round {round}");
        client.ask(&format!("put b {round} m")).ok();
        assert!(connect_now(&scene).is_ok(), "round {round}");
        scene.kill_daemon();
    }
    scene.start();
    client.end();
    scene.aftermath(0, "socket");
}

/// Files of sessions and arenas that are nobody's, and files that are none of the pool's.
#[test]
fn a_directory_of_a_killed_daemon() {
    let scene = Scene::new("directory", Setting::default());
    scene.start();
    let mut clients: Vec<_> = (0..5).map(|i| scene.client(&format!("client {i}"))).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        client.ask(&format!("put {i} {i} l")).ok();
        client.ask(&format!("hold one {i}")).ok();
        client.ask(&format!("put {i} {} l", i + 1)).ok();
    }
    scene.kill_daemon();
    drop(clients);
    assert_eq!(scene.session_files().len(), 10);
    for (name, bytes) in [
        ("arena.900", 1 << 20),
        ("arena.901", 0),
        ("lease.77", 4096),
        ("alive.78", 10),
        ("alive.79", 0),
        ("lease.18446744073709551615", 0),
        ("heads.900", 4096),
    ] {
        std::fs::write(scene.path(name), vec![b'1'; bytes]).unwrap();
    }
    std::fs::write(scene.path("notes of the user"), "stay").unwrap();
    scene.start();
    let pool = scene.connect();
    scene.settled(&pool, 0, "a killed daemon's directory");
    for i in 0..5 {
        let name = i.to_string();
        let batches = pool.get(&name).unwrap().batches().unwrap();
        assert_eq!(cenote_torture::content::check(&name, &batches), Ok(i + 1));
    }
    for name in ["arena.900", "arena.901", "heads.900"] {
        assert!(!scene.path(name).exists(), "{name} is left");
    }
    assert_eq!(std::fs::read_to_string(scene.path("notes of the user")).unwrap(), "stay");
    std::fs::remove_file(scene.path("notes of the user")).unwrap();
    drop(pool);
    clear(&scene);
    scene.aftermath(0, "directory");
}

/// It says whose the pool is, also while that one is stopped, and changes nothing.
#[test]
fn a_second_daemon_changes_nothing() {
    let scene = Scene::new("second", Setting::default());
    scene.start();
    let mut client = scene.client("a client");
    client.ask("put a 1 l").ok();
    client.ask("hold one a").ok();
    let owner = scene.daemon().pid;
    let mut second = scene.daemon_to_be(None);
    let said = second.hear(|| {}).said();
    assert!(said.contains(&format!("is owned by process {owner}")), "{said}");
    scene.daemon().stop();
    scene.second_daemon_is_refused(true);
    scene.daemon().signal(cenote_region::process::Signal::CONT);
    client.ask("check one").ok();
    client.ask("put a 2 l").ok();
    assert_eq!(client.ask("read a").ok(), ["2", "2"]);
    client.end();
    scene.aftermath(0, "second");
}
