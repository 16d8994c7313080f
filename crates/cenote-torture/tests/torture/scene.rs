//! A pool in a directory of its own, its daemon and its clients as real processes, and what
//! must be true of it afterwards.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use cenote::{Options, Pool, PoolInfo};
use cenote_region::process::{PidFd, ProcessId, Signal, state};
use cenote_torture::chance::Chance;
use cenote_torture::content::check;

/// No answer for so long: it hangs.
const HANGS_AFTER: Duration = Duration::from_secs(40);
/// What the issue allows the pool for finding out what is free, counted in looks 10 ms apart,
/// so that a machine busy with other things does not fail it.
const LOOKS_MAX: u32 = 100;

/// What happened in all tests of this run: steps at which a process was ended or stopped.
pub(crate) static HITS: Mutex<BTreeMap<String, (u64, u64)>> = Mutex::new(BTreeMap::new());

pub(crate) fn hit(step: &str, stopped: bool) {
    let mut hits = HITS.lock().unwrap();
    let count = hits.entry(step.to_owned()).or_default();
    if stopped { count.1 += 1 } else { count.0 += 1 }
}

/// How often things are repeated: `CENOTE_TORTURE=long` multiplies.
pub(crate) fn times(count: u64) -> u64 {
    match std::env::var("CENOTE_TORTURE").as_deref() {
        Ok("long") => count * 10,
        Ok(number) => count * number.parse().unwrap_or(1),
        Err(_) => count,
    }
}

/// Where a process is to end or to stop.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) nth: u64,
    pub(crate) stop: bool,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let action = if self.stop { "stop" } else { "kill" };
        write!(f, "{}@{}={action}", self.name, self.nth)
    }
}

/// What came of asking a process for something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Said(String),
    /// It has ended.
    Gone,
    /// It is stopped.
    Stopped,
}

impl Answer {
    pub(crate) fn said(self) -> String {
        match self {
            Answer::Said(text) => text,
            other => panic!("{other:?}"),
        }
    }

    /// The words behind `ok`.
    pub(crate) fn ok(self) -> Vec<String> {
        let text = self.said();
        let words = text.strip_prefix("ok").unwrap_or_else(|| panic!("{text}"));
        words.split_ascii_whitespace().map(str::to_owned).collect()
    }

    pub(crate) fn err(self) -> String {
        let text = self.said();
        text.strip_prefix("err ").unwrap_or_else(|| panic!("{text}")).to_owned()
    }
}

/// A process that is told what to do.
pub(crate) struct Agent {
    pub(crate) what: String,
    pub(crate) pid: u32,
    child: Option<Child>,
    pidfd: PidFd,
    input: Box<dyn Write>,
    lines: Receiver<String>,
    pub(crate) step: Option<Step>,
    /// In a PID namespace of its own: what it says of processes is not what they are here.
    inside: bool,
}

