//! Dates and timestamps as ISO 8601 writes them.

use arrow_schema::TimeUnit;

use super::infer::{DATE, FAR, MICRO, MILLI, NAIVE, NANO, SECOND, ZONED};

/// A point in time, and what kind of text it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// Since 1970 began; in UTC where the text has a zone, else as the clock showed.
    pub(super) seconds: i64,
    pub(super) nanos: u32,
    /// What [`super::infer`] calls it.
    pub(super) class: u16,
}

impl Moment {
    /// Whether it is a day without a time.
    pub(super) fn is_date(self) -> bool {
        self.class & DATE != 0
    }
}

/// Days since 1970-01-01 of a date of the Gregorian calendar, if there is such a day.
pub(super) fn civil(year: u32, month: u32, day: u32) -> Option<i32> {
    const BEFORE: [u16; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    const LENGTH: [u8; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let index = (month as usize).wrapping_sub(1);
    let (before, length) = (u32::from(*BEFORE.get(index)?), u32::from(LENGTH[index]));
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    if day == 0 || day > length + u32::from(leap && month == 2) || year > 9999 {
        return None;
    }
    // leap days up to the year before, counted from year 1; year 0 is leap itself
    let leaps = |years: u32| years / 4 - years / 100 + years / 400;
    let leap_days = if year == 0 { 0 } else { leaps(year - 1) + 1 };
    let days = year * 365 + leap_days + before + u32::from(leap && month > 2) + day - 1;
    // days from 0000-01-01 to 1970-01-01
    Some(days.cast_signed() - 719_528)
}

/// Eight digits at once; wrong where a byte is none, which is said beside.
fn digits8(bytes: [u8; 8]) -> (u32, bool) {
    let value = u64::from_le_bytes(bytes);
    let low = value.wrapping_sub(0x3030_3030_3030_3030);
    let valid = (low | value.wrapping_add(0x4646_4646_4646_4646)) & 0x8080_8080_8080_8080 == 0;
    let pairs = low.wrapping_mul(10).wrapping_add(low >> 8);
    let high = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let rest = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    let number = (high.wrapping_add(rest) >> 32) as u32;
    (number, valid)
}

/// `2013-02-08` as days, with its year.
pub(super) fn date(text: &[u8; 10]) -> Option<(i32, u32)> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text else { return None };
    let (number, valid) = digits8([y1, y2, y3, y4, m1, m2, d1, d2]);
    let year = number / 10_000;
    let days = civil(year, number / 100 % 100, number % 100)?;
    valid.then_some((days, year))
}

/// Whether nanoseconds in 64 bits reach no further than this year's neighbours.
pub(super) fn is_far(year: u32) -> bool {
    !(1678..2262).contains(&year)
}

/// Ticks of a unit in a second, and nanoseconds in a tick.
pub(super) fn scale(unit: TimeUnit) -> (i64, u32) {
    match unit {
        TimeUnit::Second => (1, 1_000_000_000),
        TimeUnit::Millisecond => (1_000, 1_000_000),
        TimeUnit::Microsecond => (1_000_000, 1_000),
        TimeUnit::Nanosecond => (1_000_000_000, 1),
    }
}

/// Two digits below `limit`.
fn two(text: &[u8], limit: u32) -> Option<u32> {
    let [a @ b'0'..=b'9', b @ b'0'..=b'9'] = *text else { return None };
    Some(u32::from(a - b'0') * 10 + u32::from(b - b'0')).filter(|&value| value < limit)
}

/// A date or timestamp.
pub(super) fn iso(text: &[u8]) -> Option<Moment> {
    let (head, time) = text.split_first_chunk::<10>()?;
    let (days, year) = date(head)?;
    let far = if is_far(year) { FAR } else { 0 };
    let midnight = i64::from(days) * 86_400;
    let [b'T' | b' ', time @ ..] = time else {
        let class = DATE | far;
        return time.is_empty().then_some(Moment { seconds: midnight, nanos: 0, class });
    };
    let (seconds, nanos, class, rest) = clock(time)?;
    let (offset, zone) = zone(rest)?;
    Some(Moment { seconds: midnight + seconds - offset, nanos, class: class | zone | far })
}

/// `09:30:00.123`, and what stands behind it.
pub(super) fn clock(time: &[u8]) -> Option<(i64, u32, u16, &[u8])> {
    if time.len() < 8 || time[2] != b':' || time[5] != b':' {
        return None;
    }
    let (hour, minute) = (two(&time[..2], 24)?, two(&time[3..5], 60)?);
    let second = two(&time[6..8], 60)?;
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    let Some(fraction) = time[8..].strip_prefix(b".") else {
        return Some((seconds, 0, SECOND, &time[8..]));
    };
    let (nanos, class, rest) = fraction_of_second(fraction)?;
    Some((seconds, nanos, class, rest))
}

/// One to nine digits as nanoseconds.
pub(super) fn fraction_of_second(text: &[u8]) -> Option<(u32, u16, &[u8])> {
    let length = super::infer::digits(text);
    let class = match length {
        1..=3 => MILLI,
        4..=6 => MICRO,
        7..=9 => NANO,
        _ => return None,
    };
    let number = text[..length].iter().fold(0, |sum, b| sum * 10 + u32::from(b - b'0'));
    let missing = u32::try_from(9 - length).unwrap_or(0);
    Some((number * 10u32.pow(missing), class, &text[length..]))
}

/// `Z`, `+01`, `+0100`, `+01:00` or nothing: seconds east of Greenwich, and the class.
pub(super) fn zone(text: &[u8]) -> Option<(i64, u16)> {
    let (sign, digits) = match text {
        [] => return Some((0, NAIVE)),
        b"Z" => return Some((0, ZONED)),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let (hour, minute) = digits.split_at_checked(2)?;
    let minute = match minute {
        [] => 0,
        [b':', minute @ ..] | minute => two(minute, 60)?,
    };
    let seconds = i64::from(two(hour, 24)? * 3600 + minute * 60);
    Some((sign * seconds, ZONED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_eight_centuries_follows_the_one_before() {
        let (mut wanted, mut looked) = (civil(1600, 1, 1).unwrap(), 0);
        for year in 1600..2400 {
            for month in 1..=12 {
                for day in 1..=31 {
                    if let Some(days) = civil(year, month, day) {
                        assert_eq!(days, wanted, "{year}-{month}-{day}");
                        wanted += 1;
                        looked += 1;
                    }
                }
            }
        }
        assert_eq!(looked, 2 * 146_097);
        assert_eq!(civil(1970, 1, 1), Some(0));
        assert_eq!(civil(0, 1, 1), Some(-719_528));
        assert_eq!(civil(9999, 12, 31), Some(2_932_896));
        assert_eq!(civil(1900, 2, 29), None);
        assert_eq!(civil(2013, 13, 1), None);
        assert_eq!(civil(2013, 0, 1), None);
    }

    #[test]
    fn each_byte_of_a_date_counts() {
        assert_eq!(date(b"1970-01-02"), Some((1, 1970)));
        for at in 0..10 {
            for byte in 0..=255 {
                let mut text = *b"1970-01-02";
                text[at] = byte;
                let wanted = std::str::from_utf8(&text).ok().and_then(|text| {
                    let parts: Vec<_> = text.split('-').collect();
                    let digits = text.bytes().filter(u8::is_ascii_digit).count();
                    let [y, m, d] = parts[..] else { return None };
                    if digits != 8 || (y.len(), m.len()) != (4, 2) {
                        return None;
                    }
                    civil(y.parse().unwrap(), m.parse().unwrap(), d.parse().unwrap())
                });
                assert_eq!(date(&text).map(|(days, _)| days), wanted, "{text:?}");
            }
        }
    }
}
