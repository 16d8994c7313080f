//! Files that say what is computed, on what, and where the results go.
//!
//! What is wrong is told with the file's line. Factors are read by `cenote_panel::Library`, which
//! knows the keys of `[factors]` and `[definitions]`; the others are read here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cenote_panel::{Library, LibraryError};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::failure::Failure;

/// Keys that are not those of a file of factors.
const OWN: [&str; 5] = ["library", "only", "panel", "results", "ic"];
const OF_PANEL: [&str; 6] = ["files", "frame", "wide", "time", "symbol", "fields"];
const OF_RESULTS: [&str; 2] = ["name", "replace"];
const OF_IC: [&str; 5] = ["horizons", "delay", "bins", "least", "price"];
/// Most rows of a horizon or a delay.
const ROWS_MAX: usize = 1_000_000;

/// What a file asks for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) libraries: Vec<Library>,
    pub(super) only: Option<Vec<String>>,
    pub(super) own: Library,
    pub(super) panel: PanelSource,
    pub(super) time: Option<String>,
    pub(super) symbol: Option<String>,
    pub(super) fields: Option<Vec<String>>,
    pub(super) name: String,
    pub(super) replace: bool,
    pub(super) ic: Option<Ic>,
}

/// Where the panel comes from.
#[derive(Debug)]
pub(super) enum PanelSource {
    Files(Vec<PathBuf>),
    Frame(String),
    Wide(BTreeMap<String, PathBuf>),
}

/// What is asked of each factor.
#[derive(Debug)]
pub(super) struct Ic {
    pub(super) asked: cenote_panel::ic::Asked,
    pub(super) delay: Option<usize>,
    pub(super) price: String,
}

type Value<'a> = Spanned<DeValue<'a>>;

/// Reads a file; paths in it are relative to it.
pub(super) fn read(path: &Path) -> Result<Asked, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::doing(format!("read {}", path.display()), &error))?;
    let name = path.display().to_string();
    let folder = path.parent().unwrap_or(Path::new(""));
    let own = Library::parse_part(&text, &name, &OWN).map_err(|error| of_library(&error))?;
    let table = DeTable::parse(&text).map_err(|error| Failure::new(error.message()))?;
    Reader { text: &text, name, folder }.asked(table.get_ref(), own)
}

/// A library's fault, with a mark under that of a formula.
pub(super) fn of_library(error: &LibraryError) -> Failure {
    match error {
        LibraryError::Formula { file, line, factor, fault } => {
            let text = fault.to_string();
            let (problem, shown) = text.split_once('\n').unwrap_or((&text, ""));
            let character = fault.at + 1;
            Failure::new(format!("{file}:{line}: {factor}, character {character}: {problem}"))
                .shown(shown)
        }
        _ => Failure::of(error),
    }
}

struct Reader<'a> {
    text: &'a str,
    name: String,
    folder: &'a Path,
}

