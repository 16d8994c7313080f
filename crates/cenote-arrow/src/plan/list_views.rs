//! List views: keep the range of the child they reach, or gather what is used.
//!
//! A list view's rows may lie in its child in any order, with gaps and overlaps. The child
//! is trimmed to the range from the first element in use to the last. Where the rows add up
//! to less than half of that range they are gathered into a new child, in row order, as
//! `views` does with strings.

use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;

use super::shape::{Child, Shape, slice};
use super::{PlanError, malformed};
use crate::segment::{Source, integer};

/// The shape of rows `at .. at + len` (counted from the start of the buffers).
pub(super) fn of(
    data: &ArrayData,
    width: usize,
    at: usize,
    len: usize,
) -> Result<Shape<'_>, PlanError> {
    let child = data.child_data().first().ok_or_else(|| malformed(data, "children: too few"))?;
    let offsets = slice(data, 0, width, at, len)?;
    let sizes = slice(data, 1, width, at, len)?;
    let (mut first, mut last, mut used) = (i64::MAX, 0, 0i64);
    for row in 0..len {
        let size = integer(&sizes, width, row);
        if size != 0 {
            let offset = integer(&offsets, width, row);
            let end = offset.checked_add(size).filter(|_| offset >= 0 && size > 0);
            last = last.max(end.ok_or_else(|| malformed(data, "list views: negative"))?);
            first = first.min(offset);
            used = used.saturating_add(size);
        }
    }
    let base = first.min(last);
    let (Ok(start), Ok(end)) = (usize::try_from(base), usize::try_from(last)) else {
        return Err(malformed(data, "list views: out of range"));
    };
    if end > child.len() {
        return Err(malformed(data, "list views: out of range"));
    }
    if used.saturating_mul(2) < last - base {
        return gather(data, child, width, &offsets, sizes);
    }
    let offsets = Source::ViewOffsets { width, offsets, sizes: sizes.clone(), base };
    Ok(Shape {
        buffers: vec![offsets, Source::Bytes(sizes)],
        children: vec![Child::Rows { data: child, start, len: end - start }],
    })
}

/// Copies the rows one after the other. They are within the child and take less than half
/// of it, so the new offsets fit where the old ones did.
fn gather<'a>(
    data: &'a ArrayData,
    child: &'a ArrayData,
    width: usize,
    offsets: &[u8],
    sizes: Buffer,
) -> Result<Shape<'a>, PlanError> {
    let mut gathered = MutableArrayData::new(vec![child], false, 0);
    let mut moved = Vec::with_capacity(offsets.len());
    let mut end = 0i64;
    for row in 0..sizes.len() / width {
        let (offset, size) = (integer(offsets, width, row), integer(&sizes, width, row));
        moved.extend_from_slice(&if size == 0 { 0 } else { end }.to_le_bytes()[..width]);
        if size != 0 {
            end += size;
            let from = usize::try_from(offset);
            let to = usize::try_from(offset + size);
            let copied = from.ok().zip(to.ok()).map(|(from, to)| gathered.try_extend(0, from, to));
            if !matches!(copied, Some(Ok(()))) {
                return Err(malformed(data, "list views: rows that cannot be gathered"));
            }
        }
    }
    Ok(Shape {
        buffers: vec![Source::Bytes(Buffer::from(moved)), Source::Bytes(sizes)],
        children: vec![Child::Gathered { data: gathered.freeze() }],
    })
}
