//! `cenote.Pool`.

use cenote::{Error, Refusal, Selection, SessionId};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use crate::door::{self, at_once};
use crate::frame::Frame;
use crate::raise::{Class, exception, raise};
use crate::report;
use crate::selection::selection;
use crate::versions::which;

/// A connection to a pool; made by `cenote.connect`.
///
/// A mapping of names to frames. May be used from any thread. In a forked child it connects
/// anew when it is first needed; an embedded pool raises PoolUnavailable there.
// Its other methods are in put.rs, load.rs and versions.rs.
#[pyclass(frozen, mapping, weakref, module = "cenote")]
#[derive(Debug)]
pub(crate) struct Pool {
    pool: cenote::Pool,
    embedded: bool,
}

impl Pool {
    pub(crate) fn new(pool: cenote::Pool, embedded: bool) -> Pool {
        Pool { pool, embedded }
    }

    pub(crate) fn inner(&self) -> &cenote::Pool {
        &self.pool
    }

    /// The current version of a name. First without a word to the daemon, which is the rule,
    /// and then without Python's lock.
    fn open(&self, py: Python<'_>, name: &str, selection: Selection) -> PyResult<Frame> {
        if let Some(frame) = at_once(py, self.pool.get_at_once(name, &selection))? {
            return Ok(Frame::new(frame));
        }
        let frame = door::call(py, || {
            cenote::check_name(name)?;
            self.pool.get_selected(name, &selection)
        });
        frame.map(Frame::new).map_err(|error| {
            // A name that no frame can have is not there: as a key, it is missing.
            if error.is_instance_of::<pyo3::exceptions::PyValueError>(py)
                && cenote::check_name(name).is_err()
            {
                return raise(py, Class::FrameNotFound, &error.value(py).to_string());
            }
            error
        })
    }

    fn contains(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let outcome = py.detach(|| self.pool.get(name).map(drop));
        match outcome {
            Ok(()) => Ok(true),
            Err(Error::Refused(Refusal::NotFound { .. } | Refusal::Name { .. })) => Ok(false),
            Err(error) => Err(exception(py, error)),
        }
    }

    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let frames = door::call(py, || self.pool.frames())?;
        Ok(frames.into_iter().map(|frame| frame.name).collect())
    }
}

#[pymethods]
impl Pool {
    /// Where the pool lives: the directory that `connect` takes as an address.
    #[getter]
    fn address(&self) -> std::path::PathBuf {
        self.pool.dir().path().to_owned()
    }

    /// Whether the pool is this process's alone.
    #[getter]
    fn embedded(&self) -> bool {
        self.embedded
    }

