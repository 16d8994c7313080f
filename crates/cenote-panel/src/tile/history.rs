//! The last rows of a node at a tile's symbols: what windows read.
//!
//! Rows stand in a ring by their ordinal. A row that was never written is missing.

/// The last rows of one node.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    rows: Vec<f64>,
    capacity: usize,
    width: usize,
}

impl History {
    /// Room for `capacity` rows of `width` symbols.
    pub(crate) fn new(capacity: usize, width: usize) -> History {
        History { rows: vec![f64::NAN; capacity * width], capacity, width }
    }

    /// Bytes.
    pub(crate) fn memory(&self) -> usize {
        self.rows.capacity() * 8
    }

    fn at(&self, ordinal: u64) -> usize {
        // A remainder of a `usize`.
        usize::try_from(ordinal % self.capacity as u64).unwrap_or(0) * self.width
    }

    /// The row `ordinal`, one of the last.
    pub(crate) fn row(&self, ordinal: u64) -> &[f64] {
        let at = self.at(ordinal);
        &self.rows[at..at + self.width]
    }

    /// The row `back` rows before `ordinal`; one before the first row is missing.
    pub(crate) fn row_before(&self, ordinal: u64, back: u64) -> &[f64] {
        // Ordinals are taken with an offset of the capacity, so that rows before the first
        // have one, too: those places hold what was never written.
        debug_assert!(back < self.capacity as u64);
        self.row(ordinal.wrapping_sub(back).wrapping_add(if ordinal < back {
            self.capacity as u64 * (back / self.capacity as u64 + 1)
        } else {
            0
        }))
    }

    /// Writes the row `ordinal`.
    pub(crate) fn set(&mut self, ordinal: u64, row: &[f64]) {
        let at = self.at(ordinal);
        self.rows[at..at + self.width].copy_from_slice(row);
    }
}
