//! How the CSV files of `cenote put` are written.

use cenote_load::{CsvOptions, DialectError, Options, parse_schema};
use clap::Args;

use crate::failure::Failure;

const HEADING: &str = "CSV";

/// How CSV files are written.
#[derive(Debug, Args)]
pub(super) struct Csv {
    /// Types of columns, as `column:type,column:type`; the others are inferred
    #[arg(long, value_name = "TYPES", help_heading = HEADING)]
    schema: Option<String>,
    /// The character between fields [default: that of , ; tab | on which the first lines agree]
    #[arg(long, value_name = "CHAR", help_heading = HEADING)]
    delimiter: Option<char>,
    /// The files have no line of column names
    #[arg(long, help_heading = HEADING)]
    no_header: bool,
    /// A text that means null, beside the empty field; may be repeated
    #[arg(long = "null", value_name = "TEXT", help_heading = HEADING)]
    null_values: Vec<String>,
    /// What stands around fields, or `none` [default: "]
    #[arg(long, value_name = "CHAR", help_heading = HEADING)]
    quote: Option<String>,
    /// Within quotes, what makes the next character stand for itself
    #[arg(long, value_name = "CHAR", help_heading = HEADING)]
    escape: Option<char>,
    /// Lines that begin so are no records
    #[arg(long, value_name = "TEXT", help_heading = HEADING)]
    comment: Option<String>,
    /// Lines above the header
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    #[arg(help_heading = HEADING)]
    skip_lines: usize,
    /// The encoding, as the web calls it [default: UTF-8; UTF-16 where its mark is]
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    encoding: Option<String>,
    /// What stands before the decimals [default: .]
    #[arg(long, value_name = "CHAR", help_heading = HEADING)]
    decimal: Option<char>,
    /// What stands between groups of three digits
    #[arg(long, value_name = "CHAR", help_heading = HEADING)]
    thousands: Option<char>,
    /// A text that means true, beside `true`; may be repeated
    #[arg(long = "true", value_name = "TEXT", help_heading = HEADING)]
    true_values: Vec<String>,
    /// A text that means false, beside `false`; may be repeated
    #[arg(long = "false", value_name = "TEXT", help_heading = HEADING)]
    false_values: Vec<String>,
    /// A format of dates or times, beside ISO 8601, as `%d.%m.%Y %H:%M`; may be repeated
    #[arg(long = "date-format", value_name = "FORMAT", help_heading = HEADING)]
    date_formats: Vec<String>,
    /// The zone of times that state none, as `America/New_York`
    #[arg(long, value_name = "ZONE", help_heading = HEADING)]
    zone: Option<String>,
    /// Fill records that are too short with nulls
    #[arg(long, help_heading = HEADING)]
    pad_ragged: bool,
    /// Call columns of one name `a`, `a_1`, `a_2`
    #[arg(long, help_heading = HEADING)]
    rename_duplicates: bool,
}

impl Csv {
    /// What was said, as options of a load.
    pub(super) fn options(&self) -> Result<Options, Failure> {
        let schema = self.schema.as_deref().map(parse_schema).transpose();
        let schema = schema.map_err(|error| Failure::usage(format!("--schema: {error}")))?;
        let quote = match self.quote.as_deref() {
            None => Some(b'"'),
            Some("none") => None,
            Some(text) => {
                let mut characters = text.chars();
                let one = characters.next().filter(|_| characters.next().is_none());
                Some(one_byte("quote", one)?.ok_or_else(|| not_one("quote"))?)
            }
        };
        let csv = CsvOptions {
            quote,
            escape: one_byte("escape", self.escape)?,
            comment: self.comment.clone().unwrap_or_default(),
            skip_lines: self.skip_lines,
            pad_ragged: self.pad_ragged,
            rename_duplicates: self.rename_duplicates,
            columns: None,
            decimal: one_byte("decimal", self.decimal)?.unwrap_or(b'.'),
            thousands: one_byte("thousands", self.thousands)?,
            encoding: self.encoding.clone(),
            date_formats: self.date_formats.clone(),
            zone: self.zone.clone(),
            true_values: self.true_values.clone(),
            false_values: self.false_values.clone(),
        };
        let delimiter = one_byte("delimiter", self.delimiter)?;
        let (header, null_values) = (!self.no_header, self.null_values.clone());
        let options = Options { schema, delimiter, header, null_values, csv, ..Options::default() };
        options.check_dialect().map_err(unclear)?;
        Ok(options)
    }
}

fn not_one(option: &str) -> Failure {
    Failure::usage(format!("--{option} takes one character of a single byte"))
}

fn one_byte(option: &str, character: Option<char>) -> Result<Option<u8>, Failure> {
    let byte = |character| u8::try_from(character).ok().filter(u8::is_ascii);
    character.map(|one| byte(one).ok_or_else(|| not_one(option))).transpose()
}

/// The same in the words of the command line.
fn unclear(error: DialectError) -> Failure {
    match error {
        DialectError::LineEnd(name) => Failure::usage(format!("--{name} cannot be a line end")),
        DialectError::Same(a, b) => {
            let failure = Failure::usage(format!("--{a} and --{b} are the same character"));
            if a == "decimal" {
                failure.hint("--decimal is a dot where nothing else is said")
            } else {
                failure
            }
        }
        other => Failure::usage(other.to_string()),
    }
}
