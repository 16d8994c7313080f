//! What is wrong with a table that should be a panel, or become one.

use arrow_schema::{ArrowError, DataType};

use crate::formula::FormulaError;

/// Why there is no panel, or no factor of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PanelError {
    /// The table is not of a panel's form.
    #[error("this table is no panel: {why}; Panel.from_long makes one of rows of (time, symbol)")]
    NotAPanel {
        /// What it lacks.
        why: String,
    },
    /// No such field.
    #[error("no field {name:?}; there are {}", fields.join(", "))]
    NoField {
        /// As asked.
        name: String,
        /// What there is.
        fields: Vec<String>,
    },
    /// No such column.
    #[error("no column {name:?}; there are {}", columns.join(", "))]
    NoColumn {
        /// As asked.
        name: String,
        /// What there is.
        columns: Vec<String>,
    },
    /// A wide table without a column of times, or with several.
    #[error(
        "field {field:?}: {} columns are dates or timestamps ({}); say which one holds the times",
        columns.len(), columns.join(", ")
    )]
    NoTime {
        /// The field.
        field: String,
        /// Columns of times.
        columns: Vec<String>,
    },
    /// Wide tables whose rows are not the same times.
    #[error(
        "row {row} of {field:?} is of another time than that of {first:?}, or only one has it; \
         fields have the same times"
    )]
    Axes {
        /// The field.
        field: String,
        /// The one that it is compared with.
        first: String,
        /// Counted from 0.
        row: usize,
    },
    /// A column of a type that its part cannot have.
    #[error("column {name:?} is {found}; {part} must be {expected}")]
    Type {
        /// Its name.
        name: String,
        /// Its type.
        found: DataType,
        /// What it was to be.
        part: &'static str,
        /// What types that can have.
        expected: &'static str,
    },
    /// A time or symbol is missing.
    #[error("row {row} has no {part}")]
    Missing {
        /// Counted from 0.
        row: usize,
        /// What it lacks.
        part: &'static str,
    },
    /// Two rows for the same time and symbol.
    #[error("rows {first} and {second} are both of {symbol:?} at {time}")]
    Duplicate {
        /// The earlier one, counted from 0.
        first: usize,
        /// The later one.
        second: usize,
        /// The symbol.
        symbol: String,
        /// The time.
        time: String,
    },
    /// An integer that no float64 is.
    #[error("row {row} of {name:?} is {value}; float64 has every integer up to 2^53 only")]
    Integer {
        /// Counted from 0.
        row: usize,
        /// The column.
        name: String,
        /// The number.
        value: String,
    },
    /// Times are not in order.
    #[error("the time of row {row} is not after that of the row before")]
    Times {
        /// Counted from 0.
        row: usize,
    },
    /// More cells than a list column can have in one batch.
    #[error(
        "{rows} rows of {width} symbols are more than a batch can hold; use fewer rows a batch"
    )]
    Cells {
        /// Rows of the batch.
        rows: usize,
        /// Symbols.
        width: usize,
    },
    /// A formula is wrong.
    #[error("factor {name:?}: {source}")]
    Formula {
        /// The factor's name.
        name: String,
        /// The fault.
        source: FormulaError,
    },
    /// Two factors of one name.
    #[error("two factors are named {name:?}")]
    SameName {
        /// The name.
        name: String,
    },
    /// Arrow refused.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
}
