//! Files side by side: their columns matched by name, their small batches joined.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;

use crate::error::LoadError;
use crate::file::FileName;

/// For each of the first file's columns, which one of this file it is; none: the same place.
///
/// # Errors
/// [`LoadError::ColumnsDiffer`]; [`LoadError::AmbiguousColumn`] where a name occurs twice
/// and the columns do not stand in the same order anyway.
pub(crate) fn column_order(
    first: &FileName,
    columns: &[String],
    file: &FileName,
    found: &[String],
) -> Result<Option<Vec<usize>>, LoadError> {
    if columns == found {
        return Ok(None);
    }
    let index = |names: &[String], place: &FileName| {
        let mut index = HashMap::new();
        for (at, name) in names.iter().enumerate() {
            if index.insert(name.clone(), at).is_some() {
                let (file, first) = (place.clone(), first.clone());
                return Err(LoadError::AmbiguousColumn { file, first, column: name.clone() });
            }
        }
        Ok(index)
    };
    let (wanted, places) = (index(columns, first)?, index(found, file)?);
    let without = |names: &[String], other: &HashMap<String, usize>| -> Vec<String> {
        names.iter().filter(|name| !other.contains_key(*name)).cloned().collect()
    };
    let (missing, additional) = (without(columns, &places), without(found, &wanted));
    if missing.is_empty() && additional.is_empty() {
        return Ok(Some(columns.iter().map(|name| places[name]).collect()));
    }
    let (file, first) = (file.clone(), first.clone());
    Err(LoadError::ColumnsDiffer { file, first, missing, additional })
}

/// Joins small batches.
///
/// What it gives is at most `rows` long (a longer one passes as it is), and no further
/// batch is joined to more than `bytes`.
/// Cost: rows of a batch under half of `rows` are copied once; longer ones are not.
#[derive(Debug)]
pub(crate) struct Joiner {
    schema: SchemaRef,
    rows: usize,
    bytes: usize,
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
    waiting_bytes: usize,
    ready: std::collections::VecDeque<RecordBatch>,
}

impl Joiner {
    pub(crate) fn new(schema: SchemaRef, rows: usize, bytes: usize) -> Self {
        Self {
            schema,
            rows,
            bytes,
            waiting: Vec::new(),
            waiting_rows: 0,
            waiting_bytes: 0,
            ready: std::collections::VecDeque::new(),
        }
    }

    pub(crate) fn push(&mut self, batch: RecordBatch) {
        let (rows, bytes) = (batch.num_rows(), batch.get_array_memory_size());
        if rows == 0 {
            return;
        }
        if self.waiting_rows + rows > self.rows || self.waiting_bytes + bytes > self.bytes {
            self.finish();
        }
        self.waiting.push(batch);
        self.waiting_rows += rows;
        self.waiting_bytes += bytes;
        if self.waiting_rows > self.rows / 2 && self.waiting.len() == 1 {
            self.finish();
        }
    }

    /// Nothing more comes, or fits: what waits is ready.
    pub(crate) fn finish(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        (self.waiting_rows, self.waiting_bytes) = (0, 0);
        match waiting.len() {
            0 | 1 => self.ready.extend(waiting),
            // dictionaries whose keys are too narrow for both stay apart
            _ => match concat_batches(&self.schema, &waiting) {
                Ok(joined) => self.ready.push_back(joined),
                Err(_) => self.ready.extend(waiting),
            },
        }
    }

    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.ready.clear();
    }

    pub(crate) fn pop(&mut self) -> Option<RecordBatch> {
        self.ready.pop_front()
    }
}
