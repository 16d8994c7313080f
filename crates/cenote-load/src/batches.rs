//! The decoding threads and the stream of batches that they feed.
//!
//! A *part* is what one thread decodes in one go: a run of cuts or of row groups. Threads
//! take parts in order; under the same lock each puts the receiving end of a channel of its
//! own into the queue of parts, so the queue has them in order however long they take.
//! Both queue and channels are bounded: a slow reader stops the threads.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::error::LoadError;
use crate::file::InputFile;
use crate::finish::Finish;
use crate::format::{Format, Part};
use crate::join::Joiner;
use crate::meter::{Meter, Progress};

/// Batches of one part that wait to be taken.
const WAITING_BATCHES: usize = 2;

/// How often a reader that waits for a batch looks whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(20);

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
/// at most the time to decode one batch. Cancelled it does not wait.
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
    format: Arc<dyn Format>,
    finish: Finish,
    files: Vec<InputFile>,
    stopped: AtomicBool,
    work: Mutex<Option<Work>>,
}

/// Parts nobody has taken, and the way into the queue for whoever takes one.
type Work = (VecDeque<Part>, SyncSender<Receiver<Outcome>>);

impl Batches {
    pub(crate) fn new(
        format: Arc<dyn Format>,
        finish: Finish,
        files: Vec<InputFile>,
        threads: usize,
        joiner: Joiner,
        meter: Meter,
    ) -> Self {
        let work: VecDeque<Part> = format.parts(&files).into();
        let threads = threads.min(work.len());
        let (sender, parts) = sync_channel(threads);
        let work = Mutex::new(Some((work, sender)));
        let stopped = AtomicBool::new(false);
        let shared = Arc::new(Shared { format, finish, files, stopped, work });
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
        self.shared.finish.schema()
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
            if self.meter.cancelled() && self.parts.is_some() {
                return Some(Err(LoadError::Cancelled));
            }
            if let Some(part) = &self.part {
                match part.recv_timeout(LOOK_EVERY) {
                    Ok(outcome) => return Some(outcome),
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => self.part = None,
                }
            }
            match self.parts.as_ref()?.recv_timeout(LOOK_EVERY) {
                Ok(part) => self.part = Some(part),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn stop(&mut self) {
        self.shared.stopped.store(true, Relaxed);
        // whoever waits for room in a channel is woken by its end
        self.parts = None;
        self.part = None;
        if self.meter.cancelled() {
            // each ends with the batch that it is at; who asked to stop does not wait for it
            self.threads.clear();
        }
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
                None if self.parts.is_some() && self.shared.format.is_widened() => {
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
            let mut failed = None;
            let mut take = |batch: RecordBatch, bytes| {
                let batch = match self.finish.batch(file, part.file, batch) {
                    Ok(batch) => batch,
                    Err(error) => {
                        failed = Some(error);
                        return false;
                    }
                };
                let decoded = Decoded { batch, file: part.file, bytes };
                out.send(Ok(decoded)).is_ok() && !self.stopped.load(Relaxed)
            };
            let outcome = file.guarded(|| self.format.decode(file, &part, &mut take));
            let outcome = failed.map_or(outcome, Err);
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
