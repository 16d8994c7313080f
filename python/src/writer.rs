//! `cenote.Writer`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::SchemaRef;
use cenote::{Error, FrameWriter};
use pyo3::exceptions::{PyBufferError, PyOverflowError};
use pyo3::prelude::*;

use crate::door;
use crate::feed::feed;
use crate::part::{Open, Partition, Views};
use crate::raise::{argument, exception};
use crate::schema::Schema;

/// Builds one version of a frame, step by step; made by `Pool.writer`.
///
/// Nobody sees anything of it before `commit`. In a `with` block the end of the block
/// commits, unless that was done, and an exception leaves nothing behind:
///
/// ```python
/// with pool.writer("prices", {"close": "float64"}) as writer:
///     rows = writer.allocate(1_000)
///     rows["close"][:] = 1.0
/// ```
#[pyclass(frozen, module = "cenote")]
#[derive(Debug)]
pub(crate) struct Writer {
    name: String,
    schema: SchemaRef,
    views: Arc<Views>,
    /// Buffers of other libraries that stood at odd addresses.
    moved: AtomicU64,
    /// Buffers that were laid out anew.
    laid: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    stage: Stage,
    /// Partitions that are filled in place and not sealed yet, in order.
    open: Vec<Arc<Open>>,
}

#[derive(Debug)]
enum Stage {
    Ready(Box<FrameWriter>),
    /// A call is at work, outside Python's lock.
    Busy,
    Committed(u64),
    Aborted,
}

impl Writer {
    pub(crate) fn new(writer: FrameWriter, name: &str) -> Writer {
        let schema = writer.schema().clone();
        let state = State { stage: Stage::Ready(Box::new(writer)), open: Vec::new() };
        Writer {
            name: name.to_owned(),
            schema,
            views: Arc::default(),
            moved: AtomicU64::new(0),
            laid: AtomicU64::new(0),
            state: Mutex::new(state),
        }
    }

    /// Held for a few instructions, and never while Python runs.
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the writer out for one call.
    fn take(&self, py: Python<'_>) -> PyResult<(FrameWriter, Vec<Arc<Open>>)> {
        let mut state = self.state();
        match std::mem::replace(&mut state.stage, Stage::Busy) {
            Stage::Ready(writer) => Ok((*writer, std::mem::take(&mut state.open))),
            other => {
                let busy = matches!(other, Stage::Busy);
                state.stage = other;
                drop(state);
                if busy {
                    return Err(argument(py, "another call of this writer is at work"));
                }
                Err(exception(py, Error::Ended(self.name.clone())))
            }
        }
    }

    fn put_back(&self, writer: FrameWriter, open: Vec<Arc<Open>>) {
        let mut state = self.state();
        state.open = open;
        state.stage = Stage::Ready(Box::new(writer));
    }

    /// Ends without a commit.
    fn abandon(&self, py: Python<'_>, writer: FrameWriter, open: &[Arc<Open>]) {
        for part in open {
            part.give_up();
        }
        self.views.end(py, writer);
        self.state().stage = Stage::Aborted;
    }

    /// Does one call's work on the writer. An error ends the writer: what it has written may
    /// be half a step.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut FrameWriter) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let (mut writer, open) = self.take(py)?;
        match door::call(py, || work(&mut writer)) {
            Ok(value) => {
                self.put_back(writer, open);
                Ok(value)
            }
            Err(error) => {
                self.abandon(py, writer, &open);
                Err(error)
            }
        }
    }

    /// Seals what was filled in place.
    fn seal(&self, py: Python<'_>) -> PyResult<()> {
        let (writer, open) = self.take(py)?;
        for part in &open {
            if let Err(names) = part.close() {
                let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
                let text = format!(
                    "arrays or memoryviews of {} are still there; let go of them (del) first: \
                     what is sealed never changes",
                    names.join(", ")
                );
                self.put_back(writer, open);
                return Err(PyBufferError::new_err(text));
            }
        }
        self.put_back(writer, Vec::new());
        self.with(py, |writer| open.iter().try_for_each(|part| writer.seal(&part.part)))
    }
}

#[pymethods]
impl Writer {
    /// The frame's name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The frame's schema.
    #[getter]
    fn schema(&self) -> Schema {
        Schema(self.schema.clone())
    }

    /// The version that `commit` made; None before.
    #[getter]
    fn version(&self) -> Option<u64> {
        match self.state().stage {
            Stage::Committed(version) => Some(version),
            _ => None,
        }
    }

