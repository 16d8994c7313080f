//! A partition that Python fills in place.
//!
//! A view on its memory must not outlive the writer's hold on it: after the commit the bytes
//! are sealed, after an abort another put may be given them. So views are counted, by the
//! buffer protocol, and
//!
//! - a partition is sealed only while nobody has a view, and gives out none afterwards;
//! - where a writer ends without a commit, its memory is given back when the last view goes.
#![allow(unsafe_code, reason = "the buffer protocol hands out pointers")]

use std::ffi::{CStr, c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_schema::{DataType, SchemaRef};
use cenote::{FrameWriter, Part};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMemoryView};

use crate::columns::{in_place, numpy_name};
use crate::raise::{Class, raise, unsupported};

/// All that is open of one writer.
#[derive(Debug, Default)]
pub(crate) struct Views {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Views on all partitions together.
    count: usize,
    /// A writer that ended while there were views.
    leftover: Option<FrameWriter>,
}

/// A lock that is held for a few instructions, and never while Python runs.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Views {
    /// Ends a writer that will not commit: now, or with the last view.
    pub(crate) fn end(&self, py: Python<'_>, writer: FrameWriter) {
        let mut state = lock(&self.state);
        if state.count > 0 {
            state.leftover = Some(writer);
        } else {
            drop(state);
            // It gives its memory back, by a message.
            py.detach(|| drop(writer));
        }
    }

    fn add(&self) {
        lock(&self.state).count += 1;
    }

    fn remove(&self, py: Python<'_>) {
        let mut state = lock(&self.state);
        state.count = state.count.saturating_sub(1);
        let leftover = if state.count == 0 { state.leftover.take() } else { None };
        drop(state);
        if let Some(writer) = leftover {
            py.detach(|| drop(writer));
        }
    }
}

/// What a partition's columns share.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) part: Part,
    schema: SchemaRef,
    views: Arc<Views>,
    /// Views on each column; `None` once it is sealed, or given up.
    counts: Mutex<Option<Vec<usize>>>,
}

impl Open {
    pub(crate) fn new(part: Part, schema: SchemaRef, views: Arc<Views>) -> Open {
        let counts = Mutex::new(Some(vec![0; part.num_columns()]));
        Open { part, schema, views, counts }
    }

    /// Gives out no more views. With views outstanding it stays open: their columns' names.
    pub(crate) fn close(&self) -> Result<(), Vec<String>> {
        let mut counts = lock(&self.counts);
        let viewed = counts.iter().flatten().zip(self.schema.fields());
        let names: Vec<_> = viewed
            .filter(|(count, _)| **count > 0)
            .map(|(_, field)| field.name().clone())
            .collect();
        if names.is_empty() {
            *counts = None;
            return Ok(());
        }
        Err(names)
    }

    /// Gives out no more views, whoever has some.
    pub(crate) fn give_up(&self) {
        *lock(&self.counts) = None;
    }
}

/// Rows to be filled in place: a mapping of column names to writable arrays of shape (rows,).
///
/// `rows["price"]` is a NumPy array where NumPy is installed, else a memoryview; zero at
/// first. It is made anew each time, so that `rows["price"][:] = values` leaves nothing
/// behind: `commit` refuses while somebody has a view, since what is sealed never changes.
#[pyclass(frozen, mapping, module = "cenote")]
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) open: Arc<Open>,
}

#[pymethods]
impl Partition {
    /// Rows.
    #[getter]
    fn num_rows(&self) -> u64 {
        self.open.part.num_rows()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some((index, field)) = self.open.schema.column_with_name(name) else {
            let text = format!("the frame has no column {name:?}");
            return Err(raise(py, Class::ColumnNotFound, &text));
        };
        let data_type = field.data_type().clone();
        let column = Column::new(py, &self.open, index, &data_type)?;
        let view = PyMemoryView::from(Bound::new(py, column)?.as_any())?;
        let Ok(numpy) = py.import("numpy") else { return Ok(view.into_any()) };
        let array = numpy.call_method1("asarray", (view,))?;
        match numpy_name(&data_type) {
            Some(name) => array.call_method1("view", (name,)),
            None => Ok(array),
        }
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<String>().is_ok_and(|n| self.open.schema.column_with_name(&n).is_some())
    }

