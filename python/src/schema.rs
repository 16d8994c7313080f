//! A schema, for programs without PyArrow; and schemas that Python describes.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef, TimeUnit};
use cenote::Error;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyMapping, PyString};

use crate::capsule::{self, speaks};
use crate::door::at_once;
use crate::raise::{argument, unsupported};
use crate::selection::type_name;

/// Names and types of a frame's columns.
///
/// What `Frame.schema` is where PyArrow is not installed. Any Arrow library takes it, by
/// `__arrow_c_schema__`.
#[pyclass(frozen, module = "cenote")]
#[derive(Debug)]
pub(crate) struct Schema(pub(crate) SchemaRef);

#[pymethods]
impl Schema {
    /// Names of the columns, in order.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Arrow types of the columns, in order, as text.
    #[getter]
    fn types(&self) -> Vec<String> {
        self.0.fields().iter().map(|field| field.data_type().to_string()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.fields().len()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Schema>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        // Equal schemas have equal names.
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.names().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let fields = self.0.fields().iter().map(|f| format!("{}: {}", f.name(), f.data_type()));
        format!("cenote.Schema({})", fields.collect::<Vec<_>>().join(", "))
    }

    /// The schema as a PyCapsule `arrow_schema`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        at_once(py, capsule::export_schema(py, &self.0)?.map_err(Error::from))
    }
}

/// The schema that `writer` is given: an object with `__arrow_c_schema__`, or a mapping of
/// column names to NumPy's names of types.
pub(crate) fn described(schema: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    let py = schema.py();
    if speaks(schema, "__arrow_c_schema__")? {
        return Ok(Arc::new(at_once(py, capsule::schema(schema)?.map_err(Error::from))?));
    }
    let Ok(mapping) = schema.cast::<PyMapping>() else {
        let text = format!(
            "a schema is an object with __arrow_c_schema__ (pyarrow.Schema) or a dict of column \
             names and NumPy types, not {}",
            type_name(schema)
        );
        return Err(unsupported(py, &text));
    };
    let mut fields = Vec::new();
    for item in mapping.items()?.iter() {
        let (name, data_type): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let name = column_name(&name)?;
        let text = data_type.str()?;
        let found = described_type(py, &data_type, text.to_str()?)?;
        let data_type = found.ok_or_else(|| {
            let text = format!("column {name:?}: {text} is no type that a column can have here");
            unsupported(py, &text)
        })?;
        fields.push(Field::new(name, data_type, true));
    }
    Ok(Arc::new(ArrowSchema::new(fields)))
}

fn described_type(
    py: Python<'_>,
    described: &Bound<'_, PyAny>,
    text: &str,
) -> PyResult<Option<DataType>> {
    if described.is_instance_of::<PyString>()
        && let Some(found) = numpy_type(text)
    {
        return Ok(Some(found));
    }
    // NumPy knows more spellings: classes, dtypes, "f8".
    let Ok(numpy) = py.import("numpy") else { return Ok(None) };
    match numpy.getattr("dtype")?.call1((described,)) {
        Ok(dtype) => Ok(numpy_type(dtype.str()?.to_str()?)),
        Err(error) => Err(argument(py, &error.value(py).to_string())),
    }
}

/// The Arrow type of NumPy's name of a type.
pub(crate) fn numpy_type(name: &str) -> Option<DataType> {
    let unit = |name: &str| {
        Some(match name {
            "s" => TimeUnit::Second,
            "ms" => TimeUnit::Millisecond,
            "us" => TimeUnit::Microsecond,
            "ns" => TimeUnit::Nanosecond,
            _ => return None,
        })
    };
    if let Some(rest) = name.strip_prefix("datetime64[").and_then(|n| n.strip_suffix(']')) {
        return if rest == "D" {
            Some(DataType::Date32)
        } else {
            unit(rest).map(|unit| DataType::Timestamp(unit, None))
        };
    }
    if let Some(rest) = name.strip_prefix("timedelta64[").and_then(|n| n.strip_suffix(']')) {
        return unit(rest).map(DataType::Duration);
    }
    Some(match name {
        "bool" => DataType::Boolean,
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "int64" => DataType::Int64,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "uint32" => DataType::UInt32,
        "uint64" => DataType::UInt64,
        "float16" => DataType::Float16,
        "float32" => DataType::Float32,
        "float64" => DataType::Float64,
        "str" | "string" => DataType::Utf8,
        "bytes" | "binary" => DataType::Binary,
        _ => return None,
    })
}

/// The name of a column that Python gives.
pub(crate) fn column_name(name: &Bound<'_, PyAny>) -> PyResult<String> {
    match name.cast::<PyString>() {
        Ok(name) => Ok(name.to_str()?.to_owned()),
        Err(_) => {
            let text =
                format!("a column's name is a str, not {} ({})", name.repr()?, type_name(name));
            Err(unsupported(name.py(), &text))
        }
    }
}
