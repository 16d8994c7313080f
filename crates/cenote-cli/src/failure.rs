//! Why a command failed: one line with the whole chain of causes, one with what to do next.

use std::error::Error as StdError;
use std::io::{self, Write};
use std::process::ExitCode;

use console::style;

use crate::hint;

/// The exit code of a command that was understood and could not be done.
const FAILED: u8 = 1;
/// Of one that could not be understood; clap's, too.
const USAGE: u8 = 2;

/// A command's failure.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    /// Lines below the message, such as a formula with a mark under its fault.
    shown: Option<String>,
    hint: Option<String>,
    code: u8,
}

impl Failure {
    /// A failure without a cause.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), shown: None, hint: None, code: FAILED }
    }

    /// Words that make no sense together.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure { code: USAGE, ..Failure::new(message) }
    }

    /// The user ended the command.
    pub(crate) fn interrupted(signal: u8, message: &str) -> Failure {
        Failure { code: 128 + signal, ..Failure::new(message) }
    }

    /// A failure with its causes, each printed once.
    pub(crate) fn of(error: &(dyn StdError + 'static)) -> Failure {
        Failure::new(chain(error))
    }

    /// Doing `what` failed.
    pub(crate) fn doing(what: impl std::fmt::Display, error: &(dyn StdError + 'static)) -> Failure {
        Failure::new(format!("cannot {what}: {}", chain(error)))
    }

    /// A failure of the pool, with what to do next.
    pub(crate) fn of_pool(error: &cenote::Error) -> Failure {
        Failure { hint: hint::of(error), ..Failure::of(error) }
    }

    /// Lines to show below the message as they are.
    pub(crate) fn shown(mut self, lines: impl Into<String>) -> Failure {
        self.shown = Some(lines.into());
        self
    }

    /// What to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// Prints it.
    pub(crate) fn print(&self) {
        let error = style("error:").for_stderr().red().bold();
        let mut text = format!("{error} {}\n", one_line(&self.message));
        for line in self.shown.iter().flat_map(|lines| lines.lines()) {
            text += &format!("{}\n", line.replace(char::is_control, "?"));
        }
        if let Some(hint) = &self.hint {
            text += &format!("{} {hint}\n", style("hint:").for_stderr().cyan());
        }
        // With nowhere to say it the exit code still does.
        let _ = io::stderr().write_all(text.as_bytes());
    }

    /// Prints it; the exit code that goes with it.
    pub(crate) fn report(&self) -> ExitCode {
        self.print();
        ExitCode::from(self.code)
    }
}

impl From<cenote_load::LoadError> for Failure {
    fn from(error: cenote_load::LoadError) -> Failure {
        Failure::of(&error)
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

/// Names and messages of others may hold anything; a terminal gets none of it raw.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace(char::is_control, "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Told(&'static str, Option<Box<Told>>);

    impl std::fmt::Display for Told {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl StdError for Told {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            self.1.as_deref().map(|told| told as _)
        }
    }

    #[test]
    fn each_cause_is_told_once() {
        let cause = Told("no space", Some(Box::new(Told("error 28", None))));
        let repeats = Told("cannot write: no space", Some(Box::new(cause)));
        assert_eq!(chain(&repeats), "cannot write: no space: error 28");
    }

    #[test]
    fn one_line_without_control_characters() {
        assert_eq!(one_line("a\n  b\x1b[31m"), "a b?[31m");
    }
}
