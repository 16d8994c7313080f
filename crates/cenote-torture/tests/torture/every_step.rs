//! SIGKILL and SIGSTOP at every step that a process reaches.
//!
//! A workload is run once to see which steps its processes reach and how often; then again
//! and again, each time with one process ended, or stopped, at one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cenote_region::process::Signal;

use crate::history::History;
use crate::scene::{Agent, Answer, Forked, HITS, Scene, Setting, Step, hit, times};

/// Who is ended at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Daemon,
    Writer,
    Reader,
    Forker,
}

impl Victim {
    fn what(self) -> &'static str {
        match self {
            Victim::Daemon => "the daemon",
            Victim::Writer => "the writer",
            Victim::Reader => "the reader",
            Victim::Forker => "the forker",
        }
    }
}

/// Names whose records fill the first head table, so that a larger one is written.
fn long_name(i: u64) -> String {
    format!("{i:0>255}")
}

/// A scene in which one process is to end at a step.
struct Play {
    scene: Scene,
    history: History,
    victim: Victim,
    step: Option<Step>,
    story: String,
    /// Whether the step was reached.
    hit: bool,
}

impl Play {
    fn new(victim: Victim, step: Option<Step>) -> Play {
        let story = match &step {
            Some(step) => format!("{victim:?} at {step}"),
            None => format!("{victim:?} recorded"),
        };
        let scene = Scene::new(&story, Setting::default());
        let scene = if step.is_none() { scene.recording() } else { scene };
        Play { scene, history: History::default(), victim, step, story, hit: false }
    }

    fn step_of(&self, victim: Victim) -> Option<&Step> {
        self.step.as_ref().filter(|_| victim == self.victim)
    }

    fn client(&self, victim: Victim, answer_ms: u64) -> Agent {
        let step = self.step_of(victim);
        let mut agent = self.scene.client_to_be(victim.what(), answer_ms, step);
        let answer = agent.hear(|| {
            self.scene.tend();
        });
        assert!(matches!(&answer, Answer::Said(t) if t == "ready"), "{}: {answer:?}", self.story);
        agent
    }

    /// The victim was hit: it is followed by another, at once or after having lain stopped.
    fn replace(&mut self, agent: &mut Agent, answer: &Answer) {
        let step = self.step.clone().unwrap();
        self.hit = true;
        match answer {
            Answer::Gone => hit(&step.name, false),
            _ => hit(&step.name, true),
        }
        if *answer == Answer::Stopped {
            // Others go on beside it.
            let mut other = self.scene.client("another client");
            self.history.change(&self.scene, &mut other, "put other # m");
            self.history.change(&self.scene, &mut other, "put other # s");
            other.end();
            if self.scene.chance.borrow_mut().one_in(2) {
                agent.signal(Signal::CONT);
                let answer = agent.hear(|| {
                    self.scene.tend();
                });
                assert_ne!(answer, Answer::Gone, "{}", self.story);
                return;
            }
            agent.kill();
        }
        self.step = None;
        let what = agent.what.clone();
        *agent = self.scene.client(&what);
    }

    /// Has the agent make a change, and replaces it where that was its end.
    fn change(&mut self, agent: &mut Agent, line: &str) {
        let answer = self.history.change(&self.scene, agent, line);
        if matches!(answer, Answer::Gone | Answer::Stopped) {
            self.replace(agent, &answer);
        }
    }

    fn ask(&mut self, agent: &mut Agent, line: &str) -> Option<String> {
        match self.scene.ask(agent, line) {
            Answer::Said(text) => Some(text),
            answer => {
                self.replace(agent, &answer);
                None
            }
        }
    }

