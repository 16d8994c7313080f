//! Spearman's correlation, without rounding before the last steps.
//!
//! Twice a rank is a whole number, so the sums are counted exactly, and the result does not
//! depend on the order of the symbols.

use crate::row::Scratch;

/// Spearman's correlation of the pairs of which both are there; equals share the mean of
/// their ranks. Missing for fewer than `least` pairs, and where either side is constant.
///
/// # Panics
/// The two are not of one length.
#[must_use]
pub fn spearman(x: &[f64], y: &[f64], least: usize) -> f64 {
    assert_eq!(x.len(), y.len(), "pairs");
    of(x, y, least, &mut Scratch::default())
}

pub(super) fn of(x: &[f64], y: &[f64], least: usize, scratch: &mut Scratch) -> f64 {
    let pairs = || x.iter().zip(y).filter(|(x, y)| !x.is_nan() && !y.is_nan());
    let (x, y): (Vec<f64>, Vec<f64>) = pairs().unzip();
    if x.len() < least.max(2) {
        return f64::NAN;
    }
    let (x, y) = (twice_ranks(&x, scratch), twice_ranks(&y, scratch));
    // Both have the mean n + 1 by construction.
    let mean = x.len() as i64 + 1;
    let (mut xy, mut xx, mut yy) = (0i128, 0i128, 0i128);
    for (x, y) in x.iter().zip(&y) {
        let (d, e) = (i128::from(x - mean), i128::from(y - mean));
        xy += d * e;
        xx += d * d;
        yy += e * e;
    }
    if xx == 0 || yy == 0 {
        return f64::NAN;
    }
    #[expect(clippy::cast_precision_loss, reason = "the last rounding")]
    let (xy, xx, yy) = (xy as f64, xx as f64, yy as f64);
    (xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0)
}

#[expect(clippy::cast_possible_truncation, reason = "twice a rank: whole, to twice the symbols")]
fn twice_ranks(x: &[f64], scratch: &mut Scratch) -> Vec<i64> {
    let mut ranks = vec![0.0; x.len()];
    scratch.places(x, &mut ranks);
    ranks.iter().map(|rank| (rank * 2.0) as i64).collect()
}
