//! Files of factors, in TOML:
//!
//! ```toml
//! title = "Mine"                     # optional, as are source, fields, adv and definitions
//! fields = ["close", "industry"]     # a factor that needs one which a panel lacks is left out
//! adv = "dollars"                    # or "shares": what adv20 and the like are the mean of
//!
//! [definitions]
//! momentum = "delay(close, 21) / delay(close, 252) - 1"
//!
//! [factors]
//! plain = "rank(momentum)"
//! other = { formula = "indneutralize(momentum, industry)", about = "…", adv = "shares", delay = 0 }
//! ```

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::LibraryError;
use super::{Factor, Library};
use crate::formula::{Dollars, near};

const TOP: [&str; 6] = ["title", "source", "fields", "adv", "definitions", "factors"];
const OF_A_FACTOR: [&str; 5] = ["formula", "about", "note", "adv", "delay"];

/// Reads a file's text; `name` stands in messages.
pub(super) fn read(text: &str, name: &str) -> Result<Library, LibraryError> {
    let library = read_part(text, name, &[])?;
    if library.factors.is_empty() {
        return Err(LibraryError::Empty { file: name.to_owned() });
    }
    Ok(library)
}

/// The same of a file that has other things in it, too, under the keys `others`.
pub(super) fn read_part(text: &str, name: &str, others: &[&str]) -> Result<Library, LibraryError> {
    Reader { text, name }.library(others)
}

struct Reader<'a> {
    text: &'a str,
    name: &'a str,
}

type Value<'a> = Spanned<DeValue<'a>>;

impl Reader<'_> {
    fn line(&self, at: usize) -> usize {
        1 + self.text.bytes().take(at).filter(|byte| *byte == b'\n').count()
    }

    fn library(&self, others: &[&str]) -> Result<Library, LibraryError> {
        let table = DeTable::parse(self.text).map_err(|error| LibraryError::Toml {
            file: self.name.to_owned(),
            line: self.line(error.span().map_or(0, |span| span.start)),
            problem: error.message().to_owned(),
        })?;
        let mut library = Library { name: self.name.to_owned(), ..Library::default() };
        let mut adv = Dollars::Yes;
        let mut factors = Vec::new();
        for (key, at, value) in entries(table.get_ref()) {
            match key {
                "title" => library.title = self.text_of(key, value)?,
                "source" => library.source = self.text_of(key, value)?,
                "fields" => library.fields = self.names(key, value)?,
                "adv" => adv = self.adv(key, value)?,
                "definitions" => {
                    for (name, _, formula) in entries(self.table(key, value)?) {
                        library.definitions.push((name.to_owned(), self.text_of(name, formula)?));
                    }
                }
                "factors" => factors = entries(self.table(key, value)?),
                other if others.contains(&other) => {}
                _ => return Err(self.unknown(key, at, &[&TOP, others].concat())),
            }
        }
        for (name, at, value) in factors {
            library.factors.push(self.factor(name, at, value, adv)?);
        }
        Ok(library)
    }

    fn factor(
        &self,
        name: &str,
        at: usize,
        value: &Value<'_>,
        adv: Dollars,
    ) -> Result<Factor, LibraryError> {
        let mut factor = Factor {
            name: name.to_owned(),
            formula: String::new(),
            about: String::new(),
            note: String::new(),
            adv,
            delay: 1,
            line: self.line(at),
        };
        let DeValue::Table(table) = value.get_ref() else {
            factor.formula = self.formula(name, value)?;
            return Ok(factor);
        };
        let mut is_whole = false;
        for (key, at, value) in entries(table) {
            match key {
                "formula" => (factor.formula, is_whole) = (self.formula(key, value)?, true),
                "about" => factor.about = self.text_of(key, value)?,
                "note" => factor.note = self.text_of(key, value)?,
                "adv" => factor.adv = self.adv(key, value)?,
                "delay" => factor.delay = self.rows(key, value)?,
                _ => return Err(self.unknown(key, at, &OF_A_FACTOR)),
            }
        }
        if is_whole { Ok(factor) } else { self.fault(name, value, "a table with a formula") }
    }

    fn fault<T>(
        &self,
        key: &str,
        value: &Value<'_>,
        expected: &'static str,
    ) -> Result<T, LibraryError> {
        let (file, line) = (self.name.to_owned(), self.line(value.span().start));
        Err(LibraryError::Value { file, line, key: key.to_owned(), expected })
    }

    fn unknown(&self, key: &str, at: usize, known: &[&str]) -> LibraryError {
        let near = near(key, known.iter().copied());
        let (file, line) = (self.name.to_owned(), self.line(at));
        LibraryError::Key { file, line, key: key.to_owned(), near }
    }

    fn text_of(&self, key: &str, value: &Value<'_>) -> Result<String, LibraryError> {
        match value.get_ref().as_str() {
            Some(text) => Ok(text.to_owned()),
            None => self.fault(key, value, "a text"),
        }
    }

    fn formula(&self, key: &str, value: &Value<'_>) -> Result<String, LibraryError> {
        match value.get_ref().as_str() {
            Some(text) => Ok(text.to_owned()),
            None => self.fault(key, value, "a formula in quotes, or a table with one"),
        }
    }

    fn names(&self, key: &str, value: &Value<'_>) -> Result<Vec<String>, LibraryError> {
        let Some(array) = value.get_ref().as_array() else {
            return self.fault(key, value, "a list of names");
        };
        array.iter().map(|name| self.text_of("a name", name)).collect()
    }

    fn table<'v, 'i>(
        &self,
        key: &str,
        value: &'v Value<'i>,
    ) -> Result<&'v DeTable<'i>, LibraryError> {
        match value.get_ref().as_table() {
            Some(table) => Ok(table),
            None => self.fault(key, value, "a table: name = \"formula\", one a line"),
        }
    }

    fn adv(&self, key: &str, value: &Value<'_>) -> Result<Dollars, LibraryError> {
        match value.get_ref().as_str() {
            Some("dollars") => Ok(Dollars::Yes),
            Some("shares") => Ok(Dollars::No),
            _ => self.fault(key, value, "\"dollars\" or \"shares\""),
        }
    }

    fn rows(&self, key: &str, value: &Value<'_>) -> Result<u32, LibraryError> {
        let number = value.get_ref().as_integer();
        match number.and_then(|n| u32::from_str_radix(n.as_str(), n.radix()).ok()) {
            Some(rows) => Ok(rows),
            None => self.fault(key, value, "a number of rows, 0 or more"),
        }
    }
}

/// The entries of a table in the order in which they were written.
fn entries<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t str, usize, &'t Value<'i>)> {
    let mut all: Vec<_> =
        table.iter().map(|(key, value)| (&**key.get_ref(), key.span().start, value)).collect();
    all.sort_by_key(|(_, at, _)| *at);
    all
}
