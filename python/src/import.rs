//! Arrays of other libraries, from the C data interface.
//!
//! arrow-rs does the reading. Here is what it leaves to its caller: an array whose shape is
//! not its type's is an error and no panic; arrays of type null that come with a validity
//! buffer (Polars exports such) are taken without it; buffers at odd addresses, which arrow-rs
//! moves, are counted; and a struct of columns whose own rows are null is refused, since a
//! table has no such rows.
#![allow(unsafe_code, reason = "streams of the C interface are callbacks")]

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array, new_empty_array};
use arrow_data::{ArrayData, BufferSpec, layout};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef, UnionFields};

/// Counts the buffers of one table that could not be taken as they were.
pub(crate) type Realigned = Arc<AtomicU64>;

/// An array of `data_type`.
///
/// # Safety
/// As the C data interface demands: the array is of the type, and its pointers are good.
pub(crate) unsafe fn array(
    array: FFI_ArrowArray,
    data_type: &DataType,
    realigned: &AtomicU64,
) -> Result<ArrayRef, ArrowError> {
    realigned.fetch_add(look(&array, data_type)?, Ordering::Relaxed);
    if !has_null(data_type) {
        // SAFETY: the caller's.
        return unsafe { from_ffi_and_data_type(array, data_type.clone()) }.map(make_array);
    }
    // SAFETY: the caller's; the stand-in for null reads no byte.
    let data = unsafe { from_ffi_and_data_type(array, stand_in(data_type)) }?;
    restored(data, data_type).map(make_array)
}

/// Compares an array's shape with its type's. Returns how many of its buffers are not where
/// values of their width have to stand.
fn look(array: &FFI_ArrowArray, data_type: &DataType) -> Result<u64, ArrowError> {
    let wrong = |what: &str, found: usize, expected: usize| {
        let text = format!("a {data_type} array comes with {found} {what}, not {expected}");
        Err(ArrowError::CDataInterface(text))
    };
    let (dictionary, children) = match data_type {
        DataType::Dictionary(_, values) => (Some(values.as_ref()), vec![]),
        other => (None, children(other)),
    };
    if array.num_children() != children.len() {
        return wrong("children", array.num_children(), children.len());
    }
    let mut moved = 0;
    let layout = layout(data_type);
    if *data_type != DataType::Null {
        let first = usize::from(layout.can_contain_null_mask);
        let fewest = first + layout.buffers.len() + usize::from(layout.variadic);
        let found = array.num_buffers();
        if found < fewest {
            return wrong("buffers", found, fewest);
        }
        let rows = array.len().saturating_add(array.offset());
        for (i, spec) in layout.buffers.iter().enumerate() {
            if let BufferSpec::FixedWidth { alignment, .. } = spec
                && rows > 0
                && !array.buffer(first + i).addr().is_multiple_of(*alignment)
            {
                moved += 1;
            }
        }
    }
    for (i, child) in children.into_iter().enumerate() {
        moved += look(array.child(i), child)?;
    }
    if let (Some(values), Some(array)) = (dictionary, array.dictionary()) {
        moved += look(array, values)?;
    }
    Ok(moved)
}

/// The types of the children, in order; of a dictionary, its values'.
fn children(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => vec![field.data_type()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
        DataType::Dictionary(_, values) => vec![values],
        DataType::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
        _ => vec![],
    }
}

/// Whether a type or one within it is such a one.
pub(crate) fn any(data_type: &DataType, such: &dyn Fn(&DataType) -> bool) -> bool {
    such(data_type) || children(data_type).into_iter().any(|child| any(child, such))
}

fn has_null(data_type: &DataType) -> bool {
    any(data_type, &|own| *own == DataType::Null)
}

/// The type with another one in place of null: one that has no values either, and whose
/// validity buffer arrow-rs takes.
fn stand_in(data_type: &DataType) -> DataType {
    let field = |field: &FieldRef| {
        Arc::new(field.as_ref().clone().with_data_type(stand_in(field.data_type())))
    };
    match data_type {
        DataType::Null => DataType::FixedSizeBinary(0),
        DataType::List(child) => DataType::List(field(child)),
        DataType::LargeList(child) => DataType::LargeList(field(child)),
        DataType::ListView(child) => DataType::ListView(field(child)),
        DataType::LargeListView(child) => DataType::LargeListView(field(child)),
        DataType::FixedSizeList(child, size) => DataType::FixedSizeList(field(child), *size),
        DataType::Map(child, sorted) => DataType::Map(field(child), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect::<Fields>()),
        DataType::Union(fields, mode) => {
            let fields = fields.iter().map(|(id, child)| (id, field(child)));
            DataType::Union(fields.collect::<UnionFields>(), *mode)
        }
        DataType::Dictionary(keys, values) => {
            DataType::Dictionary(keys.clone(), Box::new(stand_in(values)))
        }
        DataType::RunEndEncoded(ends, values) => {
            DataType::RunEndEncoded(ends.clone(), field(values))
        }
        other => other.clone(),
    }
}

