//! A file system of 64 MiB, as containers have it, that others fill.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use cenote::{Options, Pool};
use cenote_torture::chance::Chance;

use crate::scene::{Agent, Scene, Setting, times};
use crate::{clear, in_mount_namespace, rest};

struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new(size: &str) -> Mounted {
        let directory = tempfile::tempdir().unwrap();
        let options = std::ffi::CString::new(format!("size={size},mode=0700")).unwrap();
        let flags = rustix::mount::MountFlags::empty();
        rustix::mount::mount("none", directory.path(), "tmpfs", flags, Some(&*options)).unwrap();
        Mounted(directory)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(self.path(), rustix::mount::UnmountFlags::DETACH);
    }
}

/// Writes until there is no byte left, or `most` are written.
fn fill(path: &Path, most: u64) -> u64 {
    let mut file = File::options().create(true).append(true).open(path).unwrap();
    let mut written = 0;
    for piece in [1 << 20, 1 << 16, 1 << 12] {
        let zeros = vec![1; piece];
        while written < most && file.write_all(&zeros).is_ok() {
            written += piece as u64;
        }
    }
    written
}

fn alive(scene: &Scene) {
    assert!(!scene.daemon().is_gone(), "the daemon has ended");
}

/// Refused for lack of room, in words.
fn is_refusal(text: &str) -> bool {
    text.starts_with("err exhausted")
        || (text.starts_with("err system") && text.to_lowercase().contains("no space"))
}

fn everything_answers(scene: &Scene, client: &mut Agent, kept: u64) {
    for i in 0..kept {
        assert_eq!(client.ask(&format!("read kept{i}")).ok()[0], i.to_string());
    }
    client.ask("info").ok();
    alive(scene);
}

