//! What is to be loaded: files, their common schema, their number of rows.

use std::collections::VecDeque;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::batches::{Batches, Part};
use crate::csv::CsvPlan;
use crate::discover::discover;
use crate::error::LoadError;
use crate::file::{InputFile, Kind};
use crate::join::Joiner;
use crate::meter::{Meter, Stage};
use crate::options::Options;
use crate::parquet::ParquetPlan;

/// Files that were looked through and fit together.
#[derive(Debug, Clone)]
pub struct Source {
    files: Vec<InputFile>,
    plan: Plan,
    /// Rows of all CSV files, where they were counted.
    rows: Option<u64>,
    options: Options,
    meter: Meter,
}

/// How the files are decoded.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    Csv(CsvPlan),
    Parquet(ParquetPlan),
}

impl Source {
    /// Opens what `paths` name: files, zip archives, and folders with all below them.
    ///
    /// Schema and number of rows are those of all files. Cost: CSV is decoded whole for them;
    /// [`Source::load`] decodes once.
    /// # Errors
    /// [`LoadError`]: whatever is wrong with CSV, and with Parquet what can be seen without
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
            let widened = source.plan.is_widened();
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
        let files = discover(paths)?;
        meter.enter(Stage::Scanning, files.iter().map(|file| file.bytes).sum());
        let plan = match files[0].kind {
            Kind::Csv => Plan::Csv(CsvPlan::new(files.clone(), options, meter)?),
            Kind::Parquet => Plan::Parquet(ParquetPlan::new(&files, options, meter)?),
        };
        let rows = match &plan {
            Plan::Csv(_) => None,
            Plan::Parquet(plan) => Some(plan.rows()),
        };
        Ok(Self { files, plan, rows, options: options.clone(), meter: meter.clone() })
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
                Err(_) if again.plan.is_widened() => self = again.wider()?,
                outcome => return outcome,
            }
        }
    }

    /// With the types that all values ask for which were seen.
    fn wider(mut self) -> Result<Self, LoadError> {
        if let Plan::Csv(plan) = &self.plan {
            let next = plan.next()?;
            self.files = next.files().to_vec();
            self.plan = Plan::Csv(next);
        }
        Ok(self)
    }

    /// The schema of all files together.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.plan.schema()
    }

    /// The files, in the order of their rows.
    #[must_use]
    pub fn files(&self) -> &[InputFile] {
        &self.files
    }

    /// Bytes of all files, as stored.
    #[must_use]
    pub fn bytes_total(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Rows of all files together, where they are known: Parquet states them, CSV must have
    /// been opened by [`Source::open`].
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
        let rows = self.options.batch_rows();
        let joiner = Joiner::new(self.schema(), rows, self.options.batch_bytes);
        Batches::new(self.plan, self.files, self.options.threads(), joiner, self.meter)
    }
}

impl Plan {
    pub(crate) fn schema(&self) -> SchemaRef {
        match self {
            Self::Csv(plan) => plan.schema(),
            Self::Parquet(plan) => plan.schema.clone(),
        }
    }

    pub(crate) fn parts(&self, files: &[InputFile]) -> VecDeque<Part> {
        match self {
            Self::Csv(plan) => {
                let parts = plan.parts().enumerate();
                parts.map(|(at, file)| Part { file, range: at..at + 1 }).collect()
            }
            Self::Parquet(plan) => {
                let mut parts = VecDeque::new();
                for (file, input) in files.iter().enumerate() {
                    let ranges = plan.parts(file, input).into_iter();
                    parts.extend(ranges.map(|range| Part { file, range }));
                }
                parts
            }
        }
    }

    /// Whether nothing that was decoded is of use: the types were too narrow.
    pub(crate) fn is_widened(&self) -> bool {
        matches!(self, Self::Csv(plan) if plan.is_widened())
    }

    /// Decodes a part and hands on each batch with its share of the file's stored bytes.
    pub(crate) fn decode(
        &self,
        input: &InputFile,
        part: &Part,
        take: &mut dyn FnMut(RecordBatch, u64) -> bool,
    ) -> Result<(), LoadError> {
        match self {
            Self::Csv(plan) => plan.decode(part.range.start, take),
            Self::Parquet(plan) => plan.decode(input, part.file, part.range.clone(), take),
        }
    }
}
