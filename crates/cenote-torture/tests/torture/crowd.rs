//! Many: clients, threads, versions, names; and the bounds of names.

use std::time::{Duration, Instant};

use cenote_torture::content::{Size, batches, check};

use crate::scene::{Scene, Setting, times};

/// A daemon that starts with a soft limit of 1024 descriptors, as shells give it.
#[test]
fn a_thousand_clients() {
    let within = ["sh", "-c", "ulimit -Sn 1024 && exec \"$@\"", "sh"].map(str::to_owned).to_vec();
    let scene = Scene::new("crowd", Setting { within, ..Setting::default() });
    scene.start();
    let mut writer = scene.client("a writer");
    writer.ask("put a 1 m").ok();
    let mut crowd: Vec<_> = (0..4).map(|_| scene.client("a crowd")).collect();
    let begin = Instant::now();
    for agent in &mut crowd {
        agent.tell("connect 250");
    }
    for agent in &mut crowd {
        agent.hear(|| {}).ok();
    }
    eprintln!("a thousand clients connected in {:?}", begin.elapsed());
    let pool = scene.connect();
    assert_eq!(pool.info().unwrap().clients, 1000 + 4 + 2);
    for counter in 2..10 {
        writer.ask(&format!("put a {counter} m")).ok();
        for agent in &mut crowd {
            assert_eq!(agent.ask("read a").ok()[0], counter.to_string());
        }
    }
    // A new daemon takes all of them over.
    scene.kill_daemon();
    let begin = Instant::now();
    scene.start();
    eprintln!("taken over in {:?}", begin.elapsed());
    assert_eq!(scene.ask(&mut writer, "put a 11 m").ok()[0], "10");
    assert_eq!(pool.info().unwrap().clients, 1000 + 4 + 2);
    // Two end in good order, two do not.
    for mut agent in crowd.drain(..2) {
        agent.ask("disconnect").ok();
        agent.end();
    }
    drop(crowd);
    writer.end();
    drop(pool);
    scene.aftermath(0, "a crowd");
}

#[test]
fn threads_take_and_drop_the_same_chunks_while_a_version_is_replaced_a_thousand_times() {
    let scene = Scene::new("threads", Setting::default());
    scene.start();
    let mut writer = scene.client("a writer");
    writer.ask("put hot 0 m").ok();
    let mut readers: Vec<_> = (0..3).map(|_| scene.client("a reader")).collect();
    for reader in &mut readers {
        reader.ask("hold first hot").ok();
        reader.ask("churn 6 hot").ok();
    }
    for _ in 0..times(1) {
        writer.ask("version hot 1000").ok();
    }
    for reader in &mut readers {
        let words = reader.ask("halt").ok();
        let (reads, unavailable): (u64, u64) =
            (words[0].parse().unwrap(), words[1].parse().unwrap());
        assert!(reads > 100 && unavailable == 0, "{words:?}");
        reader.ask("check first").ok();
        reader.ask("release first").ok();
    }
    assert_eq!(writer.ask("read hot").ok()[1], (1000 * times(1) + 1).to_string());
    for client in readers {
        client.end();
    }
    writer.end();
    scene.aftermath(0, "threads");
}

#[test]
fn names_at_their_bounds() {
    let scene = Scene::new("names", Setting::default());
    scene.start();
    let pool = scene.connect();
    let put = |name: &str| pool.put(name, &batches(name, 1, Size::Small), cenote::IfExists::Fail);
    let long = "n".repeat(255);
    let wide = "ü".repeat(127);
    let sound =
        ["a", "0", "-", ".x", "x.", "a b", "ä", "名前", "👾", "%2e%2e", long.as_str(), &wide];
    for name in sound {
        assert_eq!(put(name).unwrap_or_else(|e| panic!("{name:?}: {e}")), 1);
    }
    let (longer, far) = ("n".repeat(256), "n".repeat(10_000));
    let wider = "ü".repeat(128);
    let unsound = [
        "", ".", "..", "/", "a/b", "../a", "\\", "a\nb", "a\0b", " a", "a ", "\u{7f}", &longer,
        &far, &wider,
    ];
    for name in unsound {
        let error = put(name).expect_err(name).to_string();
        assert!(error.contains("name"), "{name:?}: {error}");
        assert!(error.len() < 400, "{error}");
        assert!(pool.get(name).is_err(), "{name:?}");
        assert!(pool.rename("a", name).is_err(), "{name:?}");
        assert!(pool.drop_frame(name).is_err(), "{name:?}");
    }
    assert_eq!(pool.frames().unwrap().len(), sound.len());
    // A few thousand more: head tables grow, and everything is found.
    let many = 3000 * times(1);
    for i in 0..many {
        let name = format!("{i} of many");
        assert_eq!(put(&name).unwrap(), 1);
    }
    scene.kill_daemon();
    let begin = Instant::now();
    scene.start();
    eprintln!("{many} frames taken over in {:?}", begin.elapsed());
    for i in (0..many).step_by(17) {
        let name = format!("{i} of many");
        assert_eq!(check(&name, &pool.get(&name).unwrap().batches().unwrap()), Ok(1));
    }
    for name in sound {
        assert_eq!(check(name, &pool.get(name).unwrap().batches().unwrap()), Ok(1));
    }
    for i in 0..many {
        pool.drop_frame(&format!("{i} of many")).unwrap();
    }
    for name in sound {
        pool.drop_frame(name).unwrap();
    }
    drop(pool);
    std::thread::sleep(Duration::from_millis(10));
    scene.aftermath(0, "names");
}

/// A restart skipped a thousand numbers of arenas, of the million that a pool has.
#[test]
fn restarts_do_not_use_up_the_numbers_of_arenas() {
    let scene = Scene::new("arena numbers", Setting::default());
    let mut largest = 0;
    for round in 0..8 {
        scene.start();
        let mut client = scene.client("a client");
        client.ask(&format!("put a {round} l")).ok();
        client.end();
        let names = std::fs::read_dir(scene.run_dir()).unwrap().map(|e| e.unwrap().file_name());
        let number = |name: std::ffi::OsString| -> Option<u64> {
            name.to_str()?.strip_prefix("arena.")?.parse().ok()
        };
        let last = names.filter_map(number).max().unwrap();
        assert!(last >= largest, "a number was given out twice");
        largest = last;
        if round % 2 == 0 { scene.kill_daemon() } else { scene.end_daemon() }
    }
    assert!(largest < 100, "arena {largest} after eight restarts");
    scene.start();
    scene.aftermath(0, "arena numbers");
}

/// A client that dropped its connection while its process went on kept its session, its lease
/// page and its arenas until the process ended.
#[test]
fn a_connection_that_is_dropped_leaves_nothing_though_its_process_lives() {
    let scene = Scene::new("dropped", Setting::default());
    scene.start();
    let mut client = scene.client("a client");
    for _ in 0..times(3) {
        client.ask("put a 1 m").ok();
        client.ask("connect 50").ok();
        client.ask("disconnect").ok();
        let pool = scene.connect();
        scene.settled(&pool, 1, "dropped connections");
        // With no daemon to hear of it, either.
        client.ask("connect 20").ok();
        scene.kill_daemon();
        client.ask("disconnect").ok();
        scene.start();
        scene.settled(&pool, 1, "connections dropped while there was no daemon");
    }
    client.end();
    scene.aftermath(0, "dropped connections");
}
