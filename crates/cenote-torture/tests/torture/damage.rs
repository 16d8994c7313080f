//! Bytes that are not what was written: in arenas, board, head tables, catalog and journal
//! while there is no daemon; in lease pages at any time.
//!
//! Afterwards each frame is either served with the right bytes or listed as lost, with a
//! reason; nothing crashes, hangs, or leaks.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cenote::{Error, Pool};
use cenote_pool::protocol::board::{HEADER_WORDS, Shape};
use cenote_region::process::Signal;
use cenote_torture::chance::Chance;
use cenote_torture::content::check;

use crate::scene::{Scene, Setting, times};

/// Name → counter and version that it must have.
type Expected = BTreeMap<String, (u64, u64)>;

/// A pool with frames of all kinds, whose daemon has ended: in good order, or killed with
/// changes that only the journal has.
fn template(scene: &Scene, killed: bool) -> Expected {
    let mut expected = Expected::new();
    scene.start();
    let mut writer = scene.client("a writer");
    let put = |writer: &mut crate::scene::Agent,
               expected: &mut Expected,
               name: String,
               counter: u64,
               size| {
        let version = writer.ask(&format!("put {name} {counter} {size}")).ok()[0].parse().unwrap();
        expected.insert(name, (counter, version));
    };
    for round in 1..4 {
        for i in 0..12 {
            let size = ["s", "m", "l", "s", "e", "m"][i % 6];
            let counter = if size == "e" { 0 } else { 100 * round + i as u64 };
            if i % 3 == 0 || round == 1 {
                put(&mut writer, &mut expected, format!("t{i}"), counter, size);
            }
        }
        if killed {
            // Written to redb by now.
            std::thread::sleep(Duration::from_millis(if round == 1 { 300 } else { 0 }));
        }
    }
    for (from, to) in [("t2", "t2~"), ("t3", "t3~")] {
        writer.ask(&format!("rename {from} {to}")).ok();
        let state = expected.remove(from).unwrap();
        expected.insert(to.to_owned(), state);
    }
    for name in ["t4", "t5"] {
        writer.ask(&format!("drop {name}")).ok();
        expected.remove(name);
    }
    writer.end();
    let pool = scene.connect();
    scene.settled(&pool, 0, "the template");
    drop(pool);
    if killed {
        scene.kill_daemon();
    } else {
        scene.end_daemon();
    }
    expected
}

fn files(dir: &Path, prefix: &str) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name());
    let mut names: Vec<_> = names.map(|n| n.to_string_lossy().into_owned()).collect();
    names.retain(|name| name.starts_with(prefix));
    names.sort();
    names
}

/// Byte ranges of the board that say something: (name, start, end).
fn regions() -> Vec<(&'static str, u64, u64)> {
    let shape = Shape::DEFAULT;
    let bytes = |words: (u64, u64)| (words.0 * 8, words.1 * 8);
    // Of what is allocated the first part is in use.
    let (entries, records, arenas) =
        (bytes(shape.entry_words(60)), bytes(shape.record_words(60)), bytes(shape.arena_words(6)));
    vec![
        ("fixed header", 0, 72),
        ("live header", 128, 184),
        ("header", 0, HEADER_WORDS * 8),
        ("entries", entries.0, entries.1),
        ("records", records.0, records.1),
        ("arena records", arenas.0, arenas.1),
    ]
}

