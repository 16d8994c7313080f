//! Values as they are written, and as a column's type has them.

use std::ops::Range;

use arrow_array::timezone::Tz;
use arrow_buffer::i256;
use arrow_cast::parse::{string_to_datetime, string_to_time_nanoseconds};
use arrow_schema::{DataType, TimeUnit};
use cenote_arrow::stats::Bound;

use super::error::Misfit;

/// A value, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A number, by its digits.
    Number(String),
    /// Text, or a date, a time or a length of time.
    Text(String),
    /// A boolean.
    Bool(bool),
}

macro_rules! from_whole {
    ($($t:ty),*) => {$(
        impl From<$t> for Literal {
            fn from(value: $t) -> Literal {
                Literal::Number(value.to_string())
            }
        }
    )*};
}

from_whole!(i8, i16, i32, i64, i128, u8, u16, u32, u64, usize, isize);

impl From<f64> for Literal {
    fn from(value: f64) -> Literal {
        // As text "inf" and "NaN", which no number is written as.
        let text = format!("{value:?}");
        if value.is_finite() { Literal::Number(text) } else { Literal::Text(text) }
    }
}

impl From<f32> for Literal {
    fn from(value: f32) -> Literal {
        let text = format!("{value:?}");
        if value.is_finite() { Literal::Number(text) } else { Literal::Text(text) }
    }
}

impl From<bool> for Literal {
    fn from(value: bool) -> Literal {
        Literal::Bool(value)
    }
}

impl From<&str> for Literal {
    fn from(value: &str) -> Literal {
        Literal::Text(value.to_owned())
    }
}

impl From<String> for Literal {
    fn from(value: String) -> Literal {
        Literal::Text(value)
    }
}

/// Where a literal lies among the values of a type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Point {
    /// It is this one.
    At(Bound),
    /// Greater than this one and less than the next: of whole numbers.
    Above(i256),
}

/// The point of a literal among the values of `data_type`, which is no dictionary.
pub(crate) fn point(literal: &Literal, data_type: &DataType) -> Result<Point, Misfit> {
    use DataType as T;
    let kind = |wanted| Err(Misfit::Kind { value: literal.to_string(), wanted });
    match (data_type, literal) {
        (T::Boolean, Literal::Bool(value)) => Ok(whole(i128::from(*value))),
        (T::Boolean, _) => kind("true or false"),
        (T::Float16 | T::Float32 | T::Float64, Literal::Number(number)) => {
            Ok(Point::At(Bound::Float(float(number, data_type))))
        }
        (T::Float16 | T::Float32 | T::Float64, Literal::Text(text)) => {
            let special = ["nan", "inf", "-inf", "infinity", "-infinity"];
            if !special.iter().any(|s| s.eq_ignore_ascii_case(text)) {
                return kind("a number");
            }
            Ok(Point::At(Bound::Float(float(text, data_type))))
        }
        (T::Float16 | T::Float32 | T::Float64, _) => kind("a number"),
        (_, Literal::Number(number)) if let Some(scale) = scale(data_type) => {
            let text = || Misfit::Text { value: number.clone(), wanted: "a number of 76 digits" };
            decimal(number, scale).ok_or_else(text)
        }
        (_, _) if scale(data_type).is_some() => kind("a number"),
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, Literal::Text(text))
        | (T::Binary | T::LargeBinary | T::BinaryView, Literal::Text(text)) => {
            Ok(Point::At(Bound::Bytes(text.clone().into_bytes())))
        }
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, _) => kind("'text'"),
        (T::Binary | T::LargeBinary | T::BinaryView, _) => kind("'text'"),
        (T::Date32, Literal::Text(text)) => date(text, DAY),
        (T::Date64, Literal::Text(text)) => date(text, nanoseconds(&TimeUnit::Millisecond)),
        (T::Date32 | T::Date64, _) => kind("text such as '2017-01-31'"),
        (T::Timestamp(unit, zone), Literal::Text(text)) => timestamp(text, unit, zone.as_deref()),
        (T::Timestamp(..), _) => kind("text such as '2017-01-31T09:30:00'"),
        (T::Time32(unit) | T::Time64(unit), Literal::Text(text)) => {
            let wanted = "a time of day such as '09:30:00'";
            let none = |_| Misfit::Text { value: literal.to_string(), wanted };
            let time = string_to_time_nanoseconds(text).map_err(none)?;
            Ok(units(time.into(), nanoseconds(unit)))
        }
        (T::Time32(_) | T::Time64(_), _) => kind("text such as '09:30:00'"),
        (T::Duration(unit), Literal::Text(text)) => {
            let wanted = "a length of time such as '1h 30m' (units d, h, m, s, ms, us, ns)";
            let none = || Misfit::Text { value: literal.to_string(), wanted };
            length_of_time(text).map(|time| units(time, nanoseconds(unit))).ok_or_else(none)
        }
        (T::Duration(_), _) => kind("text such as '90s' or '1h 30m'"),
        _ => Err(Misfit::Test { test: "comparison; `is null` is all that can be asked" }),
    }
}

