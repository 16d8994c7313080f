//! `cenote.Panel` and `cenote.Factors`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, SchemaRef};
use cenote::Error;
use cenote_panel::{Dollars, Graph, Names, NodeId, PanelError, Pivot, Plan, Reach};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyString};

use crate::capsule;
use crate::door::{self, at_once};
use crate::feed::feed;
use crate::matrix::DataFrame;
use crate::raise::{Class, argument, raise};
use crate::selection::type_name;
use crate::values::Values;

/// A panel and the graph of all expressions over it: equal parts of them exist once.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) panel: cenote_panel::Panel,
    graph: Mutex<Graph>,
}

impl Shared {
    /// The graph. Held for a moment, never while Python runs.
    pub(crate) fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The exception that a fault of a panel is.
pub(crate) fn fault(py: Python<'_>, error: &PanelError) -> PyErr {
    match error {
        PanelError::NoField { .. } | PanelError::NoColumn { .. } => {
            raise(py, Class::ColumnNotFound, &error.to_string())
        }
        PanelError::NotAPanel { .. } | PanelError::Type { .. } => {
            raise(py, Class::UnsupportedType, &error.to_string())
        }
        _ => argument(py, &error.to_string()),
    }
}

/// Fields over common times and symbols, each a time × symbol matrix of float64.
///
/// `Panel(data)` reads a table that is a panel, such as a frame of the pool that one was put
/// into, in place. `Panel.from_long` makes one of rows. `panel["close"]` is a field as a lazy
/// DataFrame; `panel.factors` computes many at once, in one pass.
#[pyclass(frozen, module = "cenote", weakref)]
#[derive(Debug)]
pub(crate) struct Panel {
    shared: Arc<Shared>,
}

impl From<cenote_panel::Panel> for Panel {
    fn from(panel: cenote_panel::Panel) -> Panel {
        Panel { shared: Arc::new(Shared { panel, graph: Mutex::default() }) }
    }
}

/// All batches of what Python calls a table.
fn batches(data: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let feed = feed(data, false)?;
    let schema = feed.schema.clone();
    let batches = feed.batches;
    let batches = door::call(data.py(), || batches.collect::<Result<Vec<_>, Error>>())?;
    Ok((schema, batches))
}

#[pymethods]
impl Panel {
    #[new]
    #[pyo3(signature = (data, /))]
    fn new(data: &Bound<'_, PyAny>) -> PyResult<Panel> {
        let (schema, batches) = batches(data)?;
        let panel = data.py().detach(|| cenote_panel::Panel::from_batches(&schema, batches));
        panel.map(Panel::from).map_err(|error| fault(data.py(), &error))
    }

    /// A panel of a table with a row for each (time, symbol), in any order.
    ///
    /// `time`: a column of dates or timestamps; `symbol`: of text or integers; `fields`: the
    /// columns that become fields, all other numbers unless said. What is not there is missing
    /// (NaN), so is null.
    /// Raises: ArgumentError for two rows of one time and symbol, which it names, and for
    /// integers above 2^53; ColumnNotFound.
    #[staticmethod]
    #[pyo3(signature = (data, *, time, symbol, fields=None))]
    fn from_long(
        data: &Bound<'_, PyAny>,
        time: String,
        symbol: String,
        fields: Option<Vec<String>>,
    ) -> PyResult<Panel> {
        let (_, batches) = batches(data)?;
        let pivot = Pivot { time, symbol, fields };
        let panel = data.py().detach(|| pivot.run(&batches));
        panel.map(Panel::from).map_err(|error| fault(data.py(), &error))
    }

    /// The fields' names.
    #[getter]
    fn fields(&self) -> Vec<String> {
        self.shared.panel.axes().fields.clone()
    }

    /// The symbols, in the order of the columns.
    #[getter]
    fn symbols(&self) -> Vec<String> {
        self.shared.panel.axes().symbols.clone()
    }

