//! `cenote diff`: in what two versions of a frame differ.

use cenote::{ColumnChange, Diff as Difference, Side};
use cenote_region::quantity::ByteSize;
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde::Serialize;

use crate::args::PoolArgs;
use crate::connect::connect;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::table::grouped;
use crate::which::named;

/// Compare two versions of a frame: columns, rows, bytes
///
/// Reads no data. Bytes that both versions have in the same chunks are there once.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The frame
    #[arg(add = ArgValueCompleter::new(crate::complete::frames))]
    name: String,
    /// A version, by its number or tag
    a: String,
    /// Another one
    b: String,
    #[command(flatten)]
    format: Format,
}

/// As JSON says it.
#[derive(Debug, Serialize)]
struct Said {
    name: String,
    from: SaidSide,
    to: SaidSide,
    shared_bytes: u64,
    is_reordered: bool,
    columns: Vec<SaidColumn>,
}

#[derive(Debug, Serialize)]
struct SaidSide {
    version: u64,
    num_rows: u64,
    nbytes: u64,
    num_partitions: u64,
    created_ns: u64,
}

#[derive(Debug, Serialize)]
struct SaidColumn {
    name: String,
    from: Option<String>,
    to: Option<String>,
}

impl Diff {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let diff = connect(pool)?.diff(&self.name, named(&self.a), named(&self.b));
        let diff = said(&diff.map_err(|error| Failure::of_pool(&error))?);
        if self.format.json { output::print_json(&diff) } else { output::print(&text(&diff)) }
    }
}

fn said(diff: &Difference) -> Said {
    let side = |side: &Side| SaidSide {
        version: side.version,
        num_rows: side.num_rows,
        nbytes: side.nbytes,
        num_partitions: side.num_partitions,
        created_ns: side.created_ns,
    };
    let kind = |what: &Option<(arrow_schema::DataType, bool)>| {
        what.as_ref().map(|(kind, null)| format!("{kind}{}", if *null { "" } else { " not null" }))
    };
    let column = |column: &ColumnChange| SaidColumn {
        name: column.name.clone(),
        from: kind(&column.from),
        to: kind(&column.to),
    };
    Said {
        name: diff.name.clone(),
        from: side(&diff.from),
        to: side(&diff.to),
        shared_bytes: diff.shared_bytes,
        is_reordered: diff.is_reordered,
        columns: diff.columns.iter().map(column).collect(),
    }
}

fn text(diff: &Said) -> String {
    let (from, to) = (&diff.from, &diff.to);
    let mut text = format!("{} v{} -> v{}\n", diff.name, from.version, to.version);
    let mut line = |what: &str, old: String, new: String| {
        let change = if old == new { format!("{old}, both") } else { format!("{old} -> {new}") };
        text += &format!("  {what:<11} {change}\n");
    };
    line("rows", grouped(from.num_rows), grouped(to.num_rows));
    line("partitions", grouped(from.num_partitions), grouped(to.num_partitions));
    line("size", ByteSize(from.nbytes).to_string(), ByteSize(to.nbytes).to_string());
    text += &format!("  {:<11} {}\n", "shared", ByteSize(diff.shared_bytes));
    for SaidColumn { name, from, to } in &diff.columns {
        let change = match (from, to) {
            (None, Some(to)) => format!("+ {name}: {to}"),
            (Some(from), None) => format!("- {name}: {from}"),
            (Some(from), Some(to)) => format!("~ {name}: {from} -> {to}"),
            (None, None) => continue,
        };
        text += &format!("  {change}\n");
    }
    if diff.columns.is_empty() {
        text += if diff.is_reordered {
            "  columns     the same, in another order\n"
        } else {
            "  columns     the same\n"
        };
    }
    text
}
