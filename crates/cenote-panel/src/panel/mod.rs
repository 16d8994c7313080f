//! A panel: fields over the same times and symbols, each a time × symbol matrix.
//!
//! As Arrow a panel is one table: a column of times, and for each field a column of lists, a
//! list a time, one value a symbol, NaN where there is none. The symbols are in the schema's
//! metadata. So the values of a field in one record batch are one run of memory, row by row,
//! and are read in place. A symbol keeps its place for ever; batches from before it was
//! listed have shorter lists, and it is missing there.

mod compute;
mod error;
mod labels;
mod lineage;
mod pivot;
mod wide;

pub use compute::Computation;
pub use error::PanelError;
pub use lineage::{Described, describe, stood_in};
pub use pivot::Pivot;
pub use wide::Wide;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, ListArray, RecordBatch};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

/// The key of the schema's metadata under which a panel's symbols are.
pub const METADATA: &str = "cenote.panel";

/// Fields over times and symbols.
#[derive(Clone, Debug)]
pub struct Panel {
    axes: Arc<Axes>,
    blocks: Vec<Block>,
}

/// What the rows and columns of a panel are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes {
    /// The name of the column of times.
    pub time: String,
    /// The type of the times: a date or a timestamp.
    pub time_type: DataType,
    /// The symbols, by their places.
    pub symbols: Vec<String>,
    /// The fields.
    pub fields: Vec<String>,
}

/// Some times of a panel.
#[derive(Clone, Debug)]
struct Block {
    times: ArrayRef,
    width: usize,
    fields: Vec<ScalarBuffer<f64>>,
}

impl Axes {
    /// The schema of a panel with these axes.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        let symbols = serde_json::json!({ "time": self.time, "symbols": self.symbols });
        let metadata = HashMap::from([(METADATA.to_owned(), symbols.to_string())]);
        let mut fields = vec![Field::new(&self.time, self.time_type.clone(), false)];
        let list = DataType::List(value_field());
        fields.extend(self.fields.iter().map(|name| Field::new(name, list.clone(), false)));
        Arc::new(Schema::new_with_metadata(fields, metadata))
    }

    /// The axes of a table that is a panel.
    ///
    /// # Errors
    /// [`PanelError::NotAPanel`].
    pub fn of(schema: &Schema) -> Result<Axes, PanelError> {
        let not = |why: &str| PanelError::NotAPanel { why: why.to_owned() };
        let text = schema.metadata().get(METADATA).ok_or_else(|| not("it has no symbols"))?;
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|_| not("its symbols cannot be read"))?;
        let time = value["time"].as_str().ok_or_else(|| not("its column of times has no name"))?;
        let symbols = value["symbols"].as_array().ok_or_else(|| not("it has no symbols"))?;
        let symbols = symbols.iter().map(|symbol| symbol.as_str().map(str::to_owned));
        let symbols: Option<Vec<String>> = symbols.collect();
        let symbols = symbols.ok_or_else(|| not("a symbol is no text"))?;
        let time_field =
            schema.field_with_name(time).map_err(|_| not("its column of times is gone"))?;
        let is_field = |field: &&Arc<Field>| is_values(field.data_type());
        let fields = schema.fields().iter().filter(is_field).map(|f| f.name().clone()).collect();
        let time_type = time_field.data_type().clone();
        Ok(Axes { time: time.to_owned(), time_type, symbols, fields })
    }
}

fn value_field() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Float64, false))
}

fn is_values(data_type: &DataType) -> bool {
    matches!(data_type, DataType::List(item) if *item.data_type() == DataType::Float64)
}

impl Panel {
    /// A panel of the batches of a table that is one. Copies nothing.
    ///
    /// # Errors
    /// [`PanelError`]: it is none, or its times do not rise.
    pub fn from_batches(
        schema: &Schema,
        batches: impl IntoIterator<Item = RecordBatch>,
    ) -> Result<Panel, PanelError> {
        let axes = Axes::of(schema)?;
        let mut blocks = Vec::new();
        let mut rows = 0;
        for batch in batches.into_iter().filter(|batch| batch.num_rows() > 0) {
            blocks.push(Block::of(&axes, &batch, rows)?);
            rows += batch.num_rows();
        }
        let panel = Panel { axes: Arc::new(axes), blocks };
        panel.check_times()?;
        Ok(panel)
    }

    /// A panel of whole matrices, one a field of `axes`, row by row.
    ///
    /// # Errors
    /// [`PanelError::NotAPanel`] where a matrix is not of times × symbols, or
    /// [`PanelError::Times`].
    pub fn from_matrices(
        axes: Axes,
        times: ArrayRef,
        matrices: Vec<Vec<f64>>,
    ) -> Result<Panel, PanelError> {
        let width = axes.symbols.len();
        let is_whole = |matrix: &Vec<f64>| matrix.len() == times.len() * width;
        if matrices.len() != axes.fields.len() || !matrices.iter().all(is_whole) {
            let why = format!("its fields are not {} × {width}", times.len());
            return Err(PanelError::NotAPanel { why });
        }
        let fields = matrices.into_iter().map(ScalarBuffer::from).collect();
        let block = Block { times, width, fields };
        let blocks = if block.times.is_empty() { Vec::new() } else { vec![block] };
        let panel = Panel { axes: Arc::new(axes), blocks };
        panel.check_times()?;
        Ok(panel)
    }

    /// Rows and columns.
    #[must_use]
    pub fn axes(&self) -> &Axes {
        &self.axes
    }

