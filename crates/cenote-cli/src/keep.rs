//! `cenote keep`: which versions of a frame stay.

use clap::Args;
use clap_complete::ArgValueCompleter;
use serde::Serialize;

use crate::args::PoolArgs;
use crate::connect::connect;
use crate::failure::Failure;
use crate::log::kept;
use crate::output::{self, Format};

/// Seconds of a day.
const DAY: f64 = 86_400.0;
/// Most days: a century.
const DAYS_MAX: f64 = 36_525.0;

/// Say how many versions of a frame are kept
///
/// One, the current one, unless said; and always those with a tag. What is kept no longer goes
/// at once, as soon as nobody reads it. Versions share what they have in common.
#[derive(Debug, Args)]
pub(crate) struct Keep {
    /// The frame
    #[arg(add = ArgValueCompleter::new(crate::complete::frames))]
    name: String,
    /// So many of the newest versions, the current one included
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    versions: u32,
    /// And those that were current in the last so many days
    #[arg(long, value_name = "DAYS", value_parser = days)]
    days: Option<f64>,
    #[command(flatten)]
    format: Format,
}

#[derive(Debug, Serialize)]
struct Done<'a> {
    name: &'a str,
    versions: u32,
    seconds: Option<u64>,
}

fn days(text: &str) -> Result<f64, String> {
    let days = text.parse::<f64>().ok().filter(|days| (0.0..=DAYS_MAX).contains(days));
    days.ok_or_else(|| format!("write a number of days from 0 to {DAYS_MAX}"))
}

impl Keep {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let seconds =
            self.days.map(|days| std::time::Duration::from_secs_f64(days * DAY).as_secs());
        let keep = cenote::Keep { versions: self.versions, seconds };
        let outcome = connect(pool)?.keep(&self.name, keep);
        outcome.map_err(|error| Failure::of_pool(&error))?;
        if self.format.json {
            let (name, versions) = (self.name.as_str(), self.versions);
            return output::print_json(&Done { name, versions, seconds });
        }
        output::print(&format!("{}: {}\n", self.name, kept(keep)))
    }
}