fn whole(value: i128) -> Point {
    Point::At(Bound::Whole(i256::from_i128(value)))
}

/// Digits after the point of whole numbers and decimals.
fn scale(data_type: &DataType) -> Option<i32> {
    use DataType as T;
    match data_type {
        T::Int8 | T::Int16 | T::Int32 | T::Int64 => Some(0),
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 => Some(0),
        T::Decimal32(_, scale) | T::Decimal64(_, scale) => Some((*scale).into()),
        T::Decimal128(_, scale) | T::Decimal256(_, scale) => Some((*scale).into()),
        _ => None,
    }
}

/// The nearest number of the type's width.
fn float(text: &str, data_type: &DataType) -> f64 {
    match data_type {
        DataType::Float64 => text.parse().unwrap_or(f64::NAN),
        DataType::Float32 => text.parse::<f32>().unwrap_or(f32::NAN).into(),
        _ => {
            type Half =
                <arrow_array::types::Float16Type as arrow_array::ArrowPrimitiveType>::Native;
            Half::from_f64(text.parse().unwrap_or(f64::NAN)).to_f64()
        }
    }
}

/// Digits beyond which a number is refused.
const DIGITS_MAX: usize = 76;

/// A decimal number times 10 to the `scale`. `None`: too many digits.
fn decimal(text: &str, scale: i32) -> Option<Point> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i64>().ok()?),
        None => (text, 0),
    };
    let negative = mantissa.starts_with('-');
    let digits = mantissa.trim_start_matches(['-', '+']);
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{before}{after}");
    let all = all.trim_start_matches('0');
    let kept = all.trim_end_matches('0');
    if kept.is_empty() {
        return Some(whole(0));
    }
    if kept.len() > DIGITS_MAX {
        return None;
    }
    let number = i256::from_string(kept)?;
    let number = if negative { number.wrapping_neg() } else { number };
    let zeros = i64::try_from(all.len() - kept.len()).ok()?;
    let power = exponent.checked_add(zeros)? - i64::try_from(after.len()).ok()? + i64::from(scale);
    let beyond = if negative { i256::MIN } else { i256::MAX };
    let ten = |power: i64| {
        let power = u32::try_from(power).ok().filter(|power| *power <= 76)?;
        i256::from_i128(10).checked_pow(power)
    };
    Some(if power >= 0 {
        // What is too large for 256 bits is beyond each value.
        match ten(power).and_then(|ten| number.checked_mul(ten)) {
            Some(number) => Point::At(Bound::Whole(number)),
            None => Point::Above(beyond),
        }
    } else {
        match ten(-power) {
            Some(ten) => divided(number, ten),
            // Closer to zero than any power.
            None => Point::Above(i256::from_i128(if negative { -1 } else { 0 })),
        }
    })
}

