//! Errors of the pool as exceptions of `cenote`.

use std::error::Error as _;

use cenote::{Error, Refusal};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString};

/// The classes of `cenote._errors`, by name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Class {
    Cenote,
    FrameNotFound,
    VersionNotFound,
    VersionConflict,
    FrameExists,
    FrameDamaged,
    ColumnNotFound,
    PoolExhausted,
    PoolUnavailable,
    Argument,
    UnsupportedType,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Class::Cenote => "CenoteError",
            Class::FrameNotFound => "FrameNotFound",
            Class::VersionNotFound => "VersionNotFound",
            Class::VersionConflict => "VersionConflict",
            Class::FrameExists => "FrameExists",
            Class::FrameDamaged => "FrameDamaged",
            Class::ColumnNotFound => "ColumnNotFound",
            Class::PoolExhausted => "PoolExhausted",
            Class::PoolUnavailable => "PoolUnavailable",
            Class::Argument => "ArgumentError",
            Class::UnsupportedType => "UnsupportedType",
        }
    }
}

fn classes(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("cenote._errors").map(Bound::unbind))?;
    Ok(module.bind(py))
}

/// An exception of `class` with attributes.
fn with(py: Python<'_>, class: Class, text: &str, attributes: &Bound<'_, PyDict>) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let exception = classes(py)?.getattr(class.name())?.call1((text,))?;
        for (name, value) in attributes {
            exception.setattr(name.cast::<PyString>()?, value)?;
        }
        Ok(PyErr::from_value(exception))
    };
    // Where even that fails, the failure is what there is to raise.
    make().unwrap_or_else(|error| error)
}

/// An exception of `class`.
pub(crate) fn raise(py: Python<'_>, class: Class, text: &str) -> PyErr {
    with(py, class, text, &PyDict::new(py))
}

/// A bad argument.
pub(crate) fn argument(py: Python<'_>, text: &str) -> PyErr {
    raise(py, Class::Argument, text)
}

/// Data that no column can hold.
pub(crate) fn unsupported(py: Python<'_>, text: &str) -> PyErr {
    raise(py, Class::UnsupportedType, text)
}

/// The exception that an error is.
pub(crate) fn exception(py: Python<'_>, error: Error) -> PyErr {
    // What Python raised on the way comes back as it was.
    let error = match error {
        Error::Source(source) => match source.downcast::<PyErr>() {
            Ok(exception) => return *exception,
            Err(source) => Error::Source(source),
        },
        error => error,
    };
    let text = text(&error);
    let class = match &error {
        Error::Refused(refusal) => return refused(py, refusal, &text),
        Error::Unavailable { .. } | Error::Open(_) | Error::LostInFork => Class::PoolUnavailable,
        Error::NoColumn { .. } => Class::ColumnNotFound,
        Error::Damaged { .. } => Class::FrameDamaged,
        Error::Plan { .. } | Error::Encode(_) => Class::UnsupportedType,
        Error::Predicate(_) | Error::Misfit { .. } | Error::TooDeep => Class::Argument,
        Error::Append { .. }
        | Error::Rows { .. }
        | Error::Schema { .. }
        | Error::Reference
        | Error::Ended(_) => Class::Argument,
        _ => Class::Cenote,
    };
    raise(py, class, &text)
}

fn refused(py: Python<'_>, refusal: &Refusal, text: &str) -> PyErr {
    let class = match refusal {
        Refusal::NotFound { .. } | Refusal::VersionGone => Class::FrameNotFound,
        Refusal::NoVersion { .. } => Class::VersionNotFound,
        Refusal::Conflict { expected, found, .. } => {
            return conflict(py, (*expected, *found), text).unwrap_or_else(|error| error);
        }
        Refusal::Schema { .. } => Class::VersionConflict,
        Refusal::Lost { .. } => Class::FrameDamaged,
        Refusal::Exists { .. } => Class::FrameExists,
        Refusal::Needed { .. } | Refusal::Name { .. } | Refusal::NoSession { .. } => {
            Class::Argument
        }
        Refusal::Epoch { .. } | Refusal::Protocol { .. } => Class::PoolUnavailable,
        Refusal::Exhausted { .. } => {
            return exhausted(py, refusal, text).unwrap_or_else(|error| error);
        }
        _ => Class::Cenote,
    };
    raise(py, class, text)
}

fn conflict(py: Python<'_>, (expected, found): (u64, u64), text: &str) -> PyResult<PyErr> {
    let attributes = PyDict::new(py);
    attributes.set_item("expected", expected)?;
    attributes.set_item("found", found)?;
    Ok(with(py, Class::VersionConflict, text, &attributes))
}

fn exhausted(py: Python<'_>, refusal: &Refusal, text: &str) -> PyResult<PyErr> {
    let attributes = PyDict::new(py);
    if let Refusal::Exhausted { asked, free, largest, capacity, limit, holders } = refusal {
        let list = PyList::empty(py);
        for holder in holders {
            let entry = PyDict::new(py);
            entry.set_item("pid", holder.pid)?;
            entry.set_item("command", &holder.command)?;
            entry.set_item("bytes", holder.bytes)?;
            list.append(entry)?;
        }
        attributes.set_item("asked", asked)?;
        attributes.set_item("free", free)?;
        attributes.set_item("largest", largest)?;
        attributes.set_item("capacity", capacity)?;
        attributes.set_item("limit", limit_name(*limit))?;
        attributes.set_item("holders", list)?;
    }
    Ok(with(py, Class::PoolExhausted, text, &attributes))
}

fn limit_name(limit: cenote::Limit) -> &'static str {
    match limit {
        cenote::Limit::Capacity => "capacity",
        cenote::Limit::FileSystem => "file system",
        cenote::Limit::Memory => "memory",
    }
}

/// An error and its sources, in one line, with what to do about it in Python.
fn text(error: &Error) -> String {
    let mut text = error.to_string();
    text += match error {
        Error::Refused(Refusal::Exists { .. }) => {
            "; replace=True makes a new version of it, append=True adds to it"
        }
        Error::Refused(Refusal::NotFound { nearest, .. }) if nearest.is_empty() => {
            "; list(pool) names those that there are"
        }
        _ => "",
    };
    let mut source = error.source();
    while let Some(error) = source {
        text += &format!(": {error}");
        source = error.source();
    }
    text
}
