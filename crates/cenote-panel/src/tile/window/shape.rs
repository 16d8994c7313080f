//! Skewness and kurtosis: two passes over each window. Higher powers of differences from a
//! value that is not the mean would cancel too much.

use super::super::history::History;
use crate::wide::wide;

/// Symbols that are summed at once, in registers.
const LANES: usize = 8;

/// Of the last `rows` values, with pandas' corrections for small samples. Missing where a
/// value is, where there are too few rows (3 and 4), and for a constant.
pub(super) fn of(kurtosis: bool, x: &History, rows: u32, ordinal: u64, out: &mut [f64]) {
    let n = f64::from(rows);
    wide(
        #[inline(always)]
        || {
            for from in (0..out.len()).step_by(LANES) {
                let lanes = LANES.min(out.len() - from);
                let row = |back: u64| {
                    let mut values = [f64::NAN; LANES];
                    let row = &x.row_before(ordinal, back)[from..from + lanes];
                    values[..lanes].copy_from_slice(row);
                    values
                };
                let newest = row(0);
                let mut mean = [0.0; LANES];
                for back in 0..u64::from(rows) {
                    let row = row(back);
                    for i in 0..LANES {
                        mean[i] += row[i] - newest[i];
                    }
                }
                for i in 0..LANES {
                    mean[i] = newest[i] + mean[i] / n;
                }
                let (mut m2, mut m3, mut m4) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
                for back in 0..u64::from(rows) {
                    let row = row(back);
                    for i in 0..LANES {
                        let d = row[i] - mean[i];
                        let dd = d * d;
                        m2[i] += dd;
                        m3[i] += dd * d;
                        m4[i] += dd * dd;
                    }
                }
                for i in 0..lanes {
                    out[from + i] =
                        if kurtosis { kurt(n, m2[i], m4[i]) } else { skew(n, m2[i], m3[i]) };
                }
            }
        },
    );
}

fn skew(n: f64, m2: f64, m3: f64) -> f64 {
    if n < 3.0 || m2 <= 0.0 {
        return f64::NAN;
    }
    let (m2, m3) = (m2 / n, m3 / n);
    (n * (n - 1.0)).sqrt() / (n - 2.0) * (m3 / (m2 * m2.sqrt()))
}

fn kurt(n: f64, m2: f64, m4: f64) -> f64 {
    if n < 4.0 || m2 <= 0.0 {
        return f64::NAN;
    }
    let (m2, m4) = (m2 / n, m4 / n);
    (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * (m4 / (m2 * m2)) - 3.0 * (n - 1.0))
}
