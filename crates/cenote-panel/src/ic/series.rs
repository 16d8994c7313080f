//! What is said of a series of ICs.

use super::{as_f64, ratio};

/// Of a series, missing dates left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Dates with a value.
    pub dates: usize,
    /// The mean.
    pub mean: f64,
    /// The standard deviation, with n − 1.
    pub std: f64,
    /// mean ÷ std, not annualised: the ICIR.
    pub ratio: f64,
    /// mean ÷ (std ÷ √n): right where dates are independent.
    pub t: f64,
    /// The same with the variance of Newey and West (1987) for returns that overlap: Bartlett
    /// weights over horizon − 1 lags, n ÷ (n − 1) as for `t`, which it equals for a horizon of
    /// 1. Missing where the estimate is not above 0.
    pub t_newey_west: f64,
    /// The share of dates with a value above 0.
    pub positive: f64,
}

/// Sums up a series whose values share data with those of the `horizon` − 1 rows before.
#[must_use]
pub fn summary(series: &[f64], horizon: usize) -> Summary {
    let there: Vec<f64> = series.iter().copied().filter(|x| !x.is_nan()).collect();
    let (dates, n) = (there.len(), as_f64(there.len()));
    let mean = there.iter().sum::<f64>() / n;
    let squares: f64 = there.iter().map(|x| (x - mean) * (x - mean)).sum();
    let std = if dates < 2 { f64::NAN } else { (squares / (n - 1.0)).sqrt() };
    let positive = ratio(there.iter().filter(|x| **x > 0.0).count(), dates);
    // A constant has no deviation to be measured by.
    let by = |error: f64| if error > 0.0 { mean / error } else { f64::NAN };
    Summary {
        dates,
        mean,
        std,
        ratio: by(std),
        t: by(std / n.sqrt()),
        t_newey_west: by((long_run(series, mean, horizon) / (n - 1.0)).sqrt()),
        positive,
    }
}

/// The variance that the mean feels, times n ÷ n: γ(0) + 2 Σ (1 − l ÷ horizon) γ(l). A lag is
/// a number of rows; a pair of which one is missing counts 0.
fn long_run(series: &[f64], mean: f64, horizon: usize) -> f64 {
    let n = as_f64(series.iter().filter(|x| !x.is_nan()).count());
    let gamma = |lag: usize| {
        let pairs = series.iter().zip(series.iter().skip(lag));
        let products = pairs.map(|(a, b)| (a - mean) * (b - mean)).filter(|x| !x.is_nan());
        products.sum::<f64>() / n
    };
    let weight = |lag: usize| 1.0 - ratio(lag, horizon.max(1));
    gamma(0) + 2.0 * (1..horizon).map(|lag| weight(lag) * gamma(lag)).sum::<f64>()
}
