//! Decoding a run of row groups, by one thread or, column by column, by several.

use std::sync::mpsc::{Receiver, sync_channel};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;

use super::{Chunks, ParquetFile, ParquetPlan, check_rows, encrypted, int96};
use crate::error::{LoadError, ParquetFault};
use crate::file::InputFile;
use crate::format::{Part, Take};
use crate::storage::SharedFile;

/// Batches that a thread of columns may be ahead of the slowest one.
const AHEAD_BATCHES: usize = 1;

/// What is decoded of one row group.
struct Group<'a> {
    input: &'a SharedFile,
    file: &'a ParquetFile,
    number: usize,
    batch_rows: usize,
}

impl ParquetPlan {
    pub(super) fn decode_groups(
        &self,
        file: &InputFile,
        part: &Part,
        take: &mut Take<'_>,
    ) -> Result<(), LoadError> {
        let input = file.random_access(&self.meter)?;
        let parquet = &self.files[part.file];
        for number in part.range.clone() {
            let metadata = parquet.footer.metadata().row_group(number);
            let rows = usize::try_from(metadata.num_rows()).unwrap_or(0).max(1);
            let row_bytes = usize::try_from(metadata.total_byte_size()).unwrap_or(0) / rows;
            let batch_rows = self.batch_rows.min(self.batch_bytes / row_bytes.max(1)).max(1);
            let stored = u64::try_from(metadata.compressed_size()).unwrap_or(0);
            let fault = |source| {
                let (file, fault) = (file.name.clone(), ParquetFault::EncryptedColumns);
                if encrypted::names_algorithm(&input) {
                    return LoadError::NotParquet { file, fault };
                }
                LoadError::Parquet { file, row_group: Some(number), source }
            };
            let group =
                Group { input: &input, file: parquet, number, batch_rows: batch_rows.min(rows) };
            int96::check(file, &input, parquet, number, group.batch_rows)?;
            let mut found = 0;
            let mut declined = false;
            group.each(self.column_threads, &mut |batch| {
                let batch = batch.map_err(|e| fault(ParquetError::from(e)))?;
                let batch = parquet.fit.conform(file, &batch, &self.schema)?;
                found += batch.num_rows() as u64;
                let share = u128::from(stored) * batch.num_rows() as u128 / rows as u128;
                declined = !take(batch, u64::try_from(share).unwrap_or(stored));
                Ok(!declined)
            })?;
            if declined {
                return Ok(());
            }
            check_rows(file, Some(number), metadata.num_rows(), found)?;
        }
        Ok(())
    }
}

type Batch = Result<RecordBatch, ArrowError>;

impl Group<'_> {
    /// Calls `next` with each batch of the row group until it says no.
    fn each(
        &self,
        threads: usize,
        next: &mut dyn FnMut(Batch) -> Result<bool, LoadError>,
    ) -> Result<(), LoadError> {
        let used = &self.file.used;
        if threads < 2 || used.len() < 2 {
            return each_of(self.reader(used), next);
        }
        let shares = self.shares(threads);
        std::thread::scope(|scope| {
            let mut columns: Vec<Receiver<Batch>> = Vec::new();
            for own in &shares {
                let (sender, receiver) = sync_channel(AHEAD_BATCHES);
                let work = move || {
                    let mut send = |batch: Batch| Ok(sender.send(batch).is_ok());
                    // a receiver that is gone wants no error
                    drop(each_of(self.reader(own), &mut send));
                };
                let name = "cenote-columns".to_owned();
                if let Err(source) =
                    std::thread::Builder::new().name(name).spawn_scoped(scope, work)
                {
                    return Err(LoadError::Thread { source });
                }
                columns.push(receiver);
            }
            loop {
                let parts: Vec<Option<Batch>> = columns.iter().map(|c| c.recv().ok()).collect();
                if parts.iter().all(Option::is_none) || !next(zip(&shares, parts))? {
                    return Ok(());
                }
            }
        })
    }

    fn reader(&self, columns: &[usize]) -> Result<ParquetRecordBatchReader, ParquetError> {
        let footer = self.file.footer.clone();
        let mask = ProjectionMask::roots(footer.parquet_schema(), columns.iter().copied());
        ParquetRecordBatchReaderBuilder::new_with_metadata(Chunks(self.input.clone()), footer)
            .with_projection(mask)
            .with_row_groups(vec![self.number])
            .with_batch_size(self.batch_rows)
            .build()
    }

    /// The columns in as many shares, of about the same stored size. Each rises.
    fn shares(&self, threads: usize) -> Vec<Vec<usize>> {
        let group = self.file.footer.metadata().row_group(self.number);
        let leaves = self.file.footer.parquet_schema();
        let size = |root: usize| -> i64 {
            let of_root = (0..leaves.num_columns())
                .filter(|leaf| leaves.get_column_root_idx(*leaf) == root)
                .map(|leaf| group.column(leaf).compressed_size());
            of_root.fold(1, i64::saturating_add)
        };
        let mut by_size: Vec<(i64, usize)> =
            self.file.used.iter().map(|root| (size(*root), *root)).collect();
        by_size.sort_unstable_by(|a, b| b.cmp(a));
        let mut shares = vec![(0_i64, Vec::new()); threads.min(by_size.len())];
        for (bytes, root) in by_size {
            if let Some(least) = shares.iter_mut().min_by_key(|(taken, _)| *taken) {
                least.0 = least.0.saturating_add(bytes);
                least.1.push(root);
            }
        }
        shares
            .into_iter()
            .map(|(_, mut own)| {
                own.sort_unstable();
                own
            })
            .collect()
    }
}

/// Puts the threads' columns side by side again.
fn zip(shares: &[Vec<usize>], parts: Vec<Option<Batch>>) -> Batch {
    let short = || ArrowError::ParquetError("its columns differ in length".to_owned());
    let mut columns = Vec::new();
    let mut rows = None;
    for (own, part) in shares.iter().zip(parts) {
        let part = part.ok_or_else(short)??;
        if rows.is_some_and(|rows| rows != part.num_rows()) || own.len() != part.num_columns() {
            return Err(short());
        }
        rows = Some(part.num_rows());
        let schema = part.schema();
        for (at, root) in own.iter().enumerate() {
            columns.push((*root, schema.field(at).clone(), part.column(at).clone()));
        }
    }
    columns.sort_unstable_by_key(|(root, ..)| *root);
    let fields: Vec<_> = columns.iter().map(|(_, field, _)| field.clone()).collect();
    let arrays = columns.into_iter().map(|(.., array)| array).collect();
    let options = RecordBatchOptions::new().with_row_count(rows);
    RecordBatch::try_new_with_options(Schema::new(fields).into(), arrays, &options)
}

fn each_of(
    reader: Result<ParquetRecordBatchReader, ParquetError>,
    next: &mut dyn FnMut(Batch) -> Result<bool, LoadError>,
) -> Result<(), LoadError> {
    let reader = match reader {
        Ok(reader) => reader,
        Err(error) => return next(Err(error.into())).map(drop),
    };
    for batch in reader {
        if !next(batch)? {
            break;
        }
    }
    Ok(())
}
