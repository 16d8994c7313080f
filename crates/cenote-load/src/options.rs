//! What the user may say about the files.

use std::num::NonZero;
use std::thread::available_parallelism;

use arrow_schema::Schema;

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
    /// CSV: the byte between fields. Default: a tab in files named `.tsv`, else a comma.
    pub delimiter: Option<u8>,
    /// CSV: whether the first record of every file names its columns. Default true. Without,
    /// the names are those of [`Options::schema`] where it has as many fields as the files
    /// have columns, else `column_1`, `column_2`, …
    pub header: bool,
    /// CSV: types of columns by name, in any order; they override inference. See
    /// [`parse_schema`](crate::parse_schema).
    pub schema: Option<Schema>,
    /// CSV: texts that mean null, beside the empty field. Default none. `NaN` is a number.
    pub null_values: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            batch_rows: 1 << 18,
            batch_bytes: 64 << 20,
            threads: None,
            delimiter: None,
            header: true,
            schema: None,
            null_values: Vec::new(),
        }
    }
}

impl Options {
    pub(crate) fn threads(&self) -> usize {
        let wanted = self.threads.or_else(|| available_parallelism().ok());
        wanted.map_or(1, NonZero::get).min(MAX_THREADS)
    }

    /// Never 0, whatever the user said.
    pub(crate) fn batch_rows(&self) -> usize {
        self.batch_rows.max(1)
    }
}
