//! `cenote ls`: the frames of a pool.

use std::time::{SystemTime, UNIX_EPOCH};

use cenote_region::quantity::ByteSize;
use clap::Args;

use crate::args::PoolArgs;
use crate::connect::connect;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::table::{Align, Table, count, grouped, span};

/// List the frames in the pool
///
/// Name, version, rows, columns, bytes in memory, age and source of each, by name. JSON has
/// one object a frame.
#[derive(Debug, Args)]
pub(crate) struct Ls {
    #[command(flatten)]
    format: Format,
}

impl Ls {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let frames = connect(pool)?.frames().map_err(|error| Failure::of_pool(&error))?;
        if self.format.json {
            return output::print_json(&frames);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let mut table = Table::new([
            ("NAME", Align::Left),
            ("VERSION", Align::Right),
            ("ROWS", Align::Right),
            ("COLUMNS", Align::Right),
            ("SIZE", Align::Right),
            ("CREATED", Align::Right),
            ("SOURCE", Align::Left),
        ]);
        for frame in &frames {
            table.row(vec![
                frame.name.clone(),
                frame.version.to_string(),
                grouped(frame.num_rows),
                frame.num_columns.to_string(),
                ByteSize(frame.nbytes).to_string(),
                format!("{} ago", span(now.saturating_sub(frame.created_ns / 1_000_000_000))),
                frame.source.clone(),
            ]);
        }
        let terminal = output::to_terminal();
        if terminal && frames.is_empty() {
            output::note("no frames; `cenote put PATH` makes one");
            return Ok(());
        }
        output::print(&table.render(terminal.then(|| console::Term::stdout().size().1.into())))?;
        if terminal {
            let bytes = frames.iter().map(|frame| ByteSize(frame.nbytes)).sum::<ByteSize>();
            output::note(&format!("{}, {bytes}", count(frames.len() as u64, "frame")));
        }
        Ok(())
    }
}
