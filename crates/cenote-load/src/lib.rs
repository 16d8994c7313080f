//! Files as one schema and a stream of Arrow record batches, in bounded memory.
//!
//! A [`Source`] names what is to be loaded: files, archives, folders of them, patterns
//! (`ticks/**/*.csv`), standard input; Parquet, CSV, JSON lines or Arrow IPC, told by their
//! content; plain, or in gzip, zstd, bzip2, xz or zip. The type of a column of CSV or JSON is
//! decided by all of its values in all files, never by the first rows. Files must have the
//! same columns and types, unless [`Options::evolve`] lets them differ where nothing is lost.
//! Folders called `key=value` are columns ([`Options::hive`]).
//!
//! [`Source::load`] decodes in a few threads, in one pass, and gives the batches in the order
//! of the files, small ones joined: 505 files of 1,259 lines are three batches, not 505. A
//! late value that does not fit the types so far begins the load again with wider ones.
//! [`Source::open`] is for who must know before the first batch: it decodes CSV once just to
//! learn schema and number of rows, and whatever is wrong with it.
//!
//! ```
//! use cenote_load::{Options, Source};
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("a.csv"), "day,close\n2018-02-07,12\n")?;
//! std::fs::write(folder.path().join("b.csv"), "day,close\n2018-02-08,12.5\n")?;
//!
//! let source = Source::open(&[folder.path().to_path_buf()], &Options::default())?;
//! assert_eq!(source.num_rows(), Some(2));
//! assert_eq!(source.schema().field(1).data_type().to_string(), "Float64");
//! for batch in source.batches() {
//!     assert_eq!(batch?.num_rows(), 2);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Memory
//!
//! A thread holds at most the arrays of one *part* (the text of [`MAX_PART_BYTES`], or the
//! pages of one Parquet row group or one Arrow message that it is at), and
//! [`Options::batch_bytes`] of arrays; of CSV text it holds a quarter MiB or one longer record,
//! of JSON lines 8 MiB. Twice as many parts as threads are under way, each with at most two
//! batches waiting. What grows with the input is the list of files and parts, and the footers
//! of Parquet files. Compressed Parquet and Arrow files, and standard input, are unpacked into
//! a file without a name in the directory for temporary files.
//!
//! # What a CSV column becomes
//!
//! | all values of all files are | type |
//! | --- | --- |
//! | `true`, `false` in any case | Boolean |
//! | whole numbers that fit | Int64 |
//! | numbers, `NaN`, `nan`, `inf`, `Infinity`, `-inf`, `-Infinity` | Float64 |
//! | `2013-02-08` | Date32 |
//! | `2013-02-08 09:30:00[.123456789]`, also with `T`, also mixed with dates | Timestamp of the coarsest unit that holds them all |
//! | the same, every one with a zone (`Z`, `+01:00`) | Timestamp in UTC |
//! | anything else | Utf8 |
//! | nothing: every field is empty | Utf8, all null |
//!
//! A number beyond the range of Float64 (`1e400`) is an error; `inf` is a value. Where a value
//! makes a column text that had another type up to it, [`Meter::notices`] says so.
//! Whole numbers with a leading zero (`037833100`, an identifier) and those beyond 64 bits
//! stay Utf8: as numbers they would lose digits. An empty field is null, in Utf8 columns
//! too; CSV cannot tell it from an empty string. [`Options::schema`] overrides any column.

mod batches;
mod checksum;
mod csv;
mod discover;
mod error;
mod file;
mod finish;
mod fit;
mod format;
mod hive;
mod ipc;
mod join;
mod json;
mod meter;
mod name;
mod notice;
mod options;
mod parquet;
mod schema_text;
mod source;
mod storage;

pub use batches::Batches;
pub use checksum::Checksums;
pub use csv::{MAX_COLUMNS, MAX_PART_BYTES, MAX_RECORD_BYTES};
pub use discover::{MAX_DEPTH, MAX_FILES};
pub use error::{LoadError, ParquetFault};
pub use file::{FileName, InputFile, Kind, UnknownFormat};
pub use meter::{Meter, Progress, Stage};
pub use name::suggested_name;
pub use notice::Notice;
pub use options::{CsvOptions, DialectError, MAX_THREADS, Options};
pub use schema_text::{KNOWN_TYPES, SchemaTextError, parse_schema};
pub use source::Source;
pub use storage::{MAX_UNPACK_RATIO, UNPACK_FREE_BYTES, Wrap};
