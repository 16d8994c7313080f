//! The functions that formulas, and Python's methods, call.
//!
//! To add a function is to add an entry to [`table`]; where no operator does its work yet, a
//! variant in `op` and a kernel.

mod example;
mod table;

use super::error::Problem;
use super::names::near;
use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Ewm, Op, RowOp, Unary, Window, Window2};

/// A function of formulas.
#[derive(Debug)]
pub struct Function {
    /// Its names; the first is the one that is shown.
    pub names: &'static [&'static str],
    /// How it is called.
    pub usage: &'static str,
    /// What it is.
    pub about: &'static str,
    most: usize,
    least: usize,
    build: fn(&mut Call<'_>) -> Result<NodeId, Problem>,
}

/// All functions.
#[must_use]
pub fn functions() -> &'static [Function] {
    table::FUNCTIONS
}

impl Function {
    /// The function of this name.
    ///
    /// # Errors
    /// [`Problem::Function`], with the nearest names.
    pub fn named(name: &str) -> Result<&'static Function, Problem> {
        functions().iter().find(|f| f.names.contains(&name)).ok_or_else(|| {
            let all = functions().iter().flat_map(|f| f.names).copied();
            Problem::Function { name: name.to_owned(), near: near(name, all) }
        })
    }

    /// Adds a call to a graph.
    ///
    /// # Errors
    /// [`Problem`]: there are too many arguments or too few, or a number is none or out of its
    /// bounds.
    pub fn call(
        &'static self,
        graph: &mut Graph,
        arguments: Vec<NodeId>,
    ) -> Result<NodeId, Problem> {
        let found = arguments.len();
        if !(self.least..=self.most).contains(&found) {
            let expected = match (self.least, self.most) {
                (1, 1) => "1 argument".to_owned(),
                (least, most) if least == most => format!("{least} arguments"),
                (least, most) => format!("{least} or {most} arguments"),
            };
            return Err(Problem::Arguments { usage: self.usage, expected, found });
        }
        (self.build)(&mut Call { graph, arguments, function: self })
    }
}

/// Definitions that stand one in another; more are a circle.
pub(super) const DEFINITIONS_DEPTH: usize = 16;

/// Longest window, in rows.
const ROWS_MAX: f64 = 1_000_000.0;

/// A call under way.
struct Call<'a> {
    graph: &'a mut Graph,
    arguments: Vec<NodeId>,
    function: &'static Function,
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

    /// A row operator of each group: of the first argument, by the second.
    fn group(&mut self, op: RowOp) -> Result<NodeId, Problem> {
        Ok(self.graph.add(Op::Group(op), self.arguments[..2].to_vec()))
    }

    /// 1 for the first so many of a row, or of each group of it, in the order of `keys`, else 0.
    fn first(&mut self, keys: NodeId, groups: Option<NodeId>, n: f64) -> NodeId {
        let rank = match groups {
            None => self.graph.add(RowOp::Ordinal.into(), vec![keys]),
            Some(groups) => self.graph.add(Op::Group(RowOp::Ordinal), vec![keys, groups]),
        };
        let n = self.graph.constant(n);
        self.graph.add(Op::Binary(Binary::LessEqual), vec![rank, n])
    }

    fn ewm(&mut self, op: Ewm) -> Result<NodeId, Problem> {
        let span = self.within(1, "the span", |span| span >= 1.0, "1 or more")?;
        let alpha = 2.0 / (span + 1.0);
        Ok(self.graph.add(Op::Ewm(op, alpha.to_bits()), vec![self.arguments[0]]))
    }

    /// The argument's negative: the largest first.
    fn negative(&mut self) -> NodeId {
        self.graph.add(Op::Unary(Unary::Neg), vec![self.arguments[0]])
    }

    /// A whole number of bins or symbols.
    fn whole(&self, at: usize, what: &'static str) -> Result<f64, Problem> {
        let n = self.within(at, what, |n| (1.0..=1e6).contains(&n), "from 1 to 1000000")?;
        Ok(n.floor())
    }

    fn bins(&self, at: usize) -> Result<RowOp, Problem> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in bounds")]
        Ok(RowOp::Bins(self.whole(at, "the number of bins")? as u32))
    }

    fn winsorize(&self, at: usize) -> Result<RowOp, Problem> {
        let p = self.within(at, "the quantile", |p| (0.0..0.5).contains(&p), "from 0 to 0.5")?;
        Ok(RowOp::Winsorize(p.to_bits()))
    }

    /// The scale, 1 unless said.
    fn scale(&self, at: usize) -> Result<RowOp, Problem> {
        let to = if at < self.arguments.len() { self.number(at, "the scale")? } else { 1.0 };
        Ok(RowOp::Scale(to.to_bits()))
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
