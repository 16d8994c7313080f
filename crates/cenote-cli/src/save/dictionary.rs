//! One dictionary a column. Each partition of a frame brings its own; an Arrow IPC file has
//! room for one.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat;
use arrow_select::take::take;

/// For each column the dictionary of all partitions; `None` where it is no dictionary.
#[derive(Debug)]
pub(super) struct Unified {
    columns: Vec<Option<Column>>,
}

#[derive(Debug)]
struct Column {
    /// All partitions' dictionaries, one after the other, as keys into one without repeats.
    packed: DictionaryArray<Int32Type>,
    /// Where each partition's begins.
    starts: Vec<usize>,
}

impl Unified {
    /// Cost: the dictionaries are copied, not the keys.
    ///
    /// # Errors
    /// Values of a type that has no dictionaries in arrow-cast.
    pub(super) fn of(batches: &[RecordBatch]) -> Result<Unified, ArrowError> {
        let count = batches.first().map_or(0, RecordBatch::num_columns);
        let columns = (0..count).map(|i| Column::of(batches, i)).collect::<Result<_, _>>()?;
        Ok(Unified { columns })
    }

    /// The partition, with the keys of the common dictionaries.
    ///
    /// # Errors
    /// A key type is too small for the common dictionary.
    pub(super) fn batch(&self, at: usize, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let columns = batch.columns().iter().zip(&self.columns);
        let columns = columns.map(|(array, column)| match column {
            Some(column) => column.array(at, array),
            None => Ok(array.clone()),
        });
        RecordBatch::try_new(batch.schema(), columns.collect::<Result<_, _>>()?)
    }
}

impl Column {
    fn of(batches: &[RecordBatch], i: usize) -> Result<Option<Column>, ArrowError> {
        let DataType::Dictionary(_, value_type) = batches[0].column(i).data_type() else {
            return Ok(None);
        };
        let mut starts = Vec::with_capacity(batches.len());
        let mut values = Vec::with_capacity(batches.len());
        let mut start = 0;
        for batch in batches {
            let dictionary = batch.column(i).as_any_dictionary().values();
            starts.push(start);
            start += dictionary.len();
            values.push(dictionary.as_ref());
        }
        let packed_type = DataType::Dictionary(Box::new(DataType::Int32), value_type.clone());
        let packed = cast(&concat(&values)?, &packed_type)?;
        Ok(Some(Column { packed: packed.as_dictionary::<Int32Type>().clone(), starts }))
    }

    fn array(&self, at: usize, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let own = array.as_any_dictionary();
        let mapping = self.packed.keys().slice(self.starts[at], own.values().len());
        let keys = take(&mapping, own.keys(), None)?;
        let keys = keys.as_primitive::<Int32Type>().clone();
        let common = DictionaryArray::try_new(keys, self.packed.values().clone())?;
        cast(&common, array.data_type())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int8Type;

    use super::*;

    #[test]
    fn the_same_values_by_one_dictionary() {
        let parts: [&[Option<&str>]; 3] =
            [&[Some("b"), Some("a"), None], &[Some("a"), Some("c")], &[None]];
        let batches = parts.map(|part| {
            let names: DictionaryArray<Int8Type> = part.iter().copied().collect();
            RecordBatch::try_from_iter([("name", Arc::new(names) as ArrayRef)]).unwrap()
        });
        let unified = Unified::of(&batches).unwrap();
        let mut dictionaries = Vec::new();
        for (at, batch) in batches.iter().enumerate() {
            let common = unified.batch(at, batch).unwrap();
            assert_eq!(common.schema(), batch.schema());
            let text = |batch: &RecordBatch| cast(batch.column(0), &DataType::Utf8).unwrap();
            assert_eq!(&text(&common), &text(batch));
            dictionaries.push(common.column(0).as_any_dictionary().values().clone());
        }
        assert_eq!(dictionaries[0].len(), 3);
        assert!(dictionaries.iter().all(|d| d == &dictionaries[0]));
    }
}
