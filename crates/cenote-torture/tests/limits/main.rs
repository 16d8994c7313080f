//! A pool at its limits: no room left by others' doing, memory that a cgroup counts, clients
//! of other PID namespaces, many connections, the bounds of leases, and what a killed daemon
//! leaves behind. Refused, with what is needed to know why; never killed, never hung; and
//! nothing is left of it a second later.
//!
//! What needs root and is not allowed here says `SKIP` and why. `tests/torture/limits.rs` has
//! the simple cases of a full pool; the scenes are shared.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where, and fails")]

mod full;
mod leases;
mod memory;
mod namespace;
mod others_fill;
mod stale;
mod thousand;

#[path = "../torture/scene.rs"]
#[allow(dead_code, reason = "the kills and stops at named steps are the other target's")]
mod scene;

use scene::{Scene, Setting};

/// A pool of so many bytes, nothing allocated ahead of demand.
fn small(capacity: u64) -> Setting {
    Setting { capacity: Some(capacity), ..Setting::default() }
}

/// Drops all frames.
fn clear(scene: &Scene) {
    let pool = scene.connect();
    for frame in pool.frames().unwrap() {
        pool.drop_frame(&frame.name).unwrap();
    }
}

/// Waits until nothing is being allocated ahead of demand.
fn rest(scene: &Scene) {
    let pool = scene.connect();
    let mut ready = (pool.info().unwrap().ready, 0);
    // The pool looks five times a second.
    while ready.1 < 25 {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let now = pool.info().unwrap().ready;
        ready = if now == ready.0 { (now, ready.1 + 1) } else { (now, 0) };
    }
}

/// Runs `test` of this program once more, in a mount namespace of its own. False: this is
/// that run.
fn in_mount_namespace(test: &str) -> bool {
    const INSIDE: &str = "CENOTE_LIMITS_INSIDE";
    if std::env::var_os(INSIDE).is_some() {
        return false;
    }
    if let Err(why) = can_unshare(&["--mount"]) {
        eprintln!("SKIP {test}: {why}");
        return true;
    }
    let output = std::process::Command::new("unshare")
        .args(["--mount", "--propagation", "private"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .env(cenote_torture::chance::SEED_VARIABLE, cenote_torture::chance::seed().to_string())
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    eprint!("{errors}");
    assert!(output.status.success() && out.contains("1 passed"), "{out}{errors}");
    true
}

/// Whether namespaces may be made here; if not, why.
fn can_unshare(arguments: &[&str]) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("namespaces take root".to_owned());
    }
    match std::process::Command::new("unshare").args(arguments).arg("true").output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(format!("no unshare(1): {error}")),
    }
}
