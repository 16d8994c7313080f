//! Versions: which one is meant, what is said of each, what a put adds to it; and the methods of
//! `Pool` that are about them.

use std::time::Duration;

use cenote::{
    ColumnChange, Diff, FrameWriter, IfExists, Input, Side, Summary, Value, VersionInfo,
    VersionState, Which,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::door;
use crate::frame::Frame;
use crate::pool::Pool;
use crate::raise::argument;

/// How a version is to be written, as `put` and `writer` are told.
#[derive(Debug)]
pub(crate) struct How {
    pub(crate) if_exists: IfExists,
    pub(crate) wait: Duration,
    pub(crate) expect: Option<u64>,
    pub(crate) source: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) expression: Option<String>,
    pub(crate) inputs: Vec<Input>,
}

impl How {
    /// Tells the writer.
    pub(crate) fn tell(self, writer: FrameWriter) -> FrameWriter {
        let mut writer = writer.wait(self.wait).source(self.source.unwrap_or_default());
        if let Some(version) = self.expect {
            writer = writer.expect_version(version);
        }
        let made = writer.made();
        made.note = self.note.unwrap_or_default();
        made.expression = self.expression.unwrap_or_default();
        made.inputs = self.inputs;
        writer
    }
}

/// `replace=`, `append=` and `expect_version=`.
pub(crate) fn if_exists(
    py: Python<'_>,
    replace: bool,
    append: bool,
    expect: Option<u64>,
) -> PyResult<IfExists> {
    match (replace, append) {
        (true, true) => Err(argument(py, "replace=True and append=True contradict each other")),
        (false, true) => Ok(IfExists::Append),
        (true, false) => Ok(IfExists::Replace),
        // Whoever names the version that is there means to put the next one.
        (false, false) if expect.is_some_and(|version| version > 0) => Ok(IfExists::Replace),
        (false, false) => Ok(IfExists::Fail),
    }
}

/// `inputs=`: frames; and `data`, where it is one.
pub(crate) fn inputs(
    inputs: Option<&Bound<'_, PyAny>>,
    data: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Input>> {
    let mut found = Vec::new();
    let of = |frame: &Frame| Input {
        name: frame.inner().name().to_owned(),
        version: frame.inner().version(),
    };
    if let Some(inputs) = inputs {
        if let Ok(frame) = inputs.cast::<Frame>() {
            found.push(of(frame.get()));
        } else {
            for input in inputs.try_iter()? {
                let input = input?;
                let frame = input.cast::<Frame>().map_err(|_| {
                    argument(inputs.py(), "inputs= takes the frames that the data was made from")
                })?;
                found.push(of(frame.get()));
            }
        }
    }
    if let Some(Ok(frame)) = data.map(|data| data.cast::<Frame>()) {
        found.push(of(frame.get()));
    }
    found.dedup();
    Ok(found)
}

/// `version=`, `as_of=` and `tag=`.
pub(crate) fn which(
    py: Python<'_>,
    version: Option<u64>,
    as_of: Option<&Bound<'_, PyAny>>,
    tag: Option<String>,
) -> PyResult<Which> {
    match (version, as_of, tag) {
        (None, None, None) => Ok(Which::Current),
        (Some(version), None, None) => Ok(Which::Version(version)),
        (None, None, Some(tag)) => Ok(Which::Tag(tag)),
        (None, Some(moment), None) => {
            let nanoseconds = py.import("cenote._moment")?.getattr("nanoseconds")?;
            Ok(Which::AsOf(nanoseconds.call1((moment,))?.extract()?))
        }
        _ => Err(argument(py, "version=, as_of= and tag= each name a version: give one of them")),
    }
}

/// A version by its number or its tag.
pub(crate) fn named(version: &Bound<'_, PyAny>) -> PyResult<Which> {
    if let Ok(tag) = version.extract::<String>() {
        return Ok(Which::Tag(tag));
    }
    let number = version.extract::<u64>();
    number.map(Which::Version).map_err(|_| {
        argument(version.py(), "a version is named by its number, from 1 on, or by its tag")
    })
}

/// A version, as `versions()` and `log()` say it.
pub(crate) fn version<'py>(py: Python<'py>, info: &VersionInfo) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("version", info.version)?;
    let state = match info.state {
        VersionState::Current => "current",
        VersionState::Kept => "kept",
        VersionState::Gone => "gone",
        VersionState::Lost => "lost",
    };
    dict.set_item("state", state)?;
    dict.set_item("tags", &info.tags)?;
    dict.set_item("num_rows", info.num_rows)?;
    dict.set_item("num_columns", info.num_columns)?;
    dict.set_item("nbytes", info.nbytes)?;
    dict.set_item("created_ns", info.created_ns)?;
    dict.set_item("source", &info.source)?;
    let made = &info.made;
    dict.set_item("append", made.append)?;
    dict.set_item("command", &made.command)?;
    dict.set_item("user", &made.user)?;
    dict.set_item("host", &made.host)?;
    dict.set_item("pid", made.pid)?;
    dict.set_item("note", &made.note)?;
    dict.set_item("expression", &made.expression)?;
    let inputs = PyList::empty(py);
    for input in &made.inputs {
        let entry = PyDict::new(py);
        entry.set_item("name", &input.name)?;
        entry.set_item("version", input.version)?;
        inputs.append(entry)?;
    }
    dict.set_item("inputs", inputs)?;
    let files = PyList::empty(py);
    for file in &made.files {
        let entry = PyDict::new(py);
        entry.set_item("path", &file.path)?;
        entry.set_item("bytes", file.bytes)?;
        entry.set_item("modified_ns", file.modified_ns)?;
        entry.set_item("checksum", file.checksum)?;
        files.append(entry)?;
    }
    dict.set_item("files", files)?;
    Ok(dict)
}

