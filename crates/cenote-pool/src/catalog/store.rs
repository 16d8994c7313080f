//! redb, opened again after it has failed.
//!
//! Once a write has failed, for want of space say, redb refuses everything: it cannot know what
//! its file holds. Closed and opened it reads that, and goes on from its last whole transaction.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use redb::Database;

use super::{CACHE_BYTES, CatalogError};

/// The database, or none after a failure.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    database: Mutex<Option<Database>>,
}

impl Store {
    pub(super) fn new(path: PathBuf, database: Database) -> Store {
        Store { path, database: Mutex::new(Some(database)) }
    }

    /// Does `work` with the database. If that fails, the next work has it opened anew.
    ///
    /// # Errors
    /// Of `work`, and of opening. The work may have been done all the same.
    pub(super) fn with(
        &self,
        work: impl FnOnce(&Database) -> Result<(), CatalogError>,
    ) -> Result<(), CatalogError> {
        let mut slot = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let database = match slot.take() {
            Some(database) => database,
            // Not made, should it be gone: an empty one would be taken for the whole.
            None => Database::builder().set_cache_size(CACHE_BYTES).open(&self.path)?,
        };
        work(&database)?;
        *slot = Some(database);
        Ok(())
    }
}
