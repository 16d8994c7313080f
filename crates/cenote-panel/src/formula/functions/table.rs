//! The table of functions.
//!
//! A usage says what stands where: `x`, `y` and `c` are matrices, `groups` codes, `rows` a
//! window, the rest numbers. Tests make calls of it, so that every entry is covered by itself.

use super::Function;
use crate::op::{Binary, Ewm, Op, RowOp, Unary, Window, Window2};

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

pub(super) static FUNCTIONS: &[Function] = &[
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
        c.window(Window::MEDIAN)
    }),
    function!(
        ["ts_quantile", "quantile"],
        "ts_quantile(x, rows, q)",
        "quantile of the window, linear",
        3..=3,
        |c| {
            let q = c.within(2, "the quantile", |q| (0.0..=1.0).contains(&q), "from 0 to 1")?;
            c.window(Window::Quantile(q.to_bits()))
        }
    ),
    function!(
        ["ts_zscore"],
        "ts_zscore(x, rows)",
        "(x - mean) / stddev of the window",
        2..=2,
        |c| {
            let (mean, std) = (c.window(Window::Mean)?, c.window(Window::Std)?);
            let less = c.graph.add(Op::Binary(Binary::Sub), vec![c.arguments[0], mean]);
            Ok(c.graph.add(Op::Binary(Binary::Div), vec![less, std]))
        }
    ),
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
    function!(["ewm_mean"], "ewm_mean(x, span)", "exponential mean", 2..=2, |c| c.ewm(Ewm::Mean)),
    function!(["ewm_std"], "ewm_std(x, span)", "exponential standard deviation", 2..=2, |c| {
        c.ewm(Ewm::Std)
    }),
    function!(["ewm_var"], "ewm_var(x, span)", "exponential variance", 2..=2, |c| c.ewm(Ewm::Var)),
    function!(["rank"], "rank(x)", "rank in the row, from 1/n to 1", 1..=1, |c| c.row(RowOp::Rank)),
    function!(["ordinal"], "ordinal(x)", "rank in the row, from 1 to n", 1..=1, |c| {
        c.row(RowOp::Ordinal)
    }),
    function!(
        ["scale"],
        "scale(x) or scale(x, a)",
        "x * a / sum of abs(x) in the row",
        1..=2,
        |c| c.row(c.scale(1)?)
    ),
    function!(["row_count"], "row_count(x)", "how many of the row are there", 1..=1, |c| {
        c.row(RowOp::Count)
    }),
    function!(["row_mean"], "row_mean(x)", "mean of the row, where x is there", 1..=1, |c| {
        c.row(RowOp::Mean)
    }),
    function!(["demean"], "demean(x)", "x less the mean of the row", 1..=1, |c| {
        c.row(RowOp::Demean)
    }),
    function!(["zscore"], "zscore(x)", "demeaned, in standard deviations", 1..=1, |c| {
        c.row(RowOp::ZScore)
    }),
    function!(
        ["winsorize"],
        "winsorize(x, p)",
        "within the quantiles p and 1 - p of the row",
        2..=2,
        |c| c.row(c.winsorize(1)?)
    ),
    function!(["bins"], "bins(x, n)", "bin of the row, 1 to n, by rank", 2..=2, |c| {
        c.row(c.bins(1)?)
    }),
    function!(["top"], "top(x, n)", "1 for the n largest of the row, else 0", 2..=2, |c| {
        let (n, keys) = (c.whole(1, "the number")?, c.negative());
        Ok(c.first(keys, None, n))
    }),
    function!(["bottom"], "bottom(x, n)", "1 for the n smallest of the row, else 0", 2..=2, |c| {
        let n = c.whole(1, "the number")?;
        Ok(c.first(c.arguments[0], None, n))
    }),
    function!(
        ["indneutralize", "group_neutralize", "group_demean"],
        "indneutralize(x, groups)",
        "x less the mean of its group; 0 where alone",
        2..=2,
        |c| c.group(RowOp::Demean)
    ),
    function!(
        ["group_rank"],
        "group_rank(x, groups)",
        "rank in the group, from 1/n to 1",
        2..=2,
        |c| { c.group(RowOp::Rank) }
    ),
    function!(
        ["group_ordinal"],
        "group_ordinal(x, groups)",
        "rank in the group, from 1 to n",
        2..=2,
        |c| { c.group(RowOp::Ordinal) }
    ),
    function!(
        ["group_scale"],
        "group_scale(x, groups) or group_scale(x, groups, a)",
        "x * a / sum of abs(x) in the group",
        2..=3,
        |c| c.group(c.scale(2)?)
    ),
    function!(
        ["group_count"],
        "group_count(x, groups)",
        "how many of the group are there",
        2..=2,
        |c| { c.group(RowOp::Count) }
    ),
    function!(["group_mean"], "group_mean(x, groups)", "mean of the group", 2..=2, |c| {
        c.group(RowOp::Mean)
    }),
    function!(["group_zscore"], "group_zscore(x, groups)", "zscore in the group", 2..=2, |c| {
        c.group(RowOp::ZScore)
    }),
    function!(
        ["group_winsorize"],
        "group_winsorize(x, groups, p)",
        "winsorize in the group",
        3..=3,
        |c| c.group(c.winsorize(2)?)
    ),
    function!(["group_bins"], "group_bins(x, groups, n)", "bin in the group", 3..=3, |c| {
        c.group(c.bins(2)?)
    }),
    function!(
        ["group_top"],
        "group_top(x, groups, n)",
        "1 for the n largest of the group, else 0",
        3..=3,
        |c| {
            let (n, keys) = (c.whole(2, "the number")?, c.negative());
            Ok(c.first(keys, Some(c.arguments[1]), n))
        }
    ),
    function!(
        ["group_bottom"],
        "group_bottom(x, groups, n)",
        "1 for the n smallest of the group, else 0",
        3..=3,
        |c| {
            let n = c.whole(2, "the number")?;
            Ok(c.first(c.arguments[0], Some(c.arguments[1]), n))
        }
    ),
];
