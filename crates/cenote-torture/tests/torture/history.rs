//! What the pool must hold, by what was acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use cenote::{Error, Pool, Refusal};
use cenote_torture::content::tables;

use crate::scene::{Agent, Answer, Scene};

/// A state of a name: its counter and version, or absent.
type State = Option<(u64, u64)>;

/// Names, and the states that each may be in: one, unless an answer never came.
#[derive(Debug, Default)]
pub(crate) struct History {
    names: BTreeMap<String, BTreeSet<State>>,
    /// Tables that a name has for certain.
    appended: BTreeMap<String, BTreeSet<u64>>,
    next: u64,
    pub(crate) acknowledged: u64,
    pub(crate) unknown: u64,
}

impl History {
    fn states(&self, name: &str) -> BTreeSet<State> {
        self.names.get(name).cloned().unwrap_or_else(|| [None].into())
    }

    /// Has `agent` make a change; its outcome is noted. `line`: `put`, `new`, `append`,
    /// `drop` or `rename`, with `#` for the counter.
    pub(crate) fn change(&mut self, scene: &Scene, agent: &mut Agent, line: &str) -> Answer {
        self.next += 1;
        let line = line.replace('#', &self.next.to_string());
        let answer = scene.ask(agent, &line);
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let failed = match &answer {
            Answer::Said(text) if text.starts_with("ok") => false,
            Answer::Said(text) => {
                let kind = text.split_ascii_whitespace().nth(1).unwrap_or_default();
                match kind {
                    "stopped" | "unavailable" => true,
                    "not-found" | "exists" | "exhausted" => return answer,
                    _ => panic!("{line}: {text}"),
                }
            }
            Answer::Gone | Answer::Stopped => true,
        };
        if failed {
            self.unknown += 1
        } else {
            self.acknowledged += 1
        }
        // A table without rows has no place for its counter.
        let counter = if words.contains(&"e") { 0 } else { self.next };
        match words.as_slice() {
            ["put" | "new" | "append", name, ..] => {
                let appended = self.appended.entry((*name).to_owned()).or_default();
                if words[0] != "append" {
                    appended.clear();
                } else if !failed {
                    appended.insert(counter);
                }
                let before = self.states(name);
                let mut after: BTreeSet<State> =
                    before.iter().map(|s| Some((counter, s.map_or(0, |s| s.1) + 1))).collect();
                if let (false, Answer::Said(text)) = (failed, &answer) {
                    // Exactly once: a change that was repeated would have counted twice.
                    let version: u64 =
                        text.split_ascii_whitespace().nth(1).unwrap().parse().unwrap();
                    after.retain(|s| s.is_some_and(|s| s.1 == version));
                    assert!(!after.is_empty(), "{line}: {text} after {before:?}");
                } else {
                    after.extend(before);
                }
                self.names.insert((*name).to_owned(), after);
            }
            ["drop", name] => {
                let mut after = if failed { self.states(name) } else { BTreeSet::new() };
                after.insert(None);
                self.names.insert((*name).to_owned(), after);
            }
            ["rename", from, to] => {
                let (mut olds, mut news) = (self.states(from), self.states(to));
                if failed {
                    // One of the two has it; `settle` looks which.
                    news.extend(olds.iter().copied());
                    olds.insert(None);
                } else {
                    news = olds;
                    olds = [None].into();
                }
                self.names.insert((*from).to_owned(), olds);
                self.names.insert((*to).to_owned(), news);
            }
            _ => panic!("{line}"),
        }
        answer
    }

    /// Looks at every name: its content is one that it may have.
    pub(crate) fn settle(&mut self, pool: &Pool, story: &str) {
        let listed: BTreeMap<String, u64> =
            pool.frames().unwrap().into_iter().map(|f| (f.name, f.version)).collect();
        for (name, states) in &mut self.names {
            let found: State = match pool.get(name).and_then(|f| Ok((f.version(), f.batches()?))) {
                Ok((version, arrays)) => {
                    let tables = tables(name, &arrays).unwrap_or_else(|e| panic!("{story}: {e}"));
                    let missing = self.appended.get(name).into_iter().flatten();
                    let missing: Vec<_> = missing.filter(|c| !tables.contains(c)).collect();
                    assert!(missing.is_empty(), "{story}: {name} lacks {missing:?}: {tables:?}");
                    Some((tables.last().copied().unwrap_or(0), version))
                }
                Err(Error::Refused(Refusal::NotFound { .. })) => None,
                Err(error) => panic!("{story}: {name}: {error}"),
            };
            assert!(states.contains(&found), "{story}: {name} is {found:?}, not of {states:?}");
            assert_eq!(
                listed.get(name).copied(),
                found.map(|f| f.1),
                "{story}: {name} in the list"
            );
            *states = [found].into();
        }
        for name in listed.keys() {
            assert!(self.names.contains_key(name), "{story}: {name} comes from nowhere");
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.names.keys().cloned().collect()
    }
}
