//! Why a layout is refused.

use arrow_schema::{ArrowError, DataType};

use crate::physical::UnsupportedType;
use crate::{MAX_BUFFERS, MAX_DEPTH, MAX_LENGTH, MAX_NODES};

/// Why an encoded layout is not one of an array of the given type in the given chunk.
///
/// From a manifest that passed its checksum any of these means that writer and reader
/// disagree about the schema or the chunk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The bytes end early.
    #[error("the layout ends at byte {at}, within a node")]
    Truncated {
        /// Position in the encoded layout.
        at: usize,
    },
    /// Bytes follow the layout.
    #[error("{extra} bytes follow the layout")]
    TrailingBytes {
        /// How many.
        extra: usize,
    },
    /// A layout version that this build does not read.
    #[error("layout version {version} is not known")]
    UnknownVersion {
        /// The version found.
        version: u8,
    },
    /// Not a shortest LEB128 number of 64 bits.
    #[error("no valid number at byte {at} of the layout")]
    BadNumber {
        /// Position in the encoded layout.
        at: usize,
    },
    /// Flags that this build does not know, or validity where the type has none.
    #[error("flags {flags:#04x} are not valid for a {data_type} array")]
    BadFlags {
        /// The flags found.
        flags: u8,
        /// Type of the array.
        data_type: DataType,
    },
    /// A type that chunks do not hold.
    #[error(transparent)]
    Unsupported(#[from] UnsupportedType),
    /// More nesting than [`MAX_DEPTH`].
    #[error("the layout nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// More arrays than [`MAX_NODES`].
    #[error("the layout has more than {MAX_NODES} arrays")]
    TooManyNodes,
    /// More buffers than [`MAX_BUFFERS`].
    #[error("the layout has more than {MAX_BUFFERS} buffers")]
    TooManyBuffers,
    /// More rows than [`MAX_LENGTH`].
    #[error("an array of {length} rows exceeds {MAX_LENGTH} rows")]
    TooLong {
        /// Rows stated.
        length: u64,
    },
    /// The number of rows is not what the partition or the parent array needs.
    #[error("{data_type} array has {found} rows, {expected} expected")]
    WrongLength {
        /// Type of the array.
        data_type: DataType,
        /// Rows needed.
        expected: u64,
        /// Rows stated.
        found: u64,
    },
    /// Nulls without a bitmap, a bitmap without nulls, or more nulls than rows.
    #[error("{null_count} nulls in {length} rows do not fit the presence of a bitmap")]
    BadNullCount {
        /// Nulls stated.
        null_count: u64,
        /// Rows stated.
        length: u64,
    },
    /// Not the type's number of buffers.
    #[error("{data_type} array has {found} buffers, {expected} expected")]
    WrongBufferCount {
        /// Type of the array.
        data_type: DataType,
        /// Buffers after validity that the type has (views: the fewest).
        expected: usize,
        /// Buffers stated.
        found: u64,
    },
    /// Not the type's number of children.
    #[error("{data_type} array has {found} children, {expected} expected")]
    WrongChildCount {
        /// Type of the array.
        data_type: DataType,
        /// Children that the type has.
        expected: usize,
        /// Children stated.
        found: u64,
    },
    /// A buffer's length does not fit type and rows.
    #[error("buffer {index} of a {data_type} array has {found} bytes, {expected} expected")]
    WrongBufferLength {
        /// Type of the array.
        data_type: DataType,
        /// Index after validity; validity itself is counted as 0 as well.
        index: usize,
        /// Bytes needed.
        expected: u64,
        /// Bytes stated.
        found: u64,
    },
    /// A buffer passes the chunk's end.
    #[error("a buffer of {length} bytes at line {line} passes the chunk's end at {chunk_len}")]
    OutOfBounds {
        /// Offset divided by 64.
        line: u64,
        /// Bytes of the buffer.
        length: u64,
        /// Bytes of the chunk.
        chunk_len: u64,
    },
    /// A buffer starts before the end of the one before it.
    #[error("the buffer at line {line} overlaps the one before it")]
    Overlap {
        /// Offset divided by 64.
        line: u64,
    },
}

/// A chunk's content is not valid Arrow of its type.
#[derive(Debug, thiserror::Error)]
#[error("the chunk's content is not a valid {data_type} array")]
pub struct ContentError {
    /// The column's type.
    pub data_type: DataType,
    /// What Arrow's validation found.
    pub source: ArrowError,
}
