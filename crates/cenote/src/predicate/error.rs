//! What is wrong with a predicate, and where.

use std::fmt;

/// A predicate that cannot be read. Shown with its line, and a caret below the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PredicateError {
    /// The line that holds the place.
    pub line: String,
    /// The place: characters of the line before it.
    pub at: usize,
    /// What is wrong there.
    pub mistake: Mistake,
}

/// What is wrong with a predicate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mistake {
    /// Something else was expected.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// In words.
        expected: &'static str,
        /// As it stands.
        found: String,
    },
    /// No end of a text.
    #[error("this text has no end; it ends with '")]
    OpenText,
    /// No end of a quoted name.
    #[error("this name has no end; it ends with {0}")]
    OpenName(char),
    /// A character that nothing begins with.
    #[error("{found:?} means nothing here{}", hint(*.found))]
    Character {
        /// It.
        found: char,
    },
    /// No number.
    #[error("{0:?} is no number")]
    Number(String),
    /// `a < b < c`.
    #[error("comparisons do not chain; write `a < b and b < c`")]
    Chained,
    /// Two columns.
    #[error("one side of a comparison is a value; {0:?} is a column (text is in 'single quotes')")]
    TwoColumns(String),
    /// No column.
    #[error("one side of a comparison is a column; both of these are values")]
    TwoValues,
    /// `= null`.
    #[error("nothing compares with null; write `is null`")]
    Null,
    /// Too deep.
    #[error("it nests deeper than {} levels", super::DEPTH_MAX)]
    TooDeep,
    /// Too much.
    #[error("it has more than {} comparisons", super::TERMS_MAX)]
    TooLong,
}

fn hint(found: char) -> &'static str {
    match found {
        '&' => "; write `and`",
        '|' => "; write `or`",
        '!' | '~' => "; write `not`",
        ';' => "; a predicate is one expression",
        '+' | '-' | '*' | '/' => "; there is no arithmetic",
        _ => "",
    }
}

impl PredicateError {
    /// `at` counts bytes of the text.
    pub(crate) fn new(text: &str, at: usize, mistake: Mistake) -> PredicateError {
        let at = at.min(text.len());
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        PredicateError { line: line.to_owned(), at: text[start..at].chars().count(), mistake }
    }
}

impl fmt::Display for PredicateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blank: String =
            self.line.chars().take(self.at).map(|c| if c == '\t' { c } else { ' ' }).collect();
        write!(f, "cannot read the predicate: {}\n  {}\n  {blank}^", self.mistake, self.line)
    }
}

impl std::error::Error for PredicateError {}

/// Why a value, or a test, does not fit a column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// Another kind of value.
    #[error("{value} does not compare with it; {wanted} does")]
    Kind {
        /// As it would be written.
        value: String,
        /// What would fit.
        wanted: &'static str,
    },
    /// Text that is none of the type's.
    #[error("{value} is not {wanted}")]
    Text {
        /// As it would be written.
        value: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A time zone where the column has none.
    #[error("{value} has a time zone, and the column has none")]
    Zone {
        /// As it would be written.
        value: String,
    },
    /// A test that the type does not have.
    #[error("it cannot be tested by {test}")]
    Test {
        /// In words.
        test: &'static str,
    },
    /// Two columns of the name.
    #[error("the name is that of several columns")]
    Ambiguous,
}
