//! `cenote.Factors`: many factors of a panel, computed in one pass.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, SchemaRef};
use cenote::Error;
use cenote_panel::{
    Described, Factor, LeftOut, Names, NodeId, PanelError, Plan, Reach, StandIn, describe,
};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyString, PyTuple};

use crate::capsule;
use crate::door::at_once;
use crate::ic::{self, IC};
use crate::library::Library;
use crate::live::Live;
use crate::matrix::{DataFrame, rows};
use crate::panel::{Panel, Shared, fault};
use crate::raise::argument;
use crate::selection::type_name;

/// Factors of a panel, not yet computed: every time they are read they are, in one pass.
///
/// `pool.put(name, factors)` streams them into the pool; `to_panel()` keeps them in memory.
#[pyclass(frozen, module = "cenote", weakref)]
#[derive(Debug)]
pub(crate) struct Factors {
    shared: Arc<Shared>,
    plan: Plan,
    outputs: Vec<Output>,
    left_out: Vec<LeftOut>,
}

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) name: String,
    /// Or nothing, where it was made by operators.
    pub(crate) formula: String,
    /// Rows from its own to the first trade.
    pub(crate) delay: u32,
    /// What it reads in place of fields that the panel lacks.
    pub(crate) stand_ins: Vec<StandIn>,
}

/// Factors as they are asked for.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    nodes: Vec<NodeId>,
    outputs: Vec<Output>,
    left_out: Vec<LeftOut>,
}

impl Gathered {
    /// Takes a Library, a dict, or a list of such.
    pub(crate) fn take(
        &mut self,
        shared: &Shared,
        given: &Bound<'_, PyAny>,
        names: &Names,
    ) -> PyResult<()> {
        let py = given.py();
        if let Ok(library) = given.cast::<Library>() {
            return self.take_library(py, shared, library.get());
        }
        if let Ok(named) = given.cast::<PyDict>() {
            for (name, factor) in named {
                self.take_one(shared, name.extract()?, &factor, names)?;
            }
            return Ok(());
        }
        if given.cast::<PyList>().is_err() && given.cast::<PyTuple>().is_err() {
            let text = format!(
                "factors are {}; they must be a Library, a dict of names and formulas, or a list \
                 of such",
                type_name(given)
            );
            return Err(argument(py, &text));
        }
        given.try_iter()?.try_for_each(|part| self.take(shared, &part?, names))
    }

    fn take_library(&mut self, py: Python<'_>, shared: &Shared, given: &Library) -> PyResult<()> {
        let fields: Vec<&str> = shared.panel.axes().fields.iter().map(String::as_str).collect();
        let chosen: Vec<&Factor> = given.chosen.iter().collect();
        let library = &given.library;
        let built = library.build(&chosen, &fields, given.reading, &mut shared.graph());
        let built = built.map_err(|error| argument(py, &error.to_string()))?;
        let mut nodes = built.factors.into_iter().peekable();
        for factor in chosen {
            let Some((name, node)) = nodes.next_if(|(name, _)| *name == factor.name) else {
                continue;
            };
            let stand_ins = library.stand_ins(factor, &fields, given.reading);
            self.nodes.push(node);
            let (formula, delay) = (factor.formula.clone(), factor.delay);
            self.outputs.push(Output { name, formula, delay, stand_ins });
        }
        self.left_out.extend(built.left_out);
        Ok(())
    }

    fn take_one(
        &mut self,
        shared: &Shared,
        name: String,
        factor: &Bound<'_, PyAny>,
        names: &Names,
    ) -> PyResult<()> {
        let py = factor.py();
        let (node, formula, mut stand_ins) = if let Ok(text) = factor.cast::<PyString>() {
            let text = text.to_cow()?;
            let node = cenote_panel::parse(&text, names, &mut shared.graph());
            let named = |source| fault(py, &PanelError::Formula { name: name.clone(), source });
            (node.map_err(named)?, text.clone().into_owned(), names.stand_ins(&text))
        } else if let Ok(frame) = factor.cast::<DataFrame>() {
            (frame.get().of(py, shared)?, String::new(), Vec::new())
        } else {
            let text = format!(
                "factor {name:?} is {}; it must be a formula or a DataFrame of this panel",
                type_name(factor)
            );
            return Err(argument(py, &text));
        };
        for one in shared.stand_ins(node) {
            if !stand_ins.contains(&one) {
                stand_ins.push(one);
            }
        }
        self.nodes.push(node);
        self.outputs.push(Output { name, formula, delay: 1, stand_ins });
        Ok(())
    }

    pub(crate) fn factors(self, py: Python<'_>, shared: Arc<Shared>) -> PyResult<Factors> {
        let mut known = HashSet::new();
        if let Some(twice) = self.outputs.iter().find(|output| !known.insert(&output.name)) {
            return Err(fault(py, &PanelError::SameName { name: twice.name.clone() }));
        }
        let plan = Plan::new(&shared.graph(), &self.nodes);
        let factors = Factors { shared, plan, outputs: self.outputs, left_out: self.left_out };
        factors.computation(py)?;
        Ok(factors)
    }
}

