//! A column layout as bytes.
//!
//! ```text
//! layout  = version node                  version: one byte, 1; nothing follows the node
//! node    = length                        rows
//!           null_count
//!           flags                         one byte; bit 0: a validity bitmap follows;
//!                                         the other bits are zero
//!           buffer_count                  buffers after validity
//!           [buffer]                      validity, if flagged
//!           buffer × buffer_count         in the order of the Arrow columnar format
//!           child_count
//!           node × child_count            depth first
//! buffer  = line                          offset in the chunk, divided by 64
//!           length                        bytes, without padding
//! ```
//!
//! All but version and flags are unsigned LEB128 numbers: seven bits a byte, lowest first,
//! the high bit set on all but the last byte; at most ten bytes, without needless zeros, so
//! that a number has one encoding. A column of a million float64 takes 13 bytes.
//!
//! Types are not stored: the schema has them. By type (`n` rows):
//!
//! | type | buffers after validity (bytes) | children (rows) |
//! |---|---|---|
//! | null | none, and no validity | none |
//! | boolean | bits (⌈n/8⌉) | none |
//! | numbers, decimals, temporal, fixed-size binary | values (n·width) | none |
//! | utf8, binary; large | offsets ((n+1)·4; ·8), data (any) | none |
//! | utf8 view, binary view | views (n·16), then data buffers (any) | none |
//! | list, map; large list | offsets ((n+1)·4; ·8) | values (any) |
//! | list view; large | offsets (n·4; n·8), sizes (same) | values (any) |
//! | fixed-size list | none | values (n·size) |
//! | struct | none | each field (n) |
//! | sparse union | type ids (n); no validity | each field (n) |
//! | dense union | type ids (n), offsets (n·4); no validity | each field (any) |
//! | dictionary | keys (n·width) | values (any) |
//! | run-end encoded | none, and no validity | run ends (any, r), values (r) |
//!
//! Arrays start at their buffers' first element: there is no Arrow offset. The first
//! offset of lists and strings is zero. A bitmap is present only where there are nulls; bits
//! past its last row are zero, as is padding. Buffers lie in the order in which they are
//! encoded and do not overlap; an empty one has a place but no bytes.

use super::LayoutError;

/// The layout's version, its first byte.
pub(crate) const VERSION: u8 = 1;

/// Flag: a validity bitmap comes first.
pub(crate) const HAS_VALIDITY: u8 = 1;

/// The most bytes of a 64-bit number.
const MAX_VARINT_BYTES: usize = 10;

/// Appends a node's length, null count and flags.
pub(crate) fn put_header(out: &mut Vec<u8>, length: u64, null_count: u64, has_validity: bool) {
    put_varint(out, length);
    put_varint(out, null_count);
    out.push(if has_validity { HAS_VALIDITY } else { 0 });
}

/// Appends a number.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// A cursor over an encoded layout.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes not yet read.
    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Bytes read so far.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn byte(&mut self) -> Result<u8, LayoutError> {
        let byte = self.bytes.get(self.at).ok_or(LayoutError::Truncated { at: self.at })?;
        self.at += 1;
        Ok(*byte)
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Result<&'a [u8], LayoutError> {
        let rest = &self.bytes[self.at..];
        let bytes = rest.get(..length).ok_or(LayoutError::Truncated { at: self.bytes.len() })?;
        self.at += length;
        Ok(bytes)
    }

    pub(crate) fn varint(&mut self) -> Result<u64, LayoutError> {
        let start = self.at;
        let mut value = 0u64;
        for index in 0..MAX_VARINT_BYTES {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            let shift = 7 * index;
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                if byte == 0 && index > 0 {
                    break;
                }
                return Ok(value);
            }
        }
        Err(LayoutError::BadNumber { at: start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_encoding() {
        for value in [0, 1, 127, 128, 16383, 16384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.varint().unwrap(), value);
            assert_eq!(reader.remaining(), 0);
        }
        for bad in [
            &[0x80, 0][..],
            &[0xff; 11],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
        ] {
            assert!(matches!(Reader::new(bad).varint(), Err(LayoutError::BadNumber { at: 0 })));
        }
        assert!(matches!(Reader::new(&[0x80]).varint(), Err(LayoutError::Truncated { at: 1 })));
    }
}
