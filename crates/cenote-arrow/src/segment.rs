//! Segments: where the bytes of a planned column come from.
//!
//! Most buffers are copied as they are. A slice's bitmaps must be shifted and its offsets
//! rebased: those are computed while they are written, in any order and in pieces of any
//! size, so that a writer streams through one small staging buffer and allocates nothing.

use arrow_buffer::Buffer;

/// A run of bytes of a planned column: one Arrow buffer in its chunk.
#[derive(Debug, Clone)]
pub struct Segment {
    offset: u64,
    len: usize,
    source: Source,
}

impl Segment {
    pub(crate) fn new(offset: u64, source: Source) -> Self {
        Self { offset, len: source.len(), source }
    }

    /// Where the first byte goes, counted from the start of the chunk; a multiple of 64.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Number of bytes; never zero.
    #[expect(clippy::len_without_is_empty, reason = "empty buffers have no segment")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The bytes, where they are copied as they are; else `None`, and [`Self::fill`]
    /// computes them.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match &self.source {
            Source::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Writes the segment's bytes `at .. at + out.len()` to `out`.
    ///
    /// Cost: a copy for plain bytes, about a nanosecond an element for computed ones.
    /// # Panics
    /// If the range passes the segment's end.
    pub fn fill(&self, at: u64, out: &mut [u8]) {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        assert!(
            at <= self.len && out.len() <= self.len - at,
            "range of {} bytes at {at} passes the end of a segment of {} bytes",
            out.len(),
            self.len
        );
        self.source.fill(at, out);
    }
}

/// What a segment's bytes are made from. All slices are trimmed to the rows they serve.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// Copied as they are.
    Bytes(Buffer),
    /// `bits` bits of `bytes` from bit `shift` on; what follows in the last byte is zero.
    Bits { bytes: Buffer, shift: usize, bits: usize },
    /// Each offset less `base`.
    Offsets { width: usize, offsets: Buffer, base: i64 },
    /// List view offsets: less `base`, or zero where the size is zero (an empty view may
    /// point anywhere).
    ViewOffsets { width: usize, offsets: Buffer, sizes: Buffer, base: i64 },
    /// Dense union offsets: less the base of the row's type id.
    UnionOffsets { ids: Buffer, offsets: Buffer, bases: Box<[i64; 128]> },
    /// Run ends less `base`, at most `cap`.
    RunEnds { width: usize, ends: Buffer, base: i64, cap: i64 },
}

impl Source {
    /// `bits` bits of `bytes` from bit `offset` on.
    pub(crate) fn bits(bytes: &Buffer, offset: usize, bits: usize) -> Option<Self> {
        let end = offset.checked_add(bits)?.div_ceil(8);
        let first = offset / 8;
        let bytes = (end <= bytes.len()).then(|| bytes.slice_with_length(first, end - first))?;
        let shift = offset % 8;
        Some(if shift == 0 && bits.is_multiple_of(8) {
            Self::Bytes(bytes)
        } else {
            Self::Bits { bytes, shift, bits }
        })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Bits { bits, .. } => bits.div_ceil(8),
            Self::Offsets { offsets, .. }
            | Self::ViewOffsets { offsets, .. }
            | Self::UnionOffsets { offsets, .. } => offsets.len(),
            Self::RunEnds { ends, .. } => ends.len(),
        }
    }

    /// Whether the bytes are others than the array's. A bitmap that only ends within a byte
    /// has its last bits cleared, but stands where it stood.
    pub(crate) fn is_computed(&self) -> bool {
        !matches!(self, Self::Bytes(_) | Self::Bits { shift: 0, .. })
    }

    fn fill(&self, at: usize, out: &mut [u8]) {
        match self {
            Self::Bytes(bytes) => out.copy_from_slice(&bytes[at..at + out.len()]),
            Self::Bits { bytes, shift, bits } => fill_bits(bytes, *shift, *bits, at, out),
            Self::Offsets { width, offsets, base } => {
                fill_integers(*width, at, out, |i| integer(offsets, *width, i).wrapping_sub(*base));
            }
            Self::ViewOffsets { width, offsets, sizes, base } => {
                fill_integers(*width, at, out, |i| match integer(sizes, *width, i) {
                    0 => 0,
                    _ => integer(offsets, *width, i).wrapping_sub(*base),
                });
            }
            Self::UnionOffsets { ids, offsets, bases } => fill_integers(4, at, out, |i| {
                // Planning has refused negative ids.
                integer(offsets, 4, i).wrapping_sub(bases[usize::from(ids[i] & 0x7f)])
            }),
            Self::RunEnds { width, ends, base, cap } => fill_integers(*width, at, out, |i| {
                integer(ends, *width, i).saturating_sub(*base).min(*cap)
            }),
        }
    }
}

/// The `index`th little-endian signed integer of `width` (2, 4 or 8) bytes. Reads by bytes,
/// since input buffers need not be aligned.
#[inline]
pub(crate) fn integer(bytes: &[u8], width: usize, index: usize) -> i64 {
    let at = index * width;
    let mut low = [0; 8];
    match width {
        2 => {
            low[..2].copy_from_slice(&bytes[at..at + 2]);
            (i64::from_le_bytes(low) << 48) >> 48
        }
        4 => {
            low[..4].copy_from_slice(&bytes[at..at + 4]);
            (i64::from_le_bytes(low) << 32) >> 32
        }
        _ => {
            low.copy_from_slice(&bytes[at..at + 8]);
            i64::from_le_bytes(low)
        }
    }
}

/// Writes bytes `at..` of the integers that `value` gives, each `width` bytes wide.
#[inline]
fn fill_integers(width: usize, at: usize, out: &mut [u8], value: impl Fn(usize) -> i64) {
    match width {
        2 => fill_elements::<2>(at, out, value),
        4 => fill_elements::<4>(at, out, value),
        _ => fill_elements::<8>(at, out, value),
    }
}

#[inline]
fn fill_elements<const W: usize>(at: usize, out: &mut [u8], value: impl Fn(usize) -> i64) {
    let (mut index, within) = (at / W, at % W);
    let head = if within == 0 { 0 } else { (W - within).min(out.len()) };
    let (first, rest) = out.split_at_mut(head);
    if head > 0 {
        first.copy_from_slice(&value(index).to_le_bytes()[within..within + head]);
        index += 1;
    }
    let mut whole = rest.chunks_exact_mut(W);
    for element in &mut whole {
        element.copy_from_slice(&value(index).to_le_bytes()[..W]);
        index += 1;
    }
    let tail = whole.into_remainder();
    if !tail.is_empty() {
        let bytes = value(index).to_le_bytes();
        tail.copy_from_slice(&bytes[..tail.len()]);
    }
}

/// Writes bytes `at..` of the bitmap that starts at bit `shift` (below 8) of `bytes`.
fn fill_bits(bytes: &[u8], shift: usize, bits: usize, at: usize, out: &mut [u8]) {
    let source = &bytes[at..];
    if shift == 0 {
        out.copy_from_slice(&source[..out.len()]);
    } else {
        for (i, byte) in out.iter_mut().enumerate() {
            let high = source.get(i + 1).map_or(0, |next| next << (8 - shift));
            *byte = (source[i] >> shift) | high;
        }
    }
    let used = bits % 8;
    if used != 0
        && at + out.len() == bits.div_ceil(8)
        && let Some(last) = out.last_mut()
    {
        *last &= (1 << used) - 1;
    }
}
