//! Which files the paths name, and what each of them holds.
//!
//! The content decides: `PAR1` is Parquet, `1f 8b` gzip, and `PK` a zip archive where the
//! file was named or is called `.zip`. After that the extension decides: `.csv`, `.tsv`,
//! `.parquet`, `.parq`, `.pq`, each also before `.gz`. A file that was *named* and is
//! neither is CSV if it is text; one that was *found* in a folder or an archive is skipped.
//! Hidden files, `__MACOSX` and empty files are skipped too. Links to files are followed,
//! links to folders are not.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::LoadError;
use crate::file::{Archive, FileName, InputFile, Kind, Stamp, Storage};

/// Most files that one load takes; above, the folder is hardly the one that was meant.
pub const MAX_FILES: usize = 1 << 20;

/// Deepest folder below one that was named.
pub const MAX_DEPTH: usize = 32;

/// Bytes that are looked at to tell text from other content.
const SNIFFED_BYTES: u64 = 4096;

/// All files, of one kind, in order: paths as given, within a folder sorted by path.
pub(crate) fn discover(paths: &[PathBuf]) -> Result<Vec<InputFile>, LoadError> {
    let mut found = Found::default();
    for path in paths {
        let metadata = fs::metadata(path).map_err(|e| io_error(path, e))?;
        if metadata.is_dir() {
            let mut below = Vec::new();
            walk(path, 0, &mut below, &mut found.skipped)?;
            below.sort();
            for file in &below {
                found.add(file, false)?;
            }
        } else if metadata.is_file() {
            found.add(path, true)?;
        } else {
            return Err(LoadError::NotAFile { path: path.clone() });
        }
    }
    let Some(first) = found.files.first() else {
        let path = paths.first().cloned().unwrap_or_default();
        return Err(LoadError::NothingToLoad { path, skipped: found.skipped });
    };
    match found.files.iter().find(|file| file.kind != first.kind) {
        None => Ok(found.files),
        Some(other) => Err(LoadError::MixedKinds {
            first: first.name.clone(),
            first_kind: first.kind,
            second: other.name.clone(),
            second_kind: other.kind,
        }),
    }
}

fn io_error(path: &Path, source: io::Error) -> LoadError {
    LoadError::Io { file: FileName::new(path, None), source }
}

fn walk(
    folder: &Path,
    depth: usize,
    below: &mut Vec<PathBuf>,
    skipped: &mut usize,
) -> Result<(), LoadError> {
    if depth > MAX_DEPTH {
        return Err(LoadError::TooDeep { path: folder.into() });
    }
    for entry in fs::read_dir(folder).map_err(|e| io_error(folder, e))? {
        let entry = entry.map_err(|e| io_error(folder, e))?;
        let path = entry.path();
        let hidden = is_hidden(&entry.file_name().to_string_lossy());
        let kind = entry.file_type().map_err(|e| io_error(&path, e))?;
        if hidden {
            *skipped += 1;
        } else if kind.is_dir() {
            walk(&path, depth + 1, below, skipped)?;
        } else if kind.is_file() || fs::metadata(&path).is_ok_and(|target| target.is_file()) {
            below.push(path);
        } else {
            *skipped += 1;
        }
        if below.len() > MAX_FILES {
            return Err(LoadError::TooManyFiles { path: folder.into() });
        }
    }
    Ok(())
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || name == "__MACOSX"
}

#[derive(Debug, Default)]
struct Found {
    files: Vec<InputFile>,
    skipped: usize,
}

impl Found {
    fn add(&mut self, path: &Path, named: bool) -> Result<(), LoadError> {
        let metadata = fs::metadata(path).map_err(|e| io_error(path, e))?;
        let name = FileName::new(path, None);
        let bytes = metadata.len();
        if bytes == 0 && !named {
            self.skipped += 1;
            return Ok(());
        }
        if bytes == 0 {
            return Err(LoadError::Empty { file: name });
        }
        let stamp = Stamp::new(&metadata);
        let mut file = InputFile { name, kind: Kind::Csv, bytes, storage: Storage::Plain(stamp) };
        let mut head = sniff(&file)?;
        let extension = Extension::of(path);
        if extension == Extension::Zip || named && is_zip(&head) {
            return self.add_archive(path);
        }
        if head.starts_with(&[0x1f, 0x8b]) {
            file.storage = Storage::Gzip(stamp);
            head = sniff(&file)?;
        }
        self.push(file, &head, extension, named)
    }

    fn push(
        &mut self,
        mut file: InputFile,
        head: &[u8],
        extension: Extension,
        named: bool,
    ) -> Result<(), LoadError> {
        let kind = if head.starts_with(b"PAR1") { Extension::Parquet } else { extension };
        file.kind = match kind {
            Extension::Parquet => Kind::Parquet,
            Extension::Csv => Kind::Csv,
            _ if named && (!head.contains(&0) || is_utf16(head)) => Kind::Csv,
            _ if named => return Err(LoadError::UnknownKind { file: file.name }),
            _ => {
                self.skipped += 1;
                return Ok(());
            }
        };
        if self.files.len() == MAX_FILES {
            return Err(LoadError::TooManyFiles { path: file.name.path().into() });
        }
        self.files.push(file);
        Ok(())
    }

    fn add_archive(&mut self, path: &Path) -> Result<(), LoadError> {
        let fault = |source| LoadError::Archive { path: path.into(), source };
        let archive = Archive::open(path)?;
        let mut members = Vec::new();
        for index in 0..archive.0.len() {
            let member = archive.0.by_index_data(index).map_err(|e| fault(e.into()))?;
            let name = member.name().map_err(|e| fault(e.into()))?.into_owned();
            if member.is_dir() {
                continue;
            }
            if member.size() == 0 || name.split('/').any(is_hidden) {
                self.skipped += 1;
                continue;
            }
            members.push((name, index, member.compressed_size()));
        }
        members.sort();
        for (member, index, bytes) in members {
            let extension = Extension::of(Path::new(&member));
            let file = InputFile {
                name: FileName::new(path, Some(member)),
                kind: Kind::Csv,
                bytes,
                storage: Storage::Member { archive: archive.clone(), index },
            };
            let head = sniff(&file)?;
            self.push(file, &head, extension, false)?;
        }
        Ok(())
    }
}

fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

pub(crate) fn is_utf16(head: &[u8]) -> bool {
    head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff])
}

fn sniff(file: &InputFile) -> Result<Vec<u8>, LoadError> {
    let mut head = Vec::new();
    file.with_bytes(0, |reader| {
        reader.take(SNIFFED_BYTES).read_to_end(&mut head).map_err(|e| file.io(e))
    })?;
    Ok(head)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extension {
    Csv,
    Parquet,
    Zip,
    Other,
}

impl Extension {
    fn of(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "csv" | "tsv" => Self::Csv,
            "parquet" | "parq" | "pq" => Self::Parquet,
            "zip" => Self::Zip,
            _ => Self::Other,
        }
    }
}
