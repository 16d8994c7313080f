//! Text as a field: the labels of groups, as numbers.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_cast::cast;
use arrow_schema::DataType;

use super::PanelError;

/// The labels of one field, numbered from 0 in the order in which they first come.
#[derive(Debug, Default)]
pub(super) struct Labels {
    known: HashMap<String, u32>,
}

/// Whether a column holds labels.
pub(super) fn is_label(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_label(values),
        other => matches!(other, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

impl Labels {
    /// A column's numbers; what has no label is missing.
    pub(super) fn codes(&mut self, column: &ArrayRef) -> Result<ArrayRef, PanelError> {
        let coded = match column.data_type() {
            DataType::Dictionary(..) => column.clone(),
            _ => cast(column, &DataType::Utf8)?,
        };
        let wanted = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let coded = cast(&coded, &wanted)?;
        let coded = coded.as_dictionary::<Int32Type>();
        let values = coded.values().as_string::<i32>();
        let numbers: Vec<Option<u32>> = values.iter().map(|v| v.map(|v| self.number(v))).collect();
        let code = |key: Option<usize>| key.and_then(|key| numbers[key]).map(f64::from);
        let codes: Float64Array = (0..coded.len()).map(|row| code(coded.key(row))).collect();
        Ok(Arc::new(codes))
    }

    fn number(&mut self, label: &str) -> u32 {
        let next = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        *self.known.entry(label.to_owned()).or_insert(next)
    }
}
