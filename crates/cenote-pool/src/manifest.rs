//! One version of a frame, as bytes: schema, partitions, chunks, layouts.
//!
//! A manifest is written once by the pool and read in place by every client; all numbers
//! are little-endian, all parts 8-byte aligned, offsets from the first byte.
//!
//! ```text
//! byte 0   magic "CNMF"        u32    layout version        u32
//!      8   total bytes         u64
//!     16   rows                u64
//!     24   version             u64
//!     32   created, ns         u64
//!     40   columns             u32    partitions            u32
//!     48   chunks              u32    layouts               u32
//!     56   schema bytes        u32    layout bytes          u32
//!     64   schema, padded to 8
//!          partitions: rows u64 each
//!          chunks: entry u32, 0 u32, length u64, checksum u64
//!          columns of each partition: chunk u32, layout u32
//!          layout ends: u32 each, padded to 8; then the layouts' bytes
//! ```
//!
//! A layout says which bytes of a chunk are which Arrow buffers; equal layouts are stored
//! once, so a hundred float64 columns of one partition share one.

use std::collections::HashMap;

use crate::id::EntryId;

/// First four bytes.
pub const MAGIC: u32 = u32::from_le_bytes(*b"CNMF");
/// Version of this layout.
pub const VERSION: u32 = 1;
/// Largest manifest.
pub const MANIFEST_BYTES_MAX: u64 = 1 << 30;
const HEADER: usize = 64;
const CHUNK: usize = 24;

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

