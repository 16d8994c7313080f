//! A frame on a terminal: its schema, and its first rows as a table.

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use cenote::Frame;
use cenote_region::quantity::ByteSize;
use console::{style, truncate_str};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::table::{Align, Table, count};

/// Columns are listed up to here; then their number.
const SCHEMA_LINES_MAX: usize = 40;
/// Cells are cut there.
const CELL_WIDTH_MAX: usize = 40;
/// Stands for the columns that do not fit.
const LEFT_OUT: &str = "…";

/// As text. `width` is the terminal's: columns in the middle are left out until it fits.
pub(crate) fn text(
    frame: &Frame,
    head: &[RecordBatch],
    width: Option<usize>,
) -> Result<String, Failure> {
    let fields = frame.schema().fields();
    let mut text = format!(
        "{} v{}: {} x {}, {}\n\n",
        style(frame.name()).bold(),
        frame.version(),
        count(frame.num_rows(), "row"),
        count(fields.len() as u64, "column"),
        ByteSize(frame.nbytes()),
    );
    let mut schema = Table::new([("COLUMN", Align::Left), ("TYPE", Align::Left)]);
    for field in fields.iter().take(SCHEMA_LINES_MAX) {
        let nulls = if field.is_nullable() { "" } else { ", no nulls" };
        schema.row(vec![field.name().clone(), format!("{}{nulls}", field.data_type())]);
    }
    text += &schema.render(width);
    if let Some(more) = fields.len().checked_sub(SCHEMA_LINES_MAX).filter(|more| *more > 0) {
        text +=
            &format!("{LEFT_OUT} and {} (--json lists all)\n", count(more as u64, "more column"));
    }
    let rows: usize = head.iter().map(RecordBatch::num_rows).sum();
    if rows > 0 && !fields.is_empty() {
        text.push('\n');
        text += &values(head, width)?;
        let more = frame.num_rows().saturating_sub(rows as u64);
        if more > 0 {
            text +=
                &format!("{LEFT_OUT} and {} (--head, --rows, -o FILE)\n", count(more, "more row"));
        }
    }
    Ok(text)
}

fn values(head: &[RecordBatch], width: Option<usize>) -> Result<String, Failure> {
    let schema = head[0].schema();
    let cells = cells(head)?;
    let table = |kept: &[Option<usize>]| {
        let align = |at: usize| match schema.field(at).data_type() {
            data_type if data_type.is_numeric() => Align::Right,
            _ => Align::Left,
        };
        let heading = |at: &Option<usize>| match *at {
            Some(at) => (schema.field(at).name().as_str(), align(at)),
            None => (LEFT_OUT, Align::Left),
        };
        let mut table = Table::new(kept.iter().map(heading));
        for row in &cells {
            let cell = |at: &Option<usize>| at.map_or(LEFT_OUT.to_owned(), |at| row[at].clone());
            table.row(kept.iter().map(cell).collect());
        }
        table
    };
    let every: Vec<_> = (0..schema.fields().len()).map(Some).collect();
    let whole = table(&every);
    let Some(width) = width else { return Ok(whole.render(None)) };
    Ok(table(&fitting(&whole.widths(), width)).render(Some(width)))
}

/// The rows as text, cell by cell.
fn cells(head: &[RecordBatch]) -> Result<Vec<Vec<String>>, Failure> {
    let options = FormatOptions::default().with_null("null").with_display_error(true);
    let mut rows = Vec::new();
    for batch in head {
        let formatters =
            batch.columns().iter().map(|a| ArrayFormatter::try_new(a.as_ref(), &options));
        let formatters: Vec<_> = formatters
            .collect::<Result<_, _>>()
            .map_err(|error| Failure::doing("show the rows", &error))?;
        for row in 0..batch.num_rows() {
            let cell = |formatter: &ArrayFormatter| {
                let cell = formatter.value(row).to_string();
                truncate_str(&cell, CELL_WIDTH_MAX, "…").into_owned()
            };
            rows.push(formatters.iter().map(cell).collect());
        }
    }
    Ok(rows)
}

/// The columns that fit side by side: some first, some last, and `None` for those between.
fn fitting(widths: &[usize], width: usize) -> Vec<Option<usize>> {
    const GAP: usize = 2;
    let whole: usize = widths.iter().map(|w| w + GAP).sum();
    if whole <= width + GAP {
        return (0..widths.len()).map(Some).collect();
    }
    let (mut first, mut last) = (0, widths.len());
    let mut room = width.saturating_sub(1);
    loop {
        let from_front = first <= widths.len() - last;
        let next = if from_front { first } else { last - 1 };
        if first == last || widths[next] + GAP > room {
            break;
        }
        room -= widths[next] + GAP;
        if from_front { first += 1 } else { last -= 1 }
    }
    // One column at least, cut where it must be.
    let first = first.max(1);
    let mut kept: Vec<_> = (0..first).map(Some).collect();
    if first < last {
        kept.push(None);
    }
    kept.extend((last.max(first)..widths.len()).map(Some));
    kept
}

/// As JSON: what the frame is, and the rows as objects.
pub(crate) fn json(frame: &Frame, head: &[RecordBatch]) -> Result<Value, Failure> {
    let field = |field: &arrow_schema::FieldRef| {
        let data_type = field.data_type().to_string();
        json!({"name": field.name(), "type": data_type, "nullable": field.is_nullable()})
    };
    let mut writer = arrow_json::WriterBuilder::new()
        .with_explicit_nulls(true)
        .build::<_, arrow_json::writer::JsonArray>(Vec::new());
    let batches: Vec<_> = head.iter().collect();
    writer
        .write_batches(&batches)
        .and_then(|()| writer.finish())
        .map_err(|error| Failure::doing("write the rows as JSON", &error))?;
    let text = writer.into_inner();
    let rows: Value = if text.is_empty() {
        json!([])
    } else {
        serde_json::from_slice(&text)
            .map_err(|error| Failure::doing("write the rows as JSON", &error))?
    };
    Ok(json!({
        "name": frame.name(),
        "version": frame.version(),
        "num_rows": frame.num_rows(),
        "num_columns": frame.schema().fields().len(),
        "nbytes": frame.nbytes(),
        "created_ns": frame.created_ns(),
        "schema": frame.schema().fields().iter().map(field).collect::<Vec<_>>(),
        "rows": rows,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_in_the_middle_are_left_out() {
        assert_eq!(fitting(&[4, 4, 4], 16), [Some(0), Some(1), Some(2)]);
        assert_eq!(fitting(&[4, 4, 4, 4], 16), [Some(0), None, Some(3)]);
        assert_eq!(fitting(&[4, 4, 4, 4, 4], 20), [Some(0), Some(1), None, Some(4)]);
        // however narrow it is
        assert_eq!(fitting(&[50, 4], 10), [Some(0), None]);
        assert_eq!(fitting(&[50], 10), [Some(0)]);
        for columns in 0..6 {
            for width in 0..40 {
                let kept = fitting(&vec![5; columns], width);
                assert!(kept.iter().flatten().is_sorted(), "{kept:?}");
            }
        }
    }
}
