//! `cenote.IC`: what factors say of the returns that follow.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use cenote::Error;
use cenote_panel::ic::{Asked, Finding, Foretold, Matrix, Named, Study};
use cenote_panel::{Axes, PanelError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::capsule;
use crate::door::at_once;
use crate::factors::Output;
use crate::matrix::{DataFrame, rows};
use crate::panel::{Panel, fault};
use crate::raise::argument;
use crate::selection::type_name;

mod text;

/// The field whose returns are foretold where none is named.
const CLOSE: &str = "close";
/// Most bins, each of which has two columns of the result.
const BINS_MAX: i64 = 100;

/// The numbers that `ic` is called with.
pub(crate) fn asked(py: Python<'_>, horizons: &[i64], bins: i64, least: i64) -> PyResult<Asked> {
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let one = |&horizon: &i64| rows(py, "horizon", horizon, 1).map(count);
    if horizons.is_empty() {
        return Err(argument(py, "horizons=[]; at least one is asked for, such as [1]"));
    }
    if !(1..=BINS_MAX).contains(&bins) {
        return Err(argument(py, &format!("bins={bins} is not from 1 to {BINS_MAX}")));
    }
    Ok(Asked {
        horizons: horizons.iter().map(one).collect::<PyResult<_>>()?,
        bins: rows(py, "bins", bins, 1)?,
        least: count(rows(py, "least", least, 2)?),
    })
}

/// Studies factors as they come, batch by batch. Ctrl-C is noticed between batches.
pub(crate) fn study(
    py: Python<'_>,
    panel: &cenote_panel::Panel,
    mut batches: impl Iterator<Item = Result<RecordBatch, PanelError>> + Send,
    outputs: Vec<Output>,
    asked: Asked,
    prices: &Bound<'_, PyAny>,
) -> PyResult<IC> {
    let prices = prices_of(py, panel, prices)?;
    let (symbols, times) = (panel.num_symbols(), panel.times().map_err(|e| fault(py, &e))?);
    if symbols == 0 {
        return Err(argument(py, "the panel has no symbols"));
    }
    let delays: Vec<usize> = outputs.iter().map(|output| output.delay as usize).collect();
    let horizons = asked.horizons.clone();
    let mut study = Study::new(asked, &delays, Matrix::new(&prices, symbols));
    loop {
        py.check_signals()?;
        let more = py.detach(|| match batches.next() {
            Some(batch) => push(&mut study, batch?, &outputs).map(|()| true),
            None => Ok(false),
        });
        if !more.map_err(|error| fault(py, &error))? {
            break;
        }
    }
    let axes = panel.axes();
    let (time, findings) = (axes.time.clone(), study.finish());
    Ok(IC { outputs, findings, horizons, time, times })
}

fn push(study: &mut Study<'_>, batch: RecordBatch, outputs: &[Output]) -> Result<(), PanelError> {
    let part = cenote_panel::Panel::from_batches(&batch.schema(), [batch])?;
    let fields = outputs.iter().map(|output| part.field(&output.name));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    study.push(&fields.iter().map(AsRef::as_ref).collect::<Vec<&[f64]>>());
    Ok(())
}

/// The matrix of prices, which has the panel's times and symbols.
fn prices_of(
    py: Python<'_>,
    panel: &cenote_panel::Panel,
    prices: &Bound<'_, PyAny>,
) -> PyResult<Vec<f64>> {
    let (values, other) = if let Ok(frame) = prices.cast::<DataFrame>() {
        let frame = frame.get();
        (frame.values(py)?, frame.shared.clone())
    } else if let Ok(other) = prices.cast::<Panel>() {
        let shared = other.get().shared.clone();
        let values = shared.panel.field(CLOSE).map_err(|error| fault(py, &error))?.into_owned();
        (values, shared)
    } else {
        let found = type_name(prices);
        return Err(argument(py, &format!("prices is {found}; it must be a DataFrame or a Panel")));
    };
    let (own, others) = (panel.axes(), other.panel.axes());
    let times = |panel: &cenote_panel::Panel| panel.times().map_err(|error| fault(py, &error));
    let what = if own.symbols != others.symbols {
        "symbols"
    } else if times(panel)?.as_ref() != times(&other.panel)?.as_ref() {
        "times"
    } else {
        return Ok(values);
    };
    Err(argument(py, &format!("prices have other {what} than the factors")))
}

/// What factors say of the returns that follow: information coefficients, and what goes with
/// them. Made by `Factors.ic` and `Panel.ic`.
///
/// As a table it has a row for each factor and horizon: `mean`, `std` (n − 1), `icir` (mean ÷
/// std, not annualised), `t` (mean ÷ (std ÷ √n)), `t_newey_west` (for returns that overlap),
/// `positive` (share of dates above 0), `coverage`, `autocorrelation`, `turnover` (of the lowest
/// and the highest bin, their mean), `spread` (return of the highest bin less the lowest's),
/// `return_1` … and `turnover_1` … of each bin. What cannot be said is null.
#[pyclass(frozen, module = "cenote", weakref)]
#[derive(Debug)]
pub(crate) struct IC {
    outputs: Vec<Output>,
    findings: Vec<Finding>,
    horizons: Vec<usize>,
    time: String,
    times: ArrayRef,
}

impl IC {
    /// Each factor at each horizon.
    fn each(&self) -> impl Iterator<Item = (&Output, &Finding, &Foretold)> {
        let pairs = self.outputs.iter().zip(&self.findings);
        pairs.flat_map(|(output, finding)| {
            finding.horizons.iter().map(move |foretold| (output, finding, foretold))
        })
    }

    fn table(&self) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let named = self.outputs.iter();
        let named = named.map(|o| Named { name: &o.name, stand_ins: &o.stand_ins });
        let named: Vec<Named<'_>> = named.collect();
        cenote_panel::ic::table(&named, &self.findings)
    }
}

