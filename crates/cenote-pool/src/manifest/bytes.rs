//! Manifests to bytes and back. Reading is total: any bytes give a manifest whose counts and
//! indices all hold, or an error.

use super::{
    ChunkRef, ColumnRef, Draft, MAGIC, Manifest, ManifestError, REFERENCES_MAX, Reference, VERSION,
    rows_in_all,
};
use crate::id::{EntryId, Generation};

const HEADER: usize = 80;
const REFERENCE: usize = 40;
const CHUNK: usize = 24;

/// A manifest's bytes. [`Draft::check`] has passed.
#[must_use]
pub fn encode(
    own: &Draft,
    references: &[Reference],
    chunks: &[ChunkRef],
    version: u64,
    created_ns: u64,
) -> Vec<u8> {
    let sum = |strings: &[Vec<u8>]| strings.iter().map(Vec::len).sum::<usize>();
    let (layout_bytes, statistics_bytes) = (sum(&own.layouts), sum(&own.statistics));
    let mut out = Vec::with_capacity(
        HEADER
            + own.schema.len()
            + references.len() * REFERENCE
            + chunks.len() * CHUNK
            + (own.partitions.len() + own.columns.len()) * 8
            + (own.layouts.len() + own.statistics.len()) * 4
            + layout_bytes
            + statistics_bytes
            + 64,
    );
    out.extend(MAGIC.to_le_bytes());
    out.extend(VERSION.to_le_bytes());
    out.extend(0u64.to_le_bytes());
    out.extend(rows_in_all(own, references).to_le_bytes());
    out.extend(version.to_le_bytes());
    out.extend(created_ns.to_le_bytes());
    out.extend(own.num_columns.to_le_bytes());
    let counts = [
        own.partitions.len(),
        chunks.len(),
        own.layouts.len(),
        own.schema.len(),
        layout_bytes,
        references.len(),
        own.statistics.len(),
        statistics_bytes,
        0,
    ];
    out.extend(counts.into_iter().flat_map(count));
    out.extend(&own.schema);
    pad(&mut out);
    for reference in references {
        out.extend(reference.entry.0.to_le_bytes());
        out.extend(reference.generation.0.to_le_bytes());
        out.extend(reference.partitions.to_le_bytes());
        out.extend(reference.chunks.to_le_bytes());
        out.extend(reference.rows.to_le_bytes());
        out.extend(reference.length.to_le_bytes());
        out.extend(reference.checksum.to_le_bytes());
    }
    for rows in &own.partitions {
        out.extend(rows.to_le_bytes());
    }
    for chunk in chunks {
        out.extend(chunk.entry.0.to_le_bytes());
        out.extend(0u32.to_le_bytes());
        out.extend(chunk.length.to_le_bytes());
        out.extend(chunk.checksum.to_le_bytes());
    }
    for column in &own.columns {
        out.extend(column.chunk.to_le_bytes());
        out.extend(column.layout.to_le_bytes());
    }
    put_strings(&mut out, &own.layouts);
    put_strings(&mut out, &own.statistics);
    let total = out.len() as u64;
    out[8..16].copy_from_slice(&total.to_le_bytes());
    out
}

fn count(n: usize) -> [u8; 4] {
    u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes()
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}

