//! What is wrong with a file, as it is met, and as it is said.

use std::io::Read;

use arrow_schema::ArrowError;

use super::BLOCK_BYTES;
use super::dialect::Dialect;
use super::head;
use crate::error::LoadError;
use crate::file::InputFile;

/// What is wrong with a file, and with the record that begins at this offset.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) offset: u64,
    pub(super) kind: FaultKind,
}

#[derive(Debug)]
pub(super) enum FaultKind {
    Ragged {
        expected: usize,
        found: usize,
    },
    NotUtf8 {
        field: usize,
    },
    UnclosedQuote,
    TooLong,
    TooManyColumns,
    Value {
        column: String,
        text: String,
        wanted: arrow_schema::DataType,
    },
    Beyond {
        column: String,
        text: String,
        wanted: arrow_schema::DataType,
    },
    Array(ArrowError),
    /// It speaks for itself.
    Other(Box<LoadError>),
}

impl From<LoadError> for Fault {
    fn from(error: LoadError) -> Self {
        Self { offset: 0, kind: FaultKind::Other(Box::new(error)) }
    }
}

/// The error for a user. Cost: the file is read up to the fault, to count its lines.
pub(super) fn explain(input: &InputFile, dialect: &Dialect, fault: Fault) -> LoadError {
    let (file, offset) = (input.name.clone(), fault.offset);
    if let FaultKind::Other(error) = fault.kind {
        return *error;
    }
    let line = match line_at(input, dialect, offset) {
        Ok(line) => line,
        Err(error) => return error,
    };
    match fault.kind {
        FaultKind::Ragged { expected, found } => LoadError::Ragged { file, line, expected, found },
        FaultKind::NotUtf8 { field } => LoadError::NotUtf8 { file, line, field, offset },
        FaultKind::UnclosedQuote => LoadError::UnclosedQuote { file, line },
        FaultKind::TooLong => LoadError::RecordTooLong { file, line },
        FaultKind::TooManyColumns => LoadError::TooManyColumns { file, line },
        FaultKind::Value { column, text, wanted } => {
            LoadError::Value { file, line, column, text, wanted }
        }
        FaultKind::Beyond { column, text, wanted } => {
            LoadError::Beyond { file, line, column, text, wanted }
        }
        FaultKind::Array(source) => LoadError::Csv { file, line, source },
        FaultKind::Other(error) => *error,
    }
}

/// The line of the byte at an offset, from 1. Every kind of line end counts.
pub(super) fn line_at(file: &InputFile, dialect: &Dialect, offset: u64) -> Result<u64, LoadError> {
    head::with_text(file, dialect, |reader, _| {
        let (mut reader, mut line, mut before) = (reader.take(offset), 1, 0);
        let mut buffer = vec![0; BLOCK_BYTES];
        loop {
            let read = reader.read(&mut buffer).map_err(|source| file.io(source))?;
            if read == 0 {
                return Ok(line);
            }
            for &byte in &buffer[..read] {
                line += u64::from(byte == b'\r' || byte == b'\n' && before != b'\r');
                before = byte;
            }
        }
    })
}
