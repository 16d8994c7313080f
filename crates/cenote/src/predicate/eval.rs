//! A predicate over the rows of a partition.
//!
//! What comes of it is two bitmaps, the rows where it is true and those where it is false; a row
//! in neither is null. `not` exchanges them, and `and` and `or` are one bit operation on each.
//! Columns are asked for one by one, and not at all where the rest has decided.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BinaryViewArray, BooleanArray, Float16Array,
    Float32Array, Float64Array, LargeBinaryArray, LargeStringArray, Scalar, StringArray,
    StringViewArray, make_array,
};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_data::ArrayData;
use arrow_ord::cmp;
use arrow_ord::ord::make_comparator;
use arrow_schema::{ArrowError, DataType, SortOptions};
use cenote_arrow::stats::{Bound as Value, ColumnStats};

use super::Op;
use super::bind::{Bound, Test};
use super::prune::Outlook;
use crate::error::Error;

/// Longer lists are looked up, shorter ones compared one by one.
const LOOK_UP_FROM: usize = 5;

/// Where a predicate is true, and where it is false.
#[derive(Clone, Debug)]
struct Truth {
    yes: BooleanBuffer,
    no: BooleanBuffer,
}

/// A partition that a predicate is evaluated over.
pub(crate) struct Rows<'a> {
    /// Rows that are looked at.
    pub(crate) len: usize,
    /// Rows that the statistics are of: these, or more.
    pub(crate) known: u64,
    pub(crate) statistics: &'a [ColumnStats],
    /// A column's rows.
    pub(crate) column: &'a dyn Fn(u32) -> Result<ArrayRef, Error>,
}

impl Bound {
    /// The rows where it is true.
    pub(crate) fn matches(&self, rows: &Rows<'_>) -> Result<BooleanBuffer, Error> {
        Ok(self.evaluate(rows)?.yes)
    }

    fn evaluate(&self, rows: &Rows<'_>) -> Result<Truth, Error> {
        let outlook = self.outlook(rows.statistics, rows.known);
        if let Some(known) = Truth::known(outlook, rows.len) {
            return Ok(known);
        }
        match self {
            Bound::Test { column, test } => {
                let array = (rows.column)(*column)?;
                let raw = test.evaluate(&array)?;
                Ok(match array.logical_nulls().filter(|_| *test != Test::IsNull) {
                    Some(nulls) => {
                        Truth { yes: &raw & nulls.inner(), no: &(!&raw) & nulls.inner() }
                    }
                    None => Truth { no: !&raw, yes: raw },
                })
            }
            Bound::Not(inner) => {
                let Truth { yes, no } = inner.evaluate(rows)?;
                Ok(Truth { yes: no, no: yes })
            }
            Bound::And(parts) => {
                let mut all = Truth::of(true, rows.len);
                for part in parts {
                    let part = part.evaluate(rows)?;
                    all = Truth { yes: &all.yes & &part.yes, no: &all.no | &part.no };
                    if all.no.count_set_bits() == rows.len {
                        break;
                    }
                }
                Ok(all)
            }
            Bound::Or(parts) => {
                let mut all = Truth::of(false, rows.len);
                for part in parts {
                    let part = part.evaluate(rows)?;
                    all = Truth { yes: &all.yes | &part.yes, no: &all.no & &part.no };
                    if all.yes.count_set_bits() == rows.len {
                        break;
                    }
                }
                Ok(all)
            }
        }
    }
}

impl Truth {
    fn of(is: bool, len: usize) -> Truth {
        let (set, unset) = (BooleanBuffer::new_set(len), BooleanBuffer::new_unset(len));
        if is { Truth { yes: set, no: unset } } else { Truth { yes: unset, no: set } }
    }

