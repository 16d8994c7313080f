//! Clients and daemons that do not see each other's processes by the same numbers.

use std::time::{Duration, Instant};

use cenote_region::process::{PidFd, ProcessId, Signal};

use crate::can_unshare;
use crate::scene::{Agent, Answer, Scene, Setting};

const INSIDE: [&str; 5] = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];

fn skips(test: &str) -> bool {
    match can_unshare(&INSIDE[1..]) {
        Ok(()) => false,
        Err(why) => {
            eprintln!("SKIP {test}: {why}");
            true
        }
    }
}

fn inside() -> Vec<String> {
    INSIDE.map(str::to_owned).to_vec()
}

/// The process that an unshare(1) waits for, as it is seen from here.
fn child_of(agent: &Agent) -> PidFd {
    let path = format!("/proc/{0}/task/{0}/children", agent.pid);
    let text = std::fs::read_to_string(path).unwrap();
    let pid: u32 = text.split_ascii_whitespace().next().unwrap().parse().unwrap();
    PidFd::open(ProcessId(pid)).unwrap()
}

/// Its leases and its session go within a second, whoever is the daemon by then.
#[test]
fn a_client_of_a_pid_namespace_is_killed() {
    if skips("a_client_of_a_pid_namespace_is_killed") {
        return;
    }
    for daemon_is_replaced in [false, true] {
        let scene = Scene::new("namespace", Setting::default());
        scene.start();
        let pool = scene.connect();
        let mut writer = scene.client("a writer");
        let mut client = scene.client_within("a client", 20_000, None, &inside()).ready();
        client.ask("put own 1 m").ok();
        writer.ask("put a 1 l").ok();
        client.ask("hold one a").ok();
        client.ask("arrays two own").ok();
        // Which makes the socket that forked children come to.
        let (_, sibling) = scene.fork(&mut writer);
        sibling.expect_goes().end();
        let mut child = fork(&scene, &mut client);
        writer.ask("put a 2 l").ok();
        if daemon_is_replaced {
            scene.kill_daemon();
            scene.start();
            // Neither it nor its child has been heard of by this daemon.
            for counter in 3..30 {
                writer.ask(&format!("put a {counter} l")).ok();
            }
        }
        let held = pool.info().unwrap().retired_held;
        assert!(held >= 1_000_000, "{held} held");
        client.ask("check one").ok();
        client.ask("check two").ok();
        assert_eq!(client.ask("read own").ok()[0], "1");
        child.ask("check one").ok();
        child.ask("release one").ok();
        child.ask("check two").ok();
        // The first process of a PID namespace: the others go with it.
        child_of(&client).signal(Signal::KILL).unwrap();
        let begin = Instant::now();
        scene.settled(&pool, 1, "killed in its namespace");
        eprintln!("a client of another PID namespace is gone after {:?}", begin.elapsed());
        let sessions = pool.leases().unwrap();
        assert_eq!(sessions.len(), 2, "{sessions:?}");
        drop(client);
        writer.end();
        drop(pool);
        scene.aftermath(0, "namespace");
    }
}

/// A child that it forks, in its own namespace: it says a number that is nobody's here.
fn fork(scene: &Scene, client: &mut Agent) -> Agent {
    let socket = scene.run_dir().with_file_name("forked");
    client.ask(&format!("fork {}", socket.display())).ok();
    scene.child_of(client, &Answer::Gone).expect_goes()
}

/// It lives on without a connection while daemons change: nothing is reused under it.
#[test]
fn a_client_of_a_pid_namespace_outlives_daemons() {
    if skips("a_client_of_a_pid_namespace_outlives_daemons") {
        return;
    }
    let scene = Scene::new("outlives", Setting::default());
    scene.start();
    let mut client = scene.client_within("a client", 20_000, None, &inside()).ready();
    let pool = scene.connect();
    let mut writer = scene.client("a writer");
    writer.ask("put a 1 l").ok();
    client.ask("hold one a").ok();
    for round in 0..4 {
        scene.kill_daemon();
        client.ask("check one").ok();
        scene.start();
        for counter in 0..20 {
            writer.ask(&format!("put a {counter} l")).ok();
        }
        writer.ask("drop a").ok();
        std::thread::sleep(Duration::from_millis(50));
        assert!(pool.info().unwrap().retired_held >= 1_000_000, "round {round}");
        client.ask("check one").ok();
    }
    client.ask("release one").ok();
    client.ask("put a 5 m").ok();
    client.tell_end();
    client.mourn();
    writer.end();
    drop((client, pool));
    scene.aftermath(0, "outlives");
}

