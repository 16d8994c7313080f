//! Quantiles: the values of each window in order, of which one goes and one comes a row.
//!
//! Values are compared and moved, never computed with, so the order holds nothing of what has
//! left it. What is missing stands as +∞ and is counted.

use super::super::history::History;
use crate::math;
use crate::wide::wide;

/// Symbols that are moved at once, in registers.
const LANES: usize = 8;
/// Longer windows are searched, symbol by symbol: it takes the time of so many rows.
const SHORT_ROWS: usize = 64;

/// The windows of a tile's symbols, each in order.
#[derive(Debug)]
pub(super) struct Sorted {
    /// Of short windows all symbols' smallest, then their second, and so on; of long ones a
    /// symbol's window, then the next one's.
    values: Vec<f64>,
    /// How many of each window are missing.
    missing: Vec<f64>,
    rows: usize,
    /// Whole lanes.
    width: usize,
    /// Values below the one that the quantile begins at, and how far it is to the next.
    at: (usize, f64),
}

impl Sorted {
    /// For quantile `q` of `rows` rows of `width` symbols.
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^32 rows")]
    pub(super) fn new(q: f64, rows: u32, width: usize) -> Sorted {
        let (rows, width) = (rows.max(1) as usize, width.next_multiple_of(LANES));
        Sorted {
            // Before the first row all are missing.
            values: vec![f64::INFINITY; rows * width],
            missing: vec![rows as f64; width],
            rows,
            width,
            at: math::quantile_place(q, rows),
        }
    }

    /// Bytes.
    pub(super) fn memory(&self) -> usize {
        (self.values.capacity() + self.missing.capacity()) * 8
    }

    /// The quantile at row `ordinal`, which comes, while that `rows` before it goes.
    pub(super) fn step(&mut self, x: &History, ordinal: u64, out: &mut [f64]) {
        let come = x.row(ordinal);
        let gone = x.row_before(ordinal, self.rows as u64);
        if self.rows <= SHORT_ROWS {
            wide(
                #[inline(always)]
                || self.short(come, gone, out),
            );
        } else {
            self.long(come, gone, out);
        }
    }

    /// All places of the window are rewritten: without branches, for some symbols at once.
    #[inline(always)]
    fn short(&mut self, come: &[f64], gone: &[f64], out: &mut [f64]) {
        let (rows, width, (below, part)) = (self.rows, self.width, self.at);
        let above = (below + 1).min(rows - 1);
        for from in (0..out.len()).step_by(LANES) {
            let lanes = LANES.min(out.len() - from);
            let (come, come_missing) = comparable(&come[from..from + lanes]);
            let (gone, gone_missing) = comparable(&gone[from..from + lanes]);
            let mut before = [f64::NEG_INFINITY; LANES];
            let mut here = lane(&self.values, from);
            for place in 0..rows {
                let mut next = [f64::INFINITY; LANES];
                if place + 1 < rows {
                    next = lane(&self.values, (place + 1) * width + from);
                }
                let mut value = [0.0; LANES];
                for i in 0..LANES {
                    // Of the order without what goes: from its place on, each is the next.
                    let rest = if here[i] < gone[i] { here[i] } else { next[i] };
                    // What comes is between two of them.
                    let least = if before[i] > come[i] { before[i] } else { come[i] };
                    value[i] = if rest < least { rest } else { least };
                    before[i] = rest;
                }
                let at = place * width + from;
                self.values[at..at + LANES].copy_from_slice(&value);
                here = next;
            }
            let low = lane(&self.values, below * width + from);
            let high = lane(&self.values, above * width + from);
            let missing = &mut self.missing[from..from + LANES];
            for i in 0..LANES {
                missing[i] += come_missing[i] - gone_missing[i];
            }
            for i in 0..lanes {
                let found = math::between(low[i], high[i], part);
                out[from + i] = if missing[i] > 0.0 { f64::NAN } else { found };
            }
        }
    }

    /// Only what is between the place of what goes and of what comes is moved.
    fn long(&mut self, come: &[f64], gone: &[f64], out: &mut [f64]) {
        let (rows, (below, part)) = (self.rows, self.at);
        let windows = self.values.chunks_exact_mut(rows).zip(&mut self.missing);
        for ((out, (window, missing)), (&come, &gone)) in
            out.iter_mut().zip(windows).zip(come.iter().zip(gone))
        {
            let (key, gone_key) = (key(come), key(gone));
            let from = window.partition_point(|value| *value < gone_key);
            let to = window.partition_point(|value| *value < key);
            if from < to {
                window.copy_within(from + 1..to, from);
                window[to - 1] = key;
            } else {
                window.copy_within(to..from, to + 1);
                window[to] = key;
            }
            *missing += count(come) - count(gone);
            let found = math::between(window[below], window[(below + 1).min(rows - 1)], part);
            *out = if *missing > 0.0 { f64::NAN } else { found };
        }
    }
}

/// What a value stands as: both zeros are one.
#[inline(always)]
fn key(x: f64) -> f64 {
    if x.is_nan() { f64::INFINITY } else { x + 0.0 }
}

/// 1 of what is missing.
#[inline(always)]
fn count(x: f64) -> f64 {
    if x.is_nan() { 1.0 } else { 0.0 }
}

#[inline(always)]
fn comparable(row: &[f64]) -> ([f64; LANES], [f64; LANES]) {
    let mut values = [f64::NAN; LANES];
    values[..row.len()].copy_from_slice(row);
    let mut missing = [0.0; LANES];
    for i in 0..LANES {
        missing[i] = count(values[i]);
        values[i] = key(values[i]);
    }
    (values, missing)
}

#[inline(always)]
fn lane(values: &[f64], from: usize) -> [f64; LANES] {
    let mut lanes = [0.0; LANES];
    lanes.copy_from_slice(&values[from..from + LANES]);
    lanes
}
