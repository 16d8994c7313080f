//! `cenote export`: whole frames into one file.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::time::Instant;

use cenote::{FrameInfo, Pool};
use cenote_region::quantity::ByteSize;
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde::Serialize;

use crate::args::PoolArgs;
use crate::connect::connect;
use crate::dump::Export;
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

The file is a tar archive of Arrow IPC streams with a checksum each. It holds the frames'
current versions, and appears only once it is whole.";

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
            return self.write(&pool, &frames, io::stdout().lock(), &interrupt).map(drop);
        }
        let failed = |error: &(dyn std::error::Error + 'static)| {
            Failure::doing(format_args!("write {}", self.output.display()), error)
        };
        let mut whole = WholeFile::begin(&self.output).map_err(|error| failed(&error))?;
        let num_rows = self.write(&pool, &frames, whole.file(), &interrupt)?;
        let bytes = whole.finish().map_err(|error| failed(&error))?;
        let done = Done {
            path: self.output.clone(),
            frames: frames.into_iter().map(|frame| frame.name).collect(),
            num_rows,
            bytes,
            seconds: began.elapsed().as_secs_f64(),
        };
        if self.format.json { output::print_json(&done) } else { output::print(&done.line()) }
    }

    fn chosen(&self, pool: &Pool) -> Result<Vec<FrameInfo>, Failure> {
        let all = pool.frames().map_err(|error| Failure::of_pool(&error))?;
        if self.all {
            return Ok(all);
        }
        let find = |name: &String| match all.iter().find(|frame| &frame.name == name) {
            Some(frame) => Ok(frame.clone()),
            // says which names are near
            None => Err(pool.get(name).err().map_or_else(
                || Failure::new(format!("frame {name:?} came meanwhile")),
                |error| Failure::of_pool(&error),
            )),
        };
        self.names.iter().map(find).collect()
    }

    fn write(
        &self,
        pool: &Pool,
        frames: &[FrameInfo],
        to: impl Write,
        interrupt: &Interrupt,
    ) -> Result<u64, Failure> {
        let mut num_rows = 0;
        let to = BufWriter::with_capacity(1 << 20, to);
        let mut export = Export::begin(to, frames, self.compress)?;
        for info in frames {
            let frame = pool.get(&info.name).map_err(|error| Failure::of_pool(&error))?;
            let mut go_on = |rows: u64| {
                num_rows += rows;
                interrupt.check("interrupted: no file was written")
            };
            export.frame(&frame, info, &mut go_on)?;
        }
        export.end()?.flush().map_err(|error| Failure::doing("write an export", &error))?;
        Ok(num_rows)
    }
}

impl Done {
    fn line(&self) -> String {
        format!(
            "{}: {}, {}, {} in {:.2} s\n",
            self.path.display(),
            count(self.frames.len() as u64, "frame"),
            count(self.num_rows, "row"),
            ByteSize(self.bytes),
            self.seconds,
        )
    }
}
