//! CSV: scanned whole to learn types and to find *cuts*, then decoded cut by cut.
//!
//! A cut is a run of whole records, at most [`MAX_CUT_BYTES`] of text (or one longer
//! record). It is the unit of decoding: the text of a cut is read into memory and
//! arrow-csv turns it into one batch. In a plain file each cut can be read by itself, so
//! that one large file is decoded by all threads.
//!
//! The scanner and arrow-csv split records with the same parser (`csv_core`): the two passes
//! cannot disagree about where a record ends.

mod decode;
mod infer;
mod plan;
mod scan;

pub(crate) use plan::CsvPlan;

/// Text of a cut, and so about what a thread holds while it decodes.
pub const MAX_CUT_BYTES: u64 = 8 << 20;

/// Longest record. It bounds what an unclosed quote can swallow.
pub const MAX_RECORD_BYTES: usize = 16 << 20;

/// Most columns.
pub const MAX_COLUMNS: usize = 1 << 16;

/// A run of whole records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Where it begins in the uncompressed text.
    offset: u64,
    /// Its length.
    bytes: u64,
    /// Line at which it begins, from 1.
    line: u64,
    /// Its records.
    rows: usize,
}
