//! What is known of a column of a version without reading it: its partitions' statistics,
//! together.

use std::fmt;
use std::sync::Arc;

use arrow_array::types::{Decimal256Type, DecimalType};
use arrow_array::{ArrayRef, Int32Array, Int64Array};
use arrow_buffer::i256;
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;
use cenote_arrow::stats::{Bound, Bounds, ColumnStats};

/// What the statistics of a version say of one of its columns. They are taken as it is written.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Rows that are null; `None`: not known.
    pub nulls: Option<u64>,
    /// Whether a value is NaN. NaN is in no order: neither least nor greatest.
    pub has_nan: bool,
    /// No value is less; `None`: there is no value, or the type has no order, or it is not known.
    pub min: Option<Extreme>,
    /// No value is greater.
    pub max: Option<Extreme>,
}

/// What no value of a column is beyond.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Extreme {
    /// Which.
    pub value: Value,
    /// Whether it is whole; else a long text was cut, and this is a little further out than
    /// any value. Of a dictionary it may be a text that no row has.
    pub is_exact: bool,
}

/// A value of a column, in short.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A truth value.
    Boolean(bool),
    /// A whole number.
    Integer(i128),
    /// A floating-point number, of whatever width.
    Float(f64),
    /// Text; of dates, times, durations and decimals as Arrow writes them.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Boolean(value) => value.fmt(f),
            Value::Integer(value) => value.fmt(f),
            Value::Float(value) => value.fmt(f),
            Value::Text(value) => value.fmt(f),
            Value::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

impl Summary {
    pub(super) fn new(stats: &ColumnStats, data_type: &DataType) -> Summary {
        let (min, max) = match &stats.bounds {
            Bounds::Unknown | Bounds::NoValue => (None, None),
            Bounds::Between { min, max, min_cut, max_cut } => {
                let limit = |bound, is_exact| Extreme { value: value(bound, data_type), is_exact };
                (Some(limit(min, !min_cut)), Some(limit(max, !max_cut)))
            }
        };
        Summary { nulls: stats.nulls, has_nan: stats.nan, min, max }
    }
}

fn value(bound: &Bound, data_type: &DataType) -> Value {
    match (bound, data_type) {
        (_, DataType::Dictionary(_, values)) => value(bound, values),
        (Bound::Float(number), _) => Value::Float(*number),
        (Bound::Bytes(bytes), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
            Value::Text(String::from_utf8_lossy(bytes).into_owned())
        }
        (Bound::Bytes(bytes), _) => Value::Bytes(bytes.clone()),
        (Bound::Whole(number), DataType::Boolean) => Value::Boolean(*number != i256::ZERO),
        (Bound::Whole(number), data_type) => whole(*number, data_type),
    }
}

fn whole(number: i256, data_type: &DataType) -> Value {
    if let DataType::Decimal32(precision, scale)
    | DataType::Decimal64(precision, scale)
    | DataType::Decimal128(precision, scale)
    | DataType::Decimal256(precision, scale) = data_type
    {
        return Value::Text(Decimal256Type::format_decimal(number, *precision, *scale));
    }
    let Some(number) = number.to_i128() else { return Value::Text(number.to_string()) };
    if data_type.is_integer() {
        return Value::Integer(number);
    }
    // dates, times, timestamps and durations, counted in their unit
    let array: Option<ArrayRef> = match data_type {
        DataType::Date32 | DataType::Time32(_) => {
            i32::try_from(number).ok().map(|n| Arc::new(Int32Array::from(vec![n])) as ArrayRef)
        }
        _ => i64::try_from(number).ok().map(|n| Arc::new(Int64Array::from(vec![n])) as ArrayRef),
    };
    let text = array.and_then(|array| {
        let array = cast(&array, data_type).ok()?;
        array_value_to_string(&array, 0).ok()
    });
    text.map_or(Value::Integer(number), Value::Text)
}

#[cfg(test)]
mod tests {
    use arrow_schema::TimeUnit;

    use super::*;

    #[test]
    fn values_are_shown_as_their_types_are() {
        let whole = |number: i128, data_type: &DataType| {
            value(&Bound::Whole(i256::from_i128(number)), data_type).to_string()
        };
        let zone = Some("Europe/Berlin".into());
        for (number, data_type, shown) in [
            (-7, DataType::Int8, "-7"),
            (1, DataType::Boolean, "true"),
            (15_744, DataType::Date32, "2013-02-08"),
            (86_400_000, DataType::Date64, "1970-01-02T00:00:00"),
            (34_200, DataType::Time32(TimeUnit::Second), "09:30:00"),
            (1_500, DataType::Timestamp(TimeUnit::Millisecond, None), "1970-01-01T00:00:01.500"),
            (0, DataType::Timestamp(TimeUnit::Second, zone), "1970-01-01T01:00:00+01:00"),
            (-12_345, DataType::Decimal128(10, 2), "-123.45"),
            (i128::MAX, DataType::Decimal256(50, 0), "170141183460469231731687303715884105727"),
            (18_446_744_073_709_551_615, DataType::UInt64, "18446744073709551615"),
            (i128::MAX, DataType::Date32, "170141183460469231731687303715884105727"),
        ] {
            assert_eq!(whole(number, &data_type), shown, "{data_type}");
        }
        let category =
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8));
        assert_eq!(value(&Bound::Bytes(b"ab".to_vec()), &category), Value::Text("ab".into()));
        assert_eq!(value(&Bound::Bytes(vec![1, 255]), &DataType::Binary).to_string(), "01ff");
        assert_eq!(value(&Bound::Float(0.5), &DataType::Float16), Value::Float(0.5));
    }
}
