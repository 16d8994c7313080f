//! What a factor is worth: does its order today agree with the order of the returns that
//! follow?
//!
//! The information coefficient (IC) of a date is Spearman's correlation, over symbols, of the
//! factor with the return from entry to exit. The definitions are alphalens', but for these:
//!
//! - Prices are not filled: who has no price at entry or at exit has no return. A filled one
//!   would be a return of 0 for who is halted or gone.
//! - Entry is `delay` rows after the factor's, and said so.
//! - A date without an IC (too few symbols, or all the same) is missing, never 0, and is left
//!   out of mean and deviation.
//! - Quantiles are by rank, and never fail: equal values share a bin, and a bin may be empty.
//! - Returns of `horizon` rows overlap; beside the usual t there is Newey and West's (1987).
//! - Each horizon is measured by itself: another one does not change it.
//!
//! All is computed from matrices: rows are dates, columns symbols, NaN is missing.

mod quantile;
mod series;
mod spearman;
mod study;
mod table;

pub use quantile::{Quantiles, quantiles};
pub use series::{Summary, summary};
pub use spearman::spearman;
pub use study::{Asked, Finding, Foretold, Study};
pub use table::{Named, table};

use crate::op::RowOp;
use crate::row::{self, Scratch};

/// Rows of dates, one value a symbol.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    values: &'a [f64],
    symbols: usize,
}

impl<'a> Matrix<'a> {
    /// A matrix of `symbols` columns.
    ///
    /// # Panics
    /// There are values for a part of a row, or no columns.
    #[must_use]
    pub fn new(values: &'a [f64], symbols: usize) -> Matrix<'a> {
        assert!(symbols > 0 && values.len().is_multiple_of(symbols), "whole rows of symbols");
        Matrix { values, symbols }
    }

    /// Columns.
    #[must_use]
    pub fn symbols(&self) -> usize {
        self.symbols
    }

    /// How many rows.
    #[must_use]
    pub fn dates(&self) -> usize {
        self.values.len() / self.symbols
    }

    /// A row.
    #[must_use]
    pub fn row(&self, date: usize) -> &'a [f64] {
        &self.values[date * self.symbols..(date + 1) * self.symbols]
    }

    fn rows(&self) -> std::slice::ChunksExact<'a, f64> {
        self.values.chunks_exact(self.symbols)
    }

    fn assert_like(&self, other: Matrix<'_>) {
        assert_eq!(
            (self.dates(), self.symbols),
            (other.dates(), other.symbols),
            "dates and symbols of both"
        );
    }
}

/// When a factor's signal is traded, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// Rows from the factor's to the entry's. 1: the factor is known after a close, and the
    /// next one is bought.
    pub delay: usize,
    /// Rows from entry to exit.
    pub horizon: usize,
}

impl Default for Trade {
    fn default() -> Trade {
        Trade { delay: 1, horizon: 1 }
    }
}

/// The return that a factor's row is to foretell, at its row: price at exit ÷ price at entry
/// − 1. Missing where either price is, or is not above 0, or lies beyond the end.
#[must_use]
pub fn forward_returns(prices: Matrix<'_>, trade: Trade) -> Vec<f64> {
    let (symbols, entry) = (prices.symbols, trade.delay * prices.symbols);
    let exit = entry + trade.horizon * symbols;
    let at = |place: usize| prices.values.get(place).copied().unwrap_or(f64::NAN);
    let of = |place: usize| {
        let (bought, sold) = (at(place + entry), at(place + exit));
        if bought > 0.0 && sold > 0.0 { sold / bought - 1.0 } else { f64::NAN }
    };
    (0..prices.values.len()).map(of).collect()
}

/// The IC of each date. Missing where fewer than `least` symbols have both a factor and a
/// return, or where either is the same for all of them.
///
/// # Panics
/// The matrices are not of one shape.
#[must_use]
pub fn ic(factor: Matrix<'_>, returns: Matrix<'_>, least: usize) -> Vec<f64> {
    factor.assert_like(returns);
    let mut scratch = Scratch::default();
    let rows = factor.rows().zip(returns.rows());
    rows.map(|(x, y)| spearman::of(x, y, least, &mut scratch)).collect()
}