    fn end(mut self, clients: Vec<Agent>) -> Outcome {
        for client in clients {
            client.end();
        }
        let recorded = if self.step.is_none() && !self.hit {
            // With what the daemon does about clients that have ended.
            std::thread::sleep(Duration::from_millis(200));
            self.scene.recorded(self.victim.what())
        } else {
            BTreeMap::new()
        };
        self.scene.disarm(0);
        if !self.scene.daemons_hit.borrow().is_empty() {
            self.hit = true;
        }
        self.scene.aftermath(0, &self.story);
        let pool = self.scene.connect();
        self.history.settle(&pool, &self.story);
        assert!(self.history.acknowledged > 0, "{}", self.story);
        // All is dropped, a new daemon takes over, and what the directory takes is what it
        // needs for nothing.
        let empty = self.scene.chance.borrow_mut().one_in(8);
        if empty {
            for name in self.history.names() {
                let _ = pool.drop_frame(&name);
            }
            self.scene.settled(&pool, 0, &self.story);
            self.scene.kill_daemon();
            self.scene.start();
            let info = self.scene.settled(&pool, 0, &self.story);
            assert_eq!((info.frames, info.sealed, info.chunks), (0, 0, 0), "{}", self.story);
            let (all, arenas) = self.scene.on_disk();
            // The journal may be as long as it gets before it is cut, and redb's file beside it.
            assert!(all < 12 << 20 && arenas < 1 << 20, "{}: {all} {arenas} {info:?}", self.story);
        }
        (recorded, self.hit)
    }

    fn start(&self) {
        match self.step_of(Victim::Daemon) {
            Some(step) => self.scene.start_at(&step.clone()),
            None => self.scene.start(),
        }
        self.scene.tend();
    }
}

/// Frames made, replaced, renamed, dropped and read; arenas filled and given back; a head
/// table that grows; a daemon that ends and one that takes over.
fn changes(victim: Victim, step: Option<Step>) -> Outcome {
    let mut play = Play::new(victim, step);
    play.start();
    // Of two writers one does not wait long for an answer.
    let short = if play.scene.chance.borrow_mut().one_in(2) { 150 } else { 20_000 };
    let mut writer = play.client(Victim::Writer, short);
    play.change(&mut writer, "put a # m");
    play.change(&mut writer, "put b # s");
    let mut reader = play.client(Victim::Reader, 20_000);
    play.ask(&mut reader, "hold one a");
    play.ask(&mut reader, "arrays two b");
    let mut watcher = play.scene.client("a watcher");
    watcher.tell("loop a b c");
    watcher
        .hear(|| {
            play.scene.tend();
        })
        .ok();
    for round in 0..3 {
        play.change(&mut writer, "put a # m");
        play.change(&mut writer, "put b # s");
        play.change(&mut writer, "put c # l");
        play.ask(&mut reader, "read a");
        play.ask(&mut reader, "hold three c");
        play.change(&mut writer, "rename b b~");
        play.change(&mut writer, "new b # s");
        play.change(&mut writer, "drop b~");
        play.ask(&mut reader, "check one");
        play.ask(&mut reader, "check two");
        play.ask(&mut reader, "check three");
        if round == 1 {
            play.ask(&mut reader, "release one");
            for i in 0..14 {
                play.change(&mut writer, &format!("put {} # e", long_name(i)));
            }
            // More than an idle arena keeps: it is given back.
            play.change(&mut writer, "put big # h");
            play.change(&mut writer, "put big # h");
            play.change(&mut writer, "drop big");
        }
    }
    play.ask(&mut reader, "release two");
    play.ask(&mut reader, "release three");
    // The catalog is written every 200 ms.
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(250) {
        play.scene.tend();
        std::thread::sleep(Duration::from_millis(10));
    }
    watcher.tell("halt");
    let halted = watcher
        .hear(|| {
            play.scene.tend();
        })
        .ok();
    let reads: u64 = halted[0].parse().unwrap();
    assert!(reads > 0, "{}: the watcher read nothing", play.story);
    play.end(vec![writer, reader, watcher])
}

/// A frame that grows by appends, its versions kept, tagged and let go, and one that is dropped
/// with all of them.
fn versions(victim: Victim, step: Option<Step>) -> Outcome {
    let mut play = Play::new(victim, step);
    play.start();
    let mut writer = play.client(Victim::Writer, 20_000);
    let mut reader = play.client(Victim::Reader, 20_000);
    play.change(&mut writer, "append v # s");
    play.ask(&mut writer, "retain v 3");
    for round in 0..36 {
        play.change(&mut writer, "append v # s");
        match round % 9 {
            1 => drop(play.ask(&mut writer, "tag v good")),
            3 => drop(play.ask(&mut writer, "expire v")),
            4 => drop(play.ask(&mut reader, "hold one v")),
            5 => drop(play.ask(&mut writer, "untag v good")),
            6 => drop(play.ask(&mut reader, "versions v")),
            7 => drop(play.ask(&mut writer, if round < 20 { "retain v 1" } else { "retain v 4" })),
            8 => drop(play.ask(&mut reader, "check one")),
            _ => {}
        }
        if round == 20 {
            play.change(&mut writer, "append w # s");
            play.change(&mut writer, "append w # s");
            play.ask(&mut reader, "hold two w");
            play.change(&mut writer, "drop w");
            play.ask(&mut reader, "check two");
            play.ask(&mut reader, "release two");
        }
    }
    play.ask(&mut reader, "release one");
    play.end(vec![writer, reader])
}

