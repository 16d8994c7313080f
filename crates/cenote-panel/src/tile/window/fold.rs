//! Windows by two stacks, anchored on ordinals: about three steps a row, however long the
//! window is, and without ever taking a value out of a sum again.
//!
//! Rows are cut into stretches as long as the window, at multiples of its length. A window
//! that ends at row j of its stretch is the end of the stretch before, and the beginning of
//! this one up to j. The ends are folded backwards, once, when a stretch begins; the
//! beginning is folded forwards as rows come. Each output joins one of the ends with the
//! beginning.
//!
//! ```text
//! rows      … | a b c d e | f g h i j | …      window 5
//! ends          (bcde) (cde) (de) (e)
//! beginnings                f (fg) (fgh) …
//! at h:                (de) + (fgh)
//! ```
//!
//! The first row of a stretch, the *anchor*, is in every window that ends in the stretch.
//! So a fold may subtract it from each value first, which makes sums of squares accurate
//! where values are large and differ little, and those of a constant exactly 0.

#![expect(
    clippy::needless_range_loop,
    reason = "a lane is the same place in several arrays; iterators hide that from the compiler"
)]

use super::super::history::History;
use crate::wide::wide;

/// What is kept of a window of `N` inputs: `C` numbers a symbol.
pub(super) trait Fold<const N: usize, const C: usize> {
    /// Of one row: its values, the anchor's, and how many rows after the anchor it is.
    fn lift(&self, x: [f64; N], anchor: [f64; N], at: f64) -> [f64; C];

    /// Of two runs of rows, the older first.
    fn join(&self, older: [f64; C], newer: [f64; C]) -> [f64; C];

    /// The output: from the window's numbers, its newest values, the anchor, and how many
    /// rows after the anchor it ends.
    fn finish(&self, window: [f64; C], x: [f64; N], anchor: [f64; N], at: f64) -> f64;
}

/// The ends and the beginning.
#[derive(Debug)]
pub(super) struct TwoStack {
    /// Of the stretch before: for row i the fold from i to its last row; row by row, part by
    /// part, symbol by symbol.
    ends: Vec<f64>,
    /// Of this stretch up to now.
    beginning: Vec<f64>,
    rows: usize,
    width: usize,
}

impl TwoStack {
    /// `parts` numbers a symbol.
    pub(super) fn new(parts: usize, rows: u32, width: usize) -> TwoStack {
        let rows = rows.max(1) as usize;
        TwoStack {
            ends: vec![f64::NAN; rows * parts * width],
            // Until the first anchor no window is whole.
            beginning: vec![f64::NAN; parts * width],
            rows,
            width,
        }
    }

    /// Bytes.
    pub(super) fn memory(&self) -> usize {
        (self.ends.capacity() + self.beginning.capacity()) * 8
    }

    /// Rows of the window.
    pub(super) fn rows_f64(&self) -> f64 {
        as_f64(self.rows)
    }

    /// The output at row `ordinal`.
    #[inline(always)]
    pub(super) fn step<const N: usize, const C: usize, F: Fold<N, C>>(
        &mut self,
        fold: &F,
        inputs: [&History; N],
        ordinal: u64,
        out: &mut [f64],
    ) {
        let (rows, width) = (self.rows, self.width);
        // A remainder of a `usize`.
        let at = usize::try_from(ordinal % rows as u64).unwrap_or(0);
        let x = inputs.map(|input| &input.row(ordinal)[..width]);
        let anchor = inputs.map(|input| &input.row_before(ordinal, at as u64)[..width]);
        if at == 0 {
            self.fold_ends(fold, inputs, ordinal);
        }
        let beginning = parts_mut::<C>(&mut self.beginning, width);
        let ends = (at + 1 < rows).then(|| {
            let from = (at + 1) * C * width;
            parts::<C>(&self.ends[from..from + C * width], width)
        });
        wide(
            #[inline(always)]
            || run(fold, &x, &anchor, beginning, ends.as_ref(), as_f64(at), &mut out[..width]),
        );
    }

    /// Folds the stretch before backwards; `ordinal` is the anchor of the new one.
    #[inline(always)]
    fn fold_ends<const N: usize, const C: usize, F: Fold<N, C>>(
        &mut self,
        fold: &F,
        inputs: [&History; N],
        ordinal: u64,
    ) {
        let (rows, width) = (self.rows, self.width);
        let anchor = inputs.map(|input| &input.row(ordinal)[..width]);
        for i in (1..rows).rev() {
            let x = inputs.map(|input| &input.row_before(ordinal, (rows - i) as u64)[..width]);
            let at = as_f64(i) - as_f64(rows);
            let (own, newer) = self.ends[i * C * width..].split_at_mut(C * width);
            let own = parts_mut::<C>(own, width);
            let newer: Option<[&[f64]; C]> =
                (i + 1 < rows).then(|| parts(&newer[..C * width], width));
            wide(
                #[inline(always)]
                || run_back(fold, &x, &anchor, own, newer.as_ref(), at),
            );
        }
    }
}

/// Rows are fewer than 2^32.
#[expect(clippy::cast_precision_loss, reason = "at most 2^32")]
fn as_f64(n: usize) -> f64 {
    n as f64
}

#[inline(always)]
fn parts<const C: usize>(all: &[f64], width: usize) -> [&[f64]; C] {
    std::array::from_fn(|c| &all[c * width..(c + 1) * width])
}

#[inline(always)]
fn parts_mut<const C: usize>(mut all: &mut [f64], width: usize) -> [&mut [f64]; C] {
    std::array::from_fn(|_| {
        let (part, rest) = std::mem::take(&mut all).split_at_mut(width);
        all = rest;
        part
    })
}

