//! The decoding threads and the stream of batches that they feed.
//!
//! A *part* is what one thread decodes in one go: a run of cuts or of row groups. Threads
//! take parts in order; under the same lock each puts the receiving end of a channel of its
//! own into the queue of parts, so the queue has them in order however long they take.
//! Both queue and channels are bounded: a slow reader stops the threads.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::error::LoadError;
use crate::file::InputFile;
use crate::join::Joiner;
use crate::meter::{Meter, Progress};
use crate::source::Plan;

/// Batches of one part that wait to be taken.
const WAITING_BATCHES: usize = 2;

/// What one thread decodes in one go.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) file: usize,
    /// Cuts or row groups.
    pub(crate) range: Range<usize>,
}

#[derive(Debug)]
struct Decoded {
    batch: RecordBatch,
    file: usize,
    bytes: u64,
}

type Outcome = Result<Decoded, LoadError>;

/// The rows of a [`Source`](crate::Source) as batches, in the order of its files.
///
/// After an error it ends. Dropped before its end it stops its threads and waits for them:
/// at most the time to decode one batch.
#[derive(Debug)]
pub struct Batches {
    shared: Arc<Shared>,
    parts: Option<Receiver<Receiver<Outcome>>>,
    part: Option<Receiver<Outcome>>,
    threads: Vec<JoinHandle<()>>,
    joiner: Joiner,
    error: Option<LoadError>,
    meter: Meter,
}

#[derive(Debug)]
struct Shared {
    plan: Plan,
    files: Vec<InputFile>,
    stopped: AtomicBool,
    work: Mutex<Option<Work>>,
}

/// Parts nobody has taken, and the way into the queue for whoever takes one.
type Work = (VecDeque<Part>, SyncSender<Receiver<Outcome>>);

impl Batches {
    pub(crate) fn new(
        plan: Plan,
        files: Vec<InputFile>,
        threads: usize,
        joiner: Joiner,
        meter: Meter,
    ) -> Self {
        let work = plan.parts(&files);
        let threads = threads.min(work.len());
        let (sender, parts) = sync_channel(threads);
        let work = Mutex::new(Some((work, sender)));
        let stopped = AtomicBool::new(false);
        let shared = Arc::new(Shared { plan, files, stopped, work });
        let mut this = Self {
            shared,
            parts: Some(parts),
            part: None,
            threads: Vec::new(),
            joiner,
            error: None,
            meter,
        };
        for _ in 0..threads {
            let shared = this.shared.clone();
            let builder = std::thread::Builder::new().name("cenote-load".into());
            match builder.spawn(move || shared.run()) {
                Ok(thread) => this.threads.push(thread),
                // one thread suffices
                Err(source) if this.threads.is_empty() => {
                    this.error = Some(LoadError::Thread { source });
                    break;
                }
                Err(_) => break,
            }
        }
        if threads == 0 {
            this.shared.close();
        }
        this
    }

    /// The schema of every batch.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.shared.plan.schema()
    }

    /// The files, in order.
    #[must_use]
    pub fn files(&self) -> &[InputFile] {
        &self.shared.files
    }

    /// How far it has come; [`Meter::read`] says the same from any thread.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.meter.read()
    }

    /// The next decoded batch, not yet joined.
    fn receive(&mut self) -> Option<Outcome> {
        loop {
            if let Some(part) = &self.part
                && let Ok(outcome) = part.recv()
            {
                return Some(outcome);
            }
            self.part = Some(self.parts.as_ref()?.recv().ok()?);
        }
    }

    fn stop(&mut self) {
        self.shared.stopped.store(true, Relaxed);
        // whoever waits for room in a channel is woken by its end
        self.parts = None;
        self.part = None;
        for thread in self.threads.drain(..) {
            // `Shared::run` catches panics
            drop(thread.join());
        }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, LoadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.meter.cancelled() && self.parts.is_some() {
                self.error = Some(LoadError::Cancelled);
            }
            if let Some(error) = self.error.take() {
                self.stop();
                self.joiner.clear();
                return Some(Err(error));
            }
            if let Some(batch) = self.joiner.pop() {
                return Some(Ok(batch));
            }
            match self.receive() {
                Some(Ok(decoded)) => {
                    self.meter.add_bytes(decoded.bytes);
                    self.meter.add_rows(decoded.batch.num_rows() as u64, decoded.file);
                    self.joiner.push(decoded.batch);
                }
                Some(Err(error)) => self.error = Some(error),
                None if self.parts.is_some() && self.shared.plan.is_widened() => {
                    self.error = Some(LoadError::Widened);
                }
                None => {
                    self.joiner.finish();
                    return self.joiner.pop().map(Ok);
                }
            }
        }
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn run(&self) {
        while let Some((part, out)) = self.take() {
            let file = &self.files[part.file];
            let mut take = |batch, bytes| {
                let decoded = Decoded { batch, file: part.file, bytes };
                out.send(Ok(decoded)).is_ok() && !self.stopped.load(Relaxed)
            };
            let outcome = file.guarded(|| self.plan.decode(file, &part, &mut take));
            if let Err(error) = outcome {
                // nobody reads on after an error; where nobody reads at all, it is not missed
                drop(out.send(Err(error)));
                self.close();
            }
        }
    }

    /// The next part, announced in the queue.
    fn take(&self) -> Option<(Part, SyncSender<Outcome>)> {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let (parts, queue) = work.as_mut()?;
        let (sender, receiver) = sync_channel(WAITING_BATCHES);
        let part = parts.pop_front().filter(|_| !self.stopped.load(Relaxed));
        match part {
            Some(part) if queue.send(receiver).is_ok() => Some((part, sender)),
            _ => {
                // the reader sees the end once the last sender is gone
                *work = None;
                None
            }
        }
    }

    fn close(&self) {
        *self.work.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
