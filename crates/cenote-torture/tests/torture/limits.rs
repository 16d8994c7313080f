//! A pool that is full, whatever sets the limit: its capacity, the file system, a memory
//! cgroup.

use std::time::{Duration, Instant};

use cenote_region::process::Signal;

use crate::scene::{Answer, Scene, Setting, times};

fn small(capacity: u64) -> Setting {
    Setting { capacity: Some(capacity), ..Setting::default() }
}

/// Fills a pool with large frames until it refuses; returns how many there are, and the
/// refusal.
fn fill(scene: &Scene, client: &mut crate::scene::Agent) -> (u64, String) {
    for i in 0..1000 {
        match scene.ask(client, &format!("put fill{i} {i} l")).said() {
            text if text.starts_with("ok") => {}
            text => return (i, text),
        }
    }
    panic!("it is never full");
}

#[test]
fn a_full_pool_refuses_with_numbers_and_holders() {
    let scene = Scene::new("full", small(32 << 20));
    scene.start();
    let mut client = scene.client("a writer");
    let mut reader = scene.client("a reader");
    client.ask("put held 1 l").ok();
    reader.ask("hold one held").ok();
    client.ask("put held 2 l").ok();
    let (count, refusal) = fill(&scene, &mut client);
    assert!(count > 5, "{count}");
    assert!(refusal.starts_with("err exhausted"), "{refusal}");
    for words in
        [" asked", " free", "in one piece", "capacity 32", &format!("process {}", reader.pid)]
    {
        assert!(refusal.contains(words), "{refusal:?} does not say {words:?}");
    }
    // Nothing is left of what was refused, and what is there is whole.
    for i in 0..count {
        assert_eq!(client.ask(&format!("read fill{i}")).ok()[0], i.to_string());
    }
    // Small ones still have room, or not; either way there is an answer.
    for i in 0..20 {
        let said = client.ask(&format!("put tiny{i} {i} s")).said();
        assert!(said.starts_with("ok") || said.starts_with("err exhausted"), "{said}");
    }
    reader.ask("check one").ok();
    reader.ask("release one").ok();
    for i in 0..count {
        client.ask(&format!("drop fill{i}")).ok();
    }
    let (again, _) = fill(&scene, &mut client);
    assert!(again >= count, "{again} of {count} the second time");
    for client in [client, reader] {
        client.end();
    }
    let pool = scene.connect();
    for frame in pool.frames().unwrap() {
        pool.drop_frame(&frame.name).unwrap();
    }
    drop(pool);
    scene.aftermath(0, "full");
}

#[test]
fn a_put_waits_for_room_until_its_deadline() {
    let scene = Scene::new("wait", small(32 << 20));
    scene.start();
    let mut client = scene.client("a writer");
    let (count, _) = fill(&scene, &mut client);
    let mut waiter = scene.client("a waiter");
    // Refused at the deadline, not before and not much after.
    let begin = Instant::now();
    let error = waiter.ask("put late 1 l 400").err();
    let waited = begin.elapsed();
    assert!(error.starts_with("exhausted"), "{error}");
    assert!(waited >= Duration::from_millis(350) && waited < Duration::from_secs(4), "{waited:?}");
    // Room comes while it waits.
    waiter.tell("put late 1 l 20000");
    std::thread::sleep(Duration::from_millis(100));
    let begin = Instant::now();
    for i in 0..count / 2 {
        client.ask(&format!("drop fill{i}")).ok();
    }
    waiter.hear(|| {}).ok();
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!(waiter.ask("read late").ok()[0], "1");
    for client in [client, waiter] {
        client.end();
    }
    clear(&scene);
    scene.aftermath(0, "waited");
}

