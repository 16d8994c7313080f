//! Dates and times as the user says that they are written.
//!
//! The letters are those of C's `strptime`, as far as they make sense in a table:
//! `%Y %y %m %d %e %b %B %H %I %p %M %S %f %z %F %T %D %%`. `%y` is 1969 to 2068. A blank
//! stands for any number of blanks, `%f` for one to nine digits of a second.

use super::infer::{DATE, FAR, NAIVE, SECOND, ZONED};
use super::moment::{self, Moment, civil};

/// One format, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Item>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Letter(u8),
    Byte(u8),
    Blanks,
}

const MONTHS: [&[u8]; 12] = [
    b"january",
    b"february",
    b"march",
    b"april",
    b"may",
    b"june",
    b"july",
    b"august",
    b"september",
    b"october",
    b"november",
    b"december",
];

/// What has been read so far.
#[derive(Debug, Default)]
struct Parts {
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
    hour: Option<u32>,
    afternoon: Option<bool>,
    minute: u32,
    second: u32,
    fraction: Option<(u32, u16)>,
    offset: Option<i64>,
}

impl Pattern {
    /// None: a letter is unknown, or the format names no day.
    pub(super) fn new(format: &str) -> Option<Self> {
        let mut items = Vec::new();
        let mut bytes = format.bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'%' => match bytes.next()? {
                    b'%' => items.push(Item::Byte(b'%')),
                    b'F' => items.extend(Self::new("%Y-%m-%d")?.0),
                    b'D' => items.extend(Self::new("%m/%d/%y")?.0),
                    b'T' => items.extend(b"H:M:S".map(|byte| match byte {
                        b':' => Item::Byte(byte),
                        letter => Item::Letter(letter),
                    })),
                    letter if b"YymdebBHIpMSfz".contains(&letter) => {
                        items.push(Item::Letter(letter));
                    }
                    _ => return None,
                },
                b' ' => items.push(Item::Blanks),
                byte => items.push(Item::Byte(byte)),
            }
        }
        let has = |letters: &[u8]| {
            items
                .iter()
                .any(|item| matches!(item, Item::Letter(letter) if letters.contains(letter)))
        };
        let day = has(b"Yy") && has(b"mbB") && has(b"de");
        // half a day needs its hours, and the other way round
        let halves = has(b"I") == has(b"p");
        (day && halves).then_some(Self(items))
    }

    /// The moment that a text of this format names.
    pub(super) fn read(&self, mut text: &[u8]) -> Option<Moment> {
        let mut parts = Parts::default();
        for item in &self.0 {
            text = match item {
                Item::Byte(byte) => text.strip_prefix(&[*byte])?,
                Item::Blanks => text.trim_ascii_start(),
                Item::Letter(letter) => parts.read(*letter, text)?,
            };
        }
        if text.is_empty() { parts.moment() } else { None }
    }
}

/// A number of one to `most` digits, and what stands behind it.
fn number(text: &[u8], most: usize) -> Option<(u32, &[u8])> {
    let length = super::infer::digits(&text[..text.len().min(most)]);
    let value = text[..length].iter().fold(0, |sum, b| sum * 10 + u32::from(b - b'0'));
    (length > 0).then_some((value, &text[length..]))
}

