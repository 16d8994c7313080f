//! The `cenote` command: serve a pool, put tables in, get them out, see who holds what.
//!
//! Each command is a file with its arguments and a `run`. What they share: [`failure`] (one
//! line that says what and where, one that says what to do next), [`output`] (text or
//! `--json`, colour, quiet broken pipes), [`connect`] (which pool, and starting one) and
//! [`interrupt`] (Ctrl-C).

mod args;
mod failure;
mod interrupt;
mod serve;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match &cli.command {
        Command::Serve(serve) => serve.run(&cli.pool),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
