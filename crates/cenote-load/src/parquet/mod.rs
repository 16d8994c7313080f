//! Parquet: footers are read at opening, row groups are decoded apart.
//!
//! Row groups are shared out among the threads; where there are fewer of them than threads,
//! the columns of each are, too ([`decode`]).

mod decode;
mod encrypted;
mod int96;

use std::io::{BufReader, Read};
use std::ops::Range;

use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ParquetMetaData, ParquetStatisticsPolicy};
use parquet::file::reader::{ChunkReader, Length};

use crate::error::{LoadError, ParquetFault};
use crate::file::InputFile;
use crate::fit::{Fit, fit};
use crate::format::{Format, Part, Take, Wider, by_file};
use crate::meter::Meter;
use crate::options::Options;
use crate::storage::SharedFile;

/// Magic, footer length, magic.
const SHORTEST_BYTES: u64 = 12;

/// Row groups smaller than this are decoded together.
const SMALL_GROUP_BYTES: i64 = 1 << 20;

/// All that decoding needs.
#[derive(Debug)]
pub(crate) struct ParquetPlan {
    schema: SchemaRef,
    files: Vec<ParquetFile>,
    batch_rows: usize,
    batch_bytes: usize,
    /// Threads that the columns of one row group are shared among.
    column_threads: usize,
    meter: Meter,
}

#[derive(Debug)]
struct ParquetFile {
    footer: ArrowReaderMetadata,
    /// Which columns are decoded, and where each goes.
    used: Vec<usize>,
    fit: Fit,
}

impl ParquetPlan {
    pub(crate) fn new(
        files: &[InputFile],
        options: &Options,
        meter: &Meter,
    ) -> Result<Self, LoadError> {
        if options.schema.is_some() {
            let (file, kind) = (files[0].name.clone(), files[0].kind);
            return Err(LoadError::DeclaredForTyped { file, kind });
        }
        let mut footers = Vec::with_capacity(files.len());
        for file in files {
            if meter.cancelled() {
                return Err(LoadError::Cancelled);
            }
            footers.push(file.guarded(|| footer(file, meter))?);
            meter.add_bytes(file.bytes);
        }
        let schemas: Vec<SchemaRef> = footers.iter().map(|f| f.schema().clone()).collect();
        let (schema, fits) = fit(files, &schemas, options)?;
        let parts = footers.into_iter().zip(fits).map(|(footer, fit)| {
            let (used, fit) = fit.narrowed();
            ParquetFile { footer, used, fit }
        });
        let files: Vec<ParquetFile> = parts.collect();
        let groups: usize = files.iter().map(|f| f.footer.metadata().num_row_groups()).sum();
        Ok(Self {
            schema,
            files,
            batch_rows: options.batch_rows(),
            batch_bytes: options.batch_bytes,
            column_threads: options.threads() / groups.max(1),
            meter: meter.clone(),
        })
    }
}

impl ParquetPlan {
    /// Runs of row groups.
    fn parts_of(&self, index: usize, file: &InputFile) -> Vec<Range<usize>> {
        let groups = self.files[index].footer.metadata().row_groups();
        if !file.is_plain() {
            // each part would unpack the file again
            return std::iter::once(0..groups.len()).collect();
        }
        let (mut parts, mut start, mut bytes) = (Vec::new(), 0, 0_i64);
        for (at, group) in groups.iter().enumerate() {
            bytes = group.total_byte_size().saturating_add(bytes);
            if bytes >= SMALL_GROUP_BYTES || at + 1 == groups.len() {
                parts.push(start..at + 1);
                (start, bytes) = (at + 1, 0);
            }
        }
        parts
    }
}

impl Format for ParquetPlan {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn num_rows(&self) -> Option<u64> {
        let files = self.files.iter().map(|file| rows(file.footer.metadata()));
        Some(files.fold(0, u64::saturating_add))
    }

    fn parts(&self, files: &[InputFile]) -> Vec<Part> {
        by_file(files, |index, file| self.parts_of(index, file))
    }

    fn decode(&self, input: &InputFile, part: &Part, take: &mut Take<'_>) -> Result<(), LoadError> {
        self.decode_groups(input, part, take)
    }

    fn is_widened(&self) -> bool {
        false
    }

    fn wider(&self) -> Result<Option<Wider>, LoadError> {
        Ok(None)
    }
}

/// The file as the decoder reads it: each column chunk in one read.
#[derive(Debug, Clone)]
struct Chunks(SharedFile);

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<SharedFile>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(BufReader::new(self.0.at(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let bytes = self.0.read_run(start, length as u64);
        bytes.map(Bytes::from).map_err(ParquetError::from)
    }
}

fn footer(file: &InputFile, meter: &Meter) -> Result<ArrowReaderMetadata, LoadError> {
    let input = file.random_access(meter)?;
    if let Some(fault) = fault(&input).map_err(|e| file.io(e))? {
        return Err(LoadError::NotParquet { file: file.name.clone(), fault });
    }
    let options = ArrowReaderOptions::new()
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    let footer = ArrowReaderMetadata::load(&Chunks(input), options).map_err(|source| {
        LoadError::Parquet { file: file.name.clone(), row_group: None, source }
    })?;
    let metadata = footer.metadata();
    check_rows(file, None, metadata.file_metadata().num_rows(), rows(metadata))?;
    Ok(footer)
}

fn rows(metadata: &ParquetMetaData) -> u64 {
    let groups = metadata.row_groups().iter();
    groups.map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).fold(0, u64::saturating_add)
}

/// The decoder gives what the pages hold, whatever the footer says.
fn check_rows(
    file: &InputFile,
    row_group: Option<usize>,
    stated: i64,
    found: u64,
) -> Result<(), LoadError> {
    if u64::try_from(stated) == Ok(found) {
        return Ok(());
    }
    Err(LoadError::RowsDiffer { file: file.name.clone(), row_group, stated, found })
}

/// What the first and last bytes say.
fn fault(input: &SharedFile) -> std::io::Result<Option<ParquetFault>> {
    let bytes = input.len();
    if bytes < SHORTEST_BYTES {
        return Ok(Some(ParquetFault::TooShort { bytes }));
    }
    let (mut head, mut tail) = ([0; 4], [0; 4]);
    input.at(0).read_exact(&mut head)?;
    input.at(bytes - 4).read_exact(&mut tail)?;
    Ok(match (&head, &tail) {
        (b"PARE", _) | (_, b"PARE") => Some(ParquetFault::Encrypted),
        (b"PAR1", b"PAR1") => None,
        (b"PAR1", _) => Some(ParquetFault::Tail { found: tail, bytes }),
        _ => Some(ParquetFault::Head { found: head }),
    })
}
