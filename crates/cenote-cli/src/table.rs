//! Aligned columns of text, and the small phrases that go into them.

use console::{Alignment, measure_text_width, pad_str, style, truncate_str};

/// How a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Columns with a heading each.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

const GAP: &str = "  ";

impl Table {
    pub(crate) fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Align)>) -> Table {
        let columns = columns.into_iter().map(|(name, align)| (clean(name), align)).collect();
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row, a cell a column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.into_iter().map(|cell| clean(&cell)).collect());
    }

    /// The text, headings first. `width`: lines are cut there.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let widths = self.widths();
        let mut text = String::new();
        let headings: Vec<_> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let headings = self.line(&headings, &widths, width);
        text += &format!("{}\n", style(headings).bold());
        for row in &self.rows {
            text += &self.line(row, &widths, width);
            text.push('\n');
        }
        text
    }

    /// How wide each column is.
    pub(crate) fn widths(&self) -> Vec<usize> {
        let width = |(i, (name, _)): (usize, &(String, Align))| {
            let cells = self.rows.iter().map(|row| measure_text_width(&row[i]));
            cells.chain([measure_text_width(name)]).max().unwrap_or(0)
        };
        self.columns.iter().enumerate().map(width).collect()
    }

    fn line(&self, cells: &[String], widths: &[usize], width: Option<usize>) -> String {
        let mut padded = Vec::with_capacity(cells.len());
        for (i, cell) in cells.iter().enumerate() {
            let alignment = match self.columns[i].1 {
                Align::Left => Alignment::Left,
                Align::Right => Alignment::Right,
            };
            padded.push(pad_str(cell, widths[i], alignment, None).into_owned());
        }
        let line = padded.join(GAP);
        let line = line.trim_end();
        match width {
            Some(width) => truncate_str(line, width, "…").into_owned(),
            None => line.to_owned(),
        }
    }
}

/// A text without control characters: what is in a table may hold anything.
fn clean(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// 1234567 as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 frame`, `2 frames`.
pub(crate) fn count(number: u64, one: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{} {one}{end}", grouped(number))
}

/// A span of time in its largest unit: `12 s`, `3 min`, `5 h`, `4 d`.
pub(crate) fn span(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_read_them() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(count(1, "row"), "1 row");
        assert_eq!(count(1_259, "row"), "1,259 rows");
        assert_eq!(span(119), "119 s");
        assert_eq!(span(7_199), "119 min");
        assert_eq!(span(172_800), "2 d");
    }

    #[test]
    fn columns_stand_below_each_other() {
        let mut table = Table::new([("name", Align::Left), ("rows", Align::Right)]);
        table.row(vec!["a\x1b".to_owned(), "1".to_owned()]);
        table.row(vec!["日本".to_owned(), "12,345".to_owned()]);
        let text = console::strip_ansi_codes(&table.render(None)).into_owned();
        assert_eq!(text, "name    rows\na          1\n日本  12,345\n");
        let cut = console::strip_ansi_codes(&table.render(Some(6))).into_owned();
        assert_eq!(cut, "name …\na    …\n日本 …\n");
    }
}
