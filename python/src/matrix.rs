//! `cenote.DataFrame`: one time × symbol matrix, lazy, with pandas' names.

use std::sync::Arc;

use cenote_panel::{Binary, GroupOp, NodeId, Op, RowOp, Unary, Window, Window2};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;

use crate::factors::Factors;
use crate::panel::{Shared, matrix, pandas};
use crate::raise::argument;
use crate::selection::type_name;

/// One time × symbol matrix of a panel, computed when it is read.
///
/// Operators are pandas' where pandas has them. Missing values are NaN, and what reads one is
/// missing; a window with one in it is missing. Along time there are windows only, since a
/// rank or a sum over all times would look ahead; `rank`, `demean` and the like work on each
/// time's row (`axis=1`).
#[pyclass(frozen, module = "cenote", weakref)]
#[derive(Clone, Debug)]
pub(crate) struct DataFrame {
    pub(crate) shared: Arc<Shared>,
    pub(crate) node: NodeId,
}

/// The name of the one factor that a matrix is read as.
const ONLY: &str = "value";
/// Longest window, in rows.
const ROWS_MAX: i64 = 1_000_000;

pub(crate) fn rows(py: Python<'_>, what: &str, rows: i64, least: i64) -> PyResult<u32> {
    if rows < least || rows > ROWS_MAX {
        let ahead = if rows < 0 { " (what is ahead cannot be read)" } else { "" };
        let text = format!("{what}={rows} is not from {least} to {ROWS_MAX} rows{ahead}");
        return Err(argument(py, &text));
    }
    Ok(u32::try_from(rows).unwrap_or(u32::MAX))
}

impl DataFrame {
    /// The node, if it is of this panel.
    pub(crate) fn of(&self, py: Python<'_>, shared: &Shared) -> PyResult<NodeId> {
        if std::ptr::eq(Arc::as_ptr(&self.shared), shared) {
            return Ok(self.node);
        }
        Err(argument(py, "these are of two panels; put the fields into one panel first"))
    }

    fn with(&self, op: Op, inputs: Vec<NodeId>) -> DataFrame {
        let node = self.shared.graph().add(op, inputs);
        DataFrame { shared: self.shared.clone(), node }
    }

    fn unary(&self, op: Unary) -> DataFrame {
        self.with(Op::Unary(op), vec![self.node])
    }

    fn row(&self, op: RowOp) -> DataFrame {
        self.with(op.into(), vec![self.node])
    }

    /// Another operand: a matrix of this panel, or a number.
    fn operand(&self, other: &Bound<'_, PyAny>) -> PyResult<NodeId> {
        if let Ok(frame) = other.cast::<DataFrame>() {
            return frame.get().of(other.py(), &self.shared);
        }
        match other.extract::<f64>() {
            Ok(number) => Ok(self.shared.graph().constant(number)),
            Err(_) => Err(argument(
                other.py(),
                &format!("{} is neither a number nor a DataFrame of this panel", type_name(other)),
            )),
        }
    }

    fn binary(&self, op: Binary, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        let other = self.operand(other)?;
        Ok(self.with(Op::Binary(op), vec![self.node, other]))
    }

    fn reversed(&self, op: Binary, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        let other = self.operand(other)?;
        Ok(self.with(Op::Binary(op), vec![other, self.node]))
    }

    fn delay(&self, periods: u32) -> DataFrame {
        if periods == 0 {
            return self.clone();
        }
        self.with(Op::Window(Window::Delay, periods), vec![self.node])
    }

    /// Its values, row by row.
    pub(crate) fn values(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        let panel = self.computed(py)?;
        let values = panel.field(ONLY).map_err(|error| crate::panel::fault(py, &error))?;
        Ok(values.into_owned())
    }

    fn computed(&self, py: Python<'_>) -> PyResult<cenote_panel::Panel> {
        Factors::one(py, self.shared.clone(), self.node, ONLY)?.collect(py)
    }
}

