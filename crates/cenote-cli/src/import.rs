//! `cenote import`: frames out of a file of `cenote export`.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use arrow_schema::SchemaRef;
use cenote::{Error, FrameWriter, IfExists, Pool, Refusal};
use clap::Args;
use serde::Serialize;
use tar::Archive;

use crate::args::{PoolArgs, seconds};
use crate::connect::connect_or_start;
use crate::dump::{Described, DescribedVersion, Dump, Item};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, Format};
use crate::table::count;

const AFTER_HELP: &str = "\
Examples:
  cenote import monday.cenote
  cenote import monday.cenote prices --as prices=prices-monday
  ssh other cenote export --all -o - | cenote import - --replace

Nothing is seen of the frames before the whole file was read and every checksum was right.
A frame that is new here has its versions with their numbers, times, tags and what made them. With
--replace the current version alone becomes the next one of a frame that there is.";

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
    /// The current one.
    version: u64,
    num_versions: usize,
    /// Rows that were written.
    num_rows: u64,
}

/// A frame on its way in.
struct Coming {
    described: Described,
    name: String,
    /// Whether it is new here: then its versions come as they were. Else only the current one
    /// comes, as the next one of the frame that there is.
    is_new: bool,
    versions: Vec<ComingVersion>,
}

/// A version on its way in.
struct ComingVersion {
    described: DescribedVersion,
    /// Rows of the versions before that it has, too.
    rows_before: u64,
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
        let known = self.check_names(&pool, &dump.frames)?;
        let mut coming: Vec<Coming> = Vec::new();
        let mut skipping = false;
        while let Some(item) = dump.next()? {
            interrupt.check(INTERRUPTED)?;
            match item {
                Item::Frame(described) => {
                    skipping = !self.is_wanted(&described.name);
                    if !skipping {
                        let name = self.new_name(&described.name);
                        let (is_new, versions) = (!known.contains(&name), Vec::new());
                        coming.push(Coming { described, name, is_new, versions });
                    }
                }
                Item::Version(_) | Item::Rows(..) if skipping => {}
                Item::Version(version) => {
                    let Some(frame) = coming.last_mut() else { continue };
                    frame.begin(*version)?;
                }
                Item::Rows(schema, batches) => {
                    let Some(frame) = coming.last_mut() else { continue };
                    let writer = frame.writer(&pool, schema, self.wait)?;
                    writer.write_all(&batches).map_err(|error| Failure::of_pool(&error))?;
                }
            }
        }
        let done = commit(&pool, coming, &interrupt, began)?;
        if self.format.json { output::print_json(&done) } else { output::print(&done.line()) }
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| wanted == name)
    }

    fn new_name(&self, name: &str) -> String {
        let renamed = self.renamed.iter().find(|(old, _)| old == name);
        renamed.map_or(name, |(_, new)| new).to_owned()
    }

    /// Says at once what the commits would say after all has been read. Which frames there are.
    fn check_names(&self, pool: &Pool, frames: &[String]) -> Result<Vec<String>, Failure> {
        let frames = frames.iter().filter(|name| self.is_wanted(name));
        let mut names: Vec<String> = frames.map(|name| self.new_name(name)).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Failure::usage(format!("two frames would be called {:?}", twice[0])));
        }
        let known = pool.frames().map_err(|error| Failure::of_pool(&error))?;
        let known: Vec<String> = known.into_iter().map(|frame| frame.name).collect();
        match known.iter().find(|name| names.contains(name)) {
            Some(name) if !self.replace => {
                let refusal = Refusal::Exists { name: name.clone() };
                Err(Failure::of_pool(&refusal.into()).hint(format!(
                    "--replace makes a new version of it; --as {name}=NEW gives another name"
                )))
            }
            _ => Ok(known),
        }
    }
}

impl Coming {
    /// Another version begins.
    fn begin(&mut self, described: DescribedVersion) -> Result<(), Failure> {
        let before = self.versions.last();
        if described.goes_on && before.is_none() {
            let (name, version) = (&self.described.name, described.version);
            let text = format!("version {version} of {name:?} goes on from one that is not there");
            return Err(Failure::new(text).hint("export again; nothing was imported"));
        }
        let before = before.filter(|_| described.goes_on);
        let rows_before = before.map_or(0, |before| before.described.num_rows);
        if self.is_new {
            let version = ComingVersion { described, rows_before, writer: None };
            self.versions.push(version);
            return Ok(());
        }
        // The rows of the last one are needed, and of those that it goes on from.
        let writer = self.versions.pop().filter(|_| described.goes_on).and_then(|v| v.writer);
        self.versions.push(ComingVersion { described, rows_before: 0, writer });
        Ok(())
    }