/// Damages `start..end` of a file in one of several ways.
fn hurt(path: &Path, start: u64, end: u64, chance: &mut Chance) -> String {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let end = end.max(start + 1);
    let at = start + chance.below(end - start);
    let length = (1 + chance.below(64)).min(end - at);
    let write = |at: u64, bytes: &[u8]| file.write_all_at(bytes, at).unwrap();
    let random = |chance: &mut Chance, length: u64| -> Vec<u8> {
        (0..length).map(|_| u8::try_from(chance.below(256)).unwrap()).collect()
    };
    match chance.below(7) {
        0 => {
            let mut byte = [0];
            let _ = file.read_exact_at(&mut byte, at);
            let bit = chance.below(8);
            write(at, &[byte[0] ^ (1 << bit)]);
            format!("bit {bit} of byte {at} flipped")
        }
        1 => {
            let bytes = random(chance, length);
            write(at, &bytes);
            format!("{length} random bytes at {at}")
        }
        2 => {
            let word = at / 8 * 8;
            let value = *chance.pick(&[0, 1, u64::MAX, 1 << 63, u64::from(u32::MAX), 4096]);
            write(word, &value.to_le_bytes());
            format!("word at {word} set to {value:#x}")
        }
        3 => {
            write(at, &vec![0; usize::try_from(length).unwrap()]);
            format!("{length} zeros at {at}")
        }
        4 => {
            let all = (end - start).min(1 << 20);
            let bytes = random(chance, all);
            write(start, &bytes);
            format!("all {all} bytes from {start} random")
        }
        5 => {
            let all = usize::try_from((end - start).min(1 << 20)).unwrap();
            write(start, &vec![0; all]);
            format!("all {all} bytes from {start} zero")
        }
        _ => {
            // A piece of it stands somewhere else, too.
            let mut bytes = vec![0; usize::try_from(length).unwrap()];
            let from = start + chance.below(end - start - length + 1);
            let _ = file.read_exact_at(&mut bytes, from);
            write(at, &bytes);
            format!("{length} bytes at {at} are those at {from}")
        }
    }
}

/// Damages one thing, and says what, and how.
fn damage(dir: &Path, kind: u64, chance: &mut Chance) -> String {
    let of = |file: &str, what: String| format!("{file}: {what}");
    let whole = |file: &str, chance: &mut Chance| {
        let path = dir.join(file);
        let length = path.metadata().unwrap().len();
        if length > 0 && chance.one_in(4) {
            let cut = chance.below(length);
            std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(cut).unwrap();
            return of(file, format!("cut to {cut} of {length}"));
        }
        if chance.one_in(12) {
            std::fs::remove_file(&path).unwrap();
            return of(file, "removed".to_owned());
        }
        let what = hurt(&path, 0, length, chance);
        of(file, what)
    };
    match kind % 10 {
        0..=3 => {
            let regions = regions();
            let (name, start, end) = *chance.pick(&regions);
            if chance.one_in(15) {
                return whole("board", chance);
            }
            let what = hurt(&dir.join("board"), start, end, chance);
            of("board", format!("{name}: {what}"))
        }
        4 | 5 => {
            let arenas = files(dir, "arena.");
            let arena = chance.pick(&arenas).clone();
            // Where bytes are: an arena is a long file with little in it.
            let path = dir.join(&arena);
            let (start, end) = *chance.pick(&data(&path));
            if chance.one_in(4) {
                return whole(&arena, chance);
            }
            let what = hurt(&path, start, end, chance);
            of(&arena, what)
        }
        6 => whole(&files(dir, "heads.")[0], chance),
        7 | 8 => whole("journal", chance),
        _ => whole("catalog.redb", chance),
    }
}

/// Ranges of a sparse file that hold anything.
fn data(path: &Path) -> Vec<(u64, u64)> {
    use rustix::fs::{SeekFrom, seek};
    let file = std::fs::File::open(path).unwrap();
    let length = file.metadata().unwrap().len();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < length {
        let Ok(start) = seek(&file, SeekFrom::Data(at)) else { break };
        let end = seek(&file, SeekFrom::Hole(start)).unwrap_or(length);
        found.push((start, end));
        at = end;
    }
    if found.is_empty() {
        found.push((0, 4096));
    }
    found
}

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    let copied = std::process::Command::new("cp")
        .args(["-a", "--sparse=always"])
        .args([from, to])
        .status()
        .unwrap();
    assert!(copied.success());
}

