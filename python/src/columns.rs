//! A dict of columns as one batch: NumPy arrays, buffers, lists, Arrow arrays.
//!
//! NumPy is not linked: `cenote._columns` says what an array is and gives its bytes as a
//! buffer. Numbers are wrapped where they are, and copied once, into the pool.
#![allow(unsafe_code, reason = "buffers of other Python objects become Arrow's")]

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, StringBuilder};
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, PrimitiveArray,
    RecordBatch, RecordBatchOptions, UInt64Array, make_array, new_empty_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyMapping, PyString};

use crate::capsule::{self, speaks};
use crate::import;
use crate::raise::{argument, unsupported};
use crate::schema::{column_name, numpy_type};
use crate::selection::type_name;

/// NumPy's "not a time".
const NAT: i64 = i64::MIN;

/// A column that cannot be read: what is wrong with it.
enum Fault {
    Type(String),
    Value(String),
    Python(PyErr),
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Fault {
        Fault::Python(error)
    }
}

/// A mapping of names to columns of one length as a batch.
pub(crate) fn batch(
    columns: &Bound<'_, PyMapping>,
    realigned: &AtomicU64,
) -> PyResult<RecordBatch> {
    let py = columns.py();
    let (mut fields, mut arrays) = (Vec::new(), Vec::<ArrayRef>::new());
    for item in columns.items()?.iter() {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let name = column_name(&name)?;
        let array = column(&value, realigned).map_err(|fault| match fault {
            Fault::Type(text) => unsupported(py, &format!("column {name:?}: {text}")),
            Fault::Value(text) => argument(py, &format!("column {name:?}: {text}")),
            Fault::Python(error) => error,
        })?;
        if let Some(first) = arrays.first()
            && first.len() != array.len()
        {
            let first_name: &Field = &fields[0];
            let text = format!(
                "column {name:?} has {} rows, column {:?} has {}",
                array.len(),
                first_name.name(),
                first.len()
            );
            return Err(argument(py, &text));
        }
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let rows = arrays.first().map_or(0, |array| array.len());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(|error| argument(py, &error.to_string()))
}

fn column(value: &Bound<'_, PyAny>, realigned: &AtomicU64) -> Result<ArrayRef, Fault> {
    let py = value.py();
    let arrow = |error: arrow_schema::ArrowError| Fault::Type(error.to_string());
    if speaks(value, "__arrow_c_array__")? {
        return checked(capsule::array(value, realigned)?.map_err(arrow)?.0);
    }
    if speaks(value, "__arrow_c_stream__")? {
        let mut stream = capsule::arrays(value)?.map_err(arrow)?;
        let chunks = stream.by_ref().collect::<Result<Vec<_>, _>>().map_err(arrow)?;
        realigned.fetch_add(stream.realigned().load(Ordering::Relaxed), Ordering::Relaxed);
        let chunks = chunks.into_iter().map(checked).collect::<Result<Vec<_>, _>>()?;
        return import::joined(&chunks, stream.data_type())
            .map_err(|e| Fault::Value(e.to_string()));
    }
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        return Err(Fault::Type(format!(
            "{} is one value, not a column of them",
            type_name(value)
        )));
    }
    let described = py.import("cenote._columns")?.call_method1("describe", (value,))?;
    let (kind, data, width): (String, Bound<'_, PyAny>, usize) = match described.extract() {
        Ok(described) => described,
        Err(_) => {
            let (problem, text): (String, String) = described.extract()?;
            return Err(if problem == "value" { Fault::Value(text) } else { Fault::Type(text) });
        }
    };
    match kind.as_str() {
        "list" => from_list(data.cast::<PyList>().map_err(PyErr::from)?),
        "text" => text(&Bytes::of(&data)?, width),
        "bytes" => bytes(&Bytes::of(&data)?, width),
        "buffer" => {
            let bytes = Bytes::of(&data)?;
            let name = bytes.numpy_name().ok_or_else(|| {
                Fault::Type(format!("items of format {:?} are none of Arrow's", bytes.0.format()))
            })?;
            fixed(bytes, &name)
        }
        name => fixed(Bytes::of(&data)?, name),
    }
}

