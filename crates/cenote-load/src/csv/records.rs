//! Records byte by byte: quotes anywhere, doubled or escaped, every kind of line end, blank
//! lines, comments.
//!
//! Fields are written out unquoted, one filler byte behind each, so that what follows sees
//! the same shape as after [`super::index`].

use super::dialect::Dialect;

/// One record that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    /// Where it begins.
    pub(super) start: usize,
    /// Where the next one may begin.
    pub(super) next: usize,
    pub(super) fields: usize,
}

/// Fields of some records.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// The fields, a filler byte behind each.
    pub(super) text: Vec<u8>,
    /// One behind `ends[i]` begins field `i`, wrapping; it ends at `ends[i + 1]`.
    pub(super) ends: Vec<u32>,
}

impl Fields {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.ends.push(u32::MAX);
    }

    fn end_field(&mut self) {
        #[expect(clippy::cast_possible_truncation, reason = "a block is below 4 GiB")]
        self.ends.push(self.text.len() as u32);
        self.text.push(0);
    }

    /// An empty field.
    pub(super) fn pad(&mut self) {
        self.end_field();
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len() - 1
    }

    fn cut(&mut self, fields: usize, text: usize) {
        self.ends.truncate(fields + 1);
        self.text.truncate(text);
    }

    pub(super) fn field(&self, at: usize) -> &[u8] {
        &self.text[self.ends[at].wrapping_add(1) as usize..self.ends[at + 1] as usize]
    }
}

/// The next record from `at` on, with its fields added to `out`. None: it does not end here.
///
/// `whole`: nothing comes behind the text, which has a line end as its last byte.
pub(super) fn record(
    text: &[u8],
    mut at: usize,
    dialect: &Dialect,
    whole: bool,
    out: &mut Fields,
) -> Option<Record> {
    at = skip(text, at, dialect)?;
    let (fields, length) = (out.len(), out.text.len());
    let start = at;
    let next = loop {
        let Some((end, ended)) = field(text, at, dialect, &mut out.text) else {
            out.cut(fields, length);
            return None;
        };
        out.end_field();
        at = end + 1;
        if ended {
            // a carriage return may be the first half of a line end
            if text[end] == b'\r' {
                match text.get(at) {
                    Some(b'\n') => at += 1,
                    None if !whole => {
                        out.cut(fields, length);
                        return None;
                    }
                    _ => {}
                }
            }
            break at;
        }
    };
    Some(Record { start, next, fields: out.len() - fields })
}

/// Past blank lines and comments. None: no record begins in what is left.
pub(super) fn skip(text: &[u8], mut at: usize, dialect: &Dialect) -> Option<usize> {
    loop {
        let blank = text[at..].iter().position(|b| !matches!(b, b'\r' | b'\n'))?;
        at += blank;
        if dialect.comment.is_empty() || !text[at..].starts_with(&dialect.comment) {
            return Some(at);
        }
        at += text[at..].iter().position(|b| matches!(b, b'\r' | b'\n'))?;
    }
}

/// One field: where its separator is, and whether that ends the record.
fn field(
    text: &[u8],
    mut at: usize,
    dialect: &Dialect,
    out: &mut Vec<u8>,
) -> Option<(usize, bool)> {
    if dialect.quote.is_some() && text.get(at).copied() == dialect.quote {
        at = quoted(text, at + 1, dialect, out)?;
    }
    // unquoted, or what stands behind a closing quote
    let rest = &text[at..];
    let separator = |b: &u8| matches!(b, b'\r' | b'\n') || *b == dialect.delimiter;
    let length = rest.iter().position(separator)?;
    out.extend_from_slice(&rest[..length]);
    Some((at + length, rest[length] != dialect.delimiter))
}

/// Behind an opening quote: where the text behind the closing one begins.
fn quoted(text: &[u8], mut at: usize, dialect: &Dialect, out: &mut Vec<u8>) -> Option<usize> {
    let quote = dialect.quote?;
    loop {
        let rest = &text[at..];
        let stop = rest.iter().position(|&b| b == quote || Some(b) == dialect.escape)?;
        out.extend_from_slice(&rest[..stop]);
        at += stop + 1;
        let following = *text.get(at)?;
        if rest[stop] != quote || following == quote {
            // escaped, or doubled
            out.push(following);
            at += 1;
        } else {
            return Some(at);
        }
    }
}

/// The records of a text, fields only counted.
#[derive(Debug)]
pub(super) struct Records<'a> {
    text: &'a [u8],
    dialect: &'a Dialect,
    whole: bool,
    at: usize,
    fields: Fields,
}

impl<'a> Records<'a> {
    pub(super) fn new(text: &'a [u8], dialect: &'a Dialect, whole: bool) -> Self {
        Self { text, dialect, whole, at: 0, fields: Fields::default() }
    }
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        self.fields.clear();
        let record = record(self.text, self.at, self.dialect, self.whole, &mut self.fields)?;
        self.at = record.next;
        Some(record)
    }
}
