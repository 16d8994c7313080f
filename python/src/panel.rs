//! `cenote.Panel`.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator};
use arrow_schema::SchemaRef;
use cenote::Error;
use cenote_panel::{Dollars, Graph, Names, NodeId, PanelError, Pivot, StandIn, Wide};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::capsule;
use crate::door::{self, at_once};
use crate::factors::{Factors, Gathered, Output};
use crate::feed::feed;
use crate::ic::{self, IC};
use crate::matrix::{DataFrame, rows};
use crate::raise::{Class, argument, raise};
use crate::values::Values;

/// A panel and the graph of all expressions over it: equal parts of them exist once.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) panel: cenote_panel::Panel,
    graph: Mutex<Graph>,
    /// Formulas that read what stands in for a field.
    noted: Mutex<Vec<(NodeId, Vec<StandIn>)>>,
}

impl Shared {
    /// The graph. Held for a moment, never while Python runs.
    pub(crate) fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, node: NodeId, stand_ins: Vec<StandIn>) {
        if !stand_ins.is_empty() {
            self.noted.lock().unwrap_or_else(PoisonError::into_inner).push((node, stand_ins));
        }
    }

    /// A field that was computed where something stood in for others.
    pub(crate) fn note_field(&self, name: &str, stand_ins: Vec<StandIn>) {
        if !stand_ins.is_empty() {
            let node = self.graph().field(name);
            self.note(node, stand_ins);
        }
    }

    /// What stands in for a field in the formulas that a node is made of.
    pub(crate) fn stand_ins(&self, node: NodeId) -> Vec<StandIn> {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let graph = self.graph();
        let (mut seen, mut next) = (HashSet::from([node]), vec![node]);
        while let Some(node) = next.pop() {
            let inputs = graph.node(node).inputs.iter().copied();
            next.extend(inputs.filter(|input| seen.insert(*input)));
        }
        let mut found: Vec<StandIn> = Vec::new();
        for (_, stand_ins) in noted.into_iter().filter(|(node, _)| seen.contains(node)) {
            found.extend(stand_ins.iter().filter(|one| !found.contains(one)).collect::<Vec<_>>());
        }
        found
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
    pub(crate) shared: Arc<Shared>,
}

impl From<cenote_panel::Panel> for Panel {
    fn from(panel: cenote_panel::Panel) -> Panel {
        Panel {
            shared: Arc::new(Shared { panel, graph: Mutex::default(), noted: Mutex::default() }),
        }
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
        let panel = Panel::from(panel.map_err(|error| fault(data.py(), &error))?);
        for field in schema.fields() {
            panel.shared.note_field(field.name(), cenote_panel::stood_in(field));
        }
        Ok(panel)
    }

    /// A panel of a table with a row for each (time, symbol), in any order.
    ///
    /// `time`: a column of dates or timestamps; `symbol`: of text or integers; `fields`: the
    /// columns that become fields, all other numbers unless said. Text that is named becomes a
    /// number for each label, for groups. What is not there is missing (NaN), so is null.
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

    /// A panel of wide tables, one a field: a row for each time, a column for each symbol.
    ///
    /// `tables`: a dict of fields and tables, whose times must be the same; a symbol that one
    /// lacks is missing in it. `time`: the column of dates or timestamps, where there are
    /// several; of pandas, the index.
    /// Raises: ArgumentError for times that do not rise or are not the same; ColumnNotFound;
    /// UnsupportedType for columns that are no numbers.
    #[staticmethod]
    #[pyo3(signature = (tables, /, *, time=None))]
    fn from_wide(tables: &Bound<'_, PyDict>, time: Option<String>) -> PyResult<Panel> {
        let py = tables.py();
        let mut fields = Vec::new();
        for (field, table) in tables {
            let (schema, batches) = batches(&table)?;
            fields.push((field.extract::<String>()?, schema.as_ref().clone(), batches));
        }
        let panel = py.detach(|| Wide { time }.run(fields));
        panel.map(Panel::from).map_err(|error| fault(py, &error))
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
        self.shared.note(node, names.stand_ins(text));
        Ok(DataFrame { shared: self.shared.clone(), node })
    }

    /// Many factors, computed in one pass when they are read: a Library, a dict of names and
    /// formulas or DataFrames of this panel, or a list of such. `pool.put("alphas",
    /// panel.factors({...}))` streams them into the pool. `adv`, `define`: see `formula`; a
    /// Library has its own.
    ///
    /// Of a Library those factors are left out whose fields the panel lacks: see `left_out`.
    /// Raises: ArgumentError for a formula that cannot be read, and two factors of one name.
    #[pyo3(signature = (factors, /, *, adv="dollars", define=None))]
    fn factors(
        &self,
        factors: &Bound<'_, PyAny>,
        adv: &str,
        define: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Factors> {
        let names = self.names(factors.py(), adv, define)?;
        let mut gathered = Gathered::default();
        gathered.take(&self.shared, factors, &names)?;
        gathered.factors(factors.py(), self.shared.clone())
    }

    /// What this panel's fields, as factors, say of the returns that follow: an IC.
    ///
    /// `prices`: a DataFrame over the same times and symbols, or a Panel, whose `close` is
    /// taken. `horizons`: rows from entry to exit, [1] unless said. `delay`: rows from a factor's to the entry.
    /// `bins`: how many the returns are told of; `least`: fewest symbols for an IC.
    /// Raises: ArgumentError where times or symbols are not the same.
    #[pyo3(signature = (prices, /, *, horizons=vec![1], delay=1, bins=5, least=10))]
    fn ic(
        &self,
        prices: &Bound<'_, PyAny>,
        horizons: Vec<i64>,
        delay: i64,
        bins: i64,
        least: i64,
    ) -> PyResult<IC> {
        let py = prices.py();
        let asked = ic::asked(py, &horizons, bins, least)?;
        let delay = rows(py, "delay", delay, 0)?;
        let of = |name: String| {
            let node = self.shared.graph().field(&name);
            let stand_ins = self.shared.stand_ins(node);
            Output { name, formula: String::new(), delay, stand_ins }
        };
        let outputs = self.fields().into_iter().map(of).collect();
        let batches = self.shared.panel.batches().map_err(|error| fault(py, &error))?;
        ic::study(py, &self.shared.panel, batches.into_iter().map(Ok), outputs, asked, prices)
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
pub(crate) fn array_of<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
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
