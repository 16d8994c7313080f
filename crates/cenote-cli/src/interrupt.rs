//! Ctrl-C and SIGTERM: the first asks the command to end cleanly, the second ends it at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

/// Whether the user wants the command to end.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Listens from here on.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub(crate) fn listen() -> Result<Interrupt, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGINT, SIGTERM] {
            let value = usize::try_from(number).unwrap_or(0);
            // Handlers run in this order: at the first signal the flag is not set yet.
            flag::register_conditional_shutdown(number, 128 + number, asked.clone())
                .and_then(|_| flag::register_usize(number, signal.clone(), value))
                .and_then(|_| flag::register(number, asked.clone()))
                .map_err(|error| Failure::doing("listen for signals", &error))?;
        }
        Ok(Interrupt { asked, signal })
    }

    /// Whether a signal has come.
    pub(crate) fn asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// Which.
    pub(crate) fn signal(&self) -> u8 {
        u8::try_from(self.signal.load(Ordering::SeqCst)).unwrap_or(0)
    }

    /// The failure that ends the command if a signal has come.
    ///
    /// # Errors
    /// It has.
    pub(crate) fn check(&self, message: &str) -> Result<(), Failure> {
        if self.asked() { Err(Failure::interrupted(self.signal(), message)) } else { Ok(()) }
    }
}
