//! `cenote get`: a frame, to look at or into a file.

mod rows;
mod show;

use std::path::PathBuf;

use arrow_array::RecordBatch;
use cenote::{Error, Frame, Pool, Predicate, Selection};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::args::PoolArgs;
use crate::connect::connect;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, Format};
use crate::save::{Destination, save};
use crate::which::WhichArgs;
use rows::Rows;

const AFTER_HELP: &str = "\
Examples:
  cenote get prices                                   its schema and first 10 rows
  cenote get prices --columns date,close --head 50
  cenote get prices --where \"date >= '2017-01-01' and close > 100\"
  cenote get prices --rows 1000..2000 -o part.csv     into a file
  cenote get prices -o prices.jsonl.zst
  cenote get prices --format csv -o - | head          to standard output
  cenote get prices --as-of 2026-01-31 -o then.parquet
  cenote get prices --json | jq .schema

Files: .parquet, .arrow (Arrow IPC file), .arrows (stream), .csv, .jsonl; the last two also with
.gz or .zst. A type that a format cannot say is refused with its column. CSV and JSON keep values,
not types: `NaN` becomes null in JSON. Rows count from 0; `A..B` goes up to and without B. A file
appears only once it is whole.";

/// Rows that are shown unless the user says how many.
const HEAD: u64 = 10;
/// A name that moves is looked up so often before what is found is shown as it is.
const TRIES_MAX: usize = 10;

/// Show a frame's schema and first rows, or write it into a file
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Get {
    /// The frame
    #[arg(add = ArgValueCompleter::new(crate::complete::frames))]
    name: String,
    /// Write into this file instead, by its ending; or - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What to write, whatever the ending: parquet, arrow, arrows, csv or jsonl
    #[arg(long = "format", value_name = "FORMAT", requires = "output")]
    kind: Option<String>,
    /// Only these columns, in this order
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    columns: Option<Vec<String>>,
    /// Only these rows
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    rows: Option<Rows>,
    /// Of these rows, only those for which this is true
    #[arg(long = "where", value_name = "PREDICATE")]
    predicate: Option<Predicate>,
    /// Only so many rows [default: 10 where they are shown]
    #[arg(long, value_name = "N")]
    head: Option<u64>,
    #[command(flatten)]
    which: WhichArgs,
    #[command(flatten)]
    format: Format,
}

impl Get {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let destination = self.output.as_deref();
        let destination =
            destination.map(|path| Destination::at(path, self.kind.as_deref())).transpose()?;
        let pool = connect(pool)?;
        match destination {
            Some(destination) => self.write(&pool, &destination),
            None => self.show(&pool),
        }
    }

    fn selection(&self) -> Selection {
        Selection {
            columns: self.columns.clone(),
            rows: self.rows.map(|rows| rows.bounds()),
            predicate: self.predicate.clone(),
            which: self.which.which(),
        }
    }

    /// The selection's first rows.
    fn head(&self, rows: u64) -> Selection {
        let mut selection = self.selection();
        let (start, stop) = selection.rows.unwrap_or((0, i64::MAX));
        let end = start.saturating_add(i64::try_from(rows).unwrap_or(i64::MAX));
        // Rows that make no sense are left as they are, to be refused.
        selection.rows = Some((start, if stop < start { stop } else { stop.min(end) }));
        selection
    }

    fn write(&self, pool: &Pool, destination: &Destination) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let plain = self.head.filter(|_| self.predicate.is_none());
        let selection = plain.map_or_else(|| self.selection(), |rows| self.head(rows));
        let frame = pool.get_selected(&self.name, &selection).map_err(|e| Failure::of_pool(&e))?;
        let frame = frame.head(self.head.unwrap_or(u64::MAX));
        let written = save(&frame, destination, &interrupt, !self.format.json)?;
        if destination.is_standard_output() {
            return Ok(());
        }
        if self.format.json { output::print_json(&written) } else { output::print(&written.line()) }
    }

    fn show(&self, pool: &Pool) -> Result<(), Failure> {
        let (frame, head) = self.open(pool).map_err(|error| Failure::of_pool(&error))?;
        if self.format.json {
            return output::print_json(&show::json(&frame, &head)?);
        }
        let width = output::to_terminal().then(|| console::Term::stdout().size().1.into());
        output::print(&show::text(&frame, &head, width)?)
    }

    /// The frame, and the rows of it that are shown. They are opened apart, so that only
    /// their bytes are looked at, and must be of one version.
    fn open(&self, pool: &Pool) -> Result<(Frame, Vec<RecordBatch>), Error> {
        let mut tries = 0;
        loop {
            let frame = pool.get_selected(&self.name, &self.selection())?;
            if self.predicate.is_some() {
                let head = frame.head(self.head.unwrap_or(HEAD)).batches()?;
                return Ok((frame, head));
            }
            let head = pool.get_selected(&self.name, &self.head(self.head.unwrap_or(HEAD)))?;
            if frame.version() == head.version() || tries == TRIES_MAX {
                return Ok((frame, head.batches()?));
            }
            tries += 1;
        }
    }
}