/// The other way round: the daemon does not see its clients' processes at all.
#[test]
fn a_daemon_in_a_pid_namespace() {
    if skips("a_daemon_in_a_pid_namespace") {
        return;
    }
    let scene = Scene::new("daemon inside", Setting { within: inside(), ..Setting::default() });
    scene.start();
    let pool = scene.connect();
    let mut clients: Vec<_> = (0..3).map(|i| scene.client(&format!("client {i}"))).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        client.ask(&format!("put {i} 1 l")).ok();
        client.ask(&format!("hold one {i}")).ok();
        client.ask(&format!("put {i} 2 l")).ok();
    }
    assert!(pool.info().unwrap().retired_held >= 3_000_000);
    // One is killed, one ends, one stays.
    clients[0].kill();
    clients.remove(1).end();
    let begin = Instant::now();
    loop {
        let info = pool.info().unwrap();
        if info.clients == 2 && info.retired_held < 2_000_000 && info.leaked == 0 {
            break;
        }
        let sessions = pool.leases();
        assert!(begin.elapsed() < Duration::from_secs(3), "{info:?} {sessions:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
    clients[1].ask("check one").ok();
    clients.remove(1).end();
    drop(clients);
    drop(pool);
    scene.aftermath(0, "daemon inside");
}

/// As a container is started: with processes and a /dev/shm of its own, and the pool's
/// directory mounted into it, where `-v` puts it.
const CONTAINER: [&str; 8] =
    ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation=private", "sh", "-c"];

fn container(scene: &Scene) -> Vec<String> {
    let dir = scene.run_dir();
    let script = format!(
        "set -e; hold=$(mktemp -d /tmp/cenote-container-XXXXXX); mount --bind {0} $hold; \
         mount -t tmpfs -o size=64m none /dev/shm; mkdir -p {0}; mount --bind $hold {0}; \
         umount $hold; rmdir $hold; mount -t proc proc /proc; exec \"$@\"",
        dir.display()
    );
    CONTAINER.iter().map(|&word| word.to_owned()).chain([script, "sh".to_owned()]).collect()
}

/// Two containers and the host share a pool: each reads what the others put, and the end of one
/// frees what it held.
#[test]
fn containers_share_a_pool() {
    if let Err(why) = can_unshare(&["--mount", "--pid", "--fork", "--mount-proc"]) {
        eprintln!("SKIP containers_share_a_pool: {why}");
        return;
    }
    let scene = Scene::new("containers", Setting::default());
    scene.start();
    let pool = scene.connect();
    let within = container(&scene);
    let mut one = scene.client_within("one", 20_000, None, &within).ready();
    let mut two = scene.client_within("two", 20_000, None, &within).ready();
    one.ask("put a 1 l").ok();
    assert_eq!(two.ask("read a").ok()[0], "1");
    assert_eq!(pool.get("a").unwrap().version(), 1);
    two.ask("hold held a").ok();
    one.ask("put a 2 l").ok();
    assert_eq!(two.ask("read a").ok()[0], "2");
    two.ask("check held").ok();
    let held = pool.info().unwrap().retired_held;
    assert!(held >= 1_000_000, "{held} held");
    // The daemon is another, on the host, while the containers run.
    scene.kill_daemon();
    scene.start();
    one.ask("put b 7 m").ok();
    two.ask("check held").ok();
    child_of(&two).signal(Signal::KILL).unwrap();
    let begin = Instant::now();
    while pool.info().unwrap().retired_held > 0 {
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", pool.leases());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(one.ask("read b").ok()[0], "7");
    one.tell_end();
    one.mourn();
    drop((one, two, pool));
    scene.aftermath(0, "containers");
}
