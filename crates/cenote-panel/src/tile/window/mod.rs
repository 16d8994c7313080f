//! Operators over the last rows of a symbol.
//!
//! Every output is made of its own window's rows alone, in an order that depends on their
//! ordinals alone. So the bits are the same whatever came before, in whatever blocks the rows
//! arrive, and what has left the window, an infinity, say, leaves no trace.

mod fold;
mod folds;
mod rank;
mod ranks;
mod shape;
mod sorted;

use super::history::History;
use crate::op::{Window, Window2};
use fold::TwoStack;
use sorted::Sorted;

/// One window operator at one tile, between rows.
#[derive(Debug)]
pub(crate) struct State {
    kernel: Kernel,
    rows: u32,
}

#[derive(Debug)]
enum Kernel {
    Delay,
    Fold1(Window, TwoStack),
    Fold2(Window2, TwoStack),
    Rank,
    Quantile(Sorted),
    Ranks(Window2, TwoStack),
    Shape(Window),
}

impl State {
    /// An operator over `rows` rows of `width` symbols.
    pub(crate) fn one(op: Window, rows: u32, width: usize) -> State {
        let kernel = match op {
            Window::Delay => Kernel::Delay,
            Window::Rank => Kernel::Rank,
            Window::Quantile(q) => Kernel::Quantile(Sorted::new(f64::from_bits(q), rows, width)),
            Window::Skew | Window::Kurt => Kernel::Shape(op),
            _ => Kernel::Fold1(op, TwoStack::new(folds::parts(op), rows, width)),
        };
        State { kernel, rows }
    }

    /// The same of two inputs.
    pub(crate) fn two(op: Window2, rows: u32, width: usize) -> State {
        let stack = TwoStack::new(folds::parts2(op), rows, width);
        State { kernel: Kernel::Fold2(op, stack), rows }
    }

    /// The same of two ranks of rows, each with its count.
    pub(crate) fn ranks(op: Window2, rows: u32, width: usize) -> State {
        let stack = TwoStack::new(ranks::parts(op), rows, width);
        State { kernel: Kernel::Ranks(op, stack), rows }
    }

    /// Bytes.
    pub(crate) fn memory(&self) -> usize {
        match &self.kernel {
            Kernel::Fold1(_, stack) | Kernel::Fold2(_, stack) | Kernel::Ranks(_, stack) => {
                stack.memory()
            }
            Kernel::Quantile(sorted) => sorted.memory(),
            Kernel::Delay | Kernel::Rank | Kernel::Shape(_) => 0,
        }
    }

    /// The output at row `ordinal`, which is the newest of `inputs`. Rows come one after the
    /// other.
    pub(crate) fn step(&mut self, inputs: &[&History], ordinal: u64, out: &mut [f64]) {
        let rows = self.rows;
        match (&mut self.kernel, inputs) {
            (Kernel::Delay, [x]) => {
                out.copy_from_slice(x.row_before(ordinal, u64::from(rows)));
            }
            (Kernel::Fold1(op, stack), [x]) => folds::one(*op, stack, x, ordinal, out),
            (Kernel::Fold2(op, stack), [x, y]) => folds::two(*op, stack, [x, y], ordinal, out),
            (Kernel::Rank, [x]) => rank::of(x, rows, ordinal, out),
            (Kernel::Quantile(sorted), [x]) => sorted.step(x, ordinal, out),
            (Kernel::Ranks(op, stack), &[x, n, y, m]) => {
                ranks::of(*op, stack, [x, n, y, m], ordinal, out);
            }
            (Kernel::Shape(op), [x]) => shape::of(*op == Window::Kurt, x, rows, ordinal, out),
            _ => out.fill(f64::NAN),
        }
    }
}
