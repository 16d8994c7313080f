//! Which rows are wanted: a small expression over columns and values.
//!
//! Written as text ([`Predicate::parse`]) or built ([`column`]):
//!
//! ```
//! use cenote::{Predicate, column};
//!
//! let text = Predicate::parse("date >= '2017-01-01' and symbol in ('A', 'B')")?;
//! let built = column("date").ge("2017-01-01") & column("symbol").is_in(["A", "B"]);
//! assert_eq!(text, built);
//! # Ok::<(), cenote::PredicateError>(())
//! ```
//!
//! # The language
//! - Comparisons of a column with a value: `=` (or `==`), `!=` (or `<>`), `<`, `<=`, `>`, `>=`;
//!   `between A and B` (both included), `in (A, B, …)`, `like 'abc%'` (`%` any text, `_` any
//!   character, `\` before either itself), `is null`; the last four also with `not`. A column
//!   of booleans stands alone.
//! - `not`, `and`, `or`, in this order, and parentheses. Words in either case.
//! - Columns by name; in double quotes (or backticks) where a name is no plain word, a quote
//!   in it doubled.
//! - Values: numbers, 'text' (a quote in it doubled), `true`, `false`. Dates, times,
//!   timestamps and durations are text: `'2017-01-01'`, `'09:30'`, `'2017-01-01T09:30:00Z'`,
//!   `'1h 30m'`.
//!
//! # What it means
//! - A row is wanted where the expression is true. As in SQL, a comparison with null is neither
//!   true nor false, `not` leaves it so, and `and` and `or` are true or false where the other
//!   side decides.
//! - NaN compares as IEEE 754 says, and as in NumPy: only `!=` is true. −0 is 0.
//! - A value is taken to the column's type. Of whole numbers, decimals and times exactly: no
//!   whole number is `2.5`, and all that are greater are greater than 2. Of floating-point
//!   numbers to the nearest of the column's width.
//! - A timestamp without a zone is of the column's zone. A zone in the text is refused where
//!   the column has none.
//! - Texts compare byte by byte, that is by code point. `like` minds case.
//! - What does not fit is refused, and never compared as text.

mod bind;
mod error;
mod eval;
mod literal;
mod parse;
mod prune;
#[cfg(test)]
mod tests;
mod text;
mod token;

use std::ops::{BitAnd, BitOr, Not};
use std::str::FromStr;

pub(crate) use bind::Bound;
pub use error::{Misfit, Mistake, PredicateError};
pub(crate) use eval::Rows;
pub use literal::Literal;

/// Deepest nesting of parentheses and `not`.
pub(crate) const DEPTH_MAX: usize = 64;
/// Most comparisons in one predicate.
pub(crate) const TERMS_MAX: usize = 10_000;

/// Which rows are wanted. See the module's documentation at [`Predicate::parse`].
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate(pub(crate) Node);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Compare {
        column: String,
        op: Op,
        value: Literal,
    },
    In {
        column: String,
        values: Vec<Literal>,
    },
    Like {
        column: String,
        pattern: String,
    },
    IsNull {
        column: String,
    },
    /// A column of booleans.
    Is {
        column: String,
    },
    Not(Box<Node>),
    /// Two or more, none of them `And`.
    And(Vec<Node>),
    /// Two or more, none of them `Or`.
    Or(Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Op {
    /// The same with its sides exchanged.
    pub(crate) fn flipped(self) -> Op {
        match self {
            Op::Eq | Op::Ne => self,
            Op::Lt => Op::Gt,
            Op::Le => Op::Ge,
            Op::Gt => Op::Lt,
            Op::Ge => Op::Le,
        }
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Op::Eq => "=",
            Op::Ne => "!=",
            Op::Lt => "<",
            Op::Le => "<=",
            Op::Gt => ">",
            Op::Ge => ">=",
        }
    }
}

impl Node {
    pub(crate) fn and(self, other: Node) -> Node {
        let mut all = match self {
            Node::And(all) => all,
            one => vec![one],
        };
        match other {
            Node::And(more) => all.extend(more),
            one => all.push(one),
        }
        Node::And(all)
    }

    pub(crate) fn or(self, other: Node) -> Node {
        let mut all = match self {
            Node::Or(all) => all,
            one => vec![one],
        };
        match other {
            Node::Or(more) => all.extend(more),
            one => all.push(one),
        }
        Node::Or(all)
    }

