//! `cenote.Frame`.

use std::sync::OnceLock;

use arrow_schema::DataType;
use cenote::{Error, FrameRef};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyCapsule, PyTuple};

use crate::door::{self, at_once};
use crate::pool::Pool;
use crate::raise::argument;
use crate::schema::Schema;
use crate::selection::predicate;
use crate::values::{self, Values};
use crate::{capsule, import, notes, pyarrow};

/// One version of a table, or a part of it, leased: read in place, read-only.
///
/// It stays what it is, whatever happens to its name, for as long as the frame, or anything
/// made of it without a copy, lives. Any Arrow library reads it, as often as it likes:
/// `pyarrow.table(frame)`, `polars.DataFrame(frame)`, `duckdb.sql("from frame")`.
///
/// Pickled, it is a reference of a few hundred bytes, which opens the same version in any
/// process of this host for as long as somebody holds it.
#[pyclass(frozen, weakref, module = "cenote")]
pub(crate) struct Frame {
    frame: cenote::Frame,
    /// The frame with metadata that is true of its rows and columns; `None`: it is as it is.
    noted: OnceLock<Option<cenote::Frame>>,
    /// What `to_arrow` made.
    table: PyOnceLock<Py<PyAny>>,
}

impl Frame {
    pub(crate) fn new(frame: cenote::Frame) -> Frame {
        Frame { frame, noted: OnceLock::new(), table: PyOnceLock::new() }
    }

    pub(crate) fn inner(&self) -> &cenote::Frame {
        &self.frame
    }

    /// The frame as others are shown it.
    fn shown(&self) -> &cenote::Frame {
        let noted = self.noted.get_or_init(|| {
            notes::of(&self.frame).map(|metadata| self.frame.with_metadata(metadata))
        });
        noted.as_ref().unwrap_or(&self.frame)
    }

    /// A frame of one of the columns.
    fn one(&self, py: Python<'_>, name: &str) -> PyResult<Frame> {
        at_once(py, self.frame.select(&[name])).map(Frame::new)
    }

    fn columns_text(&self) -> String {
        let fields = self.frame.schema().fields();
        let shown = fields.iter().take(8).map(|f| format!("{}: {}", f.name(), f.data_type()));
        let mut text = shown.collect::<Vec<_>>().join(", ");
        if fields.len() > 8 {
            text += &format!(", and {} more", fields.len() - 8);
        }
        text
    }
}

#[pymethods]
impl Frame {
    /// The frame's name when it was opened.
    #[getter]
    fn name(&self) -> &str {
        self.frame.name()
    }

    /// Which version of the name it is; counts from 1.
    #[getter]
    fn version(&self) -> u64 {
        self.frame.version()
    }

    /// When the version was committed, in nanoseconds since 1970.
    #[getter]
    fn created_ns(&self) -> u64 {
        self.frame.created_ns()
    }

    /// Rows.
    #[getter]
    fn num_rows(&self) -> u64 {
        self.frame.num_rows()
    }

    /// Columns.
    #[getter]
    fn num_columns(&self) -> usize {
        self.frame.schema().fields().len()
    }

