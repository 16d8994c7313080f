//! What a name in a formula stands for: a field of the panel, or a definition over them.

use super::error::Problem;
use super::parse;
use crate::graph::Graph;

/// What `adv20` and the like are the mean of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dollars {
    /// Close × volume, as the paper says.
    #[default]
    Yes,
    /// Volume: where it is compared with the volume itself.
    No,
}

/// The fields of a panel, and what is defined over them.
#[derive(Clone, Debug, Default)]
pub struct Names {
    fields: Vec<String>,
    definitions: Vec<(String, String)>,
    dollars: Dollars,
}

/// A field that a panel may lack, and the formula that is taken for it.
pub type StandIn = (&'static str, &'static str);

/// Definitions that every panel has, unless it has a field of that name.
const USUAL: [(&str, &str); 3] = [
    ("returns", "close / delay(close, 1) - 1"),
    // The typical price: who has trades gives the field.
    ("vwap", "(high + low + close) / 3"),
    ("amount", "close * volume"),
];

/// Those of them that are estimates of what a field would say; `returns` is what it says.
const ESTIMATES: std::ops::Range<usize> = 1..3;

/// All that may stand in for a field.
pub(crate) fn estimates() -> &'static [StandIn] {
    &USUAL[ESTIMATES]
}

impl Names {
    /// The names of a panel with these fields.
    pub fn new<S: Into<String>>(fields: impl IntoIterator<Item = S>) -> Names {
        let definitions = USUAL.map(|(name, formula)| (name.to_owned(), formula.to_owned()));
        let fields = fields.into_iter().map(Into::into).collect();
        Names { fields, definitions: definitions.into(), dollars: Dollars::Yes }
    }

    /// What `adv20` and the like are the mean of.
    #[must_use]
    pub fn adv(mut self, dollars: Dollars) -> Names {
        self.dollars = dollars;
        self
    }

    /// Another name for a formula. A later definition of a name goes before an earlier one.
    #[must_use]
    pub fn define(mut self, name: impl Into<String>, formula: impl Into<String>) -> Names {
        self.definitions.insert(0, (name.into().to_lowercase(), formula.into()));
        self
    }

    /// What a formula reads that stands in for a field which the panel lacks: the typical price
    /// for `vwap`, close × volume for `amount`. Whoever shows a figure of it says so.
    #[must_use]
    pub fn stand_ins(&self, formula: &str) -> Vec<StandIn> {
        let lacks = |(name, usual): &StandIn| {
            self.field(name).is_none() && self.definition(name).as_deref() == Some(*usual)
        };
        let lacking: Vec<StandIn> = estimates().iter().copied().filter(lacks).collect();
        let mut complete = self.clone();
        complete.fields.extend(lacking.iter().map(|(name, _)| (*name).to_owned()));
        let mut graph = Graph::new();
        // What cannot be read is told by whoever computes it.
        let Ok(node) = parse(formula, &complete, &mut graph) else { return Vec::new() };
        let (graph, _) = graph.prune(&[node]);
        lacking.into_iter().filter(|(name, _)| graph.fields().iter().any(|f| f == name)).collect()
    }

    /// The field of this name, as the panel spells it.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().map(String::as_str).find(|field| field.eq_ignore_ascii_case(name))
    }

    /// The formula that a name stands for.
    pub(super) fn definition(&self, name: &str) -> Option<String> {
        if let Some((_, formula)) = self.definitions.iter().find(|(known, _)| known == name) {
            return Some(formula.clone());
        }
        let days: u32 = name.strip_prefix("adv")?.parse().ok().filter(|days| *days > 0)?;
        let of = if self.dollars == Dollars::Yes { "amount" } else { "volume" };
        Some(format!("mean({of}, {days})"))
    }

    /// No such name.
    pub(super) fn unknown(&self, name: &str) -> Problem {
        let own = self.fields.iter().chain(self.definitions.iter().map(|(name, _)| name));
        Problem::Field { name: name.to_owned(), near: near(name, own.map(String::as_str)) }
    }
}

/// Characters of a name that are compared.
const CHARACTERS_MAX: usize = 64;

/// The names that are most like one, or all where there are few.
pub(crate) fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let comparable =
        |name: &str| -> String { name.to_lowercase().chars().take(CHARACTERS_MAX).collect() };
    let own = comparable(name);
    let mut all: Vec<(usize, &str)> =
        known.map(|other| (strsim::levenshtein(&own, &comparable(other)), other)).collect();
    all.sort_unstable();
    all.dedup();
    let close = |(distance, other): &&(usize, &str)| *distance <= 1 + other.len() / 3;
    let best: Vec<String> =
        all.iter().filter(close).take(1).map(|(_, other)| (*other).to_owned()).collect();
    if !best.is_empty() || all.len() > 12 {
        return best;
    }
    all.iter().map(|(_, other)| (*other).to_owned()).collect()
}
