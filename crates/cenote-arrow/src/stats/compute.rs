//! Statistics of an array.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::{DataType, TimeUnit};

use super::fold::{Number, extremes};
use super::{Bound, Bounds, ColumnStats, Kind, MAX_BOUND_BYTES};

impl ColumnStats {
    /// Of all rows of an array.
    ///
    /// Cost: one pass over values of a fixed width, at about the speed of memory; a look at
    /// the first eight bytes of each text; of a dictionary, its values. A column of a type
    /// that has no order, or a nested one, costs nothing.
    #[must_use]
    pub fn of(array: &dyn Array) -> ColumnStats {
        use DataType as T;
        let (bounds, nan) = match array.data_type() {
            T::Boolean => (booleans(array), false),
            T::Utf8 => texts(array.as_string::<i32>().iter().map(|v| v.map(str::as_bytes))),
            T::LargeUtf8 => texts(array.as_string::<i64>().iter().map(|v| v.map(str::as_bytes))),
            T::Utf8View => texts(array.as_string_view().iter().map(|v| v.map(str::as_bytes))),
            T::Binary => texts(array.as_binary::<i32>().iter()),
            T::LargeBinary => texts(array.as_binary::<i64>().iter()),
            T::BinaryView => texts(array.as_binary_view().iter()),
            T::FixedSizeBinary(_) => texts(array.as_fixed_size_binary().iter()),
            T::Dictionary(..) => return dictionary(array),
            T::Null => {
                let nulls = Some(array.len() as u64);
                return ColumnStats { nulls, nan: false, bounds: Bounds::NoValue };
            }
            // Theirs are in their children.
            T::Union(..) | T::RunEndEncoded(..) => return ColumnStats::default(),
            _ => numbers(array),
        };
        ColumnStats { nulls: Some(array.null_count() as u64), nan, bounds }
    }

    /// What piece `piece` of `pieces` adds: all of them merged are [`Self::of`] the array.
    ///
    /// For several threads, or for rows while they are in the processor's caches. The rows
    /// are divided evenly; what is not worth dividing is in the first piece.
    #[must_use]
    pub fn of_piece(array: &dyn Array, piece: usize, pieces: usize) -> ColumnStats {
        let whole = matches!(array.data_type(), DataType::Dictionary(..) | DataType::Boolean)
            || Kind::of(array.data_type()) == Kind::Unordered;
        match (whole || pieces <= 1, piece) {
            (true, 0) => ColumnStats::of(array),
            (true, _) => ColumnStats::none(),
            (false, _) => {
                let (rows, all) = (array.len() as u128, pieces as u128);
                let index = |piece: usize| {
                    usize::try_from(rows * piece as u128 / all).unwrap_or(array.len())
                };
                let (start, end) = (index(piece), index(piece + 1));
                ColumnStats::of(array.slice(start, end - start).as_ref())
            }
        }
    }
}

/// A number as a bound.
trait IntoBound: Number {
    fn bound(self) -> Bound;
}

macro_rules! into_bound {
    ($($t:ty),*) => {$(
        impl IntoBound for $t {
            fn bound(self) -> Bound {
                Bound::Whole(i256::from_i128(i128::from(self)))
            }
        }
    )*};
}

into_bound!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

impl IntoBound for i256 {
    fn bound(self) -> Bound {
        Bound::Whole(self)
    }
}

impl IntoBound for f32 {
    fn bound(self) -> Bound {
        Bound::Float(self.into())
    }
}

impl IntoBound for f64 {
    fn bound(self) -> Bound {
        Bound::Float(self)
    }
}

fn fold<T: IntoBound>(values: &[T], nulls: Option<&NullBuffer>) -> (Bounds, bool) {
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
    // The loops know nothing of how many there are.
    if values.len() == nulls.map_or(0, NullBuffer::null_count) {
        return (Bounds::NoValue, false);
    }
    let all = extremes(values, nulls);
    let bounds = all.range.map_or(Bounds::NoValue, |(min, max)| {
        let (min, max) = (min.bound(), max.bound());
        Bounds::Between { min, max, min_cut: false, max_cut: false }
    });
    (bounds, all.nan)
}

fn primitive<T>(array: &PrimitiveArray<T>) -> (Bounds, bool)
where
    T: ArrowPrimitiveType<Native: IntoBound>,
{
    fold(array.values(), array.nulls())
}

