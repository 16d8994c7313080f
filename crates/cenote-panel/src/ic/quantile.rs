//! Symbols in bins of a factor: what each bin returns, and who comes and goes.

use super::{Matrix, Mean, binned, ratio};

/// Of each bin, from the lowest factor to the highest.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantiles {
    /// The mean over dates of the bin's mean return: each date weighs the same. Missing where
    /// the bin never had a return.
    pub returns: Vec<f64>,
    /// The mean over dates of the share of a bin's symbols that were not in it `lag` rows
    /// before. Missing where that never can be said.
    pub turnover: Vec<f64>,
    /// Of each date: the mean return of the highest bin less that of the lowest. Missing where
    /// either has none.
    pub spread: Vec<f64>,
}

/// Sorts each date's symbols into `bins` bins of a factor.
///
/// # Panics
/// The matrices are not of one shape, or there are no bins.
#[must_use]
pub fn quantiles(factor: Matrix<'_>, returns: Matrix<'_>, bins: u32, lag: usize) -> Quantiles {
    factor.assert_like(returns);
    assert!(bins > 0, "a bin at least");
    let codes = binned(factor, bins);
    let codes = Matrix::new(&codes, factor.symbols());
    let mut tally = Tally::new(bins);
    for date in 0..factor.dates() {
        let before = date.checked_sub(lag).map(|before| codes.row(before));
        tally.add(codes.row(date), before, returns.row(date));
    }
    tally.finish()
}

/// What bins return, date by date.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    means: Vec<Mean>,
    turnover: Vec<Mean>,
    spread: Vec<f64>,
}

impl Tally {
    pub(super) fn new(bins: u32) -> Tally {
        let means = vec![Mean::default(); bins as usize];
        Tally { turnover: means.clone(), means, spread: Vec::new() }
    }

    /// Takes a date: who is in which bin, now and before, and what they return.
    pub(super) fn add(&mut self, now: &[f64], before: Option<&[f64]>, returns: &[f64]) {
        let mut own = vec![Mean::default(); self.means.len()];
        for (code, value) in now.iter().zip(returns) {
            if let (Some(bin), false) = (place(*code), value.is_nan()) {
                own[bin].add(*value);
            }
        }
        self.spread.push(own[own.len() - 1].value() - own[0].value());
        for (all, own) in self.means.iter_mut().zip(&own) {
            all.add_if_there(own.value());
        }
        if let Some(before) = before {
            let shares = entered(now, before, self.means.len());
            for (all, share) in self.turnover.iter_mut().zip(shares) {
                all.add_if_there(share);
            }
        }
    }

    pub(super) fn finish(self) -> Quantiles {
        let values = |means: Vec<Mean>| means.iter().map(Mean::value).collect();
        let (returns, turnover) = (values(self.means), values(self.turnover));
        Quantiles { returns, turnover, spread: self.spread }
    }
}

/// The share of each bin's symbols that were not in it before; missing where the bin is empty,
/// or was.
fn entered(now: &[f64], before: &[f64], bins: usize) -> Vec<f64> {
    let mut counts = vec![(0usize, 0usize, 0usize); bins];
    for (now, then) in now.iter().zip(before) {
        if let Some(bin) = place(*then) {
            counts[bin].2 += 1;
        }
        if let Some(bin) = place(*now) {
            counts[bin].0 += 1;
            counts[bin].1 += usize::from(now != then);
        }
    }
    let share = |&(all, new, then): &(usize, usize, usize)| {
        if then == 0 { f64::NAN } else { ratio(new, all) }
    };
    counts.iter().map(share).collect()
}

/// Where in a list a bin's number stands.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to the bins")]
fn place(code: f64) -> Option<usize> {
    if code.is_nan() { None } else { Some(code as usize - 1) }
}