#[pymethods]
impl IC {
    /// The factors' names.
    #[getter]
    fn factors(&self) -> Vec<String> {
        self.outputs.iter().map(|output| output.name.clone()).collect()
    }

    /// Rows from entry to exit of each return.
    #[getter]
    fn horizons(&self) -> Vec<usize> {
        self.horizons.clone()
    }

    /// Date by date: a Panel whose symbols are the factors, with the fields `ic_1` and
    /// `spread_1` for the horizon 1, and so on. `ic.by_date()["ic_1"].rolling(63).mean()`.
    fn by_date(&self, py: Python<'_>) -> PyResult<Panel> {
        let (mut fields, mut matrices) = (Vec::new(), Vec::new());
        for (at, horizon) in self.horizons.iter().enumerate() {
            let of = |series: &dyn Fn(&Foretold) -> &[f64]| -> Vec<f64> {
                let dates = 0..self.times.len();
                let row = |date: usize| self.findings.iter().map(move |f| (f, date));
                dates.flat_map(row).map(|(f, date)| series(&f.horizons[at])[date]).collect()
            };
            fields.push(format!("ic_{horizon}"));
            matrices.push(of(&|foretold| &foretold.ic));
            fields.push(format!("spread_{horizon}"));
            matrices.push(of(&|foretold| &foretold.quantiles.spread));
        }
        let (time, time_type) = (self.time.clone(), self.times.data_type().clone());
        let axes = Axes { time, time_type, symbols: self.factors(), fields };
        let panel = cenote_panel::Panel::from_matrices(axes, self.times.clone(), matrices);
        panel.map(Panel::from).map_err(|error| fault(py, &error))
    }

    /// The table as a pyarrow.Table.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// The table as a pandas DataFrame, by factor and horizon.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let table = Self::to_arrow(slf)?.call_method0("to_pandas")?;
        table.call_method1("set_index", (vec!["factor", "horizon"],))
    }

    /// The table as a PyCapsule `arrow_array_stream`.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let table = self.table().map_err(|error| fault(py, &error.into()))?;
        let reader = RecordBatchIterator::new([Ok(table.clone())], table.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), capsule::STREAM)
    }

    /// The schema of the table as a PyCapsule `arrow_schema`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let table = self.table().map_err(|error| fault(py, &error.into()))?;
        at_once(py, capsule::export_schema(py, &table.schema())?.map_err(Error::from))
    }

    fn __len__(&self) -> usize {
        self.each().count()
    }

    fn __repr__(&self) -> String {
        text::table(self)
    }
}
