//! Which part of a frame is wanted, and which chunks that takes.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};

use crate::error::Error;
use crate::version::Version;

/// Which part of a frame is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Names of columns, in the order wanted; all if `None`.
    pub columns: Option<Vec<String>>,
    /// Rows, as (first, one past the last); all if `None`. May end beyond the last row.
    pub rows: Option<(i64, i64)>,
}

/// The chunks of a selection, in order; `None` for all.
pub(crate) fn needed(
    version: &Version,
    columns: Option<&[u32]>,
    rows: &Range<u64>,
) -> Option<Vec<u32>> {
    if columns.is_none() && *rows == (0..version.num_rows()) {
        return None;
    }
    let all: Vec<u32>;
    let columns = match columns {
        Some(columns) => columns,
        None => {
            all = (0..u32::try_from(version.num_columns()).unwrap_or(u32::MAX)).collect();
            &all
        }
    };
    let mut chunks = Vec::new();
    for partition in 0..version.num_partitions() {
        let (start, end) = (version.starts[partition], version.starts[partition + 1]);
        if start >= rows.end || end <= rows.start {
            continue;
        }
        let of = |column: &u32| version.chunk_of(partition, *column as usize);
        chunks.extend(columns.iter().filter_map(of));
    }
    chunks.sort_unstable();
    chunks.dedup();
    Some(chunks)
}

/// Resolves a selection against a version: indices of columns, and rows that exist.
pub(crate) fn select(
    version: &Version,
    name: &str,
    selection: &Selection,
) -> Result<(Option<Vec<u32>>, Range<u64>), Error> {
    let columns = match &selection.columns {
        None => None,
        Some(names) => Some(
            names
                .iter()
                .map(|c| find_column(&version.schema, name, c))
                .collect::<Result<Vec<_>, _>>()?,
        ),
    };
    let total = version.num_rows();
    let rows = match selection.rows {
        None => 0..total,
        Some((start, stop)) => {
            let bound = |row: i64| u64::try_from(row).ok();
            match (bound(start), bound(stop)) {
                (Some(start), Some(stop)) if start <= stop && start <= total => {
                    start..stop.min(total)
                }
                _ => {
                    return Err(Error::Rows { frame: name.to_owned(), start, stop, rows: total });
                }
            }
        }
    };
    Ok((columns, rows))
}

/// The index of a column by its name.
pub(crate) fn find_column(schema: &Schema, frame: &str, column: &str) -> Result<u32, Error> {
    let at = schema.fields().iter().position(|field| field.name() == column);
    at.and_then(|at| u32::try_from(at).ok()).ok_or_else(|| Error::NoColumn {
        frame: frame.to_owned(),
        column: column.chars().take(80).collect(),
        known: schema.fields().iter().map(|f: &Arc<Field>| f.name().clone()).collect(),
    })
}

/// The schema of some columns.
pub(crate) fn project(schema: &Schema, columns: &[u32]) -> SchemaRef {
    let fields: Vec<_> = columns.iter().map(|c| schema.fields()[*c as usize].clone()).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
