//! What a frame is called, and where it says that it comes from.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Longest note of where a frame comes from.
const SOURCE_BYTES_MAX: usize = 4096;
/// Endings that are no part of a name, outermost first.
const COMPRESSED: [&str; 5] = ["gz", "zst", "bz2", "xz", "zip"];
const KINDS: [&str; 13] = [
    "parquet", "pq", "parq", "csv", "tsv", "txt", "json", "jsonl", "ndjson", "arrow", "arrows",
    "feather", "ipc",
];

/// The name the user gave, or that of the one path.
///
/// # Errors
/// There are several paths, or the one has no name.
pub(crate) fn of_frame(given: Option<&str>, paths: &[PathBuf]) -> Result<String, Failure> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let [path] = paths else {
        return Err(Failure::usage("several paths have no one name").hint("--name NAME gives one"));
    };
    if path.as_os_str() == "-" {
        return Err(Failure::usage("standard input has no name").hint("--name NAME gives one"));
    }
    if !path.exists() && path.to_string_lossy().contains(['*', '?', '[']) {
        return Err(Failure::usage("a pattern has no name").hint("--name NAME gives one"));
    }
    // `.` and `..` have a name, too, once they are looked up.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    let name = if path.is_dir() {
        path.file_name().map(Path::new).map(Path::to_path_buf)
    } else {
        stem(&path)
    };
    match name.as_deref().and_then(Path::to_str) {
        Some(name) => Ok(name.to_owned()),
        None => {
            Err(Failure::usage(format!("{} has no name that a frame could have", path.display()))
                .hint("--name NAME gives one"))
        }
    }
}

/// A file's name without what says how it is stored.
fn stem(path: &Path) -> Option<PathBuf> {
    let mut name = PathBuf::from(path.file_name()?);
    for endings in [&COMPRESSED[..], &KINDS[..]] {
        let ending = name.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        if ending.is_some_and(|ending| endings.contains(&ending.as_str())) {
            name.set_extension("");
        }
    }
    Some(name)
}

/// The paths, absolute, as the frame's source.
pub(crate) fn of_source(paths: &[PathBuf]) -> String {
    let absolute = |path: &PathBuf| {
        if path.as_os_str() == "-" {
            return "standard input".to_owned();
        }
        std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
    };
    let mut text = paths.iter().map(absolute).collect::<Vec<_>>().join(", ");
    if text.len() > SOURCE_BYTES_MAX {
        let whole = |end: &usize| text.is_char_boundary(*end);
        text.truncate((0..=SOURCE_BYTES_MAX).rev().find(whole).unwrap_or(0));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_file() {
        for (path, name) in [
            ("/data/prices.parquet", "prices"),
            ("prices.CSV", "prices"),
            ("prices.csv.gz", "prices"),
            ("prices.jsonl.zst", "prices"),
            ("2024.01.zip", "2024.01"),
            ("2024.01", "2024.01"),
            ("prices", "prices"),
        ] {
            assert_eq!(of_frame(None, &[path.into()]).unwrap(), name, "{path}");
        }
    }

    #[test]
    fn several_paths_need_a_name() {
        assert!(of_frame(None, &["a".into(), "b".into()]).is_err());
        assert!(of_frame(None, &["-".into()]).is_err());
        assert!(of_frame(None, &["ticks/*.csv".into()]).is_err());
        assert_eq!(of_frame(Some("c"), &["a".into(), "b".into()]).unwrap(), "c");
    }

    #[test]
    fn the_source_is_bounded() {
        let paths = vec![PathBuf::from(format!("/{}", "é".repeat(100))); 100];
        assert!(of_source(&paths).len() <= SOURCE_BYTES_MAX + "…".len());
    }
}
