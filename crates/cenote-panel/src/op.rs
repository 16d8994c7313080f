//! The operators: what each one reads, and how far back.
//!
//! There are three kinds. An *element* operator reads one row at one symbol. A *window*
//! operator reads the last rows at one symbol. A *row* operator reads a whole row. The
//! kernels are in `tile` (the first two) and `row`; the names by which formulas call them
//! are in [`crate::names`].
//!
//! A missing value is NaN, and there is one rule: what reads a missing value is missing,
//! unless the operator says otherwise. A window with a missing value in it is missing, and
//! the next one without it is not: nothing that has left a window leaves a trace. Sums,
//! products, extremes and ranks take an infinity for the number that it is; means, moments
//! and lines over one are missing.

use crate::tile::element;

/// Rows that an operator reads before its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// So many.
    Finite(u64),
    /// All: the value depends on where the data begins.
    Recursive,
}

impl Reach {
    pub(crate) fn max(self, other: Reach) -> Reach {
        match (self, other) {
            (Reach::Finite(a), Reach::Finite(b)) => Reach::Finite(a.max(b)),
            _ => Reach::Recursive,
        }
    }

    pub(crate) fn plus(self, other: Reach) -> Reach {
        match (self, other) {
            (Reach::Finite(a), Reach::Finite(b)) => Reach::Finite(a.saturating_add(b)),
            _ => Reach::Recursive,
        }
    }
}

/// Where an operator's work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A field or a number.
    Leaf,
    /// Symbol by symbol.
    Tile,
    /// Row by row.
    Row,
}

/// Of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// −x.
    Neg,
    /// |x|.
    Abs,
    /// −1, 0 or 1.
    Sign,
    /// The natural logarithm; of 0 it is −∞, of less it is missing.
    Log,
    /// e to the x.
    Exp,
    /// The square root; of less than 0 it is missing.
    Sqrt,
    /// 1 where x is 0, else 0.
    Not,
    /// 1 where x is missing, else 0: never missing.
    IsMissing,
}

/// Of two values at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// x + y.
    Add,
    /// x − y.
    Sub,
    /// x × y.
    Mul,
    /// x ÷ y, by IEEE: x ÷ 0 is infinite, 0 ÷ 0 missing.
    Div,
    /// x to the y, by IEEE; x × x for y = 2.
    Pow,
    /// sign(x) × |x| to the y.
    SignedPow,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
    /// 1 where x < y, else 0.
    Less,
    /// 1 where x ≤ y, else 0.
    LessEqual,
    /// 1 where x = y, else 0.
    Equal,
    /// 1 where x ≠ y, else 0.
    NotEqual,
    /// 1 where neither is 0, else 0.
    And,
    /// 1 where not both are 0, else 0.
    Or,
    /// x, or y where x is missing.
    Coalesce,
}

/// Over the last rows of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// The value so many rows ago.
    Delay,
    /// Σx.
    Sum,
    /// Σx ÷ n.
    Mean,
    /// The variance with n − 1; of a constant it is exactly 0.
    Var,
    /// Its square root.
    Std,
    /// The product.
    Product,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Where the smallest is, from 1 for the oldest; the oldest of equals.
    ArgMin,
    /// Where the largest is, likewise.
    ArgMax,
    /// The rank of the newest, from 1; equals share the mean of theirs.
    Rank,
    /// The quantile q, whose bits these are, from 0 to 1: linear between the two values whose
    /// ranks are next to 1 + q × (n − 1), as NumPy's and pandas' default.
    Quantile(u64),
    /// The mean with weights 1 for the oldest to n for the newest.
    DecayLinear,
    /// Skewness, as pandas corrects it; missing for a constant.
    Skew,
    /// Excess kurtosis, likewise.
    Kurt,
    /// The slope of x on the row number.
    Slope,
    /// The newest value less the line's at its row.
    Residual,
}

/// Over the last rows of two inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window2 {
    /// The covariance with n − 1.
    Cov,
    /// Pearson's correlation, from −1 to 1; missing where either is constant.
    Corr,
    /// The slope of the first on the second; missing where the second is constant.
    Beta,
}

/// Over all rows up to the newest, one after the other, weighted exponentially with an α from
/// 0 to 1: pandas' `ewm(alpha=α, adjust=False, ignore_na=True)`. What is missing or infinite is
/// passed over: missing itself, and the next value goes on from the one before it.
///
/// With the first value m = x, v = 0, w = 1; each further one x makes of them, with d = x − m,
/// m + αd, (1 − α)(v + αd²) and (1 − α)²w + α².
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ewm {
    /// m.
    Mean,
    /// v ÷ (1 − w): pandas' with `bias=False`. Missing at the first value; of a constant
    /// exactly 0.
    Var,
    /// Its square root.
    Std,
}

