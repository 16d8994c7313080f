//! How a graph is computed: phases, and where each node's rows are while it is needed.
//!
//! Work alternates between two kinds of phase. In a *tile* phase each thread takes some
//! symbols and passes all element and window operators over them, one after the other, while
//! they are in its cache. In a *row* phase each thread takes some times and works on all
//! symbols. A node is in the first phase in which all that it reads is there.
//!
//! Rows of a node live in a *slot* as long as somebody reads them, and no longer: a slot of a
//! thread's own where all readers are in the same tile phase, else one of each tile, or one
//! of whole rows. What windows read is kept in a *history* instead.

use std::collections::BTreeMap;

use crate::graph::{Graph, NodeId};
use crate::op::{Kind, Op, Reach};

/// Where the rows of a node are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    /// The panel's own.
    Field(u32),
    /// The same everywhere.
    Constant(f64),
    /// A thread's own, during one tile phase.
    Scratch(u32),
    /// A tile's.
    Tile(u32),
    /// Whole rows.
    Row(u32),
}

/// A step of a tile phase.
#[derive(Clone, Debug)]
pub(crate) struct TileStep {
    /// The node, or none where rows are only kept for windows.
    pub(crate) op: Option<Op>,
    pub(crate) inputs: Vec<Place>,
    pub(crate) out: Option<Place>,
    /// Windows: the histories of the inputs.
    pub(crate) histories: Vec<u32>,
    /// Windows: which state.
    pub(crate) state: Option<u32>,
    /// The history that keeps the rows.
    pub(crate) keep: Option<u32>,
}

/// A step of a row phase.
#[derive(Clone, Debug)]
pub(crate) struct RowStep {
    pub(crate) op: Op,
    pub(crate) inputs: Vec<Place>,
    pub(crate) out: u32,
}

/// One phase.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    Tiles(Vec<TileStep>),
    Rows(Vec<RowStep>),
}

/// How some nodes of a graph are computed.
#[derive(Clone, Debug)]
pub struct Plan {
    graph: Graph,
    outputs: Vec<NodeId>,
    pub(crate) phases: Vec<Phase>,
    /// Where each output is at the end of a block.
    pub(crate) results: Vec<Place>,
    /// Rows that each history keeps, the newest included.
    pub(crate) histories: Vec<usize>,
    /// The operator of each state.
    pub(crate) states: Vec<Op>,
    pub(crate) scratch_slots: usize,
    pub(crate) tile_slots: usize,
    pub(crate) row_slots: usize,
}

impl Plan {
    /// A plan for `outputs` of `graph`.
    #[must_use]
    pub fn new(graph: &Graph, outputs: &[NodeId]) -> Plan {
        let (graph, outputs) = graph.prune(outputs);
        let phases = phases_of(&graph);
        Planner::new(graph, outputs, phases).plan()
    }

    /// What is computed, without what nobody asked for.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The nodes asked for, in the order asked.
    #[must_use]
    pub fn outputs(&self) -> &[NodeId] {
        &self.outputs
    }

    /// How many phases a block of rows passes.
    #[must_use]
    pub fn num_phases(&self) -> usize {
        self.phases.len()
    }

    /// Rows before the first output that its value depends on.
    #[must_use]
    pub fn warm_up(&self) -> Reach {
        let reach = self.graph.reach();
        self.outputs.iter().map(|id| reach[id.index()]).fold(Reach::Finite(0), Reach::max)
    }
}

/// The phase of each node: even ones are tile phases, odd ones row phases.
fn phases_of(graph: &Graph) -> Vec<usize> {
    let mut phases: Vec<usize> = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        let ready = node.inputs.iter().map(|input| phases[input.index()]).max().unwrap_or(0);
        phases.push(match node.op.kind() {
            Kind::Leaf => 0,
            Kind::Tile => ready.next_multiple_of(2),
            Kind::Row => ready + 1 + ready % 2,
        });
    }
    phases
}

/// Slots of one kind: which are free, and how many there are.
#[derive(Debug, Default)]
struct Slots {
    free: Vec<u32>,
    count: u32,
}

impl Slots {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }
}

struct Planner {
    graph: Graph,
    outputs: Vec<NodeId>,
    phases: Vec<usize>,
    /// Nodes in the order in which they are computed, and each one's place in it.
    order: Vec<NodeId>,
    /// The last node in that order that reads a node's slot.
    last_use: Vec<usize>,
    /// Whether all who read a node's slot are in its own phase.
    is_local: Vec<bool>,
    places: Vec<Place>,
    /// The history of each node that windows read.
    history: BTreeMap<NodeId, u32>,
    kept: Vec<bool>,
    histories: Vec<usize>,
    states: Vec<Op>,
    scratch: Slots,
    tile: Slots,
    row: Slots,
}

/// Read at the end of the block.
const AT_THE_END: usize = usize::MAX;

