//! Whatever Python calls a table, as a schema and batches.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};
use cenote::Error;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyIterator, PyMapping, PyString};

use crate::capsule::{self, speaks};
use crate::columns;
use crate::door::{at_once, signals};
use crate::frame::Frame;
use crate::import::{self, Realigned};
use crate::raise::{argument, unsupported};
use crate::selection::type_name;

/// How often Python is asked about signals while batches come.
const SIGNALS_EVERY: Duration = Duration::from_millis(100);

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, Error>> + Send>;

/// A table on its way into the pool.
pub(crate) struct Feed {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Batches,
    /// Buffers that stood where they could not be taken as they were.
    pub(crate) realigned: Realigned,
}

/// What `put` and `write` take: see `Pool.put`. `pickle`: of pandas, objects may be pickled.
pub(crate) fn feed(data: &Bound<'_, PyAny>, pickle: bool) -> PyResult<Feed> {
    match table(data, pickle)? {
        Some(feed) => Ok(feed.asking()),
        None => stream(data, pickle),
    }
}

impl Feed {
    fn one(batch: RecordBatch, realigned: Realigned) -> Feed {
        Feed { schema: batch.schema(), batches: Box::new(std::iter::once(Ok(batch))), realigned }
    }

    /// Has Ctrl-C noticed between batches.
    fn asking(self) -> Feed {
        let mut asked = Instant::now();
        let batches = self.batches.map(move |batch| {
            if asked.elapsed() >= SIGNALS_EVERY {
                signals().map_err(Error::Source)?;
                asked = Instant::now();
            }
            batch
        });
        Feed { batches: Box::new(batches), ..self }
    }
}

/// A table that is there as a whole, or comes as an Arrow stream. `None`: it is neither.
fn table(data: &Bound<'_, PyAny>, pickle: bool) -> PyResult<Option<Feed>> {
    let py = data.py();
    if let Ok(frame) = data.cast::<Frame>() {
        let frame = frame.get().inner().clone();
        let batches = crate::door::call(py, || frame.batches())?;
        let schema = frame.schema().clone();
        let batches = Box::new(batches.into_iter().map(Ok));
        return Ok(Some(Feed { schema, batches, realigned: Realigned::default() }));
    }
    if is_pandas(data)? {
        let arrow = py.import("cenote._pandas")?.call_method1("to_columns", (data, pickle))?;
        return table(&arrow, false);
    }
    if let Some(text) = advice(data, "refused")? {
        return Err(unsupported(py, &text));
    }
    let realigned = Realigned::default();
    // First: PyArrow's stream of a batch without rows is empty, and has no dictionaries.
    if speaks(data, "__arrow_c_array__")? {
        let outcome = capsule::array(data, &realigned)?;
        let (array, field) = outcome.map_err(|error| no_table(data, &error))?;
        let DataType::Struct(fields) = array.data_type() else {
            return Err(no_table(data, &Found(array.data_type())));
        };
        let schema = Schema::new(fields.clone()).with_metadata(field.metadata().clone());
        let batch = import::batch(&array, &Arc::new(schema));
        let batch = batch.map_err(|error| no_table(data, &error))?;
        at_once(py, checked(&batch))?;
        return Ok(Some(Feed::one(batch, realigned)));
    }
    if speaks(data, "__arrow_c_stream__")? {
        let stream = capsule::arrays(data)?.map_err(|error| no_table(data, &error))?;
        let batches = stream.into_batches().map_err(|found| no_table(data, &Found(&found)))?;
        let (schema, realigned) = (batches.schema.clone(), batches.realigned().clone());
        let batches = batches.map(|batch| {
            let batch = batch.map_err(|error| Error::Source(error.into()))?;
            checked(&batch).map(|()| batch)
        });
        return Ok(Some(Feed { schema, batches: Box::new(batches), realigned }));
    }
    match data.cast::<PyMapping>() {
        Ok(mapping) => {
            columns::batch(mapping, &realigned).map(|batch| Some(Feed::one(batch, realigned)))
        }
        Err(_) => Ok(None),
    }
}

/// What an array is that is no table.
struct Found<'a>(&'a DataType);

impl std::fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "its type is {}, not a struct of columns", self.0)
    }
}

/// What `cenote._tables` knows of an object that cannot be put: why, and what can be.
fn advice(data: &Bound<'_, PyAny>, about: &str) -> PyResult<Option<String>> {
    data.py().import("cenote._tables")?.call_method1(about, (data,))?.extract()
}

fn no_table(data: &Bound<'_, PyAny>, why: &dyn std::fmt::Display) -> PyErr {
    match advice(data, "instead") {
        Ok(Some(text)) => unsupported(data.py(), &text),
        Ok(None) => {
            let mut why = why.to_string();
            if why.contains("utf-8") {
                why += "; names and metadata are text here: replace_schema_metadata() and \
                        Field.remove_metadata() of PyArrow take the latter away";
            }
            unsupported(data.py(), &format!("{} is no table: {why}", type_name(data)))
        }
        Err(error) => error,
    }
}

