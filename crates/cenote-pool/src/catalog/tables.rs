//! redb's tables: what is known of a name, read and written.
//!
//! A batch of changes is applied in memory and only what it comes to is written: a row that was
//! superseded within the batch never reaches redb, which would copy its page for each.

use redb::ReadableTable;

use super::CatalogError;
use crate::row::{Record, Row, Settings};

/// The tables of a transaction that writes.
pub(super) struct Written<'t> {
    pub(super) settings: redb::Table<'t, &'static str, &'static [u8]>,
    pub(super) rows: redb::Table<'t, (&'static str, u64), &'static [u8]>,
}

fn bytes_of<T: serde::Serialize>(value: &T) -> Result<Vec<u8>, CatalogError> {
    Ok(postcard::to_stdvec(value).map_err(std::io::Error::other)?)
}

impl Written<'_> {
    /// What is known of a name.
    pub(super) fn record(&self, name: &str) -> Result<Option<Record>, CatalogError> {
        let Some(found) = self.settings.get(name)? else { return Ok(None) };
        // What cannot be read was found damaged at the start, and what is known took its place.
        let settings: Settings = postcard::from_bytes(found.value()).unwrap_or_default();
        let mut record = Record { settings, ..Record::default() };
        for item in self.rows.range((name, 0)..=(name, u64::MAX))? {
            let (key, bytes) = item?;
            if let Ok(row) = postcard::from_bytes::<Row>(bytes.value()) {
                record.rows.insert(key.value().1, row);
            }
        }
        Ok(Some(record))
    }

    /// Writes what is known of a name, as far as it is not what was.
    pub(super) fn write(
        &mut self,
        name: &str,
        before: Option<&Record>,
        after: Option<&Record>,
    ) -> Result<(), CatalogError> {
        let (none, unread) = (Record::default(), after.is_some() && before.is_none());
        let (old, new) = (before.unwrap_or(&none), after.unwrap_or(&none));
        if after.is_none() || unread {
            // Rows that could not be read go, too.
            self.rows.retain_in((name, 0)..=(name, u64::MAX), |_, _| false)?;
        }
        for version in old.rows.keys().filter(|version| !new.rows.contains_key(*version)) {
            self.rows.remove((name, *version))?;
        }
        for (version, row) in new.rows.iter().filter(|(v, row)| old.rows.get(*v) != Some(*row)) {
            self.rows.insert((name, *version), bytes_of(row)?.as_slice())?;
        }
        match after {
            Some(after) => {
                self.settings.insert(name, bytes_of(&after.settings)?.as_slice())?;
            }
            None => drop(self.settings.remove(name)?),
        }
        Ok(())
    }
}
