//! Files into the pool: what `cenote put` does, for Python.

use std::path::PathBuf;
use std::time::Duration;

use cenote::{Error, IfExists};
use cenote_load::{Kind, LoadError, Meter, Options, Source, parse_schema, suggested_name};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::raise::{argument, exception};

/// How often Python is asked about signals, and told how far it is.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What is loaded, and how.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) name: String,
    pub(crate) if_exists: IfExists,
    pub(crate) wait: Duration,
    pub(crate) options: Options,
}

/// One path or several.
pub(crate) fn paths(given: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    let one = given.is_instance_of::<PyString>() || given.hasattr("__fspath__")?;
    if one {
        return Ok(vec![given.extract()?]);
    }
    let mut all = Vec::new();
    for path in given.try_iter()? {
        all.push(path?.extract()?);
    }
    Ok(all)
}

/// The name that was given, or that of the one path.
pub(crate) fn name(py: Python<'_>, given: Option<String>, paths: &[PathBuf]) -> PyResult<String> {
    let none = || argument(py, "name= is needed: several paths, and patterns, have no one name");
    given.or_else(|| suggested_name(paths)).ok_or_else(none)
}

/// `format=`.
pub(crate) fn kind(py: Python<'_>, given: Option<&str>) -> PyResult<Option<Kind>> {
    let parsed = given.map(str::parse::<Kind>).transpose();
    parsed.map_err(|error| argument(py, &format!("format={error}")))
}

/// `schema=`: types of some columns, by name.
pub(crate) fn schema(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<arrow_schema::Schema>> {
    let Some(given) = given else { return Ok(None) };
    if let Ok(text) = given.cast::<PyString>() {
        let parsed = parse_schema(text.to_str()?);
        return parsed.map(Some).map_err(|e| argument(given.py(), &format!("schema: {e}")));
    }
    crate::schema::described(given).map(|schema| Some(schema.as_ref().clone()))
}

impl Load {
    /// Loads, in a thread of its own, while this one listens to Python: Ctrl-C ends it, and
    /// `progress` is called with bytes done, bytes of all files, and rows.
    pub(crate) fn run(
        &self,
        py: Python<'_>,
        pool: &cenote::Pool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        py.check_signals()?;
        let progress = progress.map(|progress| progress.clone().unbind());
        let meter = Meter::new();
        let outcome = py.detach(|| {
            std::thread::scope(|scope| {
                let work = scope.spawn(|| self.load(pool, &meter));
                let mut stopped = None;
                while !work.is_finished() {
                    std::thread::park_timeout(LOOK_EVERY);
                    let told = Python::try_attach(|py| tell(py, &meter, progress.as_ref()));
                    if let (None, Some(Err(error))) = (&stopped, told) {
                        meter.cancel();
                        stopped = Some(error);
                    }
                }
                let outcome = work.join();
                stopped.map_or(Ok(outcome), Err)
            })
        });
        match outcome? {
            Ok(Ok(version)) => Ok(version),
            Ok(Err(error)) => Err(raised(py, error)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    fn load(&self, pool: &cenote::Pool, meter: &Meter) -> Result<u64, Fault> {
        let source = Source::begin(&self.paths, &self.options, meter)?;
        let note = self.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let writer = source.load(|schema, batches| {
            let writer = pool.writer(&self.name, schema, self.if_exists)?;
            let mut writer = writer.source(note.join(", ")).wait(self.wait);
            let batches = batches.map(|batch| batch.map_err(|e| Error::Source(Box::new(e))));
            writer.write_stream(batches)?;
            Ok::<_, Fault>(writer)
        })?;
        if meter.is_cancelled() {
            return Err(LoadError::Cancelled.into());
        }
        Ok(writer.commit()?)
    }
}

fn tell(py: Python<'_>, meter: &Meter, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        let now = meter.read();
        progress.call1(py, (now.bytes_done, now.bytes_total, now.rows_done))?;
    }
    Ok(())
}

/// Why a load failed.
#[derive(Debug)]
enum Fault {
    Load(LoadError),
    Pool(Error),
}

impl From<LoadError> for Fault {
    fn from(error: LoadError) -> Fault {
        Fault::Load(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        match error {
            Error::Source(source) => match source.downcast::<LoadError>() {
                Ok(error) => Fault::Load(*error),
                Err(source) => Fault::Pool(Error::Source(source)),
            },
            error => Fault::Pool(error),
        }
    }
}

fn raised(py: Python<'_>, fault: Fault) -> PyErr {
    let error = match fault {
        Fault::Pool(error) => return exception(py, error),
        Fault::Load(error) => error,
    };
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    match error {
        // as open() would: FileNotFoundError, PermissionError, …
        LoadError::Io { source, .. } => std::io::Error::new(source.kind(), text).into(),
        _ => argument(py, &text),
    }
}
