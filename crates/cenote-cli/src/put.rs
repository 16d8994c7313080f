//! `cenote put`: files become a frame.

mod csv;
mod name;
pub(crate) mod watch;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use cenote::{Error, IfExists, Pool, Refusal, SourceFile};
use cenote_load::{Checksums, InputFile, Kind, Options, Source};
use cenote_pool::message::check_name;
use cenote_region::quantity::ByteSize;
use clap::Args;
use serde::Serialize;

use crate::args::{PoolArgs, seconds};
use crate::connect::{connect_if_served, connect_or_start};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, Format};
use crate::table::{count, grouped};
use csv::Csv;
use watch::Watch;

const AFTER_HELP: &str = "\
Examples:
  cenote put prices/                        all files below a folder: frame `prices`
  cenote put day.csv --name prices --replace
  cenote put day2.csv --name prices --append  its rows are added, at the cost of what is new
  cenote put a.parquet b.parquet --name ab  several files or folders, one below the other
  cenote put 'ticks/**/2024-*.csv.gz' --name ticks       a pattern, quoted
  cenote put ticks.zip --schema 'cusip:utf8,at:timestamp[ns, UTC]' --wait 60
  zcat x.gz | cenote put - --format csv --name x         standard input
  cenote put de.csv --decimal , --thousands . --date-format %d.%m.%Y --encoding latin1

What a file holds is told by its content. The type of a column of CSV or JSON is decided by all
of its values in all files; --schema overrides it. Folders called key=value are columns.
Nothing is seen of the frame before it is whole. Ctrl-C, an error or a kill leaves nothing.
Without --address a daemon is started in the background where none runs.";

/// Put files into the pool as one frame
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Put {
    /// Parquet, CSV, JSON lines or Arrow IPC files, plain or in gzip, zstd, bzip2, xz or zip;
    /// folders of them; quoted patterns; or - for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The frame's name [default: that of the file or folder]
    #[arg(long)]
    name: Option<String>,
    /// Make a new version where the frame exists
    #[arg(long)]
    replace: bool,
    /// Add the rows to the frame where it exists: it must have the same columns
    #[arg(long, conflicts_with = "replace")]
    append: bool,
    /// Only if the frame is at this version, 0 for none
    #[arg(long, value_name = "N")]
    expect_version: Option<u64>,
    /// A word on this version, for `cenote log`
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Note a checksum (XXH3) of each file, for `cenote log --json`: they are read once more
    #[arg(long)]
    checksum: bool,
    /// What the files hold: csv, parquet, json or arrow [default: what they look like]
    #[arg(long = "format", value_name = "FORMAT")]
    kind: Option<Kind>,
    /// Only these columns, in this order
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    columns: Option<Vec<String>>,
    /// Files may lack columns (null there), and types of Parquet and Arrow are widened without
    /// loss
    #[arg(long)]
    evolve: bool,
    /// Make no columns of folders called key=value
    #[arg(long)]
    no_hive: bool,
    #[command(flatten)]
    csv: Box<Csv>,
    /// Wait so long for room in the pool [default: 0]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    wait: Option<Duration>,
    #[command(flatten)]
    format: Format,
}

/// What was put.
#[derive(Debug, Serialize)]
struct Done {
    name: String,
    version: u64,
    num_rows: u64,
    num_columns: usize,
    nbytes: u64,
    source_bytes: u64,
    num_files: usize,
    num_skipped: usize,
    /// What `Notice` has to say.
    notices: Vec<String>,
    seconds: f64,
}