    /// The writer of the version at hand.
    fn writer(
        &mut self,
        pool: &Pool,
        schema: SchemaRef,
        wait: Option<Duration>,
    ) -> Result<&mut FrameWriter, Failure> {
        let Some(version) = self.versions.last_mut() else {
            let text = format!("frame {:?} has rows before it has a version", self.described.name);
            return Err(Failure::new(text).hint("export again; nothing was imported"));
        };
        let exists = match (self.is_new, version.described.goes_on) {
            (false, _) => IfExists::Replace,
            (true, true) => IfExists::Append,
            // the first makes the frame, the others replace it
            (true, false)
                if self.described.versions.first() == Some(&version.described.version) =>
            {
                IfExists::Fail
            }
            (true, false) => IfExists::Replace,
        };
        let writer = match version.writer.take() {
            Some(writer) => writer,
            None => {
                let writer = pool.writer(&self.name, schema, exists);
                writer.map_err(|error| Failure::of_pool(&error))?.wait(wait.unwrap_or_default())
            }
        };
        Ok(version.writer.insert(writer))
    }

    /// Whether all rows have come.
    fn check(&self) -> Result<(), Failure> {
        let name = &self.described.name;
        for version in &self.versions {
            let new = version.writer.as_ref().map_or(0, FrameWriter::num_rows);
            let (rows, wanted) = (version.rows_before + new, version.described.num_rows);
            if rows != wanted {
                let number = version.described.version;
                let text = format!(
                    "version {number} of {name:?} has {rows} rows in the export and not {wanted}"
                );
                return Err(Failure::new(text).hint("export again; nothing was imported"));
            }
        }
        let found = self.versions.iter().map(|version| version.described.version);
        if self.is_new && !found.eq(self.described.versions.iter().copied()) {
            let text = format!("the versions of {name:?} are not those that are promised");
            return Err(Failure::new(text).hint("export again; nothing was imported"));
        }
        Ok(())
    }

    fn commit(self, pool: &Pool) -> Result<Imported, Error> {
        let (mut last, mut num_rows, num_versions) = (0, 0, self.versions.len());
        let mut is_first = true;
        for ComingVersion { described, writer, .. } in self.versions {
            let Some(writer) = writer else { continue };
            num_rows += writer.num_rows();
            let mut writer = writer.source(described.source);
            *writer.made() = described.made;
            if !self.is_new {
                last = writer.commit()?;
                continue;
            }
            // whoever comes between is not replaced
            writer = writer.expect_version(last).restore(described.version, described.created_ns);
            last = writer.commit()?;
            // As they were made: what is kept is decided at each version's own time.
            if std::mem::take(&mut is_first) {
                pool.keep(&self.name, self.described.keep)?;
            }
            for (tag, _) in self.described.tags.iter().filter(|(_, version)| **version == last) {
                pool.tag(&self.name, tag, Some(last))?;
            }
        }
        Ok(Imported { name: self.name, version: last, num_versions, num_rows })
    }
}

fn commit(
    pool: &Pool,
    coming: Vec<Coming>,
    interrupt: &Interrupt,
    began: Instant,
) -> Result<Done, Failure> {
    coming.iter().try_for_each(Coming::check)?;
    interrupt.check(INTERRUPTED)?;
    let frames = coming.into_iter().map(|frame| frame.commit(pool));
    let frames: Vec<Imported> =
        frames.collect::<Result<_, _>>().map_err(|error| Failure::of_pool(&error))?;
    let num_rows = frames.iter().map(|frame| frame.num_rows).sum();
    Ok(Done { frames, num_rows, seconds: began.elapsed().as_secs_f64() })
}

impl Done {
    fn line(&self) -> String {
        let one = |frame: &Imported| {
            let rows = count(frame.num_rows, "row");
            let versions = match frame.num_versions {
                1 => String::new(),
                number => format!(", {}", count(number as u64, "version")),
            };
            format!("{} v{}: {rows}{versions}\n", frame.name, frame.version)
        };
        let frames: String = self.frames.iter().map(one).collect();
        let all = count(self.frames.len() as u64, "frame");
        format!("{frames}{all}, {} in {:.2} s\n", count(self.num_rows, "row"), self.seconds)
    }
}
