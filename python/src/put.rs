//! `Pool.put`, `append` and `writer`: tables into the pool.

use std::time::Duration;

use cenote::{Error, IfExists, Refusal};
use pyo3::prelude::*;

use crate::door::{self, at_once};
use crate::feed::feed;
use crate::pool::Pool;
use crate::raise::{argument, exception};
use crate::versions::{self, How, if_exists};
use crate::writer::Writer;

/// `timeout=`, in seconds.
pub(crate) fn wait(py: Python<'_>, timeout: Option<f64>) -> PyResult<Duration> {
    let seconds = timeout.unwrap_or(0.0);
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        argument(py, &format!("timeout={seconds} is not a number of seconds from 0 on"))
    })
}

impl Pool {
    /// Refuses early what the commit would refuse after all bytes were copied.
    pub(crate) fn check_put(
        &self,
        py: Python<'_>,
        name: &str,
        if_exists: IfExists,
    ) -> PyResult<()> {
        at_once(py, cenote::check_name(name).map_err(Error::from))?;
        if if_exists == IfExists::Fail && self.inner().is_seen(name) {
            let refusal = Refusal::Exists { name: name.to_owned() };
            return Err(exception(py, refusal.into()));
        }
        Ok(())
    }
}

#[pymethods]
impl Pool {
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
    /// PoolExhausted, PoolUnavailable, ArgumentError (a ValueError: a bad name, columns of
    /// unequal length, a batch of another schema), UnsupportedType (a TypeError: what no column
    /// can hold, with its name).
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
            let writer = self.inner().writer(name, feed.schema, how.if_exists)?;
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
        let writer = door::call(py, || self.inner().writer(name, schema, how.if_exists))?;
        Ok(Writer::new(how.tell(writer), name))
    }
}
