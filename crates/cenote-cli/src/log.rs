//! `cenote log`: the versions of a frame, and what made them.

use cenote::{Keep, Made, VersionInfo, VersionState};
use cenote_region::quantity::ByteSize;
use clap::Args;
use clap_complete::ArgValueCompleter;

use crate::args::PoolArgs;
use crate::connect::connect;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::table::{Align, Table, grouped};

/// List the versions of a frame and what made them
///
/// The newest comes first. A version that is `gone` is only remembered; `cenote keep` says how
/// many are kept, `cenote tag` keeps one by a name. Times are UTC. JSON has all that is known:
/// process, user, host, files, inputs.
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// The frame
    #[arg(add = ArgValueCompleter::new(crate::complete::frames))]
    name: String,
    #[command(flatten)]
    format: Format,
}

impl Log {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let log = connect(pool)?.log(&self.name).map_err(|error| Failure::of_pool(&error))?;
        if self.format.json {
            return output::print_json(&log);
        }
        let mut table = Table::new([
            ("VERSION", Align::Right),
            ("STATE", Align::Left),
            ("ROWS", Align::Right),
            ("SIZE", Align::Right),
            ("CREATED", Align::Left),
            ("BY", Align::Left),
            ("TAGS", Align::Left),
            ("MADE OF", Align::Left),
        ]);
        for version in log.versions.iter().rev() {
            table.row(row(version));
        }
        let terminal = output::to_terminal();
        output::print(&table.render(terminal.then(|| console::Term::stdout().size().1.into())))?;
        if terminal {
            output::note(&kept(log.keep));
        }
        Ok(())
    }
}

fn row(version: &VersionInfo) -> Vec<String> {
    let state = match version.state {
        VersionState::Current => "current",
        VersionState::Kept => "kept",
        VersionState::Gone => "gone",
        VersionState::Lost => "lost",
    };
    let size = match version.state {
        VersionState::Gone | VersionState::Lost => "-".to_owned(),
        VersionState::Current | VersionState::Kept => ByteSize(version.nbytes).to_string(),
    };
    vec![
        version.version.to_string(),
        state.to_owned(),
        grouped(version.num_rows),
        size,
        time(version.created_ns),
        version.made.user.clone(),
        version.tags.join(", "),
        made_of(&version.made, &version.source),
    ]
}

/// What says most of where a version comes from.
fn made_of(made: &Made, source: &str) -> String {
    let mut parts = Vec::new();
    if !made.note.is_empty() {
        parts.push(made.note.clone());
    }
    if !made.expression.is_empty() {
        parts.push(made.expression.clone());
    }
    parts.extend(made.inputs.iter().map(|input| format!("{} v{}", input.name, input.version)));
    if !source.is_empty() {
        parts.push(source.to_owned());
    }
    if parts.is_empty() {
        parts.push(made.command.clone());
    }
    let text = parts.join("; ");
    if made.append { format!("+ {text}") } else { text }
}

/// A time as `2026-01-31 17:00:05`, UTC.
pub(crate) fn time(ns: u64) -> String {
    let seconds = i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX);
    let time = arrow_array::temporal_conversions::timestamp_s_to_datetime(seconds);
    time.map_or_else(|| "?".to_owned(), |time| time.format("%Y-%m-%d %H:%M:%S").to_string())
}

pub(crate) fn kept(keep: Keep) -> String {
    let mut text = match keep.versions {
        1 => "the current version is kept".to_owned(),
        n => format!("the newest {n} versions are kept"),
    };
    if let Some(seconds) = keep.seconds {
        text +=
            &format!(", and those that were current in the last {}", crate::table::span(seconds));
    }
    text + ", and those with a tag"
}