    fn __len__(&self) -> usize {
        self.open.schema.fields().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        PyList::new(py, self.keys())?.call_method0("__iter__")
    }

    /// Names of the columns, in order.
    fn keys(&self) -> Vec<String> {
        self.open.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<cenote.Partition of {} rows: {}>", self.num_rows(), self.keys().join(", "))
    }
}

/// The memory of one column, for the buffer protocol.
#[pyclass(frozen, module = "cenote", name = "_Column")]
struct Column {
    open: Arc<Open>,
    index: usize,
    format: &'static CStr,
    width: isize,
    shape: [isize; 1],
    strides: [isize; 1],
}

impl Column {
    fn new(
        py: Python<'_>,
        open: &Arc<Open>,
        index: usize,
        data_type: &DataType,
    ) -> PyResult<Column> {
        let bytes = open.part.column(index).map_or(0, |(_, bytes)| bytes);
        let fits = in_place(data_type).and_then(|(format, width)| {
            let (width, bytes) = (isize::try_from(width).ok()?, isize::try_from(bytes).ok()?);
            Some((format, width, bytes))
        });
        let (format, width, bytes) = fits.ok_or_else(|| {
            unsupported(py, &format!("a column of type {data_type} cannot be filled in place"))
        })?;
        let (shape, strides) = ([bytes / width], [width]);
        Ok(Column { open: open.clone(), index, format, width, shape, strides })
    }
}

#[pymethods]
impl Column {
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let this = slf.get();
        let Some((start, bytes)) = this.open.part.column(this.index) else {
            return Err(PyBufferError::new_err("the column's memory is gone"));
        };
        {
            let mut counts = lock(&this.open.counts);
            let Some(counts) = counts.as_mut() else {
                return Err(PyBufferError::new_err(
                    "the partition is sealed; it cannot be written",
                ));
            };
            counts[this.index] += 1;
        }
        this.open.views.add();
        let wants = |flag: c_int| flags & flag == flag;
        let buffer = ffi::Py_buffer {
            buf: start.as_ptr().cast::<c_void>(),
            obj: std::ptr::null_mut(),
            len: isize::try_from(bytes).unwrap_or(isize::MAX),
            itemsize: this.width,
            readonly: 0,
            ndim: 1,
            format: if wants(ffi::PyBUF_FORMAT) {
                this.format.as_ptr().cast_mut()
            } else {
                std::ptr::null_mut()
            },
            shape: if wants(ffi::PyBUF_ND) {
                this.shape.as_ptr().cast_mut()
            } else {
                std::ptr::null_mut()
            },
            strides: if wants(ffi::PyBUF_STRIDES) {
                this.strides.as_ptr().cast_mut()
            } else {
                std::ptr::null_mut()
            },
            suboffsets: std::ptr::null_mut(),
            internal: std::ptr::null_mut(),
        };
        let object = slf.into_any().into_ptr();
        // SAFETY: Python gives a view to fill in. What the fields point to is this object's,
        // which the view holds; the memory is the partition's, which this object keeps, and
        // nobody seals or reuses it while the count above is not 0.
        unsafe { view.write(ffi::Py_buffer { obj: object, ..buffer }) };
        Ok(())
    }

    unsafe fn __releasebuffer__(&self, py: Python<'_>, _view: *mut ffi::Py_buffer) {
        if let Some(counts) = lock(&self.open.counts).as_mut() {
            counts[self.index] = counts[self.index].saturating_sub(1);
        }
        self.open.views.remove(py);
    }
}
