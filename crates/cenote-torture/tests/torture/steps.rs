//! That the sweeps looked: every step that the sources name was the end of some process.

use std::collections::BTreeSet;
use std::path::Path;

/// Steps that no test ends a process at, and why.
const NOT_SWEPT: [(&str, &str); 0] = [];

/// The steps that are named in the sources.
pub(crate) fn in_the_sources() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = BTreeSet::new();
    let mut files = 0;
    for source in ["cenote-pool/src", "cenote/src"] {
        look(&crates.join(source), &mut found, &mut files);
    }
    assert!(files > 40 && found.len() > 30, "{files} files, {} steps", found.len());
    found
}

fn look(path: &Path, found: &mut BTreeSet<String>, files: &mut u32) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            look(&entry.unwrap().path(), found, files);
        }
    } else if path.extension().is_some_and(|e| e == "rs") {
        *files += 1;
        let text = std::fs::read_to_string(path).unwrap();
        for call in ["reach(\"", ".step(\""] {
            let names = text.split(call).skip(1).filter_map(|rest| rest.split_once('"'));
            found.extend(names.map(|(name, _)| name.to_owned()));
        }
    }
}

/// To be called when all sweeps are done.
pub(crate) fn all_were_swept(hits: &std::collections::BTreeMap<String, (u64, u64)>) {
    let all = in_the_sources();
    for name in hits.keys() {
        assert!(all.contains(name), "{name} is not in the sources");
    }
    let mut missing = Vec::new();
    for name in &all {
        let excused = NOT_SWEPT.iter().any(|(excused, _)| excused == name);
        let (killed, stopped) = hits.get(name).copied().unwrap_or_default();
        if !excused && (killed == 0 || stopped == 0) {
            missing.push(format!("{name}: {killed} killed, {stopped} stopped"));
        }
    }
    let (kills, stops) = hits.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    eprintln!("{} steps: {kills} kills, {stops} stops", all.len());
    assert!(missing.is_empty(), "not swept: {missing:?}");
    assert!(kills + stops > 150, "{kills} kills, {stops} stops");
}
