//! Cutting text at ends of lines.

use std::io::Read;

use super::MAX_CUT_BYTES;
use crate::csv::MAX_RECORD_BYTES;
use crate::error::LoadError;
use crate::file::InputFile;

/// A run of whole lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Where it begins in the unpacked text.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    /// Its first line, from 1.
    pub(super) line: u64,
    /// Lines that are not blank.
    pub(super) rows: usize,
}

/// Lines that are not blank, each with its number from 0.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    let lines = lines.map(|(number, line)| (number as u64, line.trim_ascii()));
    lines.filter(|(_, line)| !line.is_empty())
}

/// Reads text in cuts; a mark at its very beginning is left out.
pub(super) struct Cutter<'a> {
    file: &'a InputFile,
    reader: &'a mut dyn Read,
    /// Read and not given out: the beginning of a line.
    rest: Vec<u8>,
    offset: u64,
    line: u64,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

impl<'a> Cutter<'a> {
    pub(super) fn new(file: &'a InputFile, reader: &'a mut dyn Read) -> Self {
        Self { file, reader, rest: Vec::new(), offset: 0, line: 1 }
    }

    /// The next cut and its text. Its rows are not counted yet.
    pub(super) fn next(&mut self) -> Result<Option<(Cut, Vec<u8>)>, LoadError> {
        let mut text = std::mem::take(&mut self.rest);
        loop {
            let wanted = MAX_CUT_BYTES.max(text.len() as u64 + (1 << 16)) - text.len() as u64;
            let reader = &mut *self.reader;
            let read = reader.take(wanted).read_to_end(&mut text).map_err(|e| self.file.io(e))?;
            if self.offset == 0 && text.starts_with(BOM) {
                text.drain(..BOM.len());
                self.offset = BOM.len() as u64;
            }
            let end = text.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
            match end {
                _ if (read as u64) < wanted => break,
                Some(end) => {
                    self.rest = text.split_off(end);
                    break;
                }
                None if text.len() > MAX_RECORD_BYTES => {
                    let (file, line) = (self.file.name.clone(), self.line);
                    return Err(LoadError::RecordTooLong { file, line });
                }
                None => {}
            }
        }
        if text.is_empty() {
            return Ok(None);
        }
        let (offset, line, bytes) = (self.offset, self.line, text.len() as u64);
        self.offset += bytes;
        self.line += text.iter().filter(|byte| **byte == b'\n').count() as u64;
        Ok(Some((Cut { offset, bytes, line, rows: 0 }, text)))
    }
}
