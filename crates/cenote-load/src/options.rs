//! What the user may say about the files.

use std::num::NonZero;
use std::thread::available_parallelism;

use arrow_schema::Schema;

use crate::file::Kind;

/// Most threads that scan or decode at once; beyond it the reader of the batches is the
/// bottleneck.
pub const MAX_THREADS: usize = 16;

/// How to read the files. The default suits a folder of ordinary files.
#[derive(Debug, Clone)]
pub struct Options {
    /// Rows of a batch that is given out: the goal for joining small ones and the bound for
    /// cutting large ones. Default 262,144: a column of eight-byte values is then 2 MiB.
    pub batch_rows: usize,
    /// Bytes of a batch above which no further rows are joined to it, and by which the rows
    /// of a decoded batch are estimated. Default 64 MiB.
    pub batch_bytes: usize,
    /// Threads that scan and decode: default one a CPU, at most [`MAX_THREADS`].
    pub threads: Option<NonZero<usize>>,
    /// What the files hold, whatever they look like. Default: each file is looked at.
    pub format: Option<Kind>,
    /// Only these columns, in this order. Parquet decodes no others. Default all.
    pub columns: Option<Vec<String>>,
    /// Whether files may have different columns (those that a file lacks are null), and
    /// Parquet and Arrow types that widen without loss. Default false: a difference is an error.
    /// CSV is then opened file by file before it is decoded; JSON lines need it not.
    pub evolve: bool,
    /// Whether folders called `key=value` below the one that was named are columns. Default
    /// true.
    pub hive: bool,
    /// CSV: the byte between fields. Default: a tab in files named `.tsv`, else that of comma,
    /// semicolon, tab and bar on which the first records agree, else a comma.
    pub delimiter: Option<u8>,
    /// CSV: whether the first record of every file names its columns. Default true. Without,
    /// the names are those of [`Options::schema`] where it has as many fields as the files
    /// have columns, else `column_1`, `column_2`, …
    pub header: bool,
    /// CSV, JSON: types of columns by name, in any order; they override inference. See
    /// [`parse_schema`](crate::parse_schema).
    pub schema: Option<Schema>,
    /// CSV: texts that mean null, beside the empty field. Default none. `NaN` is a number.
    pub null_values: Vec<String>,
    /// CSV: what is rarely needed.
    pub csv: CsvOptions,
}

/// Dialects of CSV.
#[derive(Debug, Clone)]
pub struct CsvOptions {
    /// What stands around a field that contains delimiters or line ends; within, it is
    /// doubled. None: quotes are text. Default `"`.
    pub quote: Option<u8>,
    /// Within quotes, a byte that makes the next one stand for itself. Default none.
    pub escape: Option<u8>,
    /// Lines that begin with this are passed over. Default empty: none.
    pub comment: String,
    /// Lines that are passed over before the header. Default 0.
    pub skip_lines: usize,
    /// Records with too few fields are filled with nulls; else they are an error, as those
    /// with too many always are.
    pub pad_ragged: bool,
    /// Columns with the same name are called `a`, `a_1`, `a_2`; else they are an error.
    pub rename_duplicates: bool,
    /// The columns to take, by name, in this order. Default all.
    pub columns: Option<Vec<String>>,
    /// Between whole part and fraction of a number. Default `.`.
    pub decimal: u8,
    /// Between groups of three digits. Default none.
    pub thousands: Option<u8>,
    /// What the bytes mean, by a name that the web knows: `latin1`, `windows-1252`, `gb18030`,
    /// … Default UTF-8, and UTF-16 where a file begins with its byte order mark.
    pub encoding: Option<String>,
    /// Formats of dates and times, beside ISO 8601, in the letters of `strptime`:
    /// `%d.%m.%Y`, `%m/%d/%Y %I:%M %p`. The first that fits counts.
    pub date_formats: Vec<String>,
    /// The zone of inferred timestamps that state none: a name or an offset. Default none:
    /// they are what a clock showed.
    pub zone: Option<String>,
    /// Texts that mean true, beside `true` in any case.
    pub true_values: Vec<String>,
    /// Texts that mean false, beside `false` in any case.
    pub false_values: Vec<String>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self {
            quote: Some(b'"'),
            escape: None,
            comment: String::new(),
            skip_lines: 0,
            pad_ragged: false,
            rename_duplicates: false,
            columns: None,
            decimal: b'.',
            thousands: None,
            encoding: None,
            date_formats: Vec::new(),
            zone: None,
            true_values: Vec::new(),
            false_values: Vec::new(),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            batch_rows: 1 << 18,
            batch_bytes: 64 << 20,
            threads: None,
            format: None,
            columns: None,
            evolve: false,
            hive: true,
            delimiter: None,
            header: true,
            schema: None,
            null_values: Vec::new(),
            csv: CsvOptions::default(),
        }
    }
}

/// Characters of a dialect that cannot be told apart. Options are named as Python writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DialectError {
    /// One is a line end.
    #[error("{0} cannot be a line end")]
    LineEnd(&'static str),
    /// Two are the same.
    #[error("{0} and {1} are the same character")]
    Same(&'static str, &'static str),
}

impl Options {
    /// Whether each character of CSV has one meaning.
    ///
    /// # Errors
    /// [`DialectError`]: one has none, or two.
    pub fn check_dialect(&self) -> Result<(), DialectError> {
        let csv = &self.csv;
        let taken = [("delimiter", self.delimiter), ("quote", csv.quote), ("escape", csv.escape)];
        for (at, (name, byte)) in taken.iter().enumerate() {
            if matches!(byte, Some(b'\n' | b'\r')) {
                return Err(DialectError::LineEnd(name));
            }
            let twice = taken[..at].iter().find(|(_, other)| byte.is_some() && other == byte);
            if let Some((other, _)) = twice {
                return Err(DialectError::Same(other, name));
            }
        }
        if csv.thousands == Some(csv.decimal) {
            return Err(DialectError::Same("decimal", "thousands"));
        }
        Ok(())
    }

    pub(crate) fn threads(&self) -> usize {
        let wanted = self.threads.or_else(|| available_parallelism().ok());
        wanted.map_or(1, NonZero::get).min(MAX_THREADS)
    }

    /// Never 0, whatever the user said.
    pub(crate) fn batch_rows(&self) -> usize {
        self.batch_rows.max(1)
    }
}