/// Another library's array, looked at as `feed` looks at tables.
fn checked(array: ArrayRef) -> Result<ArrayRef, Fault> {
    if !array.data_type().is_primitive() {
        let outcome = array.to_data().validate_full();
        outcome.map_err(|error| Fault::Value(format!("it is not valid: {error}")))?;
    }
    Ok(array)
}

/// Another object's buffer: contiguous, of one dimension unless it is of characters.
struct Bytes(PyUntypedBuffer);

impl Bytes {
    fn of(object: &Bound<'_, PyAny>) -> Result<Bytes, Fault> {
        let buffer = PyUntypedBuffer::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(Fault::Value("its bytes do not stand together".to_owned()));
        }
        Ok(Bytes(buffer))
    }

    fn numpy_name(&self) -> Option<String> {
        use pyo3::buffer::ElementType::{Bool, Float, SignedInteger, UnsignedInteger};
        if self.0.dimensions() != 1 {
            return None;
        }
        Some(match pyo3::buffer::ElementType::from_format(self.0.format()) {
            Bool => "bool".to_owned(),
            SignedInteger { bytes } => format!("int{}", bytes * 8),
            UnsignedInteger { bytes } => format!("uint{}", bytes * 8),
            Float { bytes } => format!("float{}", bytes * 8),
            _ => return None,
        })
    }

    fn bytes(&self) -> &[u8] {
        let Some(start) = NonNull::new(self.0.buf_ptr().cast::<u8>()) else { return &[] };
        // SAFETY: the buffer is contiguous and `self` holds it; a thread that writes to it
        // meanwhile gets what it asked for: some mixture of old and new values.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), self.0.len_bytes()) }
    }

    fn items(&self) -> usize {
        self.0.item_count()
    }

    /// As an Arrow buffer, which keeps the object.
    fn into_buffer(self) -> Buffer {
        let length = self.0.len_bytes();
        match NonNull::new(self.0.buf_ptr().cast::<u8>()) {
            Some(start) if length > 0 => {
                // SAFETY: the bytes are there as long as `self`, which the buffer keeps.
                unsafe { Buffer::from_custom_allocation(start, length, Arc::new(Held(self))) }
            }
            _ => Buffer::from(&[] as &[u8]),
        }
    }
}

