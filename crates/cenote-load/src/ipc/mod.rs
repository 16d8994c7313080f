//! Arrow IPC, file and stream: the messages are found first, their bodies become arrays as
//! they are.
//!
//! A body is read into memory in one piece and the arrays point into it, so nothing is
//! decoded unless it is compressed (LZ4 or Zstandard). A file is read, not mapped: one that is
//! cut short meanwhile is then an error and not the end of the process.
//!
//! Batches of a file without dictionaries are shared out among the threads. With them a
//! file is one thread's: a stream may replace a dictionary between two batches.

mod messages;

use std::ops::Range;

use arrow_buffer::Buffer;
use arrow_ipc::MetadataVersion;
use arrow_ipc::reader::FileDecoder;
use arrow_schema::{ArrowError, SchemaRef};

use crate::error::LoadError;
use crate::file::InputFile;
use crate::fit::{Fit, fit};
use crate::format::{Format, Part, Take, Wider, by_file};
use crate::meter::Meter;
use crate::options::Options;
use messages::{Message, Messages, What};

/// Batches of a file that are decoded together come to about so many bytes.
const PART_BYTES: u64 = 8 << 20;

/// All that decoding needs.
#[derive(Debug)]
pub(crate) struct IpcPlan {
    schema: SchemaRef,
    files: Vec<(Messages, Fit)>,
    batch_rows: usize,
    meter: Meter,
}

impl IpcPlan {
    pub(crate) fn new(
        files: &[InputFile],
        options: &Options,
        meter: &Meter,
    ) -> Result<Self, LoadError> {
        if options.schema.is_some() {
            let (file, kind) = (files[0].name.clone(), files[0].kind);
            return Err(LoadError::DeclaredForTyped { file, kind });
        }
        let mut all = Vec::with_capacity(files.len());
        for file in files {
            if meter.cancelled() {
                return Err(LoadError::Cancelled);
            }
            all.push(file.guarded(|| Messages::of(file, meter))?);
            meter.add_bytes(file.bytes);
        }
        let schemas: Vec<SchemaRef> = all.iter().map(|file| file.schema.clone()).collect();
        let (schema, fits) = fit(files, &schemas, options)?;
        let files = all.into_iter().zip(fits).collect();
        Ok(Self { schema, files, batch_rows: options.batch_rows(), meter: meter.clone() })
    }
}

impl IpcPlan {
    /// Runs of messages.
    fn parts_of(&self, index: usize, file: &InputFile) -> Vec<Range<usize>> {
        let messages = &self.files[index].0;
        if !file.is_plain() || messages.has_dictionaries() {
            return std::iter::once(0..messages.all.len()).collect();
        }
        let (mut parts, mut start, mut bytes) = (Vec::new(), 0, 0_u64);
        for (at, message) in messages.all.iter().enumerate() {
            bytes = bytes.saturating_add(message.length());
            if bytes >= PART_BYTES || at + 1 == messages.all.len() {
                parts.push(start..at + 1);
                (start, bytes) = (at + 1, 0);
            }
        }
        parts
    }
}

impl Format for IpcPlan {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn num_rows(&self) -> Option<u64> {
        let files = self.files.iter().map(|(messages, _)| messages.num_rows());
        Some(files.fold(0, u64::saturating_add))
    }

    fn parts(&self, files: &[InputFile]) -> Vec<Part> {
        by_file(files, |index, file| self.parts_of(index, file))
    }

    fn decode(&self, file: &InputFile, part: &Part, take: &mut Take<'_>) -> Result<(), LoadError> {
        let input = file.random_access(&self.meter)?;
        let (messages, fit) = &self.files[part.file];
        let mut decoder = FileDecoder::new(messages.schema.clone(), MetadataVersion::V1);
        let total: u64 = messages.all.iter().map(Message::length).sum();
        for (number, message) in messages.all[part.range.clone()].iter().enumerate() {
            let number = part.range.start + number;
            let fault = |source: ArrowError| LoadError::Ipc {
                file: file.name.clone(),
                message: Some(number),
                source,
            };
            if self.meter.cancelled() {
                return Err(LoadError::Cancelled);
            }
            let bytes = input.read_run(message.offset, message.length()).map_err(|e| file.io(e))?;
            let (block, buffer) = (message.block(), Buffer::from_vec(bytes));
            if message.what == What::Dictionary {
                decoder.read_dictionary(&block, &buffer).map_err(fault)?;
                continue;
            }
            let none = || ArrowError::IpcError("it is no record batch".to_owned());
            let batch = decoder.read_record_batch(&block, &buffer).map_err(fault)?;
            let batch = fit.conform(file, &batch.ok_or_else(|| fault(none()))?, &self.schema)?;
            let stored = u128::from(message.length()) * u128::from(file.bytes);
            let stored = u64::try_from(stored / u128::from(total.max(1))).unwrap_or(0);
            let rows = batch.num_rows();
            for start in (0..rows).step_by(self.batch_rows) {
                let piece = batch.slice(start, self.batch_rows.min(rows - start));
                if !take(piece, if start == 0 { stored } else { 0 }) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn is_widened(&self) -> bool {
        false
    }

    fn wider(&self) -> Result<Option<Wider>, LoadError> {
        Ok(None)
    }
}
