//! More of a frame: what a new version has of the one before.
//!
//! The client sends its new partitions alone. The pool refers to the parts that there are, or
//! takes the last ones into the new version's own part (see [`inherit`]): it reads their
//! manifests, and copies what they say of their partitions.

use std::collections::HashMap;

use super::Core;
use super::open::load_manifest;
use crate::manifest::{ChunkRef, Draft};
use crate::message::{Commit, Refusal};
use crate::protocol::ledger::{Inherited, inherit};

/// What a version to be committed has of the one before.
#[derive(Debug, Default)]
pub(super) struct Base {
    pub(super) inherited: Inherited,
    /// The chunks that `inherited` names.
    pub(super) chunks: Vec<ChunkRef>,
    /// Their partitions.
    pub(super) own: Gathered,
    /// Chunks of the version before.
    pub(super) num_chunks: u64,
}

/// What `commit` goes on from; `None`: the name is new.
///
/// # Errors
/// [`Refusal::Schema`]; [`Refusal::Lost`]: what was there cannot be gone on from.
pub(super) fn base_of(core: &Core, commit: &Commit) -> Result<Option<Base>, Refusal> {
    let name = &commit.name;
    let Some(version) = core.ledger.get(name) else {
        let lost = core.lost.iter().rev().find(|((lost, _), _)| lost == name);
        return match lost {
            Some(((name, version), (_, reason))) => {
                let (name, reason) = (name.clone(), reason.clone());
                Err(Refusal::Lost { name, version: *version, reason })
            }
            None => Ok(None),
        };
    };
    let same = cenote_region::copy::hash(&commit.draft.schema) == version.schema
        && commit.draft.num_columns == version.row.num_columns;
    if !same {
        return Err(Refusal::Schema { name: name.clone(), version: version.row.version });
    }
    let mut references = version.as_references();
    let kept = inherit(&references, commit.draft.partitions.len() as u64);
    let mut base = Base { num_chunks: version.num_chunks, ..Base::default() };
    for taken in &references[kept..] {
        let location = core.ledger.version(taken.entry, taken.generation).map(|v| v.location);
        let lost = |reason: String| Refusal::Lost {
            name: name.clone(),
            version: version.row.version,
            reason,
        };
        let location = location.ok_or_else(|| lost("a part of it is gone".to_owned()))?;
        let manifest = load_manifest(&core.estate.space, &location).map_err(lost)?;
        base.own.add(manifest.draft, base.chunks.len());
        base.inherited.chunks.extend(manifest.chunks.iter().map(|chunk| chunk.entry));
        base.chunks.extend(manifest.chunks);
    }
    references.truncate(kept);
    base.inherited.references = references;
    Ok(Some(base))
}

/// Own parts, one after the other, as one.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    draft: Draft,
    layouts: HashMap<Vec<u8>, u32>,
    has_statistics: bool,
}

impl Gathered {
    /// Adds a part whose chunks come after `chunks` others.
    pub(super) fn add(&mut self, part: Draft, chunks: usize) {
        self.has_statistics |= !part.statistics.is_empty();
        if self.draft.partitions.is_empty() && self.layouts.is_empty() {
            // The only part, most of the time.
            self.draft = part;
            return;
        }
        self.index();
        let first = u32::try_from(chunks).unwrap_or(u32::MAX);
        let Draft { schema, num_columns, partitions, columns, layouts, statistics } = part;
        (self.draft.schema, self.draft.num_columns) = (schema, num_columns);
        let numbers: Vec<u32> =
            layouts.into_iter().map(|l| self.draft.intern(&mut self.layouts, l)).collect();
        self.draft.columns.extend(columns.into_iter().map(|mut column| {
            column.chunk = column.chunk.saturating_add(first);
            column.layout = numbers.get(column.layout as usize).copied().unwrap_or(u32::MAX);
            column
        }));
        self.draft.statistics.resize(self.draft.partitions.len(), Vec::new());
        self.draft.partitions.extend(partitions);
        self.draft.statistics.extend(statistics);
        self.draft.statistics.resize(self.draft.partitions.len(), Vec::new());
    }

    fn index(&mut self) {
        if self.layouts.is_empty() {
            let layouts = self.draft.layouts.iter().zip(0..);
            self.layouts = layouts.map(|(layout, i)| (layout.clone(), i)).collect();
        }
    }

    pub(super) fn finish(mut self) -> Draft {
        if !self.has_statistics {
            self.draft.statistics.clear();
        }
        self.draft
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::ColumnRef;

    fn part(rows: &[u64], layout: &[u8], statistics: &[&[u8]]) -> Draft {
        let columns =
            (0..rows.len()).map(|i| ColumnRef { chunk: u32::try_from(i).unwrap(), layout: 0 });
        Draft {
            schema: b"schema".to_vec(),
            num_columns: 1,
            partitions: rows.to_vec(),
            columns: columns.collect(),
            layouts: vec![layout.to_vec()],
            statistics: statistics.iter().map(|s| s.to_vec()).collect(),
        }
    }

    #[test]
    fn parts_become_one_with_their_chunks_layouts_and_statistics() {
        let mut all = Gathered::default();
        all.add(part(&[1, 2], b"x", &[]), 0);
        all.add(part(&[3], b"y", &[b"three"]), 2);
        all.add(part(&[4], b"x", &[]), 3);
        let draft = all.finish();
        draft.check(4).unwrap();
        assert_eq!(draft.partitions, [1, 2, 3, 4]);
        let columns: Vec<_> = draft.columns.iter().map(|c| (c.chunk, c.layout)).collect();
        assert_eq!(columns, [(0, 0), (1, 0), (2, 1), (3, 0)]);
        assert_eq!(draft.layouts, [b"x", b"y"]);
        assert_eq!(draft.statistics, [&b""[..], b"", b"three", b""]);
    }

    #[test]
    fn a_part_alone_stays_as_it_is() {
        for statistics in [&[][..], &[&b"one"[..]][..]] {
            let mut all = Gathered::default();
            let alone = part(&[1], b"x", statistics);
            all.add(alone.clone(), 0);
            assert_eq!(all.finish(), alone);
        }
    }
}
