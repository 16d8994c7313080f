//! Files that bring a schema: the one that they share, and how each file is brought into it.
//!
//! Strictly, all files have the same columns with the same types, in any order. With
//! [`Options::evolve`](crate::Options::evolve) a column that a file lacks is null there, and
//! types are [widened](widen) where that loses nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, Metadata, Schema, SchemaRef};

use crate::error::LoadError;
use crate::file::{FileName, InputFile};
use crate::join::column_order;
use crate::options::Options;

/// Where each column of the common schema comes from in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fit(Vec<Place>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    As(usize),
    Cast(usize),
    Absent,
}

/// The common schema, and each file's place in it.
///
/// # Errors
/// The files do not fit together; a column that was asked for is in none.
pub(crate) fn fit(
    files: &[InputFile],
    schemas: &[SchemaRef],
    options: &Options,
) -> Result<(SchemaRef, Vec<Fit>), LoadError> {
    let mut common = Common::default();
    for (file, schema) in files.iter().zip(schemas) {
        common.take(&file.name, schema, options.evolve)?;
    }
    if let Some(wanted) = &options.columns {
        // the others are made of the files' paths, or will be missed
        common.fields.retain(|(field, _)| wanted.contains(field.name()));
    }
    let fits = schemas.iter().map(|schema| common.fit(schema)).collect();
    let fields: Vec<Field> = common.fields.into_iter().map(|(field, _)| field).collect();
    Ok((Arc::new(Schema::new_with_metadata(fields, common.metadata)), fits))
}

#[derive(Debug, Default)]
struct Common {
    /// Each with the file that first had its type.
    fields: Vec<(Field, FileName)>,
    metadata: Metadata,
    first: Option<FileName>,
}

impl Common {
    fn take(&mut self, file: &FileName, schema: &Schema, evolve: bool) -> Result<(), LoadError> {
        let Some(first) = self.first.clone() else {
            self.first = Some(file.clone());
            let fields = schema.fields().iter().map(|f| (f.as_ref().clone(), file.clone()));
            self.fields = fields.collect();
            self.metadata = schema.metadata().clone();
            return Ok(());
        };
        let columns: Vec<String> = self.fields.iter().map(|(f, _)| f.name().clone()).collect();
        let found: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        let order = match column_order(&first, &columns, file, &found) {
            Err(LoadError::ColumnsDiffer { .. }) if evolve => {
                columns.iter().map(|name| found.iter().position(|f| f == name)).collect()
            }
            order => order?.map_or_else(
                || (0..columns.len()).map(Some).collect::<Vec<_>>(),
                |order| order.into_iter().map(Some).collect(),
            ),
        };
        for ((field, typed), at) in self.fields.iter_mut().zip(&order) {
            let Some(other) = at.map(|at| schema.field(at)) else {
                field.set_nullable(true);
                continue;
            };
            if field.data_type() != other.data_type() {
                let wide = widen(field.data_type(), other.data_type()).filter(|_| evolve);
                let Some(wide) = wide else {
                    return Err(types_differ(file, typed, field, other));
                };
                if &wide != field.data_type() {
                    *typed = file.clone();
                    field.set_data_type(wide);
                }
            }
            field.set_metadata(shared(field.metadata(), other.metadata()));
            field.set_nullable(field.is_nullable() || other.is_nullable());
        }
        for (at, field) in schema.fields().iter().enumerate() {
            if !order.contains(&Some(at)) {
                let field = field.as_ref().clone().with_nullable(true);
                self.fields.push((field, file.clone()));
            }
        }
        self.metadata = shared(&self.metadata, schema.metadata());
        Ok(())
    }

    fn fit(&self, schema: &Schema) -> Fit {
        let same = self.fields.len() == schema.fields().len()
            && self.fields.iter().zip(schema.fields()).all(|((a, _), b)| a.name() == b.name());
        let places = self.fields.iter().enumerate().map(|(at, (field, _))| {
            let named = || schema.fields().iter().position(|other| other.name() == field.name());
            match if same { Some(at) } else { named() } {
                None => Place::Absent,
                Some(at) if schema.field(at).data_type() == field.data_type() => Place::As(at),
                Some(at) => Place::Cast(at),
            }
        });
        Fit(places.collect())
    }
}

fn types_differ(file: &FileName, first: &FileName, wanted: &Field, found: &Field) -> LoadError {
    LoadError::TypesDiffer {
        file: file.clone(),
        first: first.clone(),
        column: wanted.name().clone(),
        wanted: wanted.data_type().clone(),
        found: found.data_type().clone(),
        way_out: match widen(wanted.data_type(), found.data_type()) {
            Some(wide) => format!("; --evolve makes both {wide}"),
            None => String::new(),
        },
    }
}

/// What the files do not all say is not said of the whole.
fn shared(one: &Metadata, other: &Metadata) -> Metadata {
    let both = one.iter().filter(|(key, value)| other.get(key) == Some(*value));
    both.map(|(key, value)| (key.clone(), value.clone())).collect::<BTreeMap<_, _>>().into()
}

impl Fit {
    /// The columns of the file that are needed, rising, and the same fit over them alone.
    pub(crate) fn narrowed(&self) -> (Vec<usize>, Fit) {
        let mut used: Vec<usize> = self.0.iter().filter_map(|place| place.column()).collect();
        used.sort_unstable();
        used.dedup();
        let rank = |at: usize| used.partition_point(|other| *other < at);
        let places = self.0.iter().map(|place| match *place {
            Place::As(at) => Place::As(rank(at)),
            Place::Cast(at) => Place::Cast(rank(at)),
            Place::Absent => Place::Absent,
        });
        let fit = Fit(places.collect());
        (used, fit)
    }

