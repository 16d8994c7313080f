//! Names and versions, durable: redb behind a journal.
//!
//! A change is durable when its entry is in the journal, one `pwrite` on tmpfs; redb, which
//! takes a hundred times as long a transaction, gets the changes in batches. An entry
//! carries its number and a checksum; redb remembers the number that it has got to. So a
//! daemon killed at any point leaves a journal whose whole entries beyond that number are
//! what redb still lacks, and perhaps one torn entry that was never acknowledged.
//!
//! ```text
//! journal entry: length u32, check u32 (low half of XXH3 of what follows), then `length`
//! bytes of postcard: number, session, sequence, change
//! ```

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::row::{Change, Row};
use crate::step::reach;

const FRAMES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("frames");
const SEQUENCES: TableDefinition<'_, u64, u64> = TableDefinition::new("sequences");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const APPLIED: &str = "applied";
/// A journal longer than this is brought into redb before it grows further.
pub const JOURNAL_BYTES_MAX: u64 = 16 << 20;
/// redb's page cache. The catalog is read once, at the start; then it is only written.
const CACHE_BYTES: usize = 4 << 20;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    number: u64,
    session: SessionId,
    sequence: u64,
    change: Change,
}

/// Why a catalog cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// redb refuses the file.
    #[error("the catalog is damaged or cannot be opened")]
    Redb(#[from] redb::Error),
    /// The file system refuses.
    #[error("the catalog's files cannot be read")]
    Io(#[from] io::Error),
}

macro_rules! from_redb {
    ($($kind:ident),*) => {$(
        impl From<redb::$kind> for CatalogError {
            fn from(error: redb::$kind) -> CatalogError {
                CatalogError::Redb(error.into())
            }
        }
    )*};
}
from_redb!(DatabaseError, TransactionError, TableError, StorageError, CommitError);

/// What a catalog held when it was opened.
#[derive(Debug, Default)]
pub struct Contents {
    /// Every name's row.
    pub rows: Vec<Row>,
    /// The last change of each session.
    pub sequences: HashMap<SessionId, u64>,
    /// Rows that could not be read: their names.
    pub unreadable: Vec<String>,
}

/// The journal's end of the catalog: under the pool's lock.
#[derive(Debug)]
pub struct Catalog {
    journal: File,
    length: u64,
    number: u64,
    pending: Vec<Entry>,
    database: Arc<Database>,
}

/// Changes on their way into redb.
#[derive(Debug)]
pub struct Batch {
    entries: Vec<Entry>,
    database: Arc<Database>,
}

impl Catalog {
    /// Opens or makes the catalog in `directory`.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub fn open(directory: &Path) -> Result<(Catalog, Contents), CatalogError> {
        let path = directory.join("catalog.redb");
        // Made before redb writes to it, so that it is this user's alone from the start.
        drop(crate::words::open_own(&path, true)?);
        let database = Arc::new(Database::builder().set_cache_size(CACHE_BYTES).create(&path)?);
        let journal = crate::words::open_own(&directory.join("journal"), true)?;
        let (mut contents, applied) = read_database(&database)?;
        let mut names: BTreeMap<String, Row> =
            contents.rows.drain(..).map(|row| (row.name.clone(), row)).collect();
        let (entries, length) = read_journal(&journal)?;
        let mut number = applied;
        let mut pending = Vec::new();
        for entry in entries {
            number = number.max(entry.number);
            if entry.number > applied {
                apply(&mut names, &entry.change);
                contents.sequences.insert(entry.session, entry.sequence);
                pending.push(entry);
            }
        }
        // What follows the last whole entry was cut off by a kill: nobody was told of it.
        journal.set_len(length)?;
        contents.rows = names.into_values().collect();
        Ok((Catalog { journal, length, number, pending, database }, contents))
    }

    /// Makes a change durable.
    ///
    /// # Errors
    /// The journal cannot be written; the change has not happened.
    pub fn append(&mut self, session: SessionId, sequence: u64, change: &Change) -> io::Result<()> {
        let entry = Entry { number: self.number + 1, session, sequence, change: change.clone() };
        let body = postcard::to_stdvec(&entry).map_err(io::Error::other)?;
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        let mut bytes = Vec::with_capacity(body.len() + 8);
        bytes.extend(length.to_le_bytes());
        bytes.extend(check(&body).to_le_bytes());
        bytes.extend(body);
        if let Err(error) = self.journal.write_all_at(&bytes, self.length) {
            // A part may be there: it must not be taken for an entry later.
            let _ = self.journal.set_len(self.length);
            return Err(error);
        }
        self.length += bytes.len() as u64;
        self.number = entry.number;
        self.pending.push(entry);
        Ok(())
    }

    /// Changes that redb does not have yet; empty if there are none.
    pub fn batch(&mut self) -> Batch {
        Batch { entries: self.pending.clone(), database: self.database.clone() }
    }

    /// Whether a batch is due now.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.length > JOURNAL_BYTES_MAX
    }

    /// Whether redb lacks anything.
    #[must_use]
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// redb has the batch: its entries leave the journal, once the journal has no others.
    pub fn applied(&mut self, batch: &Batch) {
        let Some(last) = batch.entries.last() else { return };
        self.pending.retain(|entry| entry.number > last.number);
        if self.pending.is_empty() && self.journal.set_len(0).is_ok() {
            self.length = 0;
        }
    }

    /// Writes all that is pending, here and now.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub fn flush(&mut self) -> Result<(), CatalogError> {
        let batch = self.batch();
        batch.write()?;
        self.applied(&batch);
        Ok(())
    }
}

