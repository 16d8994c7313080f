//! The last step over every decoded batch: columns that are made of the files' paths, and
//! the choice of columns.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{FieldRef, Schema, SchemaRef};

use crate::error::LoadError;
use crate::file::InputFile;
use crate::hive::PathColumn;
use crate::options::Options;

/// Which columns come out, and where each is from.
#[derive(Debug, Clone)]
pub(crate) struct Finish {
    schema: SchemaRef,
    /// None: every decoded column as it is.
    columns: Option<Vec<From>>,
}

#[derive(Debug, Clone)]
enum From {
    Decoded(usize),
    Path(PathColumn),
}

impl Finish {
    /// Those of the paths come after those of the files.
    ///
    /// # Errors
    /// [`LoadError::NoSuchColumn`]: one that was asked for is neither in the files nor in
    /// their paths; [`LoadError::PathColumn`]: one is in both.
    pub(crate) fn new(
        decoded: &SchemaRef,
        paths: Vec<PathColumn>,
        files: &[InputFile],
        options: &Options,
    ) -> Result<Self, LoadError> {
        if paths.is_empty() && options.columns.is_none() {
            return Ok(Self { schema: decoded.clone(), columns: None });
        }
        let fields = decoded.fields().iter().cloned();
        let mut all: Vec<(FieldRef, From)> =
            fields.enumerate().map(|(at, field)| (field, From::Decoded(at))).collect();
        for column in paths {
            if decoded.field_with_name(column.field.name()).is_ok() {
                let (file, column) = (files[0].name.clone(), column.field.name().clone());
                return Err(LoadError::PathColumn { file, column });
            }
            all.push((column.field.clone(), From::Path(column)));
        }
        if let Some(wanted) = &options.columns {
            let find = |name: &String| {
                let found = all.iter().find(|(field, _)| field.name() == name).cloned();
                let known = || all.iter().map(|(field, _)| field.name().clone()).collect();
                found.ok_or_else(|| LoadError::NoSuchColumn {
                    file: files[0].name.clone(),
                    column: name.clone(),
                    known: known(),
                })
            };
            all = wanted.iter().map(find).collect::<Result<_, _>>()?;
        }
        let (fields, columns): (Vec<FieldRef>, _) = all.into_iter().unzip();
        let schema = Schema::new_with_metadata(fields, decoded.metadata().clone());
        Ok(Self { schema: Arc::new(schema), columns: Some(columns) })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// A batch of a file as it is given out.
    pub(crate) fn batch(
        &self,
        input: &InputFile,
        file: usize,
        batch: RecordBatch,
    ) -> Result<RecordBatch, LoadError> {
        let Some(columns) = &self.columns else { return Ok(batch) };
        let rows = batch.num_rows();
        let columns = columns.iter().map(|from| match from {
            From::Decoded(at) => Ok(batch.column(*at).clone()),
            From::Path(column) => column.of(file, rows),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = columns.collect::<Result<Vec<_>, _>>().and_then(|columns| {
            RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
        });
        batch.map_err(|source| LoadError::Batch { file: input.name.clone(), source })
    }
}
