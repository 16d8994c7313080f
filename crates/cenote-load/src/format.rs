//! What a kind of file has to be able to do.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::error::LoadError;
use crate::file::InputFile;
use crate::notice::Notice;

/// What one thread decodes in one go.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) file: usize,
    /// What the format divides a file into: cuts, row groups, batches.
    pub(crate) range: Range<usize>,
}

/// Takes a batch with its share of the file's stored bytes; declines once nobody reads on.
pub(crate) type Take<'a> = dyn FnMut(RecordBatch, u64) -> bool + 'a;

/// Files of one kind that were looked through and fit together.
pub(crate) trait Format: Debug + Send + Sync {
    /// The schema of every batch.
    fn schema(&self) -> SchemaRef;

    /// Rows of all files, where they are known before decoding.
    fn num_rows(&self) -> Option<u64>;

    /// Divides the files into parts that are decoded apart, in order.
    fn parts(&self, files: &[InputFile]) -> Vec<Part>;

    /// Decodes a part and hands on its batches in order, until `take` declines.
    fn decode(&self, input: &InputFile, part: &Part, take: &mut Take<'_>) -> Result<(), LoadError>;

    /// Whether nothing that was decoded is of use: the types were too narrow.
    fn is_widened(&self) -> bool;

    /// The byte between the fields of CSV, where it was neither told nor a comma.
    fn found_delimiter(&self) -> Option<u8> {
        None
    }

    /// What a user may want to know of what was decoded.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }

    /// With the types that all values ask for which were seen, and the files that remain.
    /// None: as it is.
    fn wider(&self) -> Result<Option<Wider>, LoadError>;
}

/// A format with wider types, and its files.
pub(crate) type Wider = (Arc<dyn Format>, Vec<InputFile>);

/// The parts of each file, one after the other.
pub(crate) fn by_file(
    files: &[InputFile],
    ranges: impl Fn(usize, &InputFile) -> Vec<Range<usize>>,
) -> Vec<Part> {
    let parts = files.iter().enumerate().flat_map(|(file, input)| {
        ranges(file, input).into_iter().map(move |range| Part { file, range })
    });
    parts.collect()
}
