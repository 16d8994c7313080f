//! What one node of an array brings: its buffers after validity, and its children's rows.

use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::UnionFields;

use super::{PlanError, list_views, malformed, views};
use crate::physical::Physical;
use crate::segment::{Source, integer};

/// The parts of a node.
#[derive(Debug, Default)]
pub(super) struct Shape<'a> {
    pub(super) buffers: Vec<Source>,
    pub(super) children: Vec<Child<'a>>,
}

/// A child of a node.
#[derive(Debug)]
pub(super) enum Child<'a> {
    /// Rows of an array.
    Rows { data: &'a ArrayData, start: usize, len: usize },
    /// Rows that had to be gathered into an array of their own.
    Gathered { data: ArrayData },
    /// The run ends of a run-end encoded array, cut to the rows planned.
    RunEnds { runs: usize, ends: Source },
}

/// The shape of rows `start .. start + len` (within `data.len()`). `nulls` are those
/// rows' nulls, where there are any.
pub(super) fn of<'a>(
    data: &'a ArrayData,
    physical: Physical<'a>,
    start: usize,
    len: usize,
    nulls: Option<&NullBuffer>,
) -> Result<Shape<'a>, PlanError> {
    let at = data.offset().checked_add(start).ok_or_else(|| malformed(data, "offset"))?;
    let child = |index: usize, start, len| match data.child_data().get(index) {
        Some(data) => Ok(Child::Rows { data, start, len }),
        None => Err(malformed(data, "children: too few")),
    };
    match physical {
        Physical::Null => Ok(Shape::default()),
        Physical::Fixed { width } => Ok(leaf(vec![elements(data, 0, width, at, len)?])),
        Physical::Bits => {
            let bits = Source::bits(raw(data, 0)?, at, len);
            Ok(leaf(vec![bits.ok_or_else(|| malformed(data, "values: too short"))?]))
        }
        Physical::Bytes { offset_width } => {
            let (offsets, first, count) = rebased(data, offset_width, at, len)?;
            let values = elements(data, 1, 1, first, count)?;
            Ok(leaf(vec![offsets, values]))
        }
        Physical::Views => Ok(leaf(views::of(data, at, len, nulls)?)),
        Physical::List { offset_width, .. } => {
            let (offsets, first, count) = rebased(data, offset_width, at, len)?;
            Ok(Shape { buffers: vec![offsets], children: vec![child(0, first, count)?] })
        }
        Physical::ListView { offset_width, .. } => list_views::of(data, offset_width, at, len),
        Physical::FixedSizeList { size, .. } => {
            let scaled = |n: usize| n.checked_mul(size).ok_or(PlanError::TooLong { length: n });
            Ok(Shape { buffers: vec![], children: vec![child(0, scaled(at)?, scaled(len)?)?] })
        }
        Physical::Struct { fields } => {
            let children =
                (0..fields.len()).map(|i| child(i, at, len)).collect::<Result<_, _>>()?;
            Ok(Shape { buffers: vec![], children })
        }
        Physical::SparseUnion { fields } => {
            let children =
                (0..fields.len()).map(|i| child(i, at, len)).collect::<Result<_, _>>()?;
            Ok(Shape { buffers: vec![elements(data, 0, 1, at, len)?], children })
        }
        Physical::DenseUnion { fields } => {
            let (buffers, ranges) = dense_union(data, fields, at, len)?;
            let children = ranges.into_iter().enumerate();
            let children = children.map(|(i, (first, count))| child(i, first, count));
            Ok(Shape { buffers, children: children.collect::<Result<_, _>>()? })
        }
        Physical::Dictionary { key_width, .. } => {
            let values = data.child_data().first().map_or(0, ArrayData::len);
            let keys = elements(data, 0, key_width, at, len)?;
            Ok(Shape { buffers: vec![keys], children: vec![child(0, 0, values)?] })
        }
        Physical::RunEnds { end_width, .. } => {
            let (first, runs, ends) = run_ends(data, end_width, at, len)?;
            let children = vec![Child::RunEnds { runs, ends }, child(1, first, runs)?];
            Ok(Shape { buffers: vec![], children })
        }
    }
}

fn leaf(buffers: Vec<Source>) -> Shape<'static> {
    Shape { buffers, children: vec![] }
}

fn raw(data: &ArrayData, index: usize) -> Result<&Buffer, PlanError> {
    data.buffers().get(index).ok_or_else(|| malformed(data, "buffers: too few"))
}

