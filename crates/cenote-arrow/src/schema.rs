//! Schemas as bytes: the Arrow IPC schema message, encapsulated, without a body.
//!
//! ```text
//! 0xFFFFFFFF   continuation marker
//! length       i32, little-endian: bytes of the message and its padding
//! message      flatbuffer, `Message` with a `Schema` header (Arrow's Message.fbs)
//! zeros        to a multiple of 8
//! ```
//!
//! Any Arrow library reads it (`pyarrow.ipc.read_schema`). Names, types, nullability,
//! field and schema metadata and the ordered flag of dictionaries come back exactly; what
//! the format cannot express (a dictionary of dictionaries, an empty time zone) is refused
//! when it is written.

use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::root_as_message;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_schema::{ArrowError, Schema};

use crate::MAX_DEPTH;
use crate::physical::{UnsupportedType, check_nesting};

/// Most bytes of an encoded schema: some 100,000 columns.
pub const MAX_SCHEMA_BYTES: usize = 16 << 20;

/// Most fields of a schema, nested ones included.
pub const MAX_SCHEMA_FIELDS: usize = 1 << 18;

/// Most children of a union: type ids are 0 to 127.
const MAX_UNION_CHILDREN: usize = 128;

/// What every message starts with.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Bytes before the flatbuffer: marker and length.
const PREFIX_BYTES: usize = 8;

/// Why a schema cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// More than [`MAX_SCHEMA_BYTES`].
    #[error("a schema of {bytes} bytes exceeds {MAX_SCHEMA_BYTES} bytes")]
    TooLarge {
        /// Encoded length.
        bytes: usize,
    },
    /// Marker or length are not those of a schema message.
    #[error("the bytes are not framed as a schema message")]
    BadFrame,
    /// Not an Arrow message with a schema.
    #[error("the bytes hold no valid schema message")]
    BadMessage,
    /// A schema message with contents that Arrow forbids.
    #[error("the schema message cannot be read")]
    Unreadable(#[source] ArrowError),
    /// A type that chunks do not hold.
    #[error(transparent)]
    Unsupported(#[from] UnsupportedType),
    /// More nesting than [`MAX_DEPTH`].
    #[error("the schema nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// More fields than [`MAX_SCHEMA_FIELDS`].
    #[error("the schema has more than {MAX_SCHEMA_FIELDS} fields")]
    TooManyFields,
    /// More children of a union than there are type ids.
    #[error("a union has {children} children, {MAX_UNION_CHILDREN} at most")]
    UnionTooWide {
        /// Children stated.
        children: usize,
    },
    /// The schema has something that Arrow IPC does not express.
    #[error(
        "{} cannot be written as an arrow schema: it would come back changed, as a dictionary of \
         dictionaries or an empty time zone does; cast it",
        field.as_ref().map_or("the metadata".to_owned(), |name| format!("column {name:?}"))
    )]
    NotExpressible {
        /// First top-level field that differs; `None`: the schema's metadata.
        field: Option<String>,
    },
}

/// Encodes a schema.
///
/// Cost: some microseconds a field; the result is read back and compared.
/// # Errors
/// [`SchemaError::NotExpressible`], [`SchemaError::Unsupported`], the bounds, and
/// [`SchemaError::BadMessage`] for nesting that flatbuffer readers refuse (about 30 levels).
pub fn encode_schema(schema: &Schema) -> Result<Vec<u8>, SchemaError> {
    check_types(schema)?;
    let encoded = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
        schema,
        &mut DictionaryTracker::new(false),
        &IpcWriteOptions::default(),
    );
    let mut message = encoded.ipc_message;
    message.resize(message.len().next_multiple_of(8), 0);
    let too_large = SchemaError::TooLarge { bytes: message.len() + PREFIX_BYTES };
    if message.len() + PREFIX_BYTES > MAX_SCHEMA_BYTES {
        return Err(too_large);
    }
    let length = i32::try_from(message.len()).map_err(|_| too_large)?;
    let mut bytes = Vec::with_capacity(PREFIX_BYTES + message.len());
    bytes.extend_from_slice(&CONTINUATION);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&message);
    let back = decode_schema(&bytes)?;
    if back != *schema {
        let mut pairs = schema.fields().iter().zip(back.fields());
        let field = pairs.find(|(a, b)| a != b).map(|(a, _)| a.name().clone());
        return Err(SchemaError::NotExpressible { field });
    }
    Ok(bytes)
}

/// Decodes what [`encode_schema`] wrote. Total: rubbish gives an error.
///
/// Every type of the result is one that chunks hold.
///
/// Cost: some microseconds a field.
/// # Errors
/// All of [`SchemaError`] but [`SchemaError::NotExpressible`].
pub fn decode_schema(bytes: &[u8]) -> Result<Schema, SchemaError> {
    if bytes.len() > MAX_SCHEMA_BYTES {
        return Err(SchemaError::TooLarge { bytes: bytes.len() });
    }
    let framed = bytes.strip_prefix(&CONTINUATION).and_then(<[u8]>::split_first_chunk);
    let Some((length, message)) = framed else { return Err(SchemaError::BadFrame) };
    if u64::from(u32::from_le_bytes(*length)) != message.len() as u64 {
        return Err(SchemaError::BadFrame);
    }
    let message = root_as_message(message).map_err(|_| SchemaError::BadMessage)?;
    let encoded = message.header_as_schema().ok_or(SchemaError::BadMessage)?;
    let mut left = MAX_SCHEMA_FIELDS;
    for field in encoded.fields().into_iter().flatten() {
        check_field(field, &mut left, 1)?;
    }
    let schema = try_fb_to_schema(encoded).map_err(SchemaError::Unreadable)?;
    check_types(&schema)?;
    Ok(schema)
}

/// Bounds what the conversion to Arrow types takes for granted: a flatbuffer may name one
/// child many times, and a union without type ids makes it panic past the last id.
fn check_field(
    field: arrow_ipc::Field<'_>,
    left: &mut usize,
    depth: usize,
) -> Result<(), SchemaError> {
    if depth > MAX_DEPTH {
        return Err(SchemaError::TooDeep);
    }
    *left = left.checked_sub(1).ok_or(SchemaError::TooManyFields)?;
    let children = field.children().map_or(0, |children| children.len());
    if field.type_type() == arrow_ipc::Type::Union && children > MAX_UNION_CHILDREN {
        return Err(SchemaError::UnionTooWide { children });
    }
    field.children().into_iter().flatten().try_for_each(|child| check_field(child, left, depth + 1))
}

fn check_types(schema: &Schema) -> Result<(), SchemaError> {
    for field in schema.fields() {
        if !check_nesting(field.data_type(), MAX_DEPTH)? {
            return Err(SchemaError::TooDeep);
        }
    }
    Ok(())
}