    /// Where only one outcome is possible.
    fn known(outlook: Outlook, len: usize) -> Option<Truth> {
        let none = || BooleanBuffer::new_unset(len);
        match outlook {
            Outlook { yes: true, no: false, null: false } => Some(Truth::of(true, len)),
            Outlook { yes: false, no: true, null: false } => Some(Truth::of(false, len)),
            Outlook { yes: false, no: false, .. } => Some(Truth { yes: none(), no: none() }),
            _ => None,
        }
    }
}

impl Test {
    /// Of each value; anything for null.
    fn evaluate(&self, array: &ArrayRef) -> Result<BooleanBuffer, Error> {
        if *self == Test::IsNull {
            return Ok(match array.logical_nulls() {
                Some(nulls) => !nulls.inner(),
                None => BooleanBuffer::new_unset(array.len()),
            });
        }
        // Of a dictionary, each value once.
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let values = self.evaluate(dictionary.values())?;
            let values = BooleanArray::new(values, None);
            let taken = arrow_select::take::take(&values, dictionary.keys(), None)?;
            return Ok(taken.as_boolean().values().clone());
        }
        match self {
            Test::Constant(true) => Ok(BooleanBuffer::new_set(array.len())),
            Test::Constant(false) | Test::IsNull => Ok(BooleanBuffer::new_unset(array.len())),
            Test::Compare(op, Value::Float(number)) => Ok(floats(array, *op, *number)?),
            Test::Compare(op, value) => {
                let value = Scalar::new(values(array.data_type(), std::slice::from_ref(value))?);
                let kernel = match op {
                    Op::Eq => cmp::eq,
                    Op::Ne => cmp::neq,
                    Op::Lt => cmp::lt,
                    Op::Le => cmp::lt_eq,
                    Op::Gt => cmp::gt,
                    Op::Ge => cmp::gt_eq,
                };
                Ok(kernel(array, &value)?.values().clone())
            }
            Test::In(list) if list.len() < LOOK_UP_FROM => {
                let mut any = BooleanBuffer::new_unset(array.len());
                for value in list {
                    any = &any | &Test::Compare(Op::Eq, value.clone()).evaluate(array)?;
                }
                Ok(any)
            }
            Test::In(list) => look_up(array, list),
            Test::Like(pattern) => {
                let value = [Value::Bytes(pattern.text.clone().into_bytes())];
                let value = Scalar::new(values(array.data_type(), &value)?);
                Ok(arrow_string::like::like(array, &value)?.values().clone())
            }
        }
    }
}

/// As IEEE 754 has it; Arrow's own kernels give NaN a place in the order.
fn floats(array: &ArrayRef, op: Op, number: f64) -> Result<BooleanBuffer, ArrowError> {
    fn each<T: Copy>(values: &[T], op: Op, order: impl Fn(T) -> Option<Ordering>) -> BooleanBuffer {
        let bits = |is: fn(Option<Ordering>) -> bool| {
            BooleanBuffer::collect_bool(values.len(), |i| is(order(values[i])))
        };
        match op {
            Op::Eq => bits(|o| o == Some(Ordering::Equal)),
            Op::Ne => bits(|o| o != Some(Ordering::Equal)),
            Op::Lt => bits(|o| o == Some(Ordering::Less)),
            Op::Le => bits(|o| o.is_some_and(Ordering::is_le)),
            Op::Gt => bits(|o| o == Some(Ordering::Greater)),
            Op::Ge => bits(|o| o.is_some_and(Ordering::is_ge)),
        }
    }
    Ok(match array.data_type() {
        DataType::Float64 => {
            each(array.as_primitive::<Float64Type>().values(), op, |v| v.partial_cmp(&number))
        }
        // Wider, each is what it was, and the number was made to fit.
        DataType::Float32 => each(array.as_primitive::<Float32Type>().values(), op, |v| {
            f64::from(v).partial_cmp(&number)
        }),
        DataType::Float16 => each(array.as_primitive::<Float16Type>().values(), op, |v| {
            v.to_f64().partial_cmp(&number)
        }),
        other => return Err(unlike(other)),
    })
}

fn unlike(data_type: &DataType) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("a value of another type than {data_type}"))
}

