//! What is wrong with a file of factors, and in which line.

use crate::formula::{FormulaError, hint};

/// A fault of a file of factors, or of what is asked of one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The file cannot be read.
    #[error("cannot read {file}")]
    Read {
        /// Its path.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is not TOML.
    #[error("{file}:{line}: {problem}")]
    Toml {
        /// Its name.
        file: String,
        /// Where.
        line: usize,
        /// What the parser says.
        problem: String,
    },
    /// A key that such files do not have.
    #[error("{file}:{line}: no key {key:?} is known here{}", hint(near))]
    Key {
        /// Its name.
        file: String,
        /// Where.
        line: usize,
        /// As written.
        key: String,
        /// Keys like it, or all.
        near: Vec<String>,
    },
    /// A value of the wrong kind.
    #[error("{file}:{line}: {key} must be {expected}")]
    Value {
        /// Its name.
        file: String,
        /// Where.
        line: usize,
        /// Of which key.
        key: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// Nothing in it.
    #[error("{file} has no factors; they stand under [factors], one a line: name = \"formula\"")]
    Empty {
        /// Its name.
        file: String,
    },
    /// A formula cannot be read. Shown with a mark under the fault.
    #[error("{file}:{line}: {factor}: {fault}")]
    Formula {
        /// The file's name.
        file: String,
        /// Where the factor stands.
        line: usize,
        /// Its name.
        factor: String,
        /// The fault.
        fault: Box<FormulaError>,
    },
    /// No factor of that name.
    #[error("{file} has no factor {name:?}{}", hint(near))]
    NoFactor {
        /// The file's name.
        file: String,
        /// As asked for.
        name: String,
        /// Names like it, or all where they are few.
        near: Vec<String>,
    },
}