impl Planner {
    fn new(graph: Graph, outputs: Vec<NodeId>, phases: Vec<usize>) -> Planner {
        let count = graph.nodes().len();
        let id = |at: usize| NodeId(u32::try_from(at).unwrap_or(u32::MAX));
        let mut order: Vec<NodeId> = (0..count).map(id).collect();
        // Stable: within a phase nodes stay behind what they read.
        order.sort_by_key(|node| phases[node.index()]);
        let (mut last_use, mut is_local) = (vec![0; count], vec![true; count]);
        let mut longest: BTreeMap<NodeId, usize> = BTreeMap::new();
        for (at, reader) in order.iter().enumerate() {
            let node = graph.node(*reader);
            for input in &node.inputs {
                let rows = node.op.history();
                if rows > 0 {
                    // The first such reader is preceded by the step that keeps the rows.
                    let longest = longest.entry(*input).or_insert_with(|| {
                        last_use[input.index()] = at;
                        0
                    });
                    *longest = (*longest).max(rows);
                } else {
                    last_use[input.index()] = at;
                    is_local[input.index()] &=
                        phases[input.index()] == phases[reader.index()] && !graph.is_row(*reader);
                }
            }
        }
        for output in &outputs {
            last_use[output.index()] = AT_THE_END;
            is_local[output.index()] = false;
        }
        let histories = longest.values().copied().collect();
        let history = longest.keys().zip(0..).map(|(&node, at)| (node, at)).collect();
        Planner {
            places: vec![Place::Constant(f64::NAN); count],
            kept: vec![false; count],
            states: Vec::new(),
            scratch: Slots::default(),
            tile: Slots::default(),
            row: Slots::default(),
            graph,
            outputs,
            phases,
            order,
            last_use,
            is_local,
            history,
            histories,
        }
    }

    fn plan(mut self) -> Plan {
        let mut phases: Vec<Phase> = Vec::new();
        let order = std::mem::take(&mut self.order);
        // Slots to be freed when a node has been computed.
        let mut ends: Vec<Vec<Place>> = vec![Vec::new(); order.len() + 1];
        for (at, &id) in order.iter().enumerate() {
            let phase = self.phases[id.index()];
            while phases.len() <= phase {
                let is_rows = phases.len() % 2 == 1;
                phases.push(if is_rows {
                    Phase::Rows(Vec::new())
                } else {
                    Phase::Tiles(Vec::new())
                });
            }
            let place = self.compute(id, &mut phases[phase]);
            self.places[id.index()] = place;
            match self.last_use[id.index()] {
                AT_THE_END => {}
                // Nobody reads the slot, or only windows do.
                last => ends[last.max(at)].push(place),
            }
            for place in std::mem::take(&mut ends[at]) {
                match place {
                    Place::Scratch(slot) => self.scratch.free.push(slot),
                    Place::Tile(slot) => self.tile.free.push(slot),
                    Place::Row(slot) => self.row.free.push(slot),
                    Place::Field(_) | Place::Constant(_) => {}
                }
            }
        }
        Plan {
            results: self.outputs.iter().map(|id| self.places[id.index()]).collect(),
            phases,
            graph: self.graph,
            outputs: self.outputs,
            histories: self.histories,
            states: self.states,
            scratch_slots: self.scratch.count as usize,
            tile_slots: self.tile.count as usize,
            row_slots: self.row.count as usize,
        }
    }

    /// Adds the step that computes a node, and says where its rows are then.
    fn compute(&mut self, id: NodeId, phase: &mut Phase) -> Place {
        let node = self.graph.node(id).clone();
        match (node.op.clone(), phase) {
            (Op::Field(field), _) => Place::Field(field),
            (Op::Constant(bits), _) => Place::Constant(f64::from_bits(bits)),
            (op, Phase::Rows(steps)) => {
                let inputs = node.inputs.iter().map(|input| self.places[input.index()]).collect();
                let out = self.row.take();
                steps.push(RowStep { op, inputs, out });
                Place::Row(out)
            }
            (op, Phase::Tiles(steps)) => {
                let reads_history = op.history() > 0;
                if reads_history {
                    for input in &node.inputs {
                        self.keep(*input, steps);
                    }
                }
                let out = if self.is_local[id.index()] {
                    Place::Scratch(self.scratch.take())
                } else {
                    Place::Tile(self.tile.take())
                };
                let state = op.has_state().then(|| {
                    self.states.push(op.clone());
                    u32::try_from(self.states.len() - 1).unwrap_or(u32::MAX)
                });
                let keep = self.history.get(&id).copied();
                self.kept[id.index()] = keep.is_some();
                let histories = node.inputs.iter().filter(|_| reads_history);
                steps.push(TileStep {
                    histories: histories.map(|input| self.history[input]).collect(),
                    inputs: node.inputs.iter().map(|input| self.places[input.index()]).collect(),
                    op: Some(op),
                    out: Some(out),
                    state,
                    keep,
                });
                out
            }
        }
    }

    /// Has the rows of a field, a number or a row node kept for windows, from this phase on.
    fn keep(&mut self, input: NodeId, steps: &mut Vec<TileStep>) {
        if std::mem::replace(&mut self.kept[input.index()], true) {
            return;
        }
        steps.push(TileStep {
            op: None,
            inputs: vec![self.places[input.index()]],
            out: None,
            histories: Vec::new(),
            state: None,
            keep: self.history.get(&input).copied(),
        });
    }
}
