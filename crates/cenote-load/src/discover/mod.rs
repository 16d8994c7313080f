//! Which files the paths name, and what each of them holds.
//!
//! A path that exists is what it is; else one with `*`, `?` or `[` is a pattern; `-` is
//! standard input. The content decides what a file holds ([`kind`]), under what it is
//! compressed with; then its ending; [`Options::format`] overrides both. A file that was
//! *named* and is unknown text is CSV or JSON lines, unless its ending says something else; one that was *found* in a folder, an
//! archive or by a pattern is skipped. Hidden files, those that begin with `_`, and empty
//! ones are skipped too, and all that is skipped is counted. Links to files are followed,
//! links to folders are not.

mod kind;
mod standard_input;
mod walk;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::LoadError;
use crate::file::{FileName, InputFile, Kind, Stamp};
use crate::meter::Meter;
use crate::options::Options;
use crate::storage::{Archive, Place, Wrap};

use kind::{Seen, is_zip, may_be_table, of_text, seen};
pub(crate) use walk::is_pattern;
use walk::{is_aside, matches, natural, walk};

/// Most files that one load takes; above, the folder is hardly the one that was meant.
pub const MAX_FILES: usize = 1 << 20;

/// Deepest folder below one that was named.
pub const MAX_DEPTH: usize = 32;

/// Bytes that are looked at to tell what a file holds.
const SNIFFED_BYTES: u64 = 4096;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// At least one; all of one kind; paths as given, within a folder in natural order.
    pub(crate) files: Vec<InputFile>,
    pub(crate) skipped: usize,
    format: Option<Kind>,
}

