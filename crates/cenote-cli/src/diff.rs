//! `cenote diff`: in what two versions of a frame differ.

use std::fmt;

use cenote::{ColumnChange, ColumnStatistics, Diff as Difference, Extreme, Side, Summary, Value};
use cenote_region::quantity::ByteSize;
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde::Serialize;

use crate::args::PoolArgs;
use crate::connect::connect;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::table::{count, grouped};
use crate::which::named;

/// Compare two versions of a frame: columns, rows, bytes, and what is known of the values
///
/// Reads no data: how many values are null and between which they lie was noted as they were
/// written. Bytes that both versions have in the same chunks are there once.
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
    statistics: Vec<SaidStatistics>,
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

#[derive(Debug, Serialize)]
struct SaidStatistics {
    name: String,
    from: Option<SaidSummary>,
    to: Option<SaidSummary>,
}

#[derive(Debug, Serialize, PartialEq)]
struct SaidSummary {
    nulls: Option<u64>,
    has_nan: bool,
    min: Option<SaidValue>,
    max: Option<SaidValue>,
    min_is_exact: bool,
    max_is_exact: bool,
}

/// Numbers and truth values as JSON has them; the rest, and infinity, as text.
#[derive(Debug, Serialize, PartialEq)]
#[serde(untagged)]
enum SaidValue {
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Text(String),
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
        statistics: diff.statistics.iter().map(statistics).collect(),
    }
}

fn statistics(column: &ColumnStatistics) -> SaidStatistics {
    SaidStatistics {
        name: column.name.clone(),
        from: column.from.as_ref().map(summary),
        to: column.to.as_ref().map(summary),
    }
}

fn summary(summary: &Summary) -> SaidSummary {
    let value = |limit: &Option<Extreme>| {
        limit.as_ref().map(|limit| match &limit.value {
            Value::Boolean(value) => SaidValue::Boolean(*value),
            Value::Integer(value) => SaidValue::Integer(*value),
            Value::Float(value) if value.is_finite() => SaidValue::Float(*value),
            other => SaidValue::Text(other.to_string()),
        })
    };
    let is_exact = |limit: &Option<Extreme>| limit.as_ref().is_some_and(|limit| limit.is_exact);
    SaidSummary {
        nulls: summary.nulls,
        has_nan: summary.has_nan,
        min: value(&summary.min),
        max: value(&summary.max),
        min_is_exact: is_exact(&summary.min),
        max_is_exact: is_exact(&summary.max),
    }
}

impl fmt::Display for SaidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SaidValue::Boolean(value) => value.fmt(f),
            SaidValue::Integer(value) => value.fmt(f),
            SaidValue::Float(value) => value.fmt(f),
            SaidValue::Text(value) => value.fmt(f),
        }
    }
}

impl fmt::Display for SaidSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nulls {
            Some(nulls) => write!(f, "{}", count(nulls, "null"))?,
            None => f.write_str("nulls not known")?,
        }
        if let (Some(min), Some(max)) = (&self.min, &self.max) {
            let cut = |is_exact: bool| if is_exact { "" } else { "…" };
            write!(f, ", {min}{}", cut(self.min_is_exact))?;
            if (min, self.min_is_exact) != (max, self.max_is_exact) {
                write!(f, " to {max}{}", cut(self.max_is_exact))?;
            }
        }
        if self.has_nan { f.write_str(", NaN") } else { Ok(()) }
    }
}

/// A line for each column that differs, and one for the others.
fn statistics_text(diff: &Said) -> String {
    let (mut text, mut same) = (String::new(), 0);
    for SaidStatistics { name, from, to } in &diff.statistics {
        let change = match (from, to) {
            (Some(from), Some(to)) if from == to => {
                same += 1;
                continue;
            }
            (Some(from), Some(to)) => format!("{from} -> {to}"),
            (Some(from), None) => format!("{from} -> -"),
            (None, Some(to)) => format!("- -> {to}"),
            (None, None) => continue,
        };
        text += &format!("  {name}: {change}\n");
    }
    if same > 0 {
        text += &format!("  {} with the same values, as far as is known\n", count(same, "column"));
    }
    text
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
    text + &statistics_text(diff)
}
