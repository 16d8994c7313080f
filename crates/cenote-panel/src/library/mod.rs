//! Factors by name: the two files that come with Cenote, and a user's own.
//!
//! A file ([`file`](self::file)) names formulas. Built into one graph, they share what they
//! have in common. What a factor needs of a panel and how far back it looks is read off its
//! formula, so that it cannot be wrong.
//!
//! ```
//! use cenote_panel::{Graph, Library, Reading};
//! let library = Library::alpha101()?;
//! let chosen = library.select(&["alpha101", "alpha058"])?;
//! let mut graph = Graph::new();
//! let panel = ["open", "high", "low", "close", "volume"];
//! let built = library.build(&chosen, &panel, Reading::Working, &mut graph)?;
//! assert_eq!(built.factors[0].0, "alpha101");
//! assert_eq!(built.left_out[0].missing, ["sector"]);
//! # Ok::<(), cenote_panel::LibraryError>(())
//! ```

mod error;
mod file;

pub use error::LibraryError;

use std::path::Path;

use crate::formula::{Dollars, FormulaError, Names, StandIn, near, parse};
use crate::graph::{Graph, NodeId};
use crate::op::Reach;
use crate::plan::Plan;

/// Factors of one file.
#[derive(Clone, Debug, Default)]
pub struct Library {
    name: String,
    title: String,
    source: String,
    fields: Vec<String>,
    definitions: Vec<(String, String)>,
    factors: Vec<Factor>,
}

/// A factor: a formula with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Its formula.
    pub formula: String,
    /// What it is, or nothing.
    pub about: String,
    /// What is to be known of its values, or nothing.
    pub note: String,
    /// What `adv20` and the like are the mean of.
    pub adv: Dollars,
    /// Rows from the one whose data it reads to the first trade: 0 is at that row's close.
    pub delay: u32,
    /// The line of the file in which it stands.
    pub line: usize,
}

/// How formulas are taken that do not work as they were printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// As the file says: `adv` in shares where a factor says so.
    #[default]
    Working,
    /// `adv` in dollars everywhere, as the paper defines it.
    Literal,
}

/// What [`Library::build`] made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// Names and nodes, in the order asked for.
    pub factors: Vec<(String, NodeId)>,
    /// Those for which the panel lacks a field.
    pub left_out: Vec<LeftOut>,
}

/// A factor that this panel does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// The fields that it needs and the panel lacks.
    pub missing: Vec<String>,
}

/// What a formula says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The fields that it reads, where the panel has all that the file names.
    pub fields: Vec<String>,
    /// Rows before its own that it reads.
    pub reach: Reach,
}

impl Library {
    /// The 101 formulaic alphas of Kakushadze (2016); WorldQuant retains rights in the
    /// formulae.
    ///
    /// # Errors
    /// None: a test reads the file.
    pub fn alpha101() -> Result<Library, LibraryError> {
        Library::parse(include_str!("../../library/alpha101.toml"), "alpha101.toml")
    }

    /// Factors of many kinds: momentum, reversal, risk, liquidity, indicators.
    ///
    /// # Errors
    /// None: a test reads the file.
    pub fn standard() -> Result<Library, LibraryError> {
        Library::parse(include_str!("../../library/standard.toml"), "standard.toml")
    }

