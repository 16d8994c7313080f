//! pandas' notes in a schema's metadata, kept true.
//!
//! PyArrow writes down which columns are the index and what each was. A `RangeIndex` is not
//! stored but noted, for all rows of what was put; a part of a frame has other rows, and
//! perhaps not all columns. <https://pandas.pydata.org/docs/development/developer.html>

use arrow_schema::Metadata;
use cenote::Frame;
use serde::Deserialize as _;
use serde_json::{Value, json};

/// The metadata of a frame's schema with pandas' notes made true; `None`: they are, or there
/// are none.
pub(crate) fn of(frame: &Frame) -> Option<Metadata> {
    let metadata = frame.schema().metadata();
    let text = metadata.get("pandas")?;
    if frame.is_whole() && is_true(text, frame.num_rows()) {
        return None;
    }
    let mut notes: Value = serde_json::from_str(text).ok()?;
    let names: Vec<&str> = frame.schema().fields().iter().map(|f| f.name().as_str()).collect();
    if let Some(index) = notes.get_mut("index_columns").and_then(Value::as_array_mut) {
        index.retain(|level| level.as_str().is_none_or(|name| names.contains(&name)));
        for level in index {
            match frame.first_row() {
                Some(first) => cut(level, first, frame.num_rows()),
                None => number(level, frame.num_rows()),
            }
        }
    }
    if let Some(columns) = notes.get_mut("columns").and_then(Value::as_array_mut) {
        let mut left = std::mem::take(columns);
        // In the order of the schema, where a name may stand more than once.
        for name in names {
            let is_it = |note: &Value| note.get("field_name").and_then(Value::as_str) == Some(name);
            if let Some(at) = left.iter().position(is_it) {
                columns.push(left.remove(at));
            }
        }
    }
    let mut metadata = metadata.clone();
    metadata.insert("pandas".to_owned(), notes.to_string());
    Some(metadata)
}

/// Whether the index noted has `rows` rows. Reads the index's notes only: the others are long.
fn is_true(text: &str, rows: u64) -> bool {
    const KEY: &str = "\"index_columns\":";
    let Some(at) = text.find(KEY) else { return true };
    let mut reader = serde_json::Deserializer::from_str(&text[at + KEY.len()..]);
    let Ok(index) = Vec::<Value>::deserialize(&mut reader) else { return true };
    index.iter().filter_map(length).all(|length| length == i128::from(rows))
}

/// Start and step of a range.
fn range(level: &Value) -> Option<(i64, i64)> {
    let number = |key: &str| level.get(key).and_then(Value::as_i64);
    (level.get("kind")?.as_str()? == "range").then_some(())?;
    Some((number("start")?, number("step")?))
}

/// Rows of a range.
fn length(level: &Value) -> Option<i128> {
    let (start, step) = range(level)?;
    let stop = i128::from(level.get("stop")?.as_i64()?);
    let (start, step) = (i128::from(start), i128::from(step));
    if step == 0 {
        return None;
    }
    let towards = if step > 0 { stop - start } else { start - stop };
    Some(if towards <= 0 { 0 } else { (towards - 1) / step.abs() + 1 })
}

/// Numbers rows anew: those with gaps between are no range.
fn number(level: &mut Value, rows: u64) {
    if range(level).is_some() {
        level["start"] = json!(0);
        level["stop"] = json!(rows);
        level["step"] = json!(1);
    }
}

/// Cuts a range to `rows` rows from row `first` on.
fn cut(level: &mut Value, first: u64, rows: u64) {
    let Some((start, step)) = range(level) else { return };
    let at = |row: u64| {
        let step = step.checked_mul(i64::try_from(row).ok()?)?;
        start.checked_add(step)
    };
    // Beyond 64 bits there is no such range: it is left as it is, and readers pass over it.
    if let (Some(start), Some(stop)) = (at(first), at(first.saturating_add(rows))) {
        level["start"] = json!(start);
        level["stop"] = json!(stop);
    }
}
