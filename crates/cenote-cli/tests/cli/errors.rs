//! Errors that say what to do: names that are near, rights, addresses, a full file system.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{Said, Scratch, prices, text};

#[test]
fn a_wrong_name_is_near_a_right_one() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("p.csv", prices("AAA", 10));
    scratch.ok(&["put", "p.csv", "--name", "prices"]);
    let near = ["no frame", "did you mean \"prices\"?"];
    for command in [&["get", "prcies"][..], &["rm", "Price"], &["mv", "pricse", "q"]] {
        scratch.fails(command, 1, &near);
    }
    scratch.fails(&["get", "prices", "--columns", "dat"], 1, &["did you mean \"date\"?"]);
    let said = scratch.fails(&["get", "weights"], 1, &["no frame \"weights\""]);
    assert!(!said.err.contains("did you mean") && said.err.contains("cenote ls"), "{said:?}");
}

#[test]
fn a_directory_that_others_may_enter_is_refused_with_the_remedy() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.pool()).unwrap();
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(scratch.pool(), mode(0o755)).unwrap();
    let remedy = format!("`chmod 700 {}`", text(&scratch.pool()));
    scratch.fails(&["serve"], 1, &["open to others", "0755", &remedy]);
    scratch.fails(&["ls"], 1, &["open to others", &remedy]);
    std::fs::set_permissions(scratch.pool(), mode(0o700)).unwrap();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.ok(&["ls"]);
}

/// The shell's limit is the client's: the message names it, as the shell counts it.
#[test]
fn too_few_addresses() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "1GiB"]);
    scratch.write("p.csv", prices("AAA", 10));
    let command = env!("CARGO_BIN_EXE_cenote");
    let run = format!("ulimit -v 200000; exec {command} put p.csv");
    let said = shell(&scratch, &["sh", "-c", &run]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("ulimit -v 200000"), "{said:?}");
    assert!(said.err.contains("ulimit -v unlimited"), "{said:?}");
}

/// A daemon that was killed is waited for, and one that was never there is not.
#[test]
fn the_gap_between_two_daemons_is_waited_out() {
    let scratch = Scratch::new();
    let began = Instant::now();
    scratch.fails(&["ls"], 1, &["no daemon serves it"]);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let mut daemon = scratch.serve(&["--capacity", "64MiB"]);
    daemon.signal(Signal::KILL);
    daemon.wait();
    let client = scratch.command(&["ls"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let _daemon = scratch.serve(&[]);
    let output = client.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// With numbers where a pool is to be made; one that is there is taken over all the same.
#[test]
fn a_full_file_system() {
    let scratch = Scratch::new();
    let there = scratch.path("there");
    std::fs::create_dir(&there).unwrap();
    let (command, at) = (env!("CARGO_BIN_EXE_cenote"), text(&there));
    if let Err(why) = unshare(&scratch) {
        eprintln!("SKIP a_full_file_system: {why}");
        return;
    }
    scratch.write("p.csv", prices("AAA", 1000));
    let script = format!(
        "set -e
        mount -t tmpfs -o size=16m none {at}
        export CENOTE_ADDRESS={at}/old
        {command} serve --capacity 9MiB --reserve 2MiB >serving & daemon=$!
        while ! grep -q serving serving; do sleep 0.02; done
        {command} put p.csv; sleep 1
        kill -KILL $daemon; wait $daemon || true
        cat /dev/zero > {at}/filler 2>/dev/null || true
        {command} serve --address {at}/new && exit 9
        {command} serve >again & daemon=$!
        for i in $(seq 500); do grep -q serving again && break; sleep 0.02; done
        {command} get p --head 1
        kill $daemon; wait $daemon"
    );
    let said =
        shell(&scratch, &["unshare", "--mount", "--propagation", "private", "sh", "-c", &script]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("its file system is full, 0 B free of 16 MiB"), "{said:?}");
    assert!(said.out.contains("AAA"), "{said:?}");
}

fn unshare(scratch: &Scratch) -> Result<(), String> {
    let said = shell(scratch, &["unshare", "--mount", "true"]);
    if said.code == Some(0) { Ok(()) } else { Err(said.err) }
}

fn shell(scratch: &Scratch, words: &[&str]) -> Said {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(scratch.path("")).env("CENOTE_ADDRESS", scratch.pool());
    match command.stdin(Stdio::null()).output() {
        Ok(output) => {
            let text = |bytes| String::from_utf8(bytes).unwrap();
            Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
        }
        Err(error) => {
            Said { code: None, out: String::new(), err: format!("{}: {error}", words[0]) }
        }
    }
}