impl Reader<'_> {
    fn asked(&self, table: &DeTable<'_>, own: Library) -> Result<Asked, Failure> {
        let mut libraries = Vec::new();
        for (name, at) in self.names_at(table, "library")?.unwrap_or_default() {
            libraries.push(self.library(&name, at)?);
        }
        if own.factors().is_empty() && libraries.is_empty() {
            return Err(Failure::new(format!("{}: nothing to compute", self.name)).hint(
                "library = [\"alpha101\"] names a library, [factors] has formulas of your own; \
                 `cenote run --example` prints a file",
            ));
        }
        let only = self.names_at(table, "only")?;
        let only: Option<Vec<String>> =
            only.map(|names| names.into_iter().map(|(name, _)| name).collect());
        let part = self.part(table, "panel", &OF_PANEL)?;
        let part = part.ok_or_else(|| self.lacks("[panel]: files, frame or wide"))?;
        let results = self.part(table, "results", &OF_RESULTS)?;
        let results = results.ok_or_else(|| self.lacks("[results]: name = \"…\""))?;
        let name = self.text_of(results, "name")?;
        Ok(Asked {
            libraries,
            only,
            own,
            panel: self.panel(part)?,
            time: self.text_of(part, "time")?,
            symbol: self.text_of(part, "symbol")?,
            fields: self.names(part, "fields")?,
            name: name.ok_or_else(|| self.lacks("the name of the results: name = \"…\""))?,
            replace: self.yes(results, "replace")?,
            ic: self.part(table, "ic", &OF_IC)?.map(|part| self.ic(part)).transpose()?,
        })
    }

    fn library(&self, name: &str, at: usize) -> Result<Library, Failure> {
        let library = match name {
            "alpha101" => Library::alpha101(),
            "standard" => Library::standard(),
            path if path.ends_with(".toml") => Library::read(&self.folder.join(path)),
            _ => {
                let problem = format!("no library {name:?}: there are alpha101 and standard");
                return Err(self.fault(at, &problem).hint("your own ends in .toml"));
            }
        };
        library.map_err(|error| of_library(&error))
    }

    fn panel(&self, part: &DeTable<'_>) -> Result<PanelSource, Failure> {
        let files = self.names(part, "files")?;
        let frame = self.text_of(part, "frame")?;
        let wide = part.get("wide").map(|value| self.wide(value)).transpose()?;
        match (files, frame, wide) {
            (Some(files), None, None) => {
                Ok(PanelSource::Files(files.iter().map(|file| self.folder.join(file)).collect()))
            }
            (None, Some(frame), None) => Ok(PanelSource::Frame(frame)),
            (None, None, Some(wide)) => Ok(PanelSource::Wide(wide)),
            _ => Err(self.lacks("one of files, frame and wide in [panel]")),
        }
    }

    fn wide(&self, value: &Value<'_>) -> Result<BTreeMap<String, PathBuf>, Failure> {
        let expected = "wide must be a table: { close = \"close.parquet\" }";
        let table = value.get_ref().as_table();
        let table = table.ok_or_else(|| self.fault(value.span().start, expected))?;
        let one = |(field, path): (&Spanned<_>, &Value<'_>)| {
            let at = path.span().start;
            let path = path.get_ref().as_str().ok_or_else(|| self.fault(at, expected))?;
            let field: &std::borrow::Cow<'_, str> = field.get_ref();
            Ok((field.to_string(), self.folder.join(path)))
        };
        table.iter().map(one).collect()
    }

    fn ic(&self, part: &DeTable<'_>) -> Result<Ic, Failure> {
        let usual = cenote_panel::ic::Asked::default();
        let horizons = match part.get("horizons") {
            Some(value) => self.horizons(value)?,
            None => usual.horizons,
        };
        let bins = self.rows(part, "bins", 1..=100)?.unwrap_or(usual.bins as usize);
        let least = self.rows(part, "least", 2..=ROWS_MAX)?.unwrap_or(usual.least);
        let bins = u32::try_from(bins).unwrap_or(u32::MAX);
        Ok(Ic {
            asked: cenote_panel::ic::Asked { horizons, bins, least },
            delay: self.rows(part, "delay", 0..=ROWS_MAX)?,
            price: self.text_of(part, "price")?.unwrap_or_else(|| "close".to_owned()),
        })
    }

    fn horizons(&self, value: &Value<'_>) -> Result<Vec<usize>, Failure> {
        let fault = || self.fault(value.span().start, "horizons must be rows, such as [1, 5]");
        let all = value.get_ref().as_array().filter(|all| !all.is_empty()).ok_or_else(fault)?;
        let one = |value: &Value<'_>| number(value, &(1..=ROWS_MAX)).ok_or_else(fault);
        all.iter().map(one).collect()
    }

    /// A table of the file, whose keys are known.
    fn part<'t, 'i>(
        &self,
        table: &'t DeTable<'i>,
        key: &str,
        known: &[&str],
    ) -> Result<Option<&'t DeTable<'i>>, Failure> {
        let Some(value) = table.get(key) else { return Ok(None) };
        let at = value.span().start;
        let part = value.get_ref().as_table();
        let part =
            part.ok_or_else(|| self.fault(at, &format!("{key} must be a table: [{key}]")))?;
        let unknown = part.keys().find(|own| !known.contains(&&**own.get_ref()));
        match unknown {
            Some(own) => Err(self.fault(
                own.span().start,
                &format!("no key {:?} in [{key}]; there are {}", own.get_ref(), known.join(", ")),
            )),
            None => Ok(Some(part)),
        }
    }

    fn text_of(&self, part: &DeTable<'_>, key: &str) -> Result<Option<String>, Failure> {
        let Some(value) = part.get(key) else { return Ok(None) };
        let text = value.get_ref().as_str().map(str::to_owned);
        let fault = || self.fault(value.span().start, &format!("{key} must be a text in quotes"));
        text.ok_or_else(fault).map(Some)
    }

    fn yes(&self, part: &DeTable<'_>, key: &str) -> Result<bool, Failure> {
        let Some(value) = part.get(key) else { return Ok(false) };
        let fault = || self.fault(value.span().start, &format!("{key} must be true or false"));
        value.get_ref().as_bool().ok_or_else(fault)
    }

    fn rows(
        &self,
        part: &DeTable<'_>,
        key: &str,
        bounds: std::ops::RangeInclusive<usize>,
    ) -> Result<Option<usize>, Failure> {
        let Some(value) = part.get(key) else { return Ok(None) };
        let fault = || {
            let (least, most) = (bounds.start(), bounds.end());
            let problem = format!("{key} must be a whole number from {least} to {most}");
            self.fault(value.span().start, &problem)
        };
        number(value, &bounds).ok_or_else(fault).map(Some)
    }

    fn names(&self, part: &DeTable<'_>, key: &str) -> Result<Option<Vec<String>>, Failure> {
        let names = self.names_at(part, key)?;
        Ok(names.map(|names| names.into_iter().map(|(name, _)| name).collect()))
    }

    /// A list of texts, or one, each with its place.
    fn names_at(
        &self,
        part: &DeTable<'_>,
        key: &str,
    ) -> Result<Option<Vec<(String, usize)>>, Failure> {
        let Some(value) = part.get(key) else { return Ok(None) };
        let problem = format!("{key} must be a list of texts, such as [\"a\", \"b\"]");
        let one = |value: &Value<'_>| match value.get_ref().as_str() {
            Some(text) => Ok((text.to_owned(), value.span().start)),
            None => Err(self.fault(value.span().start, &problem)),
        };
        match value.get_ref().as_array() {
            Some(array) => array.iter().map(one).collect::<Result<_, _>>().map(Some),
            None => Ok(Some(vec![one(value)?])),
        }
    }

    fn fault(&self, at: usize, problem: &str) -> Failure {
        let line = 1 + self.text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        Failure::new(format!("{}:{line}: {problem}", self.name))
    }

    fn lacks(&self, what: &str) -> Failure {
        Failure::new(format!("{} lacks {what}", self.name))
            .hint("`cenote run --example` prints a file with everything explained")
    }
}

fn number(value: &Value<'_>, bounds: &std::ops::RangeInclusive<usize>) -> Option<usize> {
    let number = value.get_ref().as_integer()?;
    let number = usize::from_str_radix(number.as_str(), number.radix()).ok()?;
    bounds.contains(&number).then_some(number)
}
