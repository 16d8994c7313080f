//! One change of the catalog, and what it does.
//!
//! The journal carries changes; what the ledger has in memory and what redb has are both what
//! [`Frames::apply`] makes of them, so that they cannot disagree.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::row::{Keep, Record, Row};

/// Rows of versions that are gone are kept for the last so many of a name.
pub const GONE_MAX: usize = 32;
/// Most versions of a name that [`Keep`] may keep.
pub const KEEP_MAX: u32 = 1 << 16;
/// Most tags of a name.
pub const TAGS_MAX: usize = 1024;

/// One change of the catalog. It happens whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A name stands for a new version.
    Commit {
        /// The version.
        row: Box<Row>,
        /// Older ones that are kept no longer.
        expired: Vec<u64>,
    },
    /// A name is gone, and all its versions.
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
    /// Another number of versions is kept.
    Keep {
        /// Of which name.
        name: String,
        /// Which.
        keep: Keep,
        /// Those that are kept no longer.
        expired: Vec<u64>,
    },
    /// A version has a tag, which another may have had.
    Tag {
        /// Of which name.
        name: String,
        /// The tag.
        tag: String,
        /// The version; `None`: the tag is gone.
        version: Option<u64>,
        /// Those that are kept no longer.
        expired: Vec<u64>,
    },
    /// Versions are kept no longer.
    Expire {
        /// Of which name.
        name: String,
        /// Which.
        expired: Vec<u64>,
    },
    /// This is what is known of a name, whatever was.
    Restore {
        /// Which.
        name: String,
        /// All of it.
        record: Box<Record>,
    },
}

impl Change {
    /// The names that it is of.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let (one, other) = match self {
            Change::Commit { row, .. } => (&row.name, None),
            Change::Rename { from, to } => (from, Some(to)),
            Change::Drop { name }
            | Change::Keep { name, .. }
            | Change::Tag { name, .. }
            | Change::Expire { name, .. }
            | Change::Restore { name, .. } => (name, None),
        };
        [Some(one), other].into_iter().flatten().map(String::as_str)
    }
}

/// What is known of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames(pub BTreeMap<String, Record>);

impl Frames {
    /// Does what a change says.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Commit { row, expired } => {
                if !self.0.contains_key(&row.name) {
                    self.0.insert(row.name.clone(), Record::default());
                }
                let Some(record) = self.0.get_mut(&row.name) else { return };
                record.settings.current = row.version;
                record.rows.insert(row.version, (**row).clone());
                expire(record, expired);
            }
            Change::Drop { name } => drop(self.0.remove(name)),
            Change::Rename { from, to } => {
                let Some(mut record) = self.0.remove(from) else { return };
                for row in record.rows.values_mut() {
                    to.clone_into(&mut row.name);
                }
                self.0.insert(to.clone(), record);
            }
            Change::Keep { name, keep, expired } => {
                let Some(record) = self.0.get_mut(name) else { return };
                record.settings.keep = *keep;
                expire(record, expired);
            }
            Change::Tag { name, tag, version, expired } => {
                let Some(record) = self.0.get_mut(name) else { return };
                match version {
                    Some(version) => record.settings.tags.insert(tag.clone(), *version),
                    None => record.settings.tags.remove(tag),
                };
                expire(record, expired);
            }
            Change::Expire { name, expired } => {
                let Some(record) = self.0.get_mut(name) else { return };
                expire(record, expired);
            }
            Change::Restore { name, record } => {
                self.0.insert(name.clone(), (**record).clone());
            }
        }
    }

    /// Some changes are missing: versions that live only because nothing says that they expired
    /// are gone. What is kept for a time is left to the next change.
    pub fn expire_unsaid(&mut self) {
        let expired = self.0.iter().map(|(name, record)| (name.clone(), record.expired(0, None)));
        let expired: Vec<_> = expired.filter(|(_, expired)| !expired.is_empty()).collect();
        for (name, expired) in expired {
            self.apply(&Change::Expire { name, expired });
        }
    }
}

