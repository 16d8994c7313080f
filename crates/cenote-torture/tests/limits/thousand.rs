//! A thousand clients at once, each of which puts and gets.

use std::time::{Duration, Instant};

use cenote::{IfExists, Options, Pool};
use cenote_torture::content::{Size, batches, check};

use crate::scene::{Scene, Setting};

const CLIENTS: u64 = 1000;
const THREADS: u64 = 8;

fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limits = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits });
}

fn memory_of(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn each_of_a_thousand_puts_and_gets() {
    raise_descriptors();
    let scene = Scene::new("thousand", Setting { capacity: Some(1 << 30), ..Setting::default() });
    scene.start();
    let options = Options {
        address: Some(scene.run_dir().display().to_string()),
        start: None,
        answer_within: Some(Duration::from_secs(20)),
    };
    let begin = Instant::now();
    let share = CLIENTS / THREADS;
    let connect = |thread: u64| {
        let of = (thread * share)..((thread + 1) * share);
        of.map(|i| (i, Pool::connect(options.clone()).unwrap())).collect::<Vec<_>>()
    };
    let pools: Vec<Vec<(u64, Pool)>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || connect(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let connected = begin.elapsed();
    let watcher = scene.connect();
    assert_eq!(watcher.info().unwrap().clients, CLIENTS + 1);
    std::thread::scope(|scope| {
        for pools in &pools {
            scope.spawn(move || {
                for (i, pool) in pools {
                    let name = format!("of {i}");
                    pool.put(&name, &batches(&name, *i, Size::Small), IfExists::Fail).unwrap();
                    let found = check(&name, &pool.get(&name).unwrap().batches().unwrap());
                    assert_eq!(found, Ok(*i));
                }
            });
        }
    });
    let worked = begin.elapsed() - connected;
    let ask = Instant::now();
    let info = watcher.info().unwrap();
    let answered = ask.elapsed();
    assert_eq!((info.clients, info.frames, info.leaked), (CLIENTS + 1, CLIENTS, 0));
    let memory = memory_of(scene.daemon().pid);
    eprintln!(
        "a thousand clients: connected in {connected:?}, put and got in {worked:?}; info in \
         {answered:?}; the daemon takes {memory} KiB, the pool {} MiB",
        info.used >> 20
    );
    assert!(answered < Duration::from_millis(500), "{answered:?}");
    assert!(memory < 300 << 10, "{memory} KiB");
    drop(pools);
    let begin = Instant::now();
    let info = scene.settled(&watcher, 0, "a thousand");
    eprintln!("all gone after {:?}", begin.elapsed());
    assert_eq!(info.open, 0, "{info:?}");
    for i in 0..CLIENTS {
        watcher.drop_frame(&format!("of {i}")).unwrap();
    }
    drop(watcher);
    scene.aftermath(0, "a thousand");
}
