//! Files into the pool: what `cenote put` does, for Python.

use std::ffi::CString;
use std::path::PathBuf;
use std::time::Duration;

use cenote::{Error, FrameWriter, IfExists, SourceFile};
use cenote_load::{
    Checksums, CsvOptions, InputFile, Kind, LoadError, Meter, Options, Source, parse_schema,
    suggested_name,
};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::door;
use crate::pool::Pool;
use crate::put::wait;
use crate::raise::{argument, exception};
use crate::versions::if_exists;

/// How often Python is asked about signals, and told how far it is.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What is loaded, and how.
#[derive(Debug)]
struct Load {
    paths: Vec<PathBuf>,
    name: String,
    if_exists: IfExists,
    expect_version: Option<u64>,
    note: Option<String>,
    checksum: bool,
    wait: Duration,
    options: Options,
}

/// One path or several.
fn paths(given: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
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
fn name(py: Python<'_>, given: Option<String>, paths: &[PathBuf]) -> PyResult<String> {
    let none = || argument(py, "name= is needed: several paths, and patterns, have no one name");
    given.or_else(|| suggested_name(paths)).ok_or_else(none)
}

/// `format=`.
fn kind(py: Python<'_>, given: Option<&str>) -> PyResult<Option<Kind>> {
    let parsed = given.map(str::parse::<Kind>).transpose();
    parsed.map_err(|error| argument(py, &format!("format={error}")))
}

/// A character of a dialect.
fn one_byte(py: Python<'_>, option: &str, character: Option<char>) -> PyResult<Option<u8>> {
    let byte = |character| u8::try_from(character).ok().filter(u8::is_ascii);
    let wrong = || argument(py, &format!("{option}= takes one character of one byte"));
    character.map(|one| byte(one).ok_or_else(wrong)).transpose()
}

/// `date_format=`.
fn one_or_several(given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if given.is_instance_of::<PyString>() { Ok(vec![given.extract()?]) } else { given.extract() }
}

/// `schema=`: types of some columns, by name.
fn schema(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<arrow_schema::Schema>> {
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
    fn run(
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
        let writer = match outcome? {
            Ok(outcome) => outcome.map_err(|error| raised(py, error))?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        // where warnings are errors, nothing is left
        for notice in meter.notices() {
            let text = CString::new(notice.to_string()).unwrap_or_default();
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)?;
        }
        door::call(py, || writer.commit())
    }

    /// All that leads to a commit.
    fn load(&self, pool: &cenote::Pool, meter: &Meter) -> Result<FrameWriter, Fault> {
        let source = Source::begin(&self.paths, &self.options, meter)?;
        let paths = self.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let files: Vec<SourceFile> = source.files().iter().map(source_file).collect();
        let checksums = self.checksum.then(|| Checksums::begin(source.files(), meter));
        let checksums = checksums.transpose()?;
        let mut writer = source.load(|schema, batches| {
            let writer = pool.writer(&self.name, schema, self.if_exists)?;
            let mut writer = writer.source(paths.join(", ")).wait(self.wait);
            if let Some(version) = self.expect_version {
                writer = writer.expect_version(version);
            }
            writer.made().files.clone_from(&files);
            writer.made().note = self.note.clone().unwrap_or_default();
            let batches = batches.map(|batch| batch.map_err(|e| Error::Source(Box::new(e))));
            writer.write_stream(batches)?;
            Ok::<_, Fault>(writer)
        })?;
        if let Some(checksums) = checksums {
            for (file, checksum) in writer.made().files.iter_mut().zip(checksums.finish()?) {
                file.checksum = Some(checksum);
            }
        }
        if meter.is_cancelled() {
            return Err(LoadError::Cancelled.into());
        }
        Ok(writer)
    }
}

/// What is remembered of a file.
fn source_file(file: &InputFile) -> SourceFile {
    SourceFile {
        path: file.absolute(),
        bytes: file.bytes(),
        modified_ns: file.modified_ns(),
        checksum: None,
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

#[pymethods]
impl Pool {
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
    /// `evolve`: files may lack columns, and those of Parquet and Arrow have narrower types.
    /// `progress`: called up to 100 times a second with bytes done, bytes of all files, and
    /// rows. `replace`, `append`, `expect_version`, `note`, `timeout`: as for `put`. `checksum`:
    /// `log()` has XXH3 (64 bits) of each file, which is read once more, beside the load.
    ///
    /// CSV, with the names that `cenote put` has: `delimiter` (found, unless said), `header`,
    /// `null_values` (beside the empty field), `quote` (None: quotes are text), `escape`,
    /// `comment` (what such lines begin with), `skip_lines` (above the header), `encoding`,
    /// `decimal`, `thousands`, `true_values`, `false_values`, `date_format` (one or several, as
    /// `"%d.%m.%Y"`, beside ISO 8601), `zone` (of times that state none), `pad_ragged`,
    /// `rename_duplicates`.
    ///
    /// Nothing is seen of the frame before it is whole; Ctrl-C leaves nothing. A column that
    /// one late value made text is said by a UserWarning, with the file and the line.
    ///
    /// Raises: OSError (FileNotFoundError, …), ArgumentError (a ValueError that says which file,
    /// line and column), and what `put` raises.
    #[pyo3(signature = (paths, name=None, *, replace=false, append=false, expect_version=None,
        note=None, checksum=false, timeout=None, format=None, schema=None, columns=None, evolve=false, hive=true,
        delimiter=None, header=true, null_values=None, quote=Some('"'), escape=None, comment=None,
        skip_lines=0, encoding=None, decimal='.', thousands=None, true_values=None,
        false_values=None, date_format=None, zone=None, pad_ragged=false, rename_duplicates=false,
        progress=None))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of Python's")]
    #[expect(clippy::fn_params_excessive_bools, reason = "each is a keyword of Python's")]
    fn load(
        &self,
        py: Python<'_>,
        paths: &Bound<'_, PyAny>,
        name: Option<String>,
        replace: bool,
        append: bool,
        expect_version: Option<u64>,
        note: Option<String>,
        checksum: bool,
        timeout: Option<f64>,
        format: Option<&str>,
        schema: Option<&Bound<'_, PyAny>>,
        columns: Option<Vec<String>>,
        evolve: bool,
        hive: bool,
        delimiter: Option<char>,
        header: bool,
        null_values: Option<Vec<String>>,
        quote: Option<char>,
        escape: Option<char>,
        comment: Option<String>,
        skip_lines: usize,
        encoding: Option<String>,
        decimal: char,
        thousands: Option<char>,
        true_values: Option<Vec<String>>,
        false_values: Option<Vec<String>>,
        date_format: Option<&Bound<'_, PyAny>>,
        zone: Option<String>,
        pad_ragged: bool,
        rename_duplicates: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let if_exists = if_exists(py, replace, append, expect_version)?;
        let wait = wait(py, timeout)?;
        let paths = self::paths(paths)?;
        let name = self::name(py, name, &paths)?;
        if expect_version.is_none() {
            self.check_put(py, &name, if_exists)?;
        }
        let byte = |option, character| one_byte(py, option, character);
        let csv = CsvOptions {
            quote: byte("quote", quote)?,
            escape: byte("escape", escape)?,
            comment: comment.unwrap_or_default(),
            skip_lines,
            pad_ragged,
            rename_duplicates,
            columns: None,
            decimal: byte("decimal", Some(decimal))?.unwrap_or(b'.'),
            thousands: byte("thousands", thousands)?,
            encoding,
            date_formats: date_format.map(one_or_several).transpose()?.unwrap_or_default(),
            zone,
            true_values: true_values.unwrap_or_default(),
            false_values: false_values.unwrap_or_default(),
        };
        let options = Options {
            format: kind(py, format)?,
            schema: self::schema(schema)?,
            columns,
            evolve,
            hive,
            delimiter: byte("delimiter", delimiter)?,
            header,
            null_values: null_values.unwrap_or_default(),
            csv,
            ..Options::default()
        };
        options.check_dialect().map_err(|error| argument(py, &error.to_string()))?;
        let load = Load { paths, name, if_exists, expect_version, note, checksum, wait, options };
        load.run(py, self.inner(), progress)
    }
}
