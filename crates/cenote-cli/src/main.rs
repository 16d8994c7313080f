//! The `cenote` command: serve a pool, put tables in, get them out, see who holds what.
//!
//! Each command is a file with its arguments and a `run`. What they share: [`args`] (which
//! pool), [`connect`] (reaching it, or starting it), [`failure`] (one line that says what and
//! where, one that says what to do next), [`output`] (text or JSON, quiet broken pipes),
//! [`table`] (aligned columns) and [`interrupt`] (Ctrl-C).

mod args;
mod complete;
mod connect;
mod diff;
mod doctor;
mod dump;
mod evict;
mod export;
mod failure;
mod get;
mod hint;
mod import;
mod info;
mod interrupt;
mod keep;
mod leases;
mod log;
mod ls;
mod man;
mod mv;
mod output;
mod put;
mod rm;
mod run;
mod save;
mod serve;
mod stop;
mod table;
mod tag;
mod which;
mod whole;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    complete::answer(Cli::command);
    let cli = Cli::parse();
    // A daemon says what it does, everything else only where it is asked to.
    let level = matches!(cli.command, Command::Serve(_)).then_some("info");
    if let Err(error) = cenote::log_to_stderr(level) {
        return Failure::usage(error.to_string()).report();
    }
    let pool = &cli.pool;
    let outcome = match &cli.command {
        Command::Serve(command) => command.run(pool),
        Command::Put(command) => command.run(pool),
        Command::Get(command) => command.run(pool),
        Command::Ls(command) => command.run(pool),
        Command::Rm(command) => command.run(pool),
        Command::Run(command) => command.run(pool),
        Command::Mv(command) => command.run(pool),
        Command::Export(command) => command.run(pool),
        Command::Import(command) => command.run(pool),
        Command::Log(command) => command.run(pool),
        Command::Diff(command) => command.run(pool),
        Command::Tag(command) => command.run(pool),
        Command::Keep(command) => command.run(pool),
        Command::Info(command) => command.run(pool),
        Command::Leases(command) => command.run(pool),
        Command::EvictClient(command) => command.run(pool),
        Command::Stop(command) => command.run(pool),
        Command::Doctor(command) => command.run(pool),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
