//! Bytes that hardly anybody would write, for as long as `CENOTE_FUZZ_SECONDS` says (2).
//!
//! Nothing may panic; threads and batches may not show; and where arrow-csv takes a text under
//! the schema that was found, its values are the oracle.

use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_csv::ReaderBuilder;
use arrow_select::concat::concat_batches;
use cenote_load::{LoadError, Meter, Options, Source};

use crate::folder;

const SEEDS: [&str; 6] = [
    "date,open,volume,Name\n2013-02-08,15.07,8407500,AAL\n2013-02-11,,9,\"A,L\"\n",
    "a,b\r\n1,\"x\r\ny\"\r\n-2.5e-3,\"say \"\"no\"\"\"\r\n",
    "n\n1\n\n22\n9223372036854775807\n9223372036854775808\n",
    "t,z\n2013-02-08 09:30:00.123,2013-02-08T09:30:00Z\n0001-01-01,2013-02-08T09:30:00+01:00\n",
    "\u{feff}b,\u{e9}\ntrue,NaN\nFALSE,-inf\n,.5\n",
    "i,f\n007,1.\n+1, 5 \n-0,1e400\n0,0.1\n",
];

/// Bytes that mean something to somebody.
const SPECIAL: &[u8] = b",\"\"\r\n\n;\t0019-+.eE :TZ\\#\xff\xe9\xc3\x00";

/// Marsaglia's xorshift: what it gives depends on the seed alone.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % limit.max(1)
    }

    fn text(&mut self) -> Vec<u8> {
        let mut text = SEEDS[self.below(SEEDS.len())].as_bytes().to_vec();
        for _ in 0..self.below(4) {
            // the records once more, so that a block holds many
            let body = text.iter().position(|&b| b == b'\n').map_or(0, |at| at + 1);
            let again = text[body..].to_vec();
            text.extend(again.repeat(1 + self.below(5)));
        }
        for _ in 0..self.below(6) {
            let at = self.below(text.len() + 1);
            let end = (at + self.below(12)).min(text.len());
            match self.below(5) {
                0 => drop(text.drain(at..end)),
                1 => text.insert(at, SPECIAL[self.below(SPECIAL.len())]),
                2 if at < text.len() => text[at] = SPECIAL[self.below(SPECIAL.len())],
                3 => {
                    let copied = text[at..end].to_vec();
                    let to = self.below(text.len() + 1);
                    text.splice(to..to, copied);
                }
                _ if at < text.len() => text[at] ^= 1 << self.below(8),
                _ => {}
            }
        }
        text
    }
}

fn read(path: &std::path::Path, options: &Options) -> Result<RecordBatch, LoadError> {
    let source = Source::begin(&[path.to_path_buf()], options, &Meter::new())?;
    source.load(|schema, batches| {
        let batches = batches.collect::<Result<Vec<_>, _>>()?;
        Ok(concat_batches(&schema, &batches).unwrap())
    })
}

/// What arrow-csv makes of a text under a schema.
fn oracle(text: &[u8], batch: &RecordBatch) -> Option<RecordBatch> {
    let builder = ReaderBuilder::new(batch.schema()).with_header(true);
    let reader = builder.with_batch_size(1 << 16).build_buffered(text).ok()?;
    let batches = reader.collect::<Result<Vec<_>, _>>().ok()?;
    concat_batches(&batch.schema(), &batches).ok()
}

#[test]
fn mutated_csv() {
    let seconds = std::env::var("CENOTE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let ends = Instant::now() + Duration::from_secs(seconds.unwrap_or(2));
    let seed = std::env::var("CENOTE_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()) << 20 | 1);
    println!("CENOTE_SEED={seed}");
    let (folder, mut random) = (folder(&[]), Random(seed));
    let path = folder.path().join("x.csv");
    let (mut texts, mut taken, mut compared) = (0, 0, 0);
    while Instant::now() < ends || texts < 200 {
        let text = random.text();
        if text.is_empty() {
            continue;
        }
        std::fs::write(&path, &text).unwrap();
        let plain = Options { delimiter: Some(b','), ..Options::default() };
        let found = read(&path, &plain);
        texts += 1;
        let threads = NonZero::new(1 + random.below(4));
        let other = read(&path, &Options { threads, batch_rows: 1 + random.below(9), ..plain });
        let shown = String::from_utf8_lossy(&text);
        match (found, other) {
            (Ok(batch), Ok(other)) => {
                assert_eq!(batch, other, "{shown:?}");
                for column in batch.columns() {
                    column.to_data().validate_full().unwrap();
                }
                taken += 1;
                if let Some(wanted) =
                    oracle(&text, &batch).filter(|b| b.num_rows() == batch.num_rows())
                {
                    let batch = batch.with_schema(Arc::clone(&wanted.schema())).unwrap();
                    assert_eq!(batch, wanted, "{shown:?}");
                    compared += 1;
                }
            }
            (Err(error), Err(other)) => {
                assert_eq!(error.to_string(), other.to_string(), "{shown:?}");
                assert!(!matches!(error, LoadError::Panicked { .. }), "{error} {shown:?}");
                assert!(error.to_string().contains("x.csv"), "{error} {shown:?}");
            }
            (found, other) => panic!("{found:?} and {other:?}: {shown:?}"),
        }
    }
    println!("{texts} texts, {taken} taken, {compared} compared");
    assert!(taken > texts / 5 && compared > taken / 4, "{texts} {taken} {compared}");
}
