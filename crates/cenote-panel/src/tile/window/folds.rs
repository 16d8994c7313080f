//! What the folding windows keep, and what they make of it.

use super::super::history::History;
use super::fold::{Fold, TwoStack};
use crate::op::{Window, Window2};

/// Numbers a symbol that an operator keeps.
pub(super) fn parts(op: Window) -> usize {
    match op {
        Window::Var | Window::Std | Window::ArgMin | Window::ArgMax => 2,
        Window::DecayLinear | Window::Slope | Window::Residual => 2,
        _ => 1,
    }
}

/// The same for two inputs.
pub(super) fn parts2(op: Window2) -> usize {
    match op {
        Window2::Cov => 3,
        Window2::Beta => 4,
        Window2::Corr => 5,
    }
}

pub(super) fn one(op: Window, stack: &mut TwoStack, x: &History, ordinal: u64, out: &mut [f64]) {
    let n = stack.rows_f64();
    match op {
        Window::Sum => stack.step(&Sum, [x], ordinal, out),
        Window::Mean => stack.step(&Mean { n }, [x], ordinal, out),
        Window::Var => stack.step(&Var { n }, [x], ordinal, out),
        Window::Std => stack.step(&Std(Var { n }), [x], ordinal, out),
        Window::Product => stack.step(&Product, [x], ordinal, out),
        Window::Min => stack.step(&Least { sign: 1.0 }, [x], ordinal, out),
        Window::Max => stack.step(&Least { sign: -1.0 }, [x], ordinal, out),
        Window::ArgMin => stack.step(&ArgLeast { sign: 1.0, n }, [x], ordinal, out),
        Window::ArgMax => stack.step(&ArgLeast { sign: -1.0, n }, [x], ordinal, out),
        Window::DecayLinear => stack.step(&Decay { n }, [x], ordinal, out),
        Window::Slope => stack.step(&Line::new(n, false), [x], ordinal, out),
        Window::Residual => stack.step(&Line::new(n, true), [x], ordinal, out),
        Window::Delay | Window::Rank | Window::Quantile(_) | Window::Skew | Window::Kurt => {
            out.fill(f64::NAN);
        }
    }
}

pub(super) fn two(
    op: Window2,
    stack: &mut TwoStack,
    inputs: [&History; 2],
    ordinal: u64,
    out: &mut [f64],
) {
    let n = stack.rows_f64();
    match op {
        Window2::Cov => stack.step(&Cov { n }, inputs, ordinal, out),
        Window2::Beta => stack.step(&Beta { n }, inputs, ordinal, out),
        Window2::Corr => stack.step(&Corr { n }, inputs, ordinal, out),
    }
}

#[inline(always)]
fn add<const C: usize>(a: [f64; C], b: [f64; C]) -> [f64; C] {
    let mut sum = a;
    for c in 0..C {
        sum[c] += b[c];
    }
    sum
}

/// 0, or missing for an infinity: next to the anchor's own it would be so anyway.
#[inline(always)]
fn finite(x: f64) -> f64 {
    x * 0.0
}

struct Sum;

impl Fold<1, 1> for Sum {
    #[inline(always)]
    fn lift(&self, [x]: [f64; 1], _: [f64; 1], _: f64) -> [f64; 1] {
        [x]
    }
    #[inline(always)]
    fn join(&self, a: [f64; 1], b: [f64; 1]) -> [f64; 1] {
        add(a, b)
    }
    #[inline(always)]
    fn finish(&self, [sum]: [f64; 1], _: [f64; 1], _: [f64; 1], _: f64) -> f64 {
        sum
    }
}

struct Product;

impl Fold<1, 1> for Product {
    #[inline(always)]
    fn lift(&self, [x]: [f64; 1], _: [f64; 1], _: f64) -> [f64; 1] {
        [x]
    }
    #[inline(always)]
    fn join(&self, [a]: [f64; 1], [b]: [f64; 1]) -> [f64; 1] {
        [a * b]
    }
    #[inline(always)]
    fn finish(&self, [product]: [f64; 1], _: [f64; 1], _: [f64; 1], _: f64) -> f64 {
        product
    }
}