/// What an Arrow buffer keeps of a Python object's. The Python object is let go of by
/// whichever thread drops it; `PyUntypedBuffer` takes Python's lock for that.
struct Held(#[expect(dead_code, reason = "kept for its end")] Bytes);

impl std::panic::RefUnwindSafe for Held {}

/// Numbers and times, of the NumPy type `name`.
fn fixed(bytes: Bytes, name: &str) -> Result<ArrayRef, Fault> {
    let data_type =
        numpy_type(name).ok_or_else(|| Fault::Type(format!("{name} is none of Arrow's types")))?;
    let rows = bytes.items();
    match &data_type {
        DataType::Boolean => {
            let values: BooleanBuffer = bytes.bytes().iter().map(|byte| *byte != 0).collect();
            return Ok(Arc::new(BooleanArray::new(values, None)));
        }
        // Days come as 64 bits from NumPy.
        DataType::Date32 => return days(&times(bytes)),
        DataType::Timestamp(..) | DataType::Duration(_) => {
            let array = times(bytes);
            let data = array.into_data().into_builder().data_type(data_type);
            return data.build().map(make_array).map_err(|error| Fault::Type(error.to_string()));
        }
        _ => {}
    }
    let data = arrow_data_of(&data_type, rows, bytes.into_buffer());
    data.map_err(|error| Fault::Type(error.to_string()))
}

fn arrow_data_of(
    data_type: &DataType,
    rows: usize,
    buffer: Buffer,
) -> Result<ArrayRef, arrow_schema::ArrowError> {
    // A buffer at an odd address (a slice of a memoryview) is moved.
    let width = data_type.primitive_width().unwrap_or(1);
    let buffer = if buffer.as_ptr().addr().is_multiple_of(width) {
        buffer
    } else {
        Buffer::from_slice_ref(buffer.as_slice())
    };
    let empty = new_empty_array(data_type).into_data();
    Ok(make_array(empty.into_builder().len(rows).buffers(vec![buffer]).build()?))
}

/// 64-bit times; NumPy's "not a time" is missing.
fn times(bytes: Bytes) -> PrimitiveArray<Int64Type> {
    let rows = bytes.items();
    let buffer = bytes.into_buffer();
    let buffer = if buffer.as_ptr().addr().is_multiple_of(8) {
        buffer
    } else {
        Buffer::from_slice_ref(buffer.as_slice())
    };
    let values = ScalarBuffer::<i64>::new(buffer, 0, rows);
    let nulls =
        values.contains(&NAT).then(|| values.iter().map(|v| *v != NAT).collect::<NullBuffer>());
    PrimitiveArray::new(values, nulls)
}

fn days(times: &PrimitiveArray<Int64Type>) -> Result<ArrayRef, Fault> {
    let days = times.iter().map(|day| day.map(i32::try_from).transpose());
    let days: Result<Date32Array, _> = days.collect();
    let days =
        days.map_err(|_| Fault::Value("a day is beyond what 32 bits can count".to_owned()))?;
    Ok(Arc::new(days))
}

/// NumPy's fixed-width text: `width` UCS-4 characters an item, little-endian, padded with NUL.
fn text(bytes: &Bytes, width: usize) -> Result<ArrayRef, Fault> {
    let stride = width * 4;
    let count = bytes.bytes().len().checked_div(stride).unwrap_or_else(|| bytes.items());
    let mut builder = StringBuilder::with_capacity(count, bytes.bytes().len() / 4);
    let mut item = String::with_capacity(stride);
    for row in 0..count {
        item.clear();
        let raw = &bytes.bytes()[row * stride..(row + 1) * stride];
        for unit in raw.chunks_exact(4) {
            let code = u32::from_le_bytes([unit[0], unit[1], unit[2], unit[3]]);
            item.push(char::from_u32(code).ok_or_else(|| {
                Fault::Value(format!("row {row} has {code:#x}, which is no character of Unicode"))
            })?);
        }
        builder.append_value(item.trim_end_matches('\0'));
    }
    Ok(Arc::new(builder.finish()))
}

/// NumPy's fixed-width bytes, padded with NUL.
fn bytes(bytes: &Bytes, width: usize) -> Result<ArrayRef, Fault> {
    let count = bytes.bytes().len().checked_div(width).unwrap_or_else(|| bytes.items());
    let mut builder = BinaryBuilder::with_capacity(count, bytes.bytes().len());
    for row in 0..count {
        let raw = &bytes.bytes()[row * width..(row + 1) * width];
        let end = raw.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        builder.append_value(&raw[..end]);
    }
    Ok(Arc::new(builder.finish()))
}

/// What the items of a list are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    Nothing,
    Bool,
    Int,
    Float,
    Text,
    Bytes,
}