/// For each step: the first time, the second, one in the middle and the last.
fn times_of(count: u64, most: u64) -> BTreeSet<u64> {
    [1, 2, count / 2, count]
        .into_iter()
        .filter(|n| *n > 0 && *n <= count)
        .take(usize::try_from(most).unwrap())
        .collect()
}

/// So much in the journal that what redb has is cut off it while more comes. A daemon killed
/// over that left the new journal beside the old one for ever.
fn long_journal(victim: Victim, step: Option<Step>) -> Outcome {
    let mut play = Play::new(victim, step);
    play.start();
    let mut writers: Vec<Agent> = (0..2).map(|_| play.client(Victim::Writer, 20_000)).collect();
    for writer in &mut writers {
        play.ask(writer, "source 400");
    }
    for round in 0..60 {
        for (name, writer) in ["a", "b"].iter().zip(&mut writers) {
            play.change(
                writer,
                &format!("put {name} # {}", if round % 9 == 0 { "m" } else { "s" }),
            );
        }
        if round > 20 && play.is_over() {
            break;
        }
    }
    play.end(writers)
}

/// Small survivors of many dropped frames: the cleaner moves them together.
fn thinning(victim: Victim, step: Option<Step>) -> Outcome {
    let recording = step.is_none();
    let mut play = Play::new(victim, step);
    play.start();
    let mut first = play.client(Victim::Writer, 20_000);
    for i in 0..128 {
        play.change(&mut first, &format!("put t{i} # s"));
    }
    first.end();
    let mut reader = play.client(Victim::Reader, 20_000);
    play.ask(&mut reader, "hold one t16");
    play.ask(&mut reader, "arrays two t32");
    let mut second = play.client(Victim::Writer, 20_000);
    for i in (0..128).filter(|i| i % 16 != 0) {
        play.change(&mut second, &format!("drop t{i}"));
    }
    let mut watcher = play.scene.client("a watcher");
    play.scene.ask(&mut watcher, "loop t0 t48").ok();
    // The cleaner comes by once a second.
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(2500) && (recording || !play.is_over()) {
        play.scene.tend();
        play.ask(&mut reader, "check one");
        play.ask(&mut reader, "check two");
        std::thread::sleep(Duration::from_millis(20));
    }
    play.change(&mut second, "put t64 # s");
    play.change(&mut second, "drop t80");
    for i in [0, 16, 32, 48, 96, 112] {
        play.ask(&mut reader, &format!("read t{i}"));
    }
    play.scene.ask(&mut watcher, "halt").ok();
    play.end(vec![second, reader, watcher])
}

/// A daemon takes over what another left in every state: current and replaced, held and
/// forgotten, of clients that live and of dead ones.
fn takeover(victim: Victim, step: Option<Step>) -> Outcome {
    let mut play = Play::new(victim, step);
    play.scene.start();
    let mut writer = play.client(Victim::Writer, 20_000);
    for i in 0..20 {
        play.change(&mut writer, &format!("put t{i} # s"));
        play.change(&mut writer, &format!("put m{i} # m"));
    }
    let mut reader = play.client(Victim::Reader, 20_000);
    play.ask(&mut reader, "hold one t3");
    play.ask(&mut reader, "arrays two m4");
    play.ask(&mut reader, "hold three m5");
    play.change(&mut writer, "put t3 # m");
    play.change(&mut writer, "put m4 # s");
    play.change(&mut writer, "drop m5");
    play.change(&mut writer, "rename t6 t6~");
    let mut dead = play.scene.client("one to be killed");
    play.scene.ask(&mut dead, "hold one t7").ok();
    play.history.change(&play.scene, &mut dead, "put dead # m");
    dead.kill();
    play.change(&mut writer, "put t7 # s");
    play.scene.kill_daemon();
    play.scene.forget_recorded(Victim::Daemon.what());
    play.start();
    for i in 0..3 {
        play.ask(&mut reader, "check one");
        play.ask(&mut reader, "check two");
        play.ask(&mut reader, "check three");
        play.ask(&mut reader, "read m4");
        play.change(&mut writer, &format!("put t{i} # m"));
        play.change(&mut writer, "put t3 # m");
        play.change(&mut writer, "put m4 # l");
    }
    play.end(vec![writer, reader])
}

