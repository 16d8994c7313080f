//! What a load has to say beside its rows.

use std::fmt;

use arrow_schema::DataType;

use crate::file::FileName;
use crate::schema_text::{entry, type_text};

/// Something that a user may want to know, though it is no error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A column of CSV became text, by a value that came after others of another type.
    BecameText {
        /// The file.
        file: FileName,
        /// Line at which the value's record begins, from 1.
        line: u64,
        /// The column.
        column: String,
        /// The value, cut after 80 characters.
        text: String,
        /// The type that the values before it have.
        was: DataType,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::BecameText { file, line, column, text, was } = self;
        write!(
            f,
            "column `{column}` is text: `{file}`, line {line} has `{text}`, no {} like those before \
             it; --schema '{}' makes that an error, --null '{text}' a null, and --schema '{}' says \
             that it is meant",
            type_text(was),
            entry(column, was),
            entry(column, &DataType::Utf8),
        )
    }
}
