//! The daemon: one a pool, stopped, killed, deaf, and what stays.

use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{Scratch, prices, text, wait};

#[test]
fn says_when_it_is_ready_and_ends_cleanly() {
    let scratch = Scratch::new();
    for (signal, frames) in [(Signal::TERM, "0 frames"), (Signal::INT, "1 frame")] {
        let mut daemon = scratch.serve(&["--capacity", "64MiB"]);
        let ready = daemon.ready.clone();
        let pid = format!("pid {}", daemon.id());
        for word in [text(&scratch.pool()), "capacity 64 MiB", frames, &pid, "Ctrl-C stops"] {
            assert!(ready.contains(word), "{word}: {ready}");
        }
        scratch.write("p.csv", prices("AAA", 10));
        scratch.ok(&["put", "p.csv", "--replace"]);
        daemon.signal(signal);
        assert_eq!(daemon.wait(), Some(0));
        assert!(!scratch.pool().join("socket").exists());
    }
}

#[test]
fn a_second_one_says_who_owns_the_pool() {
    let scratch = Scratch::new();
    let daemon = scratch.serve(&["--capacity", "64MiB"]);
    let owner = format!("owned by process {}", daemon.id());
    let said = scratch.fails(&["serve"], 1, &[text(&scratch.pool()), &owner]);
    assert!(said.err.contains("cenote stop"), "{said:?}");
    scratch.ok(&["ls"]);
}

#[test]
fn killed_and_served_again_it_has_its_frames() {
    let scratch = Scratch::new();
    let mut daemon = scratch.serve(&["--capacity", "64MiB"]);
    let csv = prices("AAA", 3000);
    scratch.write("p.csv", &csv);
    scratch.ok(&["put", "p.csv"]);
    for _ in 0..3 {
        daemon.signal(Signal::KILL);
        assert_eq!(daemon.wait(), None);
        // Its socket is stale: nobody listens.
        assert!(scratch.pool().join("socket").exists());
        scratch.fails(&["ls"], 1, &["no daemon serves it"]);
        daemon = scratch.serve(&["--capacity", "64MiB"]);
        assert!(daemon.ready.contains("1 frame "), "{}", daemon.ready);
        scratch.ok(&["get", "p", "-o", "out.csv"]);
        assert_eq!(std::fs::read_to_string(scratch.path("out.csv")).unwrap(), csv);
        assert_eq!(scratch.settled()["frames"], 1);
    }
}

#[test]
fn a_stopped_one_is_named_within_the_deadline() {
    let scratch = Scratch::new();
    let daemon = scratch.serve(&["--capacity", "64MiB"]);
    daemon.signal(Signal::STOP);
    let began = Instant::now();
    let go_on = format!("kill -CONT {}", daemon.id());
    scratch.fails(&["ls", "--timeout", "1"], 1, &["is stopped", &go_on]);
    scratch.fails(&["serve"], 1, &["owned by process", "stopped", "kill -CONT"]);
    assert!(began.elapsed() < Duration::from_secs(10));
    daemon.signal(Signal::CONT);
    scratch.ok(&["ls"]);
}

#[test]
fn stop_waits_for_its_end_and_keeps_the_frames() {
    let scratch = Scratch::new();
    let mut daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("p.csv", prices("AAA", 10));
    scratch.ok(&["put", "p.csv"]);
    let said = scratch.run(&["stop"]);
    assert_eq!(said.code, Some(0));
    assert!(said.out.contains(&format!("process {}", daemon.id())), "{said:?}");
    assert!(said.err.contains("1 frame"), "{said:?}");
    let daemon_after = scratch.serve(&["--capacity", "64MiB"]);
    assert_eq!(daemon.wait(), Some(0));
    assert_eq!(scratch.json(&["ls"]).as_array().unwrap().len(), 1);
    drop(daemon_after);
}

#[test]
fn an_idle_one_ends() {
    let scratch = Scratch::new();
    let mut daemon = scratch.serve(&["--capacity", "64MiB", "--idle-exit", "1"]);
    assert_eq!(daemon.wait(), Some(0));
    assert!(!scratch.pool().exists(), "an empty pool goes with it");
}

