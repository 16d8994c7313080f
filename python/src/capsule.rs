//! Arrow's C data interface in PyCapsules, both ways.
//!
//! What another library exports is taken at its word, as the interface demands: sizes and
//! pointers cannot be checked. Its values are looked at when they are laid into the pool.
#![allow(unsafe_code, reason = "the C data interface is pointers")]

use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use arrow_array::ArrayRef;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyTuple};

use crate::import;

pub(crate) const SCHEMA: &CStr = c"arrow_schema";
pub(crate) const ARRAY: &CStr = c"arrow_array";
pub(crate) const STREAM: &CStr = c"arrow_array_stream";

/// Whether an object has a method of the Arrow PyCapsule interface.
pub(crate) fn speaks(object: &Bound<'_, PyAny>, method: &str) -> PyResult<bool> {
    // A class has the method, too, and cannot be asked.
    Ok(!object.is_instance_of::<pyo3::types::PyType>() && object.hasattr(method)?)
}

fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<T>> {
    Ok(capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?.cast())
}

fn stream(object: &Bound<'_, PyAny>) -> PyResult<FFI_ArrowArrayStream> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let stream = pointer::<FFI_ArrowArrayStream>(&capsule, STREAM)?;
    // SAFETY: by its name the capsule has a stream, which lives as long as the capsule; what
    // is moved out is marked as released there, so it is not released twice.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) })
}

/// The arrays of an object with `__arrow_c_stream__`, of any type.
pub(crate) fn arrays(object: &Bound<'_, PyAny>) -> PyResult<Result<import::Stream, ArrowError>> {
    Ok(import::Stream::new(stream(object)?))
}

/// The array of an object with `__arrow_c_array__`, and its schema as a field.
pub(crate) fn array(
    object: &Bound<'_, PyAny>,
    realigned: &AtomicU64,
) -> PyResult<Result<(ArrayRef, Field), ArrowError>> {
    let pair = object.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
    let schema_capsule = pair.get_item(0)?;
    let array_capsule = pair.get_item(1)?;
    let schema = pointer::<FFI_ArrowSchema>(&schema_capsule, SCHEMA)?;
    let array = pointer::<FFI_ArrowArray>(&array_capsule, ARRAY)?;
    // SAFETY: by its name the capsule has an array, which lives as long as the capsule; moved
    // out as above.
    let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
    // SAFETY: by its name the capsule has a schema, and `schema_capsule` lives on.
    let field = match Field::try_from(unsafe { schema.as_ref() }) {
        Ok(field) => field,
        Err(error) => return Ok(Err(error)),
    };
    // SAFETY: the exporter says that the array is of the schema.
    let array = unsafe { import::array(array, field.data_type(), realigned) };
    Ok(array.map(|array| (array, field)))
}

/// The schema of an object with `__arrow_c_schema__`.
pub(crate) fn schema(object: &Bound<'_, PyAny>) -> PyResult<Result<Schema, ArrowError>> {
    let capsule = object.call_method0("__arrow_c_schema__")?;
    let schema = pointer::<FFI_ArrowSchema>(&capsule, SCHEMA)?;
    // SAFETY: by its name the capsule has a schema, and it lives on.
    Ok(Schema::try_from(unsafe { schema.as_ref() }))
}

/// A schema as a capsule.
pub(crate) fn export_schema<'py>(
    py: Python<'py>,
    schema: &Schema,
) -> PyResult<Result<Bound<'py, PyCapsule>, ArrowError>> {
    match FFI_ArrowSchema::try_from(schema) {
        Ok(schema) => PyCapsule::new_with_value(py, schema, SCHEMA).map(Ok),
        Err(error) => Ok(Err(error)),
    }
}
