//! Operators of one place: one loop each, over as many values as there are.

use crate::math;
use crate::op::{Binary, Unary};
use crate::wide::wide;

/// A loop over values, compiled for each expression. `kernel!(out, x, y => x + y)`.
macro_rules! kernel {
    ($out:ident, $x:ident => $value:expr) => {
        wide(
            #[inline(always)]
            || {
                for (out, &$x) in $out.iter_mut().zip($x) {
                    *out = $value;
                }
            },
        )
    };
    ($out:ident, $x:ident, $y:ident => $value:expr) => {
        wide(
            #[inline(always)]
            || {
                for ((out, &$x), &$y) in $out.iter_mut().zip($x).zip($y) {
                    *out = $value;
                }
            },
        )
    };
}

/// 1 or 0, or missing where either is.
#[inline(always)]
fn truth(x: f64, y: f64, is: bool) -> f64 {
    if x.is_nan() | y.is_nan() { f64::NAN } else { f64::from(u8::from(is)) }
}

pub(crate) fn unary(op: Unary, x: &[f64], out: &mut [f64]) {
    match op {
        Unary::Neg => kernel!(out, x => -x),
        Unary::Abs => kernel!(out, x => x.abs()),
        Unary::Sign => kernel!(out, x => sign(x)),
        Unary::Log => kernel!(out, x => math::log(x)),
        Unary::Exp => kernel!(out, x => math::exp(x)),
        Unary::Sqrt => kernel!(out, x => x.sqrt()),
        Unary::Not => kernel!(out, x => truth(x, x, x == 0.0)),
        Unary::IsMissing => kernel!(out, x => f64::from(u8::from(x.is_nan()))),
    }
}

pub(crate) fn binary(op: Binary, x: &[f64], y: &[f64], out: &mut [f64]) {
    match op {
        Binary::Add => kernel!(out, x, y => x + y),
        Binary::Sub => kernel!(out, x, y => x - y),
        Binary::Mul => kernel!(out, x, y => x * y),
        Binary::Div => kernel!(out, x, y => x / y),
        Binary::Pow => kernel!(out, x, y => math::pow(x, y)),
        Binary::SignedPow => kernel!(out, x, y => math::signed_pow(x, y)),
        Binary::Min => kernel!(out, x, y => least(x, y)),
        Binary::Max => kernel!(out, x, y => -least(-x, -y)),
        Binary::Less => kernel!(out, x, y => truth(x, y, x < y)),
        Binary::LessEqual => kernel!(out, x, y => truth(x, y, x <= y)),
        Binary::Equal => kernel!(out, x, y => truth(x, y, x == y)),
        Binary::NotEqual => kernel!(out, x, y => truth(x, y, x != y)),
        Binary::And => kernel!(out, x, y => truth(x, y, (x != 0.0) & (y != 0.0))),
        Binary::Or => kernel!(out, x, y => truth(x, y, (x != 0.0) | (y != 0.0))),
        Binary::Coalesce => kernel!(out, x, y => if x.is_nan() { y } else { x }),
    }
}

/// −1, 0 or 1; missing stays missing.
#[inline(always)]
fn sign(x: f64) -> f64 {
    let sign = f64::from(i8::from(x > 0.0) - i8::from(x < 0.0));
    if x.is_nan() { x } else { sign }
}

/// The smaller one; missing where either is.
#[inline(always)]
fn least(x: f64, y: f64) -> f64 {
    let smaller = if y < x { y } else { x };
    if y.is_nan() { y } else { smaller }
}

/// `x` where `condition` is not 0, else `y`; missing where it is missing.
pub(crate) fn choose(condition: &[f64], x: &[f64], y: &[f64], out: &mut [f64]) {
    wide(
        #[inline(always)]
        || {
            for (((out, &c), &x), &y) in out.iter_mut().zip(condition).zip(x).zip(y) {
                let chosen = if c != 0.0 { x } else { y };
                *out = if c.is_nan() { c } else { chosen };
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_a_missing_value_is_missing() {
        let missing = f64::NAN;
        let all = [
            Binary::Add,
            Binary::Sub,
            Binary::Mul,
            Binary::Div,
            Binary::Pow,
            Binary::SignedPow,
            Binary::Min,
            Binary::Max,
            Binary::Less,
            Binary::LessEqual,
            Binary::Equal,
            Binary::NotEqual,
            Binary::And,
            Binary::Or,
        ];
        for op in all {
            for other in [0.0, 1.0, 3.0] {
                assert!(op.apply(missing, other).is_nan(), "{op:?}");
                assert!(op.apply(other, missing).is_nan(), "{op:?}");
            }
        }
        for op in [Unary::Neg, Unary::Abs, Unary::Sign, Unary::Log, Unary::Exp, Unary::Not] {
            assert!(op.apply(missing).is_nan(), "{op:?}");
        }
        assert_eq!(Unary::IsMissing.apply(missing), 1.0);
        assert_eq!(Binary::Coalesce.apply(missing, 3.0), 3.0);
    }

    #[test]
    fn values_are_those_of_the_definitions() {
        assert_eq!(Unary::Sign.apply(-3.0), -1.0);
        assert_eq!(Unary::Sign.apply(0.0).to_bits(), 0);
        assert_eq!(Binary::Min.apply(1.0, 2.0), 1.0);
        assert_eq!(Binary::Max.apply(1.0, 2.0), 2.0);
        assert_eq!(Binary::SignedPow.apply(-3.0, 2.0), -9.0);
        assert_eq!(Binary::SignedPow.apply(0.0, 0.5), 0.0);
        assert!(Binary::Pow.apply(-3.0, 0.5).is_nan());
        assert_eq!(Binary::Less.apply(1.0, 2.0), 1.0);
        assert_eq!(Unary::Log.apply(0.0), f64::NEG_INFINITY);
        let mut out = [0.0; 3];
        choose(&[1.0, 0.0, f64::NAN], &[5.0; 3], &[6.0; 3], &mut out);
        assert_eq!(out[..2], [5.0, 6.0]);
        assert!(out[2].is_nan());
    }
}