/// Looks at what another library promises: text that is UTF-8, offsets that rise, keys that
/// have a value. Readers of the pool rely on it. Numbers are not looked at.
fn checked(batch: &RecordBatch) -> Result<(), Error> {
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if column.data_type().is_primitive() {
            continue;
        }
        column.to_data().validate_full().map_err(|error| {
            let text = format!("column {:?} is not valid: {error}", field.name());
            Error::Source(Python::attach(|py| argument(py, &text)).into())
        })?;
    }
    Ok(())
}

fn is_pandas(data: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = data.py();
    let modules = py.import("sys")?.getattr("modules")?;
    // Never imported: then this is none.
    let Ok(pandas) = modules.get_item("pandas") else { return Ok(false) };
    match pandas.getattr("DataFrame") {
        Ok(class) => data.is_instance(&class),
        Err(_) => Ok(false),
    }
}

/// Batches that Python makes one by one.
fn stream(data: &Bound<'_, PyAny>, pickle: bool) -> PyResult<Feed> {
    let py = data.py();
    if let Some(text) = advice(data, "instead")? {
        return Err(unsupported(py, &text));
    }
    let text = data.is_instance_of::<PyString>()
        || data.is_instance_of::<PyBytes>()
        || data.is_instance_of::<PyByteArray>();
    let iterator = if text || data.hasattr("dtype")? { None } else { data.try_iter().ok() };
    let Some(iterator) = iterator else {
        let text = format!(
            "cannot put {}: a table is an object with __arrow_c_stream__ or __arrow_c_array__, a \
             pandas DataFrame, a dict of columns, or an iterator of such tables",
            type_name(data)
        );
        return Err(unsupported(py, &text));
    };
    let realigned = Realigned::default();
    let mut stream = Stream {
        iterator: iterator.unbind(),
        schema: None,
        current: None,
        number: 0,
        pickle,
        realigned: realigned.clone(),
    };
    let Some(first) = stream.next_table(py)? else {
        let text = "the iterator gave no batch, so there is no schema; \
                    `with pool.writer(name, schema): pass` puts an empty frame";
        return Err(argument(py, text));
    };
    let schema = first.schema.clone();
    stream.schema = Some(schema.clone());
    stream.current = Some(first);
    Ok(Feed { schema, batches: Box::new(stream), realigned })
}

struct Stream {
    iterator: Py<PyIterator>,
    /// Of the first batch.
    schema: Option<SchemaRef>,
    current: Option<Feed>,
    /// Tables taken from the iterator.
    number: u64,
    pickle: bool,
    /// Of the tables that are done with.
    realigned: Realigned,
}

impl Stream {
    fn next_table(&mut self, py: Python<'_>) -> PyResult<Option<Feed>> {
        py.check_signals()?;
        let Some(item) = self.iterator.bind(py).clone().next() else { return Ok(None) };
        let item = item?;
        let number = self.number;
        self.number += 1;
        let Some(feed) = table(&item, self.pickle)? else {
            let text =
                format!("batch {number} of the iterator is {}, not a table", type_name(&item));
            return Err(unsupported(py, &text));
        };
        if let Some(schema) = &self.schema
            && let Some(text) = difference(schema, &feed.schema)
        {
            return Err(argument(py, &format!("batch {number} is unlike the first: {text}")));
        }
        Ok(Some(feed))
    }
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.current.as_mut().and_then(|feed| feed.batches.next()) {
                let conform = |batch: RecordBatch| match &self.schema {
                    // Metadata is the first batch's.
                    Some(schema) => batch.with_schema(schema.clone()).map_err(Error::from),
                    None => Ok(batch),
                };
                return Some(batch.and_then(conform));
            }
            if let Some(done) = self.current.take() {
                let count = done.realigned.load(Ordering::Relaxed);
                self.realigned.fetch_add(count, Ordering::Relaxed);
            }
            let next = Python::attach(|py| self.next_table(py));
            match next {
                Ok(Some(feed)) => self.current = Some(feed),
                Ok(None) => return None,
                Err(error) => return Some(Err(Error::Source(error.into()))),
            }
        }
    }
}

/// How a batch's columns differ from the first one's.
fn difference(first: &Schema, other: &Schema) -> Option<String> {
    let (expected, found) = (first.fields(), other.fields());
    if expected.len() != found.len() {
        return Some(format!("it has {} columns, not {}", found.len(), expected.len()));
    }
    expected.iter().zip(found).find_map(|(expected, found)| {
        if expected.name() != found.name() {
            Some(format!("column {:?} stands where {:?} was", found.name(), expected.name()))
        } else if expected.data_type() != found.data_type() {
            Some(format!(
                "column {:?} is {}, not {}",
                found.name(),
                found.data_type(),
                expected.data_type()
            ))
        } else {
            None
        }
    })
}
