//! The pool that is meant, and what lies about of others.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use cenote::{Error, Options, Pool, Refusal, RunDir, Unavailable};
use cenote_pool::protocol::board::Board;
use cenote_pool::rundir::RunDirError;
use cenote_pool::words::Shared;
use cenote_region::lock::is_locked_by_other;
use cenote_region::quantity::ByteSize;

use super::finding::Finding;
use super::system::{System, mount_of};
use crate::args::PoolArgs;
use crate::table::{count, grouped};

/// The pool's directory: whose it is, and who may enter.
pub(super) fn directory(dir: &RunDir) -> Finding {
    const CHECK: &str = "directory";
    let path = dir.path().display();
    match dir.check() {
        Ok(()) => Finding::ok(CHECK, format!("{path} is this user's alone")),
        Err(RunDirError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Finding::ok(CHECK, format!("{path} is not there yet: it is made by the first daemon"))
        }
        Err(error @ RunDirError::Mode { .. }) => Finding::stops(CHECK, error.to_string())
            .why("whoever may enter may read and change what is in the pool")
            .remedy(format!("`chmod 700 {path}`")),
        Err(error) => Finding::stops(CHECK, error.to_string())
            .why("a pool serves one user")
            .remedy("name a directory of your own with --address"),
    }
}

/// The daemon, and what it says of its pool.
pub(super) fn daemon(system: &System, pool: &PoolArgs) -> Vec<Finding> {
    const CHECK: &str = "daemon";
    let dir = pool.dir();
    let options = Options {
        address: pool.address().map(str::to_owned),
        start: None,
        answer_within: Some(pool.timeout().unwrap_or(std::time::Duration::from_secs(5))),
    };
    let connected = match Pool::connect(options) {
        Ok(connected) => connected,
        Err(error) => return vec![unreachable(&dir, &error)],
    };
    let info = match connected.info() {
        Ok(info) => info,
        Err(error) => return vec![unreachable(&dir, &error)],
    };
    let mut findings = vec![Finding::ok(
        CHECK,
        format!(
            "process {} serves {}, of this release ({}), {} of {} used",
            info.pid,
            count(info.frames, "frame"),
            env!("CARGO_PKG_VERSION"),
            ByteSize(info.used),
            ByteSize(info.capacity)
        ),
    )];
    if info.leaked > 0 {
        findings.push(leaked(system, &dir, ByteSize(info.leaked)));
    }
    if !info.lost.is_empty() {
        let names: Vec<_> = info.lost.iter().take(5).map(|frame| frame.name.as_str()).collect();
        let found = format!("{}: {}", count(info.lost.len() as u64, "frame"), names.join(", "));
        findings.push(
            Finding::warning("lost", found)
                .why("this daemon could not take them over; `cenote info` says why")
                .remedy("put them again from their source, or take them off the list with `cenote rm NAME`"),
        );
    }
    let total = cenote_region::space::fs_space(dir.path()).map_or(u64::MAX, |space| space.total.0);
    if info.capacity > total {
        findings.push(
            Finding::warning(
                "capacity",
                format!("{}, on a file system of {}", ByteSize(info.capacity), ByteSize(total)),
            )
            .why("the file system is full before the pool is; a put is refused then")
            .remedy("`cenote stop`, and serve with a smaller --capacity"),
        );
    }
    for session in connected.leases().unwrap_or_default() {
        let (pid, command) = (session.pid, &session.command);
        if session.stopped {
            findings.push(
                Finding::note("clients", format!("process {pid} ({command}) is stopped"))
                    .why("what it reads and writes stays taken")
                    .remedy(format!(
                        "`kill -CONT {pid}` lets it go on; `cenote evict-client {}` ends it",
                        session.session.0
                    )),
            );
        } else if session.quarantined {
            findings.push(
                Finding::note(
                    "clients",
                    format!("process {pid} ({command}) has let go of its lock and may live"),
                )
                .why("what it read is kept, since nobody knows that it is gone")
                .remedy(format!("`cenote evict-client {}` ends it", session.session.0)),
            );
        }
    }
    findings
}

