//! A frame into a file, or to standard output. A file appears under its name only once it is
//! whole.

mod dictionary;
mod format;
mod out;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use cenote::Frame;
use cenote_region::quantity::ByteSize;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::table::count;
use crate::whole::WholeFile;
use dictionary::Unified;
use format::{Kind, Writer};
use out::{Compression, Out};

/// Rows are handed to a writer in so many at a time, so that Ctrl-C is soon heard.
const ROWS_AT_ONCE: usize = 1 << 16;
/// What the shell shows of a frame on its way to standard output.
const STANDARD_OUTPUT: &str = "-";

/// Where a frame is written to, and how.
#[derive(Debug)]
pub(crate) struct Destination {
    path: PathBuf,
    kind: Kind,
    compression: Compression,
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
    /// The kind of file is in its ending, unless it is said; `-` is standard output.
    ///
    /// # Errors
    /// Nothing says the kind; what is no text is to be compressed once more, or to be shown
    /// on a terminal.
    pub(crate) fn at(path: &Path, format: Option<&str>) -> Result<Destination, Failure> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let (compression, stem) = Compression::of(&name);
        let ending = stem.rsplit_once('.').map_or("", |(_, ending)| ending);
        let Some(kind) = Kind::of(format.unwrap_or(ending)) else {
            let failure = match format {
                Some(format) => Failure::usage(format!("{format:?} is no format")),
                None if path.as_os_str() == STANDARD_OUTPUT => {
                    Failure::usage("nothing says what to write to standard output")
                }
                None => Failure::usage(format!(
                    "the ending of {} does not say what to write",
                    path.display()
                )),
            };
            return Err(failure.hint(
                "name the file .parquet, .arrow (a file), .arrows (a stream), .csv or .jsonl, the \
                 last two also with .gz or .zst; or say --format",
            ));
        };
        if compression != Compression::None && !kind.is_text() {
            let text = format!("{} brings a compression of its own", kind.name());
            return Err(Failure::usage(text).hint("leave the ending away"));
        }
        let destination = Destination { path: path.to_owned(), kind, compression };
        if destination.is_standard_output() && !kind.is_text() && output::to_terminal() {
            let text = format!("{} is nothing for a terminal", kind.name());
            return Err(Failure::usage(text).hint("pipe it into something: … -o - | …"));
        }
        Ok(destination)
    }

    /// Whether what is written goes where results are printed.
    pub(crate) fn is_standard_output(&self) -> bool {
        self.path.as_os_str() == STANDARD_OUTPUT
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

/// Writes the frame; `show`: with a bar on a terminal.
///
/// # Errors
/// The file cannot be written, or does not take the frame's types; the user interrupts. A
/// file of that name is then as it was.
pub(crate) fn save(
    frame: &Frame,
    destination: &Destination,
    interrupt: &Interrupt,
    show: bool,
) -> Result<Written, Failure> {
    let began = Instant::now();
    let path = &destination.path;
    destination.kind.check(frame.schema())?;
    let failed = |error: &(dyn std::error::Error + 'static)| {
        Failure::doing(format_args!("write {}", path.display()), error)
    };
    let bytes = if destination.is_standard_output() {
        match write(frame, destination, io::stdout(), interrupt, show) {
            // whoever read it has had enough
            Err(Fault::Write(error)) if is_broken_pipe(&*error) => 0,
            outcome => outcome.map(|()| 0).map_err(|fault| fault.into_failure(path))?,
        }
    } else {
        let mut whole = WholeFile::begin(path).map_err(|error| failed(&error))?;
        write(frame, destination, whole.file(), interrupt, show)
            .map_err(|f| f.into_failure(path))?;
        whole.finish().map_err(|error| failed(&error))?
    };
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

/// Why a frame was not written.
enum Fault {
    Write(format::Fault),
    Other(Failure),
}

impl Fault {
    fn into_failure(self, path: &Path) -> Failure {
        match self {
            Fault::Write(error) => {
                Failure::doing(format_args!("write {}", path.display()), &*error)
            }
            Fault::Other(failure) => failure,
        }
    }
}

impl From<format::Fault> for Fault {
    fn from(error: format::Fault) -> Fault {
        Fault::Write(error)
    }
}

fn write<W: Write + Send>(
    frame: &Frame,
    destination: &Destination,
    to: W,
    interrupt: &Interrupt,
    show: bool,
) -> Result<(), Fault> {
    let batches = frame.batches().map_err(|error| Fault::Other(Failure::of_pool(&error)))?;
    let to = BufWriter::with_capacity(1 << 20, to);
    let out = Out::new(to, destination.compression).map_err(|error| Fault::Write(error.into()))?;
    let mut writer = Writer::begin(destination.kind, out, frame.schema())?;
    let unified = match destination.kind {
        Kind::Arrow => Some(Unified::of(&batches).map_err(|error| Fault::Write(error.into()))?),
        _ => None,
    };
    let bar = bar(frame.num_rows(), show);
    for (at, batch) in batches.iter().enumerate() {
        let common = unified.as_ref().map(|unified| unified.batch(at, batch)).transpose();
        let common = common.map_err(|error| Fault::Write(error.into()))?;
        let batch = &common.unwrap_or_else(|| batch.clone());
        for start in (0..batch.num_rows()).step_by(ROWS_AT_ONCE) {
            interrupt.check("interrupted: no file was written").map_err(Fault::Other)?;
            let rows = ROWS_AT_ONCE.min(batch.num_rows() - start);
            writer.write(&batch.slice(start, rows))?;
            bar.inc(rows as u64);
        }
    }
    bar.finish_and_clear();
    writer.end()?.end().map_err(|error| Fault::Write(error.into()))
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        // Arrow's writers keep the text alone
        if kind == Some(io::ErrorKind::BrokenPipe) || error.to_string().contains("Broken pipe") {
            return true;
        }
        next = error.source();
    }
    false
}

fn bar(rows: u64, show: bool) -> ProgressBar {
    let target = if show { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template(
        "writing {bar:30} {human_pos} of {human_len} rows, {eta} left",
    );
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("█▌·");
    ProgressBar::with_draw_target(Some(rows), target).with_style(style)
}