fn from_list(list: &Bound<'_, PyList>) -> Result<ArrayRef, Fault> {
    let mut kind = Item::Nothing;
    for (row, item) in list.iter().enumerate() {
        let found = item_kind(&item).ok_or_else(|| {
            Fault::Type(format!("row {row} is {}, which no column can hold", type_name(&item)))
        })?;
        kind = match (kind, found) {
            (kind, Item::Nothing) => kind,
            (Item::Nothing, found) => found,
            (kind, found) if kind == found => kind,
            (Item::Int, Item::Float) | (Item::Float, Item::Int) => Item::Float,
            _ => {
                let text = format!("row {row} is {}, unlike those before it", type_name(&item));
                return Err(Fault::Type(text));
            }
        };
    }
    let extracted = |row: usize, error: PyErr| Fault::Value(format!("row {row}: {error}"));
    match kind {
        Item::Nothing => Ok(Arc::new(arrow_array::NullArray::new(list.len()))),
        Item::Bool => {
            let mut builder = BooleanBuilder::with_capacity(list.len());
            for item in list {
                builder.append_option(item.extract::<Option<bool>>()?);
            }
            Ok(Arc::new(builder.finish()))
        }
        Item::Int => ints(list),
        Item::Float => {
            let values: Result<Float64Array, Fault> = list
                .iter()
                .enumerate()
                .map(|(row, item)| item.extract::<Option<f64>>().map_err(|e| extracted(row, e)))
                .collect();
            Ok(Arc::new(values?))
        }
        Item::Text => {
            let mut builder = StringBuilder::new();
            for (row, item) in list.iter().enumerate() {
                match item.cast::<PyString>() {
                    Ok(text) => builder.append_value(text.to_str().map_err(|e| extracted(row, e))?),
                    Err(_) => builder.append_null(),
                }
            }
            Ok(Arc::new(builder.finish()))
        }
        Item::Bytes => {
            let mut builder = BinaryBuilder::new();
            for item in list {
                builder.append_option(item.cast::<PyBytes>().ok().map(|bytes| bytes.as_bytes()));
            }
            Ok(Arc::new(builder.finish()))
        }
    }
}

/// 64 bits: signed, or unsigned where a number asks for it.
fn ints(list: &Bound<'_, PyList>) -> Result<ArrayRef, Fault> {
    let signed: Result<Int64Array, PyErr> =
        list.iter().map(|item| item.extract::<Option<i64>>()).collect();
    if let Ok(array) = signed {
        return Ok(Arc::new(array));
    }
    let unsigned: Result<UInt64Array, PyErr> =
        list.iter().map(|item| item.extract::<Option<u64>>()).collect();
    match unsigned {
        Ok(array) => Ok(Arc::new(array)),
        Err(_) => Err(Fault::Value("a number is beyond 64 bits".to_owned())),
    }
}

fn item_kind(item: &Bound<'_, PyAny>) -> Option<Item> {
    Some(if item.is_none() {
        Item::Nothing
    } else if item.is_instance_of::<PyString>() {
        Item::Text
    } else if item.is_instance_of::<PyFloat>() {
        Item::Float
    } else if item.is_instance_of::<PyBool>() {
        Item::Bool
    } else if item.is_instance_of::<PyInt>() {
        Item::Int
    } else if item.is_instance_of::<PyBytes>() {
        Item::Bytes
    } else {
        return None;
    })
}

/// The name by which a column of this type is filled in place, and bytes a value; `None` for
/// types whose values are not numbers of one width.
pub(crate) fn in_place(data_type: &DataType) -> Option<(&'static std::ffi::CStr, usize)> {
    Some(match data_type {
        DataType::Int8 => (c"b", 1),
        DataType::Int16 => (c"h", 2),
        DataType::Int32 | DataType::Date32 | DataType::Time32(_) => (c"i", 4),
        DataType::Int64
        | DataType::Date64
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_) => (c"q", 8),
        DataType::UInt8 => (c"B", 1),
        DataType::UInt16 => (c"H", 2),
        DataType::UInt32 => (c"I", 4),
        DataType::UInt64 => (c"Q", 8),
        DataType::Float16 => (c"e", 2),
        DataType::Float32 => (c"f", 4),
        DataType::Float64 => (c"d", 8),
        other => (c"B", other.primitive_width().filter(|width| *width > 8).map(|_| 1)?),
    })
}

/// NumPy's name of the values that are filled in place.
pub(crate) fn numpy_name(data_type: &DataType) -> Option<String> {
    use arrow_schema::TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let unit = |unit: &arrow_schema::TimeUnit| match unit {
        Second => "s",
        Millisecond => "ms",
        Microsecond => "us",
        Nanosecond => "ns",
    };
    Some(match data_type {
        DataType::Timestamp(u, _) => format!("datetime64[{}]", unit(u)),
        DataType::Date64 => "datetime64[ms]".to_owned(),
        DataType::Duration(u) => format!("timedelta64[{}]", unit(u)),
        _ => return None,
    })
}
