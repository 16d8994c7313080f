//! The narrowest type that holds every value of a column.
//!
//! Each value sets bits in the column's [`Seen`]; bits of files and threads are or-ed, so
//! neither order nor cutting matters. A class is only given to text that arrow-csv
//! parses as that class's type (a property test holds the two together).

use arrow_schema::{DataType, TimeUnit};

const BOOL: u16 = 1;
const INT: u16 = 1 << 1;
/// Whole, but not in 64 bits.
const BIG: u16 = 1 << 2;
const FLOAT: u16 = 1 << 3;
const DATE: u16 = 1 << 4;
const SECOND: u16 = 1 << 5;
const MILLI: u16 = 1 << 6;
const MICRO: u16 = 1 << 7;
const NANO: u16 = 1 << 8;
/// A timestamp without a zone.
const NAIVE: u16 = 1 << 9;
/// A timestamp with one.
const ZONED: u16 = 1 << 10;
/// A year that 64 bits of nanoseconds do not reach.
const FAR: u16 = 1 << 11;
const TEXT: u16 = 1 << 12;

const TEMPORAL: u16 = DATE | SECOND | MILLI | MICRO | NANO | NAIVE | ZONED | FAR;

/// What the values of a column look like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen(u16);

impl Seen {
    /// Takes one value that is not null into account.
    pub(crate) fn add(&mut self, text: &[u8]) {
        if self.0 & TEXT == 0 {
            self.0 |= classify(text);
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// The type; of nothing, Utf8.
    pub(crate) fn data_type(self) -> DataType {
        let only = |bits: u16| self.0 & !bits == 0;
        let any = |bits: u16| self.0 & bits != 0;
        if self.0 == 0 || any(TEXT) {
            DataType::Utf8
        } else if only(BOOL) {
            DataType::Boolean
        } else if only(INT) {
            DataType::Int64
        } else if only(INT | BIG | FLOAT) && any(FLOAT) {
            DataType::Float64
        } else if only(DATE | FAR) {
            DataType::Date32
        } else if only(TEMPORAL) {
            self.timestamp().unwrap_or(DataType::Utf8)
        } else {
            DataType::Utf8
        }
    }

    fn timestamp(self) -> Option<DataType> {
        let zoned = self.0 & ZONED != 0;
        if zoned && self.0 & (NAIVE | DATE) != 0 || self.0 & NANO != 0 && self.0 & FAR != 0 {
            return None;
        }
        let unit = match self.0 {
            seen if seen & NANO != 0 => TimeUnit::Nanosecond,
            seen if seen & MICRO != 0 => TimeUnit::Microsecond,
            seen if seen & MILLI != 0 => TimeUnit::Millisecond,
            _ => TimeUnit::Second,
        };
        Some(DataType::Timestamp(unit, zoned.then(|| "UTC".into())))
    }
}

fn classify(text: &[u8]) -> u16 {
    match text {
        [b'0'..=b'9', ..] if text.len() >= 10 && text[4] == b'-' => temporal(text).unwrap_or(TEXT),
        [b'0'..=b'9' | b'+' | b'-' | b'.', ..] => number(text).unwrap_or(TEXT),
        b"NaN" | b"nan" | b"inf" => FLOAT,
        // numbers, and only they, may have blanks around them
        [b' ' | b'\t', ..] => match classify(text.trim_ascii()) {
            class @ (INT | BIG | FLOAT) => class,
            _ => TEXT,
        },
        _ if text.eq_ignore_ascii_case(b"true") || text.eq_ignore_ascii_case(b"false") => BOOL,
        _ => TEXT,
    }
}

fn number(text: &[u8]) -> Option<u16> {
    let text = text.trim_ascii_end();
    let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    if unsigned == b"inf" {
        return (text[0] == b'-').then_some(FLOAT);
    }
    let whole = digits(unsigned);
    let rest = &unsigned[whole..];
    if rest.is_empty() {
        // a leading zero is part of an identifier
        let padded = whole > 1 && unsigned[0] == b'0';
        let fits = || std::str::from_utf8(text).is_ok_and(|text| text.parse::<i64>().is_ok());
        return match whole {
            0 => None,
            _ if padded => None,
            1..=18 => Some(INT),
            _ if fits() => Some(INT),
            _ => Some(BIG),
        };
    }
    let (fraction, rest) = match rest.strip_prefix(b".") {
        Some(rest) => (digits(rest), &rest[digits(rest)..]),
        None => (0, rest),
    };
    if whole + fraction == 0 {
        return None;
    }
    match rest {
        [] => Some(FLOAT),
        [b'e' | b'E', exponent @ ..] => {
            let exponent =
                exponent.strip_prefix(b"-").or(exponent.strip_prefix(b"+")).unwrap_or(exponent);
            let all = digits(exponent) == exponent.len() && !exponent.is_empty();
            all.then_some(FLOAT)
        }
        _ => None,
    }
}

/// How many digits the text begins with.
fn digits(text: &[u8]) -> usize {
    text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len())
}

/// A number of exactly these digits.
fn fixed(text: &[u8]) -> Option<u16> {
    text.iter()
        .try_fold(0, |sum: u16, b| b.is_ascii_digit().then(|| sum * 10 + u16::from(b - b'0')))
}

/// Two digits below `limit`.
fn two(text: &[u8], limit: u16) -> Option<u16> {
    fixed(text).filter(|&value| text.len() == 2 && value < limit)
}

fn temporal(text: &[u8]) -> Option<u16> {
    if text[4] != b'-' || text[7] != b'-' {
        return None;
    }
    let (year, month, day) = (fixed(&text[..4])?, two(&text[5..7], 13)?, two(&text[8..10], 32)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if month == 0 || day == 0 || day > days {
        return None;
    }
    let far = if (1678..2262).contains(&year) { 0 } else { FAR };
    let [b'T' | b' ', time @ ..] = &text[10..] else {
        return (text.len() == 10).then_some(DATE | far);
    };
    if time.len() < 8 || time[2] != b':' || time[5] != b':' {
        return None;
    }
    two(&time[..2], 24)?;
    two(&time[3..5], 60)?;
    two(&time[6..8], 60)?;
    let (unit, rest) = match time[8..].strip_prefix(b".") {
        None => (SECOND, &time[8..]),
        Some(fraction) => {
            let unit = match digits(fraction) {
                1..=3 => MILLI,
                4..=6 => MICRO,
                7..=9 => NANO,
                _ => return None,
            };
            (unit, &fraction[digits(fraction)..])
        }
    };
    Some(unit | far | zone(rest)?)
}

fn zone(text: &[u8]) -> Option<u16> {
    match text {
        [] => Some(NAIVE),
        b"Z" => Some(ZONED),
        [b'+' | b'-', hour @ ..] if hour.len() >= 2 => {
            two(&hour[..2], 24)?;
            match &hour[2..] {
                [] => {}
                [b':', minute @ ..] | minute => drop(two(minute, 60)?),
            }
            Some(ZONED)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