/// `number / by`, rounded down where it is not whole.
fn divided(number: i256, by: i256) -> Point {
    let (quotient, rest) = (number.wrapping_div(by), number.wrapping_rem(by));
    if rest == i256::ZERO {
        Point::At(Bound::Whole(quotient))
    } else if number < i256::ZERO {
        Point::Above(quotient.wrapping_sub(i256::ONE))
    } else {
        Point::Above(quotient)
    }
}

const DAY: i128 = 86_400 * 1_000_000_000;

fn nanoseconds(unit: &TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Nanoseconds as a count of units of so many.
fn units(time: i128, unit: i128) -> Point {
    divided(i256::from_i128(time), i256::from_i128(unit))
}

/// Nanoseconds since 1970, in the zone where the text has none; and whether it has one.
fn instant(text: &str, zone: &str) -> Option<(i128, bool)> {
    let at = |zone: &str| {
        let zone: Tz = zone.parse().ok()?;
        let time = string_to_datetime(&zone, text.trim()).ok()?;
        let fraction = i128::from(time.timestamp_subsec_nanos());
        Some(i128::from(time.timestamp()) * 1_000_000_000 + fraction)
    };
    // A text with a zone is the same instant wherever it is read.
    let zoned = at("+00:00")? == at("+01:00")?;
    Some((at(zone)?, zoned))
}

fn date(text: &str, unit: i128) -> Result<Point, Misfit> {
    let value = || Literal::Text(text.to_owned()).to_string();
    let wanted = "a date such as '2017-01-31'";
    match instant(text, "+00:00") {
        Some((_, true)) => Err(Misfit::Zone { value: value() }),
        Some((time, false)) => Ok(units(time, unit)),
        None => Err(Misfit::Text { value: value(), wanted }),
    }
}

fn timestamp(text: &str, unit: &TimeUnit, zone: Option<&str>) -> Result<Point, Misfit> {
    let value = || Literal::Text(text.to_owned()).to_string();
    let wanted = match zone {
        Some(_) => "a time of the column's zone such as '2017-01-31T09:30:00', one that is once",
        None => "a time such as '2017-01-31T09:30:00'",
    };
    match (instant(text, zone.unwrap_or("+00:00")), zone) {
        (Some((_, true)), None) => Err(Misfit::Zone { value: value() }),
        (Some((time, _)), _) => Ok(units(time, nanoseconds(unit))),
        (None, _) => Err(Misfit::Text { value: value(), wanted }),
    }
}

/// `'1h 30m'` in nanoseconds.
fn length_of_time(text: &str) -> Option<i128> {
    let text = text.trim();
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut total = 0i128;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let split = |s: &str, digits: bool| -> Range<usize> {
            0..s.find(|c: char| (c.is_ascii_digit() || c == '.') != digits).unwrap_or(s.len())
        };
        let number = &rest[split(rest, true)];
        rest = rest[number.len()..].trim_start();
        let name = &rest[split(rest, false)];
        rest = &rest[name.len()..];
        let unit = match name.trim() {
            "d" | "day" | "days" => DAY,
            "h" => DAY / 24,
            "m" | "min" => DAY / 24 / 60,
            "s" => nanoseconds(&TimeUnit::Second),
            "ms" => nanoseconds(&TimeUnit::Millisecond),
            "us" | "µs" => nanoseconds(&TimeUnit::Microsecond),
            "ns" => 1,
            _ => return None,
        };
        let (before, after) = number.split_once('.').unwrap_or((number, ""));
        if before.len() > 18 || after.len() > 18 || (before.is_empty() && after.is_empty()) {
            return None;
        }
        let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i128>().ok() };
        let power = 10i128.pow(u32::try_from(after.len()).ok()?);
        // Of a nanosecond there are no parts.
        let part = digits(after)?.checked_mul(unit)?;
        if part % power != 0 {
            return None;
        }
        total = total.checked_add(digits(before)?.checked_mul(unit)? + part / power)?;
    }
    Some(if negative { -total } else { total })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str, data_type: &DataType) -> Point {
        point(&Literal::Number(text.to_owned()), data_type).unwrap()
    }

    fn text(text: &str, data_type: &DataType) -> Result<Point, Misfit> {
        point(&Literal::Text(text.to_owned()), data_type)
    }

    #[test]
    fn numbers_are_exact() {
        let above = |n| Point::Above(i256::from_i128(n));
        assert_eq!(number("2.5", &DataType::Int8), above(2));
        assert_eq!(number("-2.5", &DataType::Int8), above(-3));
        assert_eq!(number("2.50e1", &DataType::Int8), whole(25));
        assert_eq!(number("-1e-99", &DataType::Int8), above(-1));
        assert_eq!(number("1e99", &DataType::Int8), Point::Above(i256::MAX));
        assert_eq!(number("0e99", &DataType::Int8), whole(0));
        assert_eq!(number("1.005", &DataType::Decimal128(9, 3)), whole(1005));
        assert_eq!(number("1.0005", &DataType::Decimal128(9, 3)), above(1000));
        assert_eq!(number("1200", &DataType::Decimal32(9, -2)), whole(12));
        assert_eq!(number("9007199254740993", &DataType::Int64), whole(9_007_199_254_740_993));
        assert_eq!(number("0.1", &DataType::Float32), Point::At(Bound::Float(0.1f32.into())));
        let digits = Literal::Number("1".repeat(77));
        assert!(point(&digits, &DataType::Int64).is_err());
    }

    #[test]
    fn times_are_of_the_columns_zone_and_unit() {
        let seconds = |zone: Option<&str>| {
            DataType::Timestamp(TimeUnit::Second, zone.map(std::sync::Arc::from))
        };
        assert_eq!(text("2017-01-01", &seconds(None)), Ok(whole(1_483_228_800)));
        let half = Point::Above(i256::from_i128(1_483_228_800));
        assert_eq!(text("2017-01-01T00:00:00.5", &seconds(None)), Ok(half));
        let new_york = seconds(Some("America/New_York"));
        assert_eq!(text("2017-01-01", &new_york), Ok(whole(1_483_228_800 + 5 * 3600)));
        assert_eq!(text("2017-01-01T00:00:00Z", &new_york), Ok(whole(1_483_228_800)));
        // A time that was skipped, and one that was twice.
        assert!(text("2017-03-12T02:30:00", &new_york).is_err());
        assert!(text("2017-11-05T01:30:00", &new_york).is_err());
        let zoned = text("2017-01-01T00:00:00+02:00", &seconds(None));
        assert!(matches!(zoned, Err(Misfit::Zone { .. })));
        assert_eq!(text("1970-01-02", &DataType::Date32), Ok(whole(1)));
        assert_eq!(text("1969-12-31T12:00:00", &DataType::Date32), Ok(Point::Above((-1).into())));
        assert_eq!(text("09:30", &DataType::Time32(TimeUnit::Second)), Ok(whole(34_200)));
    }

    #[test]
    fn lengths_of_time_have_units() {
        let ms = DataType::Duration(TimeUnit::Millisecond);
        assert_eq!(text("1h 30m", &ms), Ok(whole(5_400_000)));
        assert_eq!(text("-1.5s", &ms), Ok(whole(-1500)));
        assert_eq!(text("2d3ms", &ms), Ok(whole(172_800_003)));
        assert_eq!(text("1us", &ms), Ok(Point::Above(i256::ZERO)));
        for wrong in ["", "-", "5", "h", "1x", "1.2.3s", "0.5ns"] {
            assert!(text(wrong, &ms).is_err(), "{wrong}");
        }
    }
}
