//! Whether columns of a Parquet file are encrypted under a footer that is not.
//!
//! The decoder is built without keys and passes over what a footer says of encryption; it then
//! takes ciphers for pages. That fails, in words that help nobody. So after a failure the footer
//! is looked through once more, for the one field that says it: `encryption_algorithm`, the
//! eighth of `FileMetaData` (<https://parquet.apache.org/docs/file-format/data-pages/encryption/>),
//! in Thrift's compact protocol.

use crate::storage::SharedFile;

/// `encryption_algorithm`.
const ALGORITHM: i64 = 8;
/// Deepest nesting of a footer: it has about six.
const MAX_DEPTH: usize = 32;

/// Whether the footer names an algorithm of encryption. False, too, where it cannot be read.
pub(super) fn names_algorithm(input: &SharedFile) -> bool {
    let footer = || {
        let end = input.len().checked_sub(8)?;
        let length = input.read_run(end, 4).ok()?;
        let length = u64::from(u32::from_le_bytes(length.try_into().ok()?));
        input.read_run(end.checked_sub(length)?, length).ok()
    };
    footer().is_some_and(|bytes| Thrift(&bytes).has_field(ALGORITHM).unwrap_or(false))
}

/// What is left to be read.
struct Thrift<'a>(&'a [u8]);

impl Thrift<'_> {
    /// Whether the struct that begins here has a field.
    fn has_field(&mut self, wanted: i64) -> Option<bool> {
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            if id == wanted {
                return Some(true);
            }
            self.skip(kind, 0)?;
        }
        Some(false)
    }

    /// The type of the next field, whose number `id` becomes; `Some(None)`: there is no more.
    fn field(&mut self, id: &mut i64) -> Option<Option<u8>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some(None);
        }
        *id = match byte >> 4 {
            0 => {
                let zigzag = self.varint()?;
                i64::try_from(zigzag >> 1).ok()? ^ -i64::from(zigzag & 1 == 1)
            }
            step => *id + i64::from(step),
        };
        Some(Some(byte & 15))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            // as a field, a truth value is in its type
            1 | 2 => Some(()),
            3 => self.bytes(1),
            4..=6 => self.varint().map(drop),
            7 => self.bytes(8),
            8 => {
                let length = self.varint()?;
                self.bytes(usize::try_from(length).ok()?)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.varint()?,
                    count => u64::from(count),
                };
                (0..count).try_for_each(|_| self.element(head & 15, depth))
            }
            11 => {
                let count = self.varint()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.element(kinds >> 4, depth)?;
                    self.element(kinds & 15, depth)
                })
            }
            12 => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    /// In a list a truth value is a byte.
    fn element(&mut self, kind: u8, depth: usize) -> Option<()> {
        if matches!(kind, 1 | 2) { self.bytes(1) } else { self.skip(kind, depth + 1) }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eighth_field_is_found_behind_others() {
        // 1: i32 2; 2: list of one struct {4: binary "ab"}; 6: binary ""; 8: an empty struct
        let plain = [0x15, 4, 0x19, 0x1c, 0x48, 2, b'a', b'b', 0, 0x48, 0];
        let with = |more: &[u8]| [&plain[..], more].concat();
        assert_eq!(Thrift(&with(&[0])).has_field(ALGORITHM), Some(false));
        assert_eq!(Thrift(&with(&[0x2c, 0, 0])).has_field(ALGORITHM), Some(true));
        // its number in full, as zigzag
        assert_eq!(Thrift(&with(&[0x0c, 16, 0, 0])).has_field(ALGORITHM), Some(true));
        for end in 0..plain.len() {
            assert_eq!(Thrift(&plain[..end]).has_field(ALGORITHM), None, "{end}");
        }
    }
}
