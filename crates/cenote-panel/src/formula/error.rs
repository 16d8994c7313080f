//! What is wrong with a formula, and where.

use std::fmt;

/// A fault of a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct FormulaError {
    text: String,
    /// Characters before the fault.
    pub at: usize,
    /// What it is.
    pub problem: Problem,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A character that no formula has.
    #[error("{0:?} has no meaning here")]
    Character(char),
    /// A number that is none.
    #[error("{0:?} is not a number")]
    Number(String),
    /// Something else belongs here.
    #[error("{expected} belongs here, not {found}")]
    Expected {
        /// What belongs here.
        expected: &'static str,
        /// What is here.
        found: String,
    },
    /// A name that neither the panel nor the definitions have.
    #[error("no field {name:?}{}", hint(near))]
    Field {
        /// As written.
        name: String,
        /// Names like it, or all where they are few.
        near: Vec<String>,
    },
    /// A function that there is not.
    #[error("no function {name:?}{}", hint(near))]
    Function {
        /// As written.
        name: String,
        /// Names like it.
        near: Vec<String>,
    },
    /// Too many arguments, or too few.
    #[error("{usage} takes {expected}, not {found}")]
    Arguments {
        /// How it is called.
        usage: &'static str,
        /// As it should be.
        expected: String,
        /// As it is.
        found: usize,
    },
    /// A window or a number that must be known beforehand is computed.
    #[error("{what} of {usage} is a number, not an expression")]
    NotConstant {
        /// Which argument.
        what: &'static str,
        /// How the function is called.
        usage: &'static str,
    },
    /// A window, or another number, out of its bounds.
    #[error("{what} of {usage} is {value}; it must be {bounds}")]
    Bounds {
        /// Which argument.
        what: &'static str,
        /// How the function is called.
        usage: &'static str,
        /// As given.
        value: f64,
        /// As it must be.
        bounds: &'static str,
    },
    /// Brackets within brackets within brackets.
    #[error("more than {0} expressions one in another")]
    Deep(usize),
    /// A definition that needs itself.
    #[error("the definition of {0:?} needs itself")]
    Circle(String),
    /// A fault in a definition.
    #[error("in the definition of {name:?}: {problem}")]
    Definition {
        /// Of what.
        name: String,
        /// The fault.
        problem: Box<Problem>,
    },
}

pub(crate) fn hint(near: &[String]) -> String {
    match near {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        many => format!("; there are {}", many.join(", ")),
    }
}

impl FormulaError {
    pub(super) fn new(text: &str, at: usize, problem: Problem) -> FormulaError {
        let at = text.get(..at).map_or(0, |before| before.chars().count());
        FormulaError { text: text.to_owned(), at, problem }
    }
}

impl FormulaError {
    /// The name that nothing stands for, if that is the fault, be it in a definition.
    #[must_use]
    pub fn unknown_field(&self) -> Option<&str> {
        let mut problem = &self.problem;
        while let Problem::Definition { problem: inner, .. } = problem {
            problem = inner;
        }
        match problem {
            Problem::Field { name, .. } => Some(name),
            _ => None,
        }
    }
}

impl std::error::Error for FormulaError {}

/// Characters of a long formula that are shown around a fault.
const SHOWN: usize = 72;

impl fmt::Display for FormulaError {
    /// One clause, and the formula with a mark under the fault.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.at.saturating_sub(SHOWN / 2);
        let flat = |c: char| if c.is_whitespace() { ' ' } else { c };
        let shown: String = self.text.chars().map(flat).skip(from).take(SHOWN).collect();
        let mark = " ".repeat(self.at - from);
        write!(f, "{}\n  {shown}\n  {mark}^", self.problem)
    }
}