/// All files that the paths name.
pub(crate) fn discover(
    paths: &[PathBuf],
    options: &Options,
    meter: &Meter,
) -> Result<Found, LoadError> {
    let mut found = Found { format: options.format, ..Found::default() };
    for path in paths {
        if path.as_os_str() == "-" {
            let file = standard_input::spooled(meter)?;
            found.add_plain(file, true)?;
            continue;
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => found.add_folder(path, path, meter)?,
            Ok(metadata) if metadata.is_file() => found.add(path, None, meter)?,
            Ok(_) => return Err(LoadError::NotAFile { path: path.clone() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_pattern(path) => {
                let (matching, above) = matches(path, meter)?;
                if matching.is_empty() {
                    return Err(LoadError::NoMatch { pattern: path.clone() });
                }
                // what is below a folder matches `**` by itself
                let everywhere = path.components().any(|part| part.as_os_str() == "**");
                for path in &matching {
                    match path.is_dir() {
                        true if everywhere => {}
                        true => found.add_folder(path, &above, meter)?,
                        false => found.add(path, Some(&above), meter)?,
                    }
                }
            }
            Err(error) => return Err(io_error(path, error)),
        }
    }
    let Some(first) = found.files.first() else {
        let path = paths.first().cloned().unwrap_or_default();
        return Err(LoadError::NothingToLoad { path, skipped: found.skipped });
    };
    match found.files.iter().find(|file| file.kind != first.kind) {
        None => Ok(found),
        Some(other) => Err(LoadError::MixedKinds {
            first: first.name.clone(),
            first_kind: first.kind,
            second: other.name.clone(),
            second_kind: other.kind,
        }),
    }
}

pub(super) fn io_error(path: &Path, source: io::Error) -> LoadError {
    LoadError::Io { file: FileName::new(path, None), source }
}

/// The folders between one that was named and a file below it.
fn folders(above: &Path, path: &Path) -> Vec<String> {
    let parent = path.parent().unwrap_or(Path::new(""));
    let between = parent.strip_prefix(above).unwrap_or(Path::new(""));
    between.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
}

impl Found {
    fn add_folder(&mut self, path: &Path, above: &Path, meter: &Meter) -> Result<(), LoadError> {
        let mut below = Vec::new();
        walk(path, 0, &mut below, &mut self.skipped, meter)?;
        below.sort_by(|a, b| natural(a, b));
        below.iter().try_for_each(|file| self.add(file, Some(above), meter))
    }

    /// A file: named, or found below a folder.
    fn add(&mut self, path: &Path, above: Option<&Path>, meter: &Meter) -> Result<(), LoadError> {
        if meter.cancelled() {
            return Err(LoadError::Cancelled);
        }
        let metadata = fs::metadata(path).map_err(|e| io_error(path, e))?;
        let file = InputFile {
            name: FileName::new(path, None),
            kind: Kind::Csv,
            bytes: metadata.len(),
            place: Place::Path(Stamp::new(&metadata)),
            wrap: Wrap::None,
            folders: above.map(|above| folders(above, path)).unwrap_or_default(),
        };
        if file.bytes == 0 && above.is_some() {
            self.skipped += 1;
            return Ok(());
        }
        self.add_plain(file, above.is_none())
    }

    fn add_plain(&mut self, file: InputFile, named: bool) -> Result<(), LoadError> {
        if file.bytes == 0 {
            return Err(LoadError::Empty { file: file.name });
        }
        let head = sniff(&file)?;
        let on_path = matches!(file.place, Place::Path(_));
        if on_path && (file.name.stem().ends_with(".zip") || named && is_zip(&head)) {
            return self.add_archive(&file);
        }
        self.unwrap(file, head, named)
    }

    fn unwrap(
        &mut self,
        mut file: InputFile,
        mut head: Vec<u8>,
        named: bool,
    ) -> Result<(), LoadError> {
        file.wrap = Wrap::of(&head);
        if file.wrap != Wrap::None {
            head = sniff(&file)?;
        }
        file.kind = match (self.format, seen(&head, &file.name.stem())) {
            (Some(kind), _) | (None, Seen::Known(kind)) => kind,
            (None, Seen::Text) if named && may_be_table(&file.name.stem()) => of_text(&head),
            (None, Seen::Text) if named => {
                return Err(LoadError::UnknownEnding { file: file.name });
            }
            (None, Seen::Other(what, way_out)) if named => {
                return Err(LoadError::OtherFormat { file: file.name, what, way_out });
            }
            (None, Seen::Unknown) if named => {
                return Err(LoadError::UnknownKind { file: file.name });
            }
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

    fn add_archive(&mut self, file: &InputFile) -> Result<(), LoadError> {
        let path = file.name.path();
        let fault = |source| LoadError::Archive { path: path.into(), source };
        let archive = Archive::open(path)?;
        let mut members = Vec::new();
        for index in 0..archive.0.len() {
            let member = archive.0.by_index_data(index).map_err(|e| fault(e.into()))?;
            let name = member.name().map_err(|e| fault(e.into()))?.into_owned();
            if member.is_dir() {
                continue;
            }
            if member.size() == 0 || name.split('/').any(is_aside) {
                self.skipped += 1;
                continue;
            }
            members.push((PathBuf::from(name), index, member.compressed_size()));
        }
        members.sort_by(|(a, ..), (b, ..)| natural(a, b));
        for (member, index, bytes) in members {
            let mut within = file.folders.clone();
            within.extend(folders(Path::new(""), &member));
            let member = InputFile {
                name: FileName::new(path, Some(member.to_string_lossy().into_owned())),
                bytes,
                place: Place::Member { archive: archive.clone(), index },
                folders: within,
                ..file.clone()
            };
            let head = sniff(&member)?;
            self.unwrap(member, head, false)?;
        }
        Ok(())
    }
}

fn sniff(file: &InputFile) -> Result<Vec<u8>, LoadError> {
    let mut head = Vec::new();
    file.with_bytes(0, |reader| {
        reader.take(SNIFFED_BYTES).read_to_end(&mut head).map_err(|e| file.io(e))
    })?;
    Ok(head)
}
