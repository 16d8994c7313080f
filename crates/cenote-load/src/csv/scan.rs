//! Records of a CSV text with their lines and offsets, in bounded memory.

use std::io::Read;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::{MAX_COLUMNS, MAX_RECORD_BYTES};
use crate::discover::is_utf16;
use crate::error::LoadError;
use crate::file::InputFile;

/// Read at once.
const INPUT_BYTES: usize = 256 << 10;

pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// Gives the records of a file one by one.
pub(crate) struct Scanner<'a> {
    file: &'a InputFile,
    reader: &'a mut dyn Read,
    parser: Reader,
    input: Vec<u8>,
    start: usize,
    ended: bool,
    /// Bytes before `input[start]`.
    offset: u64,
    /// Newlines before `input[start]`, plus one.
    line: u64,
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// One record. Fields are unquoted and checked to be UTF-8 each.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) offset: u64,
    pub(crate) line: u64,
    text: &'a str,
    ends: &'a [usize],
}

impl<'a> Record<'a> {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = &'a str> {
        let (text, mut start) = (self.text, 0);
        self.ends.iter().map(move |&end| {
            let field = &text[start..end];
            start = end;
            field
        })
    }
}

impl<'a> Scanner<'a> {
    /// A scanner of a file's bytes from the first one, or from a place where a record begins.
    pub(crate) fn new(
        file: &'a InputFile,
        reader: &'a mut dyn Read,
        delimiter: u8,
        (offset, line): (u64, u64),
    ) -> Result<Self, LoadError> {
        let parser = ReaderBuilder::new().delimiter(delimiter).build();
        let (input, text, ends) = (Vec::new(), vec![0; 1 << 10], vec![0; 64]);
        let mut this =
            Self { file, reader, parser, input, start: 0, ended: false, offset, line, text, ends };
        this.fill()?;
        if offset == 0 && is_utf16(&this.input) {
            return Err(LoadError::Utf16 { file: file.name.clone() });
        }
        if offset == 0 && this.input.starts_with(BOM) {
            this.consume(BOM.len());
        }
        Ok(this)
    }

    /// Bytes before the next record or the end.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    fn fill(&mut self) -> Result<(), LoadError> {
        self.input.clear();
        self.start = 0;
        let mut limited = (&mut *self.reader).take(INPUT_BYTES as u64);
        let read = limited.read_to_end(&mut self.input).map_err(|e| self.file.io(e))?;
        self.ended = read == 0;
        Ok(())
    }

    fn consume(&mut self, bytes: usize) {
        let consumed = &self.input[self.start..self.start + bytes];
        self.line += consumed.iter().filter(|&&b| b == b'\n').count() as u64;
        self.offset += bytes as u64;
        self.start += bytes;
    }

    /// Line ends before a record: what is left of the last one, and blank lines, which the
    /// parser skips as well.
    fn skip_line_ends(&mut self) -> Result<(), LoadError> {
        loop {
            let rest = &self.input[self.start..];
            let blank = rest.iter().position(|b| !matches!(b, b'\r' | b'\n'));
            self.consume(blank.unwrap_or(rest.len()));
            if blank.is_some() || self.ended {
                return Ok(());
            }
            self.fill()?;
        }
    }

    /// The next record, or none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>, LoadError> {
        self.skip_line_ends()?;
        if self.ended {
            return Ok(None);
        }
        let (offset, line) = (self.offset, self.line);
        let name = || self.file.name.clone();
        let (mut filled, mut count) = (0, 0);
        loop {
            if self.start == self.input.len() {
                self.fill()?;
            }
            // the last record may lack its line end: inside quotes, it closes nothing
            let input = if self.ended { b"\n" } else { &self.input[self.start..] };
            let (result, read, written, ended) =
                self.parser.read_record(input, &mut self.text[filled..], &mut self.ends[count..]);
            filled += written;
            count += ended;
            if !self.ended {
                self.consume(read);
            }
            match result {
                ReadRecordResult::Record => break,
                ReadRecordResult::InputEmpty | ReadRecordResult::End if self.ended => {
                    return Err(LoadError::UnclosedQuote { file: name(), line });
                }
                ReadRecordResult::InputEmpty | ReadRecordResult::End => {}
                ReadRecordResult::OutputFull if filled >= MAX_RECORD_BYTES => {
                    return Err(LoadError::RecordTooLong { file: name(), line });
                }
                ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull if count >= MAX_COLUMNS => {
                    return Err(LoadError::TooManyColumns { file: name(), line });
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
            }
        }
        let ends = &self.ends[..count];
        match checked(&self.text[..filled], ends) {
            Ok(text) => Ok(Some(Record { offset, line, text, ends })),
            Err(field) => Err(LoadError::NotUtf8 { file: name(), line, field, offset }),
        }
    }
}

/// The text, or the number of the first field that is not UTF-8. Looking at the record as a
/// whole would not do: two broken fields can make one sound text.
fn checked<'a>(text: &'a [u8], ends: &[usize]) -> Result<&'a str, usize> {
    let whole = std::str::from_utf8(text).ok();
    match whole {
        Some(whole) if ends.iter().all(|&end| whole.is_char_boundary(end)) => Ok(whole),
        _ => {
            let mut start = 0;
            let broken = ends.iter().position(|&end| {
                let field = &text[start..end];
                start = end;
                std::str::from_utf8(field).is_err()
            });
            Err(broken.map_or(1, |index| index + 1))
        }
    }
}
