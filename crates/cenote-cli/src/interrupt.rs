//! Ctrl-C and SIGTERM: the first asks the command to end cleanly, the second ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

/// Whether the user wants the command to end.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from here on.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub(crate) fn listen() -> Result<Interrupt, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // Handlers run in this order: the flag is not set yet at the first signal.
            flag::register_conditional_shutdown(signal, 128 + signal, asked.clone())
                .and_then(|_| flag::register(signal, asked.clone()))
                .map_err(|error| Failure::new(format!("cannot listen for signals: {error}")))?;
        }
        Ok(Interrupt(asked))
    }

    /// Whether a signal has come.
    pub(crate) fn asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
