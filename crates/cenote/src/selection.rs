//! Which part of a frame is wanted, and which chunks that takes.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use cenote_pool::message::Which;

use crate::error::Error;
use crate::filter::Plan;
use crate::frame::FrameRef;
use crate::predicate::Predicate;
use crate::version::Version;

/// Which part of a frame is wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Names of columns, in the order wanted; all if `None`.
    pub columns: Option<Vec<String>>,
    /// Rows, as (first, one past the last); all if `None`. May end beyond the last row.
    pub rows: Option<(i64, i64)>,
    /// Of these rows, those for which it is true; it may name any column.
    pub predicate: Option<Predicate>,
    /// Of which version; the current one unless said.
    pub which: Which,
}

/// What is wanted of a version: by a user's words, or a reference's numbers.
pub(crate) enum Asked<'a> {
    Selection(&'a Selection),
    Reference(&'a FrameRef),
}

/// What is wanted of a version.
#[derive(Debug)]
pub(crate) struct Target {
    /// Numbers of columns; all if `None`.
    pub(crate) columns: Option<Vec<u32>>,
    pub(crate) rows: Range<u64>,
    pub(crate) plan: Option<Plan>,
}

impl Target {
    pub(crate) fn new(version: &Version, name: &str, asked: &Asked<'_>) -> Result<Target, Error> {
        let (columns, rows, predicate) = match asked {
            Asked::Selection(selection) => {
                let (columns, rows) = select(version, name, selection)?;
                (columns, rows, selection.predicate.clone())
            }
            Asked::Reference(reference) => refer(version, reference)?,
        };
        let plan = match predicate {
            None => None,
            Some(predicate) => {
                let bound = predicate.bind(&version.schema, None, name)?;
                let partitions = (0..version.num_partitions()).filter(|partition| {
                    let (start, end) = (version.starts[*partition], version.starts[partition + 1]);
                    start < rows.end && end > rows.start
                });
                Some(Plan::new(version, predicate, bound, partitions))
            }
        };
        Ok(Target { columns, rows, plan })
    }

    /// Whether it is all of the version.
    pub(crate) fn is_whole(&self, version: &Version) -> bool {
        self.columns.is_none() && self.plan.is_none() && self.rows == (0..version.num_rows())
    }

    /// The chunks that it takes, in order; `None` for all.
    pub(crate) fn chunks(&self, version: &Version) -> Option<Vec<u32>> {
        if self.is_whole(version) {
            return None;
        }
        let all: Vec<u32>;
        let columns = match &self.columns {
            Some(columns) => columns,
            None => {
                all = (0..u32::try_from(version.num_columns()).unwrap_or(u32::MAX)).collect();
                &all
            }
        };
        let mut chunks = Vec::new();
        let mut add = |partition: usize, columns: &[u32]| {
            let of = |column: &u32| version.chunk_of(partition, *column as usize);
            chunks.extend(columns.iter().filter_map(of));
        };
        match &self.plan {
            Some(plan) => {
                for (partition, all_rows) in &plan.kept {
                    add(*partition, columns);
                    if !all_rows {
                        add(*partition, &plan.columns);
                    }
                }
            }
            None => {
                for partition in 0..version.num_partitions() {
                    let (start, end) = (version.starts[partition], version.starts[partition + 1]);
                    if start < self.rows.end && end > self.rows.start {
                        add(partition, columns);
                    }
                }
            }
        }
        chunks.sort_unstable();
        chunks.dedup();
        Some(chunks)
    }
}

type Numbered = (Option<Vec<u32>>, Range<u64>, Option<Predicate>);

/// Resolves a reference against a version.
fn refer(version: &Version, reference: &FrameRef) -> Result<Numbered, Error> {
    let columns = reference.columns.clone();
    let beyond = |column: &u32| *column as usize >= version.num_columns();
    if columns.as_ref().is_some_and(|columns| columns.iter().any(beyond)) {
        return Err(Error::Reference);
    }
    let (start, end) = reference.rows;
    let start = start.min(version.num_rows());
    let rows = start..end.clamp(start, version.num_rows());
    let predicate = reference.predicate.as_deref().map(Predicate::parse).transpose()?;
    Ok((columns, rows, predicate))
}

/// Resolves a selection against a version: indices of columns, and rows that exist.
fn select(
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
