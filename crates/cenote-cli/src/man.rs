//! `cenote man`: manual pages, made from the same words as `--help`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::args::Cli;
use crate::failure::Failure;
use crate::output;
use crate::table::count;

const AFTER_HELP: &str = "\
Examples:
  cenote man ~/.local/share/man/man1      then: man cenote-put";

/// Write manual pages, one a command, into a directory
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Man {
    /// Where; made if it is not there
    directory: PathBuf,
}

impl Man {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let directory = &self.directory;
        let failed = |error: std::io::Error| {
            Failure::doing(format!("write manual pages into {}", directory.display()), &error)
        };
        std::fs::create_dir_all(directory).map_err(failed)?;
        let command = Cli::command();
        let pages = 1 + command.get_subcommands().count() as u64;
        clap_mangen::generate_to(command, directory).map_err(failed)?;
        output::print(&format!("{} in {}\n", count(pages, "page"), directory.display()))
    }
}
