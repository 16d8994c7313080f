//! A manifest as this process has decoded it.

use std::sync::{Mutex, OnceLock, PoisonError, Weak};

use arrow_schema::SchemaRef;
use cenote_arrow::{ColumnLayout, decode_schema};
use cenote_pool::manifest::Manifest;

use crate::error::Contradiction;
use crate::frame::Hold;

#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) manifest: Manifest,
    pub(crate) schema: SchemaRef,
    /// First row of each partition, and the end.
    pub(crate) starts: Vec<u64>,
    layouts: Vec<OnceLock<Box<[ColumnLayout]>>>,
    /// The leases of a frame of all of it, while there is one.
    pub(crate) whole: Mutex<Weak<Hold>>,
}

impl Version {
    /// Decodes a manifest; `entries` are as many as the board has.
    pub(crate) fn decode(bytes: &[u8], entries: u64) -> Result<Version, Contradiction> {
        let manifest = Manifest::decode(bytes)?;
        // Beyond them the board's file has no pages.
        if let Some(chunk) = manifest.chunks.iter().find(|c| u64::from(c.entry.0) >= entries) {
            return Err(Contradiction::Entry { entry: chunk.entry.0, entries });
        }
        let schema = decode_schema(&manifest.draft.schema)?;
        let mut starts = vec![0];
        let mut at = 0u64;
        for rows in &manifest.draft.partitions {
            at = at.saturating_add(*rows);
            starts.push(at);
        }
        let layouts = manifest.draft.partitions.iter().map(|_| OnceLock::new()).collect();
        Ok(Version { manifest, schema: schema.into(), starts, layouts, whole: Mutex::default() })
    }

    pub(crate) fn num_columns(&self) -> usize {
        self.schema.fields().len().min(self.manifest.draft.num_columns as usize)
    }

    /// The layouts of a partition's columns, decoded once.
    pub(crate) fn layouts(&self, partition: usize) -> Result<&[ColumnLayout], Contradiction> {
        if let Some(layouts) = self.layouts[partition].get() {
            return Ok(layouts);
        }
        let rows = self.manifest.draft.partitions[partition];
        let mut layouts = Vec::with_capacity(self.num_columns());
        for (column, field) in self.schema.fields().iter().enumerate().take(self.num_columns()) {
            let Some(at) = self.manifest.column(partition, column) else { break };
            let bytes = &self.manifest.draft.layouts[at.layout as usize];
            let length = self.manifest.chunks[at.chunk as usize].length;
            layouts.push(ColumnLayout::decode(bytes, field.data_type(), rows, length)?);
        }
        Ok(self.layouts[partition].get_or_init(|| layouts.into()))
    }

    pub(crate) fn whole_hold(&self) -> Option<std::sync::Arc<Hold>> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }

    pub(crate) fn set_whole_hold(&self, hold: &std::sync::Arc<Hold>) {
        *self.whole.lock().unwrap_or_else(PoisonError::into_inner) =
            std::sync::Arc::downgrade(hold);
    }
}
