//! The text of a file, read block by block into memory that is used again.

use std::io::Read;

/// Bytes read ahead.
pub(super) struct Text<'a> {
    reader: &'a mut dyn Read,
    buffer: &'a mut Vec<u8>,
    start: usize,
    filled: usize,
    /// Bytes of the file before what is read ahead.
    offset: u64,
    ended: bool,
}

impl<'a> Text<'a> {
    /// `reader` gives the file from `offset` on.
    pub(super) fn new(reader: &'a mut dyn Read, buffer: &'a mut Vec<u8>, offset: u64) -> Self {
        Self { reader, buffer, start: 0, filled: 0, offset, ended: false }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.filled]
    }

    /// Where [`Text::bytes`] begins.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Nothing comes behind; the last byte, if there is any, is a line end then.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    pub(super) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Reads up to so many more bytes; fewer only at the end. Says how many came.
    pub(super) fn more(&mut self, bytes: usize) -> std::io::Result<usize> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.start = 0;
        let before = self.filled;
        if self.buffer.len() < before + bytes + 1 {
            self.buffer.resize(before + bytes + 1, 0);
        }
        while !self.ended && self.filled < before + bytes {
            match self.reader.read(&mut self.buffer[self.filled..before + bytes]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let read = self.filled - before;
        if self.ended && self.filled > 0 && self.buffer[self.filled - 1] != b'\n' {
            self.buffer[self.filled] = b'\n';
            self.filled += 1;
        }
        Ok(read)
    }
}
