//! Parquet: footers are read at opening, row groups are decoded one after the other.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Metadata, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetStatisticsPolicy};

use crate::error::{LoadError, ParquetFault};
use crate::file::InputFile;
use crate::join::{column_order, conform};
use crate::meter::Meter;
use crate::options::Options;

/// Magic, footer length, magic.
const SHORTEST_BYTES: u64 = 12;

/// Row groups smaller than this are decoded together.
const SMALL_GROUP_BYTES: i64 = 1 << 20;

/// All that decoding needs.
#[derive(Debug, Clone)]
pub(crate) struct ParquetPlan {
    pub(crate) schema: SchemaRef,
    files: Vec<ParquetFile>,
    batch_rows: usize,
    batch_bytes: usize,
}

#[derive(Debug, Clone)]
struct ParquetFile {
    footer: ArrowReaderMetadata,
    /// For each column of the schema, which one of the file it is; none: the same.
    order: Option<Vec<usize>>,
}

impl ParquetPlan {
    pub(crate) fn new(
        files: &[InputFile],
        options: &Options,
        meter: &Meter,
    ) -> Result<Self, LoadError> {
        if options.schema.is_some() {
            return Err(LoadError::DeclaredForParquet { file: files[0].name.clone() });
        }
        let mut fields: Vec<Field> = Vec::new();
        let mut metadata = Metadata::default();
        let mut parts: Vec<ParquetFile> = Vec::new();
        for file in files {
            if meter.cancelled() {
                return Err(LoadError::Cancelled);
            }
            let footer = file.guarded(|| footer(file))?;
            let schema = footer.schema().clone();
            let mut order = None;
            if parts.is_empty() {
                fields = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
                metadata = schema.metadata().clone();
            } else {
                order = merge(&mut fields, &schema, files, file)?;
                metadata = common(&metadata, schema.metadata());
            }
            parts.push(ParquetFile { footer, order });
            meter.add_bytes(file.bytes);
        }
        Ok(Self {
            schema: Arc::new(Schema::new_with_metadata(fields, metadata)),
            files: parts,
            batch_rows: options.batch_rows(),
            batch_bytes: options.batch_bytes,
        })
    }

    pub(crate) fn rows(&self) -> u64 {
        let files = self.files.iter().map(|file| rows(file.footer.metadata()));
        files.fold(0, u64::saturating_add)
    }

    /// Runs of row groups that are decoded apart.
    pub(crate) fn parts(&self, index: usize, file: &InputFile) -> Vec<Range<usize>> {
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

    /// Decodes a run of row groups and hands on each batch with its share of the stored
    /// bytes, until `take` declines.
    pub(crate) fn decode(
        &self,
        file: &InputFile,
        index: usize,
        groups: Range<usize>,
        take: &mut dyn FnMut(RecordBatch, u64) -> bool,
    ) -> Result<(), LoadError> {
        let input = file.random_access()?;
        let part = &self.files[index];
        for number in groups {
            let fault = |source| LoadError::Parquet {
                file: file.name.clone(),
                row_group: Some(number),
                source,
            };
            let group = part.footer.metadata().row_group(number);
            let rows = usize::try_from(group.num_rows()).unwrap_or(0).max(1);
            let row_bytes = usize::try_from(group.total_byte_size()).unwrap_or(0) / rows;
            let batch_rows = self.batch_rows.min(self.batch_bytes / row_bytes.max(1)).max(1);
            let stored = u64::try_from(group.compressed_size()).unwrap_or(0);
            let input = input.try_clone().map_err(|e| file.io(e))?;
            let reader =
                ParquetRecordBatchReaderBuilder::new_with_metadata(input, part.footer.clone())
                    .with_row_groups(vec![number])
                    .with_batch_size(batch_rows.min(rows))
                    .build()
                    .map_err(fault)?;
            let mut found = 0;
            for batch in reader {
                let batch = batch
                    .and_then(|batch| conform(batch, &self.schema, part.order.as_deref()))
                    .map_err(|e| fault(ParquetError::from(e)))?;
                found += batch.num_rows() as u64;
                let share = u128::from(stored) * batch.num_rows() as u128 / rows as u128;
                if !take(batch, u64::try_from(share).unwrap_or(stored)) {
                    return Ok(());
                }
            }
            check_rows(file, Some(number), group.num_rows(), found)?;
        }
        Ok(())
    }
}

/// Takes a file's schema into the common one: the same names and types, nullable where any is.
fn merge(
    fields: &mut [Field],
    schema: &Schema,
    files: &[InputFile],
    file: &InputFile,
) -> Result<Option<Vec<usize>>, LoadError> {
    let (first, name) = (&files[0].name, &file.name);
    let columns: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
    let found: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let order = column_order(first, &columns, name, &found)?;
    for (at, field) in fields.iter_mut().enumerate() {
        let other = schema.field(order.as_ref().map_or(at, |order| order[at]));
        if field.data_type() != other.data_type() {
            return Err(LoadError::TypesDiffer {
                file: name.clone(),
                first: first.clone(),
                column: field.name().clone(),
                wanted: field.data_type().clone(),
                found: other.data_type().clone(),
            });
        }
        field.set_metadata(common(field.metadata(), other.metadata()));
        field.set_nullable(field.is_nullable() || other.is_nullable());
    }
    Ok(order)
}

/// What the files do not all say is not said of the whole.
fn common(one: &Metadata, other: &Metadata) -> Metadata {
    let both = one.iter().filter(|(key, value)| other.get(key) == Some(*value));
    both.map(|(key, value)| (key.clone(), value.clone())).collect::<BTreeMap<_, _>>().into()
}

fn footer(file: &InputFile) -> Result<ArrowReaderMetadata, LoadError> {
    let input = file.random_access()?;
    if let Some(fault) = fault(&input).map_err(|e| file.io(e))? {
        return Err(LoadError::NotParquet { file: file.name.clone(), fault });
    }
    let options = ArrowReaderOptions::new()
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    let footer = ArrowReaderMetadata::load(&input, options).map_err(|source| {
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
fn fault(input: &File) -> std::io::Result<Option<ParquetFault>> {
    let bytes = input.metadata()?.len();
    if bytes < SHORTEST_BYTES {
        return Ok(Some(ParquetFault::TooShort { bytes }));
    }
    let (mut head, mut tail) = ([0; 4], [0; 4]);
    input.read_exact_at(&mut head, 0)?;
    input.read_exact_at(&mut tail, bytes - 4)?;
    Ok(match (&head, &tail) {
        (b"PARE", _) | (_, b"PARE") => Some(ParquetFault::Encrypted),
        (b"PAR1", b"PAR1") => None,
        (b"PAR1", _) => Some(ParquetFault::Tail { found: tail, bytes }),
        _ => Some(ParquetFault::Head { found: head }),
    })
}