    /// A file.
    ///
    /// # Errors
    /// It cannot be read, or is not a file of factors.
    pub fn read(path: &Path) -> Result<Library, LibraryError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Library::parse(&text, &file),
            Err(source) => Err(LibraryError::Read { file, source }),
        }
    }

    /// A file's text; `name` stands in messages. Formulas are looked at when they are built.
    ///
    /// # Errors
    /// It is not a file of factors.
    pub fn parse(text: &str, name: &str) -> Result<Library, LibraryError> {
        file::read(text, name)
    }

    /// The text of a file of which factors are a part: keys of `others` are not looked at, and
    /// there may be no factors.
    ///
    /// # Errors
    /// As [`Library::parse`].
    pub fn parse_part(text: &str, name: &str, others: &[&str]) -> Result<Library, LibraryError> {
        file::read_part(text, name, others)
    }

    /// What it is.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Where it comes from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// All factors, in the file's order.
    #[must_use]
    pub fn factors(&self) -> &[Factor] {
        &self.factors
    }

    /// A factor by its name, whatever its case.
    ///
    /// # Errors
    /// [`LibraryError::NoFactor`], with the nearest name.
    pub fn get(&self, name: &str) -> Result<&Factor, LibraryError> {
        let is = |factor: &&Factor| factor.name.eq_ignore_ascii_case(name);
        self.factors.iter().find(is).ok_or_else(|| LibraryError::NoFactor {
            file: self.name.clone(),
            name: name.to_owned(),
            near: near(name, self.factors.iter().map(|factor| factor.name.as_str())),
        })
    }

    /// Factors by their names.
    ///
    /// # Errors
    /// [`LibraryError::NoFactor`] for the first that there is not.
    pub fn select(&self, names: &[&str]) -> Result<Vec<&Factor>, LibraryError> {
        names.iter().map(|name| self.get(name)).collect()
    }

    /// Adds factors to a graph, for a panel of these fields. A factor is left out where the
    /// panel lacks a field that the file names; any other unknown name is an error.
    ///
    /// # Errors
    /// [`LibraryError::Formula`], with file, line, factor and the place in the formula.
    pub fn build<'a>(
        &self,
        factors: impl IntoIterator<Item = &'a &'a Factor>,
        panel: &[&str],
        reading: Reading,
        graph: &mut Graph,
    ) -> Result<Built, LibraryError> {
        let mut built = Built::default();
        for factor in factors {
            let mut missing: Vec<String> = Vec::new();
            loop {
                let known = panel.iter().copied().chain(missing.iter().map(String::as_str));
                let names = self.names(factor, known, reading);
                let fault = match parse(&factor.formula, &names, graph) {
                    Ok(node) if missing.is_empty() => {
                        built.factors.push((factor.name.clone(), node));
                        break;
                    }
                    Ok(_) => {
                        built.left_out.push(LeftOut { name: factor.name.clone(), missing });
                        break;
                    }
                    Err(fault) => fault,
                };
                match fault.unknown_field().filter(|field| self.declares(field)) {
                    Some(field) => missing.push(field.to_owned()),
                    None => return Err(self.fault(factor, fault)),
                }
            }
        }
        Ok(built)
    }

    /// What a factor reads.
    ///
    /// # Errors
    /// [`LibraryError::Formula`], where it reads a field that the file does not name, or has a
    /// fault.
    pub fn needs(&self, factor: &Factor) -> Result<Needs, LibraryError> {
        let mut graph = Graph::new();
        let known = self.fields.iter().map(String::as_str);
        let names = self.names(factor, known, Reading::Working);
        let node = parse(&factor.formula, &names, &mut graph);
        let node = node.map_err(|fault| self.fault(factor, fault))?;
        let plan = Plan::new(&graph, &[node]);
        let mut fields = plan.graph().fields().to_vec();
        fields.sort_unstable();
        Ok(Needs { fields, reach: plan.warm_up() })
    }

    /// What a factor reads, of a panel with these fields, that stands in for one it lacks.
    #[must_use]
    pub fn stand_ins(&self, factor: &Factor, panel: &[&str], reading: Reading) -> Vec<StandIn> {
        self.names(factor, panel.iter().copied(), reading).stand_ins(&factor.formula)
    }

    fn names<'a>(
        &self,
        factor: &Factor,
        fields: impl Iterator<Item = &'a str>,
        reading: Reading,
    ) -> Names {
        let adv = if reading == Reading::Literal { Dollars::Yes } else { factor.adv };
        let names = Names::new(fields).adv(adv);
        let add = |names: Names, (name, formula): &(String, String)| names.define(name, formula);
        self.definitions.iter().fold(names, add)
    }

    fn declares(&self, field: &str) -> bool {
        self.fields.iter().any(|known| known.eq_ignore_ascii_case(field))
    }

    fn fault(&self, factor: &Factor, fault: FormulaError) -> LibraryError {
        let (file, factor, line) = (self.name.clone(), factor.name.clone(), factor.line);
        LibraryError::Formula { file, line, factor, fault: Box::new(fault) }
    }
}

#[cfg(test)]
mod tests;
