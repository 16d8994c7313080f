//! Columns whose type the user declared: any text that arrow's parser takes as that type.

use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, NullBufferBuilder, StringDictionaryBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, timezone::Tz};
use arrow_buffer::NullBuffer;
use arrow_cast::parse::{Parser, parse_decimal, string_to_datetime};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use super::block::Block;
use super::rules::Rules;
use super::{moment, value};

/// Values of a declared type.
#[derive(Debug)]
pub(super) struct Declared(Box<dyn Take>);

trait Take: Debug + Send {
    /// False: the text is none of the type.
    fn text(&mut self, text: &str, rules: &Rules) -> bool;
    fn null(&mut self);
    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError>;
}

impl Declared {
    pub(super) fn new(data_type: &DataType) -> Self {
        let timestamp = |unit, zone: &Option<Arc<str>>| -> Box<dyn Take> {
            let parsed = zone.as_deref().and_then(|zone| zone.parse::<Tz>().ok());
            let read = move |text: &str| instant(text, unit, parsed.as_ref());
            match unit {
                TimeUnit::Second => values::<TimestampSecondType>(data_type, read),
                TimeUnit::Millisecond => values::<TimestampMillisecondType>(data_type, read),
                TimeUnit::Microsecond => values::<TimestampMicrosecondType>(data_type, read),
                TimeUnit::Nanosecond => values::<TimestampNanosecondType>(data_type, read),
            }
        };
        Self(match data_type {
            DataType::Boolean => Box::new(Truths(Vec::new())),
            DataType::Int8 => parsed::<Int8Type>(data_type),
            DataType::Int16 => parsed::<Int16Type>(data_type),
            DataType::Int32 => parsed::<Int32Type>(data_type),
            DataType::Int64 => numbers::<Int64Type>(data_type, |text| {
                value::whole(text.as_bytes()).or_else(|| Int64Type::parse(text))
            }),
            DataType::UInt8 => parsed::<UInt8Type>(data_type),
            DataType::UInt16 => parsed::<UInt16Type>(data_type),
            DataType::UInt32 => parsed::<UInt32Type>(data_type),
            DataType::UInt64 => parsed::<UInt64Type>(data_type),
            DataType::Float16 => reals::<Float16Type>(
                data_type,
                <<Float16Type as ArrowPrimitiveType>::Native>::is_infinite,
            ),
            DataType::Float32 => reals::<Float32Type>(data_type, f32::is_infinite),
            DataType::Float64 => numbers::<Float64Type>(data_type, |text| {
                let rare = || Float64Type::parse(text);
                let is_held = |v: &f64| v.is_finite() || !value::has_digit(text.as_bytes());
                value::held(text.as_bytes()).or_else(rare).filter(is_held)
            }),
            &DataType::Decimal128(precision, scale) => {
                numbers::<Decimal128Type>(data_type, move |text| {
                    parse_decimal::<Decimal128Type>(text.trim(), precision, scale).ok()
                })
            }
            DataType::Date32 => values::<Date32Type>(data_type, |text| {
                let iso = text.as_bytes().try_into().ok().and_then(moment::date);
                iso.map(|(days, _)| days).or_else(|| Date32Type::parse(text))
            }),
            DataType::Date64 => values::<Date64Type>(data_type, Date64Type::parse),
            DataType::Time32(TimeUnit::Second) => {
                values::<Time32SecondType>(data_type, Time32SecondType::parse)
            }
            DataType::Time32(_) => {
                values::<Time32MillisecondType>(data_type, Time32MillisecondType::parse)
            }
            DataType::Time64(TimeUnit::Nanosecond) => {
                values::<Time64NanosecondType>(data_type, Time64NanosecondType::parse)
            }
            DataType::Time64(_) => {
                values::<Time64MicrosecondType>(data_type, Time64MicrosecondType::parse)
            }
            DataType::Timestamp(unit, zone) => timestamp(*unit, zone),
            other => {
                Box::new(Category { keys: StringDictionaryBuilder::new(), wanted: other.clone() })
            }
        })
    }

    pub(super) fn take(
        &mut self,
        block: &Block<'_>,
        column: usize,
        rules: &Rules,
        nulls: &mut NullBufferBuilder,
    ) -> Result<(), usize> {
        for (row, text) in block.column(column).enumerate() {
            if rules.is_null(text) {
                self.0.null();
                nulls.append_null();
            } else {
                let text = std::str::from_utf8(text).map_err(|_| row)?;
                if !self.0.text(text, rules) {
                    return Err(row);
                }
                nulls.append_non_null();
            }
        }
        Ok(())
    }

