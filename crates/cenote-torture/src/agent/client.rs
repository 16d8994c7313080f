//! A client that does what it is told: a line in, a line out.
//!
//! ```text
//! put NAME COUNTER SIZE [WAIT_MS]   ok VERSION       a new version (SIZE: e s m l h)
//! new NAME COUNTER SIZE             ok VERSION       only if the name is free
//! drop NAME | rename FROM TO        ok
//! read NAME                         ok COUNTER VERSION
//! hold ID NAME                      ok COUNTER VERSION       keeps the frame and its arrays
//! arrays ID NAME                    ok COUNTER VERSION       keeps the arrays alone
//! borrow ID NAME                    ok COUNTER VERSION       the arrays alone, over a connection that ends
//! check ID                          ok COUNTER               reads all of what is kept again
//! release ID                        ok
//! loop NAME...                      ok               reads them, over and over, in the background
//! churn THREADS NAME...             ok               the same, in more threads
//! halt                              ok READS UNAVAILABLE
//! fork SOCKET                       ok PID           a child that listens there as this does here
//! source KIB                        ok               so long a source for what it puts from now on
//! version NAME COUNT                ok               puts it so often
//! connect COUNT                     ok               so many connections more
//! disconnect                        ok               and all of these gone
//! session                           ok ID
//! info                              ok LEAKED RETIRED_HELD OPEN
//! exit                              (ends)
//! ```
//!
//! Anything else: `err KIND TEXT`. A wrong byte: `WRONG TEXT`, and exit 42.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arrow_array::RecordBatch;
use cenote::{Error, Frame, IfExists, Keep, Options, Pool, Refusal, Selection, Unavailable, Which};
use cenote_torture::content::{Size, batches, check};

struct Kept {
    name: String,
    counter: u64,
    /// `None`: only the arrays are kept.
    frame: Option<Frame>,
    arrays: Vec<RecordBatch>,
}

struct Background {
    stop: Arc<AtomicBool>,
    reads: Arc<AtomicU64>,
    unavailable: Arc<AtomicU64>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

/// A client and what it keeps.
pub(crate) struct Client {
    options: Options,
    pool: Pool,
    kept: BTreeMap<String, Kept>,
    background: Option<Background>,
    more: Vec<Pool>,
    source: String,
}

pub(crate) fn run(directory: &str, answer_ms: &str) -> Result<(), String> {
    let answer: u64 = answer_ms.parse().map_err(|error| format!("{answer_ms}: {error}"))?;
    let options = Options {
        address: Some(directory.to_owned()),
        start: None,
        answer_within: Some(Duration::from_millis(answer)),
    };
    let pool = connect(&options)?;
    let mut client = Client {
        options,
        pool,
        kept: BTreeMap::new(),
        background: None,
        more: Vec::new(),
        source: String::new(),
    };
    crate::say("ready");
    client.obey(std::io::stdin().lock(), &mut |line| crate::say(line));
    Ok(())
}

/// A daemon that has just been killed is about to be followed by another.
fn connect(options: &Options) -> Result<Pool, String> {
    let mut last = None;
    for _ in 0..500 {
        match Pool::connect(options.clone()) {
            Ok(pool) => return Ok(pool),
            Err(error) => last = Some(error),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("cannot connect: {last:?}"))
}

/// A wrong byte is the end.
fn wrong(text: &str) -> ! {
    crate::say(&format!("WRONG {}", text.replace('\n', " ")));
    eprintln!("WRONG {text}");
    std::process::exit(42)
}

fn kind(error: &Error) -> &'static str {
    match error {
        Error::Refused(Refusal::NotFound { .. }) => "not-found",
        Error::Refused(Refusal::Exists { .. }) => "exists",
        Error::Refused(Refusal::Exhausted { .. }) => "exhausted",
        Error::Refused(Refusal::Bound { .. }) => "bound",
        Error::Refused(Refusal::System { .. }) => "system",
        Error::Refused(_) => "refused",
        Error::Unavailable { why: Unavailable::Stopped { .. }, .. } => "stopped",
        Error::Unavailable { why: Unavailable::Remade, .. } => "remade",
        Error::Unavailable { .. } => "unavailable",
        Error::Damaged { .. } => "damaged",
        Error::LostInFork => "lost-in-fork",
        Error::Leases { .. } => "leases",
        _ => "other",
    }
}

fn failure(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text += &format!(": {inner}");
        source = inner.source();
    }
    format!("err {} {}", kind(error), text.replace('\n', " "))
}

