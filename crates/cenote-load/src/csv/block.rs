//! Whole records, cut into fields.

use super::dialect::Dialect;
use super::index::index;
use super::records::{Fields, Record, record, skip};

/// Fields of a run of records, all with the same number of them.
#[derive(Debug)]
pub(super) struct Block<'a> {
    text: &'a [u8],
    /// One behind `ends[i]` begins field `i`, wrapping; it ends at `ends[i + 1]`.
    ends: &'a [u32],
    columns: usize,
    rows: usize,
    /// A quote to be taken off where a field begins with it.
    quote: Option<u8>,
    carriage: bool,
}

impl<'a> Block<'a> {
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The values of one column, unquoted.
    #[inline]
    pub(super) fn column(&self, column: usize) -> impl Iterator<Item = &'a [u8]> {
        let (text, carriage) = (self.text, self.carriage && column + 1 == self.columns);
        let quote = self.quote;
        let ends = self.ends.get(column..).unwrap_or_default();
        ends.windows(2).step_by(self.columns).take(self.rows).map(move |ends| {
            let (start, mut end) = (ends[0].wrapping_add(1) as usize, ends[1] as usize);
            if carriage && text[..end].last() == Some(&b'\r') && end > start {
                end -= 1;
            }
            let field = &text[start..end];
            if let Some(quote) = quote
                && let [first, inner @ .., last] = field
                && *first == quote
                && *last == quote
            {
                return inner;
            }
            field
        })
    }
}

/// What was wrong with a record's shape, and where it begins in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ragged {
    pub(super) start: usize,
    pub(super) found: usize,
}

/// Finds the fields of a text; keeps its memory from text to text.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    ends: Vec<u32>,
    fields: Fields,
    /// Where each record begins, where `fields` holds them.
    starts: Vec<u32>,
    slow: bool,
    rows: usize,
    columns: usize,
    quote: Option<u8>,
    carriage: bool,
}

/// How far a text was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    /// Bytes of the records that were found.
    pub(super) bytes: usize,
    /// A record that has not the right number of fields follows them.
    pub(super) ragged: Option<Ragged>,
}

impl Cutter {
    /// Cuts the whole records of a text that begin before `limit`.
    ///
    /// `whole`: nothing comes behind the text, which has a line end as its last byte.
    pub(super) fn cut(
        &mut self,
        text: &[u8],
        limit: usize,
        whole: bool,
        columns: usize,
        dialect: &Dialect,
    ) -> Cut {
        (self.rows, self.columns, self.slow) = (0, columns, false);
        if dialect.is_plain()
            && let Some(cut) = self.cut_regular(text, limit, dialect)
        {
            return cut;
        }
        self.cut_slowly(text, limit, whole, dialect)
    }

    fn cut_regular(&mut self, text: &[u8], limit: usize, dialect: &Dialect) -> Option<Cut> {
        let found = index(text, dialect, &mut self.ends)?;
        let columns = self.columns;
        let mut rows = found.newlines;
        let ends = self.ends.get(1..=rows * columns)?;
        if found.fields < rows * columns {
            return None;
        }
        // as many line ends as records, and each where one must be: nowhere else is one
        let mut last = ends.iter().skip(columns - 1).step_by(columns);
        if !last.all(|&end| text[end as usize] == b'\n') {
            return None;
        }
        let start = |row: usize| self.ends[row * columns].wrapping_add(1) as usize;
        if columns == 1 {
            // a blank line is no record
            let blank = |row| matches!(text[start(row)], b'\r' | b'\n');
            if (0..rows).any(blank) {
                return None;
            }
        }
        if rows > 0 && start(rows - 1) >= limit {
            let (mut low, mut high) = (0, rows);
            while low < high {
                let middle = low.midpoint(high);
                if start(middle) < limit { low = middle + 1 } else { high = middle }
            }
            rows = low;
        }
        self.rows = rows;
        self.quote = dialect.quote.filter(|_| found.quoted);
        self.carriage = found.carriage;
        Some(Cut { bytes: start(rows), ragged: None })
    }

    fn cut_slowly(&mut self, text: &[u8], limit: usize, whole: bool, dialect: &Dialect) -> Cut {
        (self.slow, self.quote, self.carriage) = (true, None, false);
        self.fields.clear();
        self.starts.clear();
        let mut at = 0;
        while at < limit {
            let length = self.fields.len();
            let Some(found) = record(text, at, dialect, whole, &mut self.fields) else { break };
            if found.fields != self.columns {
                if !dialect.pad || found.fields > self.columns {
                    let ragged = Ragged { start: found.start, found: found.fields };
                    return Cut { bytes: at, ragged: Some(ragged) };
                }
                (found.fields..self.columns).for_each(|_| self.fields.pad());
            }
            debug_assert_eq!(self.fields.len(), length + self.columns, "a record is whole");
            #[expect(clippy::cast_possible_truncation, reason = "a text is below 4 GiB")]
            self.starts.push(found.start as u32);
            self.rows += 1;
            at = found.next;
        }
        Cut { bytes: at, ragged: None }
    }

    /// What was cut last, from this text.
    pub(super) fn block<'a>(&'a self, text: &'a [u8]) -> Block<'a> {
        let (text, ends) = match self.slow {
            true => (&self.fields.text[..], &self.fields.ends[..]),
            false => (text, &self.ends[..]),
        };
        let (columns, rows) = (self.columns, self.rows);
        Block { text, ends, columns, rows, quote: self.quote, carriage: self.carriage }
    }

    /// Where a record begins in the text.
    pub(super) fn start(&self, row: usize) -> usize {
        match self.slow {
            true => self.starts[row] as usize,
            false => self.ends[row * self.columns].wrapping_add(1) as usize,
        }
    }
}

/// Where a record may begin behind `from`, guessed: behind a line end, and with as many
/// fields as the others have.
pub(super) fn guess(text: &[u8], columns: usize, dialect: &Dialect) -> Option<usize> {
    /// Line ends that are tried.
    const TRIES: usize = 64;
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let mut fields = Fields::default();
    let mut first = None;
    for (at, _) in ends.take(TRIES) {
        fields.clear();
        first = first.or(Some(at + 1));
        let found = record(text, at + 1, dialect, false, &mut fields);
        if found.is_some_and(|found: Record| found.fields == columns) {
            return Some(at + 1);
        }
    }
    first
}

/// Whether no record begins in what is left of a file.
pub(super) fn is_blank(text: &[u8], dialect: &Dialect) -> bool {
    skip(text, 0, dialect).is_none()
}
