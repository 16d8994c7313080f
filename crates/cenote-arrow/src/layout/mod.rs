//! Layouts: a chunk's bytes seen as an Arrow array.
//!
//! A [`ColumnLayout`] is checked when it is decoded, against the type, the rows and the
//! chunk's length, without touching the chunk: every buffer in bounds, on a line, and just
//! as long as type and rows require. Decoding is total: any bytes give a layout or an
//! error, in time and memory linear in their length. Callers keep the decoded layout, so
//! that a later read only builds arrays.

mod build;
pub(crate) mod encoding;
mod error;
mod flat;

use arrow_schema::DataType;

use crate::physical::Physical;
use crate::{ALIGNMENT, MAX_BUFFERS, MAX_DEPTH, MAX_LENGTH, MAX_NODES};
use encoding::{HAS_VALIDITY, Reader, VERSION};
pub use error::{ContentError, LayoutError};
pub use flat::{FLAT_BUFFERS_MAX, Flat};

/// A column's layout, checked against its type, rows and chunk length.
#[derive(Debug, Clone)]
pub struct ColumnLayout {
    root: Node,
    chunk_len: usize,
    nbytes: u64,
}

/// One array: the column or a descendant.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    data_type: DataType,
    len: usize,
    null_count: usize,
    validity: Option<Extent>,
    buffers: Vec<Extent>,
    children: Vec<Node>,
}

/// A buffer's place: within the chunk, `offset` a multiple of [`ALIGNMENT`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    offset: usize,
    len: usize,
}

impl ColumnLayout {
    /// Decodes a layout of `rows` rows of `data_type` in a chunk of `chunk_len` bytes.
    ///
    /// Cost: about 100 ns a node.
    /// # Errors
    /// See [`LayoutError`].
    pub fn decode(
        bytes: &[u8],
        data_type: &DataType,
        rows: u64,
        chunk_len: u64,
    ) -> Result<Self, LayoutError> {
        let mut decoder = Decoder {
            reader: Reader::new(bytes),
            chunk_len,
            nodes: 0,
            buffers: 0,
            end: 0,
            nbytes: 0,
        };
        match decoder.reader.byte()? {
            VERSION => {}
            version => return Err(LayoutError::UnknownVersion { version }),
        }
        let root = decoder.node(data_type, Some(rows), 1)?;
        match decoder.reader.remaining() {
            // Every extent fits in memory since `decoder` converted it; the chunk is as
            // long as its last extent at least.
            0 => Ok(Self {
                root,
                chunk_len: usize::try_from(chunk_len).unwrap_or(usize::MAX),
                nbytes: decoder.nbytes,
            }),
            extra => Err(LayoutError::TrailingBytes { extra }),
        }
    }

    /// The column's type.
    pub fn data_type(&self) -> &DataType {
        &self.root.data_type
    }

    /// Rows of the column.
    pub fn rows(&self) -> u64 {
        self.root.len as u64
    }

    /// Nulls in the column's own bitmap; 0 for types that have none.
    pub fn null_count(&self) -> u64 {
        self.root.null_count as u64
    }

    /// Bytes of all buffers, without padding.
    pub fn nbytes(&self) -> u64 {
        self.nbytes
    }

    /// Bytes of the chunk that this layout was checked against.
    pub fn chunk_len(&self) -> usize {
        self.chunk_len
    }
}

struct Decoder<'a> {
    reader: Reader<'a>,
    chunk_len: u64,
    nodes: usize,
    buffers: usize,
    /// End of the last buffer.
    end: u64,
    nbytes: u64,
}