/// Children go on with what they inherited, whatever becomes of their parents.
fn forks(victim: Victim, step: Option<Step>) -> Outcome {
    let mut play = Play::new(victim, step);
    play.start();
    let mut writer = play.client(Victim::Writer, 20_000);
    for name in ["a", "b", "c"] {
        play.change(&mut writer, &format!("put {name} # m"));
    }
    let mut forker = play.client(Victim::Forker, 20_000);
    forker.ask("hold one a").ok();
    forker.ask("arrays two b").ok();
    // Its threads take and drop leases while it forks.
    forker.ask("churn 3 a b c").ok();
    let mut family: Vec<Agent> = Vec::new();
    for round in 0..3 {
        let before = family.len();
        let (answer, child) = play.scene.fork(&mut forker);
        play.forked(child, &mut family);
        replace_all(&mut play, &mut writer);
        if answer == Answer::Stopped {
            play.met(true);
            if play.scene.chance.borrow_mut().one_in(2) {
                forker.kill();
            } else {
                forker.signal(Signal::CONT);
                let answer = forker.hear(|| {});
                if family.len() == before {
                    let child = play.scene.child_of(&forker, &answer);
                    play.forked(child, &mut family);
                }
            }
        } else if answer == Answer::Gone {
            play.met(false);
        }
        if forker.is_gone() {
            break;
        }
        // The child of a child that has used the pool itself.
        if round == 1
            && let Some(mut child) = family.pop()
        {
            child.ask("read a").ok();
            child.ask("hold three c").ok();
            let (answer, grandchild) = play.scene.fork(&mut child);
            play.forked(grandchild, &mut family);
            if matches!(answer, Answer::Said(_)) && play.scene.chance.borrow_mut().one_in(2) {
                family.push(child);
            } else {
                // One that is stopped before it forks, and killed, has no child to come.
                child.kill();
                play.met_if(answer);
            }
        }
        play.check_family(&mut family, "one two");
        replace_all(&mut play, &mut writer);
        play.check_family(&mut family, "one two");
    }
    // The parent lets go, and ends in one way or the other.
    if !forker.is_gone() {
        forker.ask("halt").ok();
        forker.ask("release one").ok();
        forker.ask("release two").ok();
        replace_all(&mut play, &mut writer);
        play.check_family(&mut family, "one two");
        match play.scene.chance.borrow_mut().below(3) {
            0 => forker.kill(),
            1 => forker.stop(),
            _ => {}
        }
    }
    replace_all(&mut play, &mut writer);
    play.check_family(&mut family, "one two");
    for child in &mut family {
        child.ask("release one").ok();
        let read = play.scene.ask(child, "read a").said();
        assert!(read.starts_with("ok"), "{}: {read}", play.story);
    }
    if forker.is_gone() || forker.is_stopped() {
        drop(forker);
    } else {
        forker.end();
    }
    let killed = family.len() / 2;
    for child in family.drain(..killed) {
        drop(child);
    }
    for child in family {
        child.end();
    }
    play.end(vec![writer])
}

fn replace_all(play: &mut Play, writer: &mut Agent) {
    for name in ["a", "b", "c"] {
        for _ in 0..2 {
            play.change(writer, &format!("put {name} # m"));
        }
    }
}

impl Play {
    fn is_over(&self) -> bool {
        self.hit || !self.scene.daemons_hit.borrow().is_empty()
    }

    fn met(&mut self, stopped: bool) {
        let step = self.step.clone().unwrap_or_else(|| panic!("{}: ended by itself", self.story));
        hit(&step.name, stopped);
        self.hit = true;
    }

    fn met_if(&mut self, answer: Answer) {
        match answer {
            Answer::Gone => self.met(false),
            Answer::Stopped => self.met(true),
            Answer::Said(_) => {}
        }
    }

