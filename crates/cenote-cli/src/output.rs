//! What commands say. Results go to stdout at once; a reader that has gone away (`| head`)
//! is no error. Notes go to stderr.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use console::style;
use serde::Serialize;

use crate::failure::Failure;

/// How to say it.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Format {
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whether a person reads stdout.
pub(crate) fn to_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints a result.
///
/// # Errors
/// It cannot be written, other than because nobody reads it.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::doing("write the result", &error))
        }
        _ => Ok(()),
    }
}

/// Prints a result as JSON, on one line.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text =
        serde_json::to_string(value).map_err(|error| Failure::doing("write JSON", &error))?;
    print(&(text + "\n"))
}

/// Says something beside the result.
pub(crate) fn note(text: &str) {
    // Nobody to tell is no failure.
    let _ = writeln!(io::stderr(), "{}", style(text).for_stderr().dim());
}
