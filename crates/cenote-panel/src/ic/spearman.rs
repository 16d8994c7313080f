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
    let (x, y) = (twice_ranks(x, scratch), twice_ranks(y, scratch));
    Pairs::default().spearman(&x, &y, least)
}

/// Twice the rank of each value among those that are there, 0 where it is missing.
pub(super) fn twice_ranks(x: &[f64], scratch: &mut Scratch) -> Vec<u32> {
    let mut ranks = vec![0.0; x.len()];
    scratch.places(x, &mut ranks);
    // To twice the symbols, and whole; what is missing becomes 0.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "twice a rank")]
    ranks.iter().map(|rank| (rank * 2.0) as u32).collect()
}

/// Memory for correlations of many pairs of rows, of each of which the ranks are known. So a
/// row is sorted once, however many it is correlated with.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    x: Vec<u32>,
    y: Vec<u32>,
    counts: Vec<u32>,
}

/// Products of so many pairs are below 2^62, up to 2^24 symbols.
const CHUNK: usize = 4096;

impl Pairs {
    /// Spearman's correlation of two rows by twice their ranks, over the symbols that both have.
    pub(super) fn spearman(&mut self, x: &[u32], y: &[u32], least: usize) -> f64 {
        self.x.clear();
        self.y.clear();
        let (mut all_x, mut all_y) = (0, 0);
        for (&x, &y) in x.iter().zip(y) {
            all_x += usize::from(x != 0);
            all_y += usize::from(y != 0);
            if x != 0 && y != 0 {
                self.x.push(x);
                self.y.push(y);
            }
        }
        let n = self.x.len();
        if n < least.max(2) {
            return f64::NAN;
        }
        // Where symbols fall out, those that stay are ranked anew.
        if n < all_x {
            rank_again(&mut self.x, 2 * all_x, &mut self.counts);
        }
        if n < all_y {
            rank_again(&mut self.y, 2 * all_y, &mut self.counts);
        }
        // Both have the mean n + 1 by construction.
        let mean = n as i64 + 1;
        let (mut xy, mut xx, mut yy) = (0i128, 0i128, 0i128);
        for (x, y) in self.x.chunks(CHUNK).zip(self.y.chunks(CHUNK)) {
            let (mut part_xy, mut part_xx, mut part_yy) = (0i64, 0i64, 0i64);
            for (&x, &y) in x.iter().zip(y) {
                let (d, e) = (i64::from(x) - mean, i64::from(y) - mean);
                part_xy += d * e;
                part_xx += d * d;
                part_yy += e * e;
            }
            xy += i128::from(part_xy);
            xx += i128::from(part_xx);
            yy += i128::from(part_yy);
        }
        if xx == 0 || yy == 0 {
            return f64::NAN;
        }
        #[expect(clippy::cast_precision_loss, reason = "the last rounding")]
        let (xy, xx, yy) = (xy as f64, xx as f64, yy as f64);
        // The root of a rounded square is the number itself: the same order is exactly 1.
        (xy / (xx * yy).sqrt()).clamp(-1.0, 1.0)
    }
}

/// Twice the ranks of some of a row, of twice those in all of it, which are at most `largest`:
/// by counting, without a sort.
fn rank_again(ranks: &mut [u32], largest: usize, counts: &mut Vec<u32>) {
    counts.clear();
    counts.resize(largest + 1, 0);
    for &rank in ranks.iter() {
        counts[rank as usize] += 1;
    }
    let mut before = 0;
    for count in counts.iter_mut().filter(|count| **count > 0) {
        let equal = *count;
        // The mean of the ranks before + 1 to before + equal, twice.
        *count = 2 * before + equal + 1;
        before += equal;
    }
    for rank in ranks {
        *rank = counts[*rank as usize];
    }
}