    /// Names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.frame.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Bytes that are leased, padding included.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.frame.nbytes()
    }

    /// (rows, columns).
    #[getter]
    fn shape(&self) -> (u64, usize) {
        (self.num_rows(), self.num_columns())
    }

    /// The schema: a pyarrow.Schema, or a cenote.Schema where PyArrow is not installed.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match pyarrow::schema(py, self.shown().schema()) {
            Err(error) if error.is_instance_of::<PyImportError>(py) => {
                Ok(Bound::new(py, Schema(self.shown().schema().clone()))?.into_any())
            }
            outcome => outcome,
        }
    }

    /// The frame as a pyarrow.Table: no copy, a chunk for each partition, read-only.
    ///
    /// The first call makes it, in tens of microseconds for 100 columns; the next ones give
    /// the same table again. Raises: ImportError without PyArrow, FrameDamaged.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        at_once(py, self.frame.check())?;
        if let Some(table) = self.table.get(py) {
            return Ok(table.bind(py).clone());
        }
        let batches = door::call(py, || self.frame.export())?;
        let table = pyarrow::table(py, self.shown().schema(), batches)?;
        Ok(self.table.get_or_init(py, || table.unbind()).bind(py).clone())
    }

    /// The frame as a pandas.DataFrame, with the index and the types that it was put with.
    ///
    /// Columns of numbers and times without missing values, in one partition, are not copied
    /// and read-only; others are converted. `writable=True` copies everything, once, and the
    /// result is the caller's. `types_mapper`: as PyArrow's; `pandas.ArrowDtype` leaves every
    /// column where it is. `pickle`: whether columns that were put pickled are restored, which
    /// runs code that they name.
    ///
    /// Raises: ImportError without pandas and PyArrow, FrameDamaged, UnsupportedType: there
    /// are pickled columns.
    #[pyo3(signature = (*, writable=false, types_mapper=None, pickle=false))]
    fn to_pandas<'py>(
        slf: &Bound<'py, Self>,
        writable: bool,
        types_mapper: Option<&Bound<'py, PyAny>>,
        pickle: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let convert = slf.py().import("cenote._pandas")?.getattr("to_pandas")?;
        convert.call1((slf, writable, types_mapper, pickle))
    }

    /// The frame as a polars.DataFrame: no copy, but for what Polars keeps otherwise (16
    /// bytes a value of text, dictionary codes). Needs no PyArrow.
    ///
    /// Raises: ImportError without Polars, FrameDamaged; UnsupportedType: a column that Polars
    /// has no type for, and the way out.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("cenote._consumers")?.call_method1("to_polars", (slf,))
    }

    /// One column as a pyarrow.ChunkedArray of shape (num_rows,): no copy, read-only.
    ///
    /// Raises: ColumnNotFound, ImportError without PyArrow.
    #[pyo3(signature = (name, /))]
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let one = self.one(py, name)?;
        let table = match self.table.get(py) {
            Some(table) => {
                at_once(py, self.frame.check())?;
                let at = self.frame.schema().index_of(name).map_err(Error::from);
                return table.bind(py).call_method1("column", (at_once(py, at)?,));
            }
            None => one.to_arrow(py)?,
        };
        table.call_method1("column", (0,))
    }

    /// One column as a numpy.ndarray of shape (num_rows,).
    ///
    /// Numbers and times without missing values, in one partition: no copy, read-only. In
    /// several partitions they are joined; the rest is as PyArrow converts it: missing numbers
    /// are NaN, text and the like Python objects.
    ///
    /// Raises: ColumnNotFound, ImportError without NumPy, or PyArrow where it is needed.
    #[pyo3(signature = (name, /))]
    fn to_numpy<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("cenote._numpy")?.call_method1("to_numpy", (slf, name))
    }

    /// One column's numbers in place, of shape (num_rows,): an object with the buffer
    /// protocol, `__array__` and `__dlpack__`. Never a copy, and needs no other library.
    ///
    /// Raises: ColumnNotFound; UnsupportedType: another type, missing values, or more than one
    /// partition, which `to_numpy` joins.
    #[pyo3(signature = (name, /))]
    fn values(slf: &Bound<'_, Self>, name: &str) -> PyResult<Values> {
        values::only(slf, name)
    }

    /// The rows for which `where` is true, too: a frame that takes no new leases.
    ///
    /// `where`: as in `Pool.get`, over the columns of this frame. Raises: ArgumentError,
    /// ColumnNotFound, FrameDamaged.
    #[pyo3(signature = (r#where, /))]
    fn filter(&self, py: Python<'_>, r#where: &Bound<'_, PyAny>) -> PyResult<Frame> {
        let predicate = predicate(r#where)?;
        door::call(py, || self.frame.filter(&predicate)).map(Frame::new)
    }

    /// The predicate that has left the frame's rows, as text; None if there is none.
    #[getter]
    fn predicate(&self) -> Option<String> {
        self.frame.predicate().map(ToString::to_string)
    }

    /// What the frame selects and what that took, in a few lines: how many partitions were
    /// left out by their statistics, how many were looked at, what is leased.
    fn explain(&self) -> String {
        self.frame.explain()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, name)
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.frame.num_rows()).unwrap_or(usize::MAX)
    }

    fn __bool__(&self) -> bool {
        // A frame is there, however many rows it has.
        true
    }

    /// The frame as a PyCapsule `arrow_array_stream`, as often as it is asked for.
    ///
    /// A requested schema is not followed: as the interface allows, the types are the
    /// frame's own.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let stream = door::call(py, || self.shown().export_stream())?;
        PyCapsule::new_with_value(py, stream, capsule::STREAM)
    }

    /// The schema as a PyCapsule `arrow_schema`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        at_once(py, capsule::export_schema(py, self.shown().schema())?.map_err(Error::from))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        at_once(py, self.frame.check())?;
        let open = py.import("cenote._reference")?.getattr("open_frame")?;
        (open, (PyBytes::new(py, &self.frame.reference().to_bytes()),)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        format!(
            "<cenote.Frame {:?} version {}: {} rows, {} columns, {} in DRAM ({})>",
            self.name(),
            self.version(),
            self.num_rows(),
            self.num_columns(),
            cenote::ByteSize(self.nbytes()),
            self.columns_text()
        )
    }

    /// What a notebook shows: schema, size, version and the first rows.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("cenote._show")?.getattr("frame_html")?.call1((slf,))
    }
}