/// A client that was killed while its put waited for room was granted an arena when there was
/// some: nobody was left to give it back.
#[test]
fn a_waiter_that_is_killed_takes_nothing_with_it() {
    for round in 0..times(6) {
        let scene = Scene::new(&format!("killed waiter {round}"), small(24 << 20));
        scene.start();
        let mut client = scene.client("a writer");
        let (count, _) = fill(&scene, &mut client);
        let mut waiters: Vec<_> = (0..3).map(|_| scene.client("a waiter")).collect();
        for waiter in &mut waiters {
            waiter.tell("put late 1 l 60000");
        }
        std::thread::sleep(Duration::from_millis(60));
        if round % 2 == 0 {
            waiters.clear();
        }
        for i in 0..count {
            client.ask(&format!("drop fill{i}")).ok();
            if i == 2 {
                waiters.clear();
            }
        }
        client.end();
        clear(&scene);
        scene.aftermath(0, "killed waiters");
        let pool = scene.connect();
        let info = scene.settled(&pool, 0, "killed waiters");
        assert_eq!(info.open, 0, "{info:?}");
    }
}

fn clear(scene: &Scene) {
    let pool = scene.connect();
    for frame in pool.frames().unwrap() {
        pool.drop_frame(&frame.name).unwrap();
    }
}