    /// The current version of the frame `name`, or another one; or some of its columns and rows.
    ///
    /// `version`: its number. `as_of`: the version that was current then: a datetime (local
    /// time where it has no zone), a pandas Timestamp, ISO text (UTC where it has none) or
    /// nanoseconds since 1970. `tag`: the one with this tag. Only kept versions can be had.
    /// `columns`: a name or a list of names, in the order wanted. `rows`: (start, stop), a
    /// slice or a range of step 1; may end beyond the last row. Only the chunks that are
    /// needed are leased. No copy, and no message to the daemon.
    ///
    /// `where`: of these rows, only those for which it is true, as in
    /// `"date >= '2017-01-01' and symbol in ('A', 'B')"`. Comparisons, `between`, `in`, `like`,
    /// `is null`, `and`, `or`, `not`; columns with odd names in double quotes; text, dates and
    /// times in single quotes. As in SQL, what compares with null is not true; NaN is unequal
    /// to everything. The frame's rows are found and counted here: statistics leave out
    /// partitions without a look at them, the others' columns in `where` are read. Rows without
    /// gaps are read in place, others are copied when they are asked for.
    ///
    /// Unlike a dict's, this `get` raises where there is no frame.
    ///
    /// Raises: FrameNotFound, VersionNotFound (a FrameNotFound), ColumnNotFound, ArgumentError
    /// (rows, where), FrameDamaged, PoolUnavailable.
    #[pyo3(signature = (name, /, *, version=None, as_of=None, tag=None, columns=None, rows=None,
        r#where=None))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's")]
    fn get(
        &self,
        py: Python<'_>,
        name: &str,
        version: Option<u64>,
        as_of: Option<&Bound<'_, PyAny>>,
        tag: Option<String>,
        columns: Option<&Bound<'_, PyAny>>,
        rows: Option<&Bound<'_, PyAny>>,
        r#where: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Frame> {
        let which = which(py, version, as_of, tag)?;
        self.open(py, name, Selection { which, ..selection(columns, rows, r#where)? })
    }

    /// Drops a frame with all its versions, or one `version` that is neither the current one
    /// nor has a tag. Who reads it goes on; its space is free when nobody does.
    ///
    /// Raises: FrameNotFound, VersionNotFound, ArgumentError (the version is needed).
    #[pyo3(signature = (name, /, *, version=None))]
    fn drop(&self, py: Python<'_>, name: &str, version: Option<u64>) -> PyResult<()> {
        door::call(py, || match version {
            Some(version) => self.pool.drop_version(name, version),
            None => self.pool.drop_frame(name),
        })
    }

    /// Gives a frame another name.
    ///
    /// Raises: FrameNotFound, FrameExists, ArgumentError (a bad name).
    #[pyo3(signature = (old, new, /))]
    fn rename(&self, py: Python<'_>, old: &str, new: &str) -> PyResult<()> {
        let outcome = door::call(py, || {
            cenote::check_name(new)?;
            self.pool.rename(old, new)
        });
        outcome.map_err(|error| {
            if error.get_type(py).name().is_ok_and(|name| name == "FrameExists") {
                let text = format!("frame {new:?} exists; drop it first, or choose another name");
                return raise(py, Class::FrameExists, &text);
            }
            error
        })
    }

    /// All frames by name, as dicts: name, version, num_rows, num_columns, nbytes (of the
    /// chunks), created_ns (since 1970), source, uses (gets since the daemon began; a lower
    /// bound).
    fn frames<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for info in &door::call(py, || self.pool.frames())? {
            list.append(report::frame(py, info)?)?;
        }
        Ok(list)
    }

    /// The state of the pool as a dict, which prints as a table; sizes in bytes.
    ///
    /// `used` is what its files take by the file system: `sealed` (live frames),
    /// `retired_held` (replaced or dropped, still read), `open` (being written), `ready`
    /// (allocated ahead), `metadata`, and `leaked`, which is 0 or a fault.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let info = report::pool(py, &door::call(py, || self.pool.info())?)?;
        py.import("cenote._show")?.getattr("Info")?.call1((info,))
    }

    /// The pool's clients and what each reads, as dicts: session, pid, command, age_s,
    /// connected, quarantined, stopped, open (bytes it may write), leases (name, version,
    /// current, chunks, nbytes).
    fn leases<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for info in &door::call(py, || self.pool.leases())? {
            list.append(report::session(py, info)?)?;
        }
        Ok(list)
    }

    /// Ends the process of a client, by its `session` in `leases()`, and with it what it
    /// holds.
    ///
    /// Raises: ArgumentError: no such client.
    #[pyo3(signature = (session, /))]
    fn evict(&self, py: Python<'_>, session: u64) -> PyResult<()> {
        door::call(py, || self.pool.evict(SessionId(session)))
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Frame> {
        self.open(py, name, Selection::default())
    }

    fn __contains__(&self, py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        match name.cast::<PyString>().map(|name| name.to_str()) {
            Ok(Ok(name)) => self.contains(py, name),
            // Not text, or text that is no Unicode: no frame has such a name.
            _ => Ok(false),
        }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let info = door::call(py, || self.pool.info())?;
        Ok(usize::try_from(info.frames).unwrap_or(usize::MAX))
    }

    fn __bool__(&self) -> bool {
        // A connection is there, however many frames the pool has.
        true
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        PyList::new(py, self.names(py)?)?.call_method0("__iter__")
    }

    /// The names of the frames, as a set-like view.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, "KeysView")
    }

    /// (name, frame) pairs, as a view. Each frame is leased when it is come to.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, "ItemsView")
    }

    /// The frames, as a view. Each is leased when it is come to.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, "ValuesView")
    }

    /// In another process a pickled pool is a connection of that process.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let connect = py.import("cenote._reference")?.getattr("open_pool")?;
        let path = self.pool.dir().path().to_owned();
        (connect, (path.into_os_string(), self.embedded)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        let path = self.pool.dir().path().display().to_string();
        if self.embedded {
            format!("<cenote.Pool embedded in {path}>")
        } else {
            format!("<cenote.Pool {path}>")
        }
    }

    /// What a notebook shows: the frames.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("cenote._show")?.getattr("pool_html")?.call1((slf,))
    }
}

fn view<'py>(pool: &Bound<'py, Pool>, class: &str) -> PyResult<Bound<'py, PyAny>> {
    pool.py().import("collections.abc")?.getattr(class)?.call1((pool,))
}