    /// Brings a batch into the common schema.
    ///
    /// # Errors
    /// [`LoadError::Widen`]: a value has no place in the wider type.
    pub(crate) fn conform(
        &self,
        file: &InputFile,
        batch: &RecordBatch,
        schema: &SchemaRef,
    ) -> Result<RecordBatch, LoadError> {
        let rows = batch.num_rows();
        let mut columns = Vec::with_capacity(self.0.len());
        let fault = |field: &Field, source: ArrowError| LoadError::Widen {
            file: file.name.clone(),
            column: field.name().clone(),
            wanted: field.data_type().clone(),
            source,
        };
        for (place, field) in self.0.iter().zip(schema.fields()) {
            columns.push(match *place {
                Place::As(at) => batch.column(at).clone(),
                Place::Cast(at) => {
                    let strict = CastOptions { safe: false, ..CastOptions::default() };
                    cast_with_options(batch.column(at), field.data_type(), &strict)
                        .map_err(|source| fault(field, source))?
                }
                Place::Absent => new_null_array(field.data_type(), rows),
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema.clone(), columns, &options)
            .map_err(|source| LoadError::Batch { file: file.name.clone(), source })
    }
}

impl Place {
    fn column(self) -> Option<usize> {
        match self {
            Self::As(at) | Self::Cast(at) => Some(at),
            Self::Absent => None,
        }
    }
}

/// The narrowest type that holds every value of both.
///
/// Whole numbers: the wider; signed and unsigned meet in the next wider signed one, which
/// 64 bits unsigned do not have. Whole numbers and floating point: Float64 for those of up
/// to 32 bits, Float32 for up to 16 bits beside Float32. Text and bytes: the one with large
/// offsets. Timestamps with the same zone: the finer unit. Null: the other. Nothing else.
pub(crate) fn widen(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType::{Binary, Float32, Float64, LargeBinary, LargeUtf8, Null, Timestamp, Utf8};
    if one == other {
        return Some(one.clone());
    }
    if let (Some((a, a_signed)), Some((b, b_signed))) = (whole(one), whole(other)) {
        let bits = match (a_signed, b_signed) {
            (true, true) | (false, false) => return integer(a.max(b), a_signed),
            (true, false) => a.max(b * 2),
            (false, true) => b.max(a * 2),
        };
        return integer(bits, true);
    }
    if let (Some(a), Some(b)) = (exact_bits(one), exact_bits(other)) {
        // bits of a whole number that each type holds exactly
        return Some(match a.max(b) {
            ..=11 => DataType::Float16,
            12..=24 => Float32,
            25..=53 => Float64,
            _ => return None,
        });
    }
    Some(match (one, other) {
        (Null, wide) | (wide, Null) => wide.clone(),
        (Utf8, LargeUtf8) | (LargeUtf8, Utf8) => LargeUtf8,
        (Binary, LargeBinary) | (LargeBinary, Binary) => LargeBinary,
        (Timestamp(a, zone), Timestamp(b, other)) if zone == other => {
            Timestamp(*a.max(b), zone.clone())
        }
        _ => return None,
    })
}

fn whole(data_type: &DataType) -> Option<(u32, bool)> {
    Some(match data_type {
        DataType::Int8 => (8, true),
        DataType::Int16 => (16, true),
        DataType::Int32 => (32, true),
        DataType::Int64 => (64, true),
        DataType::UInt8 => (8, false),
        DataType::UInt16 => (16, false),
        DataType::UInt32 => (32, false),
        DataType::UInt64 => (64, false),
        _ => return None,
    })
}

fn integer(bits: u32, signed: bool) -> Option<DataType> {
    Some(match (bits, signed) {
        (8, true) => DataType::Int8,
        (16, true) => DataType::Int16,
        (32, true) => DataType::Int32,
        (64, true) => DataType::Int64,
        (8, false) => DataType::UInt8,
        (16, false) => DataType::UInt16,
        (32, false) => DataType::UInt32,
        (64, false) => DataType::UInt64,
        _ => return None,
    })
}

fn exact_bits(data_type: &DataType) -> Option<u32> {
    match data_type {
        DataType::Float16 => Some(11),
        DataType::Float32 => Some(24),
        DataType::Float64 => Some(53),
        other => whole(other).map(|(bits, _)| bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType::*;
    use arrow_schema::TimeUnit::{Nanosecond, Second};

    #[test]
    fn widening_loses_nothing_and_takes_either_order() {
        let utc = Some("UTC".into());
        for (one, other, wide) in [
            (Int8, Int64, Some(Int64)),
            (UInt8, UInt32, Some(UInt32)),
            (Int8, UInt8, Some(Int16)),
            (Int64, UInt32, Some(Int64)),
            (Int32, UInt64, None),
            (Int16, Float32, Some(Float32)),
            (Int32, Float32, Some(Float64)),
            (Int64, Float64, None),
            (Float16, Float64, Some(Float64)),
            (Null, Utf8, Some(Utf8)),
            (Utf8, LargeUtf8, Some(LargeUtf8)),
            (Utf8, Int64, None),
            (
                Timestamp(Second, None),
                Timestamp(Nanosecond, None),
                Some(Timestamp(Nanosecond, None)),
            ),
            (Timestamp(Second, None), Timestamp(Second, utc), None),
            (Date32, Timestamp(Second, None), None),
        ] {
            assert_eq!(widen(&one, &other), wide, "{one} and {other}");
            assert_eq!(widen(&other, &one), wide, "{other} and {one}");
        }
    }
}
