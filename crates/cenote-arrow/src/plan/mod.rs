//! Plans: which bytes of an array go where inside a chunk.
//!
//! Planning reads an array's offsets at their ends, its views and its union offsets, never
//! its values, and copies nothing (but for sparse views: see `views` and `list_views`). The array is walked depth first;
//! each node's buffers are placed before its children's, in the Arrow format's order, and
//! the layout is encoded on the way.
//!
//! Only the rows asked for are planned: bitmaps are shifted to bit 0, offsets rebased to 0
//! and what they point into is trimmed. A dictionary's values are kept whole.

mod list_views;
mod shape;
mod views;

use arrow_array::Array;
use arrow_data::ArrayData;
use arrow_schema::DataType;

use crate::layout::encoding::{put_header, put_varint};
use crate::physical::{Physical, UnsupportedType};
use crate::segment::{Segment, Source};
use crate::{ALIGNMENT, MAX_BUFFERS, MAX_DEPTH, MAX_LENGTH, MAX_NODES};
use shape::{Child, Shape};

/// Why an array cannot be planned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The column would not start on a line.
    #[error("base {base} is not a multiple of {ALIGNMENT}")]
    Misaligned {
        /// The base that was asked for.
        base: u64,
    },
    /// A type that chunks do not hold.
    #[error(transparent)]
    Unsupported(#[from] UnsupportedType),
    /// More nesting than [`MAX_DEPTH`].
    #[error("the array nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// More arrays than [`MAX_NODES`].
    #[error("the array has more than {MAX_NODES} descendants")]
    TooManyNodes,
    /// More buffers than [`MAX_BUFFERS`].
    #[error("the array has more than {MAX_BUFFERS} buffers")]
    TooManyBuffers,
    /// More rows than [`MAX_LENGTH`].
    #[error("an array of {length} rows exceeds {MAX_LENGTH} rows")]
    TooLong {
        /// Rows of the array or descendant.
        length: usize,
    },
    /// The column's end is past what 64 bits count.
    #[error("the column's end does not fit in 64 bits")]
    TooLarge,
    /// The array breaks Arrow's rules, so its bytes cannot be taken.
    #[error("the {data_type} array is malformed: bad {part}")]
    Malformed {
        /// Type of the array or descendant.
        data_type: DataType,
        /// What is wrong: offsets out of order or out of bounds, a short buffer, …
        part: &'static str,
    },
}

/// One column's place in a chunk: its segments and its encoded layout.
///
/// Holds references to the array's buffers, so the array itself may be dropped.
#[derive(Debug, Clone)]
pub struct ColumnPlan {
    base: u64,
    end: u64,
    rows: usize,
    null_count: usize,
    realigned: usize,
    layout: Vec<u8>,
    segments: Vec<Segment>,
}

impl ColumnPlan {
    /// Plans `array` at `base`, a multiple of 64 counted from the start of the chunk.
    ///
    /// Cost: a few hundred nanoseconds and one reference count per buffer, and a count of
    /// the bits of sliced bitmaps; a pass over views and union offsets where there are any.
    /// # Errors
    /// See [`PlanError`]; valid arrays fail only by type or by a bound.
    pub fn new(array: &dyn Array, base: u64) -> Result<Self, PlanError> {
        Self::from_data(&array.to_data(), base)
    }

    /// [`Self::new`] of the array's data.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn from_data(data: &ArrayData, base: u64) -> Result<Self, PlanError> {
        if !base.is_multiple_of(ALIGNMENT) {
            return Err(PlanError::Misaligned { base });
        }
        let mut planner = Planner {
            cursor: base,
            nodes: 0,
            buffers: 0,
            realigned: 0,
            layout: vec![crate::layout::encoding::VERSION],
            segments: Vec::new(),
        };
        let null_count = planner.node(data, 0, data.len(), 1)?;
        let Planner { cursor: end, realigned, layout, segments, .. } = planner;
        Ok(Self { base, end, rows: data.len(), null_count, realigned, layout, segments })
    }

    /// Where the column starts, counted from the start of the chunk.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The first byte after the column and its padding; a multiple of 64.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Rows of the column.
    pub fn rows(&self) -> u64 {
        self.rows as u64
    }

    /// Nulls in the column's own validity bitmap. As in the layout: 0 for types without
    /// one (null, unions, run-end encoded).
    pub fn null_count(&self) -> u64 {
        self.null_count as u64
    }

    /// Buffers that are not copied as they are: bitmaps that start within a byte, offsets that
    /// do not start at zero.
    pub fn realigned(&self) -> u64 {
        self.realigned as u64
    }

    /// The encoded layout, for [`ColumnLayout::decode`](crate::ColumnLayout::decode).
    pub fn layout(&self) -> &[u8] {
        &self.layout
    }

    /// What to write, ordered by offset, without overlap. Bytes of `base .. end` in no
    /// segment are padding, fewer than 64 in a run, and must be written as zeros.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Writes the whole column, padding included: `out` is the chunk's `base .. end`.
    ///
    /// # Panics
    /// If `out` is not that long.
    pub fn fill(&self, out: &mut [u8]) {
        assert_eq!(out.len() as u64, self.end - self.base, "not the column's length");
        let mut done = 0;
        for segment in &self.segments {
            // Below out.len(), so it fits.
            let start = usize::try_from(segment.offset() - self.base).unwrap_or(usize::MAX);
            out[done..start].fill(0);
            done = start + segment.len();
            segment.fill(0, &mut out[start..done]);
        }
        out[done..].fill(0);
    }
}

