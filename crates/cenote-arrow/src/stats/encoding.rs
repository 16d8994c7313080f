//! The statistics of a partition's columns as bytes.
//!
//! ```text
//! statistics = version column × columns   version: one byte, 1; nothing follows the columns
//! column     = flags                      one byte
//!              [null_count]               if flagged
//!              [min max]                  if there are bounds
//! flags      = bit 0                      a null count follows
//!              bits 1-2                   bounds: 0 not known, 1 there is no value, 2 they follow
//!              bit 3                      some value is NaN
//!              bit 4, bit 5               min, max is cut short
//!              bits 6-7                   zero
//! min, max   = by type
//!              booleans                   one byte, 0 or 1
//!              integers, decimals,        little-endian, as wide as a value
//!              dates, times, floats
//!              text, bytes                length (at most 32), bytes
//!              dictionaries               as their values
//! ```
//!
//! Null count and length are numbers as in a column layout. Types are not stored: the schema
//! has them. No bytes at all: nothing is known of the partition.

use std::cmp::Ordering;

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::Float16Type;
use arrow_buffer::i256;
use arrow_schema::{DataType, Schema};

use super::{Bound, Bounds, ColumnStats, Kind, MAX_BOUND_BYTES};
use crate::layout::LayoutError;
use crate::layout::encoding::{Reader, put_varint};

/// Of the encoding.
const VERSION: u8 = 1;

const HAS_NULLS: u8 = 1;
const NO_VALUE: u8 = 1 << 1;
const BETWEEN: u8 = 2 << 1;
const BOUNDS: u8 = 3 << 1;
const HAS_NAN: u8 = 1 << 3;
const MIN_CUT: u8 = 1 << 4;
const MAX_CUT: u8 = 1 << 5;
const UNUSED: u8 = 3 << 6;

/// Why bytes are no statistics of a partition.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// They end early, or hold a number that is none.
    #[error("bad statistics: {0}")]
    Bytes(#[from] LayoutError),
    /// Another version's.
    #[error("statistics of version {found}; this build reads version {VERSION}")]
    Version {
        /// As read.
        found: u8,
    },
    /// Bytes after the last column.
    #[error("{extra} bytes follow the statistics")]
    TooLong {
        /// How many.
        extra: usize,
    },
    /// A column's are impossible.
    #[error("impossible statistics of column {column}: {what}")]
    Column {
        /// Which, from 0.
        column: usize,
        /// In what way.
        what: &'static str,
    },
}

/// Encodes what is known of each column, in the order of the schema's.
///
/// A bound that is not of its column's type is left out.
#[must_use]
pub fn encode_statistics<'a>(
    columns: impl IntoIterator<Item = (&'a DataType, &'a ColumnStats)>,
) -> Vec<u8> {
    let mut out = vec![VERSION];
    for (data_type, stats) in columns {
        let at = out.len();
        let nan = if stats.nan { HAS_NAN } else { 0 };
        out.push(nan);
        if let Some(nulls) = stats.nulls {
            out[at] |= HAS_NULLS;
            put_varint(&mut out, nulls);
        }
        match &stats.bounds {
            Bounds::Unknown => {}
            Bounds::NoValue => out[at] |= NO_VALUE,
            Bounds::Between { min, max, min_cut, max_cut } => {
                let (kind, before) = (Kind::of(data_type), out.len());
                if put_bound(&mut out, kind, min) && put_bound(&mut out, kind, max) {
                    out[at] |= BETWEEN;
                    out[at] |= if *min_cut { MIN_CUT } else { 0 };
                    out[at] |= if *max_cut { MAX_CUT } else { 0 };
                } else {
                    out.truncate(before);
                }
            }
        }
    }
    out
}

