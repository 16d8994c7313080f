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
#[derive(Debug)]
pub struct Source {
    files: Vec<InputFile>,
    plan: Plan,
    options: Options,
    meter: Meter,
}

/// How the files are decoded.
#[derive(Debug)]
pub(crate) enum Plan {
    Csv(CsvPlan),
    Parquet(ParquetPlan),
}

impl Source {
    /// Opens what `paths` name: files, zip archives, and folders with all below them.
    ///
    /// Cost: CSV is read whole, by a few threads; of Parquet the footers are read.
    /// # Errors
    /// [`LoadError`]: whatever is wrong with the files and can be seen without decoding.
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
        meter.enter(Stage::Listing, 0);
        let mut files = discover(paths)?;
        meter.enter(Stage::Scanning, files.iter().map(|file| file.bytes).sum());
        let plan = match files[0].kind {
            Kind::Csv => Plan::Csv(CsvPlan::new(&mut files, options, meter)?),
            Kind::Parquet => Plan::Parquet(ParquetPlan::new(&files, options, meter)?),
        };
        Ok(Self { files, plan, options: options.clone(), meter: meter.clone() })
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

    /// Rows of all files together. Exact: CSV was read whole, and Parquet states it.
    #[must_use]
    pub fn num_rows(&self) -> u64 {
        match &self.plan {
            Plan::Csv(plan) => plan.rows(),
            Plan::Parquet(plan) => plan.rows(),
        }
    }

    /// Starts decoding.
    #[must_use]
    pub fn batches(self) -> Batches {
        self.meter.enter(Stage::Decoding, self.bytes_total());
        let rows = self.options.batch_rows();
        let joiner = Joiner::new(self.schema(), rows, self.options.batch_bytes);
        Batches::new(self.plan, self.files, self.options.threads(), joiner, self.meter)
    }
}

impl Plan {
    pub(crate) fn schema(&self) -> SchemaRef {
        match self {
            Self::Csv(plan) => plan.schema.clone(),
            Self::Parquet(plan) => plan.schema.clone(),
        }
    }

    pub(crate) fn parts(&self, files: &[InputFile]) -> VecDeque<Part> {
        let mut parts = VecDeque::new();
        for (file, input) in files.iter().enumerate() {
            match self {
                Self::Csv(plan) => {
                    let cuts = plan.file(file).cuts.len();
                    // only a plain file can be entered in its middle
                    let step = if input.is_plain() { 1 } else { cuts.max(1) };
                    let starts = (0..cuts).step_by(step);
                    parts.extend(starts.map(|at| Part { file, range: at..at + step }));
                }
                Self::Parquet(plan) => {
                    let ranges = plan.parts(file, input).into_iter();
                    parts.extend(ranges.map(|range| Part { file, range }));
                }
            }
        }
        parts
    }

    /// Decodes a part and hands on each batch with its share of the file's stored bytes.
    pub(crate) fn decode(
        &self,
        input: &InputFile,
        part: &Part,
        take: &mut dyn FnMut(RecordBatch, u64) -> bool,
    ) -> Result<(), LoadError> {
        match self {
            Self::Csv(plan) => {
                let total = u128::from(plan.file(part.file).bytes().max(1));
                let mut share = |batch, bytes: u64| {
                    let stored = u128::from(bytes) * u128::from(input.bytes) / total;
                    take(batch, u64::try_from(stored).unwrap_or(bytes))
                };
                plan.decode(input, part.file, part.range.clone(), &mut share)
            }
            Self::Parquet(plan) => plan.decode(input, part.file, part.range.clone(), take),
        }
    }
}
