//! From long tables, a row for each (time, symbol), to panels.
//!
//! Rows may come in any order. Two for the same place are refused, and named. What is not
//! there is missing.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_buffer::ScalarBuffer;
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_schema::DataType;

use super::labels::{Labels, is_label};
use super::{Axes, Block, Panel, PanelError};

/// How a long table becomes a panel.
#[derive(Clone, Debug)]
pub struct Pivot {
    /// The column of times: dates or timestamps.
    pub time: String,
    /// The column of symbols: text, or integers.
    pub symbol: String,
    /// The columns that become fields; all other numbers if `None`. Text becomes a field only
    /// where it is named: a number for each label, for groups.
    pub fields: Option<Vec<String>>,
}

/// Largest integer up to which float64 has them all.
const INTEGER_MAX: i64 = 1 << 53;

/// Whether the times of a panel can be of this type.
pub(super) fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..))
}

/// Times as integers of their own unit.
pub(super) fn ticks(times: &ArrayRef) -> Result<Vec<i64>, PanelError> {
    let days;
    let times = match times.data_type() {
        DataType::Date32 => {
            days = cast(times, &DataType::Int32)?;
            &days
        }
        _ => times,
    };
    let ticks = cast(times, &DataType::Int64)?;
    Ok(ticks.as_primitive::<Int64Type>().values().to_vec())
}

/// Rows of one batch: their places, and their values.
struct Part {
    times: Vec<i64>,
    symbols: Vec<u32>,
    fields: Vec<ArrayRef>,
}

impl Pivot {
    /// Makes the panel.
    ///
    /// Cost: one pass over the rows; memory for the panel beside the table.
    ///
    /// # Errors
    /// [`PanelError`], with rows counted from 0 over all batches.
    pub fn run(&self, batches: &[RecordBatch]) -> Result<Panel, PanelError> {
        let Some(first) = batches.first() else {
            return Err(PanelError::NotAPanel { why: "it has no rows".to_owned() });
        };
        let schema = first.schema();
        let column = |name: &str| {
            schema.index_of(name).map_err(|_| PanelError::NoColumn {
                name: name.to_owned(),
                columns: schema.fields().iter().map(|field| field.name().clone()).collect(),
            })
        };
        let (time, symbol) = (column(&self.time)?, column(&self.symbol)?);
        let time_type = schema.field(time).data_type().clone();
        if !is_time(&time_type) {
            return Err(PanelError::Type {
                name: self.time.clone(),
                found: time_type,
                part: "the time",
                expected: "a date or a timestamp",
            });
        }
        let fields: Vec<usize> = match &self.fields {
            Some(names) => names.iter().map(|name| column(name)).collect::<Result<_, _>>()?,
            None => (0..schema.fields().len())
                .filter(|&at| at != time && at != symbol)
                .filter(|&at| is_number(schema.field(at).data_type()))
                // Where pandas keeps an index that has no name.
                .filter(|&at| !schema.field(at).name().starts_with("__index_level_"))
                .collect(),
        };
        let mut labels: Vec<Labels> = fields.iter().map(|_| Labels::default()).collect();
        let mut names = HashMap::new();
        let mut symbols = Vec::new();
        let mut parts = Vec::new();
        let mut row = 0;
        for batch in batches {
            parts.push(Part {
                times: self.times(batch.column(time), row)?,
                symbols: self.codes(batch.column(symbol), row, &mut names, &mut symbols)?,
                fields: fields
                    .iter()
                    .zip(&mut labels)
                    .map(|(&at, labels)| match is_label(schema.field(at).data_type()) {
                        true => labels.codes(batch.column(at)),
                        false => numbers(batch.column(at), schema.field(at).name(), row),
                    })
                    .collect::<Result<_, _>>()?,
            });
            row += batch.num_rows();
        }
        let (order, symbols) = sorted(symbols);
        for part in &mut parts {
            for code in &mut part.symbols {
                *code = order[*code as usize];
            }
        }
        let axes = Axes {
            time: self.time.clone(),
            time_type,
            symbols,
            fields: fields.iter().map(|&at| schema.field(at).name().clone()).collect(),
        };
        fill(axes, &parts)
    }

    fn times(&self, column: &ArrayRef, first: usize) -> Result<Vec<i64>, PanelError> {
        if let Some(row) = missing(column) {
            return Err(PanelError::Missing { row: first + row, part: "time" });
        }
        ticks(column)
    }

    /// The number of each row's symbol; new ones are added.
    fn codes(
        &self,
        column: &ArrayRef,
        first: usize,
        names: &mut HashMap<String, u32>,
        symbols: &mut Vec<String>,
    ) -> Result<Vec<u32>, PanelError> {
        let wanted = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let is_symbol = |data_type: &DataType| {
            data_type.is_integer()
                || matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        };
        let fits = match column.data_type() {
            DataType::Dictionary(_, values) => is_symbol(values),
            other => is_symbol(other),
        };
        if !fits {
            return Err(PanelError::Type {
                name: self.symbol.clone(),
                found: column.data_type().clone(),
                part: "the symbol",
                expected: "text or an integer",
            });
        }
        let text = match column.data_type() {
            DataType::Dictionary(..) => column.clone(),
            _ => cast(column, &DataType::Utf8)?,
        };
        let coded = cast(&text, &wanted)?;
        let coded = coded.as_dictionary::<Int32Type>();
        let values = coded.values().as_string::<i32>();
        let mut known = vec![None; values.len()];
        let mut codes = Vec::with_capacity(coded.len());
        for row in 0..coded.len() {
            let key = coded.key(row).filter(|&key| !values.is_null(key));
            let key = key.ok_or(PanelError::Missing { row: first + row, part: "symbol" })?;
            let code = *known[key].get_or_insert_with(|| {
                let name = values.value(key);
                *names.entry(name.to_owned()).or_insert_with(|| {
                    symbols.push(name.to_owned());
                    u32::try_from(symbols.len() - 1).unwrap_or(u32::MAX)
                })
            });
            codes.push(code);
        }
        Ok(codes)
    }
}