#[test]
fn rubbish_on_the_socket() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    let before = scratch.settled();
    let socket = scratch.pool().join("socket");
    let long = [0xff_u8; 4096];
    let pieces: [&[u8]; 6] = [
        b"",
        b"\x01",
        b"GET / HTTP/1.1\r\n\r\n",
        &long,
        b"\x04\0\0\0\xff\xff\xff\xff",
        b"\0\0\0\x10",
    ];
    for piece in pieces {
        let mut stream = UnixStream::connect(&socket).unwrap();
        // The daemon may hang up while we still write.
        let _ = stream.write_all(piece);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        scratch.ok(&["ls"]);
    }
    assert_eq!(scratch.settled(), before);
}

/// Something else listens where the daemon should.
#[test]
fn rubbish_from_the_socket() {
    let scratch = Scratch::new();
    std::fs::DirBuilder::new().mode(0o700).create(scratch.pool()).unwrap();
    let answers: [(&[u8], &str); 4] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "cannot be reached"),
        (b"\x02\0\0\0\xff\xff", "cannot be reached"),
        (b"", "cannot be reached"),
        (b"silence", "no answer from its daemon within 1s"),
    ];
    for (answer, word) in answers {
        let socket = scratch.pool().join("socket");
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut child = scratch.command(&["ls", "--timeout", "1"]).spawn().unwrap();
        let began = Instant::now();
        let mut held = Vec::new();
        while child.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < Duration::from_secs(20), "{answer:?}");
            if let Ok((mut stream, _)) = listener.accept() {
                if answer == b"silence" {
                    held.push(stream);
                } else {
                    let _ = stream.write_all(answer);
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(wait(&mut child), Some(1));
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains(word), "{answer:?}: {err}");
    }
}

#[test]
fn a_client_is_seen_and_ended() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "14MiB"]);
    scratch.write("big.csv", prices("AAA", 300_000));
    // Twice it does not fit, so that the second waits in the middle of what it writes.
    scratch.ok(&["put", "big.csv", "--name", "first"]);
    let sealed = scratch.json(&["info"])["sealed"].as_u64().unwrap();
    assert!(sealed > 7 << 20, "{sealed}");
    let mut put = scratch.command(&["put", "big.csv", "--wait", "600"]).spawn().unwrap();
    let began = Instant::now();
    while scratch.json(&["info"])["open"].as_u64().unwrap() < 1 << 20 {
        assert!(began.elapsed() < Duration::from_secs(30));
    }
    let leases = scratch.json(&["leases"]);
    let client = leases.as_array().unwrap().iter().find(|c| c["pid"] == put.id()).unwrap();
    assert!(client["command"].as_str().unwrap().contains("put big.csv"), "{client}");
    assert!(scratch.ok(&["leases"]).contains("put big.csv"));
    scratch.fails(&["evict-client", "--pid", "1", "--yes"], 1, &["process 1"]);
    let pid = put.id().to_string();
    let said = scratch.fails(&["evict-client", "--pid", &pid], 1, &["needs a yes"]);
    assert!(said.err.contains("--yes"), "{said:?}");
    assert!(put.try_wait().unwrap().is_none());
    let out = scratch.ok(&["evict-client", &client["session"].to_string(), "--yes"]);
    assert!(out.contains(&pid), "{out}");
    assert_eq!(wait(&mut put), None);
    assert_eq!(scratch.settled()["frames"], 1);
    assert_eq!(scratch.run(&["evict-client"]).code, Some(2));
    assert_eq!(scratch.run(&["evict-client", "1", "--pid", "1"]).code, Some(2));
}

#[test]
fn info_is_for_people_and_for_programs() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    let text = scratch.ok(&["info"]);
    for word in ["capacity", "64 MiB", "frames", "leaked", "0 B", "epoch 1"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains('\x1b'));
    assert_eq!(scratch.json(&["info"])["leaked"], 0);
}

