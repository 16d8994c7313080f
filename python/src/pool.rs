//! `cenote.Pool`.

use std::time::Duration;

use cenote::{Error, IfExists, Refusal, Selection, SessionId};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::door::{self, at_once};
use crate::feed::feed;
use crate::frame::Frame;
use crate::load::{self, Load};
use crate::raise::{Class, argument, exception, raise};
use crate::report;
use crate::selection::selection;
use crate::versions::{self, How, if_exists, which};
use crate::writer::Writer;

/// A connection to a pool; made by `cenote.connect`.
///
/// A mapping of names to frames. May be used from any thread. In a forked child it connects
/// anew when it is first needed; an embedded pool raises PoolUnavailable there.
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

    /// Refuses early what the commit would refuse after all bytes were copied.
    fn check_put(&self, py: Python<'_>, name: &str, if_exists: IfExists) -> PyResult<()> {
        at_once(py, cenote::check_name(name).map_err(Error::from))?;
        if if_exists == IfExists::Fail && self.pool.is_seen(name) {
            let refusal = Refusal::Exists { name: name.to_owned() };
            return Err(exception(py, refusal.into()));
        }
        Ok(())
    }
}

/// `timeout=`, in seconds.
fn wait(py: Python<'_>, timeout: Option<f64>) -> PyResult<Duration> {
    let seconds = timeout.unwrap_or(0.0);
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        argument(py, &format!("timeout={seconds} is not a number of seconds from 0 on"))
    })
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

    /// Puts a table in as a new version of the frame `name`; returns the version, from 1.
    ///
    /// `data`: an object with `__arrow_c_stream__` or `__arrow_c_array__` (PyArrow, Polars,
    /// DuckDB, a Frame), a pandas DataFrame, a dict of columns of one length (NumPy arrays of
    /// shape (n,), lists, Arrow arrays), or an iterator of such tables with one schema, which
    /// is read as it is written: memory stays bounded.
    ///
    /// The bytes are copied once; `data` may change afterwards. When this returns, the frame
    /// survives a kill of the daemon. When it raises, nothing is left of it.
    ///
    /// `replace`: whether the name may exist; who reads an older version goes on. `append`: adds
    /// the rows to those that the frame has; it must have the same columns, or not exist.
    /// `expect_version`: commits only if the frame stands for this version, 0 for none.
    /// `timeout`: seconds to wait for room, where there is none; not at all unless said.
    /// `source`: where the data comes from, shown by `frames()`. `note`, `inputs` (frames) and
    /// `expression` are shown by `log()`; `data` that is a Frame is an input by itself.
    /// `pickle`: columns of Python objects in a pandas DataFrame, which Arrow cannot say, are
    /// stored pickled, for `to_pandas(pickle=True)` alone; refused unless said.
    ///
    /// Raises: FrameExists, VersionConflict (another version than was expected),
    /// PoolExhausted, PoolUnavailable, ArgumentError (a ValueError: a bad name, columns of unequal length, a batch of another schema), UnsupportedType (a
    /// TypeError: what no column can hold, with its name).
    #[pyo3(signature = (name, data, *, replace=false, append=false, expect_version=None, note=None,
        inputs=None, expression=None, timeout=None, source=None, pickle=false))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's")]
    fn put(
        &self,
        py: Python<'_>,
        name: &str,
        data: &Bound<'_, PyAny>,
        replace: bool,
        append: bool,
        expect_version: Option<u64>,
        note: Option<String>,
        inputs: Option<&Bound<'_, PyAny>>,
        expression: Option<String>,
        timeout: Option<f64>,
        source: Option<String>,
        pickle: bool,
    ) -> PyResult<u64> {
        let how = How {
            if_exists: if_exists(py, replace, append, expect_version)?,
            wait: wait(py, timeout)?,
            expect: expect_version,
            source,
            note,
            expression,
            inputs: versions::inputs(inputs, Some(data))?,
        };
        if expect_version.is_none() {
            self.check_put(py, name, how.if_exists)?;
        }
        let feed = feed(data, pickle)?;
        door::call(py, || {
            let writer = self.pool.writer(name, feed.schema, how.if_exists)?;
            let mut writer = how.tell(writer);
            let expected = writer.schema().clone();
            // What is appended takes the frame's own metadata.
            let conform = |batch: Result<arrow_array::RecordBatch, Error>| {
                batch.map(|batch| batch.clone().with_schema(expected.clone()).unwrap_or(batch))
            };
            writer.write_stream(feed.batches.map(conform))?;
            writer.commit()
        })
    }

    /// Adds rows to a frame, or makes it: `put(name, data, append=True)`. Costs what is new,
    /// however much is there. Two that append at once both do; nothing is lost.
    ///
    /// Raises: ArgumentError: other columns than the frame's, with the first that differs; else
    /// as `put`.
    #[pyo3(signature = (name, data, *, expect_version=None, note=None, inputs=None,
        expression=None, timeout=None, source=None, pickle=false))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's")]
    fn append(
        &self,
        py: Python<'_>,
        name: &str,
        data: &Bound<'_, PyAny>,
        expect_version: Option<u64>,
        note: Option<String>,
        inputs: Option<&Bound<'_, PyAny>>,
        expression: Option<String>,
        timeout: Option<f64>,
        source: Option<String>,
        pickle: bool,
    ) -> PyResult<u64> {
        let (replace, append) = (false, true);
        self.put(
            py,
            name,
            data,
            replace,
            append,
            expect_version,
            note,
            inputs,
            expression,
            timeout,
            source,
            pickle,
        )
    }

    /// Loads files as a new version of the frame `name`; returns the version, from 1.
    ///
    /// `paths`: a path or several: files, folders, patterns (`"ticks/**/*.csv"`); Parquet, CSV,
    /// JSON lines or Arrow IPC, plain or in gzip, zstd, bzip2, xz or zip. Types of CSV and JSON
    /// are decided by all values. Folders called `key=value` are columns, unless `hive=False`.
    /// `name`: that of the one file or folder, unless given.
    ///
    /// `format`: "csv", "parquet", "json" or "arrow", whatever the files look like.
    /// `schema`: types of columns of CSV or JSON by name: `{"cusip": "str"}`, a PyArrow schema,
    /// or `"cusip:utf8,at:timestamp[ns, UTC]"`. `columns`: only these, in this order.
    /// `evolve`: Parquet and Arrow files may lack columns and have narrower types.
    /// `delimiter`, `header`, `null_values`: of CSV. `progress`: called up to 100 times a second
    /// with bytes done, bytes of all files, and rows. The others are those of `put`.
    ///
    /// Nothing is seen of the frame before it is whole; Ctrl-C leaves nothing.
    ///
    /// Raises: OSError (FileNotFoundError, …), ArgumentError (a ValueError that says which file,
    /// line and column), and what `put` raises.
    #[pyo3(signature = (
        paths, name=None, *, replace=false, append=false, timeout=None, format=None, schema=None, columns=None,
        evolve=false, hive=true, delimiter=None, header=true, null_values=None, progress=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's")]
    fn load(
        &self,
        py: Python<'_>,
        paths: &Bound<'_, PyAny>,
        name: Option<String>,
        replace: bool,
        append: bool,
        timeout: Option<f64>,
        format: Option<&str>,
        schema: Option<&Bound<'_, PyAny>>,
        columns: Option<Vec<String>>,
        evolve: bool,
        hive: bool,
        delimiter: Option<char>,
        header: bool,
        null_values: Option<Vec<String>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let (if_exists, wait) = (if_exists(py, replace, append, None)?, wait(py, timeout)?);
        let paths = load::paths(paths)?;
        let name = load::name(py, name, &paths)?;
        self.check_put(py, &name, if_exists)?;
        let delimiter = delimiter.map(u8::try_from).transpose();
        let delimiter =
            delimiter.map_err(|_| argument(py, "delimiter= takes one character of one byte"))?;
        let options = cenote_load::Options {
            format: load::kind(py, format)?,
            schema: load::schema(schema)?,
            columns,
            evolve,
            hive,
            delimiter,
            header,
            null_values: null_values.unwrap_or_default(),
            ..cenote_load::Options::default()
        };
        Load { paths, name, if_exists, wait, options }.run(py, &self.pool, progress)
    }

    /// A writer that builds a version of `name` step by step, in place if wanted.
    ///
    /// `schema`: an object with `__arrow_c_schema__` (pyarrow.Schema), or a dict of column
    /// names and NumPy types, as in `{"time": "datetime64[ns]", "price": "float64"}`.
    /// The other arguments and errors are those of `put`.
    #[pyo3(signature = (name, schema, *, replace=false, append=false, expect_version=None,
        note=None, inputs=None, expression=None, timeout=None, source=None))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's")]
    fn writer(
        &self,
        py: Python<'_>,
        name: &str,
        schema: &Bound<'_, PyAny>,
        replace: bool,
        append: bool,
        expect_version: Option<u64>,
        note: Option<String>,
        inputs: Option<&Bound<'_, PyAny>>,
        expression: Option<String>,
        timeout: Option<f64>,
        source: Option<String>,
    ) -> PyResult<Writer> {
        let how = How {
            if_exists: if_exists(py, replace, append, expect_version)?,
            wait: wait(py, timeout)?,
            expect: expect_version,
            source,
            note,
            expression,
            inputs: versions::inputs(inputs, None)?,
        };
        if expect_version.is_none() {
            self.check_put(py, name, how.if_exists)?;
        }
        let schema = crate::schema::described(schema)?;
        let writer = door::call(py, || self.pool.writer(name, schema, how.if_exists))?;
        Ok(Writer::new(how.tell(writer), name))
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

    /// The versions of a frame that can be had, oldest first, as dicts: those of `log`.
    ///
    /// Raises: FrameNotFound.
    #[pyo3(signature = (name, /))]
    fn versions<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for info in &door::call(py, || self.pool.versions(name))? {
            list.append(versions::version(py, info)?)?;
        }
        Ok(list)
    }

    /// What is known of a frame's versions, oldest first, as dicts: version, state ("current",
    /// "kept", "gone": only this is left; "lost"), tags, num_rows, num_columns, nbytes (0 if
    /// gone), created_ns (since 1970), source, and what made it: append (rows were added),
    /// command, user, host, pid, files (path, bytes, modified_ns, checksum), expression,
    /// inputs (name, version), note. Of those that are gone the last 32.
    ///
    /// Raises: FrameNotFound.
    #[pyo3(signature = (name, /))]
    fn log<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for info in &door::call(py, || self.pool.log(name))?.versions {
            list.append(versions::version(py, info)?)?;
        }
        Ok(list)
    }

    /// Sets which versions of a frame are kept: the newest `versions`, the current one
    /// included, and those that were current in the last `days`; and always those with a tag.
    /// One version, the current one, is kept unless said. Others go at once.
    ///
    /// Raises: FrameNotFound, ArgumentError.
    #[pyo3(signature = (name, /, versions=None, *, days=None))]
    fn keep(
        &self,
        py: Python<'_>,
        name: &str,
        versions: Option<u32>,
        days: Option<f64>,
    ) -> PyResult<()> {
        if versions.is_none() && days.is_none() || versions == Some(0) {
            return Err(argument(py, "keep takes versions=, from 1 on, or days=, or both"));
        }
        let seconds = days.map(|days| Duration::try_from_secs_f64(days * 86_400.0));
        let seconds = seconds.transpose().map_err(|_| argument(py, "days= is not from 0 on"))?;
        let seconds = seconds.map(|seconds| seconds.as_secs());
        let keep = cenote::Keep { versions: versions.unwrap_or(1), seconds };
        door::call(py, || self.pool.keep(name, keep))
    }

    /// Gives a version the tag, the current one unless said, and returns its number. It is kept
    /// as long as it has one. If another version had the tag, it has it no more.
    ///
    /// Raises: FrameNotFound, VersionNotFound, ArgumentError (the tag is no name).
    #[pyo3(signature = (name, tag, /, version=None))]
    fn tag(&self, py: Python<'_>, name: &str, tag: &str, version: Option<u64>) -> PyResult<u64> {
        door::call(py, || self.pool.tag(name, tag, version))
    }

    /// Takes a tag away. Its version goes if nothing else keeps it.
    ///
    /// Raises: FrameNotFound, VersionNotFound: no such tag.
    #[pyo3(signature = (name, tag, /))]
    fn untag(&self, py: Python<'_>, name: &str, tag: &str) -> PyResult<()> {
        door::call(py, || self.pool.untag(name, tag))
    }

    /// In what two versions of a frame differ, as a dict: from and to (version, num_rows,
    /// nbytes, num_partitions, created_ns), shared_bytes (of chunks that both have), columns
    /// (name, from, to: their types, None where it is not there), is_reordered.
    ///
    /// `a`, `b`: version numbers or tags. Raises: FrameNotFound, VersionNotFound.
    #[pyo3(signature = (name, a, b, /))]
    fn diff<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (a, b) = (versions::named(a)?, versions::named(b)?);
        let diff = door::call(py, || self.pool.diff(name, a, b))?;
        versions::diff(py, &diff)
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
