//! Covariance and correlation of two ranks of a row, such that ties stay ties.
//!
//! Products of ranks are often equal, and what follows is often a rank: then the rounding of
//! a sum would decide who is first. Here each value is made of the places behind the ranks,
//! which are halves of whole numbers, in units of the anchor's row (see [`fold`]): twice a
//! place, times the anchor's count of symbols, by its own row's count. Where all rows of the
//! window have as many symbols these are whole numbers, and so are the sums, exactly; there is
//! one rounding at the end (two of a correlation). Where the number changes all is kept in
//! [`Twice`] the length, which is enough for equal values to have equal bits, but for chances
//! of one in millions.
//!
//! [`fold`]: super::fold

use std::marker::PhantomData;

use super::super::history::History;
use super::fold::{Fold, TwoStack};
use crate::op::Window2;
use crate::twice::{Fused, Halves, Product, Twice};
use crate::wide::fuses;

/// Inputs: the first rank and how many have one, the second and likewise.
type Ranks = [f64; 4];

/// Numbers a symbol that an operator keeps.
pub(super) fn parts(op: Window2) -> usize {
    match op {
        Window2::Cov => COV,
        _ => CORR,
    }
}

const COV: usize = 6;
const CORR: usize = 10;

/// The output at row `ordinal`.
pub(super) fn of(
    op: Window2,
    stack: &mut TwoStack,
    inputs: [&History; 4],
    ordinal: u64,
    out: &mut [f64],
) {
    if fuses() {
        with::<Fused>(op, stack, inputs, ordinal, out);
    } else {
        with::<Halves>(op, stack, inputs, ordinal, out);
    }
}

fn with<P: Product>(
    op: Window2,
    stack: &mut TwoStack,
    inputs: [&History; 4],
    ordinal: u64,
    out: &mut [f64],
) {
    let (n, product) = (stack.rows_f64(), PhantomData::<P>);
    match op {
        Window2::Cov => stack.step(&Cov { n, product }, inputs, ordinal, out),
        _ => stack.step(&Corr { n, product }, inputs, ordinal, out),
    }
}

/// Twice the place behind a rank among `n`, in units of a row of `of`: the whole number itself
/// where both are the same.
#[inline(always)]
fn place<P: Product>(rank: f64, n: f64, of: f64) -> Twice<P> {
    // What the product of rank and count is but for its rounding.
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 × 2 ^ 52
    let place = (rank * n * 2.0 + SHIFT) - SHIFT;
    // At most 2 n², a whole number.
    Twice::quotient(place * of, n)
}

#[inline(always)]
fn add<const C: usize, P: Product>(a: [f64; C], b: [f64; C]) -> [f64; C] {
    let mut sums = [0.0; C];
    for c in (0..C).step_by(2) {
        let sum = Twice::<P>::new(a[c], a[c + 1]).plus(Twice::new(b[c], b[c + 1]));
        (sums[c], sums[c + 1]) = (sum.high, sum.low);
    }
    sums
}

/// n × products − product, or 0 where that is all rounding.
#[inline(always)]
fn moment<P: Product>(n: f64, products: Twice<P>, product: Twice<P>) -> Twice<P> {
    const ROUNDING: f64 = 1e-27;
    let found = products.times(n) - product;
    let is_rounding = found.high.abs() <= ROUNDING * product.high;
    Twice::new(
        if is_rounding { 0.0 } else { found.high },
        if is_rounding { 0.0 } else { found.low },
    )
}

/// Σx, Σy, Σxy.
struct Cov<P> {
    n: f64,
    product: PhantomData<P>,
}

impl<P: Product> Fold<4, COV> for Cov<P> {
    #[inline(always)]
    fn lift(&self, [r, n, q, m]: Ranks, [_, n0, _, m0]: Ranks, _: f64) -> [f64; COV] {
        let (x, y) = (place::<P>(r, n, n0), place(q, m, m0));
        let xy = x * y;
        [x.high, x.low, y.high, y.low, xy.high, xy.low]
    }
    #[inline(always)]
    fn join(&self, a: [f64; COV], b: [f64; COV]) -> [f64; COV] {
        add::<_, P>(a, b)
    }
    #[inline(always)]
    fn finish(&self, sums: [f64; COV], _: Ranks, [_, n0, _, m0]: Ranks, _: f64) -> f64 {
        let [x, x1, y, y1, xy, xy1] = sums;
        let (x, y, xy) = (Twice::<P>::new(x, x1), Twice::new(y, y1), Twice::new(xy, xy1));
        let xy = moment(self.n, xy, x * y);
        xy.ratio(Twice::new(4.0 * (n0 * m0) * self.n * (self.n - 1.0), 0.0))
    }
}

/// As [`Cov`], and Σx², Σy².
struct Corr<P> {
    n: f64,
    product: PhantomData<P>,
}

impl<P: Product> Fold<4, CORR> for Corr<P> {
    #[inline(always)]
    fn lift(&self, [r, n, q, m]: Ranks, [_, n0, _, m0]: Ranks, _: f64) -> [f64; CORR] {
        let (x, y) = (place::<P>(r, n, n0), place(q, m, m0));
        let (xy, xx, yy) = (x * y, x * x, y * y);
        [x.high, x.low, y.high, y.low, xy.high, xy.low, xx.high, xx.low, yy.high, yy.low]
    }
    #[inline(always)]
    fn join(&self, a: [f64; CORR], b: [f64; CORR]) -> [f64; CORR] {
        add::<_, P>(a, b)
    }
    #[inline(always)]
    fn finish(&self, sums: [f64; CORR], _: Ranks, _: Ranks, _: f64) -> f64 {
        let [x, x1, y, y1, xy, xy1, xx, xx1, yy, yy1] = sums;
        let (x, y) = (Twice::<P>::new(x, x1), Twice::new(y, y1));
        let xy = moment(self.n, Twice::new(xy, xy1), x * y);
        let xx = moment(self.n, Twice::new(xx, xx1), x * x);
        let yy = moment(self.n, Twice::new(yy, yy1), y * y);
        // xy ÷ √(xx yy) would round differently for equal values: 3 ÷ √18 and 1 ÷ √2, say.
        let square = (xy * xy).ratio(xx * yy);
        let square = if square > 1.0 { 1.0 } else { square };
        let r = square.sqrt().copysign(xy.high) + 0.0;
        // A constant has no correlation. What is missing compares as false, and is missing.
        if (xx.high <= 0.0) | (yy.high <= 0.0) { f64::NAN } else { r }
    }
}

#[cfg(test)]
mod tests;
