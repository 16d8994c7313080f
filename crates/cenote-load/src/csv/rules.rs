//! What texts mean: nulls, truth values, numbers and dates as the user writes them.

use std::sync::Arc;

use arrow_array::timezone::Tz;
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, TimeZone};

use super::infer::{self, BOOL, Seen, TEXT};
use super::moment::{self, Moment};
use super::pattern::Pattern;
use crate::error::LoadError;
use crate::options::Options;

/// Longest number that is read with marks of its own.
const MAX_NUMBER_BYTES: usize = 128;

/// What became of a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ticks {
    At(i64),
    /// The column needs a wider type.
    Wider,
    /// The clock of the user's zone never showed it, or twice.
    Never,
}

/// How fields become values.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    nulls: Vec<Vec<u8>>,
    trues: Vec<Vec<u8>>,
    falses: Vec<Vec<u8>>,
    decimal: u8,
    thousands: Option<u8>,
    formats: Vec<Pattern>,
    zone: Option<(Arc<str>, Tz)>,
}

impl Rules {
    pub(crate) fn new(options: &Options) -> Result<Self, LoadError> {
        let bytes = |texts: &[String]| texts.iter().map(|text| text.clone().into_bytes()).collect();
        let csv = &options.csv;
        let pattern = |format: &String| {
            Pattern::new(format).ok_or_else(|| LoadError::DateFormat { format: format.clone() })
        };
        let zone = |name: &String| match name.parse() {
            Ok(zone) => Ok((name.as_str().into(), zone)),
            Err(_) => Err(LoadError::UnknownZone { zone: name.clone() }),
        };
        Ok(Self {
            nulls: bytes(&options.null_values),
            trues: bytes(&csv.true_values),
            falses: bytes(&csv.false_values),
            decimal: csv.decimal,
            thousands: csv.thousands,
            formats: csv.date_formats.iter().map(pattern).collect::<Result<_, _>>()?,
            zone: csv.zone.as_ref().map(zone).transpose()?,
        })
    }

    /// Whether a text beside the empty one means null.
    pub(super) fn has_nulls(&self) -> bool {
        !self.nulls.is_empty()
    }

    pub(super) fn is_null(&self, text: &[u8]) -> bool {
        text.is_empty() || self.nulls.iter().any(|null| null == text)
    }

    /// Whether numbers are written as programs write them.
    pub(super) fn plain_numbers(&self) -> bool {
        self.decimal == b'.' && self.thousands.is_none()
    }

    pub(super) fn truth(&self, text: &[u8]) -> Option<bool> {
        if self.trues.iter().any(|yes| yes == text) {
            return Some(true);
        }
        if self.falses.iter().any(|no| no == text) {
            return Some(false);
        }
        match text.len() {
            4 if text.eq_ignore_ascii_case(b"true") => Some(true),
            5 if text.eq_ignore_ascii_case(b"false") => Some(false),
            _ => None,
        }
    }

    /// Whether a text means what it means by default, so that to parse it is to classify it.
    pub(super) fn is_plain(&self) -> bool {
        let truths = self.trues.len() + self.falses.len();
        self.plain_numbers() && self.formats.is_empty() && truths == 0
    }

    /// A date or timestamp.
    pub(super) fn moment(&self, text: &[u8]) -> Option<Moment> {
        if !self.is_plain() && self.truth(text).is_some() {
            return None;
        }
        let formatted = self.formats.iter().find_map(|format| format.read(text));
        formatted.or_else(|| moment::iso(text))
    }

    /// The type of a column: timestamps without a zone have that of the user.
    pub(super) fn data_type(&self, seen: Seen) -> DataType {
        match (seen.data_type(), &self.zone) {
            (DataType::Timestamp(unit, None), Some((name, _))) => {
                DataType::Timestamp(unit, Some(name.clone()))
            }
            (other, _) => other,
        }
    }

    /// What a clock in the user's zone showed, in UTC. None: it never showed it, or twice.
    pub(super) fn in_utc(&self, moment: Moment) -> Option<Moment> {
        let Some((_, zone)) = &self.zone else { return Some(moment) };
        let shown = DateTime::from_timestamp(moment.seconds, moment.nanos)?.naive_utc();
        let seconds = zone.from_local_datetime(&shown).single()?.timestamp();
        Some(Moment { seconds, ..moment })
    }

    /// Ticks of a timestamp that was inferred to have this unit and, or not, a zone.
    pub(super) fn ticks(&self, text: &[u8], unit: TimeUnit, zoned: bool) -> Ticks {
        let Some(moment) = self.moment(text) else { return Ticks::Wider };
        if (moment.class & infer::ZONED != 0) != zoned
            || infer::finest(moment.class) > unit
            || unit == TimeUnit::Nanosecond && moment.class & infer::FAR != 0
        {
            return Ticks::Wider;
        }
        let moment = if zoned { Some(moment) } else { self.in_utc(moment) };
        let Some(moment) = moment else { return Ticks::Never };
        let (per_second, nanos_each) = moment::scale(unit);
        let whole = moment.seconds.checked_mul(per_second);
        let ticks = whole.and_then(|all| all.checked_add(i64::from(moment.nanos / nanos_each)));
        ticks.map_or(Ticks::Wider, Ticks::At)
    }

    /// What a text looks like.
    pub(super) fn classify(&self, text: &[u8]) -> u16 {
        if self.truth(text).is_some() {
            return BOOL;
        }
        if let Some(moment) = self.formats.iter().find_map(|format| format.read(text)) {
            return moment.class;
        }
        if self.plain_numbers() {
            return infer::classify(text);
        }
        match infer::classify(text) {
            class if class & infer::NUMBER == 0 && class != TEXT => class,
            _ => self.with_number(text, infer::classify).unwrap_or(TEXT) & (infer::NUMBER | TEXT),
        }
    }

    /// Whether a text is a number, be it one that no type holds.
    pub(super) fn is_number(&self, text: Option<&[u8]>) -> bool {
        text.is_some_and(|text| self.classify(text) & infer::NUMBER != 0)
    }

    /// Calls `read` with a number as programs write it; none: its marks stand wrong.
    pub(super) fn with_number<T>(&self, text: &[u8], read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let mut plain = [0; MAX_NUMBER_BYTES];
        if text.len() > plain.len() {
            return None;
        }
        // digits since the last mark; whether marks of thousands may still come
        let (mut length, mut group, mut marks, mut whole) = (0, 0, 0, true);
        for &byte in text.trim_ascii() {
            let digit = byte.is_ascii_digit();
            if Some(byte) == self.thousands {
                if !whole || group == 0 || group > 3 || marks > 0 && group != 3 {
                    return None;
                }
                (group, marks) = (0, marks + 1);
                continue;
            }
            if whole && !digit && marks > 0 && group != 3 {
                return None;
            }
            whole = whole && (digit || length == 0 && matches!(byte, b'+' | b'-'));
            group += usize::from(digit);
            plain[length] = match byte {
                _ if byte == self.decimal => b'.',
                b'.' => return None,
                _ => byte,
            };
            length += 1;
        }
        let complete = !whole || marks == 0 || group == 3;
        complete.then(|| read(&plain[..length]))
    }
}
