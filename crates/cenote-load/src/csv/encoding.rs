//! Text in other encodings than UTF-8, decoded as it is read.

use std::io::{self, Chain, Cursor, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Encoded bytes that are read at once.
const RAW_BYTES: usize = 64 << 10;

/// Room in which the decoder always gets on.
const CHARACTER_BYTES: usize = 16;

/// What a file's bytes mean: what the user says, else UTF-16 where it begins with that
/// encoding's byte order mark, else UTF-8.
pub(super) fn of(head: &[u8], declared: Option<&'static Encoding>) -> &'static Encoding {
    match head {
        _ if declared.is_some() => declared.unwrap_or(UTF_8),
        [0xff, 0xfe, ..] => UTF_16LE,
        [0xfe, 0xff, ..] => UTF_16BE,
        _ => UTF_8,
    }
}

/// Calls `read` with the text as UTF-8 (a byte order mark included), and its encoding.
///
/// What is UTF-8 is passed on as it is, and not checked.
pub(super) fn with_utf8<T>(
    reader: &mut dyn Read,
    declared: Option<&'static Encoding>,
    read: impl FnOnce(&mut dyn Read, &'static Encoding) -> T,
) -> io::Result<T> {
    let mut head = Vec::new();
    reader.take(2).read_to_end(&mut head)?;
    let encoding = of(&head, declared);
    let mut whole = Cursor::new(head).chain(reader);
    if encoding == UTF_8 {
        return Ok(read(&mut whole, encoding));
    }
    let decoder = encoding.new_decoder_without_bom_handling();
    let raw = vec![0; RAW_BYTES];
    let mut decoding = Decoding {
        whole,
        decoder,
        encoding,
        raw,
        start: 0,
        filled: 0,
        ended: false,
        line: 1,
        spare: Vec::new(),
    };
    Ok(read(&mut decoding, encoding))
}

struct Decoding<'a> {
    whole: Chain<Cursor<Vec<u8>>, &'a mut dyn Read>,
    decoder: Decoder,
    encoding: &'static Encoding,
    raw: Vec<u8>,
    start: usize,
    filled: usize,
    ended: bool,
    /// Of the next character.
    line: u64,
    /// Decoded, and not yet taken.
    spare: Vec<u8>,
}

impl Read for Decoding<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.spare.is_empty() && out.len() >= CHARACTER_BYTES {
            return self.decode(out);
        }
        if self.spare.is_empty() {
            // too little room for a character: the rest of it waits
            let mut few = [0; CHARACTER_BYTES];
            let written = self.decode(&mut few)?;
            self.spare.extend_from_slice(&few[..written]);
        }
        let length = out.len().min(self.spare.len());
        out[..length].copy_from_slice(&self.spare[..length]);
        self.spare.drain(..length);
        Ok(length)
    }
}

impl Decoding<'_> {
    fn decode(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.start == self.filled && !self.ended {
                (self.start, self.filled) = (0, self.whole.read(&mut self.raw)?);
                self.ended = self.filled == 0;
            }
            let raw = &self.raw[self.start..self.filled];
            let (result, read, written) =
                self.decoder.decode_to_utf8_without_replacement(raw, out, self.ended);
            self.start += read;
            self.line += out[..written].iter().filter(|&&b| b == b'\n').count() as u64;
            if let DecoderResult::Malformed(..) = result {
                let text = format!("line {}: not {}", self.line, self.encoding.name());
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            if written > 0 || self.ended {
                return Ok(written);
            }
        }
    }
}
