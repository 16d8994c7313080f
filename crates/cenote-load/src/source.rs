//! What is to be loaded: files, their common schema, their number of rows.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::SchemaRef;

use crate::batches::Batches;
use crate::csv::CsvPlan;
use crate::discover::{Found, discover};
use crate::error::LoadError;
use crate::file::{InputFile, Kind};
use crate::finish::Finish;
use crate::format::Format;
use crate::hive::path_columns;
use crate::ipc::IpcPlan;
use crate::join::Joiner;
use crate::json::JsonPlan;
use crate::meter::{Meter, Stage};
use crate::options::Options;
use crate::parquet::ParquetPlan;

/// Files that were looked through and fit together.
#[derive(Debug, Clone)]
pub struct Source {
    files: Vec<InputFile>,
    skipped: usize,
    format: Arc<dyn Format>,
    finish: Finish,
    /// Rows of all files, where they were counted.
    rows: Option<u64>,
    options: Options,
    meter: Meter,
}

impl Source {
    /// Opens what `paths` name: files, archives, folders with all below them, patterns
    /// (`ticks/**/*.csv`), and `-` for standard input.
    ///
    /// Schema and number of rows are those of all files. Cost: CSV is decoded whole for them
    /// ([`Source::load`] decodes once), JSON lines are read whole; of Parquet the footers, of
    /// Arrow IPC the heads of its messages. Standard input is first written to a file without
    /// a name in the directory for temporary files.
    /// # Errors
    /// [`LoadError`]: whatever is wrong with CSV, and with the others what can be seen without
    /// decoding.
    pub fn open(paths: &[PathBuf], options: &Options) -> Result<Self, LoadError> {
        Self::open_with(paths, options, &Meter::new())
    }

    /// [`Source::open`] with a meter that another thread reads meanwhile.
    ///
    /// # Errors
    /// As [`Source::open`], and [`LoadError::Cancelled`].
    pub fn open_with(
        paths: &[PathBuf],
        options: &Options,
        meter: &Meter,
    ) -> Result<Self, LoadError> {
        let mut source = Self::begin(paths, options, meter)?;
        while source.rows.is_none() {
            meter.enter(Stage::Scanning, source.bytes_total());
            let mut decoded = 0;
            for batch in source.clone().decoding() {
                match batch {
                    Ok(batch) => decoded += batch.num_rows() as u64,
                    Err(LoadError::Widened) => {}
                    Err(error) => return Err(error),
                }
            }
            let widened = source.format.is_widened();
            if !widened {
                meter.tell(source.format.notices());
            }
            source = source.wider()?;
            source.rows = (!widened).then_some(decoded);
        }
        Ok(source)
    }

    /// Looks the files through only so far as is cheap: of CSV the first records. The schema
    /// may turn out too narrow; [`Source::load`] sees to that.
    ///
    /// # Errors
    /// As [`Source::open_with`], as far as it has looked.
    pub fn begin(paths: &[PathBuf], options: &Options, meter: &Meter) -> Result<Self, LoadError> {
        meter.enter(Stage::Listing, 0);
        let Found { files, skipped, .. } = discover(paths, options, meter)?;
        meter.enter(Stage::Scanning, files.iter().map(|file| file.bytes).sum());
        let asked = of_files(&files, options)?;
        let format: Arc<dyn Format> = match files[0].kind {
            Kind::Csv => Arc::new(CsvPlan::new(files.clone(), &asked, meter)?),
            Kind::Parquet => Arc::new(ParquetPlan::new(&files, &asked, meter)?),
            Kind::Json => Arc::new(JsonPlan::new(&files, &asked, meter)?),
            Kind::Arrow => Arc::new(IpcPlan::new(&files, &asked, meter)?),
        };
        let finish = finish(&*format, &files, options)?;
        let rows = format.num_rows();
        let (options, meter) = (options.clone(), meter.clone());
        Ok(Self { files, skipped, format, finish, rows, options, meter })
    }

    /// Gives schema and batches to `into`, in one pass where the types of CSV columns turn
    /// out to be those of the first records, else again from the start: what `into` has made
    /// of an earlier call must be dropped by it when the batches end in an error.
    ///
    /// # Errors
    /// What `into` returns.
    pub fn load<T, E>(
        mut self,
        mut into: impl FnMut(SchemaRef, Batches) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: From<LoadError>,
    {
        loop {
            let again = self.clone();
            match into(self.schema(), self.batches()) {
                Err(_) if again.format.is_widened() => self = again.wider()?,
                Ok(loaded) => {
                    again.meter.tell(again.format.notices());
                    return Ok(loaded);
                }
                failed => return failed,
            }
        }
    }

    /// With the types that all values ask for which were seen.
    fn wider(mut self) -> Result<Self, LoadError> {
        if let Some((format, files)) = self.format.wider()? {
            self.finish = finish(&*format, &files, &self.options)?;
            (self.format, self.files) = (format, files);
        }
        Ok(self)
    }

    /// The schema of all files together.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.finish.schema()
    }

    /// The files, in the order of their rows.
    #[must_use]
    pub fn files(&self) -> &[InputFile] {
        &self.files
    }

    /// Files that were found and passed over: hidden, empty, or of no known kind.
    #[must_use]
    pub fn num_skipped(&self) -> usize {
        self.skipped
    }

    /// The byte between the fields of CSV, where it was neither told nor a comma.
    #[must_use]
    pub fn found_delimiter(&self) -> Option<u8> {
        self.format.found_delimiter()
    }

    /// Bytes of all files, as stored.
    #[must_use]
    pub fn bytes_total(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Rows of all files together, where they are known: CSV must have been opened by
    /// [`Source::open`], all others state or count them.
    #[must_use]
    pub fn num_rows(&self) -> Option<u64> {
        self.rows
    }

    /// Starts decoding.
    #[must_use]
    pub fn batches(self) -> Batches {
        self.meter.enter(Stage::Decoding, self.bytes_total());
        self.decoding()
    }

    fn decoding(self) -> Batches {
        let (rows, bytes) = (self.options.batch_rows(), self.options.batch_bytes);
        let joiner = Joiner::new(self.schema(), rows, bytes);
        let threads = self.options.threads();
        Batches::new(self.format, self.finish, self.files, threads, joiner, self.meter)
    }
}

fn finish(
    format: &dyn Format,
    files: &[InputFile],
    options: &Options,
) -> Result<Finish, LoadError> {
    let paths = if options.hive { path_columns(files)? } else { Vec::new() };
    Finish::new(&format.schema(), paths, files, options)
}

/// What the files are asked for: the columns that are not made of their paths. Where both
/// have one and it was asked for, it is the path's.
fn of_files(files: &[InputFile], options: &Options) -> Result<Options, LoadError> {
    let mut options = options.clone();
    if let Some(wanted) = &mut options.columns {
        let paths = if options.hive { path_columns(files)? } else { Vec::new() };
        wanted.retain(|name| !paths.iter().any(|column| column.field.name() == name));
        options.csv.columns = Some(wanted.clone());
    }
    Ok(options)
}
