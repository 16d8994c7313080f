//! `cenote export`: whole frames into one file.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::time::Instant;

use cenote::{Error, FrameLog, Pool, Refusal, Selection, VersionInfo, VersionState, Which};
use cenote_region::quantity::ByteSize;
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde::Serialize;

use crate::args::PoolArgs;
use crate::connect::connect;
use crate::dump::{Chosen, Export};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, Format};
use crate::table::count;
use crate::whole::WholeFile;

const AFTER_HELP: &str = "\
Examples:
  cenote export prices -o prices.cenote
  cenote export --all -o monday.cenote --compress
  cenote export --all -o - | ssh other cenote import -

The file is a tar archive of Arrow IPC streams with a checksum each, and appears only once it is
whole. It holds all versions that are kept, what made them, their tags, and what is kept; rows that
versions have in common are in it once.";

/// How often a version may go while the others are taken.
const TRIES_MAX: usize = 100;

/// Write whole frames into one file, for `cenote import`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ExportFrames {
    /// The frames
    #[arg(required_unless_present = "all", value_name = "NAME")]
    #[arg(add = ArgValueCompleter::new(crate::complete::frames))]
    names: Vec<String>,
    /// All frames of the pool
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// The file; or - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Only the current version of each
    #[arg(long)]
    current: bool,
    /// Compress the data with Zstandard
    #[arg(long)]
    compress: bool,
    #[command(flatten)]
    format: Format,
}

#[derive(Debug, Serialize)]
struct Done {
    path: PathBuf,
    frames: Vec<String>,
    /// Of all frames together.
    num_versions: usize,
    num_rows: u64,
    bytes: u64,
    seconds: f64,
}

impl ExportFrames {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let began = Instant::now();
        let pool = connect(pool)?;
        let interrupt = Interrupt::listen()?;
        let frames = self.chosen(&pool)?;
        let to_stdout = self.output.as_os_str() == "-";
        if to_stdout {
            if output::to_terminal() {
                return Err(Failure::usage("an export is nothing for a terminal")
                    .hint("pipe it: cenote export --all -o - | …"));
            }
            return self.write(&frames, io::stdout().lock(), &interrupt).map(drop);
        }
        let failed = |error: &(dyn std::error::Error + 'static)| {
            Failure::doing(format_args!("write {}", self.output.display()), error)
        };
        let mut whole = WholeFile::begin(&self.output).map_err(|error| failed(&error))?;
        let num_rows = self.write(&frames, whole.file(), &interrupt)?;
        let bytes = whole.finish().map_err(|error| failed(&error))?;
        let done = Done {
            path: self.output.clone(),
            num_versions: frames.iter().map(|frame| frame.versions.len()).sum(),
            frames: frames.into_iter().map(|frame| frame.name).collect(),
            num_rows,
            bytes,
            seconds: began.elapsed().as_secs_f64(),
        };
        if self.format.json { output::print_json(&done) } else { output::print(&done.line()) }
    }

    fn chosen(&self, pool: &Pool) -> Result<Vec<Chosen>, Failure> {
        let failed = |error: Error| Failure::of_pool(&error);
        let names = if self.all {
            pool.frames().map_err(failed)?.into_iter().map(|frame| frame.name).collect()
        } else {
            self.names.clone()
        };
        names.iter().map(|name| self.versions(pool, name).map_err(failed)).collect()
    }

    /// The versions of a frame that can be had, leased.
    fn versions(&self, pool: &Pool, name: &str) -> Result<Chosen, Error> {
        let mut tries = 0;
        loop {
            let FrameLog { name, keep, mut versions } = pool.log(name)?;
            versions.retain(|version| match version.state {
                VersionState::Current => true,
                VersionState::Kept => !self.current,
                VersionState::Gone | VersionState::Lost => false,
            });
            let open = |info: VersionInfo| {
                let which = Which::Version(info.version);
                let frame = pool.get_selected(&name, &Selection { which, ..Selection::default() });
                frame.map(|frame| (info, frame))
            };
            match versions.into_iter().map(open).collect() {
                Ok(versions) => return Ok(Chosen { name, keep, versions }),
                // one has gone meanwhile
                Err(Error::Refused(Refusal::NoVersion { .. })) if tries < TRIES_MAX => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn write(
        &self,
        frames: &[Chosen],
        to: impl Write,
        interrupt: &Interrupt,
    ) -> Result<u64, Failure> {
        let mut num_rows = 0;
        let to = BufWriter::with_capacity(1 << 20, to);
        let mut export = Export::begin(to, frames, self.compress)?;
        for frame in frames {
            let mut go_on = |rows: u64| {
                num_rows += rows;
                interrupt.check("interrupted: no file was written")
            };
            export.frame(frame, &mut go_on)?;
        }
        export.end()?.flush().map_err(|error| Failure::doing("write an export", &error))?;
        Ok(num_rows)
    }
}

impl Done {
    fn line(&self) -> String {
        format!(
            "{}: {}, {}, {}, {} in {:.2} s\n",
            self.path.display(),
            count(self.frames.len() as u64, "frame"),
            count(self.num_versions as u64, "version"),
            count(self.num_rows, "row"),
            ByteSize(self.bytes),
            self.seconds,
        )
    }
}
