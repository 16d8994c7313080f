//! Statistics: true bounds of whatever there is, the same in pieces, and bytes of any kind.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, Schema};
use cenote_arrow::stats::{
    Bound, Bounds, ColumnStats, MAX_BOUND_BYTES, decode_statistics, encode_statistics,
};
use proptest::prelude::*;

use crate::generate::{self, Random};

fn between(stats: &ColumnStats) -> (Bound, Bound, bool, bool) {
    match &stats.bounds {
        Bounds::Between { min, max, min_cut, max_cut } => {
            (min.clone(), max.clone(), *min_cut, *max_cut)
        }
        other => panic!("{other:?}"),
    }
}

fn whole(value: i128) -> Bound {
    Bound::Whole(i256::from_i128(value))
}

#[test]
fn numbers_are_exact_at_their_ends() {
    let stats = ColumnStats::of(&UInt64Array::from(vec![u64::MAX, 5, 0]));
    assert_eq!(between(&stats), (whole(0), whole(u64::MAX.into()), false, false));
    let stats = ColumnStats::of(&Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MIN)]));
    assert_eq!(between(&stats), (whole(i64::MIN.into()), whole(i64::MIN.into()), false, false));
    assert_eq!(stats.nulls, Some(1));
    let stats = ColumnStats::of(&Int8Array::from(vec![i8::MAX; 100]));
    assert_eq!(between(&stats), (whole(127), whole(127), false, false));
    let stats = ColumnStats::of(&BooleanArray::from(vec![Some(true), None]));
    assert_eq!(between(&stats), (whole(1), whole(1), false, false));
    let decimals = Decimal256Array::from(vec![i256::MIN, i256::MAX]);
    let ends = (Bound::Whole(i256::MIN), Bound::Whole(i256::MAX), false, false);
    assert_eq!(between(&ColumnStats::of(&decimals)), ends);
}

#[test]
fn nan_is_apart_and_infinities_are_values() {
    let stats = ColumnStats::of(&Float64Array::from(vec![f64::NAN, f64::NEG_INFINITY, 2.0]));
    assert!(stats.nan);
    let ends = (Bound::Float(f64::NEG_INFINITY), Bound::Float(2.0), false, false);
    assert_eq!(between(&stats), ends);
    let stats = ColumnStats::of(&Float32Array::from(vec![f32::INFINITY; 40]));
    assert!(!stats.nan);
    assert_eq!(between(&stats).0, Bound::Float(f64::INFINITY));
    let stats = ColumnStats::of(&Float32Array::from(vec![Some(f32::NAN), None]));
    assert_eq!((stats.nan, stats.nulls, stats.bounds), (true, Some(1), Bounds::NoValue));
}

#[test]
fn the_bytes_below_a_null_do_not_count() {
    let values = Int32Array::from_iter_values(0..300).into_parts().1;
    let nulls = arrow_buffer::NullBuffer::from_iter((0..300).map(|i| (70..200).contains(&i)));
    let stats = ColumnStats::of(&Int32Array::new(values, Some(nulls)));
    assert_eq!(between(&stats), (whole(70), whole(199), false, false));
    assert_eq!(stats.nulls, Some(170));
    let none = ColumnStats::of(&Int32Array::from(vec![None, None]));
    assert_eq!((none.nulls, none.bounds), (Some(2), Bounds::NoValue));
}