/// The state of one walk.
struct Planner {
    cursor: u64,
    nodes: usize,
    buffers: usize,
    realigned: usize,
    layout: Vec<u8>,
    segments: Vec<Segment>,
}

impl Planner {
    /// Plans rows `start .. start + len` of `data` and what they need of its children.
    /// Returns the null count.
    fn node(
        &mut self,
        data: &ArrayData,
        start: usize,
        len: usize,
        depth: usize,
    ) -> Result<usize, PlanError> {
        let physical = Physical::of(data.data_type())?;
        if start.checked_add(len).is_none_or(|end| end > data.len()) {
            return Err(malformed(data, "length: shorter than its parent needs"));
        }
        let nulls = data
            .nulls()
            .filter(|_| physical.has_validity())
            .map(|nulls| if len == data.len() { nulls.clone() } else { nulls.slice(start, len) })
            .filter(|nulls| nulls.null_count() > 0);
        let Shape { buffers, children } = shape::of(data, physical, start, len, nulls.as_ref())?;
        let (validity, null_count) = match &nulls {
            None => (None, 0),
            Some(nulls) => {
                let bits = Source::bits(nulls.buffer(), nulls.offset(), len);
                let bits = bits.ok_or_else(|| malformed(data, "validity: too short"))?;
                (Some(bits), nulls.null_count())
            }
        };
        self.emit(len, null_count, validity, buffers, depth)?;
        put_varint(&mut self.layout, children.len() as u64);
        for child in children {
            match child {
                Child::Rows { data, start, len } => {
                    self.node(data, start, len, depth + 1)?;
                }
                Child::Gathered { data } => {
                    self.node(&data, 0, data.len(), depth + 1)?;
                }
                Child::RunEnds { runs, ends } => {
                    self.emit(runs, 0, None, vec![ends], depth + 1)?;
                    put_varint(&mut self.layout, 0);
                }
            }
        }
        Ok(null_count)
    }

    /// Encodes a node up to its child count and places its buffers.
    fn emit(
        &mut self,
        len: usize,
        null_count: usize,
        validity: Option<Source>,
        buffers: Vec<Source>,
        depth: usize,
    ) -> Result<(), PlanError> {
        self.nodes += 1;
        self.buffers += buffers.len() + usize::from(validity.is_some());
        if len as u64 > MAX_LENGTH {
            return Err(PlanError::TooLong { length: len });
        }
        if depth > MAX_DEPTH {
            return Err(PlanError::TooDeep);
        }
        if self.nodes > MAX_NODES {
            return Err(PlanError::TooManyNodes);
        }
        if self.buffers > MAX_BUFFERS {
            return Err(PlanError::TooManyBuffers);
        }
        put_header(&mut self.layout, len as u64, null_count as u64, validity.is_some());
        put_varint(&mut self.layout, buffers.len() as u64);
        for source in validity.into_iter().chain(buffers) {
            put_varint(&mut self.layout, self.cursor / ALIGNMENT);
            put_varint(&mut self.layout, source.len() as u64);
            let end = self.cursor.checked_add(source.len() as u64);
            let end = end.and_then(|end| end.checked_next_multiple_of(ALIGNMENT));
            let end = end.ok_or(PlanError::TooLarge)?;
            if source.len() > 0 {
                self.realigned += usize::from(source.is_computed());
                self.segments.push(Segment::new(self.cursor, source));
            }
            self.cursor = end;
        }
        Ok(())
    }
}

pub(crate) fn malformed(data: &ArrayData, part: &'static str) -> PlanError {
    PlanError::Malformed { data_type: data.data_type().clone(), part }
}
