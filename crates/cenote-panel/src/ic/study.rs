//! ICs of many factors while they are computed, block by block: of a factor no more rows are
//! kept than the longest horizon has, so that a hundred of them need little memory.
//!
//! ```
//! use cenote_panel::ic::{Asked, Matrix, Study};
//! let prices = [10.0, 20.0, 30.0, 11.0, 21.0, 31.0, 12.0, 21.0, 31.0];
//! let asked = Asked { horizons: vec![1], least: 3, ..Asked::default() };
//! let mut study = Study::new(asked, &[0], Matrix::new(&prices, 3));
//! study.push(&[&[1.0, 2.0, 3.0]]);                    // a factor's first date
//! study.push(&[&[3.0, 2.0, 1.0, 1.0, 1.0, 1.0]]);     // and the others
//! let found = &study.finish()[0];
//! assert_eq!((found.horizons[0].ic[0], found.horizons[0].summary.dates), (-1.0, 2));
//! ```

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::quantile::Tally;
use super::series::{Summary, summary};
use super::spearman::{Pairs, twice_ranks};
use super::{Distinct, Matrix, Mean, Quantiles, Sameness, Trade, as_f64};
use crate::row::Scratch;

/// What is asked of each factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Rows from entry to exit, of each return that is to be foretold.
    pub horizons: Vec<usize>,
    /// Bins of the factor whose returns are looked at.
    pub bins: u32,
    /// Fewest symbols of which a date has an IC.
    pub least: usize,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked { horizons: vec![1], bins: 5, least: 10 }
    }
}

/// What was found of a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Rows from the factor's to the entry's.
    pub delay: usize,
    /// Mean over dates of the share of those with a price that have a factor.
    pub coverage: f64,
    /// Whether it tells symbols apart: dates on which fewer than two values are distinct.
    pub distinct: Distinct,
    /// For each horizon, in the order asked.
    pub horizons: Vec<Foretold>,
}

/// What a factor says of the returns of one horizon.
#[derive(Clone, Debug, PartialEq)]
pub struct Foretold {
    /// Rows from entry to exit.
    pub horizon: usize,
    /// The IC of each date; missing where there is none.
    pub ic: Vec<f64>,
    /// What is said of these.
    pub summary: Summary,
    /// Mean over dates of Spearman's correlation of the factor with itself `horizon` rows
    /// before.
    pub autocorrelation: f64,
    /// Bins, and who comes and goes in `horizon` rows.
    pub quantiles: Quantiles,
}

impl Finding {
    /// Share of the symbols with one value above which a factor is nearly the same for all.
    pub const NEARLY_ALL: f64 = 0.98;

    /// Whether it is no factor at all: never there, or nearly the same for all symbols. Its IC,
    /// where it has one, is that of a few.
    #[must_use]
    pub fn is_nearly_constant(&self) -> bool {
        self.distinct.dates == 0
            || self.distinct.few > 0.5
            || self.distinct.commonest > Finding::NEARLY_ALL
    }
}

impl Foretold {
    /// Mean over dates of the highest bin's return less the lowest's.
    #[must_use]
    pub fn spread(&self) -> f64 {
        let mut mean = Mean::default();
        self.quantiles.spread.iter().for_each(|&spread| mean.add_if_there(spread));
        mean.value()
    }

    /// Mean of the lowest and the highest bin's turnover: what who holds one against the other
    /// trades in `horizon` rows.
    #[must_use]
    pub fn turnover(&self) -> f64 {
        let turnover = &self.quantiles.turnover;
        f64::midpoint(turnover[0], turnover[turnover.len() - 1])
    }
}

/// Factors under study.
#[derive(Debug)]
pub struct Study<'a> {
    asked: Asked,
    prices: Matrix<'a>,
    factors: Vec<Factor>,
    /// The next date.
    date: usize,
}

/// What is kept of a factor.
#[derive(Debug)]
struct Factor {
    delay: usize,
    /// Twice the ranks of the last rows, as many as the longest horizon has, with their bins.
    ranks: Vec<u32>,
    bins: Vec<f64>,
    coverage: Mean,
    sameness: Sameness,
    horizons: Vec<Series>,
}

#[derive(Debug)]
struct Series {
    ic: Vec<f64>,
    stays: Mean,
    tally: Tally,
}

