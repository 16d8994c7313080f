//! Expressions as one graph: equal parts exist once, whoever asked for them.
//!
//! A node is an operator with its numbers, and the nodes it reads. [`Graph::add`] folds what
//! it can: a node that is already there is not made again, so that a hundred factors that
//! all rank the volume rank it once. Covariances and correlations of ranks become those of whole
//! numbers, so that ties stay ties.

use std::collections::HashMap;

use crate::op::{Kind, Op, Reach, RowOp, Window2};

/// A node of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// A number of its own in its graph.
    #[must_use]
    pub fn number(self) -> u64 {
        u64::from(self.0)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operator and what it reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// What it does.
    pub op: Op,
    /// What it reads, in the operator's order.
    pub inputs: Vec<NodeId>,
}

/// Expressions over the fields of a panel. Nodes stand after all that they read.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    known: HashMap<Node, NodeId>,
    fields: Vec<String>,
}

impl Graph {
    /// An empty graph.
    #[must_use]
    pub fn new() -> Graph {
        Graph::default()
    }

    /// The nodes, in an order in which they can be computed.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The fields that are read, in the order in which they were first named.
    #[must_use]
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// A field of the panel, by its name.
    pub fn field(&mut self, name: &str) -> NodeId {
        let at = self.fields.iter().position(|known| known == name).unwrap_or_else(|| {
            self.fields.push(name.to_owned());
            self.fields.len() - 1
        });
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        self.add(Op::Field(at), Vec::new())
    }

    /// A number. Every NaN is the same, and so are both zeros.
    pub fn constant(&mut self, value: f64) -> NodeId {
        let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
        self.add(Op::Constant(value.to_bits()), Vec::new())
    }

    /// An operator over nodes of this graph, or the node that is already there.
    pub fn add(&mut self, op: Op, inputs: Vec<NodeId>) -> NodeId {
        debug_assert!(inputs.iter().all(|input| input.index() < self.nodes.len()));
        debug_assert_eq!(op.arity(), inputs.len(), "{op:?}");
        if let Some(value) = self.fold(&op, &inputs) {
            return self.constant(value);
        }
        if let (Op::Window2(window @ (Window2::Cov | Window2::Corr), rows), &[x, y]) =
            (&op, inputs.as_slice())
            && let (Some(n), Some(m)) = (self.count_of_rank(x), self.count_of_rank(y))
        {
            return self.add(Op::OfRanks(*window, *rows), vec![x, n, y, m]);
        }
        let node = Node { op, inputs };
        if let Some(&id) = self.known.get(&node) {
            return id;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node.clone());
        self.known.insert(node, id);
        id
    }

    /// How many symbols a row has, if the node ranks rows.
    fn count_of_rank(&mut self, rank: NodeId) -> Option<NodeId> {
        let node = self.node(rank);
        let ranked = (node.op == Op::Row(RowOp::Rank)).then(|| node.inputs[0])?;
        Some(self.add(Op::Row(RowOp::Count), vec![ranked]))
    }

    /// The number that a node is, if it is one.
    #[must_use]
    pub fn value(&self, id: NodeId) -> Option<f64> {
        match self.node(id).op {
            Op::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    fn fold(&self, op: &Op, inputs: &[NodeId]) -> Option<f64> {
        let values: Vec<f64> = inputs.iter().map(|&id| self.value(id)).collect::<Option<_>>()?;
        match (op, values.as_slice()) {
            (Op::Unary(f), &[x]) => Some(f.apply(x)),
            (Op::Binary(f), &[x, y]) => Some(f.apply(x, y)),
            _ => None,
        }
    }

    /// How many rows before its own each node reads, its inputs' reach included.
    #[must_use]
    pub fn reach(&self) -> Vec<Reach> {
        let mut all: Vec<Reach> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let below = node.inputs.iter().map(|input| all[input.index()]);
            let below = below.fold(Reach::Finite(0), Reach::max);
            all.push(below.plus(node.op.reach()));
        }
        all
    }

    /// Only what `wanted` needs, and where each of `wanted` is then.
    #[must_use]
    pub fn prune(&self, wanted: &[NodeId]) -> (Graph, Vec<NodeId>) {
        let mut needed = vec![false; self.nodes.len()];
        for id in wanted {
            needed[id.index()] = true;
        }
        for at in (0..self.nodes.len()).rev() {
            if needed[at] {
                for input in &self.nodes[at].inputs {
                    needed[input.index()] = true;
                }
            }
        }
        let mut graph = Graph::new();
        let mut to = vec![NodeId(0); self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().filter(|(at, _)| needed[*at]) {
            to[at] = match node.op {
                Op::Field(field) => graph.field(&self.fields[field as usize]),
                ref op => {
                    let inputs = node.inputs.iter().map(|input| to[input.index()]).collect();
                    graph.add(op.clone(), inputs)
                }
            };
        }
        (graph, wanted.iter().map(|id| to[id.index()]).collect())
    }

    /// Whether a node acts on each row as a whole.
    pub(crate) fn is_row(&self, id: NodeId) -> bool {
        self.node(id).op.kind() == Kind::Row
    }
}
