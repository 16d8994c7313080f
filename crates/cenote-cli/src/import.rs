//! `cenote import`: frames out of a file of `cenote export`.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cenote::{FrameWriter, IfExists, Pool, Refusal};
use clap::Args;
use serde::Serialize;
use tar::Archive;

use crate::args::{PoolArgs, seconds};
use crate::connect::connect_or_start;
use crate::dump::{Described, Dump, Item};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, Format};
use crate::table::count;

const AFTER_HELP: &str = "\
Examples:
  cenote import monday.cenote
  cenote import monday.cenote prices --as prices=prices-monday
  ssh other cenote export --all -o - | cenote import - --replace

Nothing is seen of the frames before the whole file was read and every checksum was right.";

const INTERRUPTED: &str = "interrupted: nothing was imported";

/// Put the frames of an export back into the pool
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Import {
    /// The file; or - for standard input
    path: PathBuf,
    /// Only these frames [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Make new versions of frames that exist
    #[arg(long)]
    replace: bool,
    /// Give a frame another name; may be repeated
    #[arg(long = "as", value_name = "NAME=NEW", value_parser = pair)]
    renamed: Vec<(String, String)>,
    /// Wait so long for room in the pool [default: 0]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    wait: Option<Duration>,
    #[command(flatten)]
    format: Format,
}

#[derive(Debug, Serialize)]
struct Done {
    frames: Vec<Imported>,
    num_rows: u64,
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct Imported {
    name: String,
    version: u64,
    num_rows: u64,
}

/// A frame on its way in.
struct Coming {
    described: Described,
    name: String,
    writer: Option<FrameWriter>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => Ok((old.into(), new.into())),
        _ => Err("write NAME=NEW".to_owned()),
    }
}

impl Import {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        if self.path.as_os_str() == "-" {
            return self.read(pool, io::stdin().lock(), "standard input".to_owned());
        }
        let path = self.path.display();
        let file = File::open(&self.path)
            .map_err(|error| Failure::doing(format_args!("read {path}"), &error))?;
        self.read(pool, BufReader::with_capacity(1 << 20, file), path.to_string())
    }

    fn read(&self, pool: &PoolArgs, from: impl Read, name: String) -> Result<(), Failure> {
        let began = Instant::now();
        let interrupt = Interrupt::listen()?;
        let mut archive = Archive::new(from);
        let mut dump = Dump::begin(&mut archive, name)?;
        let wanted = self.names.iter().chain(self.renamed.iter().map(|(old, _)| old));
        for name in wanted {
            if !dump.frames.contains(name) {
                let known = dump.frames.join(", ");
                return Err(Failure::new(format!("the export has no frame {name:?}"))
                    .hint(format!("it has: {known}")));
            }
        }
        let pool = connect_or_start(pool)?;
        self.check_names(&pool, &dump.frames)?;
        let mut coming: Vec<Coming> = Vec::new();
        let mut skipping = false;
        while let Some(item) = dump.next()? {
            interrupt.check(INTERRUPTED)?;
            match item {
                Item::Frame(described) => {
                    skipping = !self.is_wanted(&described.name);
                    if !skipping {
                        let name = self.new_name(&described.name);
                        coming.push(Coming { described, name, writer: None });
                    }
                }
                Item::Rows(..) if skipping => {}
                Item::Rows(schema, batches) => {
                    let Some(frame) = coming.last_mut() else { continue };
                    let failed = |error| Failure::of_pool(&error);
                    if frame.writer.is_none() {
                        let exists = if self.replace { IfExists::Replace } else { IfExists::Fail };
                        let writer = pool.writer(&frame.name, schema, exists).map_err(failed)?;
                        let writer = writer.source(frame.described.source.clone());
                        frame.writer = Some(writer.wait(self.wait.unwrap_or(Duration::ZERO)));
                    }
                    let Some(writer) = &mut frame.writer else { continue };
                    writer.write_all(&batches).map_err(failed)?;
                }
            }
        }
        let done = commit(coming, &interrupt, began)?;
        if self.format.json { output::print_json(&done) } else { output::print(&done.line()) }
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| wanted == name)
    }

    fn new_name(&self, name: &str) -> String {
        let renamed = self.renamed.iter().find(|(old, _)| old == name);
        renamed.map_or(name, |(_, new)| new).to_owned()
    }

    /// Says at once what the commits would say after all has been read.
    fn check_names(&self, pool: &Pool, frames: &[String]) -> Result<(), Failure> {
        let frames = frames.iter().filter(|name| self.is_wanted(name));
        let mut names: Vec<String> = frames.map(|name| self.new_name(name)).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Failure::usage(format!("two frames would be called {:?}", twice[0])));
        }
        if self.replace {
            return Ok(());
        }
        let known = pool.frames().map_err(|error| Failure::of_pool(&error))?;
        match known.into_iter().find(|frame| names.contains(&frame.name)) {
            None => Ok(()),
            Some(frame) => {
                let refusal = Refusal::Exists { name: frame.name.clone() };
                Err(Failure::of_pool(&refusal.into()).hint(format!(
                    "--replace makes a new version of it; --as {}=NEW gives another name",
                    frame.name
                )))
            }
        }
    }
}

fn commit(coming: Vec<Coming>, interrupt: &Interrupt, began: Instant) -> Result<Done, Failure> {
    for frame in &coming {
        let rows = frame.writer.as_ref().map_or(0, FrameWriter::num_rows);
        if rows != frame.described.num_rows {
            let (name, wanted) = (&frame.described.name, frame.described.num_rows);
            let text = format!("frame {name:?} has {rows} rows in the export and not {wanted}");
            return Err(Failure::new(text).hint("export again; nothing was imported"));
        }
    }
    interrupt.check(INTERRUPTED)?;
    let (mut frames, mut num_rows) = (Vec::new(), 0);
    for frame in coming {
        let Some(writer) = frame.writer else { continue };
        let rows = writer.num_rows();
        let version = writer.commit().map_err(|error| Failure::of_pool(&error))?;
        num_rows += rows;
        frames.push(Imported { name: frame.name, version, num_rows: rows });
    }
    Ok(Done { frames, num_rows, seconds: began.elapsed().as_secs_f64() })
}

impl Done {
    fn line(&self) -> String {
        let one = |frame: &Imported| {
            let rows = count(frame.num_rows, "row");
            format!("{} v{}: {rows}\n", frame.name, frame.version)
        };
        let frames: String = self.frames.iter().map(one).collect();
        let all = count(self.frames.len() as u64, "frame");
        format!("{frames}{all}, {} in {:.2} s\n", count(self.num_rows, "row"), self.seconds)
    }
}
