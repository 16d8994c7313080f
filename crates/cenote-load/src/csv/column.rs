//! One column of a batch in the making.

use std::sync::Arc;

use arrow_array::builder::{BooleanBufferBuilder, NullBufferBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, PrimitiveArray, StringArray,
    types::{
        ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType,
        TimestampNanosecondType, TimestampSecondType,
    },
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use super::block::Block;
use super::declared::Declared;
use super::infer::{FAR, INT, NUMBER, Seen};
use super::look::Look;
use super::moment;
use super::rules::{Rules, Ticks};
use super::value;

/// Why a block was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misfit {
    /// A wider type is needed; the values of the block were classified.
    Wider,
    /// The value of this row is not of the declared type.
    Row(usize),
}

/// A column and its values so far.
#[derive(Debug)]
pub(super) struct Column {
    values: Values,
    nulls: NullBufferBuilder,
}

#[derive(Debug)]
enum Values {
    /// No value was seen.
    Nothing(usize),
    Bool(BooleanBufferBuilder),
    Int(Vec<i64>),
    Float(Vec<f64>),
    Date(Vec<i32>),
    Time {
        values: Vec<i64>,
        unit: TimeUnit,
        zoned: bool,
        zone: Option<Arc<str>>,
    },
    /// `big`: numbers so far, which a fraction would make floats.
    Text {
        offsets: Vec<i32>,
        bytes: Vec<u8>,
        big: bool,
    },
    Declared(Declared),
}

impl Column {
    /// An inferred column of this type.
    pub(super) fn inferred(seen: Seen, rules: &Rules) -> Self {
        let values = match rules.data_type(seen) {
            _ if seen.is_empty() => Values::Nothing(0),
            DataType::Boolean => Values::Bool(BooleanBufferBuilder::new(0)),
            DataType::Int64 => Values::Int(Vec::new()),
            DataType::Float64 => Values::Float(Vec::new()),
            DataType::Date32 => Values::Date(Vec::new()),
            DataType::Timestamp(unit, zone) => {
                Values::Time { values: Vec::new(), unit, zoned: seen.is_zoned(), zone }
            }
            _ => Values::Text { offsets: vec![0], bytes: Vec::new(), big: seen.is_big() },
        };
        Self { values, nulls: NullBufferBuilder::new(0) }
    }

    pub(super) fn declared(data_type: &DataType) -> Self {
        let values = match data_type {
            DataType::Utf8 => Values::Text { offsets: vec![0], bytes: Vec::new(), big: false },
            other => Values::Declared(Declared::new(other)),
        };
        Self { values, nulls: NullBufferBuilder::new(0) }
    }

    /// Room for so many more values.
    pub(super) fn reserve(&mut self, rows: usize) {
        match &mut self.values {
            Values::Int(values) | Values::Time { values, .. } => values.reserve(rows),
            Values::Float(values) => values.reserve(rows),
            Values::Date(values) => values.reserve(rows),
            Values::Text { offsets, .. } => offsets.reserve(rows),
            Values::Bool(_) | Values::Nothing(_) | Values::Declared(_) => {}
        }
    }

    /// Takes one column of a block. After a misfit the column is of no use any more.
    pub(super) fn take(
        &mut self,
        block: &Block<'_>,
        column: usize,
        rules: &Rules,
        look: &mut Look,
    ) -> Result<(), Misfit> {
        if let Values::Nothing(rows) = self.values
            && !block.column(column).all(|text| rules.is_null(text))
        {
            look.classify(block, column, rules);
            if !look.seen.is_text() {
                return Err(Misfit::Wider);
            }
            // a column without values is text as well
            let (offsets, bytes) = (vec![0; rows + 1], Vec::new());
            self.values = Values::Text { offsets, bytes, big: false };
        }
        let nulls = &mut self.nulls;
        let taken = match &mut self.values {
            Values::Nothing(rows) => {
                nulls.append_n_nulls(block.rows());
                *rows += block.rows();
                Some(())
            }
            Values::Bool(values) => truths(block, column, rules, values, nulls),
            Values::Int(values) if rules.is_plain() => {
                fill(block, column, rules, values, nulls, value::whole)
            }
            Values::Int(values) => fill(block, column, rules, values, nulls, |text| {
                let whole = rules.classify(text) & INT != 0;
                whole.then(|| rules.with_number(text, value::whole))??
            }),
            Values::Float(values) => {
                let before = values.len();
                let taken = if rules.is_plain() {
                    fill(block, column, rules, values, nulls, value::held)
                } else {
                    fill(block, column, rules, values, nulls, |text| {
                        let number = rules.classify(text) & NUMBER != 0;
                        number.then(|| rules.with_number(text, value::held))??
                    })
                };
                let row = values.len() - before;
                if taken.is_none() && rules.is_number(block.column(column).nth(row)) {
                    look.is_beyond(row);
                }
                taken
            }
            Values::Date(values) => {
                let mut far = false;
                let taken = fill(block, column, rules, values, nulls, |text| {
                    if rules.is_plain() {
                        let (days, year) = moment::date(text.try_into().ok()?)?;
                        far |= moment::is_far(year);
                        return Some(days);
                    }
                    let moment = rules.moment(text).filter(|moment| moment.is_date())?;
                    far |= moment.class & FAR != 0;
                    i32::try_from(moment.seconds / 86_400).ok()
                });
                if far {
                    look.seen.merge(Seen::FAR_DATES);
                }
                taken
            }
            Values::Time { values, unit, zoned, .. } => {
                let (unit, zoned, mut never) = (*unit, *zoned, false);
                let before = values.len();
                let taken = fill(block, column, rules, values, nulls, |text| {
                    let ticks = rules.ticks(text, unit, zoned);
                    never |= ticks == Ticks::Never;
                    if let Ticks::At(ticks) = ticks { Some(ticks) } else { None }
                });
                if never {
                    return Err(Misfit::Row(values.len() - before));
                }
                taken
            }
            Values::Text { offsets, bytes, big } => {
                if *big {
                    look.classify(block, column, rules);
                }
                texts(block, column, rules, offsets, bytes, nulls);
                Some(())
            }
            Values::Declared(values) => {
                return values.take(block, column, rules, nulls).map_err(Misfit::Row);
            }
        };
        taken.ok_or_else(|| {
            look.classify(block, column, rules);
            Misfit::Wider
        })
    }