/// The frame that a reference names, through a connection to its pool.
#[pyfunction]
pub(crate) fn open_reference(
    py: Python<'_>,
    pool: &Bound<'_, Pool>,
    reference: &[u8],
) -> PyResult<Frame> {
    let reference = at_once(py, FrameRef::from_bytes(reference))?;
    let pool = pool.get().inner();
    door::call(py, || pool.open(&reference)).map(Frame::new)
}

/// Which column has one of `kinds`, as `kind` calls them, at any depth.
#[pyfunction]
#[pyo3(signature = (frame, kinds, /))]
pub(crate) fn column_with(frame: &Bound<'_, Frame>, kinds: Vec<String>) -> Option<usize> {
    let has = |data_type: &DataType| {
        import::any(data_type, &|own| kind(own).is_some_and(|kind| kinds.iter().any(|k| k == kind)))
    };
    frame.get().frame.schema().fields().iter().position(|field| has(field.data_type()))
}

/// The kinds of types that some library lacks.
fn kind(data_type: &DataType) -> Option<&'static str> {
    Some(match data_type {
        DataType::Interval(_) => "interval",
        DataType::Union(..) => "union",
        DataType::Decimal32(..) => "decimal32",
        DataType::Decimal64(..) => "decimal64",
        DataType::Decimal256(..) => "decimal256",
        _ => return None,
    })
}

/// The Arrow type of a column, as text.
#[pyfunction]
#[pyo3(signature = (frame, at, /))]
pub(crate) fn column_type(py: Python<'_>, frame: &Bound<'_, Frame>, at: usize) -> PyResult<String> {
    let fields = frame.get().frame.schema().fields();
    let field = fields.get(at).ok_or_else(|| argument(py, &format!("there is no column {at}")))?;
    Ok(field.data_type().to_string())
}

/// A frame of one column, by its number: several may have its name.
#[pyfunction]
#[pyo3(signature = (frame, at, /))]
pub(crate) fn one_column(py: Python<'_>, frame: &Bound<'_, Frame>, at: usize) -> PyResult<Frame> {
    at_once(py, frame.get().frame.select_at(&[at])).map(Frame::new)
}

/// The directory of the pool that a reference is for.
#[pyfunction]
pub(crate) fn reference_directory(
    py: Python<'_>,
    reference: &[u8],
) -> PyResult<std::ffi::OsString> {
    at_once(py, FrameRef::from_bytes(reference)).map(|reference| reference.dir.into_os_string())
}
