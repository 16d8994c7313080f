//! `cenote.Live`: factors row by row.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, Float64Array};
use cenote_panel::{Engine, Plan, Reach};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::panel::{array_of, fault};
use crate::raise::{Class, argument, raise};

/// Rows that are computed at once while it warms up; Ctrl-C is noticed in between.
const WARM_ROWS: usize = 64;

/// Factors row by row, as they come: push one row, get one row. Made by `Factors.live`.
///
/// It gives the bits that a panel with these rows would give. It keeps what the windows need and
/// no more. May be used from any thread; rows are taken one at a time.
#[pyclass(frozen, module = "cenote", weakref)]
#[derive(Debug)]
pub(crate) struct Live {
    engine: Mutex<Engine>,
    outputs: Vec<String>,
    inputs: Vec<String>,
    known: Vec<String>,
    symbols: Vec<String>,
}

impl Live {
    /// After the panel's last row.
    pub(crate) fn new(
        py: Python<'_>,
        panel: &cenote_panel::Panel,
        plan: &Plan,
        outputs: Vec<String>,
    ) -> PyResult<Live> {
        let (times, symbols) = (panel.num_times(), panel.num_symbols());
        let back = match plan.warm_up() {
            Reach::Finite(rows) => usize::try_from(rows).unwrap_or(times).min(times),
            Reach::Recursive => times,
        };
        let inputs = plan.graph().fields().to_vec();
        let fields = inputs.iter().map(|name| panel.field(name)).collect::<Result<Vec<_>, _>>();
        let fields = fields.map_err(|error| fault(py, &error))?;
        let mut engine = Engine::new(plan.clone(), symbols, (times - back) as u64);
        for from in (times - back..times).step_by(WARM_ROWS) {
            py.check_signals()?;
            let rows = WARM_ROWS.min(times - from);
            let range = from * symbols..(from + rows) * symbols;
            let part: Vec<&[f64]> = fields.iter().map(|field| &field[range.clone()]).collect();
            py.detach(|| engine.push(&part, rows, |_, _, _| {}));
        }
        let (known, symbols) = (panel.axes().fields.clone(), panel.axes().symbols.clone());
        Ok(Live { engine: Mutex::new(engine), outputs, inputs, known, symbols })
    }

    /// The values of one field: a buffer of float64, or any sequence of numbers.
    fn values(&self, field: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
        let py = given.py();
        let values: Vec<f64> = match given.call_method0("tolist") {
            Ok(list) => list.extract()?,
            Err(_) => given.extract()?,
        };
        if values.len() == self.symbols.len() {
            return Ok(values);
        }
        let (found, wanted) = (values.len(), self.symbols.len());
        Err(argument(py, &format!("{field:?} has {found} values; there are {wanted} symbols")))
    }
}

#[pymethods]
impl Live {
    /// The factors' names.
    #[getter]
    fn fields(&self) -> Vec<String> {
        self.outputs.clone()
    }

    /// The fields that a row must have.
    #[getter]
    fn inputs(&self) -> Vec<String> {
        self.inputs.clone()
    }

    /// The symbols, in the order of a row's values.
    #[getter]
    fn symbols(&self) -> Vec<String> {
        self.symbols.clone()
    }

    /// Takes the next row: a dict of fields and their values, one a symbol, NaN where there is
    /// none. Returns a dict of the factors' values, NumPy arrays of shape (symbols,).
    ///
    /// Raises: ColumnNotFound for a field that is missing or unknown, ArgumentError for one of
    /// another length; the row is not taken then.
    #[pyo3(signature = (row, /))]
    fn push<'py>(&self, row: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        let py = row.py();
        for name in row.keys() {
            let name: String = name.extract()?;
            if !self.known.contains(&name) {
                let text = format!("no field {name:?}; there are {}", self.known.join(", "));
                return Err(raise(py, Class::ColumnNotFound, &text));
            }
        }
        let mut fields = Vec::with_capacity(self.inputs.len());
        for name in &self.inputs {
            let Some(given) = row.get_item(name)? else {
                let text = format!("the row has no {name:?}, which the factors read");
                return Err(raise(py, Class::ColumnNotFound, &text));
            };
            fields.push(self.values(name, &given)?);
        }
        let results = py.detach(|| {
            let fields: Vec<&[f64]> = fields.iter().map(Vec::as_slice).collect();
            let mut results = vec![Vec::new(); self.outputs.len()];
            let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
            engine.push(&fields, 1, |output, _, values| results[output] = values.to_vec());
            results
        });
        let found = PyDict::new(py);
        for (name, values) in self.outputs.iter().zip(results) {
            let values: ArrayRef = Arc::new(Float64Array::from(values));
            found.set_item(name, array_of(py, &values)?)?;
        }
        Ok(found)
    }

    /// Rows so far, those of the panel included.
    fn __len__(&self) -> usize {
        let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        usize::try_from(engine.next()).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        let (factors, symbols) = (self.outputs.len(), self.symbols.len());
        format!("<cenote.Live: {factors} factors of {symbols} symbols, {} rows>", self.__len__())
    }
}