impl Decoder<'_> {
    fn node(
        &mut self,
        data_type: &DataType,
        rows: Option<u64>,
        depth: usize,
    ) -> Result<Node, LayoutError> {
        if depth > MAX_DEPTH {
            return Err(LayoutError::TooDeep);
        }
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(LayoutError::TooManyNodes);
        }
        let physical = Physical::of(data_type)?;
        let length = self.reader.varint()?;
        if length > MAX_LENGTH {
            return Err(LayoutError::TooLong { length });
        }
        if let Some(expected) = rows.filter(|&rows| rows != length) {
            let data_type = data_type.clone();
            return Err(LayoutError::WrongLength { data_type, expected, found: length });
        }
        let len = usize::try_from(length).map_err(|_| LayoutError::TooLong { length })?;
        let (null_count, has_validity) = self.nulls(physical, data_type, length)?;
        let count = self.buffer_count(physical, data_type)?;
        let validity =
            if has_validity { Some(self.exact(data_type, 0, length.div_ceil(8))?) } else { None };
        let mut buffers = Vec::with_capacity(count);
        for index in 0..count {
            buffers.push(match expected_bytes(physical, length, index) {
                Some(expected) => self.exact(data_type, index, expected)?,
                None => self.extent()?,
            });
        }
        let children = self.children(physical, data_type, length, depth)?;
        let data_type = data_type.clone();
        Ok(Node { data_type, len, null_count, validity, buffers, children })
    }

    fn nulls(
        &mut self,
        physical: Physical<'_>,
        data_type: &DataType,
        length: u64,
    ) -> Result<(usize, bool), LayoutError> {
        let null_count = self.reader.varint()?;
        let flags = self.reader.byte()?;
        let has_validity = flags == HAS_VALIDITY;
        if flags & !HAS_VALIDITY != 0 || (has_validity && !physical.has_validity()) {
            return Err(LayoutError::BadFlags { flags, data_type: data_type.clone() });
        }
        let bad = LayoutError::BadNullCount { null_count, length };
        if null_count > length || has_validity != (null_count > 0) {
            return Err(bad);
        }
        Ok((usize::try_from(null_count).map_err(|_| bad)?, has_validity))
    }

    fn buffer_count(
        &mut self,
        physical: Physical<'_>,
        data_type: &DataType,
    ) -> Result<usize, LayoutError> {
        let found = self.reader.varint()?;
        let expected = physical.buffer_count();
        let variadic = matches!(physical, Physical::Views);
        if found < expected as u64 || (found > expected as u64 && !variadic) {
            let data_type = data_type.clone();
            return Err(LayoutError::WrongBufferCount { data_type, expected, found });
        }
        // A buffer takes two bytes at least: what cannot follow is not allocated for.
        let count = usize::try_from(found).unwrap_or(usize::MAX);
        if count > self.reader.remaining() / 2 {
            return Err(LayoutError::Truncated { at: self.reader.position() });
        }
        Ok(count)
    }

    fn children(
        &mut self,
        physical: Physical<'_>,
        data_type: &DataType,
        length: u64,
        depth: usize,
    ) -> Result<Vec<Node>, LayoutError> {
        let types = physical.children();
        let found = self.reader.varint()?;
        if found != types.len() as u64 {
            let (data_type, expected) = (data_type.clone(), types.len());
            return Err(LayoutError::WrongChildCount { data_type, expected, found });
        }
        let mut rows = match physical {
            Physical::Struct { .. } | Physical::SparseUnion { .. } => Some(length),
            // Both factors are bounded: MAX_LENGTH and 31 bits may pass 64.
            Physical::FixedSizeList { size, .. } => Some(
                length.checked_mul(size as u64).ok_or(LayoutError::TooLong { length: u64::MAX })?,
            ),
            _ => None,
        };
        let mut children = Vec::with_capacity(types.len().min(self.reader.remaining()));
        for child in types {
            let node = self.node(child, rows, depth + 1)?;
            if matches!(physical, Physical::RunEnds { .. }) && children.is_empty() {
                let runs = node.len as u64;
                if runs > length || (length > 0 && runs == 0) {
                    let (data_type, expected) = (child.clone(), length);
                    return Err(LayoutError::WrongLength { data_type, expected, found: runs });
                }
                if node.validity.is_some() {
                    let data_type = child.clone();
                    return Err(LayoutError::BadFlags { flags: HAS_VALIDITY, data_type });
                }
                rows = Some(runs);
            }
            children.push(node);
        }
        Ok(children)
    }

    fn exact(
        &mut self,
        data_type: &DataType,
        index: usize,
        expected: u64,
    ) -> Result<Extent, LayoutError> {
        let extent = self.extent()?;
        let found = extent.len as u64;
        if found != expected {
            let data_type = data_type.clone();
            return Err(LayoutError::WrongBufferLength { data_type, index, expected, found });
        }
        Ok(extent)
    }

    fn extent(&mut self) -> Result<Extent, LayoutError> {
        self.buffers += 1;
        if self.buffers > MAX_BUFFERS {
            return Err(LayoutError::TooManyBuffers);
        }
        let line = self.reader.varint()?;
        let length = self.reader.varint()?;
        let chunk_len = self.chunk_len;
        let out_of_bounds = || LayoutError::OutOfBounds { line, length, chunk_len };
        let start = line.checked_mul(ALIGNMENT).ok_or_else(out_of_bounds)?;
        let end = start.checked_add(length).ok_or_else(out_of_bounds)?;
        if start < self.end {
            return Err(LayoutError::Overlap { line });
        }
        if end > chunk_len {
            return Err(out_of_bounds());
        }
        self.end = end;
        self.nbytes += length;
        Ok(Extent {
            offset: usize::try_from(start).map_err(|_| out_of_bounds())?,
            len: usize::try_from(length).map_err(|_| out_of_bounds())?,
        })
    }
}

/// The bytes of a buffer after validity, where type and rows fix them. Rows are bounded by
/// `MAX_LENGTH`; only a fixed width of 31 bits can overflow, and saturating refuses it.
fn expected_bytes(physical: Physical<'_>, length: u64, index: usize) -> Option<u64> {
    let elements = |count: u64, width: usize| Some(count.saturating_mul(width as u64));
    match (physical, index) {
        (Physical::Fixed { width }, _) => elements(length, width),
        (Physical::Bits, _) => Some(length.div_ceil(8)),
        (Physical::Bytes { offset_width } | Physical::List { offset_width, .. }, 0) => {
            elements(length + 1, offset_width)
        }
        (Physical::Views, 0) => elements(length, 16),
        (Physical::ListView { offset_width, .. }, _) => elements(length, offset_width),
        (Physical::SparseUnion { .. } | Physical::DenseUnion { .. }, 0) => Some(length),
        (Physical::DenseUnion { .. }, _) => elements(length, 4),
        (Physical::Dictionary { key_width, .. }, _) => elements(length, key_width),
        _ => None,
    }
}
