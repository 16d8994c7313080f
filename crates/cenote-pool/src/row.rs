//! Rows of the catalog, and the changes that the log carries.

use serde::{Deserialize, Serialize};

use crate::id::EntryId;

/// What the catalog knows of a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The name.
    pub name: String,
    /// Counts this name's versions, from 1; begins again after a drop.
    pub version: u64,
    /// The manifest's board entry.
    pub manifest: EntryId,
    /// The manifest's checksum.
    pub manifest_checksum: u64,
    /// The manifest's length in bytes.
    pub manifest_length: u64,
    /// Rows of the table.
    pub num_rows: u64,
    /// Columns of the table.
    pub num_columns: u32,
    /// Nanoseconds since 1970, when it was committed.
    pub created_ns: u64,
    /// Where the data came from, as its writer said: a path, or nothing.
    pub source: String,
}

impl Row {
    /// A row for a version whose name is gone.
    #[must_use]
    pub fn unnamed(manifest: EntryId, manifest_checksum: u64, manifest_length: u64) -> Row {
        Row {
            name: String::new(),
            version: 0,
            manifest,
            manifest_checksum,
            manifest_length,
            num_rows: 0,
            num_columns: 0,
            created_ns: 0,
            source: String::new(),
        }
    }
}

/// One change of the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A name stands for a new version.
    Commit(Row),
    /// A name is gone.
    Drop {
        /// Which.
        name: String,
    },
    /// A name is another.
    Rename {
        /// The old name.
        from: String,
        /// The new one.
        to: String,
    },
}
