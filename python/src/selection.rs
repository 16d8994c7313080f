//! `columns=`, `rows=` and `where=`.

use cenote::{Predicate, Selection};
use pyo3::prelude::*;
use pyo3::types::{PyRange, PyRangeMethods, PySlice, PyString, PyTuple};

use crate::door::at_once;
use crate::raise::{argument, unsupported};

/// What `get` was asked for.
pub(crate) fn selection(
    columns: Option<&Bound<'_, PyAny>>,
    rows: Option<&Bound<'_, PyAny>>,
    predicate: Option<&Bound<'_, PyAny>>,
) -> PyResult<Selection> {
    Ok(Selection {
        columns: columns.map(column_names).transpose()?,
        rows: rows.map(row_range).transpose()?,
        predicate: predicate.map(self::predicate).transpose()?,
        ..Selection::default()
    })
}

/// `where=`, as text.
pub(crate) fn predicate(text: &Bound<'_, PyAny>) -> PyResult<Predicate> {
    let py = text.py();
    let Ok(written) = text.cast::<PyString>() else {
        let wrong = format!("where= takes text such as \"close > 100\", not {}", type_name(text));
        return Err(unsupported(py, &wrong));
    };
    at_once(py, Predicate::parse(written.to_str()?).map_err(cenote::Error::from))
}

fn column_names(columns: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(one) = columns.cast::<PyString>() {
        return Ok(vec![one.to_str()?.to_owned()]);
    }
    let wrong = |found: &Bound<'_, PyAny>| {
        let text = format!("columns= takes a name or a list of names, not {}", type_name(found));
        unsupported(found.py(), &text)
    };
    let mut names = Vec::new();
    for name in columns.try_iter().map_err(|_| wrong(columns))? {
        let name = name?;
        names.push(name.cast::<PyString>().map_err(|_| wrong(&name))?.to_str()?.to_owned());
    }
    Ok(names)
}

/// (first, one past the last), from a tuple, a slice or a range of step 1.
fn row_range(rows: &Bound<'_, PyAny>) -> PyResult<(i64, i64)> {
    let py = rows.py();
    let part = |name: &str| rows.getattr(name);
    let (start, stop, step) = if rows.is_instance_of::<PySlice>() {
        (part("start")?, part("stop")?, part("step")?)
    } else if let Ok(range) = rows.cast::<PyRange>() {
        if range.step()? == 1 && range.stop()? < range.start()? {
            return Err(argument(py, &format!("rows={} ends before it begins", rows.repr()?)));
        }
        (part("start")?, part("stop")?, part("step")?)
    } else if let Ok(pair) = rows.cast::<PyTuple>() {
        if pair.len() != 2 {
            let text = format!("rows= takes (start, stop), not {} numbers", pair.len());
            return Err(argument(py, &text));
        }
        (pair.get_item(0)?, pair.get_item(1)?, py.None().into_bound(py))
    } else {
        let text = format!(
            "rows= takes (start, stop), a slice or a range of step 1, not {}",
            type_name(rows)
        );
        return Err(unsupported(py, &text));
    };
    if !step.is_none() && step.extract::<i64>().ok() != Some(1) {
        let text = format!("rows= takes steps of 1 only, not {}", step.repr()?);
        return Err(argument(py, &text));
    }
    Ok((row(&start, 0)?, row(&stop, i64::MAX)?))
}

fn row(number: &Bound<'_, PyAny>, default: i64) -> PyResult<i64> {
    if number.is_none() {
        return Ok(default);
    }
    let py = number.py();
    number.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<pyo3::exceptions::PyOverflowError>(py) {
            return argument(py, "rows= takes numbers of 64 bits");
        }
        unsupported(py, &format!("rows= takes whole numbers, not {}", type_name(number)))
    })
}

/// The name of an object's type, for a message.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().fully_qualified_name();
    name.map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}
