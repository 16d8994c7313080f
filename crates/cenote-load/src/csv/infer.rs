//! The narrowest type that holds every value of a column.
//!
//! Each value sets bits in the column's [`Seen`]; bits of files and threads are or-ed, so
//! neither order nor cutting matters. A class is only given to text that arrow-csv
//! parses as that class's type (a property test holds the two together).

use arrow_schema::{DataType, TimeUnit};

use super::moment::iso;
use super::rules::Rules;

pub(super) const BOOL: u16 = 1;
pub(super) const INT: u16 = 1 << 1;
/// Whole, but not in 64 bits.
pub(super) const BIG: u16 = 1 << 2;
pub(super) const FLOAT: u16 = 1 << 3;
pub(super) const DATE: u16 = 1 << 4;
pub(super) const SECOND: u16 = 1 << 5;
pub(super) const MILLI: u16 = 1 << 6;
pub(super) const MICRO: u16 = 1 << 7;
pub(super) const NANO: u16 = 1 << 8;
/// A timestamp without a zone.
pub(super) const NAIVE: u16 = 1 << 9;
/// A timestamp with one.
pub(super) const ZONED: u16 = 1 << 10;
/// A year that 64 bits of nanoseconds do not reach.
pub(super) const FAR: u16 = 1 << 11;
pub(super) const TEXT: u16 = 1 << 12;

/// Whatever is a number.
pub(super) const NUMBER: u16 = INT | BIG | FLOAT;

const TEMPORAL: u16 = DATE | SECOND | MILLI | MICRO | NANO | NAIVE | ZONED | FAR;

/// What the values of a column look like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen(u16);

impl Seen {
    /// A date that nanoseconds do not reach.
    pub(super) const FAR_DATES: Self = Self(DATE | FAR);

    /// Takes one value that is not null into account.
    pub(super) fn add(&mut self, text: &[u8], rules: &Rules) {
        if self.0 & TEXT == 0 {
            self.0 |= rules.classify(text);
        }
    }

    /// No value was seen.
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether every timestamp states its zone.
    pub(super) fn is_zoned(self) -> bool {
        self.0 & ZONED != 0
    }

    /// Whether the type is text whatever else may come.
    pub(super) fn is_text(self) -> bool {
        self.0 & TEXT != 0
    }

    /// Whether the type is text only until a fraction turns up.
    pub(super) fn is_big(self) -> bool {
        self.0 & BIG != 0 && self.0 & !(INT | BIG) == 0
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Both together.
    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
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
        Some(DataType::Timestamp(finest(self.0), zoned.then(|| "UTC".into())))
    }
}

/// The unit that a fraction of a second asks for.
pub(super) fn finest(class: u16) -> TimeUnit {
    match class {
        class if class & NANO != 0 => TimeUnit::Nanosecond,
        class if class & MICRO != 0 => TimeUnit::Microsecond,
        class if class & MILLI != 0 => TimeUnit::Millisecond,
        _ => TimeUnit::Second,
    }
}

pub(super) fn classify(text: &[u8]) -> u16 {
    match text {
        [b'0'..=b'9', ..] if text.len() >= 10 && text[4] == b'-' => {
            iso(text).map_or(TEXT, |moment| moment.class)
        }
        [b'0'..=b'9' | b'+' | b'-' | b'.', ..] => number(text).unwrap_or(TEXT),
        b"NaN" | b"nan" | b"inf" | b"Infinity" => FLOAT,
        // numbers, and only they, may have blanks around them
        [b' ' | b'\t', ..] => match classify(text.trim_ascii()) {
            class @ (INT | BIG | FLOAT) => class,
            _ => TEXT,
        },
        _ if text.eq_ignore_ascii_case(b"true") || text.eq_ignore_ascii_case(b"false") => BOOL,
        _ => TEXT,
    }
}

pub(super) fn number(text: &[u8]) -> Option<u16> {
    let text = text.trim_ascii_end();
    let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    if unsigned == b"inf" || unsigned == b"Infinity" {
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
pub(super) fn digits(text: &[u8]) -> usize {
    text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len())
}

#[cfg(test)]
mod tests;