#[test]
fn long_texts_are_cut_to_bounds_that_hold() {
    let (low, high) = ("a".repeat(40), "z".repeat(40));
    let stats = ColumnStats::of(&StringArray::from(vec![high.as_str(), "m", low.as_str()]));
    let (min, max, min_cut, max_cut) = between(&stats);
    assert_eq!((min_cut, max_cut), (true, true));
    assert_eq!(min, Bound::Bytes(vec![b'a'; MAX_BOUND_BYTES]));
    let mut above = vec![b'z'; MAX_BOUND_BYTES];
    above[MAX_BOUND_BYTES - 1] += 1;
    assert_eq!(max, Bound::Bytes(above));
    // No bytes of that length are greater.
    let stats = ColumnStats::of(&BinaryArray::from(vec![&[0xff; 33][..]]));
    assert_eq!(stats.bounds, Bounds::Unknown);
    let stats = ColumnStats::of(&BinaryArray::from(vec![&[&[0xff; 31][..], b"ab"].concat()[..]]));
    assert_eq!(between(&stats).1, Bound::Bytes([&[0xff; 31][..], b"b"].concat()));
    // Of the length that is kept, and not cut.
    let stats = ColumnStats::of(&StringArray::from(vec!["x".repeat(MAX_BOUND_BYTES)]));
    assert!(!between(&stats).3);
}

#[test]
fn a_dictionarys_values_bound_it_and_null_values_are_null() {
    let values = StringArray::from(vec![Some("b"), None, Some("z")]);
    let keys = Int32Array::from(vec![Some(0), Some(1), None, Some(0)]);
    let stats = ColumnStats::of(&DictionaryArray::<Int32Type>::new(keys, Arc::new(values)));
    assert_eq!(stats.nulls, Some(2));
    assert_eq!(between(&stats).0, Bound::Bytes(b"b".to_vec()));
}

fn encoded(data_type: &DataType, stats: &ColumnStats) -> (Vec<u8>, Schema) {
    let schema = Schema::new(vec![Field::new("c", data_type.clone(), true)]);
    (encode_statistics([(data_type, stats)]), schema)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    /// All rows at once are what the rows one by one come to, and come back from bytes.
    #[test]
    fn a_whole_is_its_parts(
        data_type in generate::data_type(),
        len in 0..200usize,
        seed: u64,
    ) {
        let array = generate::array(&mut Random(seed), &data_type, len);
        let stats = ColumnStats::of(&array);
        let mut parts = ColumnStats::none();
        for row in 0..len {
            parts.merge(ColumnStats::of(&array.slice(row, 1)));
        }
        if len > 0 {
            prop_assert_eq!(&stats, &parts);
        }
        let mut thirds = ColumnStats::none();
        (0..3).for_each(|piece| thirds.merge(ColumnStats::of_piece(&array, piece, 3)));
        prop_assert_eq!(&stats, &thirds);
        if let Some(nulls) = stats.nulls {
            prop_assert_eq!(nulls, array.logical_null_count() as u64);
        }
        let (bytes, schema) = encoded(&data_type, &stats);
        let back = decode_statistics(&bytes, &schema, len as u64).unwrap();
        prop_assert_eq!(back, [stats]);
    }

    /// Any bytes are statistics or refused, and what is read is read again.
    #[test]
    fn rubbish_is_refused(
        data_type in generate::data_type(),
        seed: u64,
        mutations in 0..4usize,
    ) {
        let mut random = Random(seed);
        let array = generate::array(&mut random, &data_type, 20);
        let (mut bytes, schema) = encoded(&data_type, &ColumnStats::of(&array));
        for _ in 0..mutations {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = random.bytes(1)[0],
                2 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, random.bytes(1)[0]),
            }
        }
        match decode_statistics(&bytes, &schema, 20) {
            Ok(stats) => {
                let (again, _) = encoded(&data_type, &stats[0]);
                prop_assert_eq!(again, bytes);
            }
            Err(_) => prop_assert!(mutations > 0, "untouched statistics were refused"),
        }
    }
}

#[test]
fn no_bytes_say_nothing() {
    let schema = Schema::new(vec![Field::new("c", DataType::Int8, true); 3]);
    assert_eq!(decode_statistics(&[], &schema, 9).unwrap(), vec![ColumnStats::default(); 3]);
    assert!(decode_statistics(&[2, 0, 0, 0], &schema, 9).is_err());
    assert!(decode_statistics(&[1, 0, 0], &schema, 9).is_err());
    assert!(decode_statistics(&[1, 0, 0, 0, 0], &schema, 9).is_err());
}