/// The default pool is the user's, so this one gets a /dev/shm of its own.
#[test]
fn put_starts_the_default_pool() {
    let scratch = Scratch::new();
    scratch.write("p.csv", prices("AAA", 10));
    // The daemon is ended by the command in any case; `--idle-exit` is the second net.
    let script = "mount -t tmpfs -o size=64m tmpfs /dev/shm || exit 77
        $CENOTE put $CSV && $CENOTE ls --json && $CENOTE put $CSV --name q --json; code=$?
        $CENOTE stop || code=99; ls -A /dev/shm/cenote-0/default; exit $code";
    let csv = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    std::fs::copy(scratch.path("p.csv"), csv.path()).unwrap();
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .env("CENOTE", env!("CARGO_BIN_EXE_cenote"))
        .env("CSV", csv.path())
        .env_remove("CENOTE_ADDRESS")
        .output();
    let output = match output {
        Ok(output) if output.status.code() != Some(77) && !output.stdout.is_empty() => output,
        other => {
            eprintln!("skipped: no mount namespace of its own can be had here ({other:?})");
            return;
        }
    };
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out} {err}");
    assert_eq!(err.matches("started a daemon for /dev/shm/cenote-0/default").count(), 1, "{err}");
    assert!(out.contains("10 rows x 4 columns") && out.contains("\"name\":\"q\""), "{out}");
}

#[test]
fn a_lost_frame_is_listed_with_reason_and_source() {
    let scratch = Scratch::new();
    let mut daemon = scratch.serve(&["--capacity", "64MiB"]);
    let source = scratch.write("p.csv", prices("AAA", 3000));
    scratch.ok(&["put", "p.csv"]);
    daemon.signal(Signal::KILL);
    daemon.wait();
    let mut arenas = 0;
    for entry in std::fs::read_dir(scratch.pool()).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("arena.") {
            std::fs::remove_file(path).unwrap();
            arenas += 1;
        }
    }
    assert!(arenas > 0);
    let daemon = scratch.serve(&["--capacity", "64MiB"]);
    assert!(daemon.ready.contains("1 lost"), "{}", daemon.ready);
    let lost = &scratch.json(&["info"])["lost"][0];
    assert_eq!((&lost["name"], &lost["version"]), (&"p".into(), &1.into()));
    let shown = scratch.ok(&["info"]);
    for word in ["lost: 1 frame", "p v1", text(&source), lost["reason"].as_str().unwrap()] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    scratch.ok(&["rm", "p"]);
    assert_eq!(scratch.json(&["info"])["lost"], serde_json::json!([]));
    scratch.ok(&["put", "p.csv"]);
}

/// Without a daemon it is a note, with one it is looked at; what stops a pool is exit code 1.
#[test]
fn the_doctor_looks_at_the_pool() {
    let scratch = Scratch::new();
    let of = |report: &serde_json::Value, check: &str| {
        let found = report.as_array().unwrap().iter().find(|f| f["check"] == check);
        found.cloned().unwrap_or_default()
    };
    let report = scratch.json(&["doctor"]);
    assert_eq!(of(&report, "daemon")["level"], "note", "{report}");
    for check in ["memory", "file system", "huge pages", "swap", "kernel", "addresses"] {
        assert!(of(&report, check)["finding"].is_string(), "{check}: {report}");
    }
    let mut daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("p.csv", prices("AAA", 10));
    scratch.ok(&["put", "p.csv"]);
    let report = scratch.json(&["doctor"]);
    let said = of(&report, "daemon")["finding"].as_str().unwrap().to_owned();
    assert!(said.contains("serves 1 frame") && said.contains("of 64 MiB"), "{said}");
    assert_eq!(of(&report, "leaked"), serde_json::Value::Null);
    assert!(of(&report, "board")["finding"].as_str().unwrap().contains("entries"));
    assert!(scratch.ok(&["doctor"]).contains("ok      board"));
    daemon.signal(Signal::STOP);
    let said = scratch.run(&["doctor", "--timeout", "1"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains(&format!("kill -CONT {}", daemon.id())), "{said:?}");
    assert!(said.err.contains("1 thing stands in the way"), "{said:?}");
    daemon.signal(Signal::CONT);
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait(), Some(0));
}

