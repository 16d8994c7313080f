//! What the catalog knows of a version, and what made it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::EntryId;

/// Longest text of a [`Made`], in bytes.
pub const MADE_TEXT_MAX: usize = 4096;
/// Most files or inputs of a [`Made`].
pub const MADE_ITEMS_MAX: usize = 1024;
/// Most bytes that the texts of a [`Made`] have together.
pub const MADE_BYTES_MAX: usize = 64 << 10;

/// Longest text that is kept of a version that is gone, in bytes.
const GONE_TEXT_MAX: usize = 1024;
/// Most files or inputs that are kept of a version that is gone.
const GONE_ITEMS_MAX: usize = 16;

/// What the catalog knows of one version of a name.
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
    /// What made it.
    pub made: Made,
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
            made: Made::default(),
        }
    }
}

impl Row {
    /// Of a version that is gone the beginning of what was said is enough.
    pub(crate) fn shorten(&mut self) {
        cut_text(&mut self.source, GONE_TEXT_MAX);
        self.made.cut(GONE_TEXT_MAX, GONE_ITEMS_MAX);
    }
}

/// Leaves at most `most` bytes of a text, in whole characters.
fn cut_text(text: &mut String, most: usize) {
    let end = (0..=most.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    text.truncate(end.unwrap_or(0));
}

/// What made a version: told by its writer, kept with the version's row, believed by nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// How: the version before went on, or something new began.
    pub append: bool,
    /// The command line of the process.
    pub command: String,
    /// The user that the process ran as.
    pub user: String,
    /// The host it ran on.
    pub host: String,
    /// The process, as it sees itself.
    pub pid: u32,
    /// The files that were read.
    pub files: Vec<SourceFile>,
    /// The expression that was computed.
    pub expression: String,
    /// The frames that it was computed from.
    pub inputs: Vec<Input>,
    /// Whatever its writer wanted to say.
    pub note: String,
}

/// A file that a version was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its path.
    pub path: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub modified_ns: u64,
    /// XXH3-64 of its bytes, where they were read as a whole.
    pub checksum: Option<u64>,
}

/// A frame that a version was computed from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The frame.
    pub name: String,
    /// The version of it.
    pub version: u64,
}

impl Made {
    /// Bytes of all texts together.
    fn text_bytes(&self) -> usize {
        let own = [&self.command, &self.user, &self.host, &self.expression, &self.note];
        let files = self.files.iter().map(|file| &file.path);
        let inputs = self.inputs.iter().map(|input| &input.name);
        own.into_iter().chain(files).chain(inputs).map(String::len).sum()
    }

    /// Shortens what is longer than its bound: [`MADE_TEXT_MAX`], [`MADE_ITEMS_MAX`],
    /// [`MADE_BYTES_MAX`]. The beginning of each stays.
    pub fn bound(&mut self) {
        self.cut(MADE_TEXT_MAX, MADE_ITEMS_MAX);
        while self.text_bytes() > MADE_BYTES_MAX {
            if self.files.pop().is_none() && self.inputs.pop().is_none() {
                return;
            }
        }
    }

    fn cut(&mut self, text_max: usize, items_max: usize) {
        for text in [
            &mut self.command,
            &mut self.user,
            &mut self.host,
            &mut self.expression,
            &mut self.note,
        ] {
            cut_text(text, text_max);
        }
        self.files.truncate(items_max);
        self.inputs.truncate(items_max);
    }
}

/// All that the catalog knows of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What was set for it.
    pub settings: Settings,
    /// Its versions: those that live, and the last of those that are gone.
    pub rows: BTreeMap<u64, Row>,
}

/// What a name has beside its versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The version that the name stands for.
    pub current: u64,
    /// Which older versions are kept.
    pub keep: Keep,
    /// Names of single versions, which are kept as long as they have one.
    pub tags: BTreeMap<String, u64>,
    /// Versions whose data is gone, oldest first; of them there is only the row.
    pub gone: Vec<u64>,
}

/// Which versions of a name are kept, beside those with a tag: the union of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// So many of the newest, the current one included; at least one.
    pub versions: u32,
    /// Every version that was the current one at some time of the last so many seconds.
    pub seconds: Option<u64>,
}

impl Default for Keep {
    fn default() -> Keep {
        Keep { versions: 1, seconds: None }
    }
}

impl Record {
    /// The rows of the versions that live, oldest first.
    pub fn living(&self) -> impl Iterator<Item = &Row> {
        self.rows.values().filter(|row| !self.settings.gone.contains(&row.version))
    }

    /// The row of a version that lives.
    #[must_use]
    pub fn row(&self, version: u64) -> Option<&Row> {
        self.rows.get(&version).filter(|_| !self.settings.gone.contains(&version))
    }

    /// The versions that need no longer be kept at `now_ns`, oldest first, once `new`, if there
    /// is one, is the current version. The current one is always kept.
    #[must_use]
    pub fn expired(&self, now_ns: u64, new: Option<&Row>) -> Vec<u64> {
        let Settings { keep, tags, .. } = &self.settings;
        let current = new.map_or(self.settings.current, |row| row.version);
        let since = keep.seconds.map(|s| now_ns.saturating_sub(s.saturating_mul(1_000_000_000)));
        let living: Vec<u64> = self.living().chain(new).map(|row| row.version).collect();
        let newest = living.len().saturating_sub(keep.versions.max(1) as usize);
        let is_young = |version: u64| {
            // It was the current one until the next came, whether that one lives or not.
            let next = self.rows.range(version + 1..).next().map(|(_, row)| row).or(new);
            since.is_some_and(|since| next.is_none_or(|next| next.created_ns >= since))
        };
        let old = living[..newest].iter().copied();
        old.filter(|v| *v != current && !is_young(*v) && !tags.values().any(|t| t == v)).collect()
    }

    /// The version that the name stood for at a time; `None`: none yet, or it is gone.
    #[must_use]
    pub fn as_of(&self, ns: u64) -> Option<&Row> {
        let (&version, row) = self.rows.iter().rev().find(|(_, row)| row.created_ns <= ns)?;
        // Others may have come between that are not even remembered.
        let is_followed =
            version == self.settings.current || self.rows.contains_key(&(version + 1));
        is_followed.then_some(row).filter(|row| self.row(row.version).is_some())
    }
}