fn along_rows(py: Python<'_>, what: &str, axis: i64) -> PyResult<()> {
    if axis == 1 {
        return Ok(());
    }
    let text = format!(
        "{what}(axis={axis}) over all times would look ahead; axis=1 is over the symbols of \
         each time, rolling(n).{what}() over the last n"
    );
    Err(argument(py, &text))
}

#[pymethods]
impl DataFrame {
    /// (times, symbols).
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.shared.panel.num_times(), self.shared.panel.num_symbols())
    }

    /// The symbols.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.shared.panel.axes().symbols.clone()
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.binary(Binary::Add, other)
    }
    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.reversed(Binary::Add, other)
    }
    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.binary(Binary::Sub, other)
    }
    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.reversed(Binary::Sub, other)
    }
    fn __mul__(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.binary(Binary::Mul, other)
    }
    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.reversed(Binary::Mul, other)
    }
    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.binary(Binary::Div, other)
    }
    fn __rtruediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.reversed(Binary::Div, other)
    }
    fn __pow__(
        &self,
        other: &Bound<'_, PyAny>,
        modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DataFrame> {
        if modulo.is_some() {
            return Err(argument(other.py(), "pow() with a modulus is not for matrices"));
        }
        self.binary(Binary::Pow, other)
    }
    fn __rpow__(
        &self,
        other: &Bound<'_, PyAny>,
        modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DataFrame> {
        if modulo.is_some() {
            return Err(argument(other.py(), "pow() with a modulus is not for matrices"));
        }
        self.reversed(Binary::Pow, other)
    }
    fn __rand__(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.reversed(Binary::And, other)
    }
    fn __ror__(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.reversed(Binary::Or, other)
    }
    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.binary(Binary::And, other)
    }
    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.binary(Binary::Or, other)
    }
    fn __invert__(&self) -> DataFrame {
        self.unary(Unary::Not)
    }
    fn __neg__(&self) -> DataFrame {
        self.unary(Unary::Neg)
    }
    fn __abs__(&self) -> DataFrame {
        self.unary(Unary::Abs)
    }
    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<DataFrame> {
        match op {
            CompareOp::Lt => self.binary(Binary::Less, other),
            CompareOp::Le => self.binary(Binary::LessEqual, other),
            CompareOp::Gt => self.reversed(Binary::Less, other),
            CompareOp::Ge => self.reversed(Binary::LessEqual, other),
            CompareOp::Eq => self.binary(Binary::Equal, other),
            CompareOp::Ne => self.binary(Binary::NotEqual, other),
        }
    }
    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Err(argument(slf.py(), "a matrix is neither true nor false; use where(), &, | and ~"))
    }
    fn __hash__(&self) -> u64 {
        (Arc::as_ptr(&self.shared).addr() as u64) ^ self.node.number()
    }

    /// |x|.
    fn abs(&self) -> DataFrame {
        self.unary(Unary::Abs)
    }
    /// −1, 0 or 1.
    fn sign(&self) -> DataFrame {
        self.unary(Unary::Sign)
    }
    /// The natural logarithm; of 0 −∞, of less missing.
    fn log(&self) -> DataFrame {
        self.unary(Unary::Log)
    }
    /// e to the x.
    fn exp(&self) -> DataFrame {
        self.unary(Unary::Exp)
    }
    /// 1 where a value is missing, else 0.
    fn isna(&self) -> DataFrame {
        self.unary(Unary::IsMissing)
    }
    /// `other` (a number or a matrix) where a value is missing.
    fn fillna(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.binary(Binary::Coalesce, other)
    }
    /// The values where `condition` is not 0, else `other`; missing where it is missing.
    #[pyo3(signature = (condition, other=None))]
    fn r#where(
        &self,
        condition: &Bound<'_, PyAny>,
        other: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DataFrame> {
        let condition = self.operand(condition)?;
        let other = match other {
            Some(other) => self.operand(other)?,
            None => self.shared.graph().constant(f64::NAN),
        };
        Ok(self.with(Op::Where, vec![condition, self.node, other]))
    }

    /// The value so many rows ago. Not ahead: `periods` is 0 or more.
    #[pyo3(signature = (periods=1))]
    fn shift(&self, py: Python<'_>, periods: i64) -> PyResult<DataFrame> {
        Ok(self.delay(rows(py, "periods", periods, 0)?))
    }
    /// x less its value so many rows ago.
    #[pyo3(signature = (periods=1))]
    fn diff(&self, py: Python<'_>, periods: i64) -> PyResult<DataFrame> {
        let before = self.delay(rows(py, "periods", periods, 0)?);
        Ok(self.with(Op::Binary(Binary::Sub), vec![self.node, before.node]))
    }
    /// x ÷ its value so many rows ago, less 1. Nothing is filled.
    #[pyo3(signature = (periods=1))]
    fn pct_change(&self, py: Python<'_>, periods: i64) -> PyResult<DataFrame> {
        let before = self.delay(rows(py, "periods", periods, 0)?);
        let ratio = self.with(Op::Binary(Binary::Div), vec![self.node, before.node]);
        let one = self.shared.graph().constant(1.0);
        Ok(ratio.with(Op::Binary(Binary::Sub), vec![ratio.node, one]))
    }
    /// The last `window` rows of each symbol, the newest included.
    fn rolling(&self, py: Python<'_>, window: i64) -> PyResult<Rolling> {
        Ok(Rolling { frame: self.clone(), rows: rows(py, "window", window, 1)? })
    }
    /// All rows up to each, weighted exponentially: `span` ≥ 1, as pandas' with
    /// `adjust=False`. The only operator that depends on where the data begins.
    fn ewm(&self, py: Python<'_>, span: f64) -> PyResult<Ewm> {
        if span.is_nan() || span < 1.0 {
            return Err(argument(py, &format!("span={span} is not 1 or more")));
        }
        Ok(Ewm { frame: self.clone(), alpha: 2.0 / (span + 1.0) })
    }

    /// The rank among the symbols of each time, from 1/n to 1 (with `pct=False` from 1);
    /// equals share the mean of theirs.
    #[pyo3(signature = (*, axis=0, pct=true))]
    fn rank(&self, py: Python<'_>, axis: i64, pct: bool) -> PyResult<DataFrame> {
        along_rows(py, "rank", axis)?;
        Ok(self.row(if pct { RowOp::Rank } else { RowOp::Ordinal }))
    }
    /// x × `to` ÷ Σ|x| of each time.
    #[pyo3(signature = (to=1.0))]
    fn scale(&self, to: f64) -> DataFrame {
        self.row(RowOp::Scale(to.to_bits()))
    }
    /// x less the mean of its time.
    fn demean(&self) -> DataFrame {
        self.row(RowOp::Demean)
    }
    /// Demeaned, in standard deviations (n − 1) of its time.
    fn zscore(&self) -> DataFrame {
        self.row(RowOp::ZScore)
    }
    /// Within the quantiles `p` and 1 − `p` of its time.
    fn winsorize(&self, py: Python<'_>, p: f64) -> PyResult<DataFrame> {
        if !(0.0..0.5).contains(&p) {
            return Err(argument(py, &format!("p={p} is not from 0 to 0.5")));
        }
        Ok(self.row(RowOp::Winsorize(p.to_bits())))
    }
    /// The bin from 1 to `n` of its time, by rank.
    fn bins(&self, py: Python<'_>, n: i64) -> PyResult<DataFrame> {
        Ok(self.row(RowOp::Bins(rows(py, "n", n, 1)?)))
    }
    /// x less the mean of its group at its time; `groups` is a matrix of codes.
    fn neutralize(&self, groups: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        let groups = self.operand(groups)?;
        Ok(self.with(GroupOp::Neutralize.into(), vec![self.node, groups]))
    }

    /// The values: a NumPy array of float64, shape (times, symbols), the caller's own.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        matrix(py, &self.computed(py)?, ONLY)
    }
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = copy;
        let values = self.to_numpy(py)?;
        match dtype {
            Some(dtype) => values.call_method1("astype", (dtype,)),
            None => Ok(values),
        }
    }
    /// The values as a pandas DataFrame: times × symbols.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        pandas(py, &self.computed(py)?, ONLY)
    }

    fn __repr__(&self) -> String {
        let (times, symbols) = self.shape();
        format!("<cenote.DataFrame: {times} times × {symbols} symbols, not computed yet>")
    }
}

