//! How each Arrow type lies in memory.
//!
//! Some forty logical types share a dozen physical ones; planning, decoding and building
//! know only those. The order of buffers and children is that of the Arrow columnar format.

use arrow_schema::{DataType, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode};

/// An Arrow type that chunks cannot hold: not valid Arrow (a negative width, a map without
/// entries) or newer than this build.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a chunk cannot hold arrays of type {data_type}")]
pub struct UnsupportedType {
    /// The type, at whatever depth it stood.
    pub data_type: DataType,
}

/// The physical layout behind a logical type.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Physical<'t> {
    /// No bytes at all.
    Null,
    /// Values of `width` bytes.
    Fixed { width: usize },
    /// A bit per value.
    Bits,
    /// Offsets, then the bytes they divide.
    Bytes { offset_width: usize },
    /// 16-byte views, then any number of buffers they point into.
    Views,
    /// Offsets into the child. Lists and maps.
    List { offset_width: usize, child: &'t DataType },
    /// Offsets, then sizes, into the child.
    ListView { offset_width: usize, child: &'t DataType },
    /// `size` child values per row.
    FixedSizeList { size: usize, child: &'t DataType },
    /// Children of the same length.
    Struct { fields: &'t Fields },
    /// Type ids; children of the same length.
    SparseUnion { fields: &'t UnionFields },
    /// Type ids, then offsets into the child of that id.
    DenseUnion { fields: &'t UnionFields },
    /// Keys; the values are the child.
    Dictionary { key_width: usize, values: &'t DataType },
    /// Two children: where each run ends, and each run's value.
    RunEnds { end_width: usize, ends: &'t DataType, values: &'t DataType },
}

impl<'t> Physical<'t> {
    /// The physical layout of `data_type`; looks at one level, not at children.
    pub(crate) fn of(data_type: &'t DataType) -> Result<Self, UnsupportedType> {
        use DataType as T;
        let unsupported = || UnsupportedType { data_type: data_type.clone() };
        Ok(match data_type {
            T::Null => Self::Null,
            T::Boolean => Self::Bits,
            T::Int8 | T::UInt8 => Self::Fixed { width: 1 },
            T::Int16 | T::UInt16 | T::Float16 => Self::Fixed { width: 2 },
            T::Int32 | T::UInt32 | T::Float32 | T::Date32 | T::Decimal32(..) => {
                Self::Fixed { width: 4 }
            }
            T::Time32(TimeUnit::Second | TimeUnit::Millisecond)
            | T::Interval(IntervalUnit::YearMonth) => Self::Fixed { width: 4 },
            T::Int64 | T::UInt64 | T::Float64 | T::Date64 | T::Decimal64(..) => {
                Self::Fixed { width: 8 }
            }
            T::Timestamp(..)
            | T::Time64(TimeUnit::Microsecond | TimeUnit::Nanosecond)
            | T::Duration(_)
            | T::Interval(IntervalUnit::DayTime) => Self::Fixed { width: 8 },
            T::Interval(IntervalUnit::MonthDayNano) | T::Decimal128(..) => {
                Self::Fixed { width: 16 }
            }
            T::Decimal256(..) => Self::Fixed { width: 32 },
            T::FixedSizeBinary(width) => {
                Self::Fixed { width: usize::try_from(*width).map_err(|_| unsupported())? }
            }
            T::Utf8 | T::Binary => Self::Bytes { offset_width: 4 },
            T::LargeUtf8 | T::LargeBinary => Self::Bytes { offset_width: 8 },
            T::Utf8View | T::BinaryView => Self::Views,
            T::List(child) => Self::List { offset_width: 4, child: child.data_type() },
            T::LargeList(child) => Self::List { offset_width: 8, child: child.data_type() },
            T::ListView(child) => Self::ListView { offset_width: 4, child: child.data_type() },
            T::LargeListView(child) => Self::ListView { offset_width: 8, child: child.data_type() },
            T::Map(entries, _) => match entries.data_type() {
                T::Struct(fields) if fields.len() == 2 => {
                    Self::List { offset_width: 4, child: entries.data_type() }
                }
                _ => return Err(unsupported()),
            },
            T::FixedSizeList(child, size) => Self::FixedSizeList {
                size: usize::try_from(*size).map_err(|_| unsupported())?,
                child: child.data_type(),
            },
            T::Struct(fields) => Self::Struct { fields },
            T::Union(fields, UnionMode::Sparse) => Self::SparseUnion { fields },
            T::Union(fields, UnionMode::Dense) => Self::DenseUnion { fields },
            T::Dictionary(keys, values) if keys.is_dictionary_key_type() => match Self::of(keys)? {
                Self::Fixed { width } => Self::Dictionary { key_width: width, values },
                _ => return Err(unsupported()),
            },
            T::RunEndEncoded(ends, values) => {
                let end_width = match ends.data_type() {
                    T::Int16 => 2,
                    T::Int32 => 4,
                    T::Int64 => 8,
                    _ => return Err(unsupported()),
                };
                Self::RunEnds { end_width, ends: ends.data_type(), values: values.data_type() }
            }
            _ => return Err(unsupported()),
        })
    }

    /// Whether arrays of this layout may carry a validity bitmap.
    pub(crate) fn has_validity(&self) -> bool {
        !matches!(
            self,
            Self::Null | Self::SparseUnion { .. } | Self::DenseUnion { .. } | Self::RunEnds { .. }
        )
    }

    /// The types of the children, in order. Allocates for nested types only.
    pub(crate) fn children(&self) -> Vec<&'t DataType> {
        match *self {
            Self::Null | Self::Fixed { .. } | Self::Bits | Self::Bytes { .. } | Self::Views => {
                Vec::new()
            }
            Self::List { child, .. }
            | Self::ListView { child, .. }
            | Self::FixedSizeList { child, .. } => vec![child],
            Self::Struct { fields } => fields.iter().map(|field| field.data_type()).collect(),
            Self::SparseUnion { fields } | Self::DenseUnion { fields } => {
                fields.iter().map(|(_, field)| field.data_type()).collect()
            }
            Self::Dictionary { values, .. } => vec![values],
            Self::RunEnds { ends, values, .. } => vec![ends, values],
        }
    }

    /// Buffers after the validity bitmap; views may have more than this.
    pub(crate) fn buffer_count(&self) -> usize {
        match self {
            Self::Null
            | Self::FixedSizeList { .. }
            | Self::Struct { .. }
            | Self::RunEnds { .. } => 0,
            Self::Fixed { .. }
            | Self::Bits
            | Self::Views
            | Self::List { .. }
            | Self::SparseUnion { .. }
            | Self::Dictionary { .. } => 1,
            Self::Bytes { .. } | Self::ListView { .. } | Self::DenseUnion { .. } => 2,
        }
    }
}

/// Whether `data_type` has at most `depth` levels, all of them types that chunks hold.
pub(crate) fn check_nesting(data_type: &DataType, depth: usize) -> Result<bool, UnsupportedType> {
    if depth == 0 {
        return Ok(false);
    }
    for child in Physical::of(data_type)?.children() {
        if !check_nesting(child, depth - 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}