/// Over a row; a missing value stays missing and counts nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowOp {
    /// The rank, from 1/n to 1; equals share the mean of theirs.
    Rank,
    /// The rank, from 1 to n.
    Ordinal,
    /// x × scale ÷ Σ|x|; the scale is a number of the operator.
    Scale(u64),
    /// How many are there, at each of them.
    Count,
    /// The mean, at every symbol that is there.
    Mean,
    /// x − mean.
    Demean,
    /// (x − mean) ÷ std, with n − 1; missing where the row is constant.
    ZScore,
    /// x within the quantiles p and 1 − p of the row (linear between ranks).
    Winsorize(u64),
    /// The bin from 1 to so many, by rank: ⌈rank × bins ÷ n⌉.
    Bins(u32),
}

/// What a node does. Numbers are part of it, floats by their bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A field of the panel.
    Field(u32),
    /// A number.
    Constant(u64),
    /// Of one value.
    Unary(Unary),
    /// Of two.
    Binary(Binary),
    /// The second where the first is not 0, else the third; missing where the first is.
    Where,
    /// Over so many rows of one input (for a delay: so many rows ago).
    Window(Window, u32),
    /// Over so many rows of two.
    Window2(Window2, u32),
    /// Covariance or correlation over so many rows of two ranks of rows, made of whole numbers:
    /// reads the first rank and its count, the second and its count. [`Graph::add`] makes it
    /// where it can.
    ///
    /// [`Graph::add`]: crate::Graph::add
    OfRanks(Window2, u32),
    /// With this α over all that came before.
    Ewm(Ewm, u64),
    /// Over a row.
    Row(RowOp),
    /// The same of each group of a row: those who have the same code in the second input. Who
    /// has no code is missing.
    Group(RowOp),
}

impl Op {
    /// How many inputs.
    #[must_use]
    pub fn arity(&self) -> usize {
        match self {
            Op::Field(_) | Op::Constant(_) => 0,
            Op::Unary(_) | Op::Window(..) | Op::Ewm(..) | Op::Row(_) => 1,
            Op::Binary(_) | Op::Window2(..) | Op::Group(_) => 2,
            Op::Where => 3,
            Op::OfRanks(..) => 4,
        }
    }

    /// Rows before its own that it reads of its inputs.
    #[must_use]
    pub fn reach(&self) -> Reach {
        match *self {
            Op::Window(Window::Delay, rows) => Reach::Finite(u64::from(rows)),
            Op::Window(_, rows) | Op::Window2(_, rows) | Op::OfRanks(_, rows) => {
                Reach::Finite(u64::from(rows).saturating_sub(1))
            }
            Op::Ewm(..) => Reach::Recursive,
            _ => Reach::Finite(0),
        }
    }

    /// Rows of its inputs that must be at hand with the newest one: 0 where only that.
    pub(crate) fn history(&self) -> usize {
        match *self {
            // A sorted window has to know what leaves it.
            Op::Window(Window::Delay | Window::Quantile(_), rows) => rows as usize + 1,
            Op::Window(_, rows) | Op::Window2(_, rows) | Op::OfRanks(_, rows) => rows as usize,
            _ => 0,
        }
    }

    /// Whether it remembers something from row to row.
    pub(crate) fn has_state(&self) -> bool {
        self.history() > 0 || matches!(self, Op::Ewm(..))
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Op::Field(_) | Op::Constant(_) => Kind::Leaf,
            Op::Row(_) | Op::Group(_) => Kind::Row,
            _ => Kind::Tile,
        }
    }
}

impl Window {
    /// The middle one, or the mean of the middle two.
    pub const MEDIAN: Window = Window::Quantile(0.5f64.to_bits());
}

impl From<RowOp> for Op {
    fn from(op: RowOp) -> Op {
        Op::Row(op)
    }
}

impl Unary {
    /// Its value for one number.
    #[must_use]
    pub fn apply(self, x: f64) -> f64 {
        let mut out = [0.0];
        element::unary(self, &[x], &mut out);
        out[0]
    }
}

impl Binary {
    /// Its value for two numbers.
    #[must_use]
    pub fn apply(self, x: f64, y: f64) -> f64 {
        let mut out = [0.0];
        element::binary(self, &[x], &[y], &mut out);
        out[0]
    }
}