/// Values as an array of a column's type.
fn values(data_type: &DataType, values: &[Value]) -> Result<ArrayRef, ArrowError> {
    use DataType as T;
    type Half = <Float16Type as ArrowPrimitiveType>::Native;
    let wrong = || unlike(data_type);
    let bytes = || {
        let bytes = values.iter().map(|value| match value {
            Value::Bytes(bytes) => Ok(bytes.as_slice()),
            _ => Err(wrong()),
        });
        bytes.collect::<Result<Vec<&[u8]>, _>>()
    };
    let texts = || {
        let text = |bytes: &'_ [u8]| String::from_utf8(bytes.to_vec()).map_err(|_| wrong());
        bytes()?.into_iter().map(text).collect::<Result<Vec<_>, _>>()
    };
    let floats = || {
        let floats = values.iter().map(|value| match value {
            Value::Float(number) => Ok(*number),
            _ => Err(wrong()),
        });
        floats.collect::<Result<Vec<f64>, _>>()
    };
    Ok(match data_type {
        T::Utf8 => Arc::new(StringArray::from_iter_values(texts()?)),
        T::LargeUtf8 => Arc::new(LargeStringArray::from_iter_values(texts()?)),
        T::Utf8View => Arc::new(StringViewArray::from_iter_values(texts()?)),
        T::Binary => Arc::new(BinaryArray::from_iter_values(bytes()?)),
        T::LargeBinary => Arc::new(LargeBinaryArray::from_iter_values(bytes()?)),
        T::BinaryView => Arc::new(BinaryViewArray::from_iter_values(bytes()?)),
        T::Float64 => Arc::new(Float64Array::from(floats()?)),
        T::Float32 => {
            #[expect(clippy::cast_possible_truncation, reason = "made to fit when it was read")]
            let narrow = floats()?.into_iter().map(|number| number as f32);
            Arc::new(Float32Array::from_iter_values(narrow))
        }
        T::Float16 => {
            let narrow = floats()?.into_iter().map(Half::from_f64);
            Arc::new(Float16Array::from_iter_values(narrow))
        }
        T::Boolean => {
            let is = |value: &Value| *value == Value::Whole(arrow_buffer::i256::ONE);
            Arc::new(BooleanArray::from_iter(values.iter().map(|value| Some(is(value)))))
        }
        // Whole numbers of any name lie in memory alike.
        fixed => {
            let width = fixed.primitive_width().ok_or_else(wrong)?;
            let mut bytes = Vec::with_capacity(width * values.len());
            for value in values {
                let Value::Whole(number) = value else { return Err(wrong()) };
                bytes.extend_from_slice(number.to_le_bytes().get(..width).ok_or_else(wrong)?);
            }
            let data = ArrayData::builder(fixed.clone()).len(values.len());
            // The bytes of a vector need not be aligned as its numbers are.
            make_array(data.add_buffer(Buffer::from(bytes)).align_buffers(true).build()?)
        }
    })
}

/// Looks each value up in a sorted list.
fn look_up(array: &ArrayRef, list: &[Value]) -> Result<BooleanBuffer, Error> {
    let mut list = list.to_vec();
    // In Arrow's order −0 comes before 0; either is the other here.
    if let Some(at) = list.iter().position(|value| *value == Value::Float(0.0)) {
        list.splice(at..=at, [Value::Float(-0.0), Value::Float(0.0)]);
    }
    let sorted = values(array.data_type(), &list)?;
    let order = make_comparator(array, &sorted, SortOptions::default())?;
    let found = |row: usize| {
        let (mut low, mut high) = (0, sorted.len());
        while low < high {
            let middle = low.midpoint(high);
            match order(row, middle) {
                Ordering::Equal => return true,
                Ordering::Less => high = middle,
                Ordering::Greater => low = middle + 1,
            }
        }
        false
    };
    Ok(BooleanBuffer::collect_bool(array.len(), found))
}
