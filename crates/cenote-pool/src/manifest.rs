//! One version of a frame, as bytes: schema, partitions, chunks, layouts, statistics.
//!
//! A manifest has a part of its own, and a short list of references to earlier manifests of
//! which only *their* own parts count: they come before it, in the order of the list. So an
//! append writes its new partitions and a reference more, whatever there is already.
//!
//! A manifest is written once by the pool and read in place by every client; all numbers
//! are little-endian, all parts 8-byte aligned, offsets from the first byte.
//!
//! ```text
//! byte 0   magic "CNMF"        u32    layout version        u32
//!      8   total bytes         u64
//!     16   rows in all         u64
//!     24   version             u64
//!     32   created, ns         u64
//!     40   columns             u32    own partitions        u32
//!     48   own chunks          u32    layouts               u32
//!     56   schema bytes        u32    layout bytes          u32
//!     64   references          u32    statistics            u32
//!     72   statistics' bytes   u32    0                     u32
//!     80   schema, padded to 8
//!          references: entry u32, generation u32, partitions u32, chunks u32, rows u64,
//!              length u64, checksum u64
//!          own partitions: rows u64 each
//!          own chunks: entry u32, 0 u32, length u64, checksum u64
//!          columns of each own partition: chunk u32, layout u32
//!          layout ends: u32 each, padded to 8; then the layouts' bytes, padded to 8
//!          statistics' ends: u32 each, padded to 8; then the statistics' bytes
//! ```
//!
//! A layout says which bytes of a chunk are which Arrow buffers; equal layouts are stored
//! once, so a hundred float64 columns of one partition share one. Statistics are a byte
//! string for each own partition, or none at all; the pool does not look into them.

use std::collections::HashMap;

use crate::id::{EntryId, Generation};

mod bytes;
#[cfg(test)]
mod tests;

pub use bytes::{encode, schema_of};

/// First four bytes.
pub const MAGIC: u32 = u32::from_le_bytes(*b"CNMF");
/// Version of this layout.
pub const VERSION: u32 = 2;
/// Largest manifest.
pub const MANIFEST_BYTES_MAX: u64 = 1 << 30;
/// Most references of a manifest; the pool merges long before.
pub const REFERENCES_MAX: usize = 1024;

/// A chunk of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRef {
    /// Its board entry.
    pub entry: EntryId,
    /// Its length in bytes.
    pub length: u64,
    /// Its checksum.
    pub checksum: u64,
}

/// An earlier manifest whose own part belongs to a version, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its board entry.
    pub entry: EntryId,
    /// The life of that entry.
    pub generation: Generation,
    /// Partitions of its own part.
    pub partitions: u32,
    /// Chunks of its own part.
    pub chunks: u32,
    /// Rows of its own part.
    pub rows: u64,
    /// Bytes of the manifest.
    pub length: u64,
    /// The manifest's checksum.
    pub checksum: u64,
}

/// One column of one partition: which chunk it lies in, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ColumnRef {
    /// Index into the part's chunks.
    pub chunk: u32,
    /// Index into the part's layouts.
    pub layout: u32,
}

/// What a manifest says, short of the entries of its chunks: a client makes this.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Draft {
    /// The schema's bytes (`cenote_arrow::schema`).
    pub schema: Vec<u8>,
    /// Columns of each partition.
    pub num_columns: u32,
    /// Rows of each partition.
    pub partitions: Vec<u64>,
    /// `partitions × num_columns` of them, partition by partition.
    pub columns: Vec<ColumnRef>,
    /// Each different layout.
    pub layouts: Vec<Vec<u8>>,
    /// What is known of each partition's values, as `cenote-arrow` writes it; empty: nothing
    /// of any.
    pub statistics: Vec<Vec<u8>>,
}

