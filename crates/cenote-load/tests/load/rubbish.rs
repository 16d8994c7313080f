//! Damaged files give errors or tables, never a panic, an abort or a hang.

use cenote_load::{LoadError, Options};
use proptest::prelude::*;

use crate::parquet_files::{parquet, sample};
use crate::{folder, load};

/// Loads one damaged file. What it says must name the file; what it gives must be sound.
fn survives(name: &str, content: &[u8]) -> Result<(), LoadError> {
    let folder = folder(&[(name, content)]);
    let options = Options { batch_rows: 64, ..Options::default() };
    match load(&[folder.path().join(name)], &options) {
        Ok(batch) => {
            for column in batch.columns() {
                column.to_data().validate_full().unwrap();
            }
            Ok(())
        }
        Err(error) => {
            assert!(error.to_string().contains(name), "{error}");
            Err(error)
        }
    }
}

/// Every truncation of a small file.
#[test]
fn truncated_parquet() {
    let whole = parquet(&sample(50), 30);
    for length in 1..whole.len() {
        survives("x.parquet", &whole[..length]).unwrap_err();
    }
}

/// The footer kept, the middle cut out: offsets point past the end.
#[test]
fn parquet_with_a_hole() {
    let whole = parquet(&sample(500), 100);
    for start in (4..whole.len() - 8).step_by(97) {
        let end = (start + 500).min(whole.len() - 8);
        let holed = [&whole[..start], &whole[end..]].concat();
        drop(survives("x.parquet", &holed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn mutated_parquet(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = parquet(&sample(200), 70);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        drop(survives("x.parquet", &bytes));
    }

    /// Damage where it hurts most.
    #[test]
    fn mutated_parquet_footer(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = parquet(&sample(200), 70);
        let length = bytes.len();
        let footer = u32::from_le_bytes(bytes[length - 8..length - 4].try_into().unwrap()) as usize;
        for (at, value) in changes {
            bytes[length - 8 - footer + at.index(footer + 4)] = value;
        }
        drop(survives("x.parquet", &bytes));
    }

    #[test]
    fn mutated_arrow(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let batch = sample(200);
        let mut writer = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        let mut bytes = writer.into_inner().unwrap();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        drop(survives("x.arrow", &bytes));
    }

    #[test]
    fn rubbish_as_csv(content in proptest::collection::vec(prop_oneof![
        any::<u8>(), Just(b','), Just(b'\n'), Just(b'\r'), Just(b'"'), Just(b'1'), Just(b'a')
    ], 1..200)) {
        drop(survives("x.csv", &content));
        drop(survives("x.csv.gz", &content));
        drop(survives("x.zip", &content));
        drop(survives("x.jsonl", &content));
        drop(survives("x.arrow", &content));
    }
}
