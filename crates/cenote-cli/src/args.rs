//! What can be said on the command line.

use cenote::RunDir;
use clap::{Args, Parser, Subcommand};

use crate::serve::Serve;

/// A memory pool for Apache Arrow data: put a table in once; every process computes on it in
/// place.
#[derive(Debug, Parser)]
#[command(name = "cenote", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) pool: PoolArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Which pool.
#[derive(Clone, Debug, Args)]
pub(crate) struct PoolArgs {
    /// The pool: a directory, or the name of a pool of this user [default: "default"]
    #[arg(long, global = true, env = "CENOTE_ADDRESS", hide_env_values = true)]
    pub(crate) address: Option<String>,
}

impl PoolArgs {
    /// The pool's directory.
    pub(crate) fn dir(&self) -> RunDir {
        RunDir::from_address(self.address.as_deref().filter(|address| !address.is_empty()))
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(Serve),
}