    /// (times, symbols).
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.shared.panel.num_times(), self.shared.panel.num_symbols())
    }

    /// The times, as an array of NumPy's datetime64.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let times = self.shared.panel.times().map_err(|error| fault(py, &error))?;
        array_of(py, &times)
    }

    fn __len__(&self) -> usize {
        self.shared.panel.num_times()
    }

    fn __contains__(&self, field: &str) -> bool {
        self.shared.panel.axes().fields.iter().any(|known| known == field)
    }

    /// A field, lazy: shape (times, symbols).
    fn __getitem__(slf: &Bound<'_, Self>, field: &str) -> PyResult<DataFrame> {
        let this = slf.get();
        if !this.__contains__(field) {
            let error = PanelError::NoField { name: field.to_owned(), fields: this.fields() };
            return Err(fault(slf.py(), &error));
        }
        let node = this.shared.graph().field(field);
        Ok(DataFrame { shared: this.shared.clone(), node })
    }

    /// A formula over the fields, lazy, in the notation of the 101 formulaic alphas:
    /// `panel.formula("-1 * correlation(rank(open), rank(volume), 10)")`.
    ///
    /// `adv`: what `adv20` and the like are means of, "dollars" or "shares". `define`: names
    /// for other formulas that this one may use.
    /// Raises: ArgumentError, with a mark under the fault.
    #[pyo3(signature = (text, /, *, adv="dollars", define=None))]
    fn formula(
        &self,
        py: Python<'_>,
        text: &str,
        adv: &str,
        define: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<DataFrame> {
        let names = self.names(py, adv, define)?;
        let node = cenote_panel::parse(text, &names, &mut self.shared.graph());
        let node = node.map_err(|error| argument(py, &error.to_string()))?;
        Ok(DataFrame { shared: self.shared.clone(), node })
    }

    /// Many factors, computed in one pass when they are read: a dict of names and formulas or
    /// DataFrames of this panel. `pool.put("alphas", panel.factors({...}))` streams them into
    /// the pool. `adv`, `define`: see `formula`.
    #[pyo3(signature = (factors, /, *, adv="dollars", define=None))]
    fn factors(
        &self,
        factors: &Bound<'_, PyDict>,
        adv: &str,
        define: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Factors> {
        let py = factors.py();
        let names = self.names(py, adv, define)?;
        let (mut nodes, mut outputs) = (Vec::new(), Vec::new());
        for (name, factor) in factors {
            let name: String = name.extract()?;
            let node = if let Ok(text) = factor.cast::<PyString>() {
                let text = text.to_cow()?;
                let node = cenote_panel::parse(&text, &names, &mut self.shared.graph());
                node.map_err(|source| {
                    fault(py, &PanelError::Formula { name: name.clone(), source })
                })?
            } else if let Ok(frame) = factor.cast::<DataFrame>() {
                frame.get().of(py, &self.shared)?
            } else {
                return Err(argument(
                    py,
                    &format!(
                        "factor {name:?} is {}; it must be a formula or a DataFrame of this panel",
                        type_name(&factor)
                    ),
                ));
            };
            nodes.push(node);
            outputs.push(name);
        }
        Factors::new(py, self.shared.clone(), &nodes, outputs)
    }

    /// The panel's table as a PyCapsule `arrow_array_stream`: a column of times, and a column
    /// of lists for each field. Copies nothing.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.shared.panel.batches().map_err(|error| fault(py, &error))?;
        let schema = self.shared.panel.axes().schema();
        let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), capsule::STREAM)
    }

    /// The schema of that table as a PyCapsule `arrow_schema`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = self.shared.panel.axes().schema();
        at_once(py, capsule::export_schema(py, &schema)?.map_err(Error::from))
    }

    fn __repr__(&self) -> String {
        let (times, symbols) = self.shape();
        format!("<cenote.Panel: {times} times, {symbols} symbols; {}>", self.fields().join(", "))
    }
}

impl Panel {
    fn names(
        &self,
        py: Python<'_>,
        adv: &str,
        define: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Names> {
        let dollars = match adv {
            "dollars" => Dollars::Yes,
            "shares" => Dollars::No,
            other => {
                let text = format!("adv={other:?}; it is \"dollars\" or \"shares\"");
                return Err(argument(py, &text));
            }
        };
        let mut names = Names::new(self.fields()).adv(dollars);
        for (name, formula) in define.into_iter().flatten() {
            names = names.define(name.extract::<String>()?, formula.extract::<String>()?);
        }
        Ok(names)
    }
}

/// An array of numbers or times for NumPy, in place.
fn array_of<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let values = Values::of(array).map_err(|why| argument(py, why))?;
    py.import("numpy")?.call_method1("asarray", (Bound::new(py, values)?,))
}