impl Agent {
    fn spawn(mut command: Command, what: &str, errors: &Path, step: Option<&Step>) -> Agent {
        let errors = std::fs::OpenOptions::new().append(true).create(true).open(errors).unwrap();
        command.env_remove("CENOTE_STEP").env_remove("CENOTE_ADDRESS");
        if let Some(step) = step {
            command.env("CENOTE_STEP", step.to_string());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().unwrap();
        let input: ChildStdin = child.stdin.take().unwrap();
        let lines = lines_of(child.stdout.take().unwrap());
        let pid = child.id();
        let pidfd = PidFd::open(ProcessId(pid)).unwrap();
        Agent {
            what: what.to_owned(),
            pid,
            child: Some(child),
            pidfd,
            input: Box::new(input),
            lines,
            step: step.cloned(),
            inside: false,
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        matches!(state(ProcessId(self.pid)), Some('T' | 't'))
    }

    pub(crate) fn is_gone(&self) -> bool {
        !self.pidfd.is_alive().unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let _ = self.pidfd.signal(signal);
    }

    /// SIGKILL, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.reap();
    }

    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
        for _ in 0..2000 {
            if self.is_stopped() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("{} does not stop", self.what);
    }

    fn reap(&mut self) -> Option<ExitStatus> {
        if let Some(child) = &mut self.child {
            return child.wait().ok();
        }
        for _ in 0..2000 {
            if self.is_gone() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    /// After its end: that it was as expected, by SIGKILL or by itself without complaint.
    pub(crate) fn mourn(&mut self) {
        if let Some(status) = self.reap() {
            use std::os::unix::process::ExitStatusExt;
            let fine = status.signal() == Some(9) || status.success();
            let last: Vec<_> = self.lines.try_iter().collect();
            assert!(fine, "{} (process {}) ended with {status}: {last:?}", self.what, self.pid);
        }
    }

    /// The process that this one runs was killed: it says so by its own end.
    pub(crate) fn mourn_killed_inside(&mut self) {
        let status = self.reap().unwrap();
        assert!(!status.success(), "{status}");
    }

    /// Sends a line. One that is gone does not hear it.
    pub(crate) fn tell(&mut self, line: &str) {
        let _ = self.input.write_all(format!("{line}\n").as_bytes());
        let _ = self.input.flush();
    }

    /// The next line, as far as it is there now.
    fn heard(&mut self, within: Duration) -> Option<Answer> {
        match self.lines.recv_timeout(within) {
            Ok(line) if line.starts_with("WRONG") => panic!("{}: {line}", self.what),
            Ok(line) => Some(Answer::Said(line)),
            Err(RecvTimeoutError::Disconnected) => Some(Answer::Gone),
            Err(RecvTimeoutError::Timeout) if self.is_stopped() => Some(Answer::Stopped),
            // A child of it may hold the other end.
            Err(RecvTimeoutError::Timeout) if self.is_gone() => {
                // Its last line may still be on its way here.
                let last = self.lines.recv_timeout(Duration::from_millis(400));
                Some(last.map_or(Answer::Gone, Answer::Said))
            }
            Err(RecvTimeoutError::Timeout) => None,
        }
    }

    /// The next line; `meanwhile` is done again and again until it is there.
    pub(crate) fn hear(&mut self, mut meanwhile: impl FnMut()) -> Answer {
        let begin = Instant::now();
        loop {
            if let Some(answer) = self.heard(Duration::from_millis(3)) {
                if answer == Answer::Gone {
                    self.mourn();
                }
                return answer;
            }
            meanwhile();
            assert!(begin.elapsed() < HANGS_AFTER, "{} (process {}) hangs", self.what, self.pid);
        }
    }

    /// Asks, and waits for the answer.
    pub(crate) fn ask(&mut self, line: &str) -> Answer {
        self.tell(line);
        self.hear(|| {})
    }

    /// The first line of its life.
    pub(crate) fn ready(mut self) -> Agent {
        let answer = self.hear(|| {});
        assert!(
            matches!(&answer, Answer::Said(t) if t.starts_with("ready")),
            "{}: {answer:?}",
            self.what
        );
        self
    }

    /// Ends it in good order.
    pub(crate) fn end(mut self) {
        self.tell_end();
        self.mourn();
    }

    pub(crate) fn tell_end(&mut self) {
        self.tell("exit");
        self.input = Box::new(std::io::sink());
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // By its descriptor: nobody else is meant, whatever became of its number.
        self.kill();
    }
}

fn lines_of(from: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// What became of a forked child.
pub(crate) enum Forked {
    Goes(Agent),
    Stopped(PidFd),
    Gone,
}

impl Forked {
    pub(crate) fn expect_goes(self) -> Agent {
        match self {
            Forked::Goes(child) => child,
            Forked::Stopped(_) => panic!("the child is stopped"),
            Forked::Gone => panic!("the child is gone"),
        }
    }
}

/// How a scene's daemon runs.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// `None`: what the pool chooses.
    pub(crate) capacity: Option<u64>,
    pub(crate) reserve: Option<u64>,
    /// A command that runs the daemon's.
    pub(crate) within: Vec<String>,
}

impl Default for Setting {
    fn default() -> Setting {
        Setting { capacity: Some(256 << 20), reserve: Some(0), within: Vec::new() }
    }
}

/// A pool and its processes.
pub(crate) struct Scene {
    dir: tempfile::TempDir,
    setting: Setting,
    daemon: RefCell<Option<Agent>>,
    recording: bool,
    /// Daemons that were killed or stopped by their steps, and what became of them.
    pub(crate) daemons_hit: RefCell<Vec<String>>,
    pub(crate) chance: RefCell<Chance>,
    listener: RefCell<Option<UnixListener>>,
}

impl Scene {
    pub(crate) fn new(test: &str, setting: Setting) -> Scene {
        Scene::within("/dev/shm", test, setting)
    }

    pub(crate) fn within(parent: impl AsRef<Path>, test: &str, setting: Setting) -> Scene {
        let dir = tempfile::Builder::new().prefix("cenote-torture-").tempdir_in(parent).unwrap();
        Scene {
            dir,
            setting,
            daemon: RefCell::new(None),
            recording: false,
            daemons_hit: RefCell::default(),
            chance: RefCell::new(Chance::of(test)),
            listener: RefCell::default(),
        }
    }

    /// Has every process of the scene write down the steps that it reaches.
    pub(crate) fn recording(mut self) -> Scene {
        self.recording = true;
        self
    }

    fn seen(&self, what: &str) -> PathBuf {
        self.dir.path().join(format!("steps of {what}"))
    }

    /// How often each step was reached by the processes of that name.
    pub(crate) fn recorded(&self, what: &str) -> BTreeMap<String, u64> {
        let text = std::fs::read_to_string(self.seen(what)).unwrap_or_default();
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            *counts.entry(line.to_owned()).or_default() += 1;
        }
        counts
    }

    pub(crate) fn forget_recorded(&self, what: &str) {
        let _ = std::fs::remove_file(self.seen(what));
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.dir.path().join("pool")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.run_dir().join(name)
    }

    pub(crate) fn errors(&self) -> PathBuf {
        self.dir.path().join("errors")
    }

    fn command(&self, what: &str, within: &[String]) -> Command {
        let agent = env!("CARGO_BIN_EXE_torture-agent");
        let mut command = match within.split_first() {
            None => Command::new(agent),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(agent);
                command
            }
        };
        if self.recording {
            command.env("CENOTE_STEPS_SEEN", self.seen(what));
        }
        command
    }

    /// A daemon, not waited for.
    pub(crate) fn daemon_to_be(&self, step: Option<&Step>) -> Agent {
        let mut command = self.command("the daemon", &self.setting.within);
        let numbers = [self.setting.capacity, self.setting.reserve]
            .map(|number| number.map_or_else(|| "-".to_owned(), |number| number.to_string()));
        command.arg("daemon").arg(self.run_dir()).args(numbers).arg("-");
        Agent::spawn(command, "the daemon", &self.errors(), step)
    }

    /// Starts the scene's daemon.
    pub(crate) fn start(&self) {
        let daemon = self.daemon_to_be(None).ready();
        *self.daemon.borrow_mut() = Some(daemon);
    }

    /// Starts it, to be ended at a step; it may not come far enough to be ready.
    pub(crate) fn start_at(&self, step: &Step) {
        let mut daemon = self.daemon_to_be(Some(step));
        match daemon.hear(|| {}) {
            Answer::Said(text) => assert!(text.starts_with("ready"), "{text}"),
            Answer::Gone | Answer::Stopped => {}
        }
        *self.daemon.borrow_mut() = Some(daemon);
    }

    pub(crate) fn daemon(&self) -> std::cell::RefMut<'_, Agent> {
        std::cell::RefMut::map(self.daemon.borrow_mut(), |daemon| daemon.as_mut().unwrap())
    }