/// Where each ends, then all of them.
fn put_strings(out: &mut Vec<u8>, strings: &[Vec<u8>]) {
    pad(out);
    let mut end = 0;
    for string in strings {
        end += string.len();
        out.extend(count(end));
    }
    pad(out);
    for string in strings {
        out.extend(string);
    }
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

    fn strings(&mut self, count: usize, total: usize) -> Result<Vec<Vec<u8>>, ManifestError> {
        self.align();
        let ends = self.take(count, 4)?;
        self.align();
        let all = self.take(total, 1)?;
        let mut start = 0;
        let mut strings = Vec::with_capacity(count);
        for end in ends.chunks_exact(4) {
            let end = u32_at(end, 0) as usize;
            let string = all
                .get(start..end)
                .ok_or(ManifestError::Short { bytes: all.len() as u64, needed: end as u64 })?;
            strings.push(string.to_vec());
            start = end;
        }
        Ok(strings)
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

/// The schema's bytes alone.
///
/// # Errors
/// [`ManifestError`].
pub fn schema_of(bytes: &[u8]) -> Result<&[u8], ManifestError> {
    let mut cursor = Cursor { bytes, at: 0 };
    let header = cursor.take(HEADER, 1)?;
    let (magic, version) = (u32_at(header, 0), u32_at(header, 4));
    if magic != MAGIC || version != VERSION {
        return Err(ManifestError::Magic { magic, version });
    }
    cursor.take(u32_at(header, 56) as usize, 1)
}

impl Manifest {
    /// Reads a manifest. Total: any bytes give a manifest whose indices all hold, or an error.
    ///
    /// # Errors
    /// [`ManifestError`].
    pub fn decode(bytes: &[u8]) -> Result<Manifest, ManifestError> {
        let mut cursor = Cursor { bytes, at: 0 };
        let start = cursor.take(8, 1)?;
        let (magic, version) = (u32_at(start, 0), u32_at(start, 4));
        if magic != MAGIC || version != VERSION {
            return Err(ManifestError::Magic { magic, version });
        }
        cursor.at = 0;
        let header = cursor.take(HEADER, 1)?;
        let total = u64_at(header, 8);
        if total != bytes.len() as u64 {
            return Err(ManifestError::Short { bytes: bytes.len() as u64, needed: total });
        }
        let count = |at| u32_at(header, at) as usize;
        let (num_columns, num_partitions, num_chunks) = (u32_at(header, 40), count(44), count(48));
        let schema = cursor.take(count(56), 1)?.to_vec();
        cursor.align();
        let references = references(&mut cursor, count(64))?;
        let partitions: Vec<u64> =
            cursor.take(num_partitions, 8)?.chunks_exact(8).map(|p| u64_at(p, 0)).collect();
        let chunks: Vec<ChunkRef> = cursor
            .take(num_chunks, CHUNK)?
            .chunks_exact(CHUNK)
            .map(|c| ChunkRef {
                entry: EntryId(u32_at(c, 0)),
                length: u64_at(c, 8),
                checksum: u64_at(c, 16),
            })
            .collect();
        let cells = partitions.len().saturating_mul(num_columns as usize);
        let columns = cursor
            .take(cells, 8)?
            .chunks_exact(8)
            .map(|c| ColumnRef { chunk: u32_at(c, 0), layout: u32_at(c, 4) })
            .collect();
        let layouts = cursor.strings(count(52), count(60))?;
        let statistics = cursor.strings(count(68), count(72))?;
        let draft = Draft { schema, num_columns, partitions, columns, layouts, statistics };
        draft.check(chunks.len())?;
        let (rows, expected) = (u64_at(header, 16), rows_in_all(&draft, &references));
        if rows != expected {
            return Err(ManifestError::Count { what: "rows", found: rows, expected });
        }
        let (version, created_ns) = (u64_at(header, 24), u64_at(header, 32));
        Ok(Manifest { references, draft, chunks, version, created_ns })
    }
}

fn references(cursor: &mut Cursor<'_>, count: usize) -> Result<Vec<Reference>, ManifestError> {
    if count > REFERENCES_MAX {
        let (found, expected) = (count as u64, REFERENCES_MAX as u64);
        return Err(ManifestError::Count { what: "references", found, expected });
    }
    let each = |r: &[u8]| Reference {
        entry: EntryId(u32_at(r, 0)),
        generation: Generation(u32_at(r, 4)),
        partitions: u32_at(r, 8),
        chunks: u32_at(r, 12),
        rows: u64_at(r, 16),
        length: u64_at(r, 24),
        checksum: u64_at(r, 32),
    };
    Ok(cursor.take(count, REFERENCE)?.chunks_exact(REFERENCE).map(each).collect())
}