impl Put {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let began = Instant::now();
        cenote_region::heap::keep_freed();
        let name = name::of_frame(self.name.as_deref(), &self.paths)?;
        check_name(&name).map_err(|refusal| Failure::of_pool(&refusal.into()))?;
        let options = self.options()?;
        let interrupt = Interrupt::listen()?;
        let served = connect_if_served(pool)?;
        if let Some(pool) = &served {
            self.check_free(pool, &name)?;
        }
        let watch = Watch::begin(interrupt, !self.format.json);
        let ended = |failure: Failure| watch.check().err().unwrap_or(failure);
        let source = Source::begin(&self.paths, &options, watch.meter())
            .map_err(|error| ended(Failure::of(&error)))?;
        if let Some(delimiter) = source.found_delimiter()
            && !self.format.json
        {
            output::note(&format!(
                "fields are separated by {:?}; --delimiter says otherwise",
                char::from(delimiter)
            ));
        }
        // Only now: what is seen to be no table starts no daemon.
        let pool = match served {
            Some(pool) => pool,
            None => connect_or_start(pool)?,
        };
        let done = self.load(&pool, name, source, &watch, began).map_err(ended)?;
        drop(watch);
        if self.format.json {
            return output::print_json(&done);
        }
        if done.num_skipped > 0 {
            let skipped = count(done.num_skipped as u64, "file");
            output::note(&format!("{skipped} skipped: hidden, empty or of no known format"));
        }
        done.notices.iter().for_each(|notice| output::note(notice));
        output::print(&done.line())
    }

    fn load(
        &self,
        pool: &Pool,
        name: String,
        source: Source,
        watch: &Watch,
        began: Instant,
    ) -> Result<Done, Failure> {
        let failed = |error: Error| Failure::of_pool(&error);
        let if_exists = self.if_exists();
        let source_bytes = source.bytes_total();
        let (num_files, num_skipped) = (source.files().len(), source.num_skipped());
        let files: Vec<SourceFile> = source.files().iter().map(source_file).collect();
        let checksums = self.checksum.then(|| Checksums::begin(source.files(), watch.meter()));
        let checksums = checksums.transpose().map_err(|error| Failure::of(&error))?;
        // Called again where a late value asks for a wider type; the first writer is gone then.
        let (mut writer, num_columns) = source.load(|schema, batches| {
            let num_columns = schema.fields().len();
            let writer = pool.writer(&name, schema, if_exists).map_err(failed)?;
            let writer = writer.source(name::of_source(&self.paths));
            let mut writer = writer.wait(self.wait.unwrap_or(Duration::ZERO));
            if let Some(version) = self.expect_version {
                writer = writer.expect_version(version);
            }
            writer.made().files.clone_from(&files);
            writer.made().note = self.note.clone().unwrap_or_default();
            let batches = batches.map(|batch| batch.map_err(|e| Error::Source(Box::new(e))));
            writer.write_stream(batches).map_err(failed)?;
            Ok::<_, Failure>((writer, num_columns))
        })?;
        if let Some(checksums) = checksums {
            let checksums = checksums.finish().map_err(|error| Failure::of(&error))?;
            for (file, checksum) in writer.made().files.iter_mut().zip(checksums) {
                file.checksum = Some(checksum);
            }
        }
        let (num_rows, nbytes) = (writer.num_rows(), writer.nbytes());
        // From here on the frame is either there or not; Ctrl-C would not say which.
        watch.check()?;
        let notices = watch.meter().notices().iter().map(ToString::to_string).collect();
        let version = writer.commit().map_err(failed)?;
        let seconds = began.elapsed().as_secs_f64();
        Ok(Done {
            name,
            version,
            num_rows,
            num_columns,
            nbytes,
            source_bytes,
            num_files,
            num_skipped,
            notices,
            seconds,
        })
    }

    fn if_exists(&self) -> IfExists {
        if self.append {
            return IfExists::Append;
        }
        let replace = self.replace || self.expect_version.is_some_and(|version| version > 0);
        if replace { IfExists::Replace } else { IfExists::Fail }
    }

    fn options(&self) -> Result<Options, Failure> {
        Ok(Options {
            format: self.kind,
            columns: self.columns.clone(),
            evolve: self.evolve,
            hive: !self.no_hive,
            ..self.csv.options()?
        })
    }

    /// Says at once what the commit would say after all has been read.
    fn check_free(&self, pool: &Pool, name: &str) -> Result<(), Failure> {
        if self.if_exists() != IfExists::Fail {
            return Ok(());
        }
        let frames = pool.frames().map_err(|error| Failure::of_pool(&error))?;
        if frames.iter().any(|frame| frame.name == name) {
            let refusal = Refusal::Exists { name: name.to_owned() };
            return Err(Failure::of_pool(&refusal.into()));
        }
        Ok(())
    }
}

/// What is remembered of a file.
pub(crate) fn source_file(file: &InputFile) -> SourceFile {
    SourceFile {
        path: file.absolute(),
        bytes: file.bytes(),
        modified_ns: file.modified_ns(),
        checksum: None,
    }
}

impl Done {
    fn line(&self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a rate, shown with three digits")]
        let rate = self.num_rows as f64 / self.seconds.max(1e-9);
        format!(
            "{} v{}: {} x {}, {} in {:.2} s, {} rows/s\n",
            self.name,
            self.version,
            count(self.num_rows, "row"),
            count(self.num_columns as u64, "column"),
            ByteSize(self.nbytes),
            self.seconds,
            rounded(rate),
        )
    }
}

/// A rate as `812`, `95,200`, `12.3 M`.
fn rounded(rate: f64) -> String {
    if rate >= 1e6 {
        return format!("{:.1} M", rate / 1e6);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 10^6")]
    let whole = rate.max(0.0) as u64;
    let unit = if whole >= 10_000 { 100 } else { 1 };
    grouped(whole / unit * unit)
}