pub(super) fn missing(column: &ArrayRef) -> Option<usize> {
    (column.null_count() > 0).then(|| (0..column.len()).find(|&row| column.is_null(row)))?
}

pub(super) fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric() || *data_type == DataType::Boolean
}

/// A column as float64, missing as NaN.
pub(super) fn numbers(column: &ArrayRef, name: &str, first: usize) -> Result<ArrayRef, PanelError> {
    if !is_number(column.data_type()) {
        return Err(PanelError::Type {
            name: name.to_owned(),
            found: column.data_type().clone(),
            part: "a field",
            expected: "numbers",
        });
    }
    if matches!(column.data_type(), DataType::Int64 | DataType::UInt64) {
        let values = cast(column, &DataType::Int64)?;
        let values: &Int64Array = values.as_primitive();
        // What does not fit an int64 is null there, and is not in the column.
        let large = |row: usize| {
            !column.is_null(row)
                && (values.is_null(row)
                    || values.value(row).unsigned_abs() > INTEGER_MAX.unsigned_abs())
        };
        if let Some(row) = (0..column.len()).find(|&row| large(row)) {
            let value = array_value_to_string(column, row)?;
            return Err(PanelError::Integer { row: first + row, name: name.to_owned(), value });
        }
    }
    Ok(cast(column, &DataType::Float64)?)
}

/// The symbols in order, and where each one went.
fn sorted(symbols: Vec<String>) -> (Vec<u32>, Vec<String>) {
    let mut order: Vec<usize> = (0..symbols.len()).collect();
    order.sort_by(|&a, &b| symbols[a].cmp(&symbols[b]));
    let mut to = vec![0; symbols.len()];
    for (place, &at) in order.iter().enumerate() {
        to[at] = u32::try_from(place).unwrap_or(u32::MAX);
    }
    let sorted = order.into_iter().map(|at| symbols[at].clone()).collect();
    (to, sorted)
}

fn fill(axes: Axes, parts: &[Part]) -> Result<Panel, PanelError> {
    let mut times: Vec<i64> = parts.iter().flat_map(|part| &part.times).copied().collect();
    times.sort_unstable();
    times.dedup();
    let n = axes.symbols.len();
    let mut taken = vec![false; times.len() * n];
    let mut fields = vec![vec![f64::NAN; times.len() * n]; axes.fields.len()];
    let mut row = 0;
    for part in parts {
        // Long tables are often in the order of time or of symbol: try the same time, and the
        // next, before searching.
        let mut near = 0;
        let mut cells = Vec::with_capacity(part.times.len());
        for (&time, &symbol) in part.times.iter().zip(&part.symbols) {
            if times.get(near) != Some(&time) {
                near = if times.get(near + 1) == Some(&time) {
                    near + 1
                } else {
                    times.partition_point(|&other| other < time)
                };
            }
            let cell = near * n + symbol as usize;
            if std::mem::replace(&mut taken[cell], true) {
                return Err(duplicate(&axes, parts, row));
            }
            cells.push(cell);
            row += 1;
        }
        for (to, column) in fields.iter_mut().zip(&part.fields) {
            let values = column.as_primitive::<Float64Type>();
            for (at, &cell) in cells.iter().enumerate() {
                to[cell] = if values.is_null(at) { f64::NAN } else { values.value(at) };
            }
        }
    }
    let times = from_ticks(&axes.time_type, times)?;
    let fields = fields.into_iter().map(ScalarBuffer::from).collect();
    let block = Block { times, width: n, fields };
    let blocks = if block.times.is_empty() { Vec::new() } else { vec![block] };
    Ok(Panel { axes: Arc::new(axes), blocks })
}

fn from_ticks(time_type: &DataType, ticks: Vec<i64>) -> Result<ArrayRef, PanelError> {
    let ticks: ArrayRef = Arc::new(Int64Array::from(ticks));
    if *time_type == DataType::Date32 {
        return Ok(cast(&cast(&ticks, &DataType::Int32)?, time_type)?);
    }
    Ok(cast(&ticks, time_type)?)
}

/// The error for row `second`, whose place an earlier row has.
fn duplicate(axes: &Axes, parts: &[Part], second: usize) -> PanelError {
    let mut rows = parts.iter().flat_map(|part| part.times.iter().zip(&part.symbols));
    let Some((&time, &symbol)) = rows.clone().nth(second) else {
        return PanelError::Times { row: second };
    };
    let first = rows.position(|row| row == (&time, &symbol)).unwrap_or(0);
    let time = from_ticks(&axes.time_type, vec![time]).ok();
    let time = time.and_then(|time| array_value_to_string(&time, 0).ok()).unwrap_or_default();
    PanelError::Duplicate { first, second, symbol: axes.symbols[symbol as usize].clone(), time }
}
