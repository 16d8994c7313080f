//! Batches as a PyArrow table.
//!
//! By the C data interface, a batch at a time, against a schema that PyArrow has read before:
//! reading a schema costs PyArrow as much as reading the arrays.
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi::FFI_ArrowArray;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyList;

use crate::schema::Schema;

/// Schemas that are kept as PyArrow's. All frames of one version share theirs.
const SCHEMAS_MAX: usize = 64;

/// The latest last. Taken with Python's lock held, and never while Python runs: so it is free
/// whenever a thread forks.
static SCHEMAS: Mutex<Vec<(SchemaRef, Py<PyAny>)>> = Mutex::new(Vec::new());

/// What is called of PyArrow.
struct Calls {
    schema: Py<PyAny>,
    import_batch: Py<PyAny>,
    from_batches: Py<PyAny>,
}

fn calls(py: Python<'_>) -> PyResult<&Calls> {
    static CALLS: PyOnceLock<Calls> = PyOnceLock::new();
    CALLS.get_or_try_init(py, || {
        let pyarrow = py.import("pyarrow")?;
        Ok(Calls {
            schema: pyarrow.getattr("schema")?.unbind(),
            import_batch: pyarrow.getattr("RecordBatch")?.getattr("_import_from_c")?.unbind(),
            from_batches: pyarrow.getattr("Table")?.getattr("from_batches")?.unbind(),
        })
    })
}

/// A schema as PyArrow's.
pub(crate) fn schema<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyAny>> {
    {
        let known = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = known.iter().rev().find(|(own, _)| Arc::ptr_eq(own, schema)) {
            return Ok(found.bind(py).clone());
        }
    }
    let own = Bound::new(py, Schema(schema.clone()))?;
    let made = calls(py)?.schema.bind(py).call1((own,))?;
    let mut known = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    let oldest = if known.len() < SCHEMAS_MAX { None } else { Some(known.remove(0)) };
    known.push((schema.clone(), made.clone().unbind()));
    drop(known);
    // Its end is Python's business: after the lock.
    drop(oldest);
    Ok(made)
}

/// Batches as a `pyarrow.Table`: no copy.
pub(crate) fn table<'py>(
    py: Python<'py>,
    schema: &SchemaRef,
    batches: Vec<FFI_ArrowArray>,
) -> PyResult<Bound<'py, PyAny>> {
    let calls = calls(py)?;
    let schema = self::schema(py, schema)?;
    let list = PyList::empty(py);
    for mut array in batches {
        // PyArrow moves the array out of there, or raises and leaves it to be dropped here.
        let address = (&raw mut array).addr();
        list.append(calls.import_batch.bind(py).call1((address, &schema))?)?;
    }
    calls.from_batches.bind(py).call1((list, schema))
}
