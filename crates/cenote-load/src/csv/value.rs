//! Numbers, from text to value.
//!
//! The inferring readers take exactly what [`super::infer`] gives the class to.

use super::infer::{self, BIG, FLOAT, INT};

/// A whole number without leading zeros, which fits.
pub(super) fn whole(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 || digits[0] == b'0' && digits.len() > 1 {
        return rare_whole(text);
    }
    let mut value = 0i64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return rare_whole(text);
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// Blanks around it, or 19 digits.
#[cold]
fn rare_whole(text: &[u8]) -> Option<i64> {
    let class = infer::classify(text);
    std::str::from_utf8(text.trim_ascii()).ok().filter(|_| class == INT)?.parse().ok()
}

/// Powers of ten that a double holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// A number, rounded correctly.
///
/// Up to 15 digits and no exponent, mantissa and power of ten are exact, so that one division
/// rounds once (Clinger 1990); all else is left to the standard library.
pub(super) fn float(text: &[u8]) -> Option<f64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.len() > 16 || digits.is_empty() {
        return rare_float(text);
    }
    let (mut mantissa, mut point) = (0u64, usize::MAX);
    for (at, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            mantissa = mantissa * 10 + u64::from(digit);
        } else if byte == b'.' && point == usize::MAX {
            point = at;
        } else {
            return rare_float(text);
        }
    }
    let decimals = if point == usize::MAX { 0 } else { digits.len() - 1 - point };
    let padded = point == usize::MAX && digits.len() > 1 && digits[0] == b'0';
    if padded || mantissa > 1 << 53 || digits.len() == 1 && point == 0 {
        return rare_float(text);
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 2^53")]
    let value = mantissa as f64 / POWERS[decimals];
    Some(if negative { -value } else { value })
}

#[cold]
fn rare_float(text: &[u8]) -> Option<f64> {
    let number = infer::classify(text) & (INT | BIG | FLOAT) != 0;
    std::str::from_utf8(text.trim_ascii()).ok().filter(|_| number)?.parse().ok()
}

/// [`float`], but none of a number that would be infinite; `inf` and its like are.
pub(super) fn held(text: &[u8]) -> Option<f64> {
    float(text).filter(|value| value.is_finite() || !has_digit(text))
}

/// Whether a text that was read as infinite is a number too great: infinity has no digits.
pub(super) fn has_digit(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

        /// The standard library, on what inference admits.
        #[test]
        fn numbers_are_those_of_the_standard_library(
            text in "[ \t]?[-+]?[0-9]{0,20}[.]?[0-9]{0,6}([eE][-+]?[0-9]{0,3})?[ ]?|nan|NaN|-?(inf|Infinity)"
        ) {
            let class = if text.is_empty() { infer::TEXT } else { infer::classify(text.as_bytes()) };
            let trimmed = text.trim_matches([' ', '\t']);
            let wanted = (class == INT).then(|| trimmed.parse::<i64>().unwrap());
            prop_assert_eq!(whole(text.as_bytes()), wanted);
            let wanted = (class & infer::NUMBER == class).then(|| trimmed.parse::<f64>().unwrap().to_bits());
            prop_assert_eq!(float(text.as_bytes()).map(f64::to_bits), wanted, "{}", text);
            let is_held = |v: &f64| v.is_finite() || !text.contains(|c: char| c.is_ascii_digit());
            let wanted = wanted.map(f64::from_bits).filter(is_held).map(f64::to_bits);
            prop_assert_eq!(held(text.as_bytes()).map(f64::to_bits), wanted, "{}", text);
        }
    }

    #[test]
    fn a_number_beyond_a_double_is_none() {
        for text in ["1e400", "-1E999", "2e308", &"9".repeat(400)] {
            assert_eq!(held(text.as_bytes()), None, "{text}");
        }
        assert_eq!(held(b"1.7976931348623157e308"), Some(f64::MAX));
        assert_eq!(held(b"-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(held(b"1e-400"), Some(0.0));
    }
}