/// redb refuses everything after its first failure to write: the journal grew for as long as
/// the daemon lived.
fn journal_is_short(scene: &Scene) {
    let begin = Instant::now();
    while std::fs::metadata(scene.path("journal")).unwrap().len() > 0 {
        assert!(begin.elapsed() < Duration::from_secs(5), "the journal stays");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn files_of_others_leave_no_room() {
    if in_mount_namespace("others_fill::files_of_others_leave_no_room") {
        return;
    }
    let mounted = Mounted::new("64m");
    let other = mounted.path().join("other");
    for (capacity, reserve) in [(None, None), (Some(1 << 30), Some(0))] {
        let setting = Setting { capacity, reserve, ..Setting::default() };
        let scene = Scene::within(mounted.path(), "others", setting);
        scene.start();
        let mut client = scene.client("a client");
        let kept = 8;
        for i in 0..kept {
            client.ask(&format!("put kept{i} {i} l")).ok();
        }
        client.ask("hold one kept0").ok();
        fill(&other, u64::MAX);
        // More than can have been allocated before: large ones, small ones, names.
        let mut refused = 0;
        for i in 0..60 {
            let said = client.ask(&format!("put more{i} {i} l")).said();
            assert!(said.starts_with("ok") || is_refusal(&said), "{said}");
            refused += u32::from(!said.starts_with("ok"));
        }
        assert!(refused > 20, "{refused}");
        for i in 0..300 {
            let said = client.ask(&format!("put {i:0>250} {i} s")).said();
            assert!(said.starts_with("ok") || is_refusal(&said), "{said}");
        }
        everything_answers(&scene, &mut client, kept);
        // Somebody new gets in, or is told that there is no room.
        let options = Options {
            address: Some(scene.run_dir().display().to_string()),
            start: None,
            answer_within: Some(Duration::from_secs(5)),
        };
        if let Err(error) = Pool::connect(options) {
            assert!(error.to_string().to_lowercase().contains("no space"), "{error}");
        }
        let (_, child) = scene.fork(&mut client);
        let mut child = child.expect_goes();
        let said = child.ask("check one").said();
        assert!(said == "ok 0" || said.starts_with("err lost-in-fork"), "{said}");
        child.end();
        // A daemon that starts there takes over what is there, or says that it cannot.
        scene.kill_daemon();
        for _ in 0..3 {
            let mut daemon = scene.daemon_to_be(None);
            let said = daemon.hear(|| {}).said();
            if said.starts_with("ready") {
                scene.own(daemon);
                everything_answers(&scene, &mut client, kept);
                scene.kill_daemon();
            } else {
                eprintln!("a daemon without room: {said}");
                assert!(said.starts_with("failed cannot open the pool"), "{said}");
                client.ask("check one").ok();
            }
        }
        let damaged = scene.path("damaged.catalog.redb");
        assert!(!damaged.exists(), "want of space was taken for damage");
        File::options().write(true).open(&other).unwrap().set_len(0).unwrap();
        scene.start();
        everything_answers(&scene, &mut client, kept);
        for frame in scene.connect().frames().unwrap() {
            if !frame.name.starts_with("kept") {
                client.ask(&format!("drop {}", frame.name)).ok();
            }
        }
        fill(&other, u64::MAX);
        // A waiting put succeeds when the others go.
        client.tell("put waits 5 h 20000");
        std::thread::sleep(Duration::from_millis(200));
        alive(&scene);
        std::fs::remove_file(&other).unwrap();
        client.hear(|| {}).ok();
        assert_eq!(client.ask("read waits").ok()[0], "5");
        client.ask("check one").ok();
        journal_is_short(&scene);
        client.end();
        clear(&scene);
        rest(&scene);
        scene.aftermath(0, "others' files");
        scene.end_daemon();
    }
}

/// Room comes and goes while puts and reads go on: a page that was granted stays granted.
#[test]
fn files_of_others_come_and_go() {
    if in_mount_namespace("others_fill::files_of_others_come_and_go") {
        return;
    }
    let mounted = Mounted::new("64m");
    let other = mounted.path().join("other");
    let mut chance = Chance::of("come and go");
    let scene = Scene::within(
        mounted.path(),
        "come and go",
        Setting { capacity: None, reserve: None, ..Setting::default() },
    );
    scene.start();
    let mut clients: Vec<_> = (0..3).map(|i| scene.client(&format!("client {i}"))).collect();
    let begin = Instant::now();
    let (mut done, mut refused) = (0, 0);
    for round in 0.. {
        if begin.elapsed() > Duration::from_secs(4 * times(1)) {
            break;
        }
        for (i, client) in clients.iter_mut().enumerate() {
            let size = chance.pick(&["s", "m", "l", "h"]);
            client.tell(&format!("put {i} {round} {size}"));
        }
        if chance.one_in(2) {
            let _ = fill(&other, chance.below(80 << 20));
        } else {
            let _ = std::fs::remove_file(&other);
        }
        for client in &mut clients {
            let said = client.hear(|| {}).said();
            assert!(said.starts_with("ok") || is_refusal(&said), "{said}");
            if said.starts_with("ok") { done += 1 } else { refused += 1 }
        }
        for i in 0..clients.len() {
            let said = clients[0].ask(&format!("read {i}")).said();
            assert!(said.starts_with("ok") || said.starts_with("err not-found"), "{said}");
        }
    }
    alive(&scene);
    eprintln!("others come and go: {done} puts done, {refused} refused");
    assert!(done > 20 && refused > 5, "{done} done, {refused} refused");
    let _ = std::fs::remove_file(&other);
    journal_is_short(&scene);
    for client in clients {
        client.end();
    }
    clear(&scene);
    rest(&scene);
    scene.aftermath(0, "others come and go");
    scene.end_daemon();
}

/// Changes that need no arena still need the journal and the catalog to grow. Once redb had
/// failed to write, it refused everything: no change left the journal any more.
#[test]
fn the_catalog_has_no_room() {
    if in_mount_namespace("others_fill::the_catalog_has_no_room") {
        return;
    }
    let mounted = Mounted::new("64m");
    let other = mounted.path().join("other");
    let setting = Setting { capacity: Some(32 << 20), ..Setting::default() };
    let scene = Scene::within(mounted.path(), "catalog", setting);
    scene.start();
    let mut client = scene.client("a client");
    for i in 0..400 {
        client.ask(&format!("put {i} {i} s")).ok();
    }
    journal_is_short(&scene);
    let mut names: Vec<String> = (0..400).map(|i| i.to_string()).collect();
    let mut refused = 0;
    for round in 0..6 {
        fill(&other, u64::MAX);
        // A few pages for the journal, so that there is something for redb to write.
        let file = File::options().write(true).open(&other).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(length.saturating_sub(16 << 10 << round)).unwrap();
        for (i, name) in names.iter_mut().enumerate() {
            // As `content` wants it: a name is told from another but for what is behind it.
            let longer = format!("{i}{}", "~".repeat(200 + round));
            let said = client.ask(&format!("rename {name} {longer}")).said();
            if said.starts_with("ok") {
                *name = longer;
            } else {
                assert!(is_refusal(&said), "{said}");
                refused += 1;
            }
        }
        std::thread::sleep(Duration::from_millis(500));
        file.set_len(0).unwrap();
        journal_is_short(&scene);
    }
    eprintln!("{refused} renames refused");
    assert!(refused > 0);
    scene.kill_daemon();
    scene.start();
    for (i, name) in names.iter().enumerate() {
        assert_eq!(client.ask(&format!("read {name}")).ok()[0], i.to_string());
    }
    client.end();
    clear(&scene);
    let _ = std::fs::remove_file(&other);
    scene.aftermath(0, "catalog");
    scene.end_daemon();
}