impl Batch {
    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Writes the changes to redb, in one transaction. Needs no lock.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub fn write(&self) -> Result<(), CatalogError> {
        let Some(last) = self.entries.last() else { return Ok(()) };
        let transaction = self.database.begin_write()?;
        {
            let mut frames = transaction.open_table(FRAMES)?;
            let mut sequences = transaction.open_table(SEQUENCES)?;
            let mut meta = transaction.open_table(META)?;
            for entry in &self.entries {
                match &entry.change {
                    Change::Commit(row) => put(&mut frames, row)?,
                    Change::Drop { name } => drop(frames.remove(name.as_str())?),
                    Change::Rename { from, to } => {
                        let row = frames.remove(from.as_str())?.map(|r| decode(r.value()));
                        if let Some(Ok(row)) = row {
                            put(&mut frames, &Row { name: to.clone(), ..row })?;
                        }
                    }
                }
                sequences.insert(entry.session.0, entry.sequence)?;
            }
            meta.insert(APPLIED, last.number)?;
        }
        reach("catalog: before the transaction commits");
        transaction.commit()?;
        reach("catalog: after the transaction committed");
        Ok(())
    }

    /// Forgets the sequences of sessions that have ended.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub fn forget(&self, ended: &[SessionId]) -> Result<(), CatalogError> {
        let transaction = self.database.begin_write()?;
        {
            let mut sequences = transaction.open_table(SEQUENCES)?;
            for session in ended {
                sequences.remove(session.0)?;
            }
        }
        transaction.commit()?;
        Ok(())
    }
}

fn put(frames: &mut redb::Table<'_, &str, &[u8]>, row: &Row) -> Result<(), CatalogError> {
    let bytes = postcard::to_stdvec(row).map_err(io::Error::other)?;
    frames.insert(row.name.as_str(), bytes.as_slice())?;
    Ok(())
}

fn decode(bytes: &[u8]) -> Result<Row, postcard::Error> {
    postcard::from_bytes(bytes)
}

fn apply(names: &mut BTreeMap<String, Row>, change: &Change) {
    match change {
        Change::Commit(row) => {
            names.insert(row.name.clone(), row.clone());
        }
        Change::Drop { name } => {
            names.remove(name);
        }
        Change::Rename { from, to } => {
            if let Some(row) = names.remove(from) {
                names.insert(to.clone(), Row { name: to.clone(), ..row });
            }
        }
    }
}

