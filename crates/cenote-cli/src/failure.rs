//! Why a command failed: one line with the whole chain of causes, one with what to do next.

use std::error::Error as StdError;
use std::io::{self, Write};
use std::process::ExitCode;

/// The exit status of a command that was understood and could not be done. (A command that
/// was not understood: 2, by clap.)
pub(crate) const FAILED: u8 = 1;

/// A command's failure.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// A failure without a cause.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), hint: None }
    }

    /// A failure with its causes, each printed once.
    pub(crate) fn of(error: &(dyn StdError + 'static)) -> Failure {
        Failure::new(chain(error))
    }

    /// What to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// Prints it; the exit code that goes with it.
    pub(crate) fn report(&self) -> ExitCode {
        let mut text = format!("error: {}\n", one_line(&self.message));
        if let Some(hint) = &self.hint {
            text += &format!("hint: {hint}\n");
        }
        // With nowhere to say it the exit code still does.
        let _ = io::stderr().write_all(text.as_bytes());
        ExitCode::from(FAILED)
    }
}

/// The messages of an error and its causes. A cause that the message before it already
/// contains is not repeated.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    text
}

fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join(" ")
}