fn put_bound(out: &mut Vec<u8>, kind: Kind, bound: &Bound) -> bool {
    match (kind, bound) {
        (Kind::Whole { width, .. }, Bound::Whole(value)) => {
            out.extend_from_slice(&value.to_le_bytes()[..width]);
        }
        (Kind::Float { width: 8 }, Bound::Float(value)) => out.extend(value.to_le_bytes()),
        // Exact: they were widened.
        (Kind::Float { width: 4 }, Bound::Float(value)) => {
            #[expect(clippy::cast_possible_truncation, reason = "it was an f32")]
            out.extend((*value as f32).to_le_bytes());
        }
        (Kind::Float { .. }, Bound::Float(value)) => {
            out.extend(Half::from_f64(*value).to_le_bytes());
        }
        (Kind::Bytes, Bound::Bytes(bytes)) if bytes.len() <= MAX_BOUND_BYTES => {
            put_varint(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        _ => return false,
    }
    true
}

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// Decodes the statistics of a partition of `rows` rows.
///
/// # Errors
/// [`StatsError`]: the bytes are not statistics of these columns. Any bytes may be given.
pub fn decode_statistics(
    bytes: &[u8],
    schema: &Schema,
    rows: u64,
) -> Result<Vec<ColumnStats>, StatsError> {
    let fields = schema.fields();
    if bytes.is_empty() {
        return Ok(vec![ColumnStats::default(); fields.len()]);
    }
    let mut reader = Reader::new(bytes);
    let found = reader.byte()?;
    if found != VERSION {
        return Err(StatsError::Version { found });
    }
    let mut columns = Vec::with_capacity(fields.len());
    for (column, field) in fields.iter().enumerate() {
        let stats = read_column(&mut reader, Kind::of(field.data_type()), rows)?;
        columns.push(stats.map_err(|what| StatsError::Column { column, what })?);
    }
    match reader.remaining() {
        0 => Ok(columns),
        extra => Err(StatsError::TooLong { extra }),
    }
}

fn read_column(
    reader: &mut Reader<'_>,
    kind: Kind,
    rows: u64,
) -> Result<Result<ColumnStats, &'static str>, LayoutError> {
    let flags = reader.byte()?;
    if flags & UNUSED != 0 {
        return Ok(Err("unknown flags"));
    }
    let nulls = if flags & HAS_NULLS != 0 { Some(reader.varint()?) } else { None };
    if nulls.is_some_and(|nulls| nulls > rows) {
        return Ok(Err("more nulls than rows"));
    }
    let nan = flags & HAS_NAN != 0;
    let kind_of_nan = matches!(kind, Kind::Float { .. });
    let (min_cut, max_cut) = (flags & MIN_CUT != 0, flags & MAX_CUT != 0);
    if nan && !kind_of_nan || (min_cut || max_cut) && kind != Kind::Bytes {
        return Ok(Err("flags of another type"));
    }
    let bounds = match flags & BOUNDS {
        0 => Bounds::Unknown,
        NO_VALUE => Bounds::NoValue,
        BETWEEN => {
            let (Some(min), Some(max)) = (read_bound(reader, kind)?, read_bound(reader, kind)?)
            else {
                return Ok(Err("a bound that is no value of its type"));
            };
            if !min.compare(&max).is_some_and(Ordering::is_le) {
                return Ok(Err("the least value is greater than the greatest"));
            }
            Bounds::Between { min, max, min_cut, max_cut }
        }
        _ => return Ok(Err("unknown flags")),
    };
    if (min_cut || max_cut) && !matches!(bounds, Bounds::Between { .. }) {
        return Ok(Err("no bounds that could be cut"));
    }
    Ok(Ok(ColumnStats { nulls, nan, bounds }))
}

fn read_bound(reader: &mut Reader<'_>, kind: Kind) -> Result<Option<Bound>, LayoutError> {
    Ok(match kind {
        Kind::Whole { width, signed } => {
            let bytes = reader.bytes(width)?;
            let negative = signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
            let mut wide = [if negative { u8::MAX } else { 0 }; 32];
            wide[..width].copy_from_slice(bytes);
            Some(Bound::Whole(i256::from_le_bytes(wide)))
        }
        Kind::Float { width } => {
            let bytes = reader.bytes(width)?;
            let value = match (bytes.first_chunk::<8>(), bytes.first_chunk::<4>()) {
                (Some(bytes), _) => f64::from_le_bytes(*bytes),
                (None, Some(bytes)) => f64::from(f32::from_le_bytes(*bytes)),
                (None, None) => {
                    bytes.first_chunk().map_or(f64::NAN, |b| Half::from_le_bytes(*b).to_f64())
                }
            };
            (!value.is_nan()).then_some(Bound::Float(value))
        }
        Kind::Bytes => match usize::try_from(reader.varint()?) {
            Ok(length) if length <= MAX_BOUND_BYTES => {
                Some(Bound::Bytes(reader.bytes(length)?.to_vec()))
            }
            _ => None,
        },
        Kind::Unordered => None,
    })
}
