//! What can go wrong while loading, with the facts.

mod parquet_fault;
mod text;

use std::io;
use std::path::PathBuf;

use arrow_schema::{ArrowError, DataType};
use parquet::errors::ParquetError;

use crate::csv::{MAX_COLUMNS, MAX_RECORD_BYTES};
use crate::discover::{MAX_DEPTH, MAX_FILES};
use crate::file::{FileName, Kind};
use crate::storage::Wrap;

pub use parquet_fault::ParquetFault;
pub(crate) use text::clip;
use text::{PREAMBLE, group, keys, list, meant, message_at, numbers, part, quoted};

/// Why files could not be loaded. Lines and columns count from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The operating system, or a decompressor, refused a file.
    #[error("`{file}` cannot be read")]
    Io {
        /// The file.
        file: FileName,
        /// What was said.
        source: io::Error,
    },
    /// A compressed file is not whole, or is followed by something else.
    #[error("`{file}` is not whole {wrap}: it is truncated, damaged, or followed by other bytes")]
    Unpack {
        /// The file.
        file: FileName,
        /// What it is compressed with.
        wrap: Wrap,
        /// What the decompressor said.
        source: io::Error,
    },
    /// A path is neither a file nor a folder; files are read twice, so a pipe cannot serve.
    #[error("`{}` is neither a file nor a folder", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// No file that can be loaded was found.
    #[error(
        "no Parquet, CSV, JSON lines or Arrow file with content in `{}` ({skipped} others skipped)",
        path.display()
    )]
    NothingToLoad {
        /// The folder or archive; of several, the first.
        path: PathBuf,
        /// Files that were passed over: hidden, empty, or of another kind.
        skipped: usize,
    },
    /// A file that was named has no content.
    #[error("`{file}` is empty: it has not even a header")]
    Empty {
        /// The file.
        file: FileName,
    },
    /// A pattern is malformed.
    #[error("`{}` is no pattern: {what} at character {place}", pattern.display())]
    Pattern {
        /// The pattern.
        pattern: PathBuf,
        /// Where it goes wrong.
        place: usize,
        /// What was said.
        what: &'static str,
    },
    /// Nothing matches a pattern.
    #[error("nothing matches `{}`", pattern.display())]
    NoMatch {
        /// The pattern.
        pattern: PathBuf,
    },
    /// Standard input is a terminal.
    #[error("standard input is a terminal: pipe something into it")]
    Terminal,
    /// What has to be read twice could not be kept.
    #[error("no temporary file in `{}`: TMPDIR names another folder", folder.display())]
    Spool {
        /// Where it would have been.
        folder: PathBuf,
        /// What was said.
        source: io::Error,
    },
    /// A file that was named is of a format that is not loaded.
    #[error("`{file}` is {what}, which is not loaded: {way_out}")]
    OtherFormat {
        /// The file.
        file: FileName,
        /// The format.
        what: &'static str,
        /// What to do.
        way_out: &'static str,
    },
    /// A file that was named is no text and no known kind.
    #[error(
        "`{file}` is neither Parquet, CSV, JSON lines nor Arrow, nor a gzip, zstd, bzip2, xz or zip of them"
    )]
    UnknownKind {
        /// The file.
        file: FileName,
    },
    /// A text that was named has an ending that says it is no table.
    #[error(
        "the ending of `{file}` is none of .csv, .tsv, .txt, .parquet, .jsonl, .json, .arrow, .arrows, .feather, nor one of them in .gz, .zst, .bz2, .xz or .zip; --format csv (or json) says what it holds"
    )]
    UnknownEnding {
        /// The file.
        file: FileName,
    },
    /// Files of several kinds at once.
    #[error("`{first}` is {first_kind} and `{second}` is {second_kind}: load them apart")]
    MixedKinds {
        /// The first file.
        first: FileName,
        /// Its kind.
        first_kind: Kind,
        /// The first file of another kind.
        second: FileName,
        /// Its kind.
        second_kind: Kind,
    },
    /// More than [`MAX_FILES`] files.
    #[error("`{}` holds more than {MAX_FILES} files", path.display())]
    TooManyFiles {
        /// Where the bound was passed.
        path: PathBuf,
    },
    /// A folder lies deeper than [`MAX_DEPTH`] below the one that was named.
    #[error("`{}` lies more than {MAX_DEPTH} folders deep", path.display())]
    TooDeep {
        /// The folder.
        path: PathBuf,
    },
    /// A zip archive is damaged, encrypted, or uses a method that is not supported.
    #[error("zip archive `{}` cannot be read", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What was said.
        source: io::Error,
    },
    /// A file is not the one that was scanned at opening.
    #[error("`{file}` changed while it was being loaded")]
    Changed {
        /// The file.
        file: FileName,
    },
    /// [`Meter::cancel`](crate::Meter::cancel) was called.
    #[error("cancelled")]
    Cancelled,
    /// A thread could not be started.
    #[error("a thread cannot be started")]
    Thread {
        /// What was said.
        source: io::Error,
    },
    /// A decoder panicked over a file: the file is damaged in a way that nobody foresaw.
    #[error("`{file}` broke its decoder: {message}")]
    Panicked {
        /// The file.
        file: FileName,
        /// The panic's message.
        message: String,
    },

    /// No encoding has this name.
    #[error(
        "no encoding is called `{label}`; try utf-8, utf-16, latin1, windows-1252, gb18030 or shift_jis"
    )]
    UnknownEncoding {
        /// The name.
        label: String,
    },
    /// A format of dates and times cannot be used.
    #[error(
        "`{format}` is no format of dates: it needs a year, a month and a day out of %Y %y %m %d %e %b %B %H %I %p %M %S %f %z %F %T %D"
    )]
    DateFormat {
        /// The format.
        format: String,
    },
    /// No time zone has this name.
    #[error("no time zone is called `{zone}`; write it like America/New_York or +01:00")]
    UnknownZone {
        /// The name.
        zone: String,
    },
    /// CSV text is not UTF-8.
    #[error(
        "`{file}`, line {line}, field {field}: not UTF-8 (record at byte {offset}); name its encoding, perhaps --encoding latin1"
    )]
    NotUtf8 {
        /// The file.
        file: FileName,
        /// Line at which the record begins.
        line: u64,
        /// Which field of the record.
        field: usize,
        /// Byte at which the record begins, in the uncompressed text.
        offset: u64,
    },
    /// A record has more or fewer fields than the first one of its file.
    #[error(
        "`{file}`, line {line}: {found} field{} where the first record has {expected}{}",
        if *found == 1 { "" } else { "s" },
        if *expected == 1 { PREAMBLE } else { "" },
    )]
    Ragged {
        /// The file.
        file: FileName,
        /// Line at which the record begins.
        line: u64,
        /// Fields of the first record.
        expected: usize,
        /// Fields of this one.
        found: usize,
    },
    /// A quoted field runs to the end of the file.
    #[error("`{file}`, line {line}: a quote is opened and never closed")]
    UnclosedQuote {
        /// The file.
        file: FileName,
        /// Line at which the record begins.
        line: u64,
    },
    /// A record is longer than [`MAX_RECORD_BYTES`].
    #[error(
        "`{file}`, line {line}: a record of more than {MAX_RECORD_BYTES} bytes; perhaps a quote is never closed"
    )]
    RecordTooLong {
        /// The file.
        file: FileName,
        /// Line at which the record begins.
        line: u64,
    },
    /// A record has more than [`MAX_COLUMNS`] fields.
    #[error("`{file}`, line {line}: more than {MAX_COLUMNS} fields")]
    TooManyColumns {
        /// The file.
        file: FileName,
        /// Line at which the record begins.
        line: u64,
    },
    /// A value is not of the type that its column was declared to have.
    #[error(
        "`{file}`, line {line}, column `{column}`: `{text}` is no {wanted}; declare another type, --schema '{column}:utf8' takes any"
    )]
    Value {
        /// The file.
        file: FileName,
        /// Line at which the record begins.
        line: u64,
        /// The column.
        column: String,
        /// The value, cut after 80 characters.
        text: String,
        /// The declared type.
        wanted: DataType,
    },
    /// A number of CSV is greater than its type can hold.
    #[error(
        "`{file}`, line {line}, column `{column}`: `{text}` is beyond the range of {wanted}, where it would be infinite; --schema '{column}:utf8' takes any"
    )]
    Beyond {
        /// The file.
        file: FileName,
        /// Line at which the record begins.
        line: u64,
        /// The column.
        column: String,
        /// The value, cut after 80 characters.
        text: String,
        /// The column's type.
        wanted: DataType,
    },
    /// arrow-csv refused a batch for another reason than one of its values.
    #[error("`{file}`, from line {line} on")]
    Csv {
        /// The file.
        file: FileName,
        /// Line at which the batch begins.
        line: u64,
        /// What was said.
        source: ArrowError,
    },
    /// A value did not fit the type that its column had so far; [`Source::load`] begins again
    /// with a wider one.
    ///
    /// [`Source::load`]: crate::Source::load
    #[error("a column needs a wider type than its first values did; load again")]
    Widened,
    /// Columns of one name.
    #[error(
        "`{file}` has {} columns `{column}` (columns {}); rename them, or take them as `{column}`, `{column}_1`, …: --rename-duplicates",
        places.len(),
        numbers(places)
    )]
    DuplicateColumns {
        /// The file.
        file: FileName,
        /// The name.
        column: String,
        /// Where it stands, from 1.
        places: Vec<usize>,
    },
    /// A column that is to be taken is not there.
    #[error("`{file}` has no column `{column}`; it has {}{}", list(known), meant(column, known))]
    NoSuchColumn {
        /// The file.
        file: FileName,
        /// The column.
        column: String,
        /// The columns that exist.
        known: Vec<String>,
    },
    /// A declared column is in no file.
    #[error(
        "column `{column}` is declared but the files have {}{}",
        list(known),
        meant(column, known)
    )]
    UnknownColumn {
        /// The column.
        column: String,
        /// The columns that exist.
        known: Vec<String>,
    },
    /// Column types were declared for files that bring their own.
    #[error("`{file}` is {kind} and brings its types: it takes no declared ones")]
    DeclaredForTyped {
        /// The first file.
        file: FileName,
        /// Its kind.
        kind: Kind,
    },
    /// A folder name and the files both have a column.
    #[error(
        "column `{column}` is in `{file}` and in the name of a folder above it; --no-hive leaves the folder's out, --columns takes it"
    )]
    PathColumn {
        /// The first file.
        file: FileName,
        /// The column.
        column: String,
    },
    /// The folders above two files say different columns.
    #[error(
        "the folders above `{file}` name {} and those above `{first}` {}; --no-hive takes no columns from them",
        keys(found),
        keys(wanted)
    )]
    PathKeys {
        /// The file.
        file: FileName,
        /// The first file.
        first: FileName,
        /// What its folders say.
        found: Vec<String>,
        /// What those of the first say.
        wanted: Vec<String>,
    },

    /// Two files have not the same columns.
    #[error(
        "`{file}` does not fit `{first}`:{}{}",
        part(" without ", missing),
        part(" with additional ", additional)
    )]
    ColumnsDiffer {
        /// The file.
        file: FileName,
        /// The first file, which the others must match.
        first: FileName,
        /// Columns that only the first has.
        missing: Vec<String>,
        /// Columns that only this one has.
        additional: Vec<String>,
    },
    /// A column name occurs twice, so that files cannot be matched by name.
    #[error("`{file}` has column `{column}` twice, and its columns differ from those of `{first}`")]
    AmbiguousColumn {
        /// The file with the name twice.
        file: FileName,
        /// The first file.
        first: FileName,
        /// The name.
        column: String,
    },
    /// A column has different types in two files that bring their types.
    #[error("column `{column}` is {found} in `{file}` and {wanted} in `{first}`{way_out}")]
    TypesDiffer {
        /// The file.
        file: FileName,
        /// The first file.
        first: FileName,
        /// The column.
        column: String,
        /// The type in the first file.
        wanted: DataType,
        /// The type in this one.
        found: DataType,
        /// What to do, where there is something.
        way_out: String,
    },
    /// A value has no place in the type that all files together need.
    #[error("`{file}`, column `{column}`: it cannot become {wanted}")]
    Widen {
        /// The file.
        file: FileName,
        /// The column.
        column: String,
        /// The wider type.
        wanted: DataType,
        /// What was said, with the value.
        source: ArrowError,
    },
    /// A decoded batch is not what its file's schema says.
    #[error("`{file}` holds a batch that does not fit its schema")]
    Batch {
        /// The file.
        file: FileName,
        /// What was said.
        source: ArrowError,
    },

    /// JSON lines without a key: there is no column.
    #[error("`{file}` has no key in any of its lines: there is no column")]
    NoKeys {
        /// The first file.
        file: FileName,
    },
    /// A line is no JSON object, or holds what no type can.
    #[error("`{file}`, line {line}: {why}{}", quoted(text))]
    JsonLine {
        /// The file.
        file: FileName,
        /// The line.
        line: u64,
        /// What is wrong, and the way out where there is one.
        why: String,
        /// The line's beginning.
        text: String,
    },
    /// A value of a line is not of the type that its column was declared to have.
    #[error("`{file}`, line {line}{}", quoted(text))]
    Json {
        /// The file.
        file: FileName,
        /// The line.
        line: u64,
        /// The line's beginning.
        text: String,
        /// What was said.
        source: ArrowError,
    },
    /// An Arrow IPC file or stream is damaged, or uses what the decoder does not know.
    #[error("`{file}` is no Arrow IPC that can be read{}", message_at(*message))]
    Ipc {
        /// The file.
        file: FileName,
        /// The message, from 0 without the schema; none: what leads to them.
        message: Option<usize>,
        /// What was said.
        source: ArrowError,
    },
    /// An Arrow IPC file or stream ends too early.
    #[error("`{file}` is not a whole Arrow IPC file: it is truncated (at {bytes} bytes)")]
    IpcTruncated {
        /// The file.
        file: FileName,
        /// Its length.
        bytes: u64,
    },

    /// A file is not Parquet, or not all of it is there.
    #[error("`{file}` is not a Parquet file that can be read: {fault}")]
    NotParquet {
        /// The file.
        file: FileName,
        /// How one can tell.
        fault: ParquetFault,
    },
    /// A Parquet file has not the rows that its footer states.
    #[error("`{file}` is damaged{}: its footer states {stated} rows and {found} are there", group(*row_group))]
    RowsDiffer {
        /// The file.
        file: FileName,
        /// The row group, from 0; none: all of them.
        row_group: Option<usize>,
        /// Rows that are stated.
        stated: i64,
        /// Rows that were found.
        found: u64,
    },
    /// A Parquet file is damaged, or uses what the decoder does not know.
    #[error("`{file}` cannot be decoded{}", group(*row_group))]
    Parquet {
        /// The file.
        file: FileName,
        /// The row group, from 0; none: the footer.
        row_group: Option<usize>,
        /// What was said.
        source: ParquetError,
    },
    /// A time that is stored in INT96 lies outside 1677 to 2262.
    #[error(
        "`{file}` (row group {row_group}), column `{column}`: {seconds} s from 1970 are out of the \
         range of nanoseconds (1677 to 2262), which INT96 becomes; --columns leaves the column out"
    )]
    Int96 {
        /// The file.
        file: FileName,
        /// The row group, from 0.
        row_group: usize,
        /// The column.
        column: String,
        /// The first such time, in seconds from 1970.
        seconds: i64,
    },
}
