//! A frame into a file. It appears under its name only once it is whole.

mod dictionary;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use cenote::Frame;
use cenote_region::quantity::ByteSize;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde::Serialize;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::table::count;
use dictionary::Unified;

/// Rows are handed to a writer in so many at a time, so that Ctrl-C is soon heard.
const ROWS_AT_ONCE: usize = 1 << 16;
/// What a file's mode is before the process's umask.
const MODE: u32 = 0o666;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Parquet,
    Csv,
    Arrow,
}

/// A file to be written.
#[derive(Debug)]
pub(crate) struct Destination {
    path: PathBuf,
    kind: Kind,
}

/// What was written.
#[derive(Debug, Serialize)]
pub(crate) struct Written {
    name: String,
    version: u64,
    path: PathBuf,
    num_rows: u64,
    num_columns: usize,
    bytes: u64,
    seconds: f64,
}

impl Destination {
    /// The kind of file is in its ending.
    ///
    /// # Errors
    /// The ending says nothing.
    pub(crate) fn at(path: &Path) -> Result<Destination, Failure> {
        let ending =
            path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
        let kind = match ending.as_deref() {
            Some("parquet" | "pq") => Kind::Parquet,
            Some("csv") => Kind::Csv,
            Some("arrow" | "feather" | "ipc") => Kind::Arrow,
            _ => {
                return Err(Failure::usage(format!(
                    "the ending of {} does not say what to write",
                    path.display()
                ))
                .hint("name the file .parquet, .csv or .arrow"));
            }
        };
        Ok(Destination { path: path.to_owned(), kind })
    }
}

impl Written {
    pub(crate) fn line(&self) -> String {
        format!(
            "{}: {} x {}, {} in {:.2} s, from {} v{}\n",
            self.path.display(),
            count(self.num_rows, "row"),
            count(self.num_columns as u64, "column"),
            ByteSize(self.bytes),
            self.seconds,
            self.name,
            self.version,
        )
    }
}

/// Writes the frame.
///
/// # Errors
/// The file cannot be written, or does not take the frame's types; the user interrupts. A
/// file of that name is then as it was.
pub(crate) fn export(
    frame: &Frame,
    destination: &Destination,
    interrupt: &Interrupt,
) -> Result<Written, Failure> {
    let began = Instant::now();
    let path = &destination.path;
    let failed = |error: &(dyn std::error::Error + 'static)| {
        Failure::doing(format_args!("write {}", path.display()), error)
    };
    let batches = frame.batches().map_err(|error| Failure::of_pool(&error))?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new()
        .prefix(".cenote-")
        .permissions(std::fs::Permissions::from_mode(MODE))
        .tempfile_in(folder)
        .map_err(|error| failed(&error))?;
    let file = BufWriter::with_capacity(1 << 20, temporary.as_file_mut());
    let mut writer =
        Writer::begin(destination.kind, file, frame.schema()).map_err(|e| failed(&*e))?;
    let unified = match destination.kind {
        Kind::Arrow => Some(Unified::of(&batches).map_err(|error| failed(&error))?),
        _ => None,
    };
    for (at, batch) in batches.iter().enumerate() {
        let common = unified.as_ref().map(|unified| unified.batch(at, batch)).transpose();
        let batch = &common.map_err(|error| failed(&error))?.unwrap_or_else(|| batch.clone());
        for start in (0..batch.num_rows()).step_by(ROWS_AT_ONCE) {
            interrupt.check("interrupted: no file was written")?;
            let rows = ROWS_AT_ONCE.min(batch.num_rows() - start);
            writer.write(&batch.slice(start, rows)).map_err(|error| failed(&*error))?;
        }
    }
    writer.end().map_err(|error| failed(&*error))?;
    let bytes = temporary.as_file().metadata().map_err(|error| failed(&error))?.len();
    temporary.persist(path).map_err(|error| failed(&error.error))?;
    Ok(Written {
        name: frame.name().to_owned(),
        version: frame.version(),
        path: path.clone(),
        num_rows: frame.num_rows(),
        num_columns: frame.schema().fields().len(),
        bytes,
        seconds: began.elapsed().as_secs_f64(),
    })
}

type Out<'a> = BufWriter<&'a mut File>;
type Fault = Box<dyn std::error::Error>;

enum Writer<'a> {
    Parquet(Box<ArrowWriter<Out<'a>>>),
    Csv(arrow_csv::Writer<Out<'a>>),
    Arrow(arrow_ipc::writer::FileWriter<Out<'a>>),
}

impl<'a> Writer<'a> {
    fn begin(
        kind: Kind,
        file: Out<'a>,
        schema: &std::sync::Arc<Schema>,
    ) -> Result<Writer<'a>, Fault> {
        Ok(match kind {
            Kind::Parquet => {
                let properties =
                    WriterProperties::builder().set_compression(Compression::SNAPPY).build();
                Writer::Parquet(Box::new(ArrowWriter::try_new(
                    file,
                    schema.clone(),
                    Some(properties),
                )?))
            }
            Kind::Csv => {
                let mut writer = arrow_csv::WriterBuilder::new().with_header(true).build(file);
                // A frame without rows has a header, too.
                writer.write(&RecordBatch::new_empty(schema.clone()))?;
                Writer::Csv(writer)
            }
            Kind::Arrow => Writer::Arrow(arrow_ipc::writer::FileWriter::try_new(file, schema)?),
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), Fault> {
        match self {
            Writer::Parquet(writer) => writer.write(batch)?,
            Writer::Csv(writer) => writer.write(batch)?,
            Writer::Arrow(writer) => writer.write(batch)?,
        }
        Ok(())
    }

    fn end(self) -> Result<(), Fault> {
        let mut file = match self {
            Writer::Parquet(writer) => writer.into_inner()?,
            Writer::Csv(writer) => writer.into_inner(),
            Writer::Arrow(writer) => writer.into_inner()?,
        };
        Ok(file.flush()?)
    }
}