/// Notes what has expired, and forgets the oldest of what is gone.
fn expire(record: &mut Record, expired: &[u64]) {
    let Record { settings, rows } = record;
    for version in expired {
        if let Some(row) = rows.get_mut(version) {
            row.shorten();
        }
    }
    settings.gone.extend(expired);
    settings.tags.retain(|_, version| !expired.contains(version));
    let forgotten = settings.gone.len().saturating_sub(GONE_MAX);
    for version in settings.gone.drain(..forgotten) {
        rows.remove(&version);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::EntryId;

    fn row(name: &str, version: u64) -> Row {
        let created_ns = version * 1_000_000_000;
        Row { name: name.to_owned(), version, created_ns, ..Row::unnamed(EntryId(1), 2, 3) }
    }

    /// Commits versions of "a" one second apart, each expiring what need not be kept.
    fn committed(keep: Keep, versions: u64) -> Frames {
        let mut frames = Frames::default();
        for version in 1..=versions {
            let new = row("a", version);
            let record = frames.0.get("a");
            let expired = record.map_or_else(Vec::new, |r| r.expired(new.created_ns, Some(&new)));
            frames.apply(&Change::Commit { row: Box::new(row("a", version)), expired });
            if version == 1 {
                let name = "a".to_owned();
                frames.apply(&Change::Keep { name, keep, expired: Vec::new() });
            }
        }
        frames
    }

    fn living(frames: &Frames) -> Vec<u64> {
        frames.0["a"].living().map(|row| row.version).collect()
    }

    #[test]
    fn so_many_are_kept_as_was_said() {
        assert_eq!(living(&committed(Keep::default(), 5)), [5]);
        assert_eq!(living(&committed(Keep { versions: 3, seconds: None }, 5)), [3, 4, 5]);
        // Version 3 was current until second 4.
        assert_eq!(living(&committed(Keep { versions: 1, seconds: Some(1) }, 5)), [3, 4, 5]);
        assert_eq!(living(&committed(Keep { versions: 4, seconds: Some(1) }, 5)), [2, 3, 4, 5]);
    }

    #[test]
    fn a_tag_keeps_its_version_and_goes_with_it() {
        let mut frames = committed(Keep { versions: 3, seconds: None }, 3);
        let tag = |version| Change::Tag {
            name: "a".to_owned(),
            tag: "good".to_owned(),
            version,
            expired: Vec::new(),
        };
        frames.apply(&tag(Some(1)));
        let name = "a".to_owned();
        frames.apply(&Change::Keep { name, keep: Keep::default(), expired: Vec::new() });
        assert_eq!(frames.0["a"].expired(9, None), [2]);
        frames.apply(&tag(None));
        assert_eq!(frames.0["a"].expired(9, None), [1, 2]);
        frames.apply(&tag(Some(1)));
        frames.apply(&Change::Expire { name: "a".to_owned(), expired: vec![1, 2] });
        assert!(frames.0["a"].settings.tags.is_empty());
        assert_eq!(living(&frames), [3]);
    }

    #[test]
    fn the_last_that_are_gone_are_remembered() {
        let frames = committed(Keep::default(), 100);
        let record = &frames.0["a"];
        let known: Vec<u64> = record.rows.keys().copied().collect();
        assert_eq!(known, (100 - GONE_MAX as u64..=100).collect::<Vec<_>>());
        assert_eq!(living(&frames), [100]);
    }

    #[test]
    fn of_what_is_gone_little_is_kept() {
        let mut frames = committed(Keep::default(), 1);
        let mut long = row("a", 2);
        long.source = "ä".repeat(400_000);
        long.made.note = "n".repeat(4000);
        frames.apply(&Change::Commit { row: Box::new(long.clone()), expired: vec![1] });
        assert_eq!(frames.0["a"].rows[&2], long);
        frames.apply(&Change::Commit { row: Box::new(row("a", 3)), expired: vec![2] });
        let gone = &frames.0["a"].rows[&2];
        assert!(gone.source.len() <= 1024 && gone.made.note.len() <= 1024, "{gone:?}");
        assert!(long.source.starts_with(&gone.source) && !gone.source.is_empty());
    }

    #[test]
    fn as_of_says_what_was_current_and_nothing_else() {
        let second = 1_000_000_000;
        let frames = committed(Keep { versions: 3, seconds: None }, 5);
        let as_of = |frames: &Frames, ns| frames.0["a"].as_of(ns).map(|row| row.version);
        assert_eq!(as_of(&frames, 10 * second), Some(5));
        assert_eq!(as_of(&frames, 4 * second + 1), Some(4));
        assert_eq!(as_of(&frames, 3 * second), Some(3));
        assert_eq!(as_of(&frames, 2 * second), None, "it is gone");
        assert_eq!(as_of(&frames, 1), None, "before the first");
        // A version that a tag keeps is not what was current later, when that is forgotten.
        let mut frames = committed(Keep { versions: 100, seconds: None }, 80);
        let expired: Vec<u64> = (2..80).collect();
        frames.apply(&Change::Expire { name: "a".to_owned(), expired });
        assert_eq!(as_of(&frames, second), None, "version 2 is forgotten");
        assert_eq!(as_of(&frames, 40 * second), None);
        assert_eq!(as_of(&frames, 80 * second), Some(80));
    }

    /// A journal that lacked an entry had versions come back that were long freed.
    #[test]
    fn what_a_missing_change_expired_does_not_come_back() {
        let mut frames = Frames::default();
        frames.apply(&Change::Commit { row: Box::new(row("a", 1)), expired: Vec::new() });
        frames.apply(&Change::Commit { row: Box::new(row("a", 3)), expired: vec![2] });
        assert_eq!(living(&frames), [1, 3]);
        frames.expire_unsaid();
        assert_eq!(living(&frames), [3]);
    }

    #[test]
    fn a_renamed_name_takes_everything_with_it() {
        let mut frames = committed(Keep { versions: 2, seconds: None }, 4);
        let before = frames.0["a"].clone();
        frames.apply(&Change::Commit { row: Box::new(row("b", 9)), expired: Vec::new() });
        frames.apply(&Change::Rename { from: "a".to_owned(), to: "b".to_owned() });
        assert!(!frames.0.contains_key("a"));
        let after = &frames.0["b"];
        assert_eq!(after.settings, before.settings);
        assert_eq!(after.rows.keys().collect::<Vec<_>>(), before.rows.keys().collect::<Vec<_>>());
        assert!(after.rows.values().all(|row| row.name == "b"));
        frames.apply(&Change::Drop { name: "b".to_owned() });
        assert_eq!(frames, Frames::default());
    }
}
