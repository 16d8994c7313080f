//! In what two versions of a frame differ.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field};
use cenote_arrow::stats::ColumnStats;
use cenote_pool::manifest::ChunkRef;

use crate::frame::Frame;

pub use summary::{Extreme, Summary, Value};

mod summary;

/// In what two versions of a frame differ.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Diff {
    /// The frame.
    pub name: String,
    /// One version.
    pub from: Side,
    /// The other.
    pub to: Side,
    /// Bytes of the chunks that both have: they are there once.
    pub shared_bytes: u64,
    /// Columns that differ, in the order of the schemas.
    pub columns: Vec<ColumnChange>,
    /// Whether both have the same columns, in another order.
    pub is_reordered: bool,
    /// What is known of the values of all columns: first those of `from`, in its order.
    pub statistics: Vec<ColumnStatistics>,
}

/// What is known of a column's values in both versions.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatistics {
    /// Its name.
    pub name: String,
    /// In the one version; `None`: it is not there.
    pub from: Option<Summary>,
    /// In the other.
    pub to: Option<Summary>,
}

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Its version.
    pub version: u64,
    /// Its rows.
    pub num_rows: u64,
    /// Bytes of its chunks.
    pub nbytes: u64,
    /// Its partitions.
    pub num_partitions: u64,
    /// When it was committed, in nanoseconds since 1970.
    pub created_ns: u64,
}

/// A column that is in one version only, or is another in the other one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnChange {
    /// Its name.
    pub name: String,
    /// What it was; `None`: it was not there.
    pub from: Option<(DataType, bool)>,
    /// What it is, and whether it may be null; `None`: it is not there.
    pub to: Option<(DataType, bool)>,
}

impl Diff {
    pub(crate) fn between(from: &Frame, to: &Frame) -> Diff {
        let entries: HashSet<_> = from.version.chunks().map(|c| (c.entry, c.checksum)).collect();
        let shared = to.version.chunks().filter(|c| entries.contains(&(c.entry, c.checksum)));
        let shared_bytes = shared.map(|chunk| chunk.length).sum();
        let (old, new) = (from.schema().fields(), to.schema().fields());
        let what = |field: &Field| (field.data_type().clone(), field.is_nullable());
        let mut columns = Vec::new();
        for field in old {
            let other = new.iter().find(|other| other.name() == field.name());
            let (from, to) = (Some(what(field)), other.map(|field| what(field)));
            if from != to {
                columns.push(ColumnChange { name: field.name().clone(), from, to });
            }
        }
        for field in new.iter().filter(|f| !old.iter().any(|o| o.name() == f.name())) {
            let (name, to) = (field.name().clone(), Some(what(field)));
            columns.push(ColumnChange { name, from: None, to });
        }
        let is_moved = old.iter().zip(new).any(|(old, new)| old.name() != new.name());
        Diff {
            name: to.name().to_owned(),
            from: side(from),
            to: side(to),
            shared_bytes,
            is_reordered: columns.is_empty() && is_moved,
            columns,
            statistics: statistics(from, to),
        }
    }
}

impl Frame {
    /// Whether an earlier version's partitions, if it has any, come first in this one, as the same
    /// bytes: the rows after them are all that is new. Both frames must be whole.
    #[must_use]
    pub fn goes_on_from(&self, earlier: &Frame) -> bool {
        let (own, other) = (&self.version, &earlier.version);
        let partitions = other.num_partitions();
        let key = |chunk: &ChunkRef| (chunk.entry, chunk.checksum);
        partitions > 0
            && own.num_partitions() >= partitions
            && own.starts[..=partitions] == other.starts[..]
            && own.schema == other.schema
            && own.num_chunks() >= other.num_chunks()
            && own.chunks().zip(other.chunks()).all(|(a, b)| key(a) == key(b))
    }
}

fn statistics(from: &Frame, to: &Frame) -> Vec<ColumnStatistics> {
    let of = |frame: &Frame| -> Vec<(String, Summary)> {
        let fields = frame.schema().fields().iter().zip(frame.version.all_statistics());
        let one = |(field, stats): (&Arc<Field>, ColumnStats)| {
            (field.name().clone(), Summary::new(&stats, field.data_type()))
        };
        fields.map(one).collect()
    };
    let (old, mut new) = (of(from), of(to));
    let mut all = Vec::with_capacity(old.len());
    for (name, from) in old {
        let at = new.iter().position(|(other, _)| *other == name);
        let to = at.map(|at| new.remove(at).1);
        all.push(ColumnStatistics { name, from: Some(from), to });
    }
    let added = |(name, to)| ColumnStatistics { name, from: None, to: Some(to) };
    all.extend(new.into_iter().map(added));
    all
}

fn side(frame: &Frame) -> Side {
    Side {
        version: frame.version(),
        num_rows: frame.num_rows(),
        nbytes: frame.nbytes(),
        num_partitions: frame.num_partitions() as u64,
        created_ns: frame.created_ns(),
    }
}
