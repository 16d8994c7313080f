//! A directory in /dev/shm, daemons that end with the test, and the command.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Nothing that a test waits for takes longer.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// A test's own directory: its pool, and its files beside.
pub(crate) struct Scratch {
    directory: tempfile::TempDir,
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        let directory = tempfile::Builder::new().prefix("cenote-cli-test-").tempdir_in("/dev/shm");
        Scratch { directory: directory.unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn pool(&self) -> PathBuf {
        self.path("pool")
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The command, for this test's pool.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cenote"));
        command.args(arguments).current_dir(self.directory.path());
        command.env("CENOTE_ADDRESS", self.pool()).env_remove("NO_COLOR");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs a command that is to succeed; its output.
    #[track_caller]
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert_eq!(said.code, Some(0), "{arguments:?}: {said:?}");
        said.out
    }

    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let out = self.ok(&[arguments, &["--json"]].concat());
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    /// Runs a command that is to fail with one line that says all of `words`.
    #[track_caller]
    pub(crate) fn fails(&self, arguments: &[&str], code: i32, words: &[&str]) -> Said {
        let said = self.run(arguments);
        assert_eq!(said.code, Some(code), "{said:?}");
        assert_eq!(said.out, "", "{said:?}");
        let line = said.err.lines().next().unwrap_or_default();
        assert!(line.starts_with("error: "), "{said:?}");
        for word in words {
            assert!(line.contains(word), "{word:?} is not in {line:?}");
        }
        assert!(said.err.lines().count() <= 2, "{said:?}");
        said
    }

    pub(crate) fn serve(&self, arguments: &[&str]) -> Daemon {
        let mut command = self.command(&[&["serve", "--reserve", "4MiB"], arguments].concat());
        let mut child = command.stderr(Stdio::inherit()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.starts_with("serving "), "{ready}");
        Daemon { child, ready }
    }

    /// What the pool holds, once nothing is open or leaked any more.
    pub(crate) fn settled(&self) -> Value {
        let began = Instant::now();
        loop {
            let info = self.json(&["info"]);
            let number = |field: &str| info[field].as_u64().unwrap();
            if number("open") == 0 && number("leaked") == 0 && number("retired_held") == 0 {
                let held = ["frames", "chunks", "sealed", "lost", "epoch", "leaked", "open"];
                return held.iter().map(|f| ((*f).to_owned(), info[*f].clone())).collect();
            }
            assert!(began.elapsed() < Duration::from_secs(10), "{info}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A daemon that is killed with the test.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) ready: String,
}

impl Daemon {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(&self.child, signal);
    }

    pub(crate) fn wait(&mut self) -> Option<i32> {
        wait(&mut self.child)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a child that has not been waited for: the id is its own.
pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Waits for the end of a child; its exit code.
#[track_caller]
pub(crate) fn wait(child: &mut Child) -> Option<i32> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if began.elapsed() > DEADLINE {
            let _ = child.kill();
            panic!("process {} did not end", child.id());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Prices of a symbol as CSV.
pub(crate) fn prices(symbol: &str, days: u32) -> String {
    let mut csv = "date,close,volume,name\n".to_owned();
    for day in 0..days {
        let (month, day_of) = (1 + day / 28 % 12, 1 + day % 28);
        let year = 2000 + day / (28 * 12);
        csv += &format!("{year}-{month:02}-{day_of:02},{}.25,{},{symbol}\n", 100 + day, 1000 * day);
    }
    csv
}
