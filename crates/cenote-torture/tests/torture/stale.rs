//! What an earlier daemon, or anybody, left in the directory.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use crate::history::History;
use crate::scene::{Scene, Setting};

#[test]
fn a_stale_socket_and_leftovers_are_cleared_away() {
    let scene = Scene::new("stale", Setting::default());
    let mut history = History::default();
    scene.start();
    let mut client = scene.client("a client");
    history.change(&scene, &mut client, "put a # m");
    for round in 0..6 {
        scene.kill_daemon();
        // A socket that nobody listens on is there by itself.
        match round {
            0 => {}
            1 => {
                std::fs::remove_file(scene.path("socket")).unwrap();
                drop(UnixListener::bind(scene.path("socket")).unwrap());
            }
            2 => {
                std::fs::remove_file(scene.path("socket")).unwrap();
                std::fs::write(scene.path("socket"), "no socket").unwrap();
            }
            3 => std::fs::write(scene.path("lock"), "not a number at all").unwrap(),
            4 => std::fs::write(scene.path("lock"), std::process::id().to_string()).unwrap(),
            _ => std::fs::remove_file(scene.path("lock")).unwrap(),
        }
        let files = [
            "arena.999999",
            "arena.4000000",
            "arena.x",
            "lease.3",
            "lease.99999999999999999999",
            "alive.3",
            "alive.5",
            "heads.77",
            "heads.18446744073709551615",
            "board.new",
            "arena.",
            "damaged.journal",
        ];
        for file in files {
            std::fs::write(scene.path(file), [7u8; 5000]).unwrap();
        }
        scene.start();
        let story = format!("stale {round}");
        history.change(&scene, &mut client, "put a # s");
        history.change(&scene, &mut client, "put b # m");
        let pool = scene.connect();
        history.settle(&pool, &story);
        std::fs::remove_file(scene.path("lease.99999999999999999999")).unwrap();
        scene.settled(&pool, 1, &story);
        for gone in ["arena.999999", "lease.3", "alive.3", "alive.5", "heads.77", "board.new"] {
            assert!(!scene.path(gone).exists(), "{story}: {gone} is still there");
        }
        for file in files {
            let _ = std::fs::remove_file(scene.path(file));
        }
    }
    client.end();
    scene.aftermath(0, "stale");
}

#[test]
fn a_directory_that_is_not_the_users_alone_is_refused() {
    let scene = Scene::new("mode", Setting::default());
    std::fs::create_dir(scene.run_dir()).unwrap();
    for mode in [0o755, 0o770, 0o701] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(scene.run_dir(), permissions).unwrap();
        let mut daemon = scene.daemon_to_be(None);
        let said = daemon.hear(|| {}).said();
        assert!(said.starts_with("failed") && said.contains("chmod 700"), "{said}");
    }
    std::fs::set_permissions(scene.run_dir(), std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(std::fs::read_dir(scene.run_dir()).unwrap().count(), 0, "it left something");
    scene.start();
    scene.aftermath(0, "mode");
}

/// The directory is removed under a daemon and its clients.
#[test]
fn a_directory_that_is_removed_is_an_error_and_can_be_made_anew() {
    let scene = Scene::new("removed", Setting::default());
    scene.start();
    let mut client = scene.client_to_be("a client", 1000, None).ready();
    client.ask("put a 1 m").ok();
    client.ask("arrays one a").ok();
    client.ask("hold two a").ok();
    std::fs::remove_dir_all(scene.run_dir()).unwrap();
    client.ask("check one").ok();
    for i in 0..5 {
        // Whatever it says, it says it in time.
        let _ = client.ask(&format!("put b {i} l"));
        let _ = client.ask("read a");
    }
    scene.kill_daemon();
    scene.start();
    client.ask("check one").ok();
    let mut second = scene.client("a second client");
    second.ask("put a 2 m").ok();
    assert_eq!(second.ask("read a").ok()[0], "2");
    // The first one is told that its pool is gone, and then is a client of the new one.
    let first = client.ask("put c 1 s").said();
    assert!(first.starts_with("err remade") || first.starts_with("ok"), "{first}");
    client.ask("put c 2 s").ok();
    let frame = client.ask("check two").err();
    assert!(frame.starts_with("remade"), "{frame}");
    assert_eq!(client.ask("read a").ok()[0], "2");
    client.ask("check one").ok();
    second.end();
    client.end();
    scene.aftermath(0, "removed");
}

/// Both pools number their sessions from one: a client of the old must not be taken for one
/// of the new.
#[test]
fn a_client_of_a_pool_that_was_made_anew_takes_nothing_from_the_others() {
    let scene = Scene::new("anew", Setting::default());
    for round in 0..3 {
        scene.start();
        let mut old = scene.client("an old client");
        old.ask("put a 1 m").ok();
        old.ask("arrays one a").ok();
        scene.kill_daemon();
        match round {
            0 => std::fs::remove_file(scene.path("board")).unwrap(),
            1 => std::fs::write(scene.path("board"), [0u8; 8192]).unwrap(),
            _ => std::fs::write(scene.path("board"), b"").unwrap(),
        }
        scene.start();
        let mut new = scene.client("a new client");
        for i in 0..3 {
            new.ask(&format!("put b {i} m")).ok();
            let said = old.ask(&format!("put c {i} m")).said();
            assert!(i == 0 && said.starts_with("err remade") || said.starts_with("ok"), "{said}");
            assert_eq!(new.ask("read b").ok()[0], i.to_string());
            old.ask("check one").ok();
        }
        let lost = scene.connect().info().unwrap().lost;
        assert!(lost.iter().any(|l| l.name == "a"), "{lost:?}");
        let pool = scene.connect();
        for frame in pool.frames().unwrap() {
            pool.drop_frame(&frame.name).unwrap();
        }
        for lost in pool.info().unwrap().lost {
            pool.drop_frame(&lost.name).unwrap();
        }
        drop(pool);
        new.end();
        old.end();
        scene.aftermath(0, "anew");
        scene.end_daemon();
    }
}