/// The frames, each right or lost.
fn look(pool: &Pool, expected: &Expected, story: &str) -> (u64, u64) {
    let begin = Instant::now();
    loop {
        let lost: BTreeMap<String, String> =
            pool.info().unwrap().lost.into_iter().map(|l| (l.name, l.reason)).collect();
        let (mut right, mut gone, mut unsaid) = (0, 0, Vec::new());
        for (name, &(counter, version)) in expected {
            let read = pool.get(name).and_then(|f| Ok((f.version(), f.batches()?)));
            match read {
                Ok((found, arrays)) => {
                    let found_counter =
                        check(name, &arrays).unwrap_or_else(|e| panic!("{story}: {e}"));
                    assert_eq!((found_counter, found), (counter, version), "{story}: {name}");
                    right += 1;
                }
                Err(Error::Refused(_) | Error::Damaged { .. }) if lost.contains_key(name) => {
                    assert!(!lost[name].is_empty());
                    gone += 1;
                }
                Err(error) => unsaid.push(format!("{name}: {error}")),
            }
        }
        if unsaid.is_empty() {
            return (right, gone);
        }
        // The daemon looks at the bytes in the background.
        let patience = begin.elapsed() < Duration::from_secs(2);
        assert!(patience, "{story}: neither served nor said to be lost: {unsaid:?}; lost {lost:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// All frames go, lost ones too, and nothing is left.
fn clear(scene: &Scene, pool: &Pool, story: &str) {
    for frame in pool.frames().unwrap() {
        pool.drop_frame(&frame.name).unwrap_or_else(|e| panic!("{story}: {e}"));
    }
    // Of a name several versions may be lost.
    let lost: BTreeSet<_> = pool.info().unwrap().lost.into_iter().map(|l| l.name).collect();
    for name in lost {
        pool.drop_frame(&name).unwrap_or_else(|e| panic!("{story}: {name}: {e}"));
    }
    scene.settled(pool, 0, story);
}

/// Frames went without a word where catalog.redb was gone, where its pages were damaged (redb
/// looks at its checksums only when asked), and where the journal ended too early. A damaged
/// length on the board had a gigabyte allocated; a damaged number of the head table ended the
/// daemon.
#[test]
fn damage_while_there_is_no_daemon() {
    let scene = Scene::new("damage", Setting::default());
    let mut chance = scene.chance.borrow().clone();
    let kept: PathBuf = scene.run_dir().with_file_name("kept");
    let (mut served, mut lost, mut refused) = (0, 0, 0);
    for killed in [false, true] {
        let expected = template(&scene, killed);
        copy(&scene.run_dir(), &kept);
        for round in 0..times(130) {
            copy(&kept, &scene.run_dir());
            let one = damage(&scene.run_dir(), round, &mut chance);
            let two = chance.one_in(4).then(|| damage_again(&scene, &mut chance));
            let story = format!("killed {killed}, round {round}: {one:?} {two:?}");
            if std::env::var_os("CENOTE_VERBOSE").is_some() {
                eprintln!("{story}");
            }
            let mut daemon = scene.daemon_to_be(None);
            let said = daemon.hear(|| {});
            if matches!(&said, crate::scene::Answer::Said(t) if t.starts_with("failed") && t.contains("layout version"))
            {
                // Another layout, by the words of its own header: refused, and left as it is.
                refused += 1;
                continue;
            }
            assert!(
                matches!(&said, crate::scene::Answer::Said(t) if t.starts_with("ready")),
                "{story}: {said:?}"
            );
            scene.own(daemon);
            let pool = scene.connect();
            let (right, gone) = look(&pool, &expected, &story);
            served += right;
            lost += gone;
            scene.second_run(&pool, &story);
            // The next daemon finds no more fault than this one did.
            if chance.one_in(3) {
                scene.kill_daemon();
                scene.start();
                let again = look(&pool, &expected, &format!("{story}, again"));
                assert!(again.0 <= right, "{story}: {again:?} after {:?}", (right, gone));
            }
            clear(&scene, &pool, &story);
            drop(pool);
            scene.aftermath(0, &story);
            scene.kill_daemon();
        }
        let _ = std::fs::remove_dir_all(scene.run_dir());
    }
    eprintln!("damage: {served} frames served, {lost} said to be lost, {refused} pools refused");
    assert!(served > 500 && lost > 50, "it damaged nothing, or everything");
}

fn damage_again(scene: &Scene, chance: &mut Chance) -> String {
    let kind = chance.below(10);
    // Names that are neither in the catalog nor in the heads are in nobody's memory.
    let kind = if matches!(kind, 6..=9) { 4 } else { kind };
    let exists = ["board", "journal", "catalog.redb"].iter().all(|f| {
        scene.path(f).metadata().is_ok_and(|m| m.len() > HEADER_WORDS * 8 || *f != "board")
    });
    if !exists
        || files(&scene.run_dir(), "heads.").is_empty()
        || files(&scene.run_dir(), "arena.").is_empty()
    {
        return "nothing more".to_owned();
    }
    damage(&scene.run_dir(), kind, chance)
}

/// Lease pages belong to clients, which may write anything there, or cut them short.
#[test]
fn rubbish_in_lease_pages() {
    let scene = Scene::new("lease pages", Setting::default());
    let mut chance = scene.chance.borrow().clone();
    scene.start();
    let mut writer = scene.client("a writer");
    writer.ask("put a 1 m").ok();
    writer.ask("put b 1 m").ok();
    for round in 0..times(24) {
        let mut victim = scene.client("one with a damaged page");
        let mut reader = scene.client("a reader");
        victim.ask("arrays one a").ok();
        reader.ask("hold one a").ok();
        let id = victim.ask("session").ok().remove(0);
        let page = scene.path(&format!("lease.{id}"));
        let down = round % 2 == 0;
        if down {
            scene.kill_daemon();
        }
        let what = match round % 6 {
            0 | 1 => {
                let mut bytes = vec![0u8; 8 * 4096];
                bytes.fill_with(|| u8::try_from(chance.below(256)).unwrap());
                let file = std::fs::OpenOptions::new().write(true).open(&page).unwrap();
                file.write_all_at(&bytes, HEADER_WORDS * 8).unwrap();
                file.write_all_at(&u64::MAX.to_le_bytes(), 24).unwrap();
                "random slots"
            }
            2 | 3 => {
                let cut = chance.below(40_000);
                let file = std::fs::OpenOptions::new().write(true).open(&page).unwrap();
                file.set_len(cut).unwrap();
                "cut short"
            }
            _ => {
                hurt(&page, 0, 64, &mut chance);
                "damaged header"
            }
        };
        let story = format!("page {what}, daemon down: {down}");
        if down {
            scene.start();
        }
        for counter in 2..6 {
            scene.ask(&mut writer, &format!("put a {counter} m")).ok();
            scene.ask(&mut writer, &format!("put b {counter} m")).ok();
        }
        let pool = scene.connect();
        let _ = pool.leases().unwrap();
        let mut info = pool.info().unwrap();
        for _ in 0..100 {
            if info.leaked == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
            info = pool.info().unwrap();
        }
        assert_eq!((info.leaked, info.lost), (0, Vec::new()), "{story}");
        reader.ask("check one").ok();
        // A page that cannot be read pins whatever its client may read.
        if what == "cut short" {
            victim.ask("check one").ok();
            assert!(info.retired_held > 0, "{story}");
        }
        reader.ask("release one").ok();
        reader.end();
        victim.signal(Signal::KILL);
        drop(victim);
        scene.settled(&pool, 1, &story);
    }
    writer.end();
    scene.aftermath(0, "lease pages");
}