/// Runs `test` of this program once more, in a mount namespace of its own. `None`: it is the
/// one that is there already.
fn in_namespace(test: &str) -> bool {
    const INSIDE: &str = "CENOTE_TORTURE_INSIDE";
    if std::env::var_os(INSIDE).is_some() {
        return false;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("{test} skipped: a mount namespace takes root");
        return true;
    }
    let program = std::env::current_exe().unwrap();
    let ran = std::process::Command::new("unshare")
        .args(["--mount", "--propagation", "private"])
        .arg(program)
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .env(cenote_torture::chance::SEED_VARIABLE, cenote_torture::chance::seed().to_string())
        .output();
    let output = match ran {
        Ok(output) => output,
        Err(error) => {
            eprintln!("{test} skipped: no unshare(1): {error}");
            return true;
        }
    };
    let (out, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if errors.contains("unshare failed") {
        eprintln!("{test} skipped: {errors}");
        return true;
    }
    eprint!("{errors}");
    assert!(output.status.success() && out.contains("1 passed"), "{out}{errors}");
    true
}

fn mount(path: &std::path::Path, size: &str) {
    let options = std::ffi::CString::new(format!("size={size},mode=0700")).unwrap();
    let flags = rustix::mount::MountFlags::empty();
    rustix::mount::mount("none", path, "tmpfs", flags, Some(&*options)).unwrap();
}

/// Containers have a /dev/shm of 64 MiB.
#[test]
fn a_tmpfs_of_64_mib() {
    if in_namespace("limits::a_tmpfs_of_64_mib") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    mount(directory.path(), "64m");
    for (capacity, reserve) in [(None, None), (Some(1 << 30), None), (Some(1 << 30), Some(0))] {
        let setting = Setting { capacity, reserve, ..Setting::default() };
        let scene = Scene::within(directory.path(), "tmpfs", setting);
        scene.start();
        let mut client = scene.client("a writer");
        let (count, refusal) = fill(&scene, &mut client);
        eprintln!("64 MiB, capacity {capacity:?}: {count} frames of 1.3 MB, then {refusal:?}");
        assert!(count >= 15 && refusal.starts_with("err exhausted"), "{count}: {refusal}");
        if capacity.is_some() {
            assert!(refusal.contains("the limit is the file system"), "{refusal}");
        }
        // The last page: small frames, names, sessions. Refused sooner or later, never fatal.
        let mut refused = 0;
        for i in 0..6000 {
            let name = format!("{i:0>200}");
            let said = scene.ask(&mut client, &format!("put {name} {i} s")).said();
            if !said.starts_with("ok") {
                assert!(
                    said.starts_with("err exhausted") || said.starts_with("err system"),
                    "{said}"
                );
                refused += 1;
                if refused > 20 {
                    break;
                }
            }
        }
        let mut more = Vec::new();
        for _ in 0..50 {
            let mut agent = scene.client_to_be("one more", 2000, None);
            match agent.hear(|| {}) {
                Answer::Said(text) if text == "ready" => more.push(agent),
                Answer::Said(text) => {
                    assert!(text.contains("No space left"), "{text}");
                    break;
                }
                other => panic!("{other:?}"),
            }
            if more.len() > 8 {
                break;
            }
        }
        for i in 0..count {
            assert_eq!(client.ask(&format!("read fill{i}")).ok()[0], i.to_string());
        }
        // A new daemon takes over with no room to spare.
        scene.kill_daemon();
        scene.start();
        for i in 0..count {
            assert_eq!(scene.ask(&mut client, &format!("read fill{i}")).ok()[0], i.to_string());
        }
        drop(more);
        for i in 0..count {
            scene.ask(&mut client, &format!("drop fill{i}")).ok();
        }
        let (again, _) = fill(&scene, &mut client);
        assert!(again + 2 >= count, "{again} of {count} the second time");
        client.end();
        clear(&scene);
        scene.aftermath(0, "64 MiB");
        // The catalog goes on after a full file system.
        scene.kill_daemon();
        scene.start();
        assert_eq!(scene.connect().frames().unwrap(), []);
        scene.aftermath(0, "64 MiB, again");
        scene.end_daemon();
    }
    rustix::mount::unmount(directory.path(), rustix::mount::UnmountFlags::DETACH).unwrap();
}

/// A memory cgroup, removed in the end.
struct Cgroup(std::path::PathBuf);

impl Cgroup {
    fn new(limit: u64) -> Result<Cgroup, String> {
        let name = format!("cenote-torture-{}", std::process::id());
        let v1 = std::path::Path::new("/sys/fs/cgroup/memory");
        let (parent, file) = if v1.is_dir() {
            (v1, "memory.limit_in_bytes")
        } else {
            (std::path::Path::new("/sys/fs/cgroup"), "memory.max")
        };
        let path = parent.join(name);
        std::fs::create_dir(&path).map_err(|e| format!("cannot make {}: {e}", path.display()))?;
        let this = Cgroup(path);
        std::fs::write(this.0.join(file), limit.to_string())
            .map_err(|e| format!("cannot limit memory: {e}"))?;
        Ok(this)
    }

    fn kills(&self) -> Option<u64> {
        let files = ["memory.oom_control", "memory.events"];
        let text = files.iter().find_map(|f| std::fs::read_to_string(self.0.join(f)).ok())?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.parse().ok()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_memory_cgroup_refuses_and_never_kills() {
    let cgroup = match Cgroup::new(96 << 20) {
        Ok(cgroup) => cgroup,
        Err(why) => {
            eprintln!("a_memory_cgroup skipped: {why}");
            return;
        }
    };
    let enter = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", cgroup.0.display());
    let within = ["sh", "-c", &enter, "sh"].map(str::to_owned).to_vec();
    for reserve in [Some(0), None] {
        let setting = Setting { capacity: Some(4 << 30), reserve, within: within.clone() };
        let scene = Scene::new("cgroup", setting);
        scene.start();
        let mut client = scene.client("a writer");
        let (count, refusal) = fill(&scene, &mut client);
        eprintln!("96 MiB of memory: {count} frames of 1.3 MB, then {refusal:?}");
        assert!(count >= 20 && refusal.starts_with("err exhausted"), "{count}: {refusal}");
        assert!(refusal.contains("the limit is the memory limit"), "{refusal}");
        for i in 0..300 {
            let said = scene.ask(&mut client, &format!("put small{i} {i} m")).said();
            assert!(said.starts_with("ok") || said.starts_with("err exhausted"), "{said}");
        }
        for i in 0..count {
            assert_eq!(client.ask(&format!("read fill{i}")).ok()[0], i.to_string());
        }
        assert!(!scene.daemon().is_gone(), "the daemon was killed");
        client.end();
        clear(&scene);
        scene.aftermath(0, "cgroup");
        scene.daemon().signal(Signal::KILL);
        scene.kill_daemon();
    }
    assert_eq!(cgroup.kills().unwrap_or(0), 0, "the kernel killed");
}