/// Data of the stand-in's type as what it stands for.
fn restored(data: ArrayData, data_type: &DataType) -> Result<ArrayData, ArrowError> {
    if *data_type == DataType::Null {
        return Ok(ArrayData::new_null(&DataType::Null, data.len()));
    }
    let pairs = data.child_data().iter().zip(children(data_type));
    let children = pairs.map(|(child, own)| restored(child.clone(), own));
    let children = children.collect::<Result<Vec<_>, _>>()?;
    let builder = data.into_builder().data_type(data_type.clone()).child_data(children);
    // SAFETY: what was read, with as many rows of each child; it is looked at as all of
    // another library's arrays are.
    Ok(unsafe { builder.build_unchecked() })
}

/// A stream of another library.
pub(crate) struct Stream {
    stream: FFI_ArrowArrayStream,
    field: FieldRef,
    realigned: Realigned,
}

impl Stream {
    pub(crate) fn new(mut stream: FFI_ArrowArrayStream) -> Result<Stream, ArrowError> {
        let get_schema = stream.get_schema().filter(|_| stream.release().is_some());
        let Some(get_schema) = get_schema else {
            return Err(ArrowError::CDataInterface("the stream has been read".to_owned()));
        };
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: the stream's own callback, with it and a struct to write.
        let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
        if code != 0 {
            return Err(said(&mut stream, code));
        }
        let field = Arc::new(Field::try_from(&schema)?);
        Ok(Stream { stream, field, realigned: Realigned::default() })
    }

    pub(crate) fn data_type(&self) -> &DataType {
        self.field.data_type()
    }

    pub(crate) fn realigned(&self) -> &Realigned {
        &self.realigned
    }

    /// As batches of columns. `None`: its type is not a struct of them.
    pub(crate) fn into_batches(self) -> Result<Batches, DataType> {
        let DataType::Struct(fields) = self.data_type() else {
            return Err(self.data_type().clone());
        };
        let schema = Schema::new(fields.clone()).with_metadata(self.field.metadata().clone());
        Ok(Batches { schema: Arc::new(schema), stream: self })
    }
}

impl Iterator for Stream {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let get_next = self.stream.get_next()?;
        let mut next = FFI_ArrowArray::empty();
        // SAFETY: the stream's own callback, with it and a struct to write.
        let code = unsafe { get_next(&raw mut self.stream, &raw mut next) };
        if code != 0 {
            return Some(Err(said(&mut self.stream, code)));
        }
        if next.is_released() {
            return None;
        }
        // SAFETY: the exporter says that its arrays are of its schema.
        Some(unsafe { array(next, self.field.data_type(), &self.realigned) })
    }
}

/// A stream whose arrays are tables.
pub(crate) struct Batches {
    pub(crate) schema: SchemaRef,
    stream: Stream,
}

impl Batches {
    pub(crate) fn realigned(&self) -> &Realigned {
        self.stream.realigned()
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.stream.next()?.and_then(|array| batch(&array, &self.schema)))
    }
}

/// A struct array as a batch.
pub(crate) fn batch(array: &ArrayRef, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    if array.null_count() > 0 {
        let text = format!("{} of its rows are null as a whole", array.null_count());
        return Err(ArrowError::SchemaError(text));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(array.len()));
    let columns = array.as_struct().columns().to_vec();
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
}

/// Why chunks cannot be joined.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JoinError {
    /// Their offsets would not fit.
    #[error(
        "its chunks have {bytes} bytes together, more than one array of type {data_type} holds \
         ({most}); put a pyarrow.Table of them, which stays in chunks, or cast to Large{data_type}",
        most = i32::MAX
    )]
    TooLong { bytes: u64, data_type: DataType },
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}

/// The chunks of a column in one piece: a dict's columns make one batch.
pub(crate) fn joined(chunks: &[ArrayRef], data_type: &DataType) -> Result<ArrayRef, JoinError> {
    let span = |offsets: &[i32]| match (offsets.first(), offsets.last()) {
        (Some(first), Some(last)) => u64::try_from(last - first).unwrap_or(0),
        _ => 0,
    };
    let bytes = |array: &ArrayRef| match data_type {
        DataType::Utf8 => span(array.as_string::<i32>().value_offsets()),
        DataType::Binary => span(array.as_binary::<i32>().value_offsets()),
        _ => 0,
    };
    let bytes: u64 = chunks.iter().map(bytes).sum();
    if bytes > i32::MAX as u64 {
        return Err(JoinError::TooLong { bytes, data_type: data_type.clone() });
    }
    match chunks {
        [] => Ok(new_empty_array(data_type)),
        [one] => Ok(one.clone()),
        many => {
            let many: Vec<&dyn Array> = many.iter().map(AsRef::as_ref).collect();
            Ok(arrow_select::concat::concat(&many)?)
        }
    }
}

/// What a stream says of its own failure.
fn said(stream: &mut FFI_ArrowArrayStream, code: i32) -> ArrowError {
    let text = stream.get_last_error().and_then(|get_last_error| {
        // SAFETY: the stream's own callback, after one that failed.
        let text = unsafe { get_last_error(&raw mut *stream) };
        if text.is_null() {
            return None;
        }
        // SAFETY: by the interface it is a string, there until the stream's next call.
        Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    });
    let text = text.unwrap_or_else(|| format!("the stream failed with code {code}"));
    ArrowError::CDataInterface(text)
}