/// Elements `at .. at + len` of a buffer of elements of `width` bytes.
pub(super) fn slice(
    data: &ArrayData,
    index: usize,
    width: usize,
    at: usize,
    len: usize,
) -> Result<Buffer, PlanError> {
    let buffer = raw(data, index)?;
    let first = at.checked_mul(width);
    let bytes = len.checked_mul(width);
    match (first, bytes) {
        (Some(first), Some(bytes)) if first <= buffer.len() && bytes <= buffer.len() - first => {
            Ok(buffer.slice_with_length(first, bytes))
        }
        // Arrays without rows may come without bytes, whatever their offset.
        _ if len == 0 => Ok(Buffer::from(Vec::<u8>::new())),
        _ => Err(malformed(data, "buffer: too short")),
    }
}

fn elements(
    data: &ArrayData,
    index: usize,
    width: usize,
    at: usize,
    len: usize,
) -> Result<Source, PlanError> {
    slice(data, index, width, at, len).map(Source::Bytes)
}

/// Offsets of rows `at .. at + len` rebased to zero, and the first and the number of the
/// elements they span.
fn rebased(
    data: &ArrayData,
    width: usize,
    at: usize,
    len: usize,
) -> Result<(Source, usize, usize), PlanError> {
    if len == 0 {
        // Arrow allows an empty array to have no offset; a chunk always has the first.
        return Ok((Source::Bytes(Buffer::from(vec![0u8; width])), 0, 0));
    }
    let offsets = slice(data, 0, width, at, len + 1)?;
    let (base, end) = (integer(&offsets, width, 0), integer(&offsets, width, len));
    let (Ok(first), Ok(last)) = (usize::try_from(base), usize::try_from(end)) else {
        return Err(malformed(data, "offsets: negative"));
    };
    let count = last.checked_sub(first).ok_or_else(|| malformed(data, "offsets: falling"))?;
    let source =
        if base == 0 { Source::Bytes(offsets) } else { Source::Offsets { width, offsets, base } };
    Ok((source, first, count))
}

type Range = (usize, usize);

/// Type ids and offsets of a dense union, and the range of each child they reach.
fn dense_union(
    data: &ArrayData,
    fields: &UnionFields,
    at: usize,
    len: usize,
) -> Result<(Vec<Source>, Vec<Range>), PlanError> {
    let ids = slice(data, 0, 1, at, len)?;
    let offsets = slice(data, 1, 4, at, len)?;
    let mut bases = Box::new([i64::MAX; 128]);
    let mut ends = [0; 128];
    for (row, &id) in ids.iter().enumerate() {
        let offset = integer(&offsets, 4, row);
        if id > 127 || offset < 0 {
            return Err(malformed(data, "type ids or offsets: negative"));
        }
        let id = usize::from(id);
        bases[id] = bases[id].min(offset);
        ends[id] = ends[id].max(offset + 1);
    }
    let mut ranges = Vec::with_capacity(fields.len());
    for (id, _) in fields.iter() {
        let id = usize::try_from(id).map_err(|_| malformed(data, "type ids: negative"))?;
        bases[id] = bases[id].min(ends[id]);
        let first = usize::try_from(bases[id]).unwrap_or(usize::MAX);
        ranges.push((first, usize::try_from(ends[id] - bases[id]).unwrap_or(usize::MAX)));
        ends[id] = 0;
    }
    if ends.iter().any(|&end| end != 0) {
        return Err(malformed(data, "type ids: not in the type"));
    }
    let offsets = Source::UnionOffsets { ids: ids.clone(), offsets, bases };
    Ok((vec![Source::Bytes(ids), offsets], ranges))
}

/// The runs that rows `at .. at + len` touch: the first, how many, and their ends.
fn run_ends(
    data: &ArrayData,
    width: usize,
    at: usize,
    len: usize,
) -> Result<(usize, usize, Source), PlanError> {
    let child = data.child_data().first().ok_or_else(|| malformed(data, "children: too few"))?;
    let ends = slice(child, 0, width, child.offset(), child.len())?;
    let bad = || malformed(data, "run ends: they do not cover the rows");
    let (base, rows) = (i64::try_from(at).map_err(|_| bad())?, len);
    let cap = i64::try_from(rows).map_err(|_| bad())?;
    let stop = base.checked_add(cap).ok_or_else(bad)?;
    if rows == 0 {
        return Ok((0, 0, Source::Bytes(ends.slice_with_length(0, 0))));
    }
    let first = first_above(&ends, width, child.len(), base);
    let last = first_above(&ends, width, child.len(), stop - 1);
    if last >= child.len() || last < first {
        return Err(bad());
    }
    let runs = last - first + 1;
    let ends = ends.slice_with_length(first * width, runs * width);
    let source = if base == 0 && integer(&ends, width, runs - 1) == cap {
        Source::Bytes(ends)
    } else {
        Source::RunEnds { width, ends, base, cap }
    };
    Ok((first, runs, source))
}

/// Index of the first of `count` rising integers above `value`.
fn first_above(ends: &[u8], width: usize, count: usize, value: i64) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if integer(ends, width, middle) > value {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
