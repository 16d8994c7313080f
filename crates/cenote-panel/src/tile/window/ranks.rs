//! Covariance and correlation of two ranks of a row, such that ties stay ties.
//!
//! Products of ranks are often equal, and what follows is often a rank: then the rounding of
//! a sum would decide who is first. Here each value is made of the places behind the ranks,
//! which are halves of whole numbers. Where a row has as many symbols as the other rows of the
//! window, all sums are of whole numbers, exact, and there is one rounding at the end (two of
//! a correlation): equal values have equal bits, as long as rows² × symbols² stays below 2^51
//! (and but for products that a correlation's quotient rounds in twice the length).
//! Where the number changes within a window, sums are kept in [`Twice`] the length.

use super::super::history::History;
use crate::op::Window2;
use crate::twice::Twice;
use crate::wide::wide;

/// Symbols that are counted at once.
const LANES: usize = 8;

/// Whole numbers up to here are exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Sums over a window of twice the places, of each lane.
#[derive(Default)]
struct Sums {
    x: [f64; LANES],
    y: [f64; LANES],
    xy: [f64; LANES],
    xx: [f64; LANES],
    yy: [f64; LANES],
}

/// `inputs`: the first rank and how many have one, the second, and likewise.
pub(super) fn of(op: Window2, inputs: [&History; 4], rows: u32, ordinal: u64, out: &mut [f64]) {
    wide(
        #[inline(always)]
        || {
            for from in (0..out.len()).step_by(LANES) {
                let lanes = LANES.min(out.len() - from);
                let newest = inputs.map(|input| lane(input.row(ordinal), from, lanes));
                let mut sums = Sums::default();
                let mut alike = [true; LANES];
                for back in 0..u64::from(rows) {
                    let [r, n, q, m] =
                        inputs.map(|input| lane(input.row_before(ordinal, back), from, lanes));
                    for i in 0..LANES {
                        // What is missing is alike to nothing.
                        alike[i] &= (n[i] == newest[1][i]) & (m[i] == newest[3][i]);
                        let (x, y) = (whole(r[i] * n[i] * 2.0), whole(q[i] * m[i] * 2.0));
                        sums.x[i] += x;
                        sums.y[i] += y;
                        sums.xy[i] += x * y;
                        sums.xx[i] += x * x;
                        sums.yy[i] += y * y;
                    }
                }
                for i in 0..lanes {
                    out[from + i] = if alike[i] {
                        exact(op, &sums, i, f64::from(rows), newest[1][i] * newest[3][i])
                    } else {
                        long(op, inputs, rows, ordinal, from + i)
                    };
                }
            }
        },
    );
}

#[inline(always)]
fn lane(row: &[f64], from: usize, lanes: usize) -> [f64; LANES] {
    if let Ok(whole) = <[f64; LANES]>::try_from(&row[from..from + lanes]) {
        return whole;
    }
    let mut padded = [f64::NAN; LANES];
    padded[..lanes].copy_from_slice(&row[from..from + lanes]);
    padded
}

/// The whole number that a product of a rank and a count is but for its rounding.
#[inline(always)]
fn whole(x: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 × 2 ^ 52
    (x + SHIFT) - SHIFT
}

/// From sums of twice the places; `counts` is the product of both counts.
#[inline(always)]
fn exact(op: Window2, sums: &Sums, i: usize, rows: f64, counts: f64) -> f64 {
    let xy = rows * sums.xy[i] - sums.x[i] * sums.y[i];
    if op == Window2::Cov {
        return xy / (4.0 * counts * rows * (rows - 1.0));
    }
    let xx = rows * sums.xx[i] - sums.x[i] * sums.x[i];
    let yy = rows * sums.yy[i] - sums.y[i] * sums.y[i];
    if xx == 0.0 || yy == 0.0 {
        return f64::NAN;
    }
    // xy ÷ √(xx yy) would round differently for equal values: 3 ÷ √18 and 1 ÷ √2, say.
    let square = if xx * yy < EXACT {
        xy * xy / (xx * yy)
    } else {
        (Twice::from(xy) * Twice::from(xy) / (Twice::from(xx) * Twice::from(yy))).high
    };
    square.min(1.0).sqrt().copysign(xy) + 0.0
}

/// The same where counts differ from row to row. Missing where anything is.
#[inline(never)]
fn long(op: Window2, inputs: [&History; 4], rows: u32, ordinal: u64, symbol: usize) -> f64 {
    let zero = Twice::from(0.0);
    let [mut x, mut y, mut xy, mut xx, mut yy] = [zero; 5];
    for back in 0..u64::from(rows) {
        let [r, n, q, m] = inputs.map(|input| input.row_before(ordinal, back)[symbol]);
        let a = Twice::from(whole(r * n * 2.0)) / Twice::from(n * 2.0);
        let b = Twice::from(whole(q * m * 2.0)) / Twice::from(m * 2.0);
        (x, y) = (x + a, y + b);
        (xy, xx, yy) = (xy + a * b, xx + a * a, yy + b * b);
    }
    if !(x.high + y.high).is_finite() {
        return f64::NAN;
    }
    let n = Twice::from(f64::from(rows));
    let xy = moment(n, xy, x * y);
    if op == Window2::Cov {
        return (xy / (n * (n - Twice::from(1.0)))).high;
    }
    let (xx, yy) = (moment(n, xx, x * x), moment(n, yy, y * y));
    if xx.high <= 0.0 || yy.high <= 0.0 {
        return f64::NAN;
    }
    let square = (xy * xy / (xx * yy)).high;
    square.min(1.0).sqrt().copysign(xy.high) + 0.0
}

/// n × products − product, or 0 where that is all rounding.
fn moment(n: Twice, products: Twice, product: Twice) -> Twice {
    const ROUNDING: f64 = 1e-27;
    let found = n * products - product;
    if found.high.abs() <= ROUNDING * product.high { Twice::from(0.0) } else { found }
}

#[cfg(test)]
mod tests;