/// A diff, as `diff()` says it.
pub(crate) fn diff<'py>(py: Python<'py>, diff: &Diff) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &diff.name)?;
    dict.set_item("from", side(py, &diff.from)?)?;
    dict.set_item("to", side(py, &diff.to)?)?;
    dict.set_item("shared_bytes", diff.shared_bytes)?;
    dict.set_item("is_reordered", diff.is_reordered)?;
    let columns = PyList::empty(py);
    for ColumnChange { name, from, to } in &diff.columns {
        let entry = PyDict::new(py);
        entry.set_item("name", name)?;
        let text = |what: &Option<(_, bool)>| {
            what.as_ref()
                .map(|(kind, null)| format!("{kind}{}", if *null { "" } else { " not null" }))
        };
        entry.set_item("from", text(from))?;
        entry.set_item("to", text(to))?;
        columns.append(entry)?;
    }
    dict.set_item("columns", columns)?;
    let statistics = PyList::empty(py);
    for column in &diff.statistics {
        let entry = PyDict::new(py);
        entry.set_item("name", &column.name)?;
        for (key, summary) in [("from", &column.from), ("to", &column.to)] {
            entry.set_item(key, summary.as_ref().map(|s| self::summary(py, s)).transpose()?)?;
        }
        statistics.append(entry)?;
    }
    dict.set_item("statistics", statistics)?;
    Ok(dict)
}

/// What is known of a column's values.
fn summary<'py>(py: Python<'py>, summary: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("nulls", summary.nulls)?;
    dict.set_item("has_nan", summary.has_nan)?;
    for (key, limit) in [("min", &summary.min), ("max", &summary.max)] {
        match limit.as_ref().map(|limit| &limit.value) {
            None => dict.set_item(key, py.None())?,
            Some(Value::Boolean(value)) => dict.set_item(key, value)?,
            Some(Value::Integer(value)) => dict.set_item(key, value)?,
            Some(Value::Float(value)) => dict.set_item(key, value)?,
            Some(Value::Bytes(value)) => dict.set_item(key, PyBytes::new(py, value))?,
            Some(other) => dict.set_item(key, other.to_string())?,
        }
        let is_exact = limit.as_ref().is_some_and(|limit| limit.is_exact);
        dict.set_item(format!("{key}_is_exact"), is_exact)?;
    }
    Ok(dict)
}

fn side<'py>(py: Python<'py>, side: &Side) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("version", side.version)?;
    dict.set_item("num_rows", side.num_rows)?;
    dict.set_item("nbytes", side.nbytes)?;
    dict.set_item("num_partitions", side.num_partitions)?;
    dict.set_item("created_ns", side.created_ns)?;
    Ok(dict)
}

#[pymethods]
impl Pool {
    /// The versions of a frame that can be had, oldest first, as dicts: those of `log`.
    ///
    /// Raises: FrameNotFound.
    #[pyo3(signature = (name, /))]
    fn versions<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for info in &door::call(py, || self.inner().versions(name))? {
            list.append(version(py, info)?)?;
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
        for info in &door::call(py, || self.inner().log(name))?.versions {
            list.append(version(py, info)?)?;
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
        door::call(py, || self.inner().keep(name, keep))
    }

    /// Gives a version the tag, the current one unless said, and returns its number. It is kept
    /// as long as it has one. If another version had the tag, it has it no more.
    ///
    /// Raises: FrameNotFound, VersionNotFound, ArgumentError (the tag is no name).
    #[pyo3(signature = (name, tag, /, version=None))]
    fn tag(&self, py: Python<'_>, name: &str, tag: &str, version: Option<u64>) -> PyResult<u64> {
        door::call(py, || self.inner().tag(name, tag, version))
    }

    /// Takes a tag away. Its version goes if nothing else keeps it.
    ///
    /// Raises: FrameNotFound, VersionNotFound: no such tag.
    #[pyo3(signature = (name, tag, /))]
    fn untag(&self, py: Python<'_>, name: &str, tag: &str) -> PyResult<()> {
        door::call(py, || self.inner().untag(name, tag))
    }

    /// In what two versions of a frame differ, as a dict: from and to (version, num_rows,
    /// nbytes, num_partitions, created_ns), shared_bytes (of chunks that both have), columns
    /// (name, from, to: their types, None where it is not there), is_reordered, and statistics
    /// (name, from, to: nulls, has_nan, min, max, and whether these are whole or were cut short:
    /// min_is_exact, max_is_exact). Dates, times and decimals are text there. Reads no data.
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
        let (a, b) = (named(a)?, named(b)?);
        diff(py, &door::call(py, || self.inner().diff(name, a, b))?)
    }
}
