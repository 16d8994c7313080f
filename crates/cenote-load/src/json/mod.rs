//! JSON lines: read whole to decide types, then decoded cut by cut.
//!
//! Each line that is not blank is one object. A key is a column; the values of all lines of
//! all files decide its type ([`infer`]), and where a key is missing the value is null. A
//! *cut* is a run of whole lines of about [`MAX_CUT_BYTES`]: in a plain file each is decoded
//! by itself, so one large file keeps all threads busy.

mod cuts;
mod infer;
mod plan;

use std::io::Read;
use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_json::ReaderBuilder;
use arrow_schema::{ArrowError, SchemaRef};

use crate::error::{LoadError, clip};
use crate::file::InputFile;
use crate::format::{Format, Part, Take, Wider, by_file};
use cuts::{Cut, lines};

pub(crate) use plan::JsonPlan;

/// Text of a cut.
const MAX_CUT_BYTES: u64 = 8 << 20;

impl JsonPlan {
    /// Runs of cuts.
    fn parts_of(&self, index: usize, file: &InputFile) -> Vec<Range<usize>> {
        let cuts = self.files[index].len();
        // only a plain file can be entered in its middle
        let step = if file.is_plain() { 1 } else { cuts.max(1) };
        (0..cuts).step_by(step).map(|at| at..at + step).collect()
    }
}

impl Format for JsonPlan {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn num_rows(&self) -> Option<u64> {
        Some(self.files.iter().flatten().map(|cut| cut.rows as u64).sum())
    }

    fn parts(&self, files: &[InputFile]) -> Vec<Part> {
        by_file(files, |index, file| self.parts_of(index, file))
    }

    fn decode(&self, file: &InputFile, part: &Part, take: &mut Take<'_>) -> Result<(), LoadError> {
        let cuts = &self.files[part.file];
        let total = cuts.iter().map(|cut| cut.bytes).sum::<u64>().max(1);
        let cuts = &cuts[part.range.clone()];
        let Some(first) = cuts.first() else { return Ok(()) };
        file.with_bytes(first.offset, |reader| {
            let mut text = Vec::new();
            for cut in cuts {
                text.clear();
                reader.take(cut.bytes).read_to_end(&mut text).map_err(|e| file.io(e))?;
                if text.len() as u64 != cut.bytes {
                    return Err(LoadError::Changed { file: file.name.clone() });
                }
                let stored = u128::from(cut.bytes) * u128::from(file.bytes) / u128::from(total);
                let stored = u64::try_from(stored).unwrap_or(cut.bytes);
                if cut.rows == 0 {
                    continue;
                }
                match self.batch(&text, cut.rows) {
                    Ok(Some(batch)) if batch.num_rows() == cut.rows => {
                        if !take(batch, stored) {
                            break;
                        }
                    }
                    Ok(_) => return Err(LoadError::Changed { file: file.name.clone() }),
                    Err(source) => return Err(self.locate(file, cut, &text, source)),
                }
            }
            Ok(())
        })
    }

    fn is_widened(&self) -> bool {
        false
    }

    fn wider(&self) -> Result<Option<Wider>, LoadError> {
        Ok(None)
    }
}

impl JsonPlan {
    fn batch(&self, text: &[u8], rows: usize) -> Result<Option<RecordBatch>, ArrowError> {
        let mut decoder = ReaderBuilder::new(self.schema.clone())
            .with_coerce_primitive(true)
            .with_batch_size(rows)
            .build_decoder()?;
        let mut rest = text;
        while !rest.is_empty() {
            match decoder.decode(rest)? {
                0 => break,
                read => rest = &rest[read..],
            }
        }
        decoder.flush()
    }

    /// Finds the line that a cut failed over. Cost: some microseconds a line, once.
    fn locate(&self, file: &InputFile, cut: &Cut, text: &[u8], source: ArrowError) -> LoadError {
        for (line, text) in lines(text) {
            if let Err(source) = self.batch(text, 1) {
                let line = cut.line + line;
                let text = clip(&String::from_utf8_lossy(text));
                return LoadError::Json { file: file.name.clone(), line, text, source };
            }
        }
        let (file, text) = (file.name.clone(), String::new());
        LoadError::Json { file, line: cut.line, text, source }
    }
}
