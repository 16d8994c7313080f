//! The functions that formulas call: one table, a few lines each.
//!
//! To add a function is to add an entry here; where no operator does its work yet, a variant
//! in `op` and a kernel.

use super::error::Problem;
use crate::graph::{Graph, NodeId};
use crate::op::{Binary, GroupOp, Op, RowOp, Unary, Window, Window2};

/// A function of formulas.
#[derive(Debug)]
pub struct Function {
    /// Its names; the first is the one that is shown.
    pub names: &'static [&'static str],
    /// How it is called.
    pub usage: &'static str,
    /// What it is.
    pub about: &'static str,
    pub(super) most: usize,
    pub(super) least: usize,
    pub(super) build: fn(&mut Call<'_>) -> Result<NodeId, Problem>,
}

/// All functions.
#[must_use]
pub fn functions() -> &'static [Function] {
    FUNCTIONS
}

/// Definitions that stand one in another; more are a circle.
pub(super) const DEFINITIONS_DEPTH: usize = 16;

/// Longest window, in rows.
const ROWS_MAX: f64 = 1_000_000.0;

/// A call under way.
pub(super) struct Call<'a> {
    pub(super) graph: &'a mut Graph,
    pub(super) arguments: Vec<NodeId>,
    pub(super) function: &'static Function,
}

impl Call<'_> {
    fn number(&self, at: usize, what: &'static str) -> Result<f64, Problem> {
        let usage = self.function.usage;
        self.graph.value(self.arguments[at]).ok_or(Problem::NotConstant { what, usage })
    }

    /// A number of rows. A fraction is cut off, as the paper has it.
    fn rows(&self, at: usize, least: f64) -> Result<u32, Problem> {
        let value = self.number(at, "the window")?.floor();
        if !(least..=ROWS_MAX).contains(&value) {
            let bounds =
                if least > 0.0 { "from 1 to 1000000 rows" } else { "from 0 to 1000000 rows" };
            let usage = self.function.usage;
            return Err(Problem::Bounds { what: "the window", usage, value, bounds });
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in bounds")]
        Ok(value as u32)
    }

    fn within(
        &self,
        at: usize,
        what: &'static str,
        is: fn(f64) -> bool,
        bounds: &'static str,
    ) -> Result<f64, Problem> {
        let value = self.number(at, what)?;
        let usage = self.function.usage;
        if is(value) { Ok(value) } else { Err(Problem::Bounds { what, usage, value, bounds }) }
    }

    fn unary(&mut self, op: Unary) -> Result<NodeId, Problem> {
        Ok(self.graph.add(Op::Unary(op), self.arguments.clone()))
    }

    fn binary(&mut self, op: Binary) -> Result<NodeId, Problem> {
        Ok(self.graph.add(Op::Binary(op), self.arguments.clone()))
    }

    fn window(&mut self, op: Window) -> Result<NodeId, Problem> {
        let rows = self.rows(1, 1.0)?;
        Ok(self.graph.add(Op::Window(op, rows), vec![self.arguments[0]]))
    }

    fn window2(&mut self, op: Window2) -> Result<NodeId, Problem> {
        let rows = self.rows(2, 1.0)?;
        Ok(self.graph.add(Op::Window2(op, rows), self.arguments[..2].to_vec()))
    }

    fn row(&mut self, op: RowOp) -> Result<NodeId, Problem> {
        Ok(self.graph.add(op.into(), vec![self.arguments[0]]))
    }

    fn group(&mut self, op: GroupOp) -> Result<NodeId, Problem> {
        Ok(self.graph.add(op.into(), self.arguments.clone()))
    }

    /// 1 for the first so many of a row in the order of `keys`, else 0.
    fn first(&mut self, keys: NodeId) -> Result<NodeId, Problem> {
        let n = self.within(1, "the number", |n| (1.0..=1e6).contains(&n), "from 1 to 1000000")?;
        let rank = self.graph.add(RowOp::Ordinal.into(), vec![keys]);
        let n = self.graph.constant(n.floor());
        Ok(self.graph.add(Op::Binary(Binary::LessEqual), vec![rank, n]))
    }

    fn delayed(&mut self) -> Result<(NodeId, NodeId), Problem> {
        let (x, rows) = (self.arguments[0], self.rows(1, 0.0)?);
        let before =
            if rows == 0 { x } else { self.graph.add(Op::Window(Window::Delay, rows), vec![x]) };
        Ok((x, before))
    }

    /// Of two series, or of one over a window: the paper writes both in the same way.
    fn either(&mut self, over: Window, of: Binary) -> Result<NodeId, Problem> {
        match self.graph.value(self.arguments[1]) {
            Some(rows) if rows >= 1.0 && self.graph.value(self.arguments[0]).is_none() => {
                self.window(over)
            }
            _ => self.binary(of),
        }
    }
}

