//! From wide tables, a row for each time and a column for each symbol, to panels: a table a
//! field.
//!
//! Fields have the same times. Symbols are told by the names of their columns; a symbol that
//! one of the tables lacks is missing in that field. Columns that are no numbers are an error,
//! as is a time that does not rise.

use std::collections::{HashMap, HashSet};

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use arrow_select::concat::concat;

use super::pivot::{is_time, missing, numbers, ticks};
use super::{Axes, Panel, PanelError};

/// What pandas calls a level of an index that has no name.
const UNNAMED: &str = "__index_level_";

/// How wide tables become a panel.
#[derive(Clone, Debug, Default)]
pub struct Wide {
    /// The column of times; the only one of dates or timestamps if `None`.
    pub time: Option<String>,
}

/// A table under its field's name.
struct Table {
    field: String,
    time: String,
    times: ArrayRef,
    symbols: Vec<String>,
    columns: Vec<ArrayRef>,
}

impl Wide {
    /// Makes the panel of fields: a name, and a table's schema and batches.
    ///
    /// Cost: one pass over the values; memory for the panel beside the tables.
    ///
    /// # Errors
    /// [`PanelError`], with rows counted from 0.
    pub fn run(
        &self,
        fields: impl IntoIterator<Item = (String, Schema, Vec<RecordBatch>)>,
    ) -> Result<Panel, PanelError> {
        let mut tables: Vec<Table> = Vec::new();
        for (field, schema, batches) in fields {
            tables.push(self.table(field, &schema, &batches)?);
        }
        let Some(first) = tables.first() else {
            return Err(PanelError::NotAPanel { why: "it has no fields".to_owned() });
        };
        for table in &tables {
            let (own, others) = (ticks(&table.times)?, ticks(&first.times)?);
            let same = own.iter().zip(&others).take_while(|(a, b)| a == b).count();
            let is_same = same == own.len() && same == others.len();
            if !is_same || table.times.data_type() != first.times.data_type() {
                let (field, first) = (table.field.clone(), first.field.clone());
                return Err(PanelError::Axes { field, first, row: same });
            }
        }
        let mut known = HashSet::new();
        let symbols = tables.iter().flat_map(|table| &table.symbols);
        let symbols = symbols.filter(|symbol| known.insert(symbol.as_str())).cloned().collect();
        let axes = Axes {
            time: first.time.clone(),
            time_type: first.times.data_type().clone(),
            symbols,
            fields: tables.iter().map(|table| table.field.clone()).collect(),
        };
        let times = first.times.clone();
        let matrices = tables.iter().map(|table| table.matrix(&axes.symbols)).collect();
        Panel::from_matrices(axes, times, matrices)
    }

    fn table(
        &self,
        field: String,
        schema: &Schema,
        batches: &[RecordBatch],
    ) -> Result<Table, PanelError> {
        let time = self.time_of(&field, schema)?;
        let whole = |at: usize| -> Result<ArrayRef, PanelError> {
            let parts: Vec<&dyn Array> = batches.iter().map(|b| b.column(at).as_ref()).collect();
            match parts.is_empty() {
                true => Ok(arrow_array::new_empty_array(schema.field(at).data_type())),
                false => Ok(concat(&parts)?),
            }
        };
        let times = whole(time)?;
        if let Some(row) = missing(&times) {
            return Err(PanelError::Missing { row, part: "time" });
        }
        let (mut symbols, mut columns) = (Vec::new(), Vec::new());
        for (at, column) in schema.fields().iter().enumerate().filter(|(at, _)| *at != time) {
            if column.name().starts_with(UNNAMED) {
                continue;
            }
            columns.push(numbers(&whole(at)?, column.name(), 0)?);
            symbols.push(column.name().clone());
        }
        // Where pandas keeps an index that has no name.
        let name = match schema.field(time).name() {
            name if name.starts_with(UNNAMED) => "time",
            name => name.as_str(),
        };
        Ok(Table { field, time: name.to_owned(), times, symbols, columns })
    }

    fn time_of(&self, field: &str, schema: &Schema) -> Result<usize, PanelError> {
        let names = |at: &[usize]| at.iter().map(|&at| schema.field(at).name().clone()).collect();
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        let Some(name) = &self.time else {
            let is_time = |at: &usize| is_time(schema.field(*at).data_type());
            let found: Vec<usize> = all.into_iter().filter(is_time).collect();
            return match found.as_slice() {
                [time] => Ok(*time),
                _ => Err(PanelError::NoTime { field: field.to_owned(), columns: names(&found) }),
            };
        };
        let at = schema
            .index_of(name)
            .map_err(|_| PanelError::NoColumn { name: name.clone(), columns: names(&all) })?;
        let found: &DataType = schema.field(at).data_type();
        if !is_time(found) {
            return Err(PanelError::Type {
                name: name.clone(),
                found: found.clone(),
                part: "the time",
                expected: "a date or a timestamp",
            });
        }
        Ok(at)
    }
}

impl Table {
    /// Row by row, a column for each of `symbols`.
    fn matrix(&self, symbols: &[String]) -> Vec<f64> {
        let mut values = vec![f64::NAN; self.times.len() * symbols.len()];
        let own: HashMap<_, _> = self.symbols.iter().zip(&self.columns).collect();
        for (place, symbol) in symbols.iter().enumerate() {
            let Some(column) = own.get(symbol) else { continue };
            let column = column.as_primitive::<Float64Type>();
            let cells = values.iter_mut().skip(place).step_by(symbols.len());
            for (cell, value) in cells.zip(column) {
                *cell = value.unwrap_or(f64::NAN);
            }
        }
        values
    }
}
