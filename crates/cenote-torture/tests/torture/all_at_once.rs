//! Everybody is ended at any time: by steps, by signals, one by one and all together.

use std::time::{Duration, Instant};

use cenote_region::process::Signal;

use crate::history::History;
use crate::scene::{Agent, Answer, Scene, Setting, Step, hit, times};

/// Names of all steps in the sources.
pub(crate) fn step(scene: &Scene, of: &[&str]) -> Option<Step> {
    let mut chance = scene.chance.borrow_mut();
    let names: Vec<String> = crate::steps::in_the_sources()
        .into_iter()
        .filter(|name| of.iter().any(|prefix| name.starts_with(prefix)))
        .collect();
    let nth = 1 + chance.below(6);
    (!chance.one_in(3)).then(|| Step { name: chance.pick(&names).clone(), nth, stop: false })
}

const DAEMON: [&str; 16] = [
    "adopt",
    "arena",
    "catalog",
    "collect",
    "commit",
    "drop",
    "head set",
    "heads",
    "log",
    "move",
    "punch",
    "rename",
    "retire",
    "session: found",
    "session: removed",
    "session: arena",
];

#[test]
fn all_at_once() {
    let scene = Scene::new("all at once", Setting::default());
    let mut history = History::default();
    scene.start();
    let mut kills = 0;
    for round in 0..times(25) {
        let story = format!("round {round}");
        let (step_of_writer, step_of_reader) =
            (step(&scene, &["client"]), step(&scene, &["lease"]));
        let step_of_daemon = step(&scene, &DAEMON);
        scene.kill_daemon();
        kills += 1;
        match &step_of_daemon {
            Some(step) => scene.start_at(step),
            None => scene.start(),
        }
        let mut writers: Vec<Agent> =
            (0..2).map(|_| agent(&scene, "a writer", &step_of_writer)).collect();
        let mut readers: Vec<Agent> =
            (0..2).map(|_| agent(&scene, "a reader", &step_of_reader)).collect();
        let mut watcher = scene.client("a watcher");
        scene.ask(&mut watcher, "loop a b c d").ok();
        let begin = Instant::now();
        let length = Duration::from_millis(100 + scene.chance.borrow_mut().below(300));
        while begin.elapsed() < length {
            let (name, size, what, writer, reader) = {
                let mut chance = scene.chance.borrow_mut();
                let name = *chance.pick(&["a", "b", "c", "d"]);
                let size = *chance.pick(&["s", "s", "m", "m", "l", "e"]);
                (name, size, chance.below(10), chance.below(2), chance.below(2))
            };
            let line = match what {
                0 => format!("drop {name}"),
                1 => format!("rename {name} {name}~"),
                2 => format!("rename {name}~ {name}"),
                3 => format!("new {name} # {size}"),
                _ => format!("put {name} # {size}"),
            };
            let writer = &mut writers[usize::try_from(writer).unwrap()];
            match history.change(&scene, writer, &line) {
                Answer::Said(_) => {}
                answer => {
                    let step = step_of_writer.as_ref().unwrap();
                    hit(&step.name, answer == Answer::Stopped);
                    kills += 1;
                    *writer = scene.client("a writer");
                }
            }
            let reader = &mut readers[usize::try_from(reader).unwrap()];
            for line in [format!("hold {what} {name}"), format!("check {what}")] {
                if let answer @ (Answer::Gone | Answer::Stopped) = scene.ask(reader, &line) {
                    let step = step_of_reader.as_ref().unwrap();
                    hit(&step.name, answer == Answer::Stopped);
                    kills += 1;
                    *reader = scene.client("a reader");
                }
            }
        }
        kills += end_of_round(&scene, writers.into_iter().chain(readers).collect());
        scene.ask(&mut watcher, "halt").ok();
        watcher.tell_end();
        scene.mourn(watcher);
        scene.disarm(0);
        scene.aftermath(0, &story);
        let pool = scene.connect();
        history.settle(&pool, &story);
    }
    eprintln!(
        "all at once: {kills} kills and {} of daemons at steps; {} changes acknowledged, {} not",
        scene.daemons_hit.borrow().len(),
        history.acknowledged,
        history.unknown
    );
    assert!(kills >= times(25) * 3 && history.acknowledged > 100);
}

/// All of them end, in one go or in good order; how many were killed.
fn end_of_round(scene: &Scene, all: Vec<Agent>) -> u64 {
    if scene.chance.borrow_mut().one_in(4) {
        for mut agent in all {
            agent.tell_end();
            scene.mourn(agent);
        }
        return 0;
    }
    scene.disarm_now();
    for agent in &all {
        agent.signal(Signal::KILL);
    }
    scene.daemon().signal(Signal::KILL);
    let kills = all.len() as u64 + 1;
    drop(all);
    scene.kill_daemon();
    // The watcher, which needs nobody, goes on meanwhile.
    std::thread::sleep(Duration::from_millis(20));
    scene.start();
    kills
}

fn agent(scene: &Scene, what: &str, step: &Option<Step>) -> Agent {
    let mut agent = scene.client_to_be(what, 20_000, step.as_ref());
    let answer = agent.hear(|| {
        scene.tend();
    });
    assert!(matches!(answer, Answer::Said(text) if text == "ready"), "{what}");
    agent
}