impl Draft {
    /// Adds a layout, or finds it among the last few.
    pub fn intern(&mut self, known: &mut HashMap<Vec<u8>, u32>, layout: Vec<u8>) -> u32 {
        *known.entry(layout).or_insert_with_key(|layout| {
            self.layouts.push(layout.clone());
            u32::try_from(self.layouts.len() - 1).unwrap_or(u32::MAX)
        })
    }

    /// Rows in all.
    #[must_use]
    pub fn num_rows(&self) -> u64 {
        self.partitions.iter().fold(0u64, |sum, rows| sum.saturating_add(*rows))
    }

    /// Whether all counts and indices agree with `chunks` chunks.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self, chunks: usize) -> Result<(), ManifestError> {
        let expected = self.partitions.len() as u64 * u64::from(self.num_columns);
        if self.columns.len() as u64 != expected {
            return Err(ManifestError::Count {
                what: "columns",
                found: self.columns.len() as u64,
                expected,
            });
        }
        if !self.statistics.is_empty() && self.statistics.len() != self.partitions.len() {
            return Err(ManifestError::Count {
                what: "statistics",
                found: self.statistics.len() as u64,
                expected: self.partitions.len() as u64,
            });
        }
        for column in &self.columns {
            if column.chunk as usize >= chunks {
                return Err(ManifestError::Index {
                    what: "chunk",
                    index: column.chunk,
                    of: chunks,
                });
            }
            if column.layout as usize >= self.layouts.len() {
                let of = self.layouts.len();
                return Err(ManifestError::Index { what: "layout", index: column.layout, of });
            }
        }
        Ok(())
    }
}

/// Why bytes are no manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// Not a manifest, or of another layout.
    #[error("no manifest of layout {VERSION}: magic {magic:#x}, layout {version}")]
    Magic {
        /// As found.
        magic: u32,
        /// As found.
        version: u32,
    },
    /// It ends too early, or says so.
    #[error("a manifest of {bytes} bytes that needs {needed}")]
    Short {
        /// As found.
        bytes: u64,
        /// By its counts.
        needed: u64,
    },
    /// Two counts disagree.
    #[error("{found} {what} where {expected} belong")]
    Count {
        /// Of what.
        what: &'static str,
        /// As found.
        found: u64,
        /// By the other counts.
        expected: u64,
    },
    /// An index points nowhere.
    #[error("{what} {index} of {of}")]
    Index {
        /// Into what.
        what: &'static str,
        /// As found.
        index: u32,
        /// How many there are.
        of: usize,
    },
}

/// A manifest decoded. Owns its tables, so that it outlives the lease on its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Earlier manifests whose own parts come first, in order.
    pub references: Vec<Reference>,
    /// Its own part.
    pub draft: Draft,
    /// The chunks of its own part.
    pub chunks: Vec<ChunkRef>,
    /// The version it is.
    pub version: u64,
    /// Nanoseconds since 1970.
    pub created_ns: u64,
}

impl Manifest {
    /// Rows in all, those of references included.
    #[must_use]
    pub fn num_rows(&self) -> u64 {
        rows_in_all(&self.draft, &self.references)
    }

    /// Partitions in all.
    #[must_use]
    pub fn num_partitions(&self) -> u64 {
        let own = self.draft.partitions.len() as u64;
        self.references.iter().fold(own, |sum, r| sum.saturating_add(u64::from(r.partitions)))
    }

    /// Where column `column` of the own partition `partition` lies.
    #[must_use]
    pub fn column(&self, partition: usize, column: usize) -> Option<ColumnRef> {
        let columns = self.draft.num_columns as usize;
        if column >= columns {
            return None;
        }
        self.draft.columns.get(partition * columns + column).copied()
    }

    /// What is known of an own partition's values; empty: nothing.
    #[must_use]
    pub fn statistics(&self, partition: usize) -> &[u8] {
        self.draft.statistics.get(partition).map_or(&[], Vec::as_slice)
    }
}

fn rows_in_all(own: &Draft, references: &[Reference]) -> u64 {
    references.iter().fold(own.num_rows(), |sum, r| sum.saturating_add(r.rows))
}
