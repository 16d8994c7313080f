//! Random arrays of random types, sliced at random on every level.

use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode};
use proptest::prelude::*;
use std::sync::Arc;

/// A splitmix64 generator: the seed alone decides the array.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform below `bound`; 0 where that is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap()
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}

fn leaves() -> Vec<DataType> {
    use DataType as T;
    let mut leaves = vec![T::Null, T::Boolean, T::Int8, T::Int16, T::Int32, T::Int64];
    leaves.extend([T::UInt8, T::UInt16, T::UInt32, T::UInt64, T::Float16, T::Float32, T::Float64]);
    leaves.extend([T::Date32, T::Date64, T::Time32(TimeUnit::Second)]);
    leaves.extend([T::Time64(TimeUnit::Nanosecond), T::Duration(TimeUnit::Microsecond)]);
    leaves.push(T::Timestamp(TimeUnit::Nanosecond, None));
    leaves.push(T::Timestamp(TimeUnit::Microsecond, Some("America/New_York".into())));
    leaves.extend([T::Interval(IntervalUnit::YearMonth), T::Interval(IntervalUnit::DayTime)]);
    leaves.push(T::Interval(IntervalUnit::MonthDayNano));
    leaves.extend([T::Decimal32(7, 2), T::Decimal64(12, 3), T::Decimal128(30, -2)]);
    leaves.extend([T::Decimal256(70, 10), T::FixedSizeBinary(5), T::FixedSizeBinary(0)]);
    leaves.extend([T::Utf8, T::LargeUtf8, T::Binary, T::LargeBinary, T::Utf8View, T::BinaryView]);
    leaves
}

/// Any type that chunks hold, nested up to four levels.
pub(crate) fn data_type() -> impl Strategy<Value = DataType> {
    let leaf = proptest::sample::select(leaves());
    leaf.prop_recursive(4, 12, 3, |inner| {
        let field = inner.clone().prop_map(|inner| Arc::new(Field::new("item", inner, true)));
        let fields = proptest::collection::vec(inner.clone(), 0..4).prop_map(|types| {
            let named = types.into_iter().enumerate();
            named.map(|(i, t)| Field::new(format!("f{i}"), t, true)).collect::<Fields>()
        });
        let keys = proptest::sample::select(vec![
            DataType::Int8,
            DataType::UInt8,
            DataType::Int16,
            DataType::UInt16,
            DataType::Int32,
            DataType::UInt32,
            DataType::Int64,
            DataType::UInt64,
        ]);
        let ends =
            proptest::sample::select(vec![DataType::Int16, DataType::Int32, DataType::Int64]);
        let mode = proptest::sample::select(vec![UnionMode::Sparse, UnionMode::Dense]);
        prop_oneof![
            field.clone().prop_map(DataType::List),
            field.clone().prop_map(DataType::LargeList),
            field.clone().prop_map(DataType::ListView),
            field.clone().prop_map(DataType::LargeListView),
            (field.clone(), 0..4i32).prop_map(|(field, size)| DataType::FixedSizeList(field, size)),
            fields.clone().prop_map(DataType::Struct),
            // A union without fields cannot have rows.
            (mode, fields.prop_filter("no fields", |fields| !fields.is_empty())).prop_map(
                |(mode, fields)| {
                    let numbered = (5..).step_by(7).zip(fields.iter().cloned());
                    DataType::Union(numbered.collect::<UnionFields>(), mode)
                }
            ),
            inner.clone().prop_map(|values| {
                let key = Field::new("key", DataType::Utf8, false);
                let entries = Fields::from(vec![key, Field::new("value", values, true)]);
                let entries = Field::new("entries", DataType::Struct(entries), false);
                DataType::Map(Arc::new(entries), false)
            }),
            (keys, inner.clone())
                .prop_map(|(keys, values)| DataType::Dictionary(Box::new(keys), Box::new(values))),
            (ends, inner).prop_map(|(ends, values)| {
                let ends = Arc::new(Field::new("run_ends", ends, false));
                DataType::RunEndEncoded(ends, Arc::new(Field::new("values", values, true)))
            }),
        ]
    })
}

/// `len` rows of `data_type`: a random slice of a longer random array.
pub(crate) fn array(random: &mut Random, data_type: &DataType, len: usize) -> ArrayRef {
    let (before, after) = match random.below(3) {
        0 => (0, 0),
        _ => (random.below(20), random.below(20)),
    };
    make_array(whole(random, data_type, before + len + after, true)).slice(before, len)
}

fn child(random: &mut Random, data_type: &DataType, len: usize) -> ArrayData {
    array(random, data_type, len).to_data()
}

/// The width of a fixed-width type, from Arrow itself.
fn width(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::FixedSizeBinary(width) => Some(usize::try_from(*width).unwrap()),
        other => other.primitive_width(),
    }
}

fn integers(width: usize, values: impl IntoIterator<Item = usize>) -> Buffer {
    let bytes = values.into_iter().flat_map(|v| (v as u64).to_le_bytes()[..width].to_vec());
    Buffer::from_slice_ref(bytes.collect::<Vec<u8>>())
}

/// Rising offsets of `len` rows from a random start, and the last of them.
fn offsets(random: &mut Random, width: usize, len: usize) -> (Buffer, usize) {
    let mut end = random.below(4);
    let mut all = vec![end];
    for _ in 0..len {
        end += random.below(6);
        all.push(end);
    }
    (integers(width, all), end)
}

