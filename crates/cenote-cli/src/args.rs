//! What can be said on the command line.

use std::time::Duration;

use cenote::RunDir;
use clap::{Args, Parser, Subcommand};

use crate::complete::Completions;
use crate::diff::Diff;
use crate::doctor::Doctor;
use crate::evict::EvictClient;
use crate::export::ExportFrames;
use crate::get::Get;
use crate::import::Import;
use crate::info::Info;
use crate::keep::Keep;
use crate::leases::Leases;
use crate::log::Log;
use crate::ls::Ls;
use crate::man::Man;
use crate::mv::Mv;
use crate::put::Put;
use crate::rm::Rm;
use crate::run::Run;
use crate::serve::Serve;
use crate::stop::Stop;
use crate::tag::Tag;

const AFTER_HELP: &str = "\
Examples:
  cenote put prices/                      a folder of Parquet or CSV becomes the frame `prices`
  cenote ls                               what is in the pool
  cenote get prices                       its schema and first rows
  cenote get prices -o prices.parquet     back into a file
  cenote run --example > factors.toml     factors over a panel: a file to begin with
  cenote info                             what the pool's memory is used for
  cenote serve --capacity 64GiB           serve the default pool yourself, until Ctrl-C

In Python: cenote.connect().get(\"prices\").to_pandas()

Exit codes: 0 done; 1 it could not be done (stderr says why, and what to do next); 2 the command
line cannot be understood; 130 and 143 a put or get ended by Ctrl-C and by SIGTERM, with nothing
left behind. A served pool that is stopped by either has done its work: 0.
A daemon logs to stderr what it does (level info); CENOTE_LOG=debug, or RUST_LOG, has every command
log, and says how much.
Colour is used on a terminal only, and never where NO_COLOR is set.";

/// Over the options that every command has.
const HEADING: &str = "Which pool";

/// A memory pool for Apache Arrow data: put a table in once; every process computes on it in
/// place.
#[derive(Debug, Parser)]
#[command(name = "cenote", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) pool: PoolArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Which pool.
#[derive(Clone, Debug, Args)]
pub(crate) struct PoolArgs {
    /// The pool: a directory, or the name of one of your pools [default: "default"]
    #[arg(long, global = true, env = cenote::ADDRESS_VARIABLE, hide_env_values = true)]
    #[arg(help_heading = HEADING)]
    address: Option<String>,
    /// How long to wait for an answer of the daemon [default: 30]
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds)]
    #[arg(help_heading = HEADING)]
    timeout: Option<Duration>,
}

impl PoolArgs {
    /// The pool, as the user named it.
    pub(crate) fn address(&self) -> Option<&str> {
        self.address.as_deref().filter(|address| !address.is_empty())
    }

    /// The pool's directory.
    pub(crate) fn dir(&self) -> RunDir {
        RunDir::from_address(self.address())
    }

    /// How long to wait for an answer, if the user said.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }
}

/// Longest wait that can be asked for: a day.
const SECONDS_MAX: f64 = 86_400.0;

/// A number of seconds, such as `30` or `0.5`.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=SECONDS_MAX).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(format!("write a number of seconds from 0 to {SECONDS_MAX}")),
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(Serve),
    Put(Put),
    Get(Get),
    Ls(Ls),
    Rm(Rm),
    Mv(Mv),
    Run(Run),
    Export(ExportFrames),
    Import(Import),
    Log(Log),
    Diff(Diff),
    Tag(Tag),
    Keep(Keep),
    Info(Info),
    Leases(Leases),
    EvictClient(EvictClient),
    Stop(Stop),
    Doctor(Doctor),
    Completions(Completions),
    Man(Man),
}
