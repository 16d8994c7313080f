//! What a pool says of itself, as dicts.

use cenote::{FrameInfo, PoolInfo, SessionInfo};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

pub(crate) fn frame<'py>(py: Python<'py>, info: &FrameInfo) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &info.name)?;
    dict.set_item("version", info.version)?;
    dict.set_item("num_rows", info.num_rows)?;
    dict.set_item("num_columns", info.num_columns)?;
    dict.set_item("nbytes", info.nbytes)?;
    dict.set_item("created_ns", info.created_ns)?;
    dict.set_item("source", &info.source)?;
    dict.set_item("uses", info.uses)?;
    Ok(dict)
}

pub(crate) fn pool<'py>(py: Python<'py>, info: &PoolInfo) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("path", &info.path)?;
    dict.set_item("pid", info.pid)?;
    dict.set_item("epoch", info.epoch.0)?;
    dict.set_item("capacity", info.capacity)?;
    dict.set_item("used", info.used)?;
    dict.set_item("sealed", info.sealed)?;
    dict.set_item("retired_held", info.retired_held)?;
    dict.set_item("open", info.open)?;
    dict.set_item("ready", info.ready)?;
    dict.set_item("metadata", info.metadata)?;
    dict.set_item("leaked", info.leaked)?;
    dict.set_item("file_system_free", info.file_system_free)?;
    dict.set_item("memory_headroom", info.memory_headroom)?;
    dict.set_item("frames", info.frames)?;
    dict.set_item("chunks", info.chunks)?;
    dict.set_item("arenas", info.arenas)?;
    dict.set_item("clients", info.clients)?;
    dict.set_item("uptime_s", info.uptime_s)?;
    let lost = PyList::empty(py);
    for frame in &info.lost {
        let entry = PyDict::new(py);
        entry.set_item("name", &frame.name)?;
        entry.set_item("version", frame.version)?;
        entry.set_item("source", &frame.source)?;
        entry.set_item("reason", &frame.reason)?;
        lost.append(entry)?;
    }
    dict.set_item("lost", lost)?;
    Ok(dict)
}

pub(crate) fn session<'py>(py: Python<'py>, info: &SessionInfo) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("session", info.session.0)?;
    dict.set_item("pid", info.pid)?;
    dict.set_item("command", &info.command)?;
    dict.set_item("age_s", info.age_s)?;
    dict.set_item("connected", info.connected)?;
    dict.set_item("quarantined", info.quarantined)?;
    dict.set_item("stopped", info.stopped)?;
    dict.set_item("open", info.open)?;
    let leases = PyList::empty(py);
    for lease in &info.leases {
        let entry = PyDict::new(py);
        entry.set_item("name", &lease.name)?;
        entry.set_item("version", lease.version)?;
        entry.set_item("current", lease.current)?;
        entry.set_item("chunks", lease.chunks)?;
        entry.set_item("nbytes", lease.nbytes)?;
        leases.append(entry)?;
    }
    dict.set_item("leases", leases)?;
    Ok(dict)
}
