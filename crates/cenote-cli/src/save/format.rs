//! The formats that a frame can be written in.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_json::writer::{LineDelimited, WriterBuilder};
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::failure::Failure;

/// What a writer says.
pub(super) type Fault = Box<dyn std::error::Error>;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Parquet,
    Csv,
    Json,
    Arrow,
    Stream,
}

impl Kind {
    /// By an ending, or the word for it.
    pub(super) fn of(word: &str) -> Option<Kind> {
        Some(match word.to_ascii_lowercase().as_str() {
            "parquet" | "pq" => Kind::Parquet,
            "csv" => Kind::Csv,
            "jsonl" | "ndjson" | "json" => Kind::Json,
            "arrow" | "feather" | "ipc" => Kind::Arrow,
            "arrows" => Kind::Stream,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Parquet => "Parquet",
            Kind::Csv => "CSV",
            Kind::Json => "JSON lines",
            Kind::Arrow | Kind::Stream => "Arrow IPC",
        }
    }

    pub(super) fn is_text(self) -> bool {
        matches!(self, Kind::Csv | Kind::Json)
    }

    /// Asks the format's own writer about each column.
    ///
    /// # Errors
    /// There is one whose type the format cannot say.
    pub(super) fn check(self, schema: &SchemaRef) -> Result<(), Failure> {
        for field in schema.fields() {
            let alone: SchemaRef = Arc::new(Schema::new(vec![field.clone()]));
            let row = RecordBatch::new_empty(alone.clone());
            let tried = Writer::begin(self, io::sink(), &alone)
                .and_then(|mut writer| writer.write(&row).map(|()| writer))
                .and_then(Writer::end);
            if let Err(error) = tried {
                let (name, column, kind) = (self.name(), field.name(), field.data_type());
                let text = format!("{name} cannot say column {column:?} of type {kind}: {error}");
                return Err(Failure::new(text)
                    .hint("leave it out with --columns, or write .arrow, which says every type"));
            }
        }
        Ok(())
    }
}

/// A writer of one of the formats.
pub(super) enum Writer<W: Write + Send> {
    Parquet(Box<ArrowWriter<W>>),
    Csv(Box<arrow_csv::Writer<W>>),
    Json(arrow_json::Writer<W, LineDelimited>),
    Arrow(Box<FileWriter<W>>),
    Stream(Box<StreamWriter<W>>),
}

impl<W: Write + Send> Writer<W> {
    pub(super) fn begin(kind: Kind, to: W, schema: &SchemaRef) -> Result<Writer<W>, Fault> {
        Ok(match kind {
            Kind::Parquet => {
                let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
                let properties = Some(properties.build());
                Writer::Parquet(Box::new(ArrowWriter::try_new(to, schema.clone(), properties)?))
            }
            Kind::Csv => {
                let mut writer = arrow_csv::WriterBuilder::new().with_header(true).build(to);
                // A frame without rows has a header, too.
                writer.write(&RecordBatch::new_empty(schema.clone()))?;
                Writer::Csv(Box::new(writer))
            }
            Kind::Json => Writer::Json(WriterBuilder::new().with_explicit_nulls(true).build(to)),
            Kind::Arrow => Writer::Arrow(Box::new(FileWriter::try_new(to, schema)?)),
            Kind::Stream => Writer::Stream(Box::new(StreamWriter::try_new(to, schema)?)),
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), Fault> {
        match self {
            Writer::Parquet(writer) => writer.write(batch)?,
            Writer::Csv(writer) => writer.write(batch)?,
            Writer::Json(writer) => writer.write(batch)?,
            Writer::Arrow(writer) => writer.write(batch)?,
            Writer::Stream(writer) => writer.write(batch)?,
        }
        Ok(())
    }

    /// Writes what is left, and gives back where it went.
    pub(super) fn end(self) -> Result<W, Fault> {
        Ok(match self {
            Writer::Parquet(writer) => writer.into_inner()?,
            Writer::Csv(writer) => writer.into_inner(),
            Writer::Json(mut writer) => {
                writer.finish()?;
                writer.into_inner()
            }
            Writer::Arrow(writer) => writer.into_inner()?,
            Writer::Stream(writer) => writer.into_inner()?,
        })
    }
}
