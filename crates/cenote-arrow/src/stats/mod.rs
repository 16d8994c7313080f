//! What is known of a column's values without reading them: how many are null, the least and
//! the greatest.
//!
//! They are computed as a partition is written ([`ColumnStats::of`], in pieces if wanted:
//! [`ColumnStats::merge`]) and stored beside its layouts, so that a reader can tell which
//! partitions cannot have a row that it looks for. A bound is a true bound: no value lies
//! beyond it. It need not be a value of the column: long texts are cut short, and a
//! dictionary's unused values count.
//!
//! ```
//! use arrow_array::Float64Array;
//! use cenote_arrow::stats::{Bound, Bounds, ColumnStats};
//!
//! let prices = Float64Array::from(vec![Some(101.5), None, Some(f64::NAN), Some(99.0)]);
//! let stats = ColumnStats::of(&prices);
//! assert_eq!((stats.nulls, stats.nan), (Some(1), true));
//! let Bounds::Between { min, max, .. } = stats.bounds else { unreachable!() };
//! assert_eq!((min, max), (Bound::Float(99.0), Bound::Float(101.5)));
//! ```

mod compute;
mod encoding;
mod fold;

use std::cmp::Ordering;

use arrow_buffer::i256;
use arrow_schema::DataType;

pub use encoding::{StatsError, decode_statistics, encode_statistics};

/// Texts and bytes are cut to so many.
pub const MAX_BOUND_BYTES: usize = 32;

/// A value that no value of a column is less, or greater, than.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// Integers; booleans as 0 and 1; dates, times, timestamps and durations in their unit;
    /// decimals without their point.
    Whole(i256),
    /// Floating-point numbers, of whatever width; never NaN.
    Float(f64),
    /// Text and bytes.
    Bytes(Vec<u8>),
}

impl Bound {
    /// The order of values: by number, or byte by byte. `None` for different kinds.
    #[must_use]
    pub fn compare(&self, other: &Bound) -> Option<Ordering> {
        match (self, other) {
            (Bound::Whole(a), Bound::Whole(b)) => Some(a.cmp(b)),
            (Bound::Float(a), Bound::Float(b)) => a.partial_cmp(b),
            (Bound::Bytes(a), Bound::Bytes(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

/// Where a column's values lie; nulls and NaN apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Bounds {
    /// Not known.
    #[default]
    Unknown,
    /// There is no value.
    NoValue,
    /// Between two values, both included.
    Between {
        /// No value is less.
        min: Bound,
        /// No value is greater.
        max: Bound,
        /// Whether `min` was cut short: then it may be less than each value.
        min_cut: bool,
        /// Whether `max` was cut short, and rounded up.
        max_cut: bool,
    },
}

/// What is known of one column of one partition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnStats {
    /// How many rows are null, if that is known. Of nested columns: null as a whole.
    pub nulls: Option<u64>,
    /// Whether any value is NaN.
    pub nan: bool,
    /// Where the other values lie.
    pub bounds: Bounds,
}

impl ColumnStats {
    /// Of no row: what [`Self::merge`] starts from.
    #[must_use]
    pub fn none() -> ColumnStats {
        ColumnStats { nulls: Some(0), nan: false, bounds: Bounds::NoValue }
    }

    /// Takes other rows of the column in.
    pub fn merge(&mut self, other: ColumnStats) {
        self.nulls = self.nulls.zip(other.nulls).map(|(a, b)| a + b);
        self.nan |= other.nan;
        self.bounds = std::mem::take(&mut self.bounds).merge(other.bounds);
    }
}

impl Bounds {
    fn merge(self, other: Bounds) -> Bounds {
        match (self, other) {
            (Bounds::Unknown, _) | (_, Bounds::Unknown) => Bounds::Unknown,
            (Bounds::NoValue, known) | (known, Bounds::NoValue) => known,
            (
                Bounds::Between { min: a, max: b, min_cut: a_cut, max_cut: b_cut },
                Bounds::Between { min: c, max: d, min_cut: c_cut, max_cut: d_cut },
            ) => {
                let (Some(low), Some(high)) = (a.compare(&c), b.compare(&d)) else {
                    return Bounds::Unknown;
                };
                // Of two equal ones the one that is a value says more.
                let (min, min_cut) = match low {
                    Ordering::Less => (a, a_cut),
                    Ordering::Equal => (a, a_cut && c_cut),
                    Ordering::Greater => (c, c_cut),
                };
                let (max, max_cut) = match high {
                    Ordering::Greater => (b, b_cut),
                    Ordering::Equal => (b, b_cut && d_cut),
                    Ordering::Less => (d, d_cut),
                };
                Bounds::Between { min, max, min_cut, max_cut }
            }
        }
    }
}

/// How the bounds of a type are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Whole numbers of so many bytes.
    Whole { width: usize, signed: bool },
    /// Floating-point numbers of so many bytes.
    Float { width: usize },
    /// Bytes.
    Bytes,
    /// There are none.
    Unordered,
}

impl Kind {
    fn of(data_type: &DataType) -> Kind {
        use DataType as T;
        let signed = |width| Kind::Whole { width, signed: true };
        let unsigned = |width| Kind::Whole { width, signed: false };
        match data_type {
            T::Boolean | T::UInt8 => unsigned(1),
            T::UInt16 => unsigned(2),
            T::UInt32 => unsigned(4),
            T::UInt64 => unsigned(8),
            T::Int8 => signed(1),
            T::Int16 => signed(2),
            T::Int32 | T::Date32 | T::Time32(_) | T::Decimal32(..) => signed(4),
            T::Int64 | T::Date64 | T::Time64(_) | T::Timestamp(..) => signed(8),
            T::Duration(_) | T::Decimal64(..) => signed(8),
            T::Decimal128(..) => signed(16),
            T::Decimal256(..) => signed(32),
            T::Float16 => Kind::Float { width: 2 },
            T::Float32 => Kind::Float { width: 4 },
            T::Float64 => Kind::Float { width: 8 },
            T::Utf8 | T::LargeUtf8 | T::Utf8View => Kind::Bytes,
            T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => Kind::Bytes,
            // Dictionaries of dictionaries are known to Arrow, and to nobody else.
            T::Dictionary(_, values) if !matches!(**values, T::Dictionary(..)) => Kind::of(values),
            _ => Kind::Unordered,
        }
    }
}
