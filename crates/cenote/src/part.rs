//! A partition that is filled in place: the writer hands out the memory, and looks at it once
//! when it is sealed.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::make_array;
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use cenote_arrow::ColumnPlan;
use cenote_arrow::stats::ColumnStats;
use cenote_pool::id::Place;
use cenote_region::copy::{LEAF, combine, hash};

use crate::error::Error;
use crate::memory::Span;
use crate::writer::{index, short_mapping};

/// A partition that is filled in place.
#[derive(Debug)]
pub struct Part {
    pub(crate) rows: u64,
    pub(crate) columns: Vec<PartColumn>,
}

#[derive(Debug)]
pub(crate) struct PartColumn {
    pub(crate) place: Place,
    pub(crate) span: Span,
    pub(crate) data_type: DataType,
    /// Of the values, without padding.
    pub(crate) bytes: u64,
}

impl Part {
    /// Rows of the partition.
    #[must_use]
    pub fn num_rows(&self) -> u64 {
        self.rows
    }

    /// How many columns it has.
    #[must_use]
    pub fn num_columns(&self) -> usize {
        self.columns.len()
    }

    /// A column's values, to be written: zero at first, of the schema's type, one after the
    /// other. The address is good as long as the part lives; writing through it after
    /// [`FrameWriter::seal`](crate::FrameWriter::seal) would change what is sealed.
    #[must_use]
    pub fn column(&self, column: usize) -> Option<(NonNull<u8>, usize)> {
        let column = self.columns.get(column)?;
        Some((column.span.start()?, index(column.bytes)))
    }
}

/// What is found out about a column that was filled in place.
#[derive(Debug)]
pub(crate) struct SealedColumn {
    pub(crate) layout: Vec<u8>,
    pub(crate) checksum: u64,
    pub(crate) statistics: ColumnStats,
}

impl PartColumn {
    /// Reads the column once, a leaf at a time.
    pub(crate) fn seal(&self, rows: u64) -> Result<SealedColumn, Error> {
        let empty = arrow_array::new_empty_array(&self.data_type).to_data();
        let bytes = index(self.bytes);
        let start = self.span.start().ok_or_else(short_mapping)?;
        // SAFETY: the span has these bytes, which the caller has stopped writing, and `buffer`
        // does not outlive this function.
        let buffer = unsafe { Buffer::from_custom_allocation(start, bytes, Arc::new(())) };
        let data = empty.into_builder().len(index(rows)).buffers(vec![buffer]).build()?;
        let array = make_array(data);
        let plan = ColumnPlan::new(&array, 0)
            .map_err(|source| Error::Plan { column: self.data_type.to_string(), source })?;
        let layout = plan.layout().to_vec();
        let mut statistics = ColumnStats::none();
        let mut hashes = Vec::new();
        let span = self.span.bytes().ok_or_else(short_mapping)?;
        let leaves = span.chunks(LEAF);
        let pieces = leaves.len();
        for (piece, leaf) in leaves.enumerate() {
            hashes.push(hash(leaf));
            statistics.merge(ColumnStats::of_piece(&array, piece, pieces));
        }
        Ok(SealedColumn { layout, checksum: combine(&hashes), statistics })
    }
}
