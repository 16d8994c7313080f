//! A table put in once, and what is done with it: `cargo run -p cenote --example quickstart`.
//!
//! The pool is this process's alone, so that the example leaves nothing behind. With
//! `Pool::connect(Options::default())` instead it is the user's default pool, and other
//! processes read the same bytes.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use cenote::{Frame, FrameRef, IfExists, Pool, Predicate, Selection, column};

/// A partition: one day of three symbols.
fn day(day: i32) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let days: ArrayRef = Arc::new(Int32Array::from(vec![day; 3]));
    let symbols: ArrayRef = Arc::new(StringArray::from(vec!["A", "B", "C"]));
    let close = [101.5, 48.25, 7.75].map(|price| price + f64::from(day));
    let close: ArrayRef = Arc::new(Float64Array::from(close.to_vec()));
    RecordBatch::try_from_iter([("day", days), ("symbol", symbols), ("close", close)])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = Pool::embedded(Some(64 << 20))?;

    // A partition a batch, copied once; durable when this returns.
    let days: Vec<RecordBatch> = (1..=5).map(day).collect::<Result<_, _>>()?;
    pool.put("prices", &days, IfExists::Fail)?;

    // Leased and read in place: no copy, no message.
    let prices = pool.get("prices")?;
    say(&prices);
    assert_eq!((prices.num_rows(), prices.num_partitions()), (15, 5));

    // Some columns, some rows: partitions that cannot have any are not looked at.
    let selection = Selection {
        columns: Some(vec!["symbol".to_owned(), "close".to_owned()]),
        predicate: Some(Predicate::parse("day >= 4 and symbol in ('A', 'C')")?),
        ..Selection::default()
    };
    let late = pool.get_selected("prices", &selection)?;
    say(&late);
    assert_eq!(late.num_rows(), 4);
    let dear = late.filter(&column("close").gt(100))?;
    assert_eq!(dear.num_rows(), 2);

    // A few hundred bytes that open the same rows in any process of the host.
    let reference = dear.reference().to_bytes();
    let again = pool.open(&FrameRef::from_bytes(&reference)?)?;
    assert_eq!(again.batches()?, dear.batches()?);

    // A new version; who reads the old one goes on.
    let mut writer = pool.writer("prices", days[0].schema(), IfExists::Replace)?;
    writer.write(&day(6)?)?;
    let version = writer.commit()?;
    assert_eq!((version, pool.get("prices")?.num_rows(), prices.num_rows()), (2, 3, 15));

    pool.rename("prices", "daily")?;
    for frame in pool.frames()? {
        assert_eq!((frame.name.as_str(), frame.version), ("daily", 2));
    }
    assert_eq!(pool.leases()?.len(), 1, "this process reads");
    pool.drop_frame("daily")?;
    assert_eq!(pool.info()?.frames, 0);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example speaks to whoever runs it")]
fn say(frame: &Frame) {
    println!("{}\n", frame.explain());
}