/// One column of one partition: which chunk it lies in, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ColumnRef {
    /// Index into the version's chunks.
    pub chunk: u32,
    /// Index into the version's layouts.
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

    /// The manifest's bytes. [`Self::check`] has passed.
    #[must_use]
    pub fn encode(&self, chunks: &[ChunkRef], version: u64, created_ns: u64) -> Vec<u8> {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
        let layout_bytes: usize = self.layouts.iter().map(Vec::len).sum();
        let mut out = Vec::with_capacity(
            HEADER
                + self.schema.len()
                + chunks.len() * CHUNK
                + self.columns.len() * 8
                + layout_bytes
                + 64,
        );
        out.extend(MAGIC.to_le_bytes());
        out.extend(VERSION.to_le_bytes());
        out.extend(0u64.to_le_bytes());
        out.extend(self.num_rows().to_le_bytes());
        out.extend(version.to_le_bytes());
        out.extend(created_ns.to_le_bytes());
        out.extend(self.num_columns.to_le_bytes());
        out.extend(count(self.partitions.len()));
        out.extend(count(chunks.len()));
        out.extend(count(self.layouts.len()));
        out.extend(count(self.schema.len()));
        out.extend(count(layout_bytes));
        out.extend(&self.schema);
        pad(&mut out);
        for rows in &self.partitions {
            out.extend(rows.to_le_bytes());
        }
        for chunk in chunks {
            out.extend(chunk.entry.0.to_le_bytes());
            out.extend(0u32.to_le_bytes());
            out.extend(chunk.length.to_le_bytes());
            out.extend(chunk.checksum.to_le_bytes());
        }
        for column in &self.columns {
            out.extend(column.chunk.to_le_bytes());
            out.extend(column.layout.to_le_bytes());
        }
        let mut end = 0;
        for layout in &self.layouts {
            end += layout.len();
            out.extend(count(end));
        }
        pad(&mut out);
        for layout in &self.layouts {
            out.extend(layout);
        }
        let total = out.len() as u64;
        out[8..16].copy_from_slice(&total.to_le_bytes());
        out
    }
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
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
    /// The draft it was made from.
    pub draft: Draft,
    /// Its chunks.
    pub chunks: Vec<ChunkRef>,
    /// The version it is.
    pub version: u64,
    /// Nanoseconds since 1970.
    pub created_ns: u64,
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize, size: usize) -> Result<&'a [u8], ManifestError> {
        let wanted = count.saturating_mul(size);
        let end = self.at.saturating_add(wanted);
        let part = self
            .bytes
            .get(self.at..end)
            .ok_or(ManifestError::Short { bytes: self.bytes.len() as u64, needed: end as u64 })?;
        self.at = end;
        Ok(part)
    }

    fn align(&mut self) {
        self.at = self.at.next_multiple_of(8);
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

impl Manifest {
    /// Reads a manifest. Total: any bytes give a manifest whose indices all hold, or an error.
    ///
    /// # Errors
    /// [`ManifestError`].
    pub fn decode(bytes: &[u8]) -> Result<Manifest, ManifestError> {
        let mut cursor = Cursor { bytes, at: 0 };
        let header = cursor.take(HEADER, 1)?;
        let (magic, version) = (u32_at(header, 0), u32_at(header, 4));
        if magic != MAGIC || version != VERSION {
            return Err(ManifestError::Magic { magic, version });
        }
        let total = u64_at(header, 8);
        if total != bytes.len() as u64 {
            return Err(ManifestError::Short { bytes: bytes.len() as u64, needed: total });
        }
        let count = |at| u32_at(header, at) as usize;
        let (num_columns, partitions, chunks) = (u32_at(header, 40), count(44), count(48));
        let (layouts, schema_bytes, layout_bytes) = (count(52), count(56), count(60));
        let schema = cursor.take(schema_bytes, 1)?.to_vec();
        cursor.align();
        let partitions: Vec<u64> =
            cursor.take(partitions, 8)?.chunks_exact(8).map(|p| u64_at(p, 0)).collect();
        let chunks = cursor
            .take(chunks, CHUNK)?
            .chunks_exact(CHUNK)
            .map(|c| ChunkRef {
                entry: EntryId(u32_at(c, 0)),
                length: u64_at(c, 8),
                checksum: u64_at(c, 16),
            })
            .collect::<Vec<_>>();
        let cells = partitions.len().saturating_mul(num_columns as usize);
        let columns = cursor
            .take(cells, 8)?
            .chunks_exact(8)
            .map(|c| ColumnRef { chunk: u32_at(c, 0), layout: u32_at(c, 4) })
            .collect();
        let ends = cursor.take(layouts, 4)?;
        cursor.align();
        let pool = cursor.take(layout_bytes, 1)?;
        let mut start = 0;
        let mut layouts = Vec::with_capacity(ends.len() / 4);
        for end in ends.chunks_exact(4) {
            let end = u32_at(end, 0) as usize;
            let layout = pool
                .get(start..end)
                .ok_or(ManifestError::Short { bytes: pool.len() as u64, needed: end as u64 })?;
            layouts.push(layout.to_vec());
            start = end;
        }
        let draft = Draft { schema, num_columns, partitions, columns, layouts };
        draft.check(chunks.len())?;
        let rows = u64_at(header, 16);
        if rows != draft.num_rows() {
            return Err(ManifestError::Count {
                what: "rows",
                found: rows,
                expected: draft.num_rows(),
            });
        }
        Ok(Manifest { draft, chunks, version: u64_at(header, 24), created_ns: u64_at(header, 32) })
    }

    /// Rows in all.
    #[must_use]
    pub fn num_rows(&self) -> u64 {
        self.draft.num_rows()
    }

    /// Where column `column` of partition `partition` lies.
    #[must_use]
    pub fn column(&self, partition: usize, column: usize) -> Option<ColumnRef> {
        let columns = self.draft.num_columns as usize;
        if column >= columns {
            return None;
        }
        self.draft.columns.get(partition * columns + column).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> (Draft, Vec<ChunkRef>) {
        let mut known = HashMap::new();
        let mut draft = Draft {
            schema: b"schema".to_vec(),
            num_columns: 2,
            partitions: vec![3, 4],
            ..Draft::default()
        };
        let a = draft.intern(&mut known, b"layout a".to_vec());
        let b = draft.intern(&mut known, b"b".to_vec());
        assert_eq!(draft.intern(&mut known, b"layout a".to_vec()), a);
        draft.columns = [(0, a), (1, a), (2, b), (2, a)]
            .map(|(chunk, layout)| ColumnRef { chunk, layout })
            .to_vec();
        let chunks = (0..3)
            .map(|i| ChunkRef { entry: EntryId(i), length: 64, checksum: u64::from(i) })
            .collect();
        (draft, chunks)
    }

    #[test]
    fn a_manifest_comes_back() {
        let (draft, chunks) = sample();
        draft.check(chunks.len()).unwrap();
        let bytes = draft.encode(&chunks, 7, 8);
        let manifest = Manifest::decode(&bytes).unwrap();
        assert_eq!(manifest, Manifest { draft, chunks, version: 7, created_ns: 8 });
        assert_eq!(manifest.column(1, 0), Some(ColumnRef { chunk: 2, layout: 1 }));
        assert_eq!(manifest.column(0, 2), None);
        assert_eq!(manifest.num_rows(), 7);
    }

    proptest! {
        #[test]
        fn rubbish_is_refused_or_sound(at in 0usize..400, to in any::<u8>(), cut in 0usize..400) {
            let (draft, chunks) = sample();
            let mut bytes = draft.encode(&chunks, 7, 8);
            let at = at % bytes.len();
            bytes[at] = to;
            let _ = Manifest::decode(&bytes[..cut.min(bytes.len())]);
            if let Ok(manifest) = Manifest::decode(&bytes) {
                manifest.draft.check(manifest.chunks.len()).unwrap();
            }
        }
    }
}