impl Parts {
    fn read<'a>(&mut self, letter: u8, text: &'a [u8]) -> Option<&'a [u8]> {
        let bounded = |most: u32| number(text, 2).filter(|(value, _)| *value <= most);
        let rest = match letter {
            b'Y' => {
                let (year, rest) = number(text, 4).filter(|_| text.len() >= 4)?;
                self.year = Some(year);
                rest
            }
            b'y' => {
                let (year, rest) = number(text, 2)?;
                self.year = Some(if year < 69 { 2000 + year } else { 1900 + year });
                rest
            }
            b'm' => {
                let (month, rest) = bounded(12)?;
                self.month = Some(month);
                rest
            }
            b'd' | b'e' => {
                let (day, rest) =
                    number(text.trim_ascii_start(), 2).filter(|(day, _)| *day < 32)?;
                self.day = Some(day);
                rest
            }
            b'b' | b'B' => {
                let letters = text.iter().take_while(|b| b.is_ascii_alphabetic()).count();
                let name = text[..letters].to_ascii_lowercase();
                let is_named = |month: &&[u8]| name == **month || name == month[..3];
                self.month = Some(u32::try_from(MONTHS.iter().position(is_named)?).ok()? + 1);
                &text[letters..]
            }
            b'H' => {
                let (hour, rest) = bounded(23)?;
                self.hour = Some(hour);
                rest
            }
            b'I' => {
                let (hour, rest) = bounded(12).filter(|(hour, _)| *hour > 0)?;
                self.hour = Some(hour % 12);
                rest
            }
            b'p' => {
                let (half, rest) = text.split_at_checked(2)?;
                self.afternoon = Some(match half.to_ascii_lowercase().as_slice() {
                    b"am" => false,
                    b"pm" => true,
                    _ => return None,
                });
                rest
            }
            b'M' => {
                let (minute, rest) = bounded(59)?;
                self.minute = minute;
                rest
            }
            b'S' => {
                let (second, rest) = bounded(59)?;
                self.second = second;
                rest
            }
            b'f' => {
                let (nanos, class, rest) = moment::fraction_of_second(text)?;
                self.fraction = Some((nanos, class));
                rest
            }
            // it is the last one
            _ => {
                let (offset, class) = moment::zone(text)?;
                self.offset = Some(offset).filter(|_| class == ZONED);
                self.offset?;
                &[]
            }
        };
        Some(rest)
    }

    fn moment(&self) -> Option<Moment> {
        let year = self.year?;
        let midnight = i64::from(civil(year, self.month?, self.day?)?) * 86_400;
        let far = if moment::is_far(year) { FAR } else { 0 };
        let Some(hour) = self.hour else {
            return Some(Moment { seconds: midnight, nanos: 0, class: DATE | far });
        };
        let hour = hour + if self.afternoon == Some(true) { 12 } else { 0 };
        let clock = i64::from(hour * 3600 + self.minute * 60 + self.second);
        let (nanos, class) = self.fraction.unwrap_or((0, SECOND));
        let zone = if self.offset.is_some() { ZONED } else { NAIVE };
        let seconds = midnight + clock - self.offset.unwrap_or(0);
        Some(Moment { seconds, nanos, class: class | zone | far })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: &str, text: &str) -> Option<(i64, u32)> {
        let moment = Pattern::new(format).unwrap().read(text.as_bytes())?;
        Some((moment.seconds, moment.nanos))
    }

    #[test]
    fn every_letter_reads_what_it_should() {
        let iso = |text: &str| {
            let moment = moment::iso(text.as_bytes()).unwrap();
            Some((moment.seconds, moment.nanos))
        };
        let cases = [
            ("%d.%m.%Y", "8.2.2013", "2013-02-08"),
            ("%d.%m.%y", "08.02.13", "2013-02-08"),
            ("%D", "02/08/69", "1969-02-08"),
            ("%d %b %Y", "8 Feb 2013", "2013-02-08"),
            ("%B %e, %Y", "FEBRUARY  8, 2013", "2013-02-08"),
            ("%F %T", "2013-02-08 09:30:01", "2013-02-08 09:30:01"),
            ("%m/%d/%Y %I:%M %p", "02/08/2013 12:05 AM", "2013-02-08 00:05:00"),
            ("%m/%d/%Y %I:%M %p", "02/08/2013 12:05 pm", "2013-02-08 12:05:00"),
            ("%Y%m%d %H%M%S.%f", "20130208 093001.25", "2013-02-08 09:30:01.25"),
            ("%FT%T%z", "2013-02-08T09:30:01+0100", "2013-02-08T08:30:01Z"),
            ("%d%%%m%%%Y", "08%02%2013", "2013-02-08"),
        ];
        for (format, text, wanted) in cases {
            assert_eq!(read(format, text), iso(wanted), "{format}");
        }
        for (format, text) in [
            ("%d.%m.%Y", "31.02.2013"),
            ("%d.%m.%Y", "08.13.2013"),
            ("%d.%m.%Y", "08.02.2013 "),
            ("%d.%m.%Y", "08.02"),
            ("%d.%m.%Y", ""),
            ("%d %b %Y", "8 Foo 2013"),
            ("%F %H:%M", "2013-02-08 24:00"),
            ("%m/%d/%Y %I:%M %p", "02/08/2013 13:05 PM"),
            ("%FT%T%z", "2013-02-08T09:30:01"),
        ] {
            assert_eq!(read(format, text), None, "{format} {text}");
        }
        for format in ["%Q", "%d.%m", "%", "%F %I:%M", "x"] {
            assert_eq!(Pattern::new(format), None, "{format}");
        }
    }
}
