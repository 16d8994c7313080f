//! What is written comes back; rubbish is refused.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn sample() -> Manifest {
    let mut known = HashMap::new();
    let mut draft = Draft {
        schema: b"schema".to_vec(),
        num_columns: 2,
        partitions: vec![3, 4],
        statistics: vec![b"of the first".to_vec(), Vec::new()],
        ..Draft::default()
    };
    let a = draft.intern(&mut known, b"layout a".to_vec());
    let b = draft.intern(&mut known, b"b".to_vec());
    assert_eq!(draft.intern(&mut known, b"layout a".to_vec()), a);
    draft.columns = [(0, a), (1, a), (2, b), (2, a)]
        .map(|(chunk, layout)| ColumnRef { chunk, layout })
        .to_vec();
    let chunk = |i: u32| ChunkRef { entry: EntryId(i), length: 64, checksum: u64::from(i) };
    let reference = |i: u32| Reference {
        entry: EntryId(100 + i),
        generation: Generation(i),
        partitions: 2,
        chunks: 5,
        rows: 10,
        length: 4096,
        checksum: 77,
    };
    Manifest {
        references: (0..3).map(reference).collect(),
        draft,
        chunks: (0..3).map(chunk).collect(),
        version: 7,
        created_ns: 8,
    }
}

fn bytes(m: &Manifest) -> Vec<u8> {
    m.draft.check(m.chunks.len()).unwrap();
    encode(&m.draft, &m.references, &m.chunks, m.version, m.created_ns)
}

#[test]
fn a_manifest_comes_back() {
    let made = sample();
    let manifest = Manifest::decode(&bytes(&made)).unwrap();
    assert_eq!(manifest, made);
    assert_eq!(schema_of(&bytes(&made)).unwrap(), b"schema");
    assert_eq!(manifest.column(1, 0), Some(ColumnRef { chunk: 2, layout: 1 }));
    assert_eq!(manifest.column(0, 2), None);
    assert_eq!((manifest.num_rows(), manifest.num_partitions()), (37, 8));
    assert_eq!((manifest.statistics(0), manifest.statistics(1)), (&b"of the first"[..], &b""[..]));
}

#[test]
fn a_manifest_without_statistics_or_references_comes_back() {
    let mut made = sample();
    made.references.clear();
    made.draft.statistics.clear();
    let manifest = Manifest::decode(&bytes(&made)).unwrap();
    assert_eq!(manifest, made);
    assert!(manifest.statistics(1).is_empty());
}

#[test]
fn statistics_of_some_partitions_only_are_refused() {
    let mut made = sample();
    made.draft.statistics.pop();
    let refused = made.draft.check(made.chunks.len());
    assert!(matches!(refused, Err(ManifestError::Count { what: "statistics", .. })));
}

#[test]
fn a_manifest_of_another_layout_is_told_from_damage() {
    let mut bytes = bytes(&sample());
    bytes[4] = 1;
    let refused = Manifest::decode(&bytes);
    assert_eq!(refused, Err(ManifestError::Magic { magic: MAGIC, version: 1 }));
}

proptest! {
    #[test]
    fn rubbish_is_refused_or_sound(at in 0usize..600, to in any::<u8>(), cut in 0usize..600) {
        let mut bytes = bytes(&sample());
        let at = at % bytes.len();
        bytes[at] = to;
        let _ = Manifest::decode(&bytes[..cut.min(bytes.len())]);
        if let Ok(manifest) = Manifest::decode(&bytes) {
            manifest.draft.check(manifest.chunks.len()).unwrap();
        }
    }
}
