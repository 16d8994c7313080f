//! Windows that need the order of their values: each output looks at its whole window.

use super::super::history::History;
use crate::wide::wide;

/// Symbols that are counted at once, in registers.
const LANES: usize = 16;

/// The rank of the newest value among the last `rows`, from 1; equals share the mean of
/// theirs. Missing where any is.
pub(super) fn rank(x: &History, rows: u32, ordinal: u64, out: &mut [f64]) {
    wide(
        #[inline(always)]
        || {
            for from in (0..out.len()).step_by(LANES) {
                let lanes = LANES.min(out.len() - from);
                let mut newest = [f64::NAN; LANES];
                newest[..lanes].copy_from_slice(&x.row(ordinal)[from..from + lanes]);
                let (mut less, mut equal, mut more) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
                for back in 0..u64::from(rows) {
                    let row = &x.row_before(ordinal, back)[from..from + lanes];
                    if let Ok(row) = <&[f64; LANES]>::try_from(row) {
                        count(row, &newest, &mut less, &mut equal, &mut more);
                    } else {
                        let mut padded = [f64::NAN; LANES];
                        padded[..lanes].copy_from_slice(row);
                        count(&padded, &newest, &mut less, &mut equal, &mut more);
                    }
                }
                for i in 0..lanes {
                    let all = less[i] + equal[i] + more[i] == f64::from(rows);
                    let rank = less[i] + (equal[i] + 1.0) / 2.0;
                    out[from + i] = if all { rank } else { f64::NAN };
                }
            }
        },
    );
}

#[inline(always)]
fn count(
    row: &[f64; LANES],
    newest: &[f64; LANES],
    less: &mut [f64; LANES],
    equal: &mut [f64; LANES],
    more: &mut [f64; LANES],
) {
    for i in 0..LANES {
        less[i] += if row[i] < newest[i] { 1.0 } else { 0.0 };
        equal[i] += if row[i] == newest[i] { 1.0 } else { 0.0 };
        more[i] += if row[i] > newest[i] { 1.0 } else { 0.0 };
    }
}

/// The middle of the last `rows` values, or the mean of the middle two. Missing where any
/// value is.
pub(super) fn median(x: &History, rows: u32, ordinal: u64, out: &mut [f64]) {
    let mut values = Vec::with_capacity(rows as usize);
    for (i, out) in out.iter_mut().enumerate() {
        values.clear();
        values.extend((0..u64::from(rows)).map(|back| x.row_before(ordinal, back)[i]));
        *out = if values.iter().any(|v| v.is_nan()) { f64::NAN } else { middle(&mut values) };
    }
}

fn middle(values: &mut [f64]) -> f64 {
    let half = values.len() / 2;
    let (below, &mut upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if below.len() < half || values.len() % 2 == 1 {
        return upper;
    }
    let lower = values[..half].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // As a difference: the sum of two large ones would be infinite.
    if lower == upper { upper } else { lower + (upper - lower) / 2.0 }
}