    pub(crate) fn negated(self) -> Node {
        match self {
            Node::Not(inner) => *inner,
            other => Node::Not(Box::new(other)),
        }
    }
}

impl Predicate {
    /// Reads a predicate. What can be said, and what it means:
    ///
    /// - `close > 100`, `symbol = 'A'`, `1 <= x`, `"a name" != 2.5`
    /// - `date between '2017-01-01' and '2017-12-31'`, `symbol in ('A', 'B')`
    /// - `symbol like 'A%'`, `close is null`, `close is not null`, `traded`
    /// - `not (a = 1 or b = 2) and c = 3`
    ///
    /// A row is wanted where it is true; comparisons with null are neither true nor false, as
    /// in SQL, and of those with NaN only `!=` is true, as in IEEE 754.
    ///
    /// # Errors
    /// [`PredicateError`], which shows the place.
    pub fn parse(text: &str) -> Result<Predicate, PredicateError> {
        parse::parse(text).map(Predicate)
    }

    /// Rows for which both are true.
    #[must_use]
    pub fn and(self, other: Predicate) -> Predicate {
        Predicate(self.0.and(other.0))
    }

    /// Rows for which one of the two is true.
    #[must_use]
    pub fn or(self, other: Predicate) -> Predicate {
        Predicate(self.0.or(other.0))
    }
}

impl FromStr for Predicate {
    type Err = PredicateError;

    fn from_str(text: &str) -> Result<Predicate, PredicateError> {
        Predicate::parse(text)
    }
}

impl Not for Predicate {
    type Output = Predicate;

    fn not(self) -> Predicate {
        Predicate(self.0.negated())
    }
}

impl BitAnd for Predicate {
    type Output = Predicate;

    fn bitand(self, other: Predicate) -> Predicate {
        self.and(other)
    }
}

impl BitOr for Predicate {
    type Output = Predicate;

    fn bitor(self, other: Predicate) -> Predicate {
        self.or(other)
    }
}

/// A column by name, to be compared with something.
#[must_use]
pub fn column(name: impl Into<String>) -> Column {
    Column(name.into())
}

/// A column by name; see [`column`].
#[derive(Clone, Debug)]
pub struct Column(String);

impl Column {
    fn compare(self, op: Op, value: impl Into<Literal>) -> Predicate {
        Predicate(Node::Compare { column: self.0, op, value: value.into() })
    }

    /// `column = value`.
    #[must_use]
    pub fn eq(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Op::Eq, value)
    }

    /// `column != value`.
    #[must_use]
    pub fn ne(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Op::Ne, value)
    }

    /// `column < value`.
    #[must_use]
    pub fn lt(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Op::Lt, value)
    }

    /// `column <= value`.
    #[must_use]
    pub fn le(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Op::Le, value)
    }

    /// `column > value`.
    #[must_use]
    pub fn gt(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Op::Gt, value)
    }

    /// `column >= value`.
    #[must_use]
    pub fn ge(self, value: impl Into<Literal>) -> Predicate {
        self.compare(Op::Ge, value)
    }

    /// `column between least and most`, both included.
    #[must_use]
    pub fn between(self, least: impl Into<Literal>, most: impl Into<Literal>) -> Predicate {
        self.clone().ge(least).and(self.le(most))
    }

    /// `column in (values)`; true of no row where there are none.
    #[must_use]
    pub fn is_in<L: Into<Literal>>(self, values: impl IntoIterator<Item = L>) -> Predicate {
        let values = values.into_iter().map(Into::into).collect();
        Predicate(Node::In { column: self.0, values })
    }

    /// `column like 'pattern'`: `%` is any text, `_` any character.
    #[must_use]
    pub fn like(self, pattern: impl Into<String>) -> Predicate {
        Predicate(Node::Like { column: self.0, pattern: pattern.into() })
    }

    /// `column is null`.
    #[must_use]
    pub fn is_null(self) -> Predicate {
        Predicate(Node::IsNull { column: self.0 })
    }

    /// `column is not null`.
    #[must_use]
    pub fn is_not_null(self) -> Predicate {
        !self.is_null()
    }

    /// The column itself, of booleans.
    #[must_use]
    pub fn is_true(self) -> Predicate {
        Predicate(Node::Is { column: self.0 })
    }
}
