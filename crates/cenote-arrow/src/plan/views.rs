//! String and binary views: keep their buffers, or gather what is used.
//!
//! A view of more than 12 bytes points into one of the array's data buffers, which slicing
//! and filtering leave whole. Where the planned views use less than half of those bytes,
//! the used ones are gathered into new buffers, so that a slice does not carry its parent
//! into the pool: never more than twice the bytes in use are stored. The copy is made while
//! planning; only `list_views` does the same.

use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;

use super::{PlanError, malformed, shape};
use crate::segment::Source;

/// Bytes of one view: length, then the value itself or prefix, buffer index and offset.
const VIEW_BYTES: usize = 16;

/// The longest value that lies in its view.
const MAX_INLINE_BYTES: usize = 12;

/// Most data buffers that are kept as they are; more are gathered.
const MAX_KEPT_BUFFERS: usize = 1 << 12;

/// The longest gathered buffer: view offsets are signed 32-bit numbers.
const MAX_GATHERED_BYTES: usize = i32::MAX as usize;

/// The views of rows `at .. at + len`, then the data buffers.
pub(super) fn of(
    data: &ArrayData,
    at: usize,
    len: usize,
    nulls: Option<&NullBuffer>,
) -> Result<Vec<Source>, PlanError> {
    let views = shape::slice(data, 0, VIEW_BYTES, at, len)?;
    let kept = &data.buffers()[1..];
    let held = kept.iter().map(Buffer::len).fold(0usize, usize::saturating_add);
    if held == 0 {
        return Ok(vec![Source::Bytes(views)]);
    }
    let used = rows(&views, nulls)
        .filter_map(|(view, valid)| long(view).filter(|_| valid))
        .fold(0usize, |sum, long| sum.saturating_add(long.len));
    if used.saturating_mul(2) >= held && kept.len() <= MAX_KEPT_BUFFERS {
        return Ok(std::iter::once(views).chain(kept.iter().cloned()).map(Source::Bytes).collect());
    }
    gather(data, &views, nulls, kept)
}

/// Copies the long values in use, in row order, and points the views at the copies. The
/// views of nulls become zero.
fn gather(
    data: &ArrayData,
    views: &[u8],
    nulls: Option<&NullBuffer>,
    kept: &[Buffer],
) -> Result<Vec<Source>, PlanError> {
    let bad = || malformed(data, "views: out of range");
    let mut out = Vec::with_capacity(views.len());
    let mut gathered: Vec<Vec<u8>> = Vec::new();
    for (view, valid) in rows(views, nulls) {
        match long(view) {
            _ if !valid => out.extend_from_slice(&[0; VIEW_BYTES]),
            None => out.extend_from_slice(view),
            Some(Long { len, buffer, offset }) => {
                let buffer = kept.get(buffer).ok_or_else(bad)?;
                let end = offset.checked_add(len).ok_or_else(bad)?;
                let value = buffer.get(offset..end).ok_or_else(bad)?;
                if gathered.last().is_none_or(|last| last.len() + len > MAX_GATHERED_BYTES) {
                    gathered.push(Vec::new());
                }
                let index = u32::try_from(gathered.len() - 1).map_err(|_| bad())?;
                let last = gathered.last_mut().ok_or_else(bad)?;
                let offset = u32::try_from(last.len()).map_err(|_| bad())?;
                last.extend_from_slice(value);
                out.extend_from_slice(&view[..8]);
                out.extend_from_slice(&index.to_le_bytes());
                out.extend_from_slice(&offset.to_le_bytes());
            }
        }
    }
    let buffers = std::iter::once(out).chain(gathered);
    Ok(buffers.map(|bytes| Source::Bytes(Buffer::from(bytes))).collect())
}

/// Each view and whether its row is valid.
fn rows<'a>(
    views: &'a [u8],
    nulls: Option<&'a NullBuffer>,
) -> impl Iterator<Item = (&'a [u8], bool)> {
    let views = views.chunks_exact(VIEW_BYTES).enumerate();
    views.map(move |(row, view)| (view, nulls.is_none_or(|nulls| nulls.is_valid(row))))
}

/// Where the value of a view lies that is too long for the view.
struct Long {
    len: usize,
    buffer: usize,
    offset: usize,
}

fn long(view: &[u8]) -> Option<Long> {
    let word = |at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&view[at..at + 4]);
        usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX)
    };
    let len = word(0);
    (len > MAX_INLINE_BYTES).then(|| Long { len, buffer: word(8), offset: word(12) })
}
