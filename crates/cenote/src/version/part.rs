//! The own part of one manifest, decoded.

use std::sync::OnceLock;

use arrow_schema::SchemaRef;
use cenote_arrow::ColumnLayout;
use cenote_pool::manifest::{ChunkRef, ColumnRef, Draft, Manifest, Reference};

use crate::error::Contradiction;

#[derive(Debug)]
pub(crate) struct Part {
    own: Draft,
    pub(crate) chunks: Vec<ChunkRef>,
    /// Of each partition's columns.
    layouts: Vec<OnceLock<Box<[ColumnLayout]>>>,
}

impl Part {
    /// The own part of a manifest; `entries` are as many as the board has.
    pub(crate) fn new(manifest: Manifest, entries: u64) -> Result<Part, Contradiction> {
        let Manifest { draft: own, chunks, .. } = manifest;
        // Beyond them the board's file has no pages.
        if let Some(chunk) = chunks.iter().find(|c| u64::from(c.entry.0) >= entries) {
            return Err(Contradiction::Entry { entry: chunk.entry.0, entries });
        }
        let layouts = own.partitions.iter().map(|_| OnceLock::new()).collect();
        Ok(Part { own, chunks, layouts })
    }

    /// Whether it is what `reference`, in a manifest whose own part is `other`, says it is.
    pub(crate) fn agrees(&self, reference: &Reference, other: &Draft) -> bool {
        self.own.partitions.len() == reference.partitions as usize
            && self.chunks.len() == reference.chunks as usize
            && self.own.num_rows() == reference.rows
            && self.own.num_columns == other.num_columns
            && self.own.schema == other.schema
    }

    pub(crate) fn num_columns(&self) -> usize {
        self.own.num_columns as usize
    }

    pub(crate) fn num_partitions(&self) -> usize {
        self.own.partitions.len()
    }

    /// Rows of each partition.
    pub(crate) fn rows(&self) -> &[u64] {
        &self.own.partitions
    }

    #[inline]
    pub(crate) fn column(&self, partition: usize, column: usize) -> Option<ColumnRef> {
        let columns = self.own.num_columns as usize;
        if column >= columns {
            return None;
        }
        self.own.columns.get(partition * columns + column).copied()
    }

    pub(crate) fn statistics(&self, partition: usize) -> &[u8] {
        self.own.statistics.get(partition).map_or(&[], Vec::as_slice)
    }

    /// The layouts of a partition's columns, decoded once. All versions with this part have
    /// the same schema.
    pub(crate) fn layouts(
        &self,
        partition: usize,
        schema: &SchemaRef,
    ) -> Result<&[ColumnLayout], Contradiction> {
        if let Some(layouts) = self.layouts[partition].get() {
            return Ok(layouts);
        }
        let rows = self.own.partitions[partition];
        let mut layouts = Vec::with_capacity(self.num_columns());
        for (column, field) in schema.fields().iter().enumerate() {
            let Some(at) = self.column(partition, column) else { break };
            let bytes = &self.own.layouts[at.layout as usize];
            let length = self.chunks[at.chunk as usize].length;
            layouts.push(ColumnLayout::decode(bytes, field.data_type(), rows, length)?);
        }
        Ok(self.layouts[partition].get_or_init(|| layouts.into()))
    }
}