/// A field of a panel as a NumPy array of shape (times, symbols).
pub(crate) fn matrix<'py>(
    py: Python<'py>,
    panel: &cenote_panel::Panel,
    field: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let values = panel.field(field).map_err(|error| fault(py, &error))?;
    let array: ArrayRef = Arc::new(Float64Array::from(values.into_owned()));
    let shape = (panel.num_times(), panel.num_symbols());
    array_of(py, &array)?.call_method1("reshape", (shape,))
}

/// A field of a panel as a pandas DataFrame: times × symbols.
pub(crate) fn pandas<'py>(
    py: Python<'py>,
    panel: &cenote_panel::Panel,
    field: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let values = matrix(py, panel, field)?;
    let times = panel.times().map_err(|error| fault(py, &error))?;
    let keywords = PyDict::new(py);
    let index = py.import("pandas")?.call_method1("DatetimeIndex", (array_of(py, &times)?,))?;
    keywords.set_item("index", index.call_method1("rename", (&panel.axes().time,))?)?;
    keywords.set_item("columns", &panel.axes().symbols)?;
    py.import("pandas")?.call_method("DataFrame", (values,), Some(&keywords))
}

/// Factors of a panel, not yet computed: every time they are read they are, in one pass.
///
/// `pool.put(name, factors)` streams them into the pool; `to_panel()` keeps them in memory.
#[pyclass(frozen, module = "cenote", weakref)]
#[derive(Debug)]
pub(crate) struct Factors {
    shared: Arc<Shared>,
    plan: Plan,
    outputs: Vec<String>,
}

impl Factors {
    pub(crate) fn new(
        py: Python<'_>,
        shared: Arc<Shared>,
        nodes: &[NodeId],
        outputs: Vec<String>,
    ) -> PyResult<Factors> {
        let plan = Plan::new(&shared.graph(), nodes);
        let factors = Factors { shared, plan, outputs };
        factors.computation(py)?;
        Ok(factors)
    }

    fn computation(&self, py: Python<'_>) -> PyResult<cenote_panel::Computation> {
        let computation = self.shared.panel.run(&self.plan, self.outputs.clone());
        computation.map_err(|error| fault(py, &error))
    }

    /// The factors in memory; Ctrl-C is noticed.
    pub(crate) fn collect(&self, py: Python<'_>) -> PyResult<cenote_panel::Panel> {
        let mut computation = self.computation(py)?;
        let schema = computation.schema().clone();
        let mut batches = Vec::new();
        loop {
            py.check_signals()?;
            match py.detach(|| computation.next()) {
                None => break,
                Some(batch) => batches.push(batch.map_err(|error| fault(py, &error))?),
            }
        }
        let panel = cenote_panel::Panel::from_batches(&schema, batches);
        panel.map_err(|error| fault(py, &error))
    }
}

#[pymethods]
impl Factors {
    /// The factors' names.
    #[getter]
    fn fields(&self) -> Vec<String> {
        self.outputs.clone()
    }

    /// Computes all, into memory.
    fn to_panel(&self, py: Python<'_>) -> PyResult<Panel> {
        self.collect(py).map(Panel::from)
    }

    /// How they are computed: a dict of the operators after common parts were joined
    /// (`operators`), phases, rows that the first value depends on (`warm_up`; None where it
    /// is all of them) and bytes kept while it runs (`memory`).
    fn explain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = PyDict::new(py);
        let computation = self.computation(py)?;
        about.set_item("factors", self.outputs.len())?;
        about.set_item("operators", self.plan.graph().nodes().len())?;
        about.set_item("phases", self.plan.num_phases())?;
        let warm_up = match self.plan.warm_up() {
            Reach::Finite(rows) => Some(rows),
            Reach::Recursive => None,
        };
        about.set_item("warm_up", warm_up)?;
        about.set_item("memory", computation.memory())?;
        Ok(about)
    }

    /// The factors' table as a PyCapsule `arrow_array_stream`, computed as it is read.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let computation = self.computation(py)?;
        let schema = computation.schema().clone();
        let batches =
            computation.map(|batch| batch.map_err(|e| ArrowError::ExternalError(Box::new(e))));
        let reader = RecordBatchIterator::new(batches, schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), capsule::STREAM)
    }

    /// The schema of that table as a PyCapsule `arrow_schema`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = self.computation(py)?.schema().clone();
        at_once(py, capsule::export_schema(py, &schema)?.map_err(Error::from))
    }

    fn __repr__(&self) -> String {
        format!("<cenote.Factors: {}>", self.outputs.join(", "))
    }
}
