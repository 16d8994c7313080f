//! What the heads tell where the catalog is damaged.
//!
//! The heads say which manifests have names, the manifests what they are. What the catalog
//! still knows of a name beside that is kept.

use std::collections::{BTreeMap, HashMap};
use std::io;

use super::{BoardFile, Catalog, Row, RunDir, SessionId, Space, load_manifest};
use crate::change::{Change, Frames};
use crate::protocol::heads::{Found, HeadTable, hash_name};
use crate::row::Record;
use crate::words::Shared;

/// The names of the current head table, and what is known of them; names that it does not
/// have stay as they are known.
pub(super) fn frames_from_heads(dir: &RunDir, board: &BoardFile, known: Frames) -> Frames {
    let table = open_heads(dir, board.view().heads()).or_else(|| last_heads(dir));
    let Some(table) = table else { return known };
    let files = Space::open(dir.clone(), board.clone(), 0).ok();
    let rows: HashMap<u64, Row> = known
        .0
        .values()
        .flat_map(Record::living)
        .cloned()
        .map(|row| (row.manifest_checksum, row))
        .collect();
    let mut known = known.0;
    let mut frames = BTreeMap::new();
    for (name, manifest) in table.entries() {
        let record = board.view().entry(manifest).record;
        let Some(location) = record.and_then(|r| board.view().location(r)) else {
            // It has a name and no place: adoption says that it is lost.
            let row = Row { name: name.clone(), ..Row::unnamed(manifest, 0, 0) };
            let unknown = || Record { rows: [(0, row)].into(), ..Record::default() };
            let record = known.remove(&name).unwrap_or_else(unknown);
            frames.insert(name, record);
            continue;
        };
        let row = rows.get(&location.checksum).cloned().unwrap_or_else(|| {
            let mut row = Row::unnamed(manifest, location.checksum, location.place.length);
            let read = files.as_ref().and_then(|files| load_manifest(files, &location).ok());
            if let Some(read) = read {
                row.version = read.version;
                row.num_rows = read.num_rows();
                row.num_columns = read.draft.num_columns;
                row.created_ns = read.created_ns;
            }
            row
        });
        // It may be known by the name that it had before.
        let record = known.remove(&name).or_else(|| known.remove(&row.name));
        let mut record = record.unwrap_or_default();
        record.settings.current = row.version;
        record.settings.gone.retain(|version| *version != row.version);
        record.rows.insert(row.version, row);
        for row in record.rows.values_mut() {
            name.clone_into(&mut row.name);
        }
        frames.insert(name, record);
    }
    // A name that the table does not have: dropped, if the table says so; else its slot is
    // damaged, too.
    known.retain(|name, _| !matches!(table.find(name, hash_name(name)), Found::Slot(_)));
    frames.extend(known);
    Frames(frames)
}

/// Board and catalog are gone: all that the heads still tell is what was lost.
pub(super) fn names_from_heads(dir: &RunDir) -> Vec<String> {
    let entries = last_heads(dir).map(|table| table.entries()).unwrap_or_default();
    entries.into_iter().map(|(name, _)| name).collect()
}

/// The last head table that is whole, where the board does not say which one counts.
fn last_heads(dir: &RunDir) -> Option<HeadTable<Shared>> {
    let numbers = dir.numbered("heads").unwrap_or_default();
    numbers.into_iter().rev().find_map(|number| open_heads(dir, number))
}

fn open_heads(dir: &RunDir, number: u64) -> Option<HeadTable<Shared>> {
    HeadTable::open(Shared::read_all(&dir.heads(number)).ok()?, number)
}

/// Gives the catalog what it lacks, and takes from it what is no more, so that the next owner
/// finds what this one has found.
pub(super) fn complete_catalog(
    catalog: &mut Catalog,
    known: &Frames,
    found: &Frames,
) -> io::Result<()> {
    for name in known.0.keys().filter(|name| !found.0.contains_key(*name)) {
        catalog.append(SessionId::NONE, 0, &Change::Drop { name: name.clone() })?;
    }
    for (name, record) in found.0.iter().filter(|(name, record)| known.0.get(*name) != Some(record))
    {
        let (name, record) = (name.clone(), Box::new(record.clone()));
        catalog.append(SessionId::NONE, 0, &Change::Restore { name, record })?;
    }
    Ok(())
}