/// Σ(x − a) keeps the mean of a constant exact.
struct Mean {
    n: f64,
}

impl Fold<1, 1> for Mean {
    #[inline(always)]
    fn lift(&self, [x]: [f64; 1], [a]: [f64; 1], _: f64) -> [f64; 1] {
        [x - a]
    }
    #[inline(always)]
    fn join(&self, a: [f64; 1], b: [f64; 1]) -> [f64; 1] {
        add(a, b)
    }
    #[inline(always)]
    fn finish(&self, [sum]: [f64; 1], _: [f64; 1], [a]: [f64; 1], _: f64) -> f64 {
        a + sum / self.n + finite(sum)
    }
}

/// Σ(x − a), Σ(x − a)².
struct Var {
    n: f64,
}

impl Fold<1, 2> for Var {
    #[inline(always)]
    fn lift(&self, [x]: [f64; 1], [a]: [f64; 1], _: f64) -> [f64; 2] {
        let d = x - a;
        [d, d * d]
    }
    #[inline(always)]
    fn join(&self, a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
        add(a, b)
    }
    #[inline(always)]
    fn finish(&self, [s, ss]: [f64; 2], _: [f64; 1], _: [f64; 1], _: f64) -> f64 {
        not_below_0(ss - s * s / self.n) / (self.n - 1.0)
    }
}

struct Std(Var);

impl Fold<1, 2> for Std {
    #[inline(always)]
    fn lift(&self, x: [f64; 1], a: [f64; 1], at: f64) -> [f64; 2] {
        self.0.lift(x, a, at)
    }
    #[inline(always)]
    fn join(&self, a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
        add(a, b)
    }
    #[inline(always)]
    fn finish(&self, parts: [f64; 2], x: [f64; 1], a: [f64; 1], at: f64) -> f64 {
        self.0.finish(parts, x, a, at).sqrt()
    }
}

