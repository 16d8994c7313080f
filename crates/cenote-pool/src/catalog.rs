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

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableHandle};
use serde::{Deserialize, Serialize};

use crate::change::{Change, Frames};
use crate::id::SessionId;
use crate::row::{Row, Settings};
use crate::step::reach;

use store::Store;
use tables::Written;

mod store;
mod tables;
#[cfg(test)]
mod tests;

/// Version of the catalog's tables and of the journal's entries.
pub const LAYOUT_VERSION: u64 = 2;
/// What a catalog of the first layout had in the place of [`SETTINGS`] and [`ROWS`].
const FRAMES: &str = "frames";
const SETTINGS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("settings");
const ROWS: TableDefinition<'_, (&str, u64), &[u8]> = TableDefinition::new("rows");
const SEQUENCES: TableDefinition<'_, u64, u64> = TableDefinition::new("sequences");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const APPLIED: &str = "applied";
const LAYOUT: &str = "layout";
/// A journal longer than this is written anew, short, when redb has most of it.
pub const JOURNAL_BYTES_MAX: u64 = 4 << 20;
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
    /// It is of another layout.
    #[error("the catalog is of layout {found}, this release reads {LAYOUT_VERSION}")]
    Layout {
        /// Its layout.
        found: u64,
    },
    /// The file system refuses.
    #[error("the catalog's files cannot be read")]
    Io(#[from] io::Error),
}

/// No damage: nothing is wrong with what is there.
fn is_want_of_space(error: &io::Error) -> bool {
    use io::ErrorKind::{OutOfMemory, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | OutOfMemory)
}

macro_rules! from_redb {
    ($($kind:ident),*) => {$(
        impl From<redb::$kind> for CatalogError {
            fn from(error: redb::$kind) -> CatalogError {
                match error.into() {
                    redb::Error::Io(error) if is_want_of_space(&error) => CatalogError::Io(error),
                    error => CatalogError::Redb(error),
                }
            }
        }
    )*};
}
from_redb!(DatabaseError, TransactionError, TableError, StorageError, CommitError);

/// What a catalog held when it was opened.
#[derive(Debug, Default)]
pub struct Contents {
    /// What is known of every name.
    pub frames: Frames,
    /// The last change of each session.
    pub sequences: HashMap<SessionId, u64>,
    /// A row cannot be read, or changes in the midst of the journal: not all is here.
    pub is_damaged: bool,
}

/// The journal's end of the catalog: under the pool's lock.
#[derive(Debug)]
pub struct Catalog {
    path: PathBuf,
    journal: File,
    length: u64,
    number: u64,
    pending: Vec<Entry>,
    store: Arc<Store>,
}