/// The last rows of a DataFrame: made by `DataFrame.rolling`.
#[pyclass(frozen, module = "cenote")]
#[derive(Debug)]
pub(crate) struct Rolling {
    frame: DataFrame,
    rows: u32,
}

impl Rolling {
    fn of(&self, op: Window) -> DataFrame {
        self.frame.with(Op::Window(op, self.rows), vec![self.frame.node])
    }

    fn with(&self, op: Window2, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        let other = self.frame.operand(other)?;
        Ok(self.frame.with(Op::Window2(op, self.rows), vec![self.frame.node, other]))
    }
}

#[pymethods]
impl Rolling {
    /// The sum.
    fn sum(&self) -> DataFrame {
        self.of(Window::Sum)
    }
    /// The mean.
    fn mean(&self) -> DataFrame {
        self.of(Window::Mean)
    }
    /// The standard deviation, n − 1; of a constant exactly 0.
    fn std(&self) -> DataFrame {
        self.of(Window::Std)
    }
    /// The variance, n − 1.
    fn var(&self) -> DataFrame {
        self.of(Window::Var)
    }
    /// The smallest.
    fn min(&self) -> DataFrame {
        self.of(Window::Min)
    }
    /// The largest.
    fn max(&self) -> DataFrame {
        self.of(Window::Max)
    }
    /// Where the smallest is, 1 for the oldest row.
    fn argmin(&self) -> DataFrame {
        self.of(Window::ArgMin)
    }
    /// Where the largest is, 1 for the oldest row.
    fn argmax(&self) -> DataFrame {
        self.of(Window::ArgMax)
    }
    /// The rank of the newest, from 1.
    fn rank(&self) -> DataFrame {
        self.of(Window::Rank)
    }
    /// The median.
    fn median(&self) -> DataFrame {
        self.of(Window::Median)
    }
    /// The product.
    fn prod(&self) -> DataFrame {
        self.of(Window::Product)
    }
    /// Skewness, corrected as pandas does; missing for a constant.
    fn skew(&self) -> DataFrame {
        self.of(Window::Skew)
    }
    /// Excess kurtosis, likewise.
    fn kurt(&self) -> DataFrame {
        self.of(Window::Kurt)
    }
    /// The mean with weights 1 for the oldest to n for the newest.
    fn decay_linear(&self) -> DataFrame {
        self.of(Window::DecayLinear)
    }
    /// The slope on the row number.
    fn slope(&self) -> DataFrame {
        self.of(Window::Slope)
    }
    /// The newest value less the line's.
    fn residual(&self) -> DataFrame {
        self.of(Window::Residual)
    }
    /// Pearson's correlation; missing where either is constant.
    fn corr(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.with(Window2::Corr, other)
    }
    /// The covariance, n − 1.
    fn cov(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.with(Window2::Cov, other)
    }
    /// The slope on `other`.
    fn beta(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.with(Window2::Beta, other)
    }
}

/// All rows up to each, weighted exponentially: made by `DataFrame.ewm`.
#[pyclass(frozen, module = "cenote")]
#[derive(Debug)]
pub(crate) struct Ewm {
    frame: DataFrame,
    alpha: f64,
}

#[pymethods]
impl Ewm {
    /// The mean.
    fn mean(&self) -> DataFrame {
        self.frame.with(Op::EwmMean(self.alpha.to_bits()), vec![self.frame.node])
    }
}
