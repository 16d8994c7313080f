//! `cenote.DataFrame`: one time × symbol matrix, lazy, with pandas' names.

use std::sync::Arc;

use cenote_panel::{Binary, Function, NodeId, Op, Unary};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;

use crate::factors::Factors;
use crate::panel::{Shared, matrix, pandas};
use crate::raise::argument;
use crate::selection::type_name;
use crate::window::{Ewm, Rolling};

/// One time × symbol matrix of a panel, computed when it is read.
///
/// Operators are pandas' where pandas has them; each gives another lazy matrix of the same shape
/// (times, symbols), float64. Missing values are NaN, and what reads one is missing; a window
/// with one in it is missing. Along time there are windows only, since a rank or a sum over all
/// times would look ahead; `rank`, `demean` and the like work on each time's row (`axis=1`), or
/// with `groups=`, a matrix of codes, on each group of it: who has no code is missing. Operands
/// are numbers or matrices of the same panel. Raises: ArgumentError for anything else.
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

    /// A function of formulas: their table owns what each name means and which numbers it takes.
    pub(crate) fn call(
        &self,
        py: Python<'_>,
        name: &str,
        arguments: Vec<NodeId>,
    ) -> PyResult<DataFrame> {
        let function = Function::named(name);
        let made = function.and_then(|f| f.call(&mut self.shared.graph(), arguments));
        match made {
            Ok(node) => Ok(DataFrame { shared: self.shared.clone(), node }),
            Err(problem) => Err(argument(py, &problem.to_string())),
        }
    }

    /// A function of this matrix and numbers.
    pub(crate) fn of_own(
        &self,
        py: Python<'_>,
        name: &str,
        numbers: &[f64],
    ) -> PyResult<DataFrame> {
        let mut arguments = vec![self.node];
        arguments.extend(numbers.iter().map(|number| self.shared.graph().constant(*number)));
        self.call(py, name, arguments)
    }

    /// A function of rows and numbers, or the one of groups that has its name.
    fn row(
        &self,
        py: Python<'_>,
        name: &str,
        groups: Option<&Bound<'_, PyAny>>,
        numbers: &[f64],
    ) -> PyResult<DataFrame> {
        let Some(groups) = groups else { return self.of_own(py, name, numbers) };
        let mut arguments = vec![self.node, self.operand(groups)?];
        arguments.extend(numbers.iter().map(|number| self.shared.graph().constant(*number)));
        self.call(py, &format!("group_{}", name.trim_start_matches("row_")), arguments)
    }

    /// Another operand: a matrix of this panel, or a number.
    pub(crate) fn operand(&self, other: &Bound<'_, PyAny>) -> PyResult<NodeId> {
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

    pub(crate) fn divided(&self, by: f64) -> DataFrame {
        let by = self.shared.graph().constant(by);
        self.with(Op::Binary(Binary::Div), vec![self.node, by])
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
    /// The square root; of less than 0 missing.
    fn sqrt(&self) -> DataFrame {
        self.unary(Unary::Sqrt)
    }
    /// sign(x) × |x| to the power `a`, a number or a matrix.
    fn signedpower(&self, a: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.binary(Binary::SignedPow, a)
    }
    /// The smaller one of each pair, as `numpy.minimum`: missing where either is.
    fn minimum(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.binary(Binary::Min, other)
    }
    /// The larger one of each pair, as `numpy.maximum`: missing where either is.
    fn maximum(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.binary(Binary::Max, other)
    }
    /// The values, none below `lower` or above `upper`: numbers or matrices. Where a bound is
    /// missing the result is, too; pandas takes no bound there.
    #[pyo3(signature = (lower=None, upper=None))]
    fn clip(
        &self,
        lower: Option<&Bound<'_, PyAny>>,
        upper: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DataFrame> {
        let low = lower.map_or_else(|| Ok(self.clone()), |lower| self.maximum(lower))?;
        upper.map_or_else(|| Ok(low.clone()), |upper| low.minimum(upper))
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
        self.of_own(py, "delay", &[rows(py, "periods", periods, 0)?.into()])
    }
    /// x less its value so many rows ago.
    #[pyo3(signature = (periods=1))]
    fn diff(&self, py: Python<'_>, periods: i64) -> PyResult<DataFrame> {
        self.of_own(py, "delta", &[rows(py, "periods", periods, 0)?.into()])
    }
    /// x ÷ its value so many rows ago, less 1. Nothing is filled.
    #[pyo3(signature = (periods=1))]
    fn pct_change(&self, py: Python<'_>, periods: i64) -> PyResult<DataFrame> {
        self.of_own(py, "change", &[rows(py, "periods", periods, 0)?.into()])
    }
    /// The last `window` rows of each symbol, the newest included.
    ///
    /// A result is missing until the window is whole, and where any value in it is missing:
    /// pandas' `min_periods=window`. Raises: ArgumentError for a window below 1.
    fn rolling(&self, py: Python<'_>, window: i64) -> PyResult<Rolling> {
        Ok(Rolling::new(self.clone(), rows(py, "window", window, 1)?))
    }
    /// All rows up to each, weighted exponentially: pandas' `ewm` with `adjust=False` and
    /// `ignore_na=True`.
    ///
    /// One of `span` ≥ 1, `com` ≥ 0, `halflife` > 0 (rows) and 0 < `alpha` ≤ 1 says how fast
    /// weights fall: α = 2 ÷ (span + 1) = 1 ÷ (1 + com) = 1 − exp(−ln 2 ÷ halflife). By name,
    /// since pandas' first is `com`. The only operator that depends on where the data begins.
    /// Raises: ArgumentError for none of them, for two, and out of their bounds.
    #[pyo3(signature = (*, span=None, com=None, halflife=None, alpha=None))]
    fn ewm(
        &self,
        py: Python<'_>,
        span: Option<f64>,
        com: Option<f64>,
        halflife: Option<f64>,
        alpha: Option<f64>,
    ) -> PyResult<Ewm> {
        Ewm::new(py, self.clone(), span, com, halflife, alpha)
    }

    /// The rank among the symbols of each time, from 1/n to 1 (with `pct=False` from 1); equals
    /// share the mean of theirs. `groups`: among those of the same group.
    #[pyo3(signature = (*, axis=0, pct=true, groups=None))]
    fn rank(
        &self,
        py: Python<'_>,
        axis: i64,
        pct: bool,
        groups: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DataFrame> {
        along_rows(py, "rank", axis)?;
        self.row(py, if pct { "rank" } else { "ordinal" }, groups, &[])
    }
    /// x × `to` ÷ Σ|x| of each time. `groups`: of each group by itself.
    #[pyo3(signature = (to=1.0, *, groups=None))]
    fn scale(
        &self,
        py: Python<'_>,
        to: f64,
        groups: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DataFrame> {
        self.row(py, "scale", groups, &[to])
    }
    /// How many symbols of each time are there, at each of them. `groups`: of each group.
    #[pyo3(signature = (*, groups=None))]
    fn row_count(&self, py: Python<'_>, groups: Option<&Bound<'_, PyAny>>) -> PyResult<DataFrame> {
        self.row(py, "row_count", groups, &[])
    }
    /// The mean of each time, at every symbol that is there. `groups`: of each group.
    #[pyo3(signature = (*, groups=None))]
    fn row_mean(&self, py: Python<'_>, groups: Option<&Bound<'_, PyAny>>) -> PyResult<DataFrame> {
        self.row(py, "row_mean", groups, &[])
    }
    /// x less the mean of its time. `groups`: of its group at that time.
    #[pyo3(signature = (*, groups=None))]
    fn demean(&self, py: Python<'_>, groups: Option<&Bound<'_, PyAny>>) -> PyResult<DataFrame> {
        self.row(py, "demean", groups, &[])
    }
    /// Demeaned, in standard deviations (n − 1) of its time; missing where all are the same.
    /// `groups`: of its group at that time.
    #[pyo3(signature = (*, groups=None))]
    fn zscore(&self, py: Python<'_>, groups: Option<&Bound<'_, PyAny>>) -> PyResult<DataFrame> {
        self.row(py, "zscore", groups, &[])
    }
    /// Within the quantiles `p` and 1 − `p` of its time, 0 ≤ p < 0.5. `groups`: of its group.
    #[pyo3(signature = (p, *, groups=None))]
    fn winsorize(
        &self,
        py: Python<'_>,
        p: f64,
        groups: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DataFrame> {
        self.row(py, "winsorize", groups, &[p])
    }
    /// The bin from 1 to `n` of its time, by rank: ⌈rank × n ÷ symbols⌉. `groups`: of its group.
    #[pyo3(signature = (n, *, groups=None))]
    fn bins(
        &self,
        py: Python<'_>,
        n: i64,
        groups: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DataFrame> {
        self.row(py, "bins", groups, &[rows(py, "n", n, 1)?.into()])
    }
    /// 1 for the `n` largest of each time, else 0; equals, whose ranks are the same, are in or
    /// out together. `groups`: of each group.
    #[pyo3(signature = (n, *, groups=None))]
    fn top(
        &self,
        py: Python<'_>,
        n: i64,
        groups: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DataFrame> {
        self.row(py, "top", groups, &[rows(py, "n", n, 1)?.into()])
    }
    /// 1 for the `n` smallest of each time, else 0; likewise.
    #[pyo3(signature = (n, *, groups=None))]
    fn bottom(
        &self,
        py: Python<'_>,
        n: i64,
        groups: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<DataFrame> {
        self.row(py, "bottom", groups, &[rows(py, "n", n, 1)?.into()])
    }
    /// x less the mean of its group at its time; `groups` is a matrix of codes: `demean(groups=)`.
    fn neutralize(&self, py: Python<'_>, groups: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.demean(py, Some(groups))
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
