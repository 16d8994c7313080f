//! Where the messages of an IPC file or stream are, read from their heads alone.

use std::io::{self, Read};
use std::sync::Arc;

use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{Block, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};

use crate::error::LoadError;
use crate::file::InputFile;
use crate::meter::Meter;
use crate::storage::SharedFile;

/// Begins and ends a file; a stream has none.
const MAGIC: &[u8; 6] = b"ARROW1";
/// The magic, padded: the messages begin here.
const FILE_HEAD_BYTES: u64 = 8;
/// The length of the footer, and the magic.
const FILE_TAIL_BYTES: u64 = 10;
/// Stands before the length of a message's head, save in very old streams.
const CONTINUATION: u32 = u32::MAX;
/// Longest head of a message or footer: millions of columns or batches.
const MAX_HEAD_BYTES: u64 = 1 << 30;

/// A message with a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) what: What,
    pub(super) offset: u64,
    /// With its length before it and its padding.
    head_bytes: u32,
    body_bytes: u64,
    rows: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Dictionary,
    Batch,
}

/// A file's schema and messages, dictionaries before the batches that need them.
#[derive(Debug)]
pub(super) struct Messages {
    pub(super) schema: SchemaRef,
    pub(super) all: Vec<Message>,
}

impl Message {
    /// Of head and body.
    pub(super) fn length(&self) -> u64 {
        u64::from(self.head_bytes) + self.body_bytes
    }

    /// As a footer would name it; the offset is not looked at by the decoder.
    pub(super) fn block(&self) -> Block {
        let head = i32::try_from(self.head_bytes).unwrap_or(i32::MAX);
        Block::new(0, head, i64::try_from(self.body_bytes).unwrap_or(i64::MAX))
    }
}

impl Messages {
    /// Cost: a read a message.
    pub(super) fn of(file: &InputFile, meter: &Meter) -> Result<Self, LoadError> {
        let input = file.random_access(meter)?;
        let fault =
            |source: ArrowError| LoadError::Ipc { file: file.name.clone(), message: None, source };
        let mut magic = [0; MAGIC.len()];
        let is_file = input.at(0).read_exact(&mut magic).is_ok() && &magic == MAGIC;
        let found = if is_file { Self::of_file(&input) } else { Self::of_stream(&input, meter) };
        match found {
            Ok(Some(messages)) => Ok(messages),
            Ok(None) => Err(LoadError::Cancelled),
            Err(Fault::Truncated) => {
                Err(LoadError::IpcTruncated { file: file.name.clone(), bytes: input.len() })
            }
            Err(Fault::Arrow(source)) => Err(fault(source)),
            Err(Fault::Io(source)) => Err(file.io(source)),
        }
    }

    pub(super) fn num_rows(&self) -> u64 {
        self.all.iter().map(|message| message.rows).fold(0, u64::saturating_add)
    }

    pub(super) fn has_dictionaries(&self) -> bool {
        self.all.iter().any(|message| message.what == What::Dictionary)
    }

    fn of_file(input: &SharedFile) -> Result<Option<Self>, Fault> {
        let tail_at = input.len().checked_sub(FILE_TAIL_BYTES).ok_or(Fault::Truncated)?;
        let tail = input.read_run(tail_at, FILE_TAIL_BYTES)?;
        let (length, magic) = tail.split_at(4);
        if magic != MAGIC {
            return Err(Fault::Truncated);
        }
        let length = length.try_into().map_or(0, u32::from_le_bytes);
        let footer_at = tail_at.checked_sub(u64::from(length)).ok_or(Fault::Truncated)?;
        let bytes = input.read_run(footer_at, u64::from(length))?;
        let footer = root_as_footer(&bytes).map_err(|e| invalid(&e))?;
        let schema = footer.schema().ok_or_else(|| invalid(&"no schema"))?;
        check_endian(schema)?;
        let schema = Arc::new(try_fb_to_schema(schema)?);
        let mut all = Vec::new();
        let blocks = [footer.dictionaries(), footer.recordBatches()];
        for (what, blocks) in [What::Dictionary, What::Batch].into_iter().zip(blocks) {
            for block in blocks.iter().flatten() {
                let number = |n: i64| u64::try_from(n).map_err(|_| invalid(&"a negative length"));
                let offset = number(block.offset())?;
                let head_bytes = number(block.metaDataLength().into())?;
                let body_bytes = number(block.bodyLength())?;
                let end = offset.checked_add(head_bytes).and_then(|at| at.checked_add(body_bytes));
                if offset < FILE_HEAD_BYTES || end.is_none_or(|end| end > footer_at) {
                    return Err(Fault::Truncated);
                }
                let head = input.read_run(offset, head_bytes)?;
                let head_bytes = u32::try_from(head_bytes).map_err(|_| Fault::Truncated)?;
                let head = head.strip_prefix(&CONTINUATION.to_le_bytes()).unwrap_or(&head);
                let message = head.get(4..).ok_or(Fault::Truncated)?;
                let message = root_as_message(message).map_err(|e| invalid(&e))?;
                let rows = message.header_as_record_batch().map_or(0, |batch| batch.length());
                let rows = number(rows)?;
                all.push(Message { what, offset, head_bytes, body_bytes, rows });
            }
        }
        Ok(Some(Self { schema, all }))
    }