/// Rounding may leave a sum of squares just below 0. A missing one stays missing.
#[inline(always)]
fn not_below_0(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

/// The least of sign × x.
struct Least {
    sign: f64,
}

impl Fold<1, 1> for Least {
    #[inline(always)]
    fn lift(&self, [x]: [f64; 1], _: [f64; 1], _: f64) -> [f64; 1] {
        [x * self.sign]
    }
    #[inline(always)]
    fn join(&self, [a]: [f64; 1], [b]: [f64; 1]) -> [f64; 1] {
        let less = if b < a { b } else { a };
        [if b.is_nan() { b } else { less }]
    }
    #[inline(always)]
    fn finish(&self, [least]: [f64; 1], _: [f64; 1], _: [f64; 1], _: f64) -> f64 {
        least * self.sign
    }
}

/// The least of sign × x, and its row, counted from the anchor; the oldest of equals.
struct ArgLeast {
    sign: f64,
    n: f64,
}

impl Fold<1, 2> for ArgLeast {
    #[inline(always)]
    fn lift(&self, [x]: [f64; 1], _: [f64; 1], at: f64) -> [f64; 2] {
        [x * self.sign, at]
    }
    #[inline(always)]
    fn join(&self, [a, i]: [f64; 2], [b, j]: [f64; 2]) -> [f64; 2] {
        let is_newer = (b < a) | b.is_nan();
        [if is_newer { b } else { a }, if is_newer { j } else { i }]
    }
    #[inline(always)]
    fn finish(&self, [least, row]: [f64; 2], _: [f64; 1], _: [f64; 1], at: f64) -> f64 {
        let place = row - at + self.n;
        if least.is_nan() { least } else { place }
    }
}

/// Σ(x − a), Σi(x − a), i counted from the anchor.
struct Decay {
    n: f64,
}

impl Fold<1, 2> for Decay {
    #[inline(always)]
    fn lift(&self, [x]: [f64; 1], [a]: [f64; 1], at: f64) -> [f64; 2] {
        let d = x - a;
        [d, at * d]
    }
    #[inline(always)]
    fn join(&self, a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
        add(a, b)
    }
    #[inline(always)]
    fn finish(&self, [s, si]: [f64; 2], _: [f64; 1], [a]: [f64; 1], at: f64) -> f64 {
        let n = self.n;
        a + (si + (n - at) * s) / (n * (n + 1.0) / 2.0) + finite(s)
    }
}

/// The line through a window: as [`Decay`].
struct Line {
    n: f64,
    /// Σ(i − mean of i)².
    spread: f64,
    residual: bool,
}

impl Line {
    fn new(n: f64, residual: bool) -> Line {
        Line { n, spread: n * (n * n - 1.0) / 12.0, residual }
    }
}

impl Fold<1, 2> for Line {
    #[inline(always)]
    fn lift(&self, [x]: [f64; 1], [a]: [f64; 1], at: f64) -> [f64; 2] {
        let d = x - a;
        [d, at * d]
    }
    #[inline(always)]
    fn join(&self, a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
        add(a, b)
    }
    #[inline(always)]
    fn finish(&self, [s, si]: [f64; 2], [x]: [f64; 1], [a]: [f64; 1], at: f64) -> f64 {
        let middle = (self.n - 1.0) / 2.0;
        let slope = (si - (at - middle) * s) / self.spread + finite(s);
        if self.residual { (x - a) - (s / self.n + slope * middle) } else { slope }
    }
}

/// Σ(x − a), Σ(y − b), Σ(x − a)(y − b).
struct Cov {
    n: f64,
}

impl Fold<2, 3> for Cov {
    #[inline(always)]
    fn lift(&self, [x, y]: [f64; 2], [a, b]: [f64; 2], _: f64) -> [f64; 3] {
        let (d, e) = (x - a, y - b);
        [d, e, d * e]
    }
    #[inline(always)]
    fn join(&self, a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
        add(a, b)
    }
    #[inline(always)]
    fn finish(&self, [sx, sy, sxy]: [f64; 3], _: [f64; 2], _: [f64; 2], _: f64) -> f64 {
        (sxy - sx * sy / self.n) / (self.n - 1.0) + finite(sx + sy)
    }
}

/// As [`Cov`], and Σ(y − b)².
struct Beta {
    n: f64,
}

impl Fold<2, 4> for Beta {
    #[inline(always)]
    fn lift(&self, [x, y]: [f64; 2], [a, b]: [f64; 2], _: f64) -> [f64; 4] {
        let (d, e) = (x - a, y - b);
        [d, e, d * e, e * e]
    }
    #[inline(always)]
    fn join(&self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        add(a, b)
    }
    #[inline(always)]
    fn finish(&self, [sx, sy, sxy, syy]: [f64; 4], _: [f64; 2], _: [f64; 2], _: f64) -> f64 {
        let spread = syy - sy * sy / self.n;
        let slope = (sxy - sx * sy / self.n) / spread + finite(sx + sy);
        if spread <= 0.0 { f64::NAN } else { slope }
    }
}

/// As [`Beta`], and Σ(x − a)².
struct Corr {
    n: f64,
}

impl Fold<2, 5> for Corr {
    #[inline(always)]
    fn lift(&self, [x, y]: [f64; 2], [a, b]: [f64; 2], _: f64) -> [f64; 5] {
        let (d, e) = (x - a, y - b);
        [d, e, d * e, d * d, e * e]
    }
    #[inline(always)]
    fn join(&self, a: [f64; 5], b: [f64; 5]) -> [f64; 5] {
        add(a, b)
    }
    #[inline(always)]
    fn finish(&self, [sx, sy, sxy, sxx, syy]: [f64; 5], _: [f64; 2], _: [f64; 2], _: f64) -> f64 {
        let (cxx, cyy) = (sxx - sx * sx / self.n, syy - sy * sy / self.n);
        let r = (sxy - sx * sy / self.n) / (cxx * cyy).sqrt() + finite(sx + sy);
        let r = r.clamp(-1.0, 1.0);
        // A constant has no correlation. What is missing compares as false, and is missing.
        if (cxx <= 0.0) | (cyy <= 0.0) { f64::NAN } else { r }
    }
}