impl Factors {
    /// One factor.
    pub(crate) fn one(
        py: Python<'_>,
        shared: Arc<Shared>,
        node: NodeId,
        name: &str,
    ) -> PyResult<Factors> {
        let stand_ins = shared.stand_ins(node);
        let (name, formula) = (name.to_owned(), String::new());
        let outputs = vec![Output { name, formula, delay: 1, stand_ins }];
        Gathered { nodes: vec![node], outputs, left_out: Vec::new() }.factors(py, shared)
    }

    fn computation(&self, py: Python<'_>) -> PyResult<cenote_panel::Computation> {
        let computation = self.shared.panel.run(&self.plan, self.fields());
        computation.map_err(|error| fault(py, &error))
    }

    /// The schema of the results: each column says what it is.
    fn schema(&self, schema: &SchemaRef) -> SchemaRef {
        let columns = self.outputs.iter().map(|output| Described {
            name: &output.name,
            formula: &output.formula,
            stand_ins: &output.stand_ins,
        });
        describe(schema, &columns.collect::<Vec<_>>())
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
        self.outputs.iter().map(|output| output.name.clone()).collect()
    }

    /// Factors of a Library that the panel does not allow: a dict of names and the fields that
    /// are missing.
    #[getter]
    fn left_out<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let left_out = PyDict::new(py);
        for left in &self.left_out {
            left_out.set_item(&left.name, &left.missing)?;
        }
        Ok(left_out)
    }

    /// What is read in place of fields that the panel lacks: a dict of fields and formulas,
    /// such as `{"vwap": "(high + low + close) / 3"}`.
    #[getter]
    fn stand_ins<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stand_ins = PyDict::new(py);
        for (field, formula) in self.outputs.iter().flat_map(|output| &output.stand_ins) {
            stand_ins.set_item(field, formula)?;
        }
        Ok(stand_ins)
    }

    /// What the factors say of the returns that follow: an IC. They are computed for it and not
    /// kept.
    ///
    /// `prices`: a DataFrame of this panel's times and symbols; the panel's `close` unless said.
    /// `horizons`: rows from entry to exit, [1] unless said. `delay`: rows from a factor's to the entry; 1, the
    /// next row, unless a Library says otherwise. `bins`: how many the returns are told of;
    /// `least`: fewest symbols for an IC.
    #[pyo3(signature = (*, horizons=vec![1], delay=None, bins=5, least=10, prices=None))]
    fn ic(
        &self,
        py: Python<'_>,
        horizons: Vec<i64>,
        delay: Option<i64>,
        bins: i64,
        least: i64,
        prices: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<IC> {
        let asked = ic::asked(py, &horizons, bins, least)?;
        let mut outputs = self.outputs.clone();
        if let Some(delay) = delay {
            let delay = rows(py, "delay", delay, 0)?;
            outputs.iter_mut().for_each(|output| output.delay = delay);
        }
        let own;
        let prices = match prices {
            Some(prices) => prices,
            None => {
                own = Bound::new(py, Panel { shared: self.shared.clone() })?;
                own.as_any()
            }
        };
        ic::study(py, &self.shared.panel, self.computation(py)?, outputs, asked, prices)
    }

    /// Computes all, into memory.
    fn to_panel(&self, py: Python<'_>) -> PyResult<Panel> {
        let panel = Panel::from(self.collect(py)?);
        for output in &self.outputs {
            panel.shared.note_field(&output.name, output.stand_ins.clone());
        }
        Ok(panel)
    }

    /// The same factors row by row, as they come: a Live, which goes on after the panel's last
    /// row. It gives the bits that a panel with these rows would give.
    ///
    /// Cost: computes as many of the panel's last rows as the factors look back.
    fn live(&self, py: Python<'_>) -> PyResult<Live> {
        Live::new(py, &self.shared.panel, &self.plan, self.fields())
    }

    /// How they are computed: a dict of the fields that are read, the operators after common
    /// parts were joined (`operators`), phases, rows that the first value depends on (`warm_up`; None where it
    /// is all of them) and bytes kept while it runs (`memory`).
    fn explain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = PyDict::new(py);
        let computation = self.computation(py)?;
        about.set_item("factors", self.outputs.len())?;
        about.set_item("fields", self.plan.graph().fields())?;
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
        let schema = self.schema(computation.schema());
        let described = schema.clone();
        let batches = computation.map(move |batch| {
            let batch = batch.map_err(|e| ArrowError::ExternalError(Box::new(e)))?;
            RecordBatch::try_new(described.clone(), batch.columns().to_vec())
        });
        let reader = RecordBatchIterator::new(batches, schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), capsule::STREAM)
    }

    /// The schema of that table as a PyCapsule `arrow_schema`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = self.schema(self.computation(py)?.schema());
        at_once(py, capsule::export_schema(py, &schema)?.map_err(Error::from))
    }

    fn __repr__(&self) -> String {
        let left_out = match self.left_out.len() {
            0 => String::new(),
            many => format!("; {many} left out, for want of fields"),
        };
        let stand_ins: BTreeSet<StandIn> =
            self.outputs.iter().flat_map(|output| output.stand_ins.iter().copied()).collect();
        let stand_ins: String =
            stand_ins.iter().map(|(field, formula)| format!("; {field} = {formula}")).collect();
        format!("<cenote.Factors: {}{left_out}{stand_ins}>", self.fields().join(", "))
    }
}
