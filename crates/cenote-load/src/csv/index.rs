//! Finds the ends of fields, 64 bytes at a time, where a text is *regular*.
//!
//! Regular is what programs write: every quote opens at the start of a field or closes at its
//! end, none is doubled, and a carriage return stands before a line feed only. Separators
//! outside of quotes are then found by comparing vectors, and nothing is copied. What is not
//! regular goes to [`super::records`], byte by byte, with the same outcome.

use cenote_region::bits::equal;

use super::dialect::Dialect;

/// What was found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// Ends of fields that were written, partial records included.
    pub(super) fields: usize,
    /// Line ends outside of quotes.
    pub(super) newlines: usize,
    /// Whether there is a quote.
    pub(super) quoted: bool,
    /// Whether there is a carriage return.
    pub(super) carriage: bool,
}

/// Each bit becomes the parity of all bits up to it.
fn parity(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

/// Writes the place of each separator outside of quotes to `ends`, from `ends[1]` on;
/// `ends[0]` is set so that a field begins one behind the end before it, wrapping.
///
/// None: the text is not regular. It must begin where a record does. Cost: a few GB/s.
pub(super) fn index(text: &[u8], dialect: &Dialect, ends: &mut Vec<u32>) -> Option<Found> {
    let quote = dialect.quote.unwrap_or(0);
    if ends.len() < text.len() + 66 {
        ends.resize(text.len() + 66, 0);
    }
    ends[0] = u32::MAX;
    let mut found = Found { fields: 0, newlines: 0, quoted: false, carriage: false };
    // all ones within quotes; whether the byte before was a separator, a closing quote, a CR
    let (mut inside, mut separator, mut closed, mut carriage) = (0u64, 1u64, 0u64, 0u64);
    let mut base = 0u32;
    let mut last = [0u8; 64];
    let (chunks, rest) = text.as_chunks::<64>();
    last[..rest.len()].copy_from_slice(rest);
    let tail = (!rest.is_empty()).then_some(&last);
    for chunk in chunks.iter().chain(tail) {
        let [delimiters, line_feeds, quotes, returns] =
            equal(chunk, [dialect.delimiter, b'\n', quote, b'\r']);
        let quotes = if dialect.quote.is_none() { 0 } else { quotes };
        // the last bytes are filled up with zeros
        let left = text.len() - base as usize;
        let real = if left < 64 { !0 >> (64 - left) } else { !0 };
        let mut outside = !0;
        if quotes | inside != 0 {
            found.quoted = true;
            let within = parity(quotes) ^ inside;
            let (opening, closing) = (quotes & within, quotes & !within);
            outside = !within;
            let separators = (delimiters | line_feeds | returns) & outside;
            let strays = opening & !(separators << 1 | separator)
                | (closing << 1 | closed) & !separators & real;
            if strays != 0 {
                return None;
            }
            inside = (within.cast_signed() >> 63).cast_unsigned();
            separator = separators >> 63;
            closed = closing >> 63;
        } else {
            let separators = delimiters | line_feeds | returns;
            if closed & !separators & real != 0 {
                return None;
            }
            (separator, closed) = (separators >> 63, 0);
        }
        let returns = returns & outside;
        if returns | carriage != 0 {
            found.carriage = true;
            // the last bit is looked at with the next bytes
            if (returns << 1 | carriage) & !line_feeds & real != 0 {
                return None;
            }
            carriage = returns >> 63;
        }
        let newlines = line_feeds & outside;
        found.newlines += newlines.count_ones() as usize;
        let mut bits = (delimiters | line_feeds) & outside;
        let count = bits.count_ones() as usize;
        let places = &mut ends[found.fields + 1..found.fields + 1 + count];
        for place in places {
            *place = base + bits.trailing_zeros();
            bits &= bits - 1;
        }
        found.fields += count;
        base += 64;
    }
    Some(found)
}

#[cfg(test)]
mod tests;
