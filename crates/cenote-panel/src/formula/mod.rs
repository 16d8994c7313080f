//! Formulas as text, in the notation of Kakushadze's "101 Formulaic Alphas" (2016).
//!
//! ```
//! use cenote_panel::{Graph, Names, parse};
//! let mut graph = Graph::new();
//! let names = Names::new(["open", "close", "volume"]);
//! let alpha = parse("-1 * correlation(rank(open), rank(volume), 10)", &names, &mut graph)?;
//! assert_eq!(graph.fields(), ["open", "volume"]);
//! let error = parse("rank(clsoe)", &names, &mut graph).unwrap_err();
//! assert!(error.to_string().contains("did you mean close?"));
//! # let _ = alpha;
//! # Ok::<(), cenote_panel::FormulaError>(())
//! ```
//!
//! From the loosest to the tightest: `c ? x : y`; `||`; `&&`; `< <= > >= == !=`; `+ -`;
//! `* /`; the sign; `^` (from the right). Names do not heed case.

mod error;
mod functions;
mod names;
mod parser;
mod token;

pub(crate) use error::hint;
pub use error::{FormulaError, Problem};
pub use functions::{Function, functions};
pub use names::{Dollars, Names, StandIn};
pub(crate) use names::{estimates, near};

use crate::graph::{Graph, NodeId};

/// Adds a formula to a graph.
///
/// # Errors
/// [`FormulaError`], which shows the formula and where in it the fault is.
pub fn parse(text: &str, names: &Names, graph: &mut Graph) -> Result<NodeId, FormulaError> {
    parser::parse(text, names, graph, 0)
        .map_err(|(problem, at)| FormulaError::new(text, at, problem))
}

#[cfg(test)]
mod tests;
