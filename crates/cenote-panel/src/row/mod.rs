//! What is computed row by row, over all symbols at one time.
//!
//! No output depends on the order of the symbols: ranks share what ties share, and sums are
//! exact ([`exact`]). A missing value stays missing and counts nowhere.

mod exact;
mod group;
mod rank;

use crate::math;
use crate::op::RowOp;
use exact::sum;
use rank::Sorter;

/// Memory that a thread reuses from row to row.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    sorter: Sorter,
    values: Vec<f64>,
    order: Vec<u32>,
    members: Vec<f64>,
    results: Vec<f64>,
}

impl Scratch {
    /// Ranks from 1; equals share the mean of theirs. What is missing stays missing.
    pub(crate) fn places(&mut self, x: &[f64], out: &mut [f64]) {
        self.sorter.ranks(x, out, |rank| rank);
    }
}

/// One row of an operator.
pub(crate) fn apply(op: RowOp, x: &[f64], out: &mut [f64], scratch: &mut Scratch) {
    match op {
        RowOp::Rank => {
            let n = count(x);
            scratch.sorter.ranks(x, out, |rank| rank / n);
        }
        RowOp::Ordinal => scratch.sorter.ranks(x, out, |rank| rank),
        RowOp::Bins(bins) => {
            let (n, bins) = (count(x), f64::from(bins));
            scratch.sorter.ranks(x, out, |rank| (rank * bins / n).ceil());
        }
        RowOp::Scale(to) => {
            scratch.values.clear();
            scratch.values.extend(x.iter().map(|x| x.abs()));
            let (all, to) = (sum(&scratch.values), f64::from_bits(to));
            each(x, out, |x| x * to / all);
        }
        RowOp::Count => {
            let n = count(x);
            each(x, out, |x| if x.is_nan() { x } else { n });
        }
        RowOp::Mean => {
            let mean = sum(x) / count(x);
            each(x, out, |x| if x.is_nan() { x } else { mean });
        }
        RowOp::Demean => {
            let mean = sum(x) / count(x);
            each(x, out, |x| x - mean);
        }
        RowOp::ZScore => zscore(x, out, &mut scratch.values),
        RowOp::Winsorize(p) => winsorize(f64::from_bits(p), x, out, &mut scratch.values),
    }
}

/// One row of an operator over groups.
pub(crate) fn apply_group(
    op: RowOp,
    x: &[f64],
    groups: &[f64],
    out: &mut [f64],
    scratch: &mut Scratch,
) {
    group::apply(op, x, groups, out, scratch);
}

fn each(x: &[f64], out: &mut [f64], f: impl Fn(f64) -> f64) {
    for (out, &x) in out.iter_mut().zip(x) {
        *out = f(x);
    }
}

/// Values that are there.
#[expect(clippy::cast_precision_loss, reason = "at most as many as symbols")]
fn count(x: &[f64]) -> f64 {
    x.iter().filter(|x| !x.is_nan()).count() as f64
}

fn zscore(x: &[f64], out: &mut [f64], squares: &mut Vec<f64>) {
    let n = count(x);
    let mean = sum(x) / n;
    squares.clear();
    squares.extend(x.iter().map(|x| (x - mean) * (x - mean)));
    let std = (sum(squares) / (n - 1.0)).sqrt();
    // All the same: their mean may be rounded, they are constant nevertheless.
    let (low, high) = (x.iter().copied().fold(f64::INFINITY, f64::min), max(x));
    let constant = low >= high;
    each(x, out, |x| if constant { f64::NAN } else { (x - mean) / std });
}

fn max(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn winsorize(p: f64, x: &[f64], out: &mut [f64], sorted: &mut Vec<f64>) {
    sorted.clear();
    sorted.extend(x.iter().filter(|x| !x.is_nan()));
    if sorted.is_empty() {
        out.fill(f64::NAN);
        return;
    }
    sorted.sort_unstable_by(f64::total_cmp);
    let (low, high) = (math::quantile(sorted, p), math::quantile(sorted, 1.0 - p));
    each(x, out, |x| {
        if x < low {
            low
        } else if x > high {
            high
        } else {
            x
        }
    });
}

#[cfg(test)]
mod tests;