    /// Makes a daemon the scene's.
    pub(crate) fn own(&self, daemon: Agent) {
        *self.daemon.borrow_mut() = Some(daemon);
    }

    /// The daemon's end is about to be another than by its step.
    pub(crate) fn disarm_now(&self) {
        self.tend();
        if let Some(daemon) = self.daemon.borrow_mut().as_mut() {
            daemon.step = None;
        }
    }

    /// Waits for the end of a client, and looks after the daemon meanwhile.
    pub(crate) fn mourn(&self, mut agent: Agent) {
        let begin = Instant::now();
        while !agent.is_gone() {
            self.tend();
            assert!(begin.elapsed() < HANGS_AFTER, "{} does not end", agent.what);
            if agent.is_stopped() {
                agent.kill();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        agent.mourn();
    }

    pub(crate) fn kill_daemon(&self) {
        if let Some(mut daemon) = self.daemon.borrow_mut().take() {
            daemon.kill();
        }
    }

    /// Ends the daemon in good order.
    pub(crate) fn end_daemon(&self) {
        if let Some(daemon) = self.daemon.borrow_mut().take() {
            daemon.end();
        }
    }

    /// Looks after the daemon: a killed one is replaced. A stopped one is let lie for a while,
    /// then continued, or killed and replaced. True if it had to be seen to.
    pub(crate) fn tend(&self) -> bool {
        let Some(mut daemon) = self.daemon.borrow_mut().take() else { return false };
        if daemon.is_gone() {
            daemon.mourn();
            let step = daemon.step.clone();
            let step = step.unwrap_or_else(|| panic!("the daemon ended by itself"));
            hit(&step.name, false);
            self.daemons_hit.borrow_mut().push(format!("{step}"));
            drop(daemon);
            self.start();
            return true;
        }
        if daemon.is_stopped() {
            let step = daemon.step.clone().unwrap();
            hit(&step.name, true);
            self.daemons_hit.borrow_mut().push(format!("{step}"));
            self.second_daemon_is_refused(true);
            std::thread::sleep(Duration::from_millis(self.chance.borrow_mut().below(300)));
            if self.chance.borrow_mut().one_in(2) {
                daemon.kill();
                drop(daemon);
                self.start();
            } else {
                daemon.signal(Signal::CONT);
                daemon.step = None;
                if let Some(Answer::Said(text)) = daemon.heard(Duration::from_millis(50)) {
                    assert!(text.starts_with("ready"), "{text}");
                }
                *self.daemon.borrow_mut() = Some(daemon);
            }
            return true;
        }
        *self.daemon.borrow_mut() = Some(daemon);
        false
    }

    /// The clients but `clients` have ended. A daemon that is still to be ended at a step gets
    /// the time to find them, and is then followed by one that is not.
    pub(crate) fn disarm(&self, clients: usize) {
        let armed = |scene: &Scene| {
            scene.daemon.borrow().as_ref().is_some_and(|daemon| daemon.step.is_some())
        };
        for _ in 0..LOOKS_MAX {
            self.tend();
            if !armed(self) {
                return;
            }
            if self.session_files().len() == 2 * clients {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // It may reach its step even now.
        if let Some(mut daemon) = self.daemon.borrow_mut().take() {
            daemon.tell_end();
            while !daemon.is_gone() {
                if daemon.is_stopped() {
                    daemon.signal(Signal::KILL);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            daemon.mourn();
        }
        self.start();
    }

    pub(crate) fn second_daemon_is_refused(&self, stopped: bool) {
        let mut second = self.daemon_to_be(None);
        let said = second.hear(|| {}).said();
        assert!(said.starts_with("failed") && said.contains("is owned by process"), "{said}");
        assert_eq!(said.contains("which is stopped"), stopped, "{said}");
        let _ = second.reap();
    }

    /// A client, not waited for.
    pub(crate) fn client_to_be(&self, what: &str, answer_ms: u64, step: Option<&Step>) -> Agent {
        self.client_within(what, answer_ms, step, &[])
    }

    /// A client that is run by a command, not waited for.
    pub(crate) fn client_within(
        &self,
        what: &str,
        answer_ms: u64,
        step: Option<&Step>,
        within: &[String],
    ) -> Agent {
        let mut command = self.command(what, within);
        command.arg("client").arg(self.run_dir()).arg(answer_ms.to_string());
        let mut agent = Agent::spawn(command, what, &self.errors(), step);
        agent.inside = !within.is_empty();
        agent
    }

    pub(crate) fn client(&self, what: &str) -> Agent {
        let mut client = self.client_to_be(what, 20_000, None);
        let answer = client.hear(|| {
            self.tend();
        });
        assert_eq!(answer, Answer::Said("ready".to_owned()), "{what}");
        client
    }

    /// Asks a client, and looks after the daemon meanwhile.
    pub(crate) fn ask(&self, agent: &mut Agent, line: &str) -> Answer {
        agent.tell(line);
        agent.hear(|| {
            self.tend();
        })
    }

    /// Has `agent` fork: its own answer, and the child, if it came so far.
    pub(crate) fn fork(&self, agent: &mut Agent) -> (Answer, Forked) {
        let path = self.dir.path().join("forked");
        self.listener.borrow_mut().get_or_insert_with(|| {
            let listener = UnixListener::bind(&path).unwrap();
            listener.set_nonblocking(true).unwrap();
            listener
        });
        let answer = self.ask(agent, &format!("fork {}", path.display()));
        let child = self.child_of(agent, &answer);
        (answer, child)
    }

    /// As [`Self::fork`], without an eye on the daemon.
    pub(crate) fn fork_beside(&self, agent: &mut Agent) -> (Answer, Forked) {
        let daemon = self.daemon.borrow_mut().take();
        let outcome = self.fork(agent);
        *self.daemon.borrow_mut() = daemon;
        outcome
    }

    /// The child that `agent` has forked, as it says.
    pub(crate) fn child_of(&self, agent: &Agent, answer: &Answer) -> Forked {
        let pid = match answer {
            Answer::Said(text) => text.strip_prefix("ok ").unwrap().parse::<u32>().ok(),
            _ => None,
        };
        let pid = pid.filter(|_| !agent.inside);
        let pidfd = pid.map(|pid| PidFd::open(ProcessId(pid)));
        let listener = self.listener.borrow();
        let begin = Instant::now();
        let stream: UnixStream = loop {
            if let Ok((stream, _)) = listener.as_ref().unwrap().accept() {
                break stream;
            }
            match (&pidfd, pid) {
                // Its parent did not come so far as to say who it is: it comes, or it does not.
                (None, _) if begin.elapsed() > Duration::from_millis(300) => return Forked::Gone,
                (Some(Err(_)), _) => return Forked::Gone,
                (Some(Ok(pidfd)), _) if !pidfd.is_alive().unwrap() => return Forked::Gone,
                (Some(Ok(_)), Some(pid)) if matches!(state(ProcessId(pid)), Some('T' | 't')) => {
                    return Forked::Stopped(PidFd::open(ProcessId(pid)).unwrap());
                }
                _ => {}
            }
            assert!(begin.elapsed() < HANGS_AFTER, "a forked child (process {pid:?}) hangs");
            std::thread::sleep(Duration::from_millis(1));
        };
        stream.set_nonblocking(false).unwrap();
        let peer = cenote_region::process::peer_credentials(&stream).unwrap();
        let peer_pid = peer.pid.unwrap();
        assert!(pid.is_none_or(|pid| pid == peer_pid.0), "another child than {pid:?}: {peer:?}");
        let child = Agent {
            what: format!("a child of {}", agent.what),
            pid: peer_pid.0,
            child: None,
            pidfd: PidFd::open(peer_pid).unwrap(),
            input: Box::new(stream.try_clone().unwrap()),
            lines: lines_of(stream),
            step: None,
            inside: agent.inside,
        };
        Forked::Goes(child.ready())
    }

    pub(crate) fn connect(&self) -> Pool {
        let address = Some(self.run_dir().display().to_string());
        let answer_within = Some(Duration::from_secs(20));
        let begin = Instant::now();
        loop {
            let options = Options { address: address.clone(), start: None, answer_within };
            match Pool::connect(options) {
                Ok(pool) => return pool,
                Err(error) => assert!(begin.elapsed() < HANGS_AFTER, "{error}"),
            }
            self.tend();
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Files of the pool's directory that sessions have.
    pub(crate) fn session_files(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.run_dir()).unwrap().map(|e| e.unwrap().file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        let mut found: Vec<_> =
            names.filter(|n| n.starts_with("lease.") || n.starts_with("alive.")).collect();
        found.sort();
        found
    }

    /// What the file system says that the directory takes, and its arenas alone.
    pub(crate) fn on_disk(&self) -> (u64, u64) {
        use std::os::unix::fs::MetadataExt;
        let (mut all, mut arenas) = (0, 0);
        for entry in std::fs::read_dir(self.run_dir()).unwrap() {
            let entry = entry.unwrap();
            let bytes = entry.metadata().map_or(0, |m| m.blocks() * 512);
            all += bytes;
            if entry.file_name().to_string_lossy().starts_with("arena.") {
                arenas += bytes;
            }
        }
        (all, arenas)
    }

    fn file_sizes(&self) -> Vec<(String, u64)> {
        use std::os::unix::fs::MetadataExt;
        let entries = std::fs::read_dir(self.run_dir()).unwrap().map(Result::unwrap);
        let mut files: Vec<_> = entries
            .map(|e| {
                let bytes = e.metadata().map_or(0, |m| m.blocks() * 512);
                (e.file_name().to_string_lossy().into_owned(), bytes)
            })
            .collect();
        files.sort();
        files
    }

    /// With `clients` still there (this one not counted) and nobody reading: within a second
    /// nothing is leaked or held, the file system says the same, and a second run works.
    pub(crate) fn aftermath(&self, clients: usize, story: &str) {
        let pool = self.connect();
        // By what the file system says; what redb grows by meanwhile is not the arenas'.
        let slack = 2 << 20;
        for looks in 0.. {
            let info = self.settled(&pool, clients, story);
            let (all, arenas) = self.on_disk();
            let due = info.sealed + info.ready + info.open + info.metadata + arena_rounding(&info);
            if all <= info.used + slack && arenas <= due + slack {
                break;
            }
            let files = self.file_sizes();
            assert!(
                looks < LOOKS_MAX,
                "{story}: {all} on disk, {arenas} in arenas; {info:?}; {files:?}"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        self.second_run(&pool, story);
        self.only_known_files(story);
        let errors = std::fs::read_to_string(self.errors()).unwrap_or_default();
        let panics: Vec<_> = errors.lines().filter(|l| l.contains("panicked at")).collect();
        // redb's own assertions over a damaged file are caught, and told.
        let own = panics.iter().filter(|line| !line.contains("redb-"));
        assert_eq!(own.count(), 0, "{story}: {panics:?}");
    }

    /// Nothing is in the directory that has no business there.
    fn only_known_files(&self, story: &str) {
        let known =
            ["lock", "socket", "board", "journal", "catalog.redb", "daemon.log", "daemon.log.1"];
        let numbered = ["arena", "heads", "lease", "alive", "damaged"];
        for entry in std::fs::read_dir(self.run_dir()).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            let stem = name.split('.').next().unwrap();
            let belongs = known.contains(&name.as_str()) || numbered.contains(&stem);
            assert!(belongs, "{story}: {name} is left");
        }
    }

    /// Puts, gets and drops a frame.
    pub(crate) fn second_run(&self, pool: &Pool, story: &str) {
        use cenote_torture::content::{Size, batches};
        let name = "second run";
        let put = pool.put(name, &batches(name, 1, Size::Middle), cenote::IfExists::Fail);
        assert_eq!(put.unwrap_or_else(|e| panic!("{story}: {e}")), 1, "{story}");
        let found = check(name, &pool.get(name).unwrap().batches().unwrap());
        assert_eq!(found, Ok(1), "{story}");
        pool.drop_frame(name).unwrap();
    }

    pub(crate) fn settled(&self, pool: &Pool, clients: usize, story: &str) -> PoolInfo {
        let mut looks = 0;
        loop {
            let info = pool.info().unwrap_or_else(|e| panic!("{story}: {e}"));
            let files = self.session_files();
            let wanted = 2 * (clients + 1);
            if info.leaked == 0 && info.retired_held == 0 && files.len() == wanted {
                assert_eq!(info.lost, [], "{story}");
                return info;
            }
            looks += 1;
            assert!(
                looks < LOOKS_MAX,
                "{story}: {} leaked, {} held, {} of {wanted} session files {files:?}; {info:?}; {:?}",
                info.leaked,
                info.retired_held,
                files.len(),
                pool.leases()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Small chunks share pages with dead ones.
fn arena_rounding(info: &PoolInfo) -> u64 {
    (info.chunks + info.arenas + 1) * 2 * 4096
}

impl Drop for Scene {
    fn drop(&mut self) {
        // Before its directory goes: it would make files in it.
        self.kill_daemon();
        if std::thread::panicking() {
            let errors = std::fs::read_to_string(self.errors()).unwrap_or_default();
            let tail: Vec<_> = errors.lines().rev().take(30).collect();
            for line in tail.iter().rev() {
                eprintln!("  | {line}");
            }
            eprintln!("  daemons hit: {:?}", self.daemons_hit.borrow());
        }
    }
}
