//! The one way from Python into the pool.

use cenote::{Error, Stop};
use pyo3::prelude::*;

use crate::raise::exception;

/// Does what may wait: without Python's lock, so that other threads go on.
///
/// Ctrl-C is noticed at the door, and while a wait lasts ([`signals`]).
pub(crate) fn call<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    py.check_signals()?;
    py.detach(work).map_err(|error| exception(py, error))
}

/// The outcome of what waits for nobody. Giving Python's lock up and asking for it again
/// costs more than such a call takes, and under other threads' load up to their whole turn
/// (5 ms).
pub(crate) fn at_once<T>(py: Python<'_>, outcome: Result<T, Error>) -> PyResult<T> {
    outcome.map_err(|error| exception(py, error))
}

/// Lets Python handle the signals that have come; its exception ends the wait.
pub(crate) fn signals() -> Result<(), Stop> {
    // No interpreter, no signals: it is being taken down.
    Python::try_attach(|py| py.check_signals()).unwrap_or(Ok(())).map_err(Stop::from)
}
