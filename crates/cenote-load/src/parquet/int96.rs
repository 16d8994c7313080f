//! Times in INT96, which Impala and older Spark write: a day and nanoseconds, so a wider range
//! than the nanoseconds that they become. The decoder wraps what does not fit; so such columns
//! are read in seconds first.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampSecondType;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Type;
use parquet::errors::ParquetError;

use super::{Chunks, ParquetFile};
use crate::error::LoadError;
use crate::file::InputFile;
use crate::storage::SharedFile;

const NANOS_A_SECOND: i64 = 1_000_000_000;

/// Refuses a row group with a time in INT96 that nanoseconds do not reach. Columns inside
/// lists and structs are not looked at.
pub(super) fn check(
    file: &InputFile,
    input: &SharedFile,
    parquet: &ParquetFile,
    number: usize,
    batch_rows: usize,
) -> Result<(), LoadError> {
    let footer = &parquet.footer;
    let roots = roots(parquet);
    if roots.is_empty() {
        return Ok(());
    }
    let fault = |source: ParquetError| LoadError::Parquet {
        file: file.name.clone(),
        row_group: Some(number),
        source,
    };
    let fields = footer.schema().fields().iter().enumerate().map(|(at, field)| {
        if roots.contains(&at) {
            let seconds = DataType::Timestamp(TimeUnit::Second, None);
            Arc::new(Field::new(field.name(), seconds, field.is_nullable()))
        } else {
            field.clone()
        }
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true).with_schema(schema);
    let wide = ArrowReaderMetadata::try_new(footer.metadata().clone(), options).map_err(fault)?;
    let mask = ProjectionMask::roots(wide.parquet_schema(), roots);
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(Chunks(input.clone()), wide)
        .with_projection(mask)
        .with_row_groups(vec![number])
        .with_batch_size(batch_rows)
        .build()
        .map_err(fault)?;
    for batch in reader {
        let batch = batch.map_err(|error| fault(error.into()))?;
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let Some(times) = column.as_primitive_opt::<TimestampSecondType>() else { continue };
            // the first and last second that nanoseconds hold whole
            let (first, last) = (i64::MIN / NANOS_A_SECOND, i64::MAX / NANOS_A_SECOND - 1);
            if let Some(seconds) = times.iter().flatten().find(|s| !(first..=last).contains(s)) {
                let (file, column) = (file.name.clone(), field.name().clone());
                return Err(LoadError::Int96 { file, row_group: number, column, seconds });
            }
        }
    }
    Ok(())
}

fn roots(parquet: &ParquetFile) -> Vec<usize> {
    let leaves = parquet.footer.parquet_schema();
    (0..leaves.num_columns())
        .filter(|leaf| {
            let column = leaves.column(*leaf);
            column.physical_type() == Type::INT96
                && column.path().parts().len() == 1
                && column.max_rep_level() == 0
        })
        .map(|leaf| leaves.get_column_root_idx(leaf))
        .filter(|root| parquet.used.contains(root))
        .collect()
}
