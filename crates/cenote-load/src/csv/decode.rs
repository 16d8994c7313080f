//! The second pass: the text of a cut becomes a batch.

use std::io::Read;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_csv::ReaderBuilder;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::scan::{BOM, Scanner};
use super::{CsvPlan, Cut};
use crate::error::{LoadError, clip};
use crate::file::InputFile;

impl CsvPlan {
    /// Decodes a run of cuts of one file and hands on each batch with its text's length,
    /// until `take` declines.
    pub(crate) fn decode(
        &self,
        file: &InputFile,
        index: usize,
        cuts: std::ops::Range<usize>,
        take: &mut dyn FnMut(RecordBatch, u64) -> bool,
    ) -> Result<(), LoadError> {
        let cuts = &self.scans[index].cuts[cuts];
        let Some(first) = cuts.first() else { return Ok(()) };
        let schema = self.schema_of(index);
        file.with_bytes(first.offset, |reader| {
            let mut text = Vec::new();
            for cut in cuts {
                text.clear();
                // what begins like a byte order mark here is content: a blank line before it
                // keeps the parser from stripping it
                text.push(b'\n');
                reader.take(cut.bytes).read_to_end(&mut text).map_err(|e| file.io(e))?;
                if text.len() as u64 != cut.bytes + 1 {
                    return Err(LoadError::Changed { file: file.name.clone() });
                }
                let text = if text[1..].starts_with(BOM) { &text[..] } else { &text[1..] };
                let batch = self.decode_cut(file, index, &schema, cut, text)?;
                if !take(batch, cut.bytes) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// The schema in the file's own order of columns.
    fn schema_of(&self, index: usize) -> SchemaRef {
        let Some(order) = &self.scans[index].order else { return self.schema.clone() };
        let mut fields: Vec<_> = order.iter().zip(self.schema.fields()).collect();
        fields.sort_by_key(|(at, _)| **at);
        Arc::new(Schema::new(fields.into_iter().map(|(_, f)| f.clone()).collect::<Vec<_>>()))
    }

    fn decode_cut(
        &self,
        file: &InputFile,
        index: usize,
        schema: &SchemaRef,
        cut: &Cut,
        text: &[u8],
    ) -> Result<RecordBatch, LoadError> {
        let scan = &self.scans[index];
        let decoded = ReaderBuilder::new(schema.clone())
            .with_format(scan.format.clone())
            .with_batch_size(cut.rows)
            .build_decoder();
        let batch = (|mut decoder: arrow_csv::reader::Decoder| {
            let mut rest = text;
            while !rest.is_empty() && decoder.capacity() > 0 {
                let read = decoder.decode(rest)?;
                rest = &rest[read..];
            }
            decoder.decode(&[])?;
            decoder.flush()
        })(decoded);
        match batch {
            Ok(Some(batch)) if batch.num_rows() == cut.rows => match &scan.order {
                None => Ok(batch),
                Some(order) => batch.project(order).map_err(|source| csv(file, cut, source)),
            },
            Ok(_) => Err(LoadError::Changed { file: file.name.clone() }),
            Err(source) => Err(self.locate(file, index, schema, cut, text, source)),
        }
    }

    /// Finds the value that a batch failed over, with arrow-csv itself as the judge of each
    /// value. Cost: about a microsecond a value, once.
    fn locate(
        &self,
        file: &InputFile,
        index: usize,
        schema: &SchemaRef,
        cut: &Cut,
        text: &[u8],
        source: ArrowError,
    ) -> LoadError {
        let scan = &self.scans[index];
        let mut judges: Vec<_> = schema
            .fields()
            .iter()
            .map(|field| {
                ReaderBuilder::new(Arc::new(Schema::new(vec![field.clone()])))
                    .with_format(scan.format.clone())
                    .with_batch_size(1)
                    .build_decoder()
            })
            .collect();
        let mut reader = text;
        let place = (cut.offset.max(1), cut.line);
        let Ok(mut scanner) = Scanner::new(file, &mut reader, scan.delimiter(), place) else {
            return csv(file, cut, source);
        };
        while let Ok(Some(record)) = scanner.next() {
            let values = record.fields().zip(schema.fields()).zip(&mut judges);
            for ((value, field), judge) in values {
                let quoted = format!("\"{}\"\n", value.replace('"', "\"\""));
                if judge.decode(quoted.as_bytes()).and_then(|_| judge.flush()).is_err() {
                    return LoadError::Value {
                        file: file.name.clone(),
                        line: record.line,
                        column: field.name().clone(),
                        text: clip(value),
                        wanted: field.data_type().clone(),
                    };
                }
            }
        }
        csv(file, cut, source)
    }
}

fn csv(file: &InputFile, cut: &Cut, source: ArrowError) -> LoadError {
    LoadError::Csv { file: file.name.clone(), line: cut.line, source }
}
