//! Where logs go in a program that says nothing of it: to standard error.
//!
//! The crates only speak to `tracing`, whose macros cost one load where nobody listens. The
//! command and the Python module listen if `CENOTE_LOG` or `RUST_LOG` says so; a daemon always.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// Says what is logged: `info`, `debug`, `cenote_pool=debug,warn`. Goes before `RUST_LOG`.
pub const LOG_VARIABLE: &str = "CENOTE_LOG";

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
#[error(
    "{variable}={text:?} is no filter of logs: write a level (error, warn, info, debug, trace), or cenote_pool=debug,warn"
)]
pub struct LogError {
    /// The variable.
    variable: &'static str,
    /// What it says.
    text: String,
    /// Why that is none.
    source: ParseError,
}

/// Has this process log to standard error what `CENOTE_LOG` says, else `RUST_LOG`, else
/// `default`, a level; `None`: nothing then. A program that has its own subscriber keeps it.
///
/// # Errors
/// The variable cannot be understood.
pub fn log_to_stderr(default: Option<&str>) -> Result<(), LogError> {
    let said = |variable| {
        let text = std::env::var(variable).ok().filter(|text| !text.is_empty())?;
        Some((variable, text))
    };
    let Some((variable, text)) =
        said(LOG_VARIABLE).or_else(|| said("RUST_LOG")).or_else(|| Some(("", default?.to_owned())))
    else {
        return Ok(());
    };
    let filter = EnvFilter::try_new(&text).map_err(|source| LogError { variable, text, source })?;
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colour);
    // Where there is one already, it is the program's own.
    let _ = log.with_writer(|| Stderr).try_init();
    Ok(())
}

/// Standard error without Rust's lock: a child that was forked while another thread wrote
/// would wait for that lock for ever. A line is one write.
#[derive(Debug)]
struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full disk, or nobody who reads: what cannot be said is not said.
        Ok(rustix::io::write(rustix::stdio::stderr(), bytes).unwrap_or(bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