impl Client {
    pub(crate) fn obey(&mut self, input: impl BufRead, say: &mut dyn FnMut(&str)) {
        for line in input.lines().map_while(Result::ok) {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            if words.as_slice() == ["exit"] {
                return;
            }
            let answer = match self.follow(&words) {
                Ok(answer) => format!("ok {answer}"),
                Err(error) => failure(&error),
            };
            say(answer.trim_end());
        }
    }

    fn follow(&mut self, words: &[&str]) -> Result<String, Error> {
        match *words {
            ["put", name, counter, size] => self.put(name, counter, size, IfExists::Replace, "0"),
            ["put", name, counter, size, wait] => {
                self.put(name, counter, size, IfExists::Replace, wait)
            }
            ["new", name, counter, size] => self.put(name, counter, size, IfExists::Fail, "0"),
            ["append", name, counter, size] => self.put(name, counter, size, IfExists::Append, "0"),
            ["retain", name, versions] => {
                let versions = versions.parse().unwrap_or(1);
                let keep = Keep { versions, seconds: None };
                self.pool.keep(name, keep).map(|()| String::new())
            }
            ["tag", name, tag] => Ok(self.pool.tag(name, tag, None)?.to_string()),
            ["untag", name, tag] => self.pool.untag(name, tag).map(|()| String::new()),
            ["expire", name] => {
                let versions = self.pool.versions(name)?;
                let mut old = versions.iter().rev().skip(1).filter(|v| v.tags.is_empty());
                let Some(old) = old.next() else { return Ok(String::new()) };
                self.pool.drop_version(name, old.version).map(|()| old.version.to_string())
            }
            ["versions", name] => {
                let versions = self.pool.versions(name)?;
                for version in &versions {
                    let which = Which::Version(version.version);
                    let selection = Selection { which, ..Selection::default() };
                    match self.pool.get_selected(name, &selection) {
                        Ok(frame) => drop(sound(name, &frame.batches()?)),
                        // Somebody has dropped it meanwhile.
                        Err(Error::Refused(Refusal::NoVersion { .. })) => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(versions.len().to_string())
            }
            ["drop", name] => self.pool.drop_frame(name).map(|()| String::new()),
            ["rename", from, to] => self.pool.rename(from, to).map(|()| String::new()),
            ["read", name] => {
                let (frame, arrays) = self.get(name)?;
                Ok(format!("{} {}", sound(name, &arrays), frame.version()))
            }
            ["hold", id, name] => self.keep(id, name, true),
            ["arrays", id, name] => self.keep(id, name, false),
            ["borrow", id, name] => {
                let pool = Pool::connect(self.options.clone())?;
                let own = std::mem::replace(&mut self.pool, pool);
                let kept = self.keep(id, name, false);
                self.pool = own;
                kept
            }
            ["check", id] => self.check(id),
            ["release", id] => {
                self.kept.remove(id);
                Ok(String::new())
            }
            ["loop", ref names @ ..] => self.start(1, names),
            ["churn", threads, ref names @ ..] => self.start(threads.parse().unwrap_or(4), names),
            ["halt"] => Ok(self.halt()),
            ["fork", socket] => Ok(self.fork(socket)),
            ["source", kib] => {
                self.source = "s".repeat(1024 * kib.parse::<usize>().unwrap_or(0));
                Ok(String::new())
            }
            ["version", name, count] => {
                for counter in 1..=count.parse().unwrap_or(1) {
                    let batches = batches(name, counter, Size::Small);
                    self.pool.put(name, &batches, IfExists::Replace)?;
                }
                Ok(String::new())
            }
            ["connect", count] => {
                for _ in 0..count.parse().unwrap_or(1) {
                    self.more.push(Pool::connect(self.options.clone())?);
                }
                Ok(String::new())
            }
            ["disconnect"] => {
                self.more.clear();
                Ok(String::new())
            }
            ["session"] => Ok(self.pool.session_id()?.to_string()),
            ["info"] => {
                let info = self.pool.info()?;
                Ok(format!("{} {} {}", info.leaked, info.retired_held, info.open))
            }
            _ => Err(Error::Source(format!("not understood: {words:?}").into())),
        }
    }

    fn put(
        &self,
        name: &str,
        counter: &str,
        size: &str,
        if_exists: IfExists,
        wait: &str,
    ) -> Result<String, Error> {
        let counter: u64 = counter.parse().unwrap_or(0);
        let wait = Duration::from_millis(wait.parse().unwrap_or(0));
        let batches = batches(name, counter, Size::parse(size).unwrap_or(Size::Small));
        let writer = self.pool.writer(name, batches[0].schema(), if_exists)?.wait(wait);
        let mut writer = writer.source(self.source.clone());
        writer.write_all(&batches)?;
        Ok(writer.commit()?.to_string())
    }

    fn get(&self, name: &str) -> Result<(Frame, Vec<RecordBatch>), Error> {
        let frame = self.pool.get(name)?;
        let arrays = frame.batches()?;
        Ok((frame, arrays))
    }

    fn keep(&mut self, id: &str, name: &str, with_frame: bool) -> Result<String, Error> {
        let (frame, arrays) = self.get(name)?;
        let counter = sound(name, &arrays);
        let version = frame.version();
        let frame = with_frame.then_some(frame);
        let kept = Kept { name: name.to_owned(), counter, frame, arrays };
        self.kept.insert(id.to_owned(), kept);
        Ok(format!("{counter} {version}"))
    }

    fn check(&self, id: &str) -> Result<String, Error> {
        let Some(kept) = self.kept.get(id) else {
            return Err(Error::Source(format!("nothing is kept as {id}").into()));
        };
        if let Some(frame) = &kept.frame {
            frame.check()?;
        }
        let found = sound(&kept.name, &kept.arrays);
        if let Some(frame) = &kept.frame
            && sound(&kept.name, &frame.batches()?) != found
        {
            wrong(&format!("{}: the frame is not what its arrays are", kept.name));
        }
        if found != kept.counter {
            wrong(&format!("{}: counter {found} was {}", kept.name, kept.counter));
        }
        Ok(found.to_string())
    }

    fn start(&mut self, threads: usize, names: &[&str]) -> Result<String, Error> {
        let names: Arc<[String]> = names.iter().map(|n| (*n).to_owned()).collect();
        let background = Background {
            stop: Arc::default(),
            reads: Arc::default(),
            unavailable: Arc::default(),
            threads: Vec::new(),
        };
        let background = self.background.insert(background);
        for thread in 0..threads {
            let (pool, names) = (self.pool.clone(), names.clone());
            let (stop, reads) = (background.stop.clone(), background.reads.clone());
            let unavailable = background.unavailable.clone();
            let read = move || read_on(&pool, &names, thread, &stop, &reads, &unavailable);
            background.threads.push(std::thread::spawn(read));
        }
        Ok(String::new())
    }

    fn halt(&mut self) -> String {
        let Some(background) = self.background.take() else { return "0 0".to_owned() };
        background.stop.store(true, Ordering::Relaxed);
        for thread in background.threads {
            if thread.join().is_err() {
                wrong("a reading thread panicked");
            }
        }
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
        format!("{} {}", count(&background.reads), count(&background.unavailable))
    }

    fn fork(&mut self, socket: &str) -> String {
        match crate::fork::fork() {
            crate::fork::Forked::Parent(pid) => pid.to_string(),
            crate::fork::Forked::Child => {
                // The parent's threads are not here; what they held stays held.
                std::mem::forget(self.background.take());
                crate::fork::serve(self, socket)
            }
        }
    }
}

fn sound(name: &str, arrays: &[RecordBatch]) -> u64 {
    check(name, arrays).unwrap_or_else(|text| wrong(&text))
}

/// Reads the names in turn, and keeps the arrays of a few reads for a while.
fn read_on(
    pool: &Pool,
    names: &[String],
    first: usize,
    stop: &AtomicBool,
    reads: &AtomicU64,
    unavailable: &AtomicU64,
) {
    let mut kept: std::collections::VecDeque<(String, u64, Vec<RecordBatch>)> = [].into();
    let mut at = first;
    while !stop.load(Ordering::Relaxed) {
        let name = &names[at % names.len()];
        at += 1;
        match pool.get(name).and_then(|frame| frame.batches()) {
            Ok(arrays) => {
                kept.push_back((name.clone(), sound(name, &arrays), arrays));
                reads.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => match kind(&error) {
                "not-found" => {}
                "unavailable" | "stopped" | "remade" => {
                    unavailable.fetch_add(1, Ordering::Relaxed);
                }
                _ => wrong(&format!("{name}: {}", failure(&error))),
            },
        }
        if kept.len() > 5
            && let Some((name, counter, arrays)) = kept.pop_front()
            && sound(&name, &arrays) != counter
        {
            wrong(&format!("{name}: it was {counter}"));
        }
    }
    for (name, counter, arrays) in kept {
        if sound(&name, &arrays) != counter {
            wrong(&format!("{name}: it was {counter}"));
        }
    }
}
