//! Operators of one place: one loop each, over as many values as there are.

use crate::math;
use crate::op::{Binary, Unary};
use crate::wide::wide;

#[inline(always)]
fn map1(x: &[f64], out: &mut [f64], f: impl Fn(f64) -> f64) {
    wide(
        #[inline(always)]
        || {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = f(x);
            }
        },
    );
}

#[inline(always)]
fn map2(x: &[f64], y: &[f64], out: &mut [f64], f: impl Fn(f64, f64) -> f64) {
    wide(
        #[inline(always)]
        || {
            for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
                *out = f(x, y);
            }
        },
    );
}

/// 1 or 0, or missing where either is.
#[inline(always)]
fn truth(x: f64, y: f64, is: bool) -> f64 {
    if x.is_nan() | y.is_nan() { f64::NAN } else { f64::from(u8::from(is)) }
}

pub(crate) fn unary(op: Unary, x: &[f64], out: &mut [f64]) {
    match op {
        Unary::Neg => map1(
            x,
            out,
            #[inline(always)]
            |x| -x,
        ),
        Unary::Abs => map1(
            x,
            out,
            #[inline(always)]
            |x| x.abs(),
        ),
        Unary::Sign => map1(
            x,
            out,
            #[inline(always)]
            |x| {
                if x > 0.0 {
                    1.0
                } else if x < 0.0 {
                    -1.0
                } else {
                    x * 0.0 + 0.0
                }
            },
        ),
        Unary::Log => map1(x, out, math::log),
        Unary::Exp => map1(x, out, math::exp),
        Unary::Sqrt => map1(
            x,
            out,
            #[inline(always)]
            |x| x.sqrt(),
        ),
        Unary::Not => map1(
            x,
            out,
            #[inline(always)]
            |x| truth(x, x, x == 0.0),
        ),
        Unary::IsMissing => map1(
            x,
            out,
            #[inline(always)]
            |x| f64::from(u8::from(x.is_nan())),
        ),
    }
}

pub(crate) fn binary(op: Binary, x: &[f64], y: &[f64], out: &mut [f64]) {
    match op {
        Binary::Add => map2(
            x,
            y,
            out,
            #[inline(always)]
            |x, y| x + y,
        ),
        Binary::Sub => map2(
            x,
            y,
            out,
            #[inline(always)]
            |x, y| x - y,
        ),
        Binary::Mul => map2(
            x,
            y,
            out,
            #[inline(always)]
            |x, y| x * y,
        ),
        Binary::Div => map2(
            x,
            y,
            out,
            #[inline(always)]
            |x, y| x / y,
        ),
        Binary::Pow => map2(x, y, out, math::pow),
        Binary::SignedPow => map2(x, y, out, math::signed_pow),
        Binary::Min => map2(
            x,
            y,
            out,
            #[inline(always)]
            |x, y| least(x, y),
        ),
        Binary::Max => map2(
            x,
            y,
            out,
            #[inline(always)]
            |x, y| -least(-x, -y),
        ),
        Binary::Less => map2(
            x,
            y,
            out,
            #[inline(always)]
            |x, y| truth(x, y, x < y),
        ),
        Binary::LessEqual => map2(
            x,
            y,
            out,
            #[inline(always)]
            |x, y| truth(x, y, x <= y),
        ),
        Binary::Equal => map2(
            x,
            y,
            out,
            #[inline(always)]
            |x, y| truth(x, y, x == y),
        ),
        Binary::NotEqual => map2(
            x,
            y,
            out,
            #[inline(always)]
            |x, y| truth(x, y, x != y),
        ),
        Binary::And => {
            map2(
                x,
                y,
                out,
                #[inline(always)]
                |x, y| truth(x, y, (x != 0.0) & (y != 0.0)),
            );
        }
        Binary::Or => {
            map2(
                x,
                y,
                out,
                #[inline(always)]
                |x, y| truth(x, y, (x != 0.0) | (y != 0.0)),
            );
        }
        Binary::Coalesce => {
            map2(
                x,
                y,
                out,
                #[inline(always)]
                |x, y| if x.is_nan() { y } else { x },
            );
        }
    }
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

/// The next exponentially weighted mean of each symbol: `mean` goes on from what it was. It
/// begins with the first value; where a value is missing it is missing, and goes on later.
pub(crate) fn ewm_mean(x: &[f64], alpha: f64, mean: &mut [f64], out: &mut [f64]) {
    wide(
        #[inline(always)]
        || {
            for ((out, &x), mean) in out.iter_mut().zip(x).zip(mean) {
                let next = if mean.is_nan() { x } else { *mean + alpha * (x - *mean) };
                *out = if x.is_nan() { x } else { next };
                *mean = if x.is_nan() { *mean } else { next };
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