    /// Buffers that `write` could not copy as they were: parts of bitmaps that start within a
    /// byte, offsets that do not start at zero, values at odd addresses. Costs time, not
    /// correctness; whole arrays at addresses of their width have none.
    #[getter]
    fn realigned(&self) -> u64 {
        self.moved.load(Ordering::Relaxed) + self.laid.load(Ordering::Relaxed)
    }

    /// Adds a table: a batch, a table, a DataFrame, a dict of columns, an iterator of such,
    /// as `Pool.put` takes it. Copied once.
    ///
    /// Partitions that were filled in place before are sealed first.
    ///
    /// Raises: ArgumentError: another schema; as `Pool.put`. The writer has ended then.
    /// BufferError: views are still there; then it goes on.
    #[pyo3(signature = (data, /))]
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let feed = feed(data, false)?;
        self.seal(py)?;
        let expected = &self.schema;
        self.with(py, |writer| {
            let conform = |batch: Result<arrow_array::RecordBatch, Error>| {
                let batch = batch?;
                // Metadata is the frame's own. Where the columns differ, the writer says how.
                Ok::<_, Error>(batch.clone().with_schema(expected.clone()).unwrap_or(batch))
            };
            writer.write_stream(feed.batches.map(conform))?;
            self.moved.fetch_add(feed.realigned.load(Ordering::Relaxed), Ordering::Relaxed);
            self.laid.store(writer.realigned(), Ordering::Relaxed);
            Ok(())
        })
    }

    /// Room for `num_rows` rows, to be filled in place: a mapping of column names to writable
    /// arrays of shape (num_rows,), zero at first. Sealed by `commit`, or the next `write`.
    ///
    /// For numbers and times; there are no missing values in it.
    ///
    /// Raises: ArgumentError: a column of another type, no number of rows; PoolExhausted.
    #[pyo3(signature = (num_rows, /))]
    fn allocate(&self, py: Python<'_>, num_rows: &Bound<'_, PyAny>) -> PyResult<Partition> {
        let rows = num_rows.extract::<i64>().map(u64::try_from);
        let rows = match rows {
            Ok(Ok(rows)) => rows,
            Err(error) if !error.is_instance_of::<PyOverflowError>(py) => return Err(error),
            _ => {
                let text =
                    format!("cannot allocate {num_rows} rows: 0 to 2**63 - 1 can be asked for");
                return Err(argument(py, &text));
            }
        };
        let part = self.with(py, |writer| writer.allocate(rows))?;
        let open = Arc::new(Open::new(part, self.schema.clone(), self.views.clone()));
        self.state().open.push(open.clone());
        Ok(Partition { open })
    }

    /// Gives the version its name; returns its number. It survives a kill of the daemon then.
    ///
    /// Raises: BufferError, with the columns of which views are still there; FrameExists;
    /// PoolUnavailable.
    fn commit(&self, py: Python<'_>) -> PyResult<u64> {
        self.seal(py)?;
        let (writer, open) = self.take(py)?;
        match door::call(py, || writer.commit()) {
            Ok(version) => {
                self.state().stage = Stage::Committed(version);
                Ok(version)
            }
            Err(error) => {
                for part in open {
                    part.give_up();
                }
                self.state().stage = Stage::Aborted;
                Err(error)
            }
        }
    }

    /// Ends without a commit. Nothing is left. Does nothing where the writer has ended.
    fn abort(&self, py: Python<'_>) {
        if let Ok((writer, open)) = self.take(py) {
            self.abandon(py, writer, &open);
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind, value, traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let _ = (value, traceback);
        let ready = matches!(self.state().stage, Stage::Ready(_));
        if !kind.is_none() || !ready {
            self.abort(py);
            return Ok(false);
        }
        if let Err(error) = self.commit(py) {
            self.abort(py);
            return Err(error);
        }
        Ok(false)
    }

    fn __repr__(&self) -> String {
        let state = self.state();
        let stage = match &state.stage {
            Stage::Ready(writer) => format!("{} rows so far", writer.num_rows()),
            Stage::Busy => "at work".to_owned(),
            Stage::Committed(version) => format!("committed as version {version}"),
            Stage::Aborted => "ended without a commit".to_owned(),
        };
        format!("<cenote.Writer {:?}: {stage}>", self.name)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let (stage, open) = (std::mem::replace(&mut state.stage, Stage::Aborted), &state.open);
        if let Stage::Ready(writer) = stage {
            for part in open {
                part.give_up();
            }
            Python::attach(|py| self.views.end(py, *writer));
        }
    }
}
