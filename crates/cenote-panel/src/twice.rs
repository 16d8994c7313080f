//! Numbers of twice a double's length: a double and what its rounding lost (Dekker 1971).
//!
//! Plain operations only, so that every machine has the same bits. Values must be far from
//! the ends of the doubles' range.

use std::ops::{Add, Div, Mul, Sub};

/// `high + low`, of which `high` is the nearest double.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twice {
    pub(crate) high: f64,
    pub(crate) low: f64,
}

impl Twice {
    /// `high + low`, of which `high` is the nearest double.
    #[inline(always)]
    pub(crate) fn new(high: f64, low: f64) -> Twice {
        Twice { high, low }
    }

    /// The quotient of two doubles.
    #[inline(always)]
    pub(crate) fn quotient(a: f64, b: f64) -> Twice {
        let high = a / b;
        let back = product(high, b);
        Twice { high, low: ((a - back.high) - back.low) / b }
    }

    /// The sum of two of one sign; faster than `+`, which must mind what cancels.
    #[inline(always)]
    pub(crate) fn plus(self, other: Twice) -> Twice {
        let high = sum(self.high, other.high);
        sum_of_ordered(high.high, high.low + (self.low + other.low))
    }

    /// The double nearest to this ÷ `divisor`.
    #[inline(always)]
    pub(crate) fn by(self, divisor: f64) -> f64 {
        self.ratio(Twice::from(divisor))
    }

    /// The double nearest to this ÷ `divisor`, but for chances of one in 2^50.
    #[inline(always)]
    pub(crate) fn ratio(self, divisor: Twice) -> f64 {
        let first = self.high / divisor.high;
        let back = product(first, divisor.high);
        let rest = ((self.high - back.high) - back.low) + (self.low - first * divisor.low);
        first + rest / divisor.high
    }
}

/// a + b, exactly.
#[inline(always)]
fn sum(a: f64, b: f64) -> Twice {
    let high = a + b;
    let other = high - a;
    Twice { high, low: (a - (high - other)) + (b - other) }
}

/// a + b, exactly, where |a| ≥ |b|.
#[inline(always)]
fn sum_of_ordered(a: f64, b: f64) -> Twice {
    let high = a + b;
    Twice { high, low: b - (high - a) }
}

/// The upper half of a double's bits, and the rest.
#[inline(always)]
fn halves(a: f64) -> (f64, f64) {
    const SPLIT: f64 = 134_217_729.0; // 2 ^ 27 + 1
    let scaled = SPLIT * a;
    let upper = scaled - (scaled - a);
    (upper, a - upper)
}

/// a × b, exactly.
#[inline(always)]
fn product(a: f64, b: f64) -> Twice {
    let high = a * b;
    let ((a, rest_a), (b, rest_b)) = (halves(a), halves(b));
    let low = ((a * b - high) + a * rest_b + rest_a * b) + rest_a * rest_b;
    Twice { high, low }
}

impl From<f64> for Twice {
    #[inline(always)]
    fn from(high: f64) -> Twice {
        Twice { high, low: 0.0 }
    }
}

impl Add for Twice {
    type Output = Twice;
    #[inline(always)]
    fn add(self, other: Twice) -> Twice {
        let (high, low) = (sum(self.high, other.high), sum(self.low, other.low));
        let first = sum_of_ordered(high.high, high.low + low.high);
        sum_of_ordered(first.high, first.low + low.low)
    }
}

impl Sub for Twice {
    type Output = Twice;
    #[inline(always)]
    fn sub(self, other: Twice) -> Twice {
        self + Twice { high: -other.high, low: -other.low }
    }
}

impl Mul for Twice {
    type Output = Twice;
    #[inline(always)]
    fn mul(self, other: Twice) -> Twice {
        let all = product(self.high, other.high);
        sum_of_ordered(all.high, all.low + (self.high * other.low + self.low * other.high))
    }
}

impl Div for Twice {
    type Output = Twice;
    #[inline(always)]
    fn div(self, other: Twice) -> Twice {
        let first = self.high / other.high;
        let rest = self - other * Twice::from(first);
        let second = rest.high / other.high;
        let rest = rest - other * Twice::from(second);
        sum(first, second) + Twice::from(rest.high / other.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_double_loses_is_kept() {
        let third = Twice::from(1.0) / Twice::from(3.0);
        assert_eq!(third.high, 1.0 / 3.0);
        assert_ne!(third.low, 0.0);
        let one = third + third + third;
        assert!((one.high - 1.0).abs() < 1e-31 && one.low.abs() < 1e-31, "{one:?}");
        // 2 ^ 54 − 1 has a bit too many for a double.
        let large = Twice::from(134_217_729.0) * Twice::from(134_217_727.0);
        assert_eq!((large.high, large.low), (18_014_398_509_481_984.0, -1.0));
        let small = Twice::from(1e16) + Twice::from(1.0) - Twice::from(1e16);
        assert_eq!(small.high, 1.0);
    }
}
