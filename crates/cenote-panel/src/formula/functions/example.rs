//! Calls of every function, made of its usage: what they reach is read off them, and tests
//! compute them.

use super::Function;
use crate::graph::{Graph, NodeId};
use crate::op::{Kind, Reach};

/// Rows of the windows of examples.
const ROWS: f64 = 7.0;

impl Function {
    /// A call as each of its usages says. `matrix` is asked for `x`, `y`, `c` and `groups`.
    pub(crate) fn examples(
        &'static self,
        graph: &mut Graph,
        matrix: &mut dyn FnMut(&mut Graph, &str) -> NodeId,
    ) -> Vec<NodeId> {
        let usages = self.usage.split(" or ");
        let calls = usages.filter_map(|usage| usage.split_once('(')?.1.strip_suffix(')'));
        let mut made = Vec::new();
        for parameters in calls {
            let arguments = parameters.split(", ").map(|parameter| {
                let number = match parameter {
                    "rows" => ROWS,
                    "span" => 5.0,
                    "n" => 3.0,
                    "a" => 2.0,
                    "q" => 0.3,
                    "p" => 0.2,
                    _ => return matrix(graph, parameter),
                };
                graph.constant(number)
            });
            let arguments = arguments.collect();
            made.extend(self.call(graph, arguments));
        }
        made
    }

    /// Rows before its own that it reads, in words: what its usage calls `rows`, one less, none,
    /// or all; and whether it reads all symbols of its row.
    #[must_use]
    pub fn reach(&'static self) -> &'static str {
        let mut graph = Graph::new();
        let made = self.examples(&mut graph, &mut |graph, name| graph.field(name));
        let reach = graph.reach();
        let farthest =
            made.iter().map(|node| reach[node.index()]).fold(Reach::Finite(0), Reach::max);
        let is_row = graph.nodes().iter().any(|node| node.op.kind() == Kind::Row);
        match farthest {
            Reach::Recursive => "all",
            Reach::Finite(0) if is_row => "0, all symbols",
            Reach::Finite(0) => "0",
            #[expect(clippy::cast_precision_loss, reason = "as many as the windows of examples")]
            Reach::Finite(rows) if rows as f64 == ROWS => "rows",
            Reach::Finite(_) => "rows - 1",
        }
    }
}