    /// None: cancelled.
    fn of_stream(input: &SharedFile, meter: &Meter) -> Result<Option<Self>, Fault> {
        let (mut at, mut schema, mut all) = (0, None, Vec::new());
        while let Some((head_at, length)) = head_of(input, at)? {
            if meter.cancelled() {
                return Ok(None);
            }
            let head = input.read_run(head_at, length)?;
            let message = root_as_message(&head).map_err(|e| invalid(&e))?;
            let body = u64::try_from(message.bodyLength()).map_err(|_| invalid(&"its length"))?;
            let body_at = head_at + length;
            let end = body_at.checked_add(body).filter(|end| *end <= input.len());
            let end = end.ok_or(Fault::Truncated)?;
            let (what, rows) = match message.header_type() {
                MessageHeader::Schema if schema.is_none() => {
                    let found = message.header_as_schema().ok_or_else(|| invalid(&"no schema"))?;
                    check_endian(found)?;
                    schema = Some(Arc::new(try_fb_to_schema(found)?));
                    at = end;
                    continue;
                }
                MessageHeader::DictionaryBatch => (What::Dictionary, 0),
                MessageHeader::RecordBatch => {
                    let batch = message.header_as_record_batch();
                    (What::Batch, batch.map_or(0, |batch| batch.length()))
                }
                other => return Err(invalid(&format_args!("message {other:?} is not expected"))),
            };
            let rows = u64::try_from(rows).map_err(|_| invalid(&"a negative length"))?;
            let head_bytes = u32::try_from(body_at - at).map_err(|_| Fault::Truncated)?;
            all.push(Message { what, offset: at, head_bytes, body_bytes: body, rows });
            at = end;
        }
        let schema = schema.ok_or_else(|| invalid(&"it has no schema message"))?;
        Ok(Some(Self { schema, all }))
    }
}

/// Where the head of the message at `at` begins, and its length; none: the stream ends.
fn head_of(input: &SharedFile, at: u64) -> Result<Option<(u64, u64)>, Fault> {
    // a stream that ends without saying so is whole, by the format
    if at == input.len() {
        return Ok(None);
    }
    let word = |at: u64| -> Result<u32, Fault> {
        let bytes = input.read_run(at, 4)?;
        Ok(bytes.as_slice().try_into().map_or(0, u32::from_le_bytes))
    };
    let (mut head_at, mut length) = (at + 4, word(at)?);
    if length == CONTINUATION {
        (head_at, length) = (at + 8, word(at + 4)?);
    }
    match u64::from(length) {
        0 => Ok(None),
        length if length > MAX_HEAD_BYTES => Err(invalid(&"it begins with no message")),
        length => Ok(Some((head_at, length))),
    }
}

fn check_endian(schema: arrow_ipc::Schema<'_>) -> Result<(), Fault> {
    if schema.endianness().equals_to_target_endianness() {
        return Ok(());
    }
    Err(invalid(&"its numbers are in the byte order of another machine"))
}

enum Fault {
    Truncated,
    Arrow(ArrowError),
    Io(io::Error),
}

fn invalid(what: &dyn std::fmt::Display) -> Fault {
    Fault::Arrow(ArrowError::IpcError(what.to_string()))
}

impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::Truncated } else { Self::Io(error) }
    }
}