fn leaked(system: &System, dir: &RunDir, bytes: ByteSize) -> Finding {
    const CHECK: &str = "leaked";
    let mountinfo = system.mountinfo();
    let huge = mount_of(dir.path(), &mountinfo).and_then(|mount| mount.option("huge"));
    if huge.is_some_and(|huge| huge != "never") {
        return Finding::note(CHECK, format!("{bytes} beside holes in huge pages"))
            .why("a huge page is given back whole: what is free in it waits for the rest");
    }
    Finding::warning(CHECK, format!("{bytes} belong to nobody"))
        .why("this is a fault of Cenote: the room is lost until the next daemon")
        .remedy("`cenote stop`, serve again, and please report what `cenote info --json` said")
}

fn unreachable(dir: &RunDir, error: &Error) -> Finding {
    const CHECK: &str = "daemon";
    let path = dir.path().display();
    match error {
        Error::Unavailable { why: Unavailable::NotRunning, .. } => Finding::note(
            CHECK,
            format!("none serves {path}"),
        )
        .why("a pool without a daemon can be neither reached nor changed; its frames stay")
        .remedy(format!(
            "`cenote serve --address {path}`; the default pool's is started by `cenote put` and \
                     `cenote.connect()`"
        )),
        Error::Unavailable { why: Unavailable::Stopped { pid }, .. } => {
            Finding::stops(CHECK, format!("process {pid} is stopped")).why("nobody answers").remedy(
                format!(
                    "`kill -CONT {pid}`; or `kill -KILL {pid}` and serve again: its frames stay"
                ),
            )
        }
        Error::Refused(Refusal::Protocol { .. }) => Finding::stops(CHECK, error.to_string())
            .why("messages and shared files may have changed between releases")
            .remedy("`cenote stop` with the release that started it, then serve with this one"),
        error => Finding::stops(CHECK, error.to_string())
            .why("the pool cannot be used")
            .remedy(format!("`cenote serve --address {path}` in a terminal shows what is wrong")),
    }
}

/// How far the bounds are that are set when a pool is made.
pub(super) fn board(dir: &RunDir) -> Option<Finding> {
    const CHECK: &str = "board";
    let board = Board::open(Arc::new(Shared::read_all(&dir.file("board")).ok()?)).ok()?;
    let shape = board.identity().shape;
    let (entries, records, arenas) = board.lengths();
    let uses = [
        ("entries", entries, shape.entries),
        ("location records", records, shape.records),
        ("arenas in its life", arenas, shape.arenas),
    ];
    let text =
        uses.map(|(what, used, room)| format!("{} of {} {what}", grouped(used), grouped(room)));
    let text = text.join(", ");
    if uses.iter().all(|(_, used, room)| *used < *room / 5 * 4) {
        return Some(Finding::ok(CHECK, text));
    }
    let path = dir.path().display();
    Some(Finding::warning(CHECK, text).why("at the bound puts are refused").remedy(format!(
        "make the pool anew when it suits: write frames out with `cenote get NAME -o FILE`, \
                 `cenote stop`, `rm -r {path}`, serve, and put them again; fewer and larger chunks \
                 last longer"
    )))
}

/// Pools of this user that nobody serves.
pub(super) fn left_behind(system: &System, directory: &Path, own: &Path) -> Finding {
    const CHECK: &str = "left behind";
    let Ok(entries) = std::fs::read_dir(system.path(&directory.to_string_lossy())) else {
        return Finding::ok(CHECK, "nothing");
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        let serves =
            File::open(path.join("lock")).is_ok_and(|f| is_locked_by_other(&f).unwrap_or(true));
        let real = directory.join(entry.file_name());
        if path.is_dir() && !serves && real != own {
            found.push((bytes(&path), real));
        }
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    let total = ByteSize(found.iter().map(|(bytes, _)| bytes).sum());
    if found.is_empty() {
        return Finding::ok(CHECK, "nothing");
    }
    let first: Vec<_> = found.iter().take(3).map(|(_, path)| path.display().to_string()).collect();
    let rest = if found.len() > 3 { ", …" } else { "" };
    let pools = count(found.len() as u64, "pool");
    Finding::note(CHECK, format!("{pools} without a daemon, {total}: {}{rest}", first.join(", ")))
        .why("what is in them takes memory, and is there for the next daemon")
        .remedy(format!(
            "`cenote ls --address {0}` after `cenote serve --address {0}` shows what it holds; `rm -r \
             {0}` gives its memory back, and its frames are gone",
            first[0]
        ))
}

/// What the files of a directory take.
fn bytes(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.blocks() * 512).sum()
}