    /// Takes rows of a file that has no such column.
    pub(super) fn take_nulls(&mut self, rows: usize) {
        self.nulls.append_n_nulls(rows);
        match &mut self.values {
            Values::Nothing(all) => *all += rows,
            Values::Bool(values) => values.append_n(rows, false),
            Values::Int(values) | Values::Time { values, .. } => extend(values, rows),
            Values::Float(values) => extend(values, rows),
            Values::Date(values) => extend(values, rows),
            Values::Text { offsets, .. } => {
                let end = offsets.last().copied().unwrap_or(0);
                offsets.resize(offsets.len() + rows, end);
            }
            Values::Declared(values) => values.take_nulls(rows),
        }
    }

    /// The array of all that was taken; the column is empty then.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let nulls = self.nulls.finish();
        Ok(match &mut self.values {
            Values::Nothing(rows) => Arc::new(StringArray::new_null(std::mem::take(rows))),
            Values::Bool(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Values::Int(values) => Arc::new(Int64Array::try_new(taken(values), nulls)?),
            Values::Float(values) => Arc::new(Float64Array::try_new(taken(values), nulls)?),
            Values::Date(values) => Arc::new(Date32Array::try_new(taken(values), nulls)?),
            Values::Time { values, unit, zone, .. } => {
                let (values, zone) = (taken(values), zone.clone());
                match unit {
                    TimeUnit::Second => timestamps::<TimestampSecondType>(values, nulls, zone)?,
                    TimeUnit::Millisecond => {
                        timestamps::<TimestampMillisecondType>(values, nulls, zone)?
                    }
                    TimeUnit::Microsecond => {
                        timestamps::<TimestampMicrosecondType>(values, nulls, zone)?
                    }
                    TimeUnit::Nanosecond => {
                        timestamps::<TimestampNanosecondType>(values, nulls, zone)?
                    }
                }
            }
            Values::Text { offsets, bytes, .. } => {
                let offsets = ScalarBuffer::from(std::mem::replace(offsets, vec![0]));
                let bytes = Buffer::from_vec(std::mem::take(bytes));
                Arc::new(StringArray::try_new(OffsetBuffer::new(offsets), bytes, nulls)?)
            }
            Values::Declared(values) => values.finish(nulls)?,
        })
    }
}

fn extend<T: Clone + Default>(values: &mut Vec<T>, rows: usize) {
    values.resize(values.len() + rows, T::default());
}

fn taken<T: arrow_buffer::ArrowNativeType>(values: &mut Vec<T>) -> ScalarBuffer<T> {
    std::mem::take(values).into()
}

fn timestamps<T: ArrowTimestampType>(
    values: ScalarBuffer<i64>,
    nulls: Option<arrow_buffer::NullBuffer>,
    zone: Option<Arc<str>>,
) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(PrimitiveArray::<T>::try_new(values, nulls)?.with_timezone_opt(zone)))
}

fn fill<T: Copy + Default>(
    block: &Block<'_>,
    column: usize,
    rules: &Rules,
    values: &mut Vec<T>,
    nulls: &mut NullBufferBuilder,
    mut read: impl FnMut(&[u8]) -> Option<T>,
) -> Option<()> {
    let asked = rules.has_nulls();
    values.reserve(block.rows());
    // values since the last null
    let mut run = 0;
    for text in block.column(column) {
        let value = if asked && rules.is_null(text) { None } else { read(text) };
        if let Some(value) = value {
            values.push(value);
            run += 1;
        } else if rules.is_null(text) {
            nulls.append_n_non_nulls(std::mem::take(&mut run));
            nulls.append_null();
            values.push(T::default());
        } else {
            return None;
        }
    }
    nulls.append_n_non_nulls(run);
    Some(())
}

fn truths(
    block: &Block<'_>,
    column: usize,
    rules: &Rules,
    values: &mut BooleanBufferBuilder,
    nulls: &mut NullBufferBuilder,
) -> Option<()> {
    for text in block.column(column) {
        let null = rules.is_null(text);
        values.append(if null { false } else { rules.truth(text)? });
        nulls.append(!null);
    }
    Some(())
}

fn texts(
    block: &Block<'_>,
    column: usize,
    rules: &Rules,
    offsets: &mut Vec<i32>,
    bytes: &mut Vec<u8>,
    nulls: &mut NullBufferBuilder,
) {
    offsets.reserve(block.rows());
    let mut run = 0;
    for text in block.column(column) {
        if rules.is_null(text) {
            nulls.append_n_non_nulls(std::mem::take(&mut run));
            nulls.append_null();
        } else {
            run += 1;
            bytes.extend_from_slice(text);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            reason = "a batch is cut before"
        )]
        offsets.push(bytes.len() as i32);
    }
    nulls.append_n_non_nulls(run);
}