    /// How many times.
    #[must_use]
    pub fn num_times(&self) -> usize {
        self.blocks.iter().map(|block| block.times.len()).sum()
    }

    /// How many symbols.
    #[must_use]
    pub fn num_symbols(&self) -> usize {
        self.axes.symbols.len()
    }

    /// The times.
    ///
    /// # Errors
    /// Memory cannot be had.
    pub fn times(&self) -> Result<ArrayRef, PanelError> {
        let parts: Vec<&dyn Array> = self.blocks.iter().map(|b| b.times.as_ref()).collect();
        if parts.is_empty() {
            return Ok(arrow_array::new_empty_array(&self.axes.time_type));
        }
        Ok(arrow_select::concat::concat(&parts)?)
    }

    /// A field as one matrix, row by row: in place if it is one block of full width, else
    /// copied.
    ///
    /// # Errors
    /// [`PanelError::NoField`].
    pub fn field(&self, name: &str) -> Result<Cow<'_, [f64]>, PanelError> {
        let at = self.field_index(name)?;
        let n = self.num_symbols();
        if let [block] = self.blocks.as_slice()
            && block.width == n
        {
            return Ok(Cow::Borrowed(&block.fields[at]));
        }
        let mut all = Vec::with_capacity(self.num_times() * n);
        for block in &self.blocks {
            block.extend_padded(at, 0..block.times.len(), n, &mut all);
        }
        Ok(Cow::Owned(all))
    }

    fn field_index(&self, name: &str) -> Result<usize, PanelError> {
        let at = self.axes.fields.iter().position(|field| field == name);
        at.ok_or_else(|| PanelError::NoField {
            name: name.to_owned(),
            fields: self.axes.fields.clone(),
        })
    }

    /// The panel as batches of its table; nothing is copied.
    ///
    /// # Errors
    /// Arrow's, which would be a fault of this crate.
    pub fn batches(&self) -> Result<Vec<RecordBatch>, PanelError> {
        let schema = self.axes.schema();
        self.blocks.iter().map(|block| block.batch(&schema)).collect()
    }

    fn check_times(&self) -> Result<(), PanelError> {
        let mut last: Option<i64> = None;
        let mut row = 0;
        for block in &self.blocks {
            for time in pivot::ticks(&block.times)? {
                if last.is_some_and(|last| time <= last) {
                    return Err(PanelError::Times { row });
                }
                last = Some(time);
                row += 1;
            }
        }
        Ok(())
    }
}

impl Block {
    fn of(axes: &Axes, batch: &RecordBatch, first: usize) -> Result<Block, PanelError> {
        let not = |why: String| PanelError::NotAPanel { why };
        let column = |name: &str| {
            batch.column_by_name(name).ok_or_else(|| not(format!("it has no column {name:?}")))
        };
        let times = column(&axes.time)?.clone();
        let mut width = 0;
        let mut fields = Vec::with_capacity(axes.fields.len());
        for name in &axes.fields {
            let lists = column(name)?.as_list::<i32>();
            let values = lists.values().as_primitive_opt::<Float64Type>();
            let values = values.ok_or_else(|| not(format!("column {name:?} is not of numbers")))?;
            let offsets = lists.value_offsets();
            width = usize::try_from(offsets[1] - offsets[0]).unwrap_or(0);
            let even =
                offsets.windows(2).all(|pair| usize::try_from(pair[1] - pair[0]) == Ok(width));
            if !even || width > axes.symbols.len() || values.null_count() > 0 {
                let (symbols, rows) = (axes.symbols.len(), first..first + batch.num_rows());
                return Err(not(format!(
                    "rows {rows:?} of {name:?} are not lists of one length, at most {symbols}"
                )));
            }
            let start = usize::try_from(offsets[0]).unwrap_or(0);
            fields.push(values.values().slice(start, width * batch.num_rows()));
        }
        if fields.iter().any(|field| field.len() != width * batch.num_rows()) {
            return Err(not("its fields have different numbers of symbols".to_owned()));
        }
        Ok(Block { times, width, fields })
    }

    /// Adds some rows of a field, each as wide as the panel.
    fn extend_padded(
        &self,
        field: usize,
        rows: std::ops::Range<usize>,
        symbols: usize,
        all: &mut Vec<f64>,
    ) {
        for row in rows {
            let values = &self.fields[field][row * self.width..(row + 1) * self.width];
            all.extend_from_slice(values);
            all.extend(std::iter::repeat_n(f64::NAN, symbols - self.width));
        }
    }

    fn batch(&self, schema: &SchemaRef) -> Result<RecordBatch, PanelError> {
        let mut columns = vec![self.times.clone()];
        for field in &self.fields {
            columns.push(lists(field.clone(), self.times.len(), self.width)?);
        }
        Ok(RecordBatch::try_new(schema.clone(), columns)?)
    }
}

/// A column of lists of one length over a run of values.
fn lists(values: ScalarBuffer<f64>, rows: usize, width: usize) -> Result<ArrayRef, PanelError> {
    let cells = rows * width;
    if i32::try_from(cells).is_err() {
        return Err(PanelError::Cells { rows, width });
    }
    let offsets = OffsetBuffer::from_repeated_length(width, rows);
    let values = Arc::new(Float64Array::new(values, None));
    Ok(Arc::new(ListArray::try_new(value_field(), offsets, values, None)?))
}

#[cfg(test)]
mod tests;