macro_rules! function {
    ($names:expr, $usage:literal, $about:literal, $count:expr, $build:expr) => {
        Function {
            names: &$names,
            usage: $usage,
            about: $about,
            least: *$count.start(),
            most: *$count.end(),
            build: $build,
        }
    };
}

static FUNCTIONS: &[Function] = &[
    function!(["abs"], "abs(x)", "absolute value", 1..=1, |c| c.unary(Unary::Abs)),
    function!(["sign"], "sign(x)", "-1, 0 or 1", 1..=1, |c| c.unary(Unary::Sign)),
    function!(["log"], "log(x)", "natural logarithm", 1..=1, |c| c.unary(Unary::Log)),
    function!(["exp"], "exp(x)", "e to the x", 1..=1, |c| c.unary(Unary::Exp)),
    function!(["sqrt"], "sqrt(x)", "square root", 1..=1, |c| c.unary(Unary::Sqrt)),
    function!(["is_missing"], "is_missing(x)", "1 where x is missing, else 0", 1..=1, |c| {
        c.unary(Unary::IsMissing)
    }),
    function!(["coalesce"], "coalesce(x, y)", "x, or y where x is missing", 2..=2, |c| {
        c.binary(Binary::Coalesce)
    }),
    function!(["power"], "power(x, a)", "x to the a", 2..=2, |c| c.binary(Binary::Pow)),
    function!(["signedpower"], "signedpower(x, a)", "sign(x) * abs(x) ^ a", 2..=2, |c| {
        c.binary(Binary::SignedPow)
    }),
    function!(["where", "if"], "where(c, x, y)", "x where c is not 0, else y", 3..=3, |c| {
        Ok(c.graph.add(Op::Where, c.arguments.clone()))
    }),
    function!(["min"], "min(x, y) or min(x, rows)", "the smaller; or ts_min", 2..=2, |c| {
        c.either(Window::Min, Binary::Min)
    }),
    function!(["max"], "max(x, y) or max(x, rows)", "the larger; or ts_max", 2..=2, |c| {
        c.either(Window::Max, Binary::Max)
    }),
    function!(["delay"], "delay(x, rows)", "the value so many rows ago", 2..=2, |c| {
        Ok(c.delayed()?.1)
    }),
    function!(["delta"], "delta(x, rows)", "x - delay(x, rows)", 2..=2, |c| {
        let (x, before) = c.delayed()?;
        Ok(c.graph.add(Op::Binary(Binary::Sub), vec![x, before]))
    }),
    function!(["change"], "change(x, rows)", "x / delay(x, rows) - 1", 2..=2, |c| {
        let (x, before) = c.delayed()?;
        let ratio = c.graph.add(Op::Binary(Binary::Div), vec![x, before]);
        let one = c.graph.constant(1.0);
        Ok(c.graph.add(Op::Binary(Binary::Sub), vec![ratio, one]))
    }),
    function!(["sum", "ts_sum"], "sum(x, rows)", "sum of the window", 2..=2, |c| {
        c.window(Window::Sum)
    }),
    function!(["mean", "ts_mean"], "mean(x, rows)", "mean of the window", 2..=2, |c| {
        c.window(Window::Mean)
    }),
    function!(["var", "ts_var"], "var(x, rows)", "variance, n - 1", 2..=2, |c| c
        .window(Window::Var)),
    function!(["stddev", "ts_std"], "stddev(x, rows)", "standard deviation, n - 1", 2..=2, |c| {
        c.window(Window::Std)
    }),
    function!(["product", "ts_product"], "product(x, rows)", "product of the window", 2..=2, |c| {
        c.window(Window::Product)
    }),
    function!(["ts_min"], "ts_min(x, rows)", "smallest of the window", 2..=2, |c| {
        c.window(Window::Min)
    }),
    function!(["ts_max"], "ts_max(x, rows)", "largest of the window", 2..=2, |c| {
        c.window(Window::Max)
    }),
    function!(["ts_argmin"], "ts_argmin(x, rows)", "its place, 1 the oldest", 2..=2, |c| {
        c.window(Window::ArgMin)
    }),
    function!(["ts_argmax"], "ts_argmax(x, rows)", "its place, 1 the oldest", 2..=2, |c| {
        c.window(Window::ArgMax)
    }),
    function!(["ts_rank"], "ts_rank(x, rows)", "rank of the newest, from 1", 2..=2, |c| {
        c.window(Window::Rank)
    }),
    function!(["ts_median", "median"], "ts_median(x, rows)", "median of the window", 2..=2, |c| {
        c.window(Window::Median)
    }),
    function!(["decay_linear"], "decay_linear(x, rows)", "mean, weights 1 to rows", 2..=2, |c| {
        c.window(Window::DecayLinear)
    }),
    function!(["skew"], "skew(x, rows)", "skewness of the window", 2..=2, |c| c
        .window(Window::Skew)),
    function!(["kurt"], "kurt(x, rows)", "excess kurtosis of the window", 2..=2, |c| {
        c.window(Window::Kurt)
    }),
    function!(["slope"], "slope(x, rows)", "slope on the row number", 2..=2, |c| {
        c.window(Window::Slope)
    }),
    function!(["residual"], "residual(x, rows)", "newest less the line", 2..=2, |c| {
        c.window(Window::Residual)
    }),
    function!(["correlation", "corr"], "correlation(x, y, rows)", "Pearson's", 3..=3, |c| {
        c.window2(Window2::Corr)
    }),
    function!(["covariance", "cov"], "covariance(x, y, rows)", "covariance, n - 1", 3..=3, |c| {
        c.window2(Window2::Cov)
    }),
    function!(["beta"], "beta(x, y, rows)", "slope of x on y", 3..=3, |c| c.window2(Window2::Beta)),
    function!(["ewm_mean"], "ewm_mean(x, span)", "exponential mean, all history", 2..=2, |c| {
        let span = c.within(1, "the span", |span| span >= 1.0, "1 or more")?;
        let alpha = 2.0 / (span + 1.0);
        Ok(c.graph.add(Op::EwmMean(alpha.to_bits()), vec![c.arguments[0]]))
    }),
    function!(["rank"], "rank(x)", "rank in the row, from 1/n to 1", 1..=1, |c| c.row(RowOp::Rank)),
    function!(
        ["scale"],
        "scale(x) or scale(x, a)",
        "x * a / sum of abs(x) in the row",
        1..=2,
        |c| {
            let to = if c.arguments.len() == 2 { c.number(1, "the scale")? } else { 1.0 };
            c.row(RowOp::Scale(to.to_bits()))
        }
    ),
    function!(["row_mean"], "row_mean(x)", "the row's mean, where x is there", 1..=1, |c| {
        c.row(RowOp::Mean)
    }),
    function!(["demean"], "demean(x)", "x less the row's mean", 1..=1, |c| c.row(RowOp::Demean)),
    function!(["zscore"], "zscore(x)", "demeaned, in standard deviations", 1..=1, |c| {
        c.row(RowOp::ZScore)
    }),
    function!(
        ["winsorize"],
        "winsorize(x, p)",
        "within the row's quantiles p, 1 - p",
        2..=2,
        |c| {
            let p = c.within(1, "the quantile", |p| (0.0..0.5).contains(&p), "from 0 to 0.5")?;
            c.row(RowOp::Winsorize(p.to_bits()))
        }
    ),
    function!(["bins"], "bins(x, n)", "bin of the row, 1 to n, by rank", 2..=2, |c| {
        let n =
            c.within(1, "the number of bins", |n| (1.0..=1e6).contains(&n), "from 1 to 1000000")?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in bounds")]
        c.row(RowOp::Bins(n as u32))
    }),
    function!(["top"], "top(x, n)", "1 for the n largest of the row, else 0", 2..=2, |c| {
        let keys = c.graph.add(Op::Unary(Unary::Neg), vec![c.arguments[0]]);
        c.first(keys)
    }),
    function!(["bottom"], "bottom(x, n)", "1 for the n smallest of the row, else 0", 2..=2, |c| {
        c.first(c.arguments[0])
    }),
    function!(
        ["indneutralize", "group_neutralize"],
        "indneutralize(x, groups)",
        "x less its group's mean",
        2..=2,
        |c| { c.group(GroupOp::Neutralize) }
    ),
    function!(["group_rank"], "group_rank(x, groups)", "rank in the group", 2..=2, |c| {
        c.group(GroupOp::Rank)
    }),
];
