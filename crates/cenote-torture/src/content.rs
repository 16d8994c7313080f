//! Tables that say themselves what they must hold.
//!
//! A table is made from its name and a counter. Each row carries both, its own number, the
//! number of rows, a value mixed of them, a text that repeats it, and a check over all: so
//! a byte of another table, of another version of the same one, or of nothing is found.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt64Array};

use crate::chance::mix;

/// How large a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// No row.
    Empty,
    /// A few rows: all columns in one chunk.
    Small,
    /// A chunk a column.
    Middle,
    /// Two partitions with page-aligned chunks, about 1.3 MB.
    Large,
    /// About 13 MB.
    Huge,
}

impl Size {
    /// By its letter, `e`, `s`, `m`, `l` or `h`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Size> {
        Some(match text {
            "e" => Size::Empty,
            "s" => Size::Small,
            "m" => Size::Middle,
            "l" => Size::Large,
            "h" => Size::Huge,
            _ => return None,
        })
    }

    /// Rows of each partition.
    #[must_use]
    pub fn partitions(self) -> &'static [u64] {
        match self {
            Size::Empty => &[0],
            Size::Small => &[7],
            Size::Middle => &[2000],
            Size::Large => &[10_000, 9_000],
            Size::Huge => &[100_000, 1, 99_000],
        }
    }
}

/// The name that a table was made for: a renamed one has `~` behind it.
fn origin(name: &str) -> u64 {
    cenote_region::copy::hash(name.trim_end_matches('~').as_bytes())
}

fn value(origin: u64, counter: u64, row: u64, rows: u64) -> u64 {
    mix(origin ^ mix(counter ^ mix(row ^ mix(rows))))
}

fn text(row: u64, value: u64) -> String {
    format!("{row}:{value:x}:{}", "x".repeat(usize::try_from(value % 9).unwrap_or(0)))
}

fn check_of(value: u64, text: &str) -> u64 {
    mix(value ^ cenote_region::copy::hash(text.as_bytes()))
}

/// The table that `name` holds in its state `counter`, a batch a partition.
///
/// # Panics
/// Never: the columns are equally long.
#[must_use]
pub fn batches(name: &str, counter: u64, size: Size) -> Vec<RecordBatch> {
    let origin = origin(name);
    let total: u64 = size.partitions().iter().sum();
    let mut first = 0;
    let mut made = Vec::new();
    for &rows in size.partitions() {
        let numbers = first..first + rows;
        first += rows;
        let values: Vec<u64> = numbers.clone().map(|r| value(origin, counter, r, total)).collect();
        let texts: Vec<String> = numbers.clone().zip(&values).map(|(r, v)| text(r, *v)).collect();
        let checks = values.iter().zip(&texts).map(|(v, t)| check_of(*v, t));
        let column = |numbers: Vec<u64>| -> ArrayRef { Arc::new(UInt64Array::from(numbers)) };
        let width = usize::try_from(rows).unwrap_or(0);
        let columns: [(&str, ArrayRef); 7] = [
            ("origin", column(vec![origin; width])),
            ("counter", column(vec![counter; width])),
            ("total", column(vec![total; width])),
            ("check", column(checks.collect())),
            ("row", column(numbers.collect())),
            ("text", Arc::new(StringArray::from_iter_values(&texts))),
            ("value", column(values)),
        ];
        let batch = RecordBatch::try_from_iter(columns);
        made.push(batch.expect("columns of one length"));
    }
    made
}

fn numbers<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a UInt64Array, String> {
    let column = batch.column_by_name(name).ok_or_else(|| format!("no column {name}"))?;
    column.as_any().downcast_ref().ok_or_else(|| format!("column {name} is no u64"))
}

/// Looks at every row, and returns the table's counter (0 for a table without rows); of tables
/// that were appended to each other that of the last.
///
/// # Errors
/// The first thing that is not as it was made.
pub fn check(name: &str, batches: &[RecordBatch]) -> Result<u64, String> {
    Ok(tables(name, batches)?.pop().unwrap_or(0))
}

/// The counters of tables that were appended to each other: each is the next one's elder.
///
/// # Errors
/// The first thing that is not as it was made.
pub fn tables(name: &str, batches: &[RecordBatch]) -> Result<Vec<u64>, String> {
    let mut found = Vec::new();
    let expected = origin(name);
    let mut next = 0;
    let mut counter = None;
    let mut total = 0;
    for batch in batches {
        let [origins, counters, totals, checks, rows, values] =
            ["origin", "counter", "total", "check", "row", "value"].map(|c| numbers(batch, c));
        let (origins, counters, totals) = (origins?, counters?, totals?);
        let (checks, rows, values) = (checks?, rows?, values?);
        let texts = batch.column_by_name("text").ok_or("no column text")?;
        let texts: &StringArray = texts.as_any().downcast_ref().ok_or("column text is no text")?;
        for i in 0..batch.num_rows() {
            let counter = *counter.get_or_insert(counters.value(i));
            if next == 0 {
                total = totals.value(i);
            }
            let wanted = value(expected, counter, next, total);
            let wanted_text = text(next, wanted);
            // The bytes of a text are looked at as bytes: wrong ones may be no UTF-8.
            let found_text = &texts.value_data()[span(texts, i)?];
            let sound = origins.value(i) == expected
                && counters.value(i) == counter
                && totals.value(i) == total
                && rows.value(i) == next
                && values.value(i) == wanted
                && found_text == wanted_text.as_bytes()
                && checks.value(i) == check_of(wanted, &wanted_text);
            if !sound {
                return Err(format!(
                    "{name}: row {next} of {total} (counter {counter}) has origin {:x} not {expected:x}, \
                     counter {}, total {}, row {}, value {:x} not {wanted:x}, text {:?}, check {:x}",
                    origins.value(i),
                    counters.value(i),
                    totals.value(i),
                    rows.value(i),
                    values.value(i),
                    String::from_utf8_lossy(found_text),
                    checks.value(i),
                ));
            }
            next += 1;
            if next == total {
                if found.last().is_some_and(|last| *last >= counter) {
                    return Err(format!("{name}: table {counter} comes after {found:?}"));
                }
                found.push(counter);
                (next, total) = (0, 0);
            }
        }
        if next == 0 {
            counter = None;
        }
    }
    if next != total {
        return Err(format!("{name}: {next} rows of {total}"));
    }
    Ok(found)
}

fn span(texts: &StringArray, row: usize) -> Result<std::ops::Range<usize>, String> {
    let offsets = texts.value_offsets();
    let bound =
        |at: usize| usize::try_from(offsets[at]).map_err(|e| format!("text of row {row}: {e}"));
    let (start, end) = (bound(row)?, bound(row + 1)?);
    if start > end || end > texts.value_data().len() {
        return Err(format!("text of row {row} is at {start}..{end}"));
    }
    Ok(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_told_from_every_other() {
        for size in [Size::Small, Size::Middle, Size::Large] {
            let made = batches("a", 3, size);
            assert_eq!(check("a", &made), Ok(3));
            assert_eq!(check("a~", &made), Ok(3));
            assert!(check("b", &made).is_err());
            assert!(check("a", &made[..made.len() - 1]).is_err() || made.len() == 1);
            let mut mixed = batches("a", 4, size);
            let last = mixed.len() - 1;
            let half = made[last].num_rows() / 2;
            mixed[last] = made[last].slice(0, half);
            assert!(check("a", &mixed).is_err());
        }
        assert_eq!(check("a", &batches("a", 3, Size::Empty)), Ok(0));
    }
}