impl<'a> Study<'a> {
    /// A study of as many factors as there are `delays`: rows from each one's to its entry.
    ///
    /// # Panics
    /// There are no bins.
    #[must_use]
    pub fn new(asked: Asked, delays: &[usize], prices: Matrix<'a>) -> Study<'a> {
        assert!(asked.bins > 0, "a bin at least");
        let series =
            || Series { ic: Vec::new(), stays: Mean::default(), tally: Tally::new(asked.bins) };
        let factor = |&delay: &usize| Factor {
            delay,
            ranks: Vec::new(),
            bins: Vec::new(),
            coverage: Mean::default(),
            sameness: Sameness::new(2),
            horizons: asked.horizons.iter().map(|_| series()).collect(),
        };
        let factors = delays.iter().map(factor).collect();
        Study { asked, prices, factors, date: 0 }
    }

    /// Takes the next rows of every factor.
    ///
    /// Cost: a sort for each factor and date; all cores, a factor each.
    ///
    /// # Panics
    /// There are not as many factors as delays, rows are not whole or of different number, or
    /// there are more than the prices have.
    pub fn push(&mut self, factors: &[&[f64]]) {
        assert_eq!(factors.len(), self.factors.len(), "factors");
        let Some(first) = factors.first() else { return };
        let (symbols, from) = (self.prices.symbols(), self.date);
        let rows = first.len() / symbols;
        assert!(factors.iter().all(|factor| factor.len() == rows * symbols), "whole rows");
        assert!(from + rows <= self.prices.dates(), "dates that have prices");
        let mut returns = BTreeMap::new();
        let mut scratch = Scratch::default();
        for delay in self.factors.iter().map(|factor| factor.delay) {
            for &horizon in &self.asked.horizons {
                returns.entry((delay, horizon)).or_insert_with(|| {
                    let values = self.returns(Trade { delay, horizon }, rows);
                    let dates = values.chunks_exact(symbols);
                    let ranks = dates.flat_map(|row| twice_ranks(row, &mut scratch)).collect();
                    Returns { values, ranks }
                });
            }
        }
        let there = &self.prices.values[from * symbols..(from + rows) * symbols];
        let (asked, there) = (&self.asked, Matrix::new(there, symbols));
        self.factors.par_iter_mut().zip(factors).for_each(|(factor, values)| {
            let of = |horizon: &usize| &returns[&(factor.delay, *horizon)];
            let returns: Vec<&Returns> = asked.horizons.iter().map(of).collect();
            factor.take(asked, Matrix::new(values, symbols), there, &returns);
        });
        self.date += rows;
    }

    /// Returns of the next rows.
    fn returns(&self, trade: Trade, rows: usize) -> Vec<f64> {
        let symbols = self.prices.symbols();
        let end = (self.date + rows + trade.delay + trade.horizon).min(self.prices.dates());
        let prices = Matrix::new(&self.prices.values[self.date * symbols..end * symbols], symbols);
        let mut returns = super::forward_returns(prices, trade);
        returns.truncate(rows * symbols);
        returns
    }

    /// What was found of each.
    #[must_use]
    pub fn finish(self) -> Vec<Finding> {
        let asked = self.asked;
        self.factors.into_iter().map(|factor| factor.finding(&asked)).collect()
    }
}

/// Returns of some dates, row by row, and twice their ranks.
#[derive(Debug)]
struct Returns {
    values: Vec<f64>,
    ranks: Vec<u32>,
}

impl Factor {
    fn take(&mut self, asked: &Asked, new: Matrix<'_>, there: Matrix<'_>, returns: &[&Returns]) {
        let (symbols, kept) = (new.symbols(), self.ranks.len() / new.symbols());
        let at = |date: usize| date * symbols..(date + 1) * symbols;
        for share in super::coverage(new, there) {
            self.coverage.add_if_there(share);
        }
        let (mut scratch, mut pairs) = (Scratch::default(), Pairs::default());
        for date in 0..new.dates() {
            let (now, row) = (kept + date, new.row(date));
            self.sameness.add(row);
            self.ranks.extend(twice_ranks(row, &mut scratch));
            self.bins.extend(bins_of(&self.ranks[at(now)], asked.bins));
            let (ranks, bins) = (&self.ranks[at(now)], &self.bins[at(now)]);
            for ((series, returns), &horizon) in
                self.horizons.iter_mut().zip(returns).zip(&asked.horizons)
            {
                series.ic.push(pairs.spearman(ranks, &returns.ranks[at(date)], asked.least));
                let before = now.checked_sub(horizon).map(&at);
                if let Some(before) = before.clone() {
                    let stays = pairs.spearman(ranks, &self.ranks[before], asked.least);
                    series.stays.add_if_there(stays);
                }
                let before = before.map(|before| &self.bins[before]);
                series.tally.add(bins, before, &returns.values[at(date)]);
            }
        }
        let longest = asked.horizons.iter().copied().max().unwrap_or(0);
        let gone = (kept + new.dates()).saturating_sub(longest) * symbols;
        self.ranks.drain(..gone);
        self.bins.drain(..gone);
    }

    fn finding(self, asked: &Asked) -> Finding {
        let series = self.horizons.into_iter().zip(&asked.horizons);
        let foretold = series.map(|(series, &horizon)| Foretold {
            horizon,
            summary: summary(&series.ic, horizon),
            ic: series.ic,
            autocorrelation: series.stays.value(),
            quantiles: series.tally.finish(),
        });
        Finding {
            delay: self.delay,
            coverage: self.coverage.value(),
            distinct: self.sameness.finish(),
            horizons: foretold.collect(),
        }
    }
}

/// The bin from 1 to `bins` of each symbol, as the function `bins` of formulas has it.
fn bins_of(twice_ranks: &[u32], bins: u32) -> Vec<f64> {
    let n = as_f64(twice_ranks.iter().filter(|rank| **rank != 0).count());
    let bin = |rank: f64| (rank * f64::from(bins) / n).ceil();
    let of = |&twice: &u32| if twice == 0 { f64::NAN } else { bin(f64::from(twice) / 2.0) };
    twice_ranks.iter().map(of).collect()
}

#[cfg(test)]
mod tests;
