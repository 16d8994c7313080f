//! Factors over time × symbol panels, computed in one stream.

mod formula;
mod graph;
pub mod ic;
mod library;
mod math;
mod op;
mod panel;
mod plan;
mod row;
mod run;
mod tile;
mod twice;
mod wide;

pub use formula::{Dollars, FormulaError, Function, Names, Problem, StandIn, functions, parse};
pub use graph::{Graph, Node, NodeId};
pub use library::{Built, Factor, LeftOut, Library, LibraryError, Needs, Reading};
pub use op::{Binary, Ewm, Op, Reach, RowOp, Unary, Window, Window2};
pub use panel::{
    Axes, Computation, Described, METADATA, Panel, PanelError, Pivot, Wide, describe, stood_in,
};
pub use plan::Plan;
pub use run::Engine;