fn numbers(array: &dyn Array) -> (Bounds, bool) {
    use DataType as T;
    match array.data_type() {
        T::Int8 => primitive(array.as_primitive::<Int8Type>()),
        T::Int16 => primitive(array.as_primitive::<Int16Type>()),
        T::Int32 => primitive(array.as_primitive::<Int32Type>()),
        T::Int64 => primitive(array.as_primitive::<Int64Type>()),
        T::UInt8 => primitive(array.as_primitive::<UInt8Type>()),
        T::UInt16 => primitive(array.as_primitive::<UInt16Type>()),
        T::UInt32 => primitive(array.as_primitive::<UInt32Type>()),
        T::UInt64 => primitive(array.as_primitive::<UInt64Type>()),
        T::Float32 => primitive(array.as_primitive::<Float32Type>()),
        T::Float64 => primitive(array.as_primitive::<Float64Type>()),
        T::Float16 => {
            let array = array.as_primitive::<Float16Type>();
            let wide: Vec<f32> = array.values().iter().map(|v| v.to_f32()).collect();
            fold(&wide, array.nulls())
        }
        T::Decimal32(..) => primitive(array.as_primitive::<Decimal32Type>()),
        T::Decimal64(..) => primitive(array.as_primitive::<Decimal64Type>()),
        T::Decimal128(..) => primitive(array.as_primitive::<Decimal128Type>()),
        T::Decimal256(..) => primitive(array.as_primitive::<Decimal256Type>()),
        T::Date32 => primitive(array.as_primitive::<Date32Type>()),
        T::Date64 => primitive(array.as_primitive::<Date64Type>()),
        T::Time32(TimeUnit::Second) => primitive(array.as_primitive::<Time32SecondType>()),
        T::Time32(_) => primitive(array.as_primitive::<Time32MillisecondType>()),
        T::Time64(TimeUnit::Microsecond) => {
            primitive(array.as_primitive::<Time64MicrosecondType>())
        }
        T::Time64(_) => primitive(array.as_primitive::<Time64NanosecondType>()),
        T::Timestamp(TimeUnit::Second, _) => primitive(array.as_primitive::<TimestampSecondType>()),
        T::Timestamp(TimeUnit::Millisecond, _) => {
            primitive(array.as_primitive::<TimestampMillisecondType>())
        }
        T::Timestamp(TimeUnit::Microsecond, _) => {
            primitive(array.as_primitive::<TimestampMicrosecondType>())
        }
        T::Timestamp(TimeUnit::Nanosecond, _) => {
            primitive(array.as_primitive::<TimestampNanosecondType>())
        }
        T::Duration(TimeUnit::Second) => primitive(array.as_primitive::<DurationSecondType>()),
        T::Duration(TimeUnit::Millisecond) => {
            primitive(array.as_primitive::<DurationMillisecondType>())
        }
        T::Duration(TimeUnit::Microsecond) => {
            primitive(array.as_primitive::<DurationMicrosecondType>())
        }
        T::Duration(TimeUnit::Nanosecond) => {
            primitive(array.as_primitive::<DurationNanosecondType>())
        }
        // Nested ones, and intervals: a month is no number of days.
        _ => (Bounds::Unknown, false),
    }
}

fn booleans(array: &dyn Array) -> Bounds {
    let array = array.as_boolean();
    let (yes, known) = (array.true_count(), array.len() - array.null_count());
    if known == 0 {
        return Bounds::NoValue;
    }
    let bound = |value: bool| Bound::Whole(i256::from_i128(value.into()));
    let (min, max) = (bound(yes == known), bound(yes > 0));
    Bounds::Between { min, max, min_cut: false, max_cut: false }
}

/// The first eight bytes as a number that sorts as they do.
#[inline]
fn first_bytes(value: &[u8]) -> u64 {
    match value.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            value.iter().enumerate().fold(0, |n, (i, byte)| n | u64::from(*byte) << (56 - 8 * i))
        }
    }
}

fn texts<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> (Bounds, bool) {
    let mut range: Option<(&[u8], &[u8])> = None;
    let (mut low, mut high) = (u64::MAX, 0);
    for value in values.flatten() {
        let first = first_bytes(value);
        // Most values differ from both at the start.
        if first > low && first < high {
            continue;
        }
        let (min, max) = range.get_or_insert((value, value));
        if value < *min {
            *min = value;
        }
        if value > *max {
            *max = value;
        }
        (low, high) = (first_bytes(min), first_bytes(max));
    }
    (range.map_or(Bounds::NoValue, |(min, max)| cut(min, max)), false)
}

/// Bounds of no more than [`MAX_BOUND_BYTES`].
fn cut(min: &[u8], max: &[u8]) -> Bounds {
    let (min_cut, max_cut) = (min.len() > MAX_BOUND_BYTES, max.len() > MAX_BOUND_BYTES);
    let least = Bound::Bytes(min[..min.len().min(MAX_BOUND_BYTES)].to_vec());
    let mut most = max[..max.len().min(MAX_BOUND_BYTES)].to_vec();
    if max_cut {
        // Greater than all that begin with these bytes.
        while most.last() == Some(&u8::MAX) {
            most.pop();
        }
        match most.last_mut() {
            Some(last) => *last += 1,
            None => return Bounds::Unknown,
        }
    }
    Bounds::Between { min: least, max: Bound::Bytes(most), min_cut, max_cut }
}

fn dictionary(array: &dyn Array) -> ColumnStats {
    let dictionary = array.as_any_dictionary();
    let values = dictionary.values();
    if matches!(values.data_type(), DataType::Dictionary(..)) {
        return ColumnStats::default();
    }
    if array.is_empty() {
        return ColumnStats::none();
    }
    let ColumnStats { nan, bounds, nulls: null_values } = ColumnStats::of(values.as_ref());
    let nulls = match null_values {
        Some(0) => array.null_count(),
        _ => array.logical_null_count(),
    };
    ColumnStats { nulls: Some(nulls as u64), nan, bounds }
}
