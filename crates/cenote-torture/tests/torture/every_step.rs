//! SIGKILL and SIGSTOP at every step that a process reaches.
//!
//! A workload is run once to see which steps its processes reach and how often; then again
//! and again, each time with one process ended, or stopped, at one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use cenote_region::process::Signal;

use crate::history::History;
use crate::scene::{Agent, Answer, HITS, Scene, Setting, Step, hit, times};

/// Who is ended at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Daemon,
    Writer,
    Reader,
    Forker,
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
        let mut agent = self.scene.client_to_be(&format!("{victim:?}"), answer_ms, step);
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

    fn end(mut self, clients: Vec<Agent>) -> (BTreeMap<String, u64>, bool) {
        for client in clients {
            client.end();
        }
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
            assert!(all < 4 << 20 && arenas < 1 << 20, "{}: {all} {arenas} {info:?}", self.story);
        }
        let recorded = if self.step.is_none() && !self.hit {
            self.scene.recorded_or_none()
        } else {
            BTreeMap::new()
        };
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
fn changes(victim: Victim, step: Option<Step>) -> (BTreeMap<String, u64>, bool) {
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
    watcher.hear(|| { play.scene.tend(); }).ok();
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
    let halted = watcher.hear(|| { play.scene.tend(); }).ok();
    let reads: u64 = halted[0].parse().unwrap();
    assert!(reads > 0, "{}: the watcher read nothing", play.story);
    play.end(vec![writer, reader, watcher])
}

impl Scene {
    fn recorded_or_none(&self) -> BTreeMap<String, u64> {
        if self.is_recording() { self.recorded() } else { BTreeMap::new() }
    }
}

/// For each step: the first time, the second, one in the middle and the last.
fn times_of(count: u64, most: u64) -> BTreeSet<u64> {
    [1, 2, count / 2, count].into_iter().filter(|n| *n > 0 && *n <= count).take(usize::try_from(most).unwrap()).collect()
}

type Workload = fn(Victim, Option<Step>) -> (BTreeMap<String, u64>, bool);

/// Sweeps the steps that `wanted` accepts.
fn sweep(work: Workload, victim: Victim, wanted: impl Fn(&str) -> bool + Sync, per_step: u64) -> (u64, u64) {
    let (recorded, _) = work(victim, None);
    let steps: Vec<Step> = recorded
        .iter()
        .filter(|(name, _)| wanted(name))
        .flat_map(|(name, &count)| {
            times_of(count, per_step).into_iter().flat_map(move |nth| {
                [false, true].map(|stop| Step { name: name.clone(), nth, stop })
            })
        })
        .collect();
    assert!(!steps.is_empty(), "{victim:?}: no step was recorded");
    let next = std::sync::atomic::AtomicUsize::new(0);
    let done = std::sync::Mutex::new((0, 0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(step) = steps.get(at) else { break };
                    let (_, hit) = work(victim, Some(step.clone()));
                    let mut done = done.lock().unwrap();
                    done.0 += 1;
                    done.1 += u64::from(hit);
                    if std::env::var_os("CENOTE_VERBOSE").is_some() {
                        eprintln!("{victim:?} {step} {}", if hit { "hit" } else { "not reached" });
                    }
                }
            });
        }
    });
    let done = *done.lock().unwrap();
    eprintln!("{victim:?}: {} runs, {} hit, over {} steps", done.0, done.1, recorded.len());
    done
}

#[test]
fn every_step() {
    let (runs, hits) = sweep(changes, Victim::Daemon, |name| name.starts_with("session"), times(1));
    assert!(hits * 10 > runs * 7, "{hits} of {runs}");
}