fn read_database(database: &Database) -> Result<(Contents, u64), CatalogError> {
    let mut contents = Contents::default();
    let transaction = database.begin_write()?;
    // A table exists once it has been opened for writing.
    transaction.open_table(FRAMES)?;
    transaction.open_table(SEQUENCES)?;
    transaction.open_table(META)?;
    transaction.commit()?;
    let transaction = database.begin_read()?;
    for item in transaction.open_table(FRAMES)?.iter()? {
        let (name, bytes) = item?;
        match decode(bytes.value()) {
            Ok(row) => contents.rows.push(row),
            Err(_) => contents.unreadable.push(name.value().to_owned()),
        }
    }
    for item in transaction.open_table(SEQUENCES)?.iter()? {
        let (session, sequence) = item?;
        contents.sequences.insert(SessionId(session.value()), sequence.value());
    }
    let applied = transaction.open_table(META)?.get(APPLIED)?.map_or(0, |n| n.value());
    Ok((contents, applied))
}

/// The whole entries of the journal, and where they end.
fn read_journal(journal: &File) -> io::Result<(Vec<Entry>, u64)> {
    let total = journal.metadata()?.len();
    let mut bytes = vec![0; usize::try_from(total).map_err(io::Error::other)?];
    journal.read_exact_at(&mut bytes, 0)?;
    let mut entries = Vec::new();
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + 8) {
        let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let (length, expected) = (word(0) as usize, word(4));
        let Some(body) = bytes.get(at + 8..(at + 8).saturating_add(length)) else { break };
        if check(body) != expected {
            break;
        }
        let Ok(entry) = postcard::from_bytes(body) else { break };
        entries.push(entry);
        at += 8 + length;
    }
    Ok((entries, at as u64))
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is kept")]
fn check(body: &[u8]) -> u32 {
    cenote_region::copy::hash(body) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::EntryId;

    fn row(name: &str, version: u64) -> Row {
        Row { name: name.to_owned(), version, ..Row::unnamed(EntryId(1), 2, 3) }
    }

    fn names(contents: &Contents) -> Vec<(String, u64)> {
        contents.rows.iter().map(|r| (r.name.clone(), r.version)).collect()
    }

    #[test]
    fn what_was_appended_is_there_whether_or_not_redb_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let (mut catalog, contents) = Catalog::open(dir.path()).unwrap();
        assert!(contents.rows.is_empty());
        let s = SessionId(7);
        catalog.append(s, 1, &Change::Commit(row("a", 1))).unwrap();
        catalog.append(s, 2, &Change::Commit(row("b", 1))).unwrap();
        catalog.flush().unwrap();
        catalog.append(s, 3, &Change::Drop { name: "a".to_owned() }).unwrap();
        let rename = Change::Rename { from: "b".to_owned(), to: "c".to_owned() };
        catalog.append(s, 4, &rename).unwrap();
        drop(catalog);
        for _ in 0..2 {
            let (mut catalog, contents) = Catalog::open(dir.path()).unwrap();
            assert_eq!(names(&contents), [("c".to_owned(), 1)]);
            assert_eq!(contents.sequences[&s], 4);
            catalog.flush().unwrap();
        }
    }

    #[test]
    fn a_torn_entry_is_cut_off_and_the_next_one_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let (mut catalog, _) = Catalog::open(dir.path()).unwrap();
        let s = SessionId(7);
        catalog.append(s, 1, &Change::Commit(row("a", 1))).unwrap();
        let whole = catalog.length;
        catalog.append(s, 2, &Change::Commit(row("b", 1))).unwrap();
        let torn = catalog.length;
        drop(catalog);
        let path = dir.path().join("journal");
        let bytes = std::fs::read(&path).unwrap();
        for cut in whole..torn {
            std::fs::write(&path, &bytes[..usize::try_from(cut).unwrap()]).unwrap();
            let (mut catalog, contents) = Catalog::open(dir.path()).unwrap();
            assert_eq!(names(&contents), [("a".to_owned(), 1)], "cut at {cut}");
            catalog.append(s, 2, &Change::Commit(row("c", 1))).unwrap();
            drop(catalog);
            let (_, contents) = Catalog::open(dir.path()).unwrap();
            assert_eq!(names(&contents), [("a".to_owned(), 1), ("c".to_owned(), 1)]);
        }
    }
}
