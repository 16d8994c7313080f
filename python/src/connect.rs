//! Reaching a pool. Which command starts one is found in Python, by `cenote._connect`.

use std::path::PathBuf;
use std::time::Duration;

use cenote::{Daemon, Options};
use pyo3::prelude::*;

use crate::door;
use crate::pool::Pool;
use crate::raise::argument;

/// A daemon that `connect` started ends after so long without a client.
const IDLE_EXIT: Duration = Duration::from_secs(600);

/// Connects to a served pool; with `command`, starts it where it is not.
#[pyfunction]
#[pyo3(signature = (address, command=None, capacity=None))]
pub(crate) fn connect_pool(
    py: Python<'_>,
    address: String,
    command: Option<PathBuf>,
    capacity: Option<u64>,
) -> PyResult<Pool> {
    let start = command.map(|command| Daemon { command, capacity, idle_exit: IDLE_EXIT });
    let options = Options { address: Some(address), start, answer_within: None };
    door::call(py, || cenote::Pool::connect(options)).map(|pool| Pool::new(pool, false))
}

/// A number of bytes, as people write it: "1GiB", "512 MB".
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn parse_size(py: Python<'_>, text: &str) -> PyResult<u64> {
    let size = text.parse::<cenote::ByteSize>();
    size.map(cenote::ByteSize::bytes).map_err(|error| argument(py, &error.to_string()))
}

/// A pool of this process alone.
#[pyfunction]
#[pyo3(signature = (capacity=None))]
pub(crate) fn open_embedded(py: Python<'_>, capacity: Option<u64>) -> PyResult<Pool> {
    door::call(py, || cenote::Pool::embedded(capacity)).map(|pool| Pool::new(pool, true))
}
