//! A version as this process has decoded it: the parts that its manifest and the manifests it
//! refers to have of their own, one after the other.
//!
//! A part never changes and is kept decoded for itself, so that the version after an append
//! costs what it has added. Partitions and chunks are numbered through all parts.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow_schema::SchemaRef;
use cenote_arrow::stats::{ColumnStats, decode_statistics};
use cenote_arrow::{ColumnLayout, decode_schema};
use cenote_pool::manifest::{ChunkRef, Manifest, Reference};

use crate::error::Contradiction;
use crate::frame::Hold;

pub(crate) use part::Part;

mod part;

#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) version: u64,
    pub(crate) created_ns: u64,
    pub(crate) schema: SchemaRef,
    /// First row of each partition, and the end.
    pub(crate) starts: Vec<u64>,
    parts: Vec<Arc<Part>>,
    /// First partition and first chunk of each part, and the ends.
    firsts: Vec<(usize, usize)>,
    /// The leases of a frame of all of it, while there is one.
    pub(crate) whole: Mutex<Weak<Hold>>,
}

/// Where one column of one partition lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell<'a> {
    /// The chunk's number in the version.
    pub(crate) chunk: u32,
    pub(crate) layout: &'a ColumnLayout,
}

impl Version {
    /// The version of a manifest whose own part is `own`; `part` finds the part of each
    /// manifest that it refers to.
    pub(crate) fn new<E: From<Contradiction>>(
        manifest: Manifest,
        own: impl FnOnce(Manifest) -> Result<Arc<Part>, E>,
        mut part: impl FnMut(&Reference) -> Result<Arc<Part>, E>,
    ) -> Result<Version, E> {
        let schema = decode_schema(&manifest.draft.schema).map_err(Contradiction::from)?;
        let (version, created_ns) = (manifest.version, manifest.created_ns);
        let mut parts = Vec::with_capacity(manifest.references.len() + 1);
        for reference in &manifest.references {
            let part = part(reference)?;
            if !part.agrees(reference, &manifest.draft) {
                return Err(Contradiction::Part { entry: reference.entry.0 }.into());
            }
            parts.push(part);
        }
        parts.push(own(manifest)?);
        let mut firsts = vec![(0, 0)];
        let (mut partitions, mut chunks) = (0, 0);
        for part in &parts {
            partitions += part.num_partitions();
            chunks += part.chunks.len();
            firsts.push((partitions, chunks));
        }
        let mut starts = Vec::with_capacity(partitions + 1);
        starts.push(0);
        let mut at = 0u64;
        for rows in parts.iter().flat_map(|part| part.rows()) {
            at = at.saturating_add(*rows);
            starts.push(at);
        }
        let (schema, whole) = (schema.into(), Mutex::default());
        Ok(Version { version, created_ns, schema, starts, parts, firsts, whole })
    }

    pub(crate) fn num_columns(&self) -> usize {
        let last = self.parts.last().map_or(0, |part| part.num_columns());
        self.schema.fields().len().min(last)
    }

    pub(crate) fn num_rows(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    pub(crate) fn num_partitions(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn num_chunks(&self) -> usize {
        self.firsts.last().map_or(0, |end| end.1)
    }

    /// The part that a partition is in, the partition's number there, and the part's first
    /// chunk.
    #[inline]
    fn part_of(&self, partition: usize) -> (&Part, usize, usize) {
        let at = if self.parts.len() == 1 {
            0
        } else {
            self.firsts[1..].partition_point(|end| end.0 <= partition)
        };
        (&self.parts[at], partition - self.firsts[at].0, self.firsts[at].1)
    }

    /// A chunk by its number in the version.
    #[inline]
    pub(crate) fn chunk(&self, chunk: usize) -> &ChunkRef {
        if self.parts.len() == 1 {
            return &self.parts[0].chunks[chunk];
        }
        let at = self.firsts[1..].partition_point(|end| end.1 <= chunk);
        &self.parts[at].chunks[chunk - self.firsts[at].1]
    }

    /// All chunks, in order.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = &ChunkRef> {
        self.parts.iter().flat_map(|part| part.chunks.iter())
    }

    /// The chunk of a column of a partition, by its number in the version.
    pub(crate) fn chunk_of(&self, partition: usize, column: usize) -> Option<u32> {
        let (part, local, first) = self.part_of(partition);
        let at = part.column(local, column)?;
        u32::try_from(first + at.chunk as usize).ok()
    }

    /// The columns of a partition, their layouts decoded once.
    pub(crate) fn cells(&self, partition: usize) -> Result<Cells<'_>, Contradiction> {
        let (part, local, first) = self.part_of(partition);
        let layouts = part.layouts(local, &self.schema)?;
        Ok(Cells { part, local, first, layouts })
    }

    /// Rows of a partition.
    pub(crate) fn rows_of(&self, partition: usize) -> u64 {
        self.starts[partition + 1] - self.starts[partition]
    }

    /// What is known of a partition's columns; nothing, where it was written in a way that
    /// this build does not know.
    pub(crate) fn statistics(&self, partition: usize) -> Vec<ColumnStats> {
        let (part, local, _) = self.part_of(partition);
        let rows = self.rows_of(partition);
        decode_statistics(part.statistics(local), &self.schema, rows).unwrap_or_default()
    }

    /// What is known of each column in all partitions.
    pub(crate) fn all_statistics(&self) -> Vec<ColumnStats> {
        let mut all = vec![ColumnStats::none(); self.schema.fields().len()];
        for partition in 0..self.num_partitions() {
            let mut statistics = self.statistics(partition).into_iter();
            // a column without any is not known
            all.iter_mut().for_each(|all| all.merge(statistics.next().unwrap_or_default()));
        }
        all
    }

    pub(crate) fn whole_hold(&self) -> Option<Arc<Hold>> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }

    pub(crate) fn set_whole_hold(&self, hold: &Arc<Hold>) {
        *self.whole.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(hold);
    }
}

/// The columns of one partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells<'a> {
    part: &'a Part,
    local: usize,
    first: usize,
    layouts: &'a [ColumnLayout],
}

impl<'a> Cells<'a> {
    #[inline]
    pub(crate) fn get(&self, column: usize) -> Option<Cell<'a>> {
        let at = self.part.column(self.local, column)?;
        let chunk = u32::try_from(self.first + at.chunk as usize).ok()?;
        Some(Cell { chunk, layout: self.layouts.get(column)? })
    }
}