/// What it does goes to stderr, in lines with a level: by default what matters, with
/// CENOTE_LOG everything, or nothing. Commands say nothing unless asked.
#[test]
fn a_log_of_what_it_does() {
    let scratch = Scratch::new();
    scratch.write("p.csv", prices("AAA", 10));
    let serve = |level: Option<&str>, log: &str| {
        let mut command = scratch.command(&["serve", "--capacity", "64MiB", "--reserve", "0"]);
        level.map(|level| command.env("CENOTE_LOG", level));
        let log = std::fs::File::create(scratch.path(log)).unwrap();
        let child = command.env("RUST_LOG", "trace").stderr(log).spawn().unwrap();
        let began = Instant::now();
        while scratch.run(&["ls"]).code != Some(0) {
            assert!(began.elapsed() < Duration::from_secs(20));
        }
        child
    };
    let mut read = String::new();
    for (level, log) in [(Some("debug"), "first"), (Some("info"), "second"), (Some("off"), "third")]
    {
        let mut daemon = serve(level, log);
        let said = scratch.run(&["put", "p.csv", "--replace"]);
        assert!(said.code == Some(0) && !said.err.contains("cenote"), "{said:?}");
        scratch.fails(&["put", "p.csv"], 1, &["exists"]);
        crate::support::send(&daemon, if log == "first" { Signal::KILL } else { Signal::TERM });
        wait(&mut daemon);
        let text = std::fs::read_to_string(scratch.path(log)).unwrap();
        read += &format!("-- {log}\n{text}");
        let has = |words: &str| assert!(text.contains(words), "{words:?} is not in {read}");
        match log {
            "first" => {
                has("INFO cenote_pool::pool::open: made a pool");
                has("DEBUG cenote_pool::server");
                has("commit \"p\": 1 chunks");
                has("a client has gone");
            }
            "second" => {
                has("took the pool over");
                has("frames=1 lost=0");
                has("epoch=2");
                has("ended");
                assert!(!text.contains("DEBUG") && !text.contains("commit"), "{text}");
            }
            _ => assert_eq!(text, ""),
        }
    }
    let _daemon = scratch.serve(&[]);
    let mut command = scratch.command(&["ls"]);
    let output = command.env("CENOTE_LOG", "debug").output().unwrap();
    let (out, err) = (output.stdout, String::from_utf8(output.stderr).unwrap());
    assert!(err.contains("DEBUG cenote::session: connected"), "{err}");
    assert!(String::from_utf8(out).unwrap().starts_with("NAME"), "nothing of it on stdout");
    let output = scratch.command(&["ls"]).env("CENOTE_LOG", "a=b=c").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("CENOTE_LOG=\"a=b=c\" is no filter of logs"), "{said}");
}

/// A client that is killed is told of, and so is a frame whose bytes have changed.
#[test]
fn the_log_tells_of_deaths_and_of_damage() {
    let scratch = Scratch::new();
    scratch.write("p.csv", prices("AAA", 3000));
    let log = scratch.path("log");
    let serve = || {
        let mut command = scratch.command(&["serve", "--capacity", "3MiB", "--reserve", "0"]);
        let file = std::fs::File::options().append(true).create(true).open(&log).unwrap();
        let child = command.env_remove("CENOTE_LOG").env_remove("RUST_LOG").stderr(file).spawn();
        while scratch.run(&["ls"]).code != Some(0) {}
        child.unwrap()
    };
    let until = |words: &str| {
        let began = Instant::now();
        while !std::fs::read_to_string(&log).unwrap().contains(words) {
            let text = std::fs::read_to_string(&log).unwrap();
            assert!(began.elapsed() < Duration::from_secs(10), "{words:?} is not in {text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let mut daemon = serve();
    scratch.ok(&["put", "p.csv"]);
    // One that waits for room which never comes is killed.
    scratch.write("large.csv", prices("AAA", 60_000));
    scratch.ok(&["put", "large.csv"]);
    let mut waits =
        scratch.command(&["put", "large.csv", "--name", "q", "--wait", "60"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    crate::support::send(&waits, Signal::KILL);
    wait(&mut waits);
    until("a client was ended");
    until("refused");
    crate::support::send(&daemon, Signal::KILL);
    wait(&mut daemon);
    // A byte of the frame changes while there is no daemon.
    let arenas = std::fs::read_dir(scratch.pool()).unwrap().flatten().map(|entry| entry.path());
    let mut changed = 0;
    for path in arenas.filter(|path| path.to_str().unwrap().contains("/arena.")) {
        let bytes = std::fs::read(&path).unwrap();
        if let Some(at) = bytes.windows(6).position(|w| w == b"AAAAAA") {
            use std::os::unix::fs::FileExt;
            std::fs::File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .write_all_at(b"B", at as u64)
                .unwrap();
            changed += 1;
        }
    }
    assert!(changed > 0);
    let mut daemon = serve();
    until("damaged, and not served");
    crate::support::send(&daemon, Signal::TERM);
    assert_eq!(wait(&mut daemon), Some(0));
}