    fn forked(&mut self, child: Forked, family: &mut Vec<Agent>) {
        match child {
            Forked::Goes(child) => family.push(child),
            Forked::Stopped(pidfd) => {
                self.met(true);
                std::thread::sleep(Duration::from_millis(20));
                let _ = pidfd.signal(Signal::KILL);
            }
            Forked::Gone if self.victim == Victim::Forker && self.step.is_some() => self.met(false),
            Forked::Gone => panic!("{}: a child is gone", self.story),
        }
    }

    fn check_family(&self, family: &mut [Agent], kept: &str) {
        for child in family {
            for id in kept.split(' ') {
                let said = self.scene.ask(child, &format!("check {id}")).said();
                assert!(said.starts_with("ok"), "{}: {said}", self.story);
            }
        }
    }
}

/// Steps and how often each was reached; whether the step that was asked for was.
type Outcome = (BTreeMap<String, u64>, bool);
type Workload = fn(Victim, Option<Step>) -> Outcome;

/// Sweeps the steps that `wanted` accepts: each at `per_step` of the times it is reached, by
/// SIGKILL and by SIGSTOP.
fn sweep(work: Workload, victim: Victim, wanted: impl Fn(&str) -> bool + Sync, per_step: u64) {
    let begin = Instant::now();
    // For who looks for a fault: only steps with this in their names, so often.
    let only = std::env::var("CENOTE_ONLY").unwrap_or_default();
    let often = if only.is_empty() { 1 } else { times(1) };
    let (recorded, _) = work(victim, None);
    let steps: Vec<Step> = recorded
        .iter()
        .filter(|(name, _)| wanted(name) && name.contains(&only))
        .flat_map(|(name, &count)| {
            times_of(count, per_step).into_iter().flat_map(move |nth| {
                [false, true].map(|stop| Step { name: name.clone(), nth, stop })
            })
        })
        .flat_map(|step| (0..often).map(move |_| step.clone()))
        .collect();
    if !only.is_empty() && steps.is_empty() {
        return;
    }
    assert!(!steps.is_empty(), "{victim:?}: no step was recorded of {recorded:?}");
    let next = AtomicUsize::new(0);
    let hits = AtomicUsize::new(0);
    let verbose = std::env::var_os("CENOTE_VERBOSE").is_some();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(step) = steps.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (_, hit) = work(victim, Some(step.clone()));
                    hits.fetch_add(usize::from(hit), Ordering::Relaxed);
                    if verbose {
                        eprintln!("{victim:?} {step} {}", if hit { "hit" } else { "not reached" });
                    }
                }
            });
        }
    });
    let hits = hits.into_inner();
    let runs = steps.len();
    eprintln!(
        "{victim:?}: {runs} runs, {hits} hit, of {} steps, {:?}",
        recorded.len(),
        begin.elapsed()
    );
    // Threads are not on time; most must be.
    assert!(hits * 10 >= runs * 6, "{victim:?}: {hits} hit of {runs} runs");
}

fn of_daemon(name: &str) -> bool {
    !["client:", "lease:", "fork:"].iter().any(|other| name.starts_with(other))
}

/// One test, since its end looks at what all of its parts did.
#[test]
fn every_step() {
    sweep(changes, Victim::Daemon, |n| of_daemon(n) && !n.starts_with("adopt"), times(2));
    let of_journal = |name: &str| name == "catalog: new journal written";
    let of_versions = |name: &str| {
        ["keep:", "tag:", "expire:", "commit:", "retire:", "collect:", "head set"]
            .iter()
            .any(|of| name.starts_with(of))
    };
    sweep(versions, Victim::Daemon, of_versions, times(2));
    sweep(long_journal, Victim::Daemon, of_journal, times(2));
    sweep(takeover, Victim::Daemon, |name| name.starts_with("adopt"), times(2));
    sweep(thinning, Victim::Daemon, |name| name.starts_with("move"), times(2));
    sweep(changes, Victim::Writer, |name| name.starts_with("client:"), times(3));
    sweep(changes, Victim::Reader, |name| name.starts_with("lease:"), times(3));
    sweep(forks, Victim::Forker, |name| name.starts_with("fork:"), times(3));
    if std::env::var_os("CENOTE_ONLY").is_none() {
        crate::steps::all_were_swept(&HITS.lock().unwrap());
    }
}
