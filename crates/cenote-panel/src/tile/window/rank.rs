//! The rank of the newest value: each output looks at its whole window.

use super::super::history::History;
use crate::wide::wide;

/// Symbols that are counted at once, in registers.
const LANES: usize = 16;

/// The rank of the newest value among the last `rows`, from 1; equals share the mean of
/// theirs. Missing where any is.
pub(super) fn of(x: &History, rows: u32, ordinal: u64, out: &mut [f64]) {
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
