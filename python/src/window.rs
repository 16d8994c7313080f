//! `Rolling` and `Ewm`: windows of a matrix, with pandas' names. What each name means is owned by
//! the table of formulas' functions.

use pyo3::prelude::*;

use crate::matrix::DataFrame;
use crate::raise::argument;

/// The last rows of each symbol of a DataFrame: made by `DataFrame.rolling`.
///
/// Each method gives a lazy DataFrame of the same shape (times, symbols), float64, missing until
/// the window is whole and where a value in it is missing. An infinity is the number that it is
/// to `sum`, `prod`, `min`, `max`, `argmin`, `argmax`, `rank`, `median` and `quantile`; what has
/// one in its window is missing elsewhere. (pandas takes it as missing everywhere.)
#[pyclass(frozen, module = "cenote")]
#[derive(Debug)]
pub(crate) struct Rolling {
    frame: DataFrame,
    rows: u32,
}

impl Rolling {
    pub(crate) fn new(frame: DataFrame, rows: u32) -> Rolling {
        Rolling { frame, rows }
    }

    fn of(&self, py: Python<'_>, function: &str) -> PyResult<DataFrame> {
        self.frame.of_own(py, function, &[self.rows.into()])
    }

    fn with(&self, function: &str, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        let other_node = self.frame.operand(other)?;
        let rows = self.frame.shared.graph().constant(self.rows.into());
        self.frame.call(other.py(), function, vec![self.frame.node, other_node, rows])
    }
}

#[pymethods]
impl Rolling {
    /// The sum.
    fn sum(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "sum")
    }
    /// The mean.
    fn mean(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "mean")
    }
    /// The standard deviation with n − 1; of a constant exactly 0. Missing for one row.
    fn std(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "stddev")
    }
    /// The variance with n − 1; of a constant exactly 0. Missing for one row.
    fn var(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "var")
    }
    /// The smallest.
    fn min(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "ts_min")
    }
    /// The largest.
    fn max(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "ts_max")
    }
    /// Where the smallest is, 1 for the oldest row; the oldest of equals.
    fn argmin(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "ts_argmin")
    }
    /// Where the largest is, 1 for the oldest row; the oldest of equals.
    fn argmax(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "ts_argmax")
    }
    /// The middle one, or the mean of the middle two.
    fn median(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "ts_median")
    }
    /// The product.
    fn prod(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "product")
    }
    /// Skewness, corrected for small samples as pandas does (Fisher and Pearson); missing for a
    /// constant and for fewer than 3 rows.
    fn skew(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "skew")
    }
    /// Excess kurtosis, likewise; missing for fewer than 4 rows.
    fn kurt(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "kurt")
    }
    /// The newest value less the mean, in standard deviations; missing for a constant.
    fn zscore(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "ts_zscore")
    }
    /// The mean with weights 1 for the oldest to n for the newest.
    fn decay_linear(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "decay_linear")
    }
    /// The slope of the least-squares line on the row number, a row.
    fn slope(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "slope")
    }
    /// The newest value less that line's at its row.
    fn residual(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.of(py, "residual")
    }
    /// The rank of the newest, from 1 (with `pct=True` divided by the rows); equals share the
    /// mean of theirs.
    #[pyo3(signature = (*, pct=false))]
    fn rank(&self, py: Python<'_>, pct: bool) -> PyResult<DataFrame> {
        let rank = self.of(py, "ts_rank")?;
        Ok(if pct { rank.divided(self.rows.into()) } else { rank })
    }
    /// The quantile `q`, from 0 to 1: linear between the nearest two, as pandas' default.
    fn quantile(&self, py: Python<'_>, q: f64) -> PyResult<DataFrame> {
        self.frame.of_own(py, "ts_quantile", &[self.rows.into(), q])
    }
    /// Pearson's correlation with `other`, from −1 to 1; missing where either is constant.
    fn corr(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.with("correlation", other)
    }
    /// The covariance with `other`, n − 1.
    fn cov(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.with("covariance", other)
    }
    /// The slope of the least-squares line on `other`; missing where that is constant.
    fn beta(&self, other: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
        self.with("beta", other)
    }
}

/// All rows up to each, weighted exponentially: made by `DataFrame.ewm`.
///
/// Each method gives a lazy DataFrame of the same shape (times, symbols), float64: pandas' with
/// `adjust=False, ignore_na=True`, but missing where the value is. Missing values and infinities
/// are passed over.
#[pyclass(frozen, module = "cenote")]
#[derive(Debug)]
pub(crate) struct Ewm {
    frame: DataFrame,
    span: f64,
}

impl Ewm {
    pub(crate) fn new(
        py: Python<'_>,
        frame: DataFrame,
        span: Option<f64>,
        com: Option<f64>,
        halflife: Option<f64>,
        alpha: Option<f64>,
    ) -> PyResult<Ewm> {
        let said = [("span", span), ("com", com), ("halflife", halflife), ("alpha", alpha)];
        let said: Vec<_> = said.iter().filter_map(|(name, x)| x.map(|x| (*name, x))).collect();
        let &[(name, value)] = said.as_slice() else {
            let found = match said.as_slice() {
                [] => "none of them".to_owned(),
                many => many.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" and "),
            };
            let text = format!("ewm() takes one of span, com, halflife and alpha, not {found}");
            return Err(argument(py, &text));
        };
        let of_alpha = |alpha: f64| 2.0 / alpha - 1.0;
        let (span, bounds) = match name {
            "com" => (2.0 * value + 1.0, "0 or more"),
            "halflife" => (of_alpha(-(-std::f64::consts::LN_2 / value).exp_m1()), "above 0"),
            "alpha" => (of_alpha(value), "above 0 and at most 1"),
            _ => (value, "1 or more"),
        };
        let is_good = (1.0..f64::INFINITY).contains(&span) && (name != "halflife" || value > 0.0);
        if !is_good {
            return Err(argument(py, &format!("{name}={value} is not {bounds}")));
        }
        Ok(Ewm { frame, span })
    }
}

#[pymethods]
impl Ewm {
    /// The mean.
    fn mean(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.frame.of_own(py, "ewm_mean", &[self.span])
    }
    /// The standard deviation, the square root of `var`.
    fn std(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.frame.of_own(py, "ewm_std", &[self.span])
    }
    /// The variance, Σw(x − mean)² ÷ (1 − Σw²) with weights w that add up to 1: pandas' with
    /// `bias=False`. Missing at the first value; of a constant exactly 0.
    fn var(&self, py: Python<'_>) -> PyResult<DataFrame> {
        self.frame.of_own(py, "ewm_var", &[self.span])
    }
}