fn whole(random: &mut Random, data_type: &DataType, len: usize, nullable: bool) -> ArrayData {
    let mut nulls = (nullable && random.below(3) > 0)
        .then(|| NullBuffer::new(BooleanBuffer::collect_bool(len, |_| random.below(4) > 0)));
    let (buffers, children) = match data_type {
        DataType::Null => {
            nulls = None;
            (vec![], vec![])
        }
        DataType::Boolean => (vec![Buffer::from(random.bytes(len.div_ceil(8)))], vec![]),
        DataType::Utf8 | DataType::Binary => bytes(random, 4, len),
        DataType::LargeUtf8 | DataType::LargeBinary => bytes(random, 8, len),
        DataType::Utf8View | DataType::BinaryView => (views(random, len), vec![]),
        DataType::List(field) => {
            let (offsets, end) = offsets(random, 4, len);
            (vec![offsets], vec![child(random, field.data_type(), end)])
        }
        DataType::LargeList(field) => {
            let (offsets, end) = offsets(random, 8, len);
            (vec![offsets], vec![child(random, field.data_type(), end)])
        }
        DataType::Map(field, _) => {
            let (offsets, end) = offsets(random, 4, len);
            let DataType::Struct(fields) = field.data_type() else { unreachable!() };
            let keys = whole(random, fields[0].data_type(), end, false);
            let values = child(random, fields[1].data_type(), end);
            let entries = ArrayData::builder(field.data_type().clone()).len(end);
            let entries = entries.child_data(vec![keys, values]).build().unwrap();
            (vec![offsets], vec![entries])
        }
        DataType::ListView(field) => list_views(random, 4, len, field.data_type()),
        DataType::LargeListView(field) => list_views(random, 8, len, field.data_type()),
        DataType::FixedSizeList(field, size) => {
            let rows = len * usize::try_from(*size).unwrap();
            (vec![], vec![child(random, field.data_type(), rows)])
        }
        DataType::Struct(fields) => {
            (vec![], fields.iter().map(|field| child(random, field.data_type(), len)).collect())
        }
        DataType::Union(fields, mode) => {
            let ids: Vec<i8> = fields.iter().map(|(id, _)| id).collect();
            let chosen: Vec<usize> = (0..len).map(|_| random.below(ids.len())).collect();
            let id = |&i: &usize| ids[i].to_le_bytes()[0];
            let mut buffers = vec![Buffer::from(chosen.iter().map(id).collect::<Vec<u8>>())];
            let mut lens = vec![len; ids.len()];
            if *mode == UnionMode::Dense {
                lens = ids.iter().map(|_| 1 + random.below(9)).collect();
                buffers.push(integers(4, chosen.iter().map(|&i| random.below(lens[i]))));
            }
            let pairs = fields.iter().zip(lens);
            let children = pairs.map(|((_, f), len)| child(random, f.data_type(), len)).collect();
            let data = ArrayData::builder(data_type.clone()).len(len);
            return data.buffers(buffers).child_data(children).align_buffers(true).build().unwrap();
        }
        DataType::Dictionary(keys, values) => {
            let count = 1 + random.below(20);
            let keys = integers(width(keys).unwrap(), (0..len).map(|_| random.below(count)));
            (vec![keys], vec![child(random, values, count)])
        }
        DataType::RunEndEncoded(ends, values) => {
            nulls = None;
            let mut all = vec![];
            while all.last().is_none_or(|&last| last < len) {
                all.push(all.last().copied().unwrap_or(0) + 1 + random.below(5));
            }
            let runs = all.len();
            let buffer = integers(width(ends.data_type()).unwrap(), all);
            let ends = ArrayData::builder(ends.data_type().clone()).len(runs);
            let ends = ends.add_buffer(buffer).build().unwrap();
            (vec![], vec![ends, child(random, values.data_type(), runs)])
        }
        fixed => {
            let width = width(fixed).unwrap();
            (vec![Buffer::from(random.bytes(len * width))], vec![])
        }
    };
    let builder = ArrayData::builder(data_type.clone()).len(len).nulls(nulls);
    builder.buffers(buffers).child_data(children).align_buffers(true).build().unwrap()
}

fn bytes(random: &mut Random, width: usize, len: usize) -> (Vec<Buffer>, Vec<ArrayData>) {
    let (offsets, end) = offsets(random, width, len);
    let text: Vec<u8> = (0..end).map(|_| b'a' + random.bytes(1)[0] % 26).collect();
    (vec![offsets, Buffer::from(text)], vec![])
}

fn views(random: &mut Random, len: usize) -> Vec<Buffer> {
    let data: Vec<Vec<u8>> = (0..1 + random.below(3))
        .map(|_| (0..20 + random.below(600)).map(|_| b'a' + random.bytes(1)[0] % 26).collect())
        .collect();
    let mut views = Vec::with_capacity(len * 16);
    for _ in 0..len {
        let mut view = [0; 16];
        let size = random.below(21);
        view[0] = size.to_le_bytes()[0];
        if size <= 12 {
            view[4..4 + size].fill(b'x');
        } else {
            let index = random.below(data.len());
            let at = random.below(data[index].len() - size + 1);
            view[4..8].copy_from_slice(&data[index][at..at + 4]);
            view[8] = index.to_le_bytes()[0];
            view[12..].copy_from_slice(&(at as u64).to_le_bytes()[..4]);
        }
        views.extend_from_slice(&view);
    }
    std::iter::once(views).chain(data).map(Buffer::from).collect()
}

fn list_views(
    random: &mut Random,
    width: usize,
    len: usize,
    item: &DataType,
) -> (Vec<Buffer>, Vec<ArrayData>) {
    let items = 8 + random.below(40);
    let pairs = (0..len).map(|_| (random.below(items - 4), random.below(5)));
    let (at, sizes): (Vec<usize>, Vec<usize>) = pairs.unzip();
    (vec![integers(width, at), integers(width, sizes)], vec![child(random, item, items)])
}
