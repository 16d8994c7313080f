//! Whatever a kill or damage leaves of journal and store.

use super::*;
use crate::id::EntryId;

fn row(name: &str, version: u64) -> Row {
    Row { name: name.to_owned(), version, ..Row::unnamed(EntryId(1), 2, 3) }
}

fn commit(row: Row) -> Change {
    Change::Commit { row: Box::new(row), expired: Vec::new() }
}

fn names(contents: &Contents) -> Vec<(String, u64)> {
    contents.frames.0.iter().map(|(name, r)| (name.clone(), r.settings.current)).collect()
}

#[test]
fn what_was_appended_is_there_whether_or_not_redb_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let (mut catalog, contents) = Catalog::open(dir.path()).unwrap();
    assert!(contents.frames.0.is_empty());
    let s = SessionId(7);
    catalog.append(s, 1, &commit(row("a", 1))).unwrap();
    catalog.append(s, 2, &commit(row("b", 1))).unwrap();
    catalog.flush().unwrap();
    catalog.append(s, 3, &Change::Drop { name: "a".to_owned() }).unwrap();
    catalog.append(s, 4, &commit(row("b", 2))).unwrap();
    let rename = Change::Rename { from: "b".to_owned(), to: "c".to_owned() };
    catalog.append(s, 5, &rename).unwrap();
    drop(catalog);
    for _ in 0..2 {
        let (mut catalog, contents) = Catalog::open(dir.path()).unwrap();
        assert_eq!(names(&contents), [("c".to_owned(), 2)]);
        assert_eq!(contents.frames.0["c"].rows.keys().copied().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(contents.sequences[&s], 5);
        catalog.flush().unwrap();
    }
}

/// An entry that was damaged in the midst of the journal was taken for its end, and the
/// frames that were committed after it were gone without a word.
#[test]
fn entries_behind_a_damaged_one_are_read_and_the_damage_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let (mut catalog, _) = Catalog::open(dir.path()).unwrap();
    let mut ends = Vec::new();
    for (i, name) in ["a", "b", "c"].into_iter().enumerate() {
        catalog.append(SessionId(7), i as u64, &commit(row(name, 1))).unwrap();
        ends.push(usize::try_from(catalog.length).unwrap());
    }
    drop(catalog);
    let path = dir.path().join("journal");
    let bytes = std::fs::read(&path).unwrap();
    for at in ends[0]..ends[1] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x55;
        std::fs::write(&path, &bytes).unwrap();
        let (_, contents) = Catalog::open(dir.path()).unwrap();
        assert!(contents.is_damaged, "byte {at}");
        assert_eq!(names(&contents), [("a".to_owned(), 1), ("c".to_owned(), 1)]);
    }
}

#[test]
fn a_long_journal_is_written_anew_with_what_is_pending() {
    let dir = tempfile::tempdir().unwrap();
    let (mut catalog, _) = Catalog::open(dir.path()).unwrap();
    catalog.append(SessionId(7), 1, &commit(row("a", 1))).unwrap();
    let batch = catalog.batch();
    batch.write().unwrap();
    catalog.append(SessionId(7), 2, &commit(row("b", 1))).unwrap();
    catalog.applied(&batch).unwrap();
    let before = catalog.length;
    catalog.rewrite().unwrap();
    assert!(catalog.length < before);
    catalog.append(SessionId(7), 3, &commit(row("c", 1))).unwrap();
    drop((catalog, batch));
    let (_, contents) = Catalog::open(dir.path()).unwrap();
    let all = ["a", "b", "c"].map(|name| (name.to_owned(), 1));
    assert_eq!(names(&contents), all);
    assert!(!contents.is_damaged);
}

#[test]
fn a_torn_entry_is_cut_off_and_the_next_one_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let (mut catalog, _) = Catalog::open(dir.path()).unwrap();
    let s = SessionId(7);
    catalog.append(s, 1, &commit(row("a", 1))).unwrap();
    let whole = catalog.length;
    catalog.append(s, 2, &commit(row("b", 1))).unwrap();
    let torn = catalog.length;
    drop(catalog);
    let path = dir.path().join("journal");
    let bytes = std::fs::read(&path).unwrap();
    for cut in whole..torn {
        std::fs::write(&path, &bytes[..usize::try_from(cut).unwrap()]).unwrap();
        let (mut catalog, contents) = Catalog::open(dir.path()).unwrap();
        assert_eq!(names(&contents), [("a".to_owned(), 1)], "cut at {cut}");
        catalog.append(s, 2, &commit(row("c", 1))).unwrap();
        drop(catalog);
        let (_, contents) = Catalog::open(dir.path()).unwrap();
        assert_eq!(names(&contents), [("a".to_owned(), 1), ("c".to_owned(), 1)]);
    }
}

/// What a batch makes of redb's tables is what the same changes make of tables in memory.
#[test]
fn the_store_and_the_memory_agree() {
    let dir = tempfile::tempdir().unwrap();
    let (mut catalog, _) = Catalog::open(dir.path()).unwrap();
    let mut memory = Frames::default();
    let mut seed = 7u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut looked = 0;
    for i in 0..600 {
        let name = ["a", "b", "c"][usize::try_from(random(3)).unwrap()].to_owned();
        let known = memory.0.get(&name).cloned().unwrap_or_default();
        let mut expired: Vec<u64> = known.living().map(|row| row.version).collect();
        expired.retain(|version| *version != known.settings.current && random(3) == 0);
        let change = match random(12) {
            0 => Change::Drop { name },
            1 => Change::Rename { from: name, to: "d".to_owned() },
            2 => Change::Tag { name, tag: "t".to_owned(), version: Some(random(9)), expired },
            3 => Change::Expire { name, expired },
            4 => Change::Restore { name, record: Box::new(known) },
            _ => {
                let row = row(&name, known.settings.current + 1);
                Change::Commit { row: Box::new(row), expired }
            }
        };
        memory.apply(&change);
        catalog.append(SessionId(7), i, &change).unwrap();
        if random(20) == 0 {
            catalog.flush().unwrap();
            drop(catalog);
            let (again, contents) = Catalog::open(dir.path()).unwrap();
            assert_eq!(contents.frames, memory, "after change {i}");
            assert!(!contents.is_damaged);
            catalog = again;
            looked += 1;
        }
    }
    assert!(looked > 10, "looked {looked} times");
}

#[test]
fn a_catalog_of_the_first_layout_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("catalog.redb");
    let database = Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    let frames: TableDefinition<'_, &str, &[u8]> = TableDefinition::new(FRAMES);
    transaction.open_table(frames).unwrap().insert("a", &b"row"[..]).unwrap();
    transaction.commit().unwrap();
    drop(database);
    std::fs::write(dir.path().join("journal"), b"entries of then").unwrap();
    for _ in 0..2 {
        let refused = Catalog::open(dir.path());
        assert!(matches!(refused, Err(CatalogError::Layout { found: 1 })), "{refused:?}");
    }
    assert_eq!(std::fs::read(dir.path().join("journal")).unwrap(), b"entries of then");
}
