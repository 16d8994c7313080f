//! One input file: its name, what it holds, how it is stored.

use std::fmt;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::LoadError;
use crate::storage::{Place, Wrap};

/// A file, or a member of a zip archive. Displayed as `path` or `path: member`. Clones share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileName(Arc<(PathBuf, Option<String>)>);

impl FileName {
    pub(crate) fn new(path: &Path, member: Option<String>) -> Self {
        Self(Arc::new((path.into(), member)))
    }

    /// What the bytes of the file are called once unpacked, in lower case: `.gz` and its like
    /// are no part of it.
    pub(crate) fn stem(&self) -> String {
        let path = self.member().map_or(self.path(), Path::new);
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let wrapped = |end: &&str| name.ends_with(*end);
        let end = [".gz", ".zst", ".bz2", ".xz"].iter().copied().find(|end| wrapped(end));
        end.and_then(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned()
    }

    /// The file; of a member, its archive.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.0
    }

    /// The member's name, where the file is an archive.
    #[must_use]
    pub fn member(&self) -> Option<&str> {
        self.0.1.as_deref()
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self.member() {
            None => write!(f, "{path}"),
            Some(member) => write!(f, "{path}: {member}"),
        }
    }
}

/// What a file holds, under its compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Text with delimiters.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// One JSON object a line.
    Json,
    /// Arrow IPC, as a file (also called Feather) or a stream.
    Arrow,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "CSV",
            Self::Parquet => "Parquet",
            Self::Json => "JSON lines",
            Self::Arrow => "Arrow IPC",
        })
    }
}

impl FromStr for Kind {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "csv" | "tsv" => Self::Csv,
            "parquet" => Self::Parquet,
            "json" | "jsonl" | "ndjson" => Self::Json,
            "arrow" | "arrows" | "ipc" | "feather" => Self::Arrow,
            _ => return Err(UnknownFormat(text.into())),
        })
    }
}

/// A word that names no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no format: csv, parquet, json (one object a line) or arrow")]
pub struct UnknownFormat(pub String);

/// One file that takes part in a load.
#[derive(Debug, Clone)]
pub struct InputFile {
    pub(crate) name: FileName,
    pub(crate) kind: Kind,
    pub(crate) bytes: u64,
    pub(crate) place: Place,
    pub(crate) wrap: Wrap,
    /// Folders between what was named and the file.
    pub(crate) folders: Vec<String>,
}

/// Tells a file that was replaced or appended to between the two passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    pub(crate) fn new(metadata: &Metadata) -> Self {
        Self { len: metadata.len(), modified: metadata.modified().ok() }
    }
}

impl InputFile {
    /// What errors call it.
    #[must_use]
    pub fn name(&self) -> &FileName {
        &self.name
    }

    /// What it holds.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its size as stored, so compressed where it is.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its path from the root, a member's behind `!`.
    #[must_use]
    pub fn absolute(&self) -> String {
        let path = self.name.path();
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let member = self.name.member().map(|member| format!("!{member}")).unwrap_or_default();
        format!("{}{member}", path.display())
    }

    /// When it, or its archive, was last written, in nanoseconds since 1970; 0 where that is
    /// not known.
    #[must_use]
    pub fn modified_ns(&self) -> u64 {
        let modified = std::fs::metadata(self.name.path()).and_then(|found| found.modified());
        let since = modified.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    pub(crate) fn io(&self, source: io::Error) -> LoadError {
        let file = self.name.clone();
        let wrap = self.wrap;
        // what neither the system nor the bound said, a decompressor did
        let unpacking = source.raw_os_error().is_none()
            && source.kind() != io::ErrorKind::FileTooLarge
            && wrap != Wrap::None;
        if unpacking {
            LoadError::Unpack { file, wrap, source }
        } else {
            LoadError::Io { file, source }
        }
    }

    /// Whether any range can be read at no more than its own cost.
    pub(crate) fn is_plain(&self) -> bool {
        self.wrap == Wrap::None && !matches!(self.place, Place::Member { .. })
    }

    /// Runs a decoder; its panic becomes an error. Of 120,000 damaged Parquet files 234 made
    /// parquet 60.1 panic, in four places; a load must name the file, not end the process.
    pub(crate) fn guarded<T>(
        &self,
        decode: impl FnOnce() -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        // what the closure touched is dropped with the error
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(decode));
        outcome.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            let message = text.unwrap_or("no message").into();
            Err(LoadError::Panicked { file: self.name.clone(), message })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_names_the_file() {
        let file = InputFile {
            name: FileName::new(Path::new("x.parquet"), None),
            kind: Kind::Parquet,
            bytes: 0,
            place: Place::Path(Stamp { len: 0, modified: None }),
            wrap: Wrap::None,
            folders: Vec::new(),
        };
        let error = file.guarded(|| -> Result<(), _> { panic!("offset {} is odd", 7) });
        let text = error.unwrap_err().to_string();
        assert_eq!(text, "`x.parquet` broke its decoder: offset 7 is odd");
    }
}
