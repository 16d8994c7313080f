//! Numbers of twice a double's length: a double and what its rounding lost (Dekker 1971).
//!
//! Every machine has the same bits. What a product loses is the same however it is found, by
//! halves of the factors or by a fused multiplication and addition ([`Product`]). Values must be
//! far from the ends of the doubles' range.

use std::marker::PhantomData;
use std::ops::{Mul, Sub};

/// How the exact product of two doubles is found.
pub(crate) trait Product: Copy {
    /// a × b: the nearest double, and the rest.
    fn of(a: f64, b: f64) -> (f64, f64);
}

/// On any machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Halves;

/// Where [`crate::wide::fuses`]: eight times fewer operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fused;

impl Product for Halves {
    #[inline(always)]
    fn of(a: f64, b: f64) -> (f64, f64) {
        let high = a * b;
        let ((a, rest_a), (b, rest_b)) = (halves(a), halves(b));
        (high, ((a * b - high) + a * rest_b + rest_a * b) + rest_a * rest_b)
    }
}

impl Product for Fused {
    #[inline(always)]
    fn of(a: f64, b: f64) -> (f64, f64) {
        let high = a * b;
        (high, a.mul_add(b, -high))
    }
}

/// The upper half of a double's bits, and the rest.
#[inline(always)]
fn halves(a: f64) -> (f64, f64) {
    const SPLIT: f64 = 134_217_729.0; // 2 ^ 27 + 1
    let scaled = SPLIT * a;
    let upper = scaled - (scaled - a);
    (upper, a - upper)
}

/// a + b: the nearest double, and the rest.
#[inline(always)]
fn sum(a: f64, b: f64) -> (f64, f64) {
    let high = a + b;
    let other = high - a;
    (high, (a - (high - other)) + (b - other))
}

/// The same where |a| ≥ |b|.
#[inline(always)]
fn sum_of_ordered(a: f64, b: f64) -> (f64, f64) {
    let high = a + b;
    (high, b - (high - a))
}

/// `high + low`, of which `high` is the nearest double.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twice<P> {
    pub(crate) high: f64,
    pub(crate) low: f64,
    product: PhantomData<P>,
}

impl<P: Product> Twice<P> {
    /// `high + low`, of which `high` is the nearest double.
    #[inline(always)]
    pub(crate) fn new(high: f64, low: f64) -> Twice<P> {
        Twice { high, low, product: PhantomData }
    }

    #[inline(always)]
    fn of((high, low): (f64, f64)) -> Twice<P> {
        Twice::new(high, low)
    }

    /// The quotient of two doubles.
    #[inline(always)]
    pub(crate) fn quotient(a: f64, b: f64) -> Twice<P> {
        let high = a / b;
        let (back, rest) = P::of(high, b);
        Twice::new(high, ((a - back) - rest) / b)
    }

    /// The sum of two of one sign; faster than a difference, which must mind what cancels.
    #[inline(always)]
    pub(crate) fn plus(self, other: Twice<P>) -> Twice<P> {
        let (high, low) = sum(self.high, other.high);
        Twice::of(sum_of_ordered(high, low + (self.low + other.low)))
    }

    /// This × a double.
    #[inline(always)]
    pub(crate) fn times(self, factor: f64) -> Twice<P> {
        let (high, low) = P::of(self.high, factor);
        Twice::of(sum_of_ordered(high, low + self.low * factor))
    }

    /// The double nearest to this ÷ `divisor`, but for chances of one in 2^50.
    #[inline(always)]
    pub(crate) fn ratio(self, divisor: Twice<P>) -> f64 {
        let first = self.high / divisor.high;
        let (back, low) = P::of(first, divisor.high);
        let rest = ((self.high - back) - low) + (self.low - first * divisor.low);
        first + rest / divisor.high
    }
}

impl<P: Product> Sub for Twice<P> {
    type Output = Twice<P>;
    #[inline(always)]
    fn sub(self, other: Twice<P>) -> Twice<P> {
        let (high, rest) = sum(self.high, -other.high);
        let (low, least) = sum(self.low, -other.low);
        let (high, rest) = sum_of_ordered(high, rest + low);
        Twice::of(sum_of_ordered(high, rest + least))
    }
}

impl<P: Product> Mul for Twice<P> {
    type Output = Twice<P>;
    #[inline(always)]
    fn mul(self, other: Twice<P>) -> Twice<P> {
        let (high, low) = P::of(self.high, other.high);
        let low = low + (self.high * other.low + self.low * other.high);
        Twice::of(sum_of_ordered(high, low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn what_a_double_loses_is_kept<P: Product>() {
        let whole = |x| Twice::<P>::new(x, 0.0);
        let third = Twice::<P>::quotient(1.0, 3.0);
        assert_eq!(third.high, 1.0 / 3.0);
        assert_ne!(third.low, 0.0);
        let one = third.plus(third).plus(third);
        assert!((one.high - 1.0).abs() < 1e-31 && one.low.abs() < 1e-31, "{}", one.low);
        assert_eq!(third.times(3.0).ratio(whole(2.0)), 0.5);
        // 2 ^ 54 − 1 has a bit too many for a double.
        let large = whole(134_217_729.0) * whole(134_217_727.0);
        assert_eq!((large.high, large.low), (18_014_398_509_481_984.0, -1.0));
        assert_eq!((large - whole(18_014_398_509_481_984.0)).high, -1.0);
        let small = whole(1e16).plus(whole(1.0)) - whole(1e16);
        assert_eq!(small.high, 1.0);
        let same = third;
        assert_eq!((third - same).high, 0.0);
    }

    #[test]
    fn by_halves_and_fused() {
        what_a_double_loses_is_kept::<Halves>();
        what_a_double_loses_is_kept::<Fused>();
    }

    proptest! {
        #[test]
        fn both_products_have_the_same_bits(a in -1e12..1e12f64, b in -1e12..1e12f64) {
            let ((high, low), (other, rest)) = (Halves::of(a, b), Fused::of(a, b));
            prop_assert_eq!(high.to_bits(), other.to_bits());
            prop_assert!(low == rest, "{} {}", low, rest);
        }
    }
}