/// Changes on their way into redb.
#[derive(Debug)]
pub struct Batch {
    entries: Vec<Entry>,
    store: Arc<Store>,
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
        let mut database = Database::builder().set_cache_size(CACHE_BYTES).create(&path)?;
        // Its pages have checksums, which it looks at only when asked.
        let is_sound = database.check_integrity()?;
        let journal_path = directory.join("journal");
        // One that was to take its place: everything in it is in the old one.
        let _ = std::fs::remove_file(journal_path.with_extension("new"));
        let journal = crate::words::open_own(&journal_path, true)?;
        let (mut contents, applied) = read_database(&database)?;
        let Journal { entries, length, is_damaged } = read_journal(&journal)?;
        contents.is_damaged |= is_damaged || !is_sound;
        let mut number = applied;
        let mut pending = Vec::new();
        for entry in entries {
            number = number.max(entry.number);
            if entry.number > applied {
                // Each follows the one before it, or redb is not the one that was there.
                contents.is_damaged |= entry.number != applied + 1 + pending.len() as u64;
                contents.frames.apply(&entry.change);
                contents.sequences.insert(entry.session, entry.sequence);
                pending.push(entry);
            }
        }
        // What follows the last whole entry was cut off by a kill: nobody was told of it.
        journal.set_len(length)?;
        let store = Arc::new(Store::new(path, database));
        let catalog = Catalog { path: journal_path, journal, length, number, pending, store };
        Ok((catalog, contents))
    }

    /// Makes a change durable.
    ///
    /// # Errors
    /// The journal cannot be written; the change has not happened.
    pub fn append(&mut self, session: SessionId, sequence: u64, change: &Change) -> io::Result<()> {
        let entry = Entry { number: self.number + 1, session, sequence, change: change.clone() };
        let mut bytes = Vec::new();
        encode(&entry, &mut bytes)?;
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

    /// The number of the last change.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Changes that redb does not have yet; empty if there are none.
    pub fn batch(&mut self) -> Batch {
        Batch { entries: self.pending.clone(), store: self.store.clone() }
    }

    /// redb has the batch: its entries leave the journal, at once if it has no others, else
    /// when it has grown long.
    ///
    /// # Errors
    /// No space for a new journal; the old one stays.
    pub fn applied(&mut self, batch: &Batch) -> io::Result<()> {
        let Some(last) = batch.entries.last() else { return Ok(()) };
        self.pending.retain(|entry| entry.number > last.number);
        if self.pending.is_empty() {
            self.journal.set_len(0)?;
            self.length = 0;
        } else if self.length > JOURNAL_BYTES_MAX {
            self.rewrite()?;
        }
        Ok(())
    }

    /// Puts a journal of what is pending in the place of the old one, whole.
    fn rewrite(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        for entry in &self.pending {
            encode(entry, &mut bytes)?;
        }
        let fresh = self.path.with_extension("new");
        let journal = crate::words::open_own(&fresh, true)?;
        journal.set_len(0)?;
        journal.write_all_at(&bytes, 0)?;
        reach("catalog: new journal written");
        std::fs::rename(&fresh, &self.path)?;
        (self.journal, self.length) = (journal, bytes.len() as u64);
        Ok(())
    }

    /// Writes all that is pending, here and now.
    ///
    /// # Errors
    /// [`CatalogError`].
    pub fn flush(&mut self) -> Result<(), CatalogError> {
        let batch = self.batch();
        batch.write()?;
        Ok(self.applied(&batch)?)
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
        self.store.with(|database| self.write_to(database))
    }

    fn write_to(&self, database: &Database) -> Result<(), CatalogError> {
        let Some(last) = self.entries.last() else { return Ok(()) };
        let transaction = database.begin_write()?;
        {
            let mut tables = Written {
                settings: transaction.open_table(SETTINGS)?,
                rows: transaction.open_table(ROWS)?,
            };
            let mut sequences = transaction.open_table(SEQUENCES)?;
            let mut meta = transaction.open_table(META)?;
            // A batch that is said to have failed may be there all the same: to rename twice
            // would be another change.
            let applied = meta.get(APPLIED)?.map_or(0, |number| number.value());
            let new = || self.entries.iter().filter(|entry| entry.number > applied);
            let mut before = Frames::default();
            for name in new().flat_map(|entry| entry.change.names()) {
                if !before.0.contains_key(name)
                    && let Some(record) = tables.record(name)?
                {
                    before.0.insert(name.to_owned(), record);
                }
            }
            let mut after = before.clone();
            for entry in new() {
                after.apply(&entry.change);
                sequences.insert(entry.session.0, entry.sequence)?;
            }
            let names = new().flat_map(|entry| entry.change.names());
            for name in names.collect::<BTreeSet<_>>() {
                tables.write(name, before.0.get(name), after.0.get(name))?;
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
        self.store.with(|database| {
            let transaction = database.begin_write()?;
            {
                let mut sequences = transaction.open_table(SEQUENCES)?;
                for session in ended {
                    sequences.remove(session.0)?;
                }
            }
            transaction.commit()?;
            Ok(())
        })
    }
}

fn encode(entry: &Entry, into: &mut Vec<u8>) -> io::Result<()> {
    let body = postcard::to_stdvec(entry).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    into.extend(length.to_le_bytes());
    into.extend(check(&body).to_le_bytes());
    into.extend(body);
    Ok(())
}

fn read_database(database: &Database) -> Result<(Contents, u64), CatalogError> {
    let mut contents = Contents::default();
    let transaction = database.begin_write()?;
    let is_first_layout = transaction.list_tables()?.any(|table| table.name() == FRAMES);
    {
        // A table exists once it has been opened for writing.
        let mut meta = transaction.open_table(META)?;
        let found = meta.get(LAYOUT)?.map(|layout| layout.value());
        match found {
            Some(LAYOUT_VERSION) => {}
            None if !is_first_layout => drop(meta.insert(LAYOUT, LAYOUT_VERSION)?),
            found => return Err(CatalogError::Layout { found: found.unwrap_or(1) }),
        }
        transaction.open_table(SETTINGS)?;
        transaction.open_table(ROWS)?;
        transaction.open_table(SEQUENCES)?;
    }
    transaction.commit()?;
    let transaction = database.begin_read()?;
    for item in transaction.open_table(SETTINGS)?.iter()? {
        let (name, bytes) = item?;
        let record = contents.frames.0.entry(name.value().to_owned()).or_default();
        match postcard::from_bytes::<Settings>(bytes.value()) {
            Ok(settings) => record.settings = settings,
            Err(_) => contents.is_damaged = true,
        }
    }
    for item in transaction.open_table(ROWS)?.iter()? {
        let (key, bytes) = item?;
        let (name, version) = key.value();
        let row = postcard::from_bytes::<Row>(bytes.value());
        match (contents.frames.0.get_mut(name), row) {
            (Some(record), Ok(row)) => drop(record.rows.insert(version, row)),
            _ => contents.is_damaged = true,
        }
    }
    for item in transaction.open_table(SEQUENCES)?.iter()? {
        let (session, sequence) = item?;
        contents.sequences.insert(SessionId(session.value()), sequence.value());
    }
    let applied = transaction.open_table(META)?.get(APPLIED)?.map_or(0, |n| n.value());
    Ok((contents, applied))
}

/// What a journal holds.
#[derive(Debug, Default)]
struct Journal {
    entries: Vec<Entry>,
    /// Where the last whole entry ends.
    length: u64,
    /// Whole entries come after something that is none: not the torn end of a kill.
    is_damaged: bool,
}

fn read_journal(journal: &File) -> io::Result<Journal> {
    let total = journal.metadata()?.len();
    let mut bytes = vec![0; usize::try_from(total).map_err(io::Error::other)?];
    journal.read_exact_at(&mut bytes, 0)?;
    let mut found = Journal::default();
    let mut at = 0;
    while at < bytes.len() {
        if let Some((entry, length)) = read_entry(&bytes[at..]) {
            found.is_damaged |= found.length != at as u64;
            found.entries.push(entry);
            at += length;
            found.length = at as u64;
        } else {
            // What follows damage is looked for, byte by byte.
            at += 1;
        }
    }
    Ok(found)
}

/// The whole entry at the start of `bytes`, and its length.
fn read_entry(bytes: &[u8]) -> Option<(Entry, usize)> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let length = word(0)? as usize;
    let body = bytes.get(8..length.checked_add(8)?)?;
    (check(body) == word(4)?).then_some(())?;
    Some((postcard::from_bytes(body).ok()?, length + 8))
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is kept")]
fn check(body: &[u8]) -> u32 {
    // Other layouts' entries do not pass for ones of this.
    (cenote_region::copy::hash(body) ^ LAYOUT_VERSION) as u32
}
