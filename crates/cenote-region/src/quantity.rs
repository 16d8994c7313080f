//! Amounts of memory, as people write them and as the kernel counts them.
//!
//! ```
//! use cenote_region::quantity::{ByteSize, PAGE, round_up};
//! let size: ByteSize = "4GiB".parse()?;
//! assert_eq!(size, ByteSize(4 << 30));
//! assert_eq!(size.to_string(), "4.0 GiB");
//! assert_eq!(round_up(4097, PAGE), Some(8192));
//! # Ok::<(), cenote_region::quantity::ParseByteSizeError>(())
//! ```

use std::fmt;
use std::iter::Sum;
use std::str::FromStr;

/// The page size that layouts are made for: x86-64's, and the least of other processors.
pub const PAGE: u64 = 4096;

/// The least multiple of `align` that is at least `value`; `None` where it overflows or
/// `align` is zero.
#[must_use]
pub const fn round_up(value: u64, align: u64) -> Option<u64> {
    value.checked_next_multiple_of(align)
}

/// A number of bytes.
///
/// Arithmetic is checked: `None` is an overflow, or less than nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// No bytes.
    pub const ZERO: Self = Self(0);
    /// What an absent limit is written as.
    pub const MAX: Self = Self(u64::MAX);

    /// The number itself.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// The sum, unless it overflows.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// The difference, unless it is negative.
    #[must_use]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(rest) => Some(Self(rest)),
            None => None,
        }
    }

    /// The product, unless it overflows.
    #[must_use]
    pub const fn checked_mul(self, factor: u64) -> Option<Self> {
        match self.0.checked_mul(factor) {
            Some(product) => Some(Self(product)),
            None => None,
        }
    }

    /// The sum, or [`MAX`](Self::MAX).
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or [`ZERO`](Self::ZERO).
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// The sum; it stops at [`ByteSize::MAX`].
impl Sum for ByteSize {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::ZERO, Self::saturating_add)
    }
}

/// Units in which sizes are shown, largest first.
const UNITS: [(u64, &str); 4] =
    [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];

/// From this unit on a size is shown with one decimal.
const DECIMAL_FROM: u64 = 1 << 30;

/// One decimal for GiB and above, whole KiB and MiB, rounded down: what is shown as free is
/// there.
impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match UNITS.iter().find(|(unit, _)| self.0 >= *unit) {
            Some((unit, name)) if *unit >= DECIMAL_FROM => {
                let tenths = u128::from(self.0) * 10 / u128::from(*unit);
                format!("{}.{} {name}", tenths / 10, tenths % 10)
            }
            Some((unit, name)) => format!("{} {name}", self.0 / unit),
            None => format!("{} B", self.0),
        };
        f.pad(&text)
    }
}

/// Why a text is not a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseByteSizeError {
    /// No number in front.
    #[error("{text:?} is not a size: write a number and a unit, such as 512MiB or 4GiB")]
    NotANumber {
        /// What was read.
        text: String,
    },
    /// Something other than a unit behind the number.
    #[error("{unit:?} is not a unit of size: use B, KiB, MiB, GiB or TiB")]
    UnknownUnit {
        /// What stood where the unit is expected.
        unit: String,
    },
    /// More than 64 bits of bytes.
    #[error("{text:?} is more than 16 EiB")]
    TooLarge {
        /// What was read.
        text: String,
    },
}

/// `17`, `17B`, `64k`, `500M`, `1.5 GiB`: in any case, with or without a space. All units are
/// powers of 1024, as in `mount -o size=`: `k`, `kB` and `KiB` are the same.
impl FromStr for ByteSize {
    type Err = ParseByteSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let not_a_number = || ParseByteSizeError::NotANumber { text: text.to_owned() };
        let too_large = || ParseByteSizeError::TooLarge { text: text.to_owned() };
        let digits_end =
            trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits_end);
        let factor = factor_of(unit.trim())
            .ok_or_else(|| ParseByteSizeError::UnknownUnit { unit: unit.trim().to_owned() })?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
            return Err(not_a_number());
        }
        // Digits only, so all that can fail is the size.
        let whole: u128 = whole.parse().map_err(|_| too_large())?;
        // Nine decimals resolve a byte of a GiB; more are dropped.
        let decimals: u128 = fraction
            .chars()
            .chain("000000000".chars())
            .take(9)
            .fold(0, |sum, digit| sum * 10 + u128::from(digit.to_digit(10).unwrap_or(0)));
        let factor = u128::from(factor);
        let bytes = whole
            .checked_mul(factor)
            .and_then(|bytes| bytes.checked_add(decimals * factor / 1_000_000_000))
            .ok_or_else(too_large)?;
        u64::try_from(bytes).map(Self).map_err(|_| too_large())
    }
}

fn factor_of(unit: &str) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shown_in_the_largest_unit() {
        for (bytes, text) in [
            (0, "0 B"),
            (17, "17 B"),
            (12 << 10, "12 KiB"),
            ((12 << 10) + 1023, "12 KiB"),
            (300 << 20, "300 MiB"),
            (1 << 30, "1.0 GiB"),
            ((1 << 30) - 1, "1023 MiB"),
            (3 << 29, "1.5 GiB"),
            (5 << 40, "5.0 TiB"),
        ] {
            assert_eq!(ByteSize(bytes).to_string(), text);
        }
        assert_eq!(format!("{:>10}", ByteSize(17)), "      17 B");
    }

    #[test]
    fn read_as_people_write() {
        for (text, bytes) in [
            ("4GiB", 4 << 30),
            ("500M", 500 << 20),
            ("64k", 64 << 10),
            ("12345", 12345),
            (" 1.5 gb ", 3 << 29),
            ("0.000001MiB", 1),
            ("16777215TiB", 16_777_215 << 40),
        ] {
            assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
        }
    }

    #[test]
    fn refused_with_the_reason() {
        for text in ["", "GiB", ".", "1.", ".5k", "1.2.3k"] {
            let error = text.parse::<ByteSize>().unwrap_err();
            assert!(matches!(error, ParseByteSizeError::NotANumber { .. }), "{text}: {error}");
        }
        for text in ["1 parsec", "4GiBs", "-4k"] {
            let error = text.parse::<ByteSize>().unwrap_err();
            assert!(matches!(error, ParseByteSizeError::UnknownUnit { .. }), "{text}: {error}");
        }
        for text in ["16777216TiB", "99999999999999999999999999999999999999999999"] {
            let error = text.parse::<ByteSize>().unwrap_err();
            assert!(matches!(error, ParseByteSizeError::TooLarge { .. }), "{text}: {error}");
        }
    }

    #[test]
    fn rounding() {
        assert_eq!(round_up(0, PAGE), Some(0));
        assert_eq!(round_up(1, PAGE), Some(PAGE));
        assert_eq!(round_up(PAGE, PAGE), Some(PAGE));
        assert_eq!(round_up(u64::MAX, PAGE), None);
        assert_eq!(round_up(1, 0), None);
    }

    proptest! {
        #[test]
        fn plain_numbers_come_back(bytes: u64) {
            prop_assert_eq!(bytes.to_string().parse(), Ok(ByteSize(bytes)));
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = text.parse::<ByteSize>();
        }
    }
}
