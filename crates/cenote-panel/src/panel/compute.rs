//! Factors of a panel, as a stream of batches: a panel of their own, of any length, in
//! memory that does not grow with it.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::ScalarBuffer;
use arrow_schema::SchemaRef;

use super::{Axes, Block, Panel, PanelError};
use crate::formula::{Names, parse};
use crate::graph::Graph;
use crate::plan::Plan;
use crate::run::Engine;

/// Cells of a field in one batch of the result, about: a chunk of half a MiB a field.
const BATCH_CELLS: usize = 1 << 16;

/// Factors under way.
#[derive(Debug)]
pub struct Computation {
    panel: Panel,
    schema: SchemaRef,
    engine: Engine,
    /// Which field of the panel each field of the plan is.
    fields: Vec<usize>,
    outputs: usize,
    /// The next row: block, and row in it.
    at: (usize, usize),
}

impl Panel {
    /// Computes factors, each a name and a formula over the panel's fields; the result is a
    /// panel with a field for each.
    ///
    /// # Errors
    /// [`PanelError::Formula`], [`PanelError::SameName`]; before anything is computed.
    pub fn compute<'a>(
        &self,
        factors: impl IntoIterator<Item = (&'a str, &'a str)>,
        names: &Names,
    ) -> Result<Computation, PanelError> {
        let mut graph = Graph::new();
        let (mut outputs, mut fields) = (Vec::new(), Vec::new());
        for (name, formula) in factors {
            let node = parse(formula, names, &mut graph)
                .map_err(|source| PanelError::Formula { name: name.to_owned(), source })?;
            if fields.iter().any(|known| known == name) {
                return Err(PanelError::SameName { name: name.to_owned() });
            }
            outputs.push(node);
            fields.push(name.to_owned());
        }
        self.run(&Plan::new(&graph, &outputs), fields)
    }

    /// Runs a plan over the panel's fields; its outputs get these names.
    ///
    /// # Errors
    /// [`PanelError::NoField`] for a field of the plan that the panel lacks.
    pub fn run(&self, plan: &Plan, outputs: Vec<String>) -> Result<Computation, PanelError> {
        let fields = plan.graph().fields().iter().map(|field| self.field_index(field));
        let fields = fields.collect::<Result<_, _>>()?;
        let axes = Axes { fields: outputs, ..self.axes.as_ref().clone() };
        Ok(Computation {
            panel: self.clone(),
            schema: axes.schema(),
            engine: Engine::new(plan.clone(), self.num_symbols(), 0),
            fields,
            outputs: axes.fields.len(),
            at: (0, 0),
        })
    }
}

impl Computation {
    /// The schema of the batches.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// What is computed, and how.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.engine.plan()
    }

    /// Bytes that it keeps from row to row.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.engine.memory()
    }

    /// All of it, as a panel in memory.
    ///
    /// # Errors
    /// As of the batches.
    pub fn collect_panel(mut self) -> Result<Panel, PanelError> {
        let schema = self.schema.clone();
        let batches = self.by_ref().collect::<Result<Vec<_>, _>>()?;
        Panel::from_batches(&schema, batches)
    }

    fn batch(&mut self, block: usize, from: usize, rows: usize) -> Result<RecordBatch, PanelError> {
        let n = self.panel.num_symbols();
        let source: &Block = &self.panel.blocks[block];
        let mut padded = Vec::new();
        if source.width < n {
            for &field in &self.fields {
                let mut values = Vec::with_capacity(rows * n);
                source.extend_padded(field, from..from + rows, n, &mut values);
                padded.push(values);
            }
        }
        let fields: Vec<&[f64]> = if source.width < n {
            padded.iter().map(Vec::as_slice).collect()
        } else {
            let range = from * n..(from + rows) * n;
            self.fields.iter().map(|&field| &source.fields[field][range.clone()]).collect()
        };
        let mut results = vec![Vec::with_capacity(rows * n); self.outputs];
        self.engine.push(&fields, rows, |output, _, values| {
            results[output].extend_from_slice(values);
        });
        let result = Block {
            times: source.times.slice(from, rows),
            width: n,
            fields: results.into_iter().map(ScalarBuffer::from).collect(),
        };
        result.batch(&Arc::clone(&self.schema))
    }
}

impl Iterator for Computation {
    type Item = Result<RecordBatch, PanelError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (block, from) = self.at;
        let rows = self.panel.blocks.get(block)?.times.len() - from;
        let most = (BATCH_CELLS / self.panel.num_symbols().max(1)).max(1);
        let count = rows.min(most);
        self.at = if count == rows { (block + 1, 0) } else { (block, from + count) };
        Some(self.batch(block, from, count))
    }
}
