//! One column's numbers where they lie, for NumPy and whatever reads buffers or DLPack.
//!
//! Numbers, and times as numbers: of one width, without missing values, in one partition.
//! Whoever holds a view holds the lease.
#![allow(unsafe_code, reason = "the buffer protocol hands out pointers")]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMemoryView, PyString, PyTuple};

use crate::columns::{in_place, numpy_name};
use crate::door;
use crate::frame::Frame;
use crate::raise::unsupported;

/// One column of one partition, in place and read-only, of shape (n,).
///
/// `numpy.asarray(values)` copies nothing, nor does `memoryview(values)`; both keep the lease.
/// Times are for NumPy alone: buffers have no type for them. `numpy.from_dlpack(values)` and
/// its like take what DLPack has a type for.
#[pyclass(frozen, module = "cenote", weakref)]
#[derive(Clone, Debug)]
pub(crate) struct Values {
    values: Buffer,
    data_type: DataType,
    format: &'static CStr,
    width: isize,
    shape: [isize; 1],
    strides: [isize; 1],
}

impl Values {
    /// What can be seen of an array; else why nothing can.
    pub(crate) fn of(array: &ArrayRef) -> Result<Values, &'static str> {
        let data_type = array.data_type();
        let number = data_type.is_numeric() || numpy_name(data_type).is_some();
        let (format, width) = in_place(data_type)
            .filter(|(_, width)| number && data_type.primitive_width() == Some(*width))
            .ok_or("its type is not one of numbers or times that a buffer can have")?;
        if array.null_count() > 0 {
            return Err("values of it are missing");
        }
        let data = array.to_data();
        let bytes = data.len() * width;
        let values = match data.buffers().first() {
            Some(buffer) if bytes > 0 => buffer.slice_with_length(data.offset() * width, bytes),
            _ => Buffer::default(),
        };
        let signed = |n: usize| isize::try_from(n).map_err(|_| "it is too long");
        let (rows, width) = (signed(data.len())?, signed(width)?);
        let data_type = data_type.clone();
        Ok(Values { values, data_type, format, width, shape: [rows], strides: [width] })
    }
}

/// Each partition of a column, or why that cannot be.
fn parts(frame: &Bound<'_, Frame>, name: &str) -> PyResult<Result<Vec<Values>, &'static str>> {
    let py = frame.py();
    let frame = frame.get().inner();
    let (schema, batches) = door::call(py, || {
        let one = frame.select(&[name])?;
        Ok((one.schema().clone(), one.batches()?))
    })?;
    if batches.is_empty() {
        let none = new_empty_array(schema.field(0).data_type());
        return Ok(Values::of(&none).map(|values| vec![values]));
    }
    Ok(batches.iter().map(|batch| Values::of(batch.column(0))).collect())
}

/// A list of what can be seen of a column, a partition each; else the reason why nothing can.
#[pyfunction]
#[pyo3(signature = (frame, name, /))]
pub(crate) fn column_values<'py>(
    frame: &Bound<'py, Frame>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = frame.py();
    match parts(frame, name)? {
        Ok(parts) => Ok(PyList::new(py, parts)?.into_any()),
        Err(why) => Ok(PyString::new(py, why).into_any()),
    }
}

#[pymethods]
impl Values {
    /// NumPy's name of the type.
    #[getter]
    fn dtype(&self) -> String {
        let number = || self.data_type.to_string().to_lowercase();
        numpy_name(&self.data_type).unwrap_or_else(number)
    }

    /// (rows,).
    #[getter]
    fn shape(&self) -> (isize,) {
        (self.shape[0],)
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.shape[0]).unwrap_or(0)
    }

    /// As a numpy.ndarray; without a copy unless `dtype` or `copy` ask for one.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.get();
        let numbers = Bound::new(py, Values { data_type: DataType::Int64, ..this.clone() })?;
        let view = PyMemoryView::from(numbers.as_any())?;
        let mut array = py.import("numpy")?.call_method1("asarray", (view,))?;
        if let Some(name) = numpy_name(&this.data_type) {
            array = array.call_method1("view", (name,))?;
        }
        if dtype.is_none() && copy != Some(true) {
            return Ok(array);
        }
        let keywords = PyDict::new(py);
        keywords.set_item("copy", copy)?;
        let dtype = dtype.cloned().map_or_else(|| array.getattr("dtype"), Ok)?;
        py.import("numpy")?.call_method("array", (array, dtype), Some(&keywords))
    }

    /// As a DLPack capsule, by NumPy; read-only, so for readers of DLPack 1.0 and later.
    #[pyo3(signature = (**keywords))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::__array__(slf, None, None)?.call_method("__dlpack__", (), keywords)
    }

    /// The CPU.
    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (1, 0).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        format!("<cenote.Values: {} of {}>", self.shape[0], self.dtype())
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let wants = |flag: c_int| flags & flag == flag;
        if wants(ffi::PyBUF_WRITABLE) {
            return Err(PyBufferError::new_err("a frame is read-only; copy what is to change"));
        }
        let this = slf.get();
        if numpy_name(&this.data_type).is_some() {
            return Err(PyBufferError::new_err(
                "buffers have no times; numpy.asarray() takes them",
            ));
        }
        let part = |wanted: bool, pointer: *const isize| match wanted {
            true => pointer.cast_mut(),
            false => ptr::null_mut(),
        };
        let buffer = ffi::Py_buffer {
            buf: this.values.as_ptr().cast_mut().cast::<c_void>(),
            obj: ptr::null_mut(),
            len: isize::try_from(this.values.len()).unwrap_or(isize::MAX),
            itemsize: this.width,
            readonly: 1,
            ndim: 1,
            format: match wants(ffi::PyBUF_FORMAT) {
                true => this.format.as_ptr().cast_mut(),
                false => ptr::null_mut(),
            },
            shape: part(wants(ffi::PyBUF_ND), this.shape.as_ptr()),
            strides: part(wants(ffi::PyBUF_STRIDES), this.strides.as_ptr()),
            suboffsets: ptr::null_mut(),
            internal: ptr::null_mut(),
        };
        let object = slf.into_any().into_ptr();
        // SAFETY: Python gives a view to fill in. What the fields point to is this object's,
        // which the view holds, and nobody writes to: a sealed chunk, under a lease that the
        // buffer keeps.
        unsafe { view.write(ffi::Py_buffer { obj: object, ..buffer }) };
        Ok(())
    }
}

/// The one partition of a column.
pub(crate) fn only(frame: &Bound<'_, Frame>, name: &str) -> PyResult<Values> {
    let py = frame.py();
    let refused = |why: &str| {
        let text = format!("column {name:?} has no values to be seen in place: {why}");
        unsupported(py, &format!("{text}; to_numpy({name:?}) copies it"))
    };
    let mut parts = parts(frame, name)?.map_err(refused)?;
    match (parts.pop(), parts.len()) {
        (Some(values), 0) => Ok(values),
        (_, others) => Err(refused(&format!("it lies in {} partitions", others + 1))),
    }
}