/// Spearman's correlation of each date's factor with that of `lag` rows before: 1 where the
/// order stays, and nothing is traded.
#[must_use]
pub fn rank_autocorrelation(factor: Matrix<'_>, lag: usize, least: usize) -> Vec<f64> {
    let mut scratch = Scratch::default();
    (0..factor.dates())
        .map(|date| match date.checked_sub(lag) {
            Some(before) => spearman::of(factor.row(date), factor.row(before), least, &mut scratch),
            None => f64::NAN,
        })
        .collect()
}

/// The share of each date's universe (who has a value in `universe`, a price, say) for which
/// there is a factor. Missing where the universe is empty.
///
/// # Panics
/// The matrices are not of one shape.
#[must_use]
pub fn coverage(factor: Matrix<'_>, universe: Matrix<'_>) -> Vec<f64> {
    factor.assert_like(universe);
    let rows = factor.rows().zip(universe.rows());
    rows.map(|(x, universe)| {
        let members = universe.iter().zip(x).filter(|(member, _)| !member.is_nan());
        let (all, there) = members
            .fold((0u32, 0u32), |(all, there), (_, x)| (all + 1, there + u32::from(!x.is_nan())));
        f64::from(there) / f64::from(all)
    })
    .collect()
}

/// How much a factor tells its symbols apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distinct {
    /// Dates with a value.
    pub dates: usize,
    /// Of these, the share with fewer distinct values than asked for; 1 if there are none.
    pub few: f64,
    /// The mean, over these dates, of the share of symbols that have the commonest value.
    pub commonest: f64,
}

/// Counts dates on which a factor has fewer than `least` distinct values. A factor that is
/// nearly the same for all is no factor: look at this before its IC.
#[must_use]
pub fn distinct(factor: Matrix<'_>, least: usize) -> Distinct {
    let mut sameness = Sameness::new(least);
    for row in factor.rows() {
        sameness.add(row);
    }
    sameness.finish()
}

/// Counts distinct values, date by date.
#[derive(Clone, Debug)]
struct Sameness {
    least: usize,
    dates: usize,
    few: usize,
    commonest: f64,
    sorted: Vec<f64>,
}

impl Sameness {
    fn new(least: usize) -> Sameness {
        Sameness { least, dates: 0, few: 0, commonest: 0.0, sorted: Vec::new() }
    }

    fn add(&mut self, row: &[f64]) {
        self.sorted.clear();
        // + 0.0: both zeros are one value.
        self.sorted.extend(row.iter().filter(|x| !x.is_nan()).map(|x| x + 0.0));
        if self.sorted.is_empty() {
            return;
        }
        self.sorted.sort_unstable_by(f64::total_cmp);
        let runs = self.sorted.chunk_by(|a, b| a == b);
        let (count, longest) =
            runs.fold((0, 0), |(count, longest), run| (count + 1, run.len().max(longest)));
        self.dates += 1;
        self.few += usize::from(count < self.least);
        self.commonest += ratio(longest, self.sorted.len());
    }

    fn finish(self) -> Distinct {
        let (dates, few) = (self.dates, self.few);
        if dates == 0 {
            return Distinct { dates, few: 1.0, commonest: 1.0 };
        }
        Distinct { dates, few: ratio(few, dates), commonest: self.commonest / as_f64(dates) }
    }
}

/// A mean of what comes.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn add_if_there(&mut self, value: f64) {
        if !value.is_nan() {
            self.add(value);
        }
    }

    /// Missing of nothing.
    fn value(&self) -> f64 {
        self.sum / as_f64(self.count)
    }
}

/// The bin from 1 to `bins` of each value, by rank in its row, as the function `bins` of
/// formulas has it.
fn binned(factor: Matrix<'_>, bins: u32) -> Vec<f64> {
    let mut out = vec![f64::NAN; factor.values.len()];
    let mut scratch = Scratch::default();
    for (x, out) in factor.rows().zip(out.chunks_exact_mut(factor.symbols)) {
        row::apply(RowOp::Bins(bins), x, out, &mut scratch);
    }
    out
}

fn ratio(part: usize, all: usize) -> f64 {
    as_f64(part) / as_f64(all)
}

#[expect(clippy::cast_precision_loss, reason = "counts of dates and symbols are below 2^53")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
