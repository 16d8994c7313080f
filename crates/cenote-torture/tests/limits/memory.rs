//! Memory that cgroups count: tmpfs pages belong to who touches them first, and past the limit
//! the kernel ends a process instead of refusing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::scene::{Scene, Setting};
use crate::{clear, rest, small};

/// A memory cgroup, removed in the end.
struct Cgroup(PathBuf);

impl Cgroup {
    fn new(name: &str, limit: u64) -> Result<Cgroup, String> {
        let v1 = Path::new("/sys/fs/cgroup/memory");
        let (parent, file) = if v1.is_dir() {
            (v1, "memory.limit_in_bytes")
        } else {
            (Path::new("/sys/fs/cgroup"), "memory.max")
        };
        let path = parent.join(format!("cenote-limits-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|e| format!("cannot make {}: {e}", path.display()))?;
        let this = Cgroup(path);
        let write = std::fs::write(this.0.join(file), limit.to_string());
        write.map_err(|error| format!("cannot limit memory: {error}"))?;
        Ok(this)
    }

    /// The words that run a command inside.
    fn within(&self) -> Vec<String> {
        let enter = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display());
        ["sh", "-c", &enter, "sh"].map(str::to_owned).to_vec()
    }

    fn kills(&self) -> u64 {
        let files = ["memory.oom_control", "memory.events"];
        let text = files.iter().find_map(|f| std::fs::read_to_string(self.0.join(f)).ok());
        let text = text.unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.and_then(|count| count.parse().ok()).unwrap_or(0)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for _ in 0..200 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        eprintln!("{} is left", self.0.display());
    }
}

/// By default it takes half of the 64 MiB that it may have; told to take more, it refuses what
/// the kernel would kill it for.
#[test]
fn a_daemon_with_little_memory_refuses_and_lives() {
    let cgroup = match Cgroup::new("daemon", 64 << 20) {
        Ok(cgroup) => cgroup,
        Err(why) => {
            eprintln!("SKIP a_daemon_with_little_memory_refuses_and_lives: {why}");
            return;
        }
    };
    for capacity in [None, Some(4 << 30)] {
        let setting = Setting { capacity, reserve: None, within: cgroup.within() };
        let scene = Scene::new("daemon's cgroup", setting);
        scene.start();
        let mut clients: Vec<_> = (0..2).map(|i| scene.client(&format!("client {i}"))).collect();
        let mut refusals = Vec::new();
        for i in 0..20 {
            for (at, client) in clients.iter_mut().enumerate() {
                client.tell(&format!("put {at}-{i} {i} h"));
            }
            for client in &mut clients {
                match client.hear(|| {}).said() {
                    said if said.starts_with("ok") => {}
                    said => refusals.push(said),
                }
            }
        }
        assert!(refusals.len() > 20, "{refusals:?}");
        for refusal in &refusals {
            assert!(refusal.starts_with("err exhausted"), "{refusal}");
            assert!(!refusal.contains("the file system"), "{refusal}");
        }
        let of_memory = refusals.iter().filter(|r| r.contains("the limit is the memory limit"));
        assert!(capacity.is_none() || of_memory.count() > 0, "{refusals:?}");
        assert!(!scene.daemon().is_gone(), "the daemon was killed");
        for client in clients {
            client.end();
        }
        clear(&scene);
        rest(&scene);
        scene.aftermath(0, "daemon's cgroup");
        scene.kill_daemon();
        drop(scene);
    }
    assert_eq!(cgroup.kills(), 0, "the kernel killed");
}

/// What a client puts and reads is the daemon's to account for, not its own: it may be much
/// more than the client's own limit.
#[test]
fn a_client_with_little_memory_puts_and_reads_much() {
    let cgroup = match Cgroup::new("client", 48 << 20) {
        Ok(cgroup) => cgroup,
        Err(why) => {
            eprintln!("SKIP a_client_with_little_memory_puts_and_reads_much: {why}");
            return;
        }
    };
    let scene = Scene::new("client's cgroup", small(256 << 20));
    scene.start();
    let mut client = scene.client_within("a client", 20_000, None, &cgroup.within()).ready();
    for i in 0..60 {
        client.ask(&format!("put {i} {i} l")).ok();
        client.ask(&format!("hold {i} {i}")).ok();
    }
    for i in 0..60 {
        client.ask(&format!("check {i}")).ok();
    }
    client.end();
    clear(&scene);
    scene.aftermath(0, "client's cgroup");
    assert_eq!(cgroup.kills(), 0, "the kernel killed");
}
