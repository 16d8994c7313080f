//! CSV: one pass over the bytes, with types that all values decide.
//!
//! Opening looks at the first records of a few files; that gives types to begin with. Then
//! threads decode *parts*: a piece of a large file, or some small files together. A part is
//! read block by block; a block is cut into fields ([`index`], [`records`]), and each column
//! of it parsed in a loop of its own into the arrays of the batch ([`column`]).
//!
//! A value that does not fit the type that its column has so far is no error where the type
//! was not declared: what the values of its block look like is noted ([`infer`]), no batch is
//! given out any more, and once all files are read the load begins again, with types that
//! hold everything that was seen. Types only ever widen, in a few steps, and a pass in which
//! every value fits is the last one. So the outcome is that of all values in all files and
//! depends on neither the sample nor the pieces nor the threads.

mod block;
mod chain;
mod column;
mod declared;
mod decode;
mod dialect;
mod encoding;
mod fault;
mod head;
mod index;
mod infer;
mod look;
mod moment;
mod pattern;
mod plan;
mod records;
mod rules;
mod text;
mod value;

use std::sync::Arc;

use arrow_schema::SchemaRef;

use crate::error::LoadError;
use crate::file::InputFile;
use crate::format::{Format, Part, Take, Wider};
use crate::notice::Notice;

pub(crate) use plan::CsvPlan;

/// Text that is cut and parsed at once: its fields stay in the processor's cache.
const BLOCK_BYTES: usize = 256 << 10;

/// Least text of a part.
const MIN_PART_BYTES: u64 = 1 << 20;

/// Most text of a part, and so about what a thread holds as arrays.
pub const MAX_PART_BYTES: u64 = 8 << 20;

/// Longest record. It bounds what an unclosed quote can swallow.
pub const MAX_RECORD_BYTES: usize = 16 << 20;

/// Most columns.
pub const MAX_COLUMNS: usize = 1 << 16;

impl Format for CsvPlan {
    fn schema(&self) -> SchemaRef {
        CsvPlan::schema(self)
    }

    fn num_rows(&self) -> Option<u64> {
        None
    }

    /// Each with the last of its files; all lie in folders of the same names.
    fn parts(&self, _: &[InputFile]) -> Vec<Part> {
        let parts = CsvPlan::parts(self).enumerate();
        parts.map(|(at, file)| Part { file, range: at..at + 1 }).collect()
    }

    fn decode(&self, _: &InputFile, part: &Part, take: &mut Take<'_>) -> Result<(), LoadError> {
        CsvPlan::decode(self, part.range.start, take)
    }

    fn found_delimiter(&self) -> Option<u8> {
        Self::found_delimiter(self)
    }

    fn notices(&self) -> Vec<Notice> {
        CsvPlan::notices(self)
    }

    fn is_widened(&self) -> bool {
        CsvPlan::is_widened(self)
    }

    fn wider(&self) -> Result<Option<Wider>, LoadError> {
        let next = self.next()?;
        let files = next.files().to_vec();
        Ok(Some((Arc::new(next), files)))
    }
}
