//! Symbols in bins of a factor: what each bin returns, and who comes and goes.

use super::{Matrix, as_f64, binned, ratio};

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
    let mut means: Vec<Mean> = vec![Mean::default(); bins as usize];
    let mut turnover = means.clone();
    let mut spread = Vec::with_capacity(factor.dates());
    for date in 0..factor.dates() {
        let mut own = vec![Mean::default(); bins as usize];
        for (code, value) in codes.row(date).iter().zip(returns.row(date)) {
            if let (Some(bin), false) = (place(*code), value.is_nan()) {
                own[bin].add(*value);
            }
        }
        spread.push(own[own.len() - 1].value() - own[0].value());
        for (all, own) in means.iter_mut().zip(&own) {
            all.add_if_there(own.value());
        }
        if let Some(before) = date.checked_sub(lag) {
            for (all, share) in turnover.iter_mut().zip(entered(codes, date, before, bins)) {
                all.add_if_there(share);
            }
        }
    }
    let values = |means: Vec<Mean>| means.iter().map(Mean::value).collect();
    Quantiles { returns: values(means), turnover: values(turnover), spread }
}

/// The share of each bin's symbols that were not in it before; missing where the bin is empty,
/// or was.
fn entered(codes: Matrix<'_>, date: usize, before: usize, bins: u32) -> Vec<f64> {
    let mut counts = vec![(0usize, 0usize, 0usize); bins as usize];
    for (now, then) in codes.row(date).iter().zip(codes.row(before)) {
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

#[derive(Clone, Copy, Default)]
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
