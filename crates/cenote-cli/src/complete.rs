//! `cenote completions`: the shell completes commands, options, paths and names of frames.
//!
//! What the shell sources calls this program back for each word, so it is of this release
//! whenever the program is, and knows the frames that there are.

use std::ffi::OsStr;
use std::time::Duration;

use cenote::{Options, Pool};
use clap::{Args, ValueEnum};
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::Shells;

use crate::failure::Failure;
use crate::output;

/// The variable by which the shell asks for completions.
const VARIABLE: &str = "CENOTE_COMPLETE";
/// Who waits for a Tab does not wait longer for a daemon.
const ANSWER_WITHIN: Duration = Duration::from_millis(300);

const AFTER_HELP: &str = "\
Examples:
  bash   echo 'source <(cenote completions bash)' >> ~/.bashrc
  zsh    echo 'source <(cenote completions zsh)' >> ~/.zshrc
  fish   cenote completions fish > ~/.config/fish/completions/cenote.fish

Then `cenote get pr<Tab>` completes a frame of the default pool, or of CENOTE_ADDRESS.";

/// Print what makes a shell complete commands, options and frames
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let name = match self.shell {
            Shell::Bash => "bash",
            Shell::Zsh => "zsh",
            Shell::Fish => "fish",
        };
        let failed = |error: std::io::Error| Failure::doing("write the completions", &error);
        let mut script = Vec::new();
        if let Some(shell) = Shells::builtins().completer(name) {
            shell
                .write_registration(VARIABLE, "cenote", "cenote", "cenote", &mut script)
                .map_err(failed)?;
        }
        output::print(&String::from_utf8_lossy(&script))
    }
}

/// Answers the shell, if it is the shell that asks; the program ends then.
pub(crate) fn answer(command: fn() -> clap::Command) {
    clap_complete::CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// The frames whose names begin with what has been typed. None where the pool does not say at
/// once: a Tab starts nothing.
pub(crate) fn frames(typed: &OsStr) -> Vec<CompletionCandidate> {
    let options = Options { answer_within: Some(ANSWER_WITHIN), ..Options::default() };
    let frames = Pool::connect_at_once(options).and_then(|pool| pool.frames());
    let typed = typed.to_string_lossy();
    let frames = frames.unwrap_or_default().into_iter();
    frames
        .filter(|frame| frame.name.starts_with(&*typed))
        .map(|frame| {
            let help = format!("{} rows, {} columns", frame.num_rows, frame.num_columns);
            CompletionCandidate::new(frame.name).help(Some(help.into()))
        })
        .collect()
}
