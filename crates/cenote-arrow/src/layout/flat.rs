//! Columns of one array without children, as the C data interface wants them.
//!
//! Most columns of market data are: numbers, times, text. For them the way by arrow-rs (a
//! few allocations to build an array, and as many again to export it) is longer than
//! everything else that a reader does.

use super::{ColumnLayout, Extent};
use crate::physical::Physical;

/// Most buffers that a flat column has: validity, offsets, bytes.
pub const FLAT_BUFFERS_MAX: usize = 3;

/// A flat column: where its buffers stand in its chunk, in the order of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flat {
    /// Rows.
    pub len: usize,
    /// How many of them are null.
    pub null_count: usize,
    /// Offsets in the chunk; `None` for a validity bitmap that is not there.
    pub buffers: [Option<usize>; FLAT_BUFFERS_MAX],
    /// How many of `buffers` the type has.
    pub num_buffers: usize,
}

impl ColumnLayout {
    /// The column's buffers, if it is flat; `None` for views and nested types.
    #[must_use]
    pub fn flat(&self) -> Option<Flat> {
        let node = &self.root;
        let own = match Physical::of(&node.data_type).ok()? {
            Physical::Fixed { .. } | Physical::Bits => 1,
            Physical::Bytes { .. } => 2,
            _ => return None,
        };
        let mut buffers = [None; FLAT_BUFFERS_MAX];
        let at = |extent: &Extent| extent.offset;
        buffers[0] = node.validity.as_ref().map(at);
        for (to, extent) in buffers[1..=own].iter_mut().zip(&node.buffers) {
            *to = Some(at(extent));
        }
        let (len, null_count) = (node.len, node.null_count);
        Some(Flat { len, null_count, buffers, num_buffers: 1 + own })
    }
}