/// Symbols that are taken at once: their numbers are in registers, and no slice is in the way
/// of another.
const LANES: usize = 8;
/// The same where more numbers are kept than there are registers for so many.
const FEW: usize = 4;

const fn lanes(parts: usize) -> usize {
    if parts > 5 { FEW } else { LANES }
}

// Loops, not `array::map` and `array::from_fn`: those are calls that copy large arrays.
#[inline(always)]
fn load<const L: usize, const C: usize>(from: &[&[f64]; C], at: usize) -> [[f64; L]; C] {
    let mut lanes = [[0.0; L]; C];
    for c in 0..C {
        lanes[c].copy_from_slice(&from[c][at..at + L]);
    }
    lanes
}

#[inline(always)]
fn symbol<const L: usize, const C: usize>(lanes: &[[f64; L]; C], i: usize) -> [f64; C] {
    let mut own = [0.0; C];
    for c in 0..C {
        own[c] = lanes[c][i];
    }
    own
}

#[inline(always)]
fn store<const L: usize, const C: usize>(
    to: &mut [&mut [f64]; C],
    at: usize,
    lanes: &[[f64; L]; C],
) {
    for (to, lanes) in to.iter_mut().zip(lanes) {
        to[at..at + L].copy_from_slice(lanes);
    }
}

/// One row: the beginning goes on, and is joined with an end, if there is one.
#[inline(always)]
fn run<const N: usize, const C: usize, F: Fold<N, C>>(
    fold: &F,
    x: &[&[f64]; N],
    anchor: &[&[f64]; N],
    mut beginning: [&mut [f64]; C],
    ends: Option<&[&[f64]; C]>,
    at: f64,
    out: &mut [f64],
) {
    let lanes = lanes(C);
    let whole = out.len() / lanes * lanes;
    for from in (0..whole).step_by(lanes) {
        if lanes == LANES {
            run_lanes::<LANES, N, C, F>(fold, x, anchor, &mut beginning, ends, at, out, from);
        } else {
            run_lanes::<FEW, N, C, F>(fold, x, anchor, &mut beginning, ends, at, out, from);
        }
    }
    for from in whole..out.len() {
        run_lanes::<1, N, C, F>(fold, x, anchor, &mut beginning, ends, at, out, from);
    }
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the row of its one caller")]
fn run_lanes<const L: usize, const N: usize, const C: usize, F: Fold<N, C>>(
    fold: &F,
    x: &[&[f64]; N],
    anchor: &[&[f64]; N],
    beginning: &mut [&mut [f64]; C],
    ends: Option<&[&[f64]; C]>,
    at: f64,
    out: &mut [f64],
    from: usize,
) {
    let (x, anchor) = (load::<L, N>(x, from), load::<L, N>(anchor, from));
    let mut here = [[0.0; L]; C];
    for i in 0..L {
        let lifted = fold.lift(symbol(&x, i), symbol(&anchor, i), at);
        for c in 0..C {
            here[c][i] = lifted[c];
        }
    }
    if at > 0.0 {
        let mut before = [[0.0; L]; C];
        for c in 0..C {
            before[c].copy_from_slice(&beginning[c][from..from + L]);
        }
        here = join_lanes(fold, &before, &here);
    }
    store(beginning, from, &here);
    if let Some(ends) = ends {
        here = join_lanes(fold, &load::<L, C>(ends, from), &here);
    }
    let mut result = [0.0; L];
    for i in 0..L {
        result[i] = fold.finish(symbol(&here, i), symbol(&x, i), symbol(&anchor, i), at);
    }
    out[from..from + L].copy_from_slice(&result);
}

#[inline(always)]
fn join_lanes<const L: usize, const N: usize, const C: usize, F: Fold<N, C>>(
    fold: &F,
    older: &[[f64; L]; C],
    newer: &[[f64; L]; C],
) -> [[f64; L]; C] {
    let mut joined = [[0.0; L]; C];
    for i in 0..L {
        let both = fold.join(symbol(older, i), symbol(newer, i));
        for c in 0..C {
            joined[c][i] = both[c];
        }
    }
    joined
}

/// One row of the ends.
#[inline(always)]
fn run_back<const N: usize, const C: usize, F: Fold<N, C>>(
    fold: &F,
    x: &[&[f64]; N],
    anchor: &[&[f64]; N],
    mut own: [&mut [f64]; C],
    newer: Option<&[&[f64]; C]>,
    at: f64,
) {
    let width = x[0].len();
    let lanes = lanes(C);
    let whole = width / lanes * lanes;
    for from in (0..whole).step_by(lanes) {
        if lanes == LANES {
            back_lanes::<LANES, N, C, F>(fold, x, anchor, &mut own, newer, at, from);
        } else {
            back_lanes::<FEW, N, C, F>(fold, x, anchor, &mut own, newer, at, from);
        }
    }
    for from in whole..width {
        back_lanes::<1, N, C, F>(fold, x, anchor, &mut own, newer, at, from);
    }
}

#[inline(always)]
fn back_lanes<const L: usize, const N: usize, const C: usize, F: Fold<N, C>>(
    fold: &F,
    x: &[&[f64]; N],
    anchor: &[&[f64]; N],
    own: &mut [&mut [f64]; C],
    newer: Option<&[&[f64]; C]>,
    at: f64,
    from: usize,
) {
    let (x, anchor) = (load::<L, N>(x, from), load::<L, N>(anchor, from));
    let mut here = [[0.0; L]; C];
    for i in 0..L {
        let lifted = fold.lift(symbol(&x, i), symbol(&anchor, i), at);
        for c in 0..C {
            here[c][i] = lifted[c];
        }
    }
    if let Some(newer) = newer {
        here = join_lanes(fold, &here, &load::<L, C>(newer, from));
    }
    store(own, from, &here);
}
