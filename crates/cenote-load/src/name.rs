//! What a frame is called that is loaded without a name.

use std::path::{Path, PathBuf};

use crate::discover::is_pattern;

/// Endings that are no part of a name, outermost first.
const COMPRESSED: [&str; 5] = ["gz", "zst", "bz2", "xz", "zip"];
const KINDS: [&str; 13] = [
    "parquet", "pq", "parq", "csv", "tsv", "txt", "json", "jsonl", "ndjson", "arrow", "arrows",
    "feather", "ipc",
];

/// The name of the one file or folder, without what says how it is stored. None: there are
/// several, or it has none, as a pattern and standard input have none.
#[must_use]
pub fn suggested_name(paths: &[PathBuf]) -> Option<String> {
    let [path] = paths else { return None };
    if path.as_os_str() == "-" || !path.exists() && is_pattern(path) {
        return None;
    }
    // `.` and `..` have a name, too, once they are looked up.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    let mut name = PathBuf::from(path.file_name()?);
    if !path.is_dir() {
        for endings in [&COMPRESSED[..], &KINDS[..]] {
            let ending = name.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
            if ending.is_some_and(|ending| endings.contains(&ending.as_str())) {
                name.set_extension("");
            }
        }
    }
    Path::to_str(&name).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_file() {
        for (path, name) in [
            ("/data/prices.parquet", Some("prices")),
            ("prices.CSV", Some("prices")),
            ("prices.csv.gz", Some("prices")),
            ("prices.jsonl.zst", Some("prices")),
            ("2024.01.zip", Some("2024.01")),
            ("2024.01", Some("2024.01")),
            ("prices", Some("prices")),
            ("-", None),
            ("ticks/*.csv", None),
        ] {
            assert_eq!(suggested_name(&[path.into()]).as_deref(), name, "{path}");
        }
        assert_eq!(suggested_name(&["a".into(), "b".into()]), None);
    }
}