    pub(super) fn take_nulls(&mut self, rows: usize) {
        (0..rows).for_each(|_| self.0.null());
    }

    pub(super) fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        self.0.finish(nulls)
    }
}

/// A time with or without a zone as a timestamp; without, it is one of `zone`, or of UTC.
fn instant(text: &str, unit: TimeUnit, zone: Option<&Tz>) -> Option<i64> {
    let (seconds, nanos) = match (moment::iso(text.as_bytes()), zone) {
        (Some(moment), None) => (moment.seconds, moment.nanos),
        (_, zone) => {
            let utc = || "+00:00".parse().ok();
            let time = string_to_datetime(&zone.copied().or_else(utc)?, text.trim()).ok()?;
            (time.timestamp(), time.timestamp_subsec_nanos())
        }
    };
    let (per_second, nanos_each) = moment::scale(unit);
    seconds.checked_mul(per_second)?.checked_add(i64::from(nanos / nanos_each))
}

/// A primitive type and how its texts are read.
struct Primitive<T: ArrowPrimitiveType, F> {
    values: Vec<T::Native>,
    wanted: DataType,
    /// Marks of thousands and a decimal comma may stand in it.
    number: bool,
    read: F,
}

fn values<T: ArrowPrimitiveType>(
    wanted: &DataType,
    read: impl Fn(&str) -> Option<T::Native> + Send + 'static,
) -> Box<dyn Take> {
    Box::new(Primitive::<T, _> { values: Vec::new(), wanted: wanted.clone(), number: false, read })
}

fn numbers<T: ArrowPrimitiveType>(
    wanted: &DataType,
    read: impl Fn(&str) -> Option<T::Native> + Send + 'static,
) -> Box<dyn Take> {
    Box::new(Primitive::<T, _> { values: Vec::new(), wanted: wanted.clone(), number: true, read })
}

/// Numbers that are not made infinite.
fn reals<T: Parser>(wanted: &DataType, is_infinite: fn(T::Native) -> bool) -> Box<dyn Take> {
    let is_held = move |value: &T::Native, text: &str| {
        !is_infinite(*value) || !value::has_digit(text.as_bytes())
    };
    numbers::<T>(wanted, move |text| T::parse(text).filter(|value| is_held(value, text)))
}

fn parsed<T: Parser>(wanted: &DataType) -> Box<dyn Take> {
    numbers::<T>(wanted, T::parse)
}

impl<T: ArrowPrimitiveType, F> Debug for Primitive<T, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} values of {}", self.values.len(), self.wanted)
    }
}

impl<T: ArrowPrimitiveType, F: Fn(&str) -> Option<T::Native> + Send> Take for Primitive<T, F> {
    fn text(&mut self, text: &str, rules: &Rules) -> bool {
        let value = if self.number && !rules.plain_numbers() {
            let read = |plain: &[u8]| (self.read)(std::str::from_utf8(plain).ok()?);
            rules.with_number(text.as_bytes(), read).flatten()
        } else {
            (self.read)(text)
        };
        self.values.extend(value);
        value.is_some()
    }

    fn null(&mut self) {
        self.values.push(T::Native::default());
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let values = std::mem::take(&mut self.values).into();
        let array = PrimitiveArray::<T>::try_new(values, nulls)?;
        Ok(Arc::new(array.with_data_type(self.wanted.clone())))
    }
}

#[derive(Debug)]
struct Truths(Vec<bool>);

impl Take for Truths {
    fn text(&mut self, text: &str, rules: &Rules) -> bool {
        let value = rules.truth(text.as_bytes());
        self.0.extend(value);
        value.is_some()
    }

    fn null(&mut self) {
        self.0.push(false);
    }

    fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(BooleanArray::new(std::mem::take(&mut self.0).into(), nulls)))
    }
}

/// Texts by number.
struct Category {
    keys: StringDictionaryBuilder<Int32Type>,
    wanted: DataType,
}

impl Debug for Category {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} texts", self.keys.len())
    }
}

impl Take for Category {
    fn text(&mut self, text: &str, _: &Rules) -> bool {
        self.keys.append(text).is_ok()
    }

    fn null(&mut self) {
        self.keys.append_null();
    }

    fn finish(&mut self, _: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let array: ArrayRef = Arc::new(self.keys.finish());
        arrow_cast::cast(&array, &self.wanted)
    }
}
