//! Folders and patterns: which paths they stand for, in which order.

use std::cmp::Ordering;
use std::fs;
use std::path::{Component, Path, PathBuf};

use glob::MatchOptions;

use super::{MAX_DEPTH, MAX_FILES, io_error};
use crate::error::LoadError;
use crate::meter::Meter;

/// Takes the files below a folder, in no order; what is passed over is counted.
pub(super) fn walk(
    folder: &Path,
    depth: usize,
    below: &mut Vec<PathBuf>,
    skipped: &mut usize,
    meter: &Meter,
) -> Result<(), LoadError> {
    if depth > MAX_DEPTH {
        return Err(LoadError::TooDeep { path: folder.into() });
    }
    for entry in fs::read_dir(folder).map_err(|e| io_error(folder, e))? {
        if meter.cancelled() {
            return Err(LoadError::Cancelled);
        }
        let entry = entry.map_err(|e| io_error(folder, e))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(|e| io_error(&path, e))?;
        if is_aside(&entry.file_name().to_string_lossy()) {
            *skipped += 1;
        } else if kind.is_dir() {
            walk(&path, depth + 1, below, skipped, meter)?;
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

/// Hidden, or beside the data: `_SUCCESS`, `_metadata`, `__MACOSX`.
pub(super) fn is_aside(name: &str) -> bool {
    name.starts_with('.') || name.starts_with('_') && !name.contains('=')
}

/// Whether a path that does not exist is meant as a pattern.
pub(crate) fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

/// What matches a pattern, in order; and the folder before its first wildcard.
///
/// # Errors
/// The pattern is none, or a folder cannot be read.
pub(super) fn matches(pattern: &Path, meter: &Meter) -> Result<(Vec<PathBuf>, PathBuf), LoadError> {
    let text = pattern.to_str().unwrap_or_default();
    let options = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: true,
    };
    let paths = glob::glob_with(text, options).map_err(|error| LoadError::Pattern {
        pattern: pattern.into(),
        place: error.pos,
        what: error.msg,
    })?;
    let mut found = Vec::new();
    for path in paths {
        if meter.cancelled() {
            return Err(LoadError::Cancelled);
        }
        found.push(path.map_err(|e| {
            let path = e.path().to_owned();
            io_error(&path, e.into())
        })?);
        if found.len() > MAX_FILES {
            return Err(LoadError::TooManyFiles { path: pattern.into() });
        }
    }
    found.sort_by(|a, b| natural(a, b));
    let literal = |part: &Component| !is_pattern(part.as_os_str().as_ref());
    Ok((found, pattern.components().take_while(literal).collect()))
}

/// Order of paths as people number them: folder by folder, `part-2` before `part-10`.
pub(super) fn natural(one: &Path, other: &Path) -> Ordering {
    let mut others = other.components();
    for part in one.components() {
        let Some(other) = others.next() else { return Ordering::Greater };
        let (a, b) = (part.as_os_str().to_string_lossy(), other.as_os_str().to_string_lossy());
        let order = natural_name(a.as_bytes(), b.as_bytes());
        if order != Ordering::Equal {
            return order;
        }
    }
    let shorter = if others.next().is_some() { Ordering::Less } else { Ordering::Equal };
    shorter.then_with(|| one.cmp(other))
}

fn natural_name(mut one: &[u8], mut other: &[u8]) -> Ordering {
    loop {
        let (Some(a), Some(b)) = (one.first(), other.first()) else {
            return one.len().cmp(&other.len());
        };
        if a.is_ascii_digit() && b.is_ascii_digit() {
            let (x, y) = (number(&mut one), number(&mut other));
            let order = x.len().cmp(&y.len()).then_with(|| x.cmp(y));
            if order != Ordering::Equal {
                return order;
            }
        } else if a == b {
            (one, other) = (&one[1..], &other[1..]);
        } else {
            return a.cmp(b);
        }
    }
}

/// Takes the digits at the front; gives them without leading zeros.
fn number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    let zeros = digits.iter().take_while(|b| **b == b'0').count();
    &digits[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_as_numbers() {
        let mut paths = ["b/1", "a/part-10", "a/part-9", "a/part-009", "a/part", "a.b", "a/x/1"];
        paths.sort_by(|a, b| natural(Path::new(a), Path::new(b)));
        let wanted = ["a/part", "a/part-009", "a/part-9", "a/part-10", "a/x/1", "a.b", "b/1"];
        assert_eq!(paths, wanted);
    }

    #[test]
    fn files_beside_the_data() {
        assert!([".x", "_SUCCESS", "_delta_log", "__MACOSX"].iter().all(|name| is_aside(name)));
        assert!(!["_k=1", "a_b", "x.csv"].iter().any(|name| is_aside(name)));
    }
}
