//! Schemas come back exactly; rubbish is refused.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit, UnionFields, UnionMode};
use cenote_arrow::{MAX_SCHEMA_BYTES, SchemaError, decode_schema, encode_schema};
use proptest::prelude::*;

use crate::generate::{self, Random};

fn dictionary() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int16), Box::new(DataType::Utf8))
}

fn rich() -> Schema {
    let inner = Field::new("inner", dictionary(), true).with_dict_is_ordered(true);
    let metadata =
        HashMap::from([("unit".to_owned(), "USD".to_owned()), (String::new(), "ä".to_owned())]);
    let zone = DataType::Timestamp(TimeUnit::Nanosecond, Some("+02:00".into()));
    Schema::new_with_metadata(
        vec![
            Field::new("time", zone, false),
            Field::new("price", DataType::Decimal128(38, -3), true).with_metadata(metadata.clone()),
            Field::new("side", dictionary(), false).with_dict_is_ordered(true),
            Field::new("venue", dictionary(), false),
            Field::new("nested", DataType::Struct(Fields::from(vec![inner])), true),
            Field::new("", DataType::Null, true),
            Field::new("", DataType::Null, true),
        ],
        metadata,
    )
}

#[test]
fn everything_is_preserved() {
    let schema = rich();
    let bytes = encode_schema(&schema).unwrap();
    assert_eq!(bytes.len() % 8, 0);
    let back = decode_schema(&bytes).unwrap();
    assert_eq!(back, schema);
    // Field equality leaves the ordered flag out.
    assert_eq!(back.field(2).dict_is_ordered(), Some(true));
    assert_eq!(back.field(3).dict_is_ordered(), Some(false));
    let DataType::Struct(fields) = back.field(4).data_type() else { panic!("not a struct") };
    assert_eq!(fields[0].dict_is_ordered(), Some(true));
    assert_eq!(encode_schema(&back).unwrap(), bytes, "one schema, one encoding");
    let none = Schema::empty();
    assert_eq!(decode_schema(&encode_schema(&none).unwrap()).unwrap(), none);
}

#[test]
fn what_ipc_cannot_express_is_refused() {
    let twice = DataType::Dictionary(Box::new(DataType::Int8), Box::new(dictionary()));
    let no_zone = DataType::Timestamp(TimeUnit::Second, Some("".into()));
    for data_type in [twice, no_zone] {
        let schema = Schema::new(vec![Field::new("x", data_type, true)]);
        match encode_schema(&schema) {
            Err(SchemaError::NotExpressible { field }) => assert_eq!(field.as_deref(), Some("x")),
            other => panic!("{other:?}"),
        }
    }
    let negative = Schema::new(vec![Field::new("x", DataType::FixedSizeBinary(-1), true)]);
    assert!(matches!(encode_schema(&negative), Err(SchemaError::Unsupported(_))));
    let deep = (0..70)
        .fold(DataType::Int8, |inner, _| DataType::List(Arc::new(Field::new("item", inner, true))));
    let deep = Schema::new(vec![Field::new("x", deep, true)]);
    assert!(matches!(encode_schema(&deep), Err(SchemaError::TooDeep)));
}

#[test]
fn frames_are_checked() {
    let bytes = encode_schema(&rich()).unwrap();
    for end in 0..bytes.len() {
        assert!(matches!(decode_schema(&bytes[..end]), Err(SchemaError::BadFrame)));
    }
    let big = vec![0; MAX_SCHEMA_BYTES + 1];
    assert!(matches!(decode_schema(&big), Err(SchemaError::TooLarge { .. })));
}

/// arrow-ipc numbers the children of a union without type ids itself, and panics at the
/// 129th. A struct whose type tag is changed to a union's is such a message.
#[test]
fn too_wide_a_union_is_refused() {
    const STRUCT: u8 = 13;
    const UNION: u8 = 14;
    let fields = (0..129).map(|_| Field::new("f", DataType::Int8, true));
    let wide = DataType::Struct(fields.collect());
    let bytes = encode_schema(&Schema::new(vec![Field::new("u", wide, false)])).unwrap();
    let refused = (8..bytes.len()).filter(|&at| bytes[at] == STRUCT).filter(|&at| {
        let mut changed = bytes.clone();
        changed[at] = UNION;
        matches!(decode_schema(&changed), Err(SchemaError::UnionTooWide { children: 129 }))
    });
    assert_eq!(refused.count(), 1);
}

/// The widest union that Arrow allows has 128 children.
#[test]
fn the_widest_union_comes_back() {
    let fields = (0..=127i8).map(|id| (id, Arc::new(Field::new("f", DataType::Int8, true))));
    let union = DataType::Union(fields.collect::<UnionFields>(), UnionMode::Dense);
    let schema = Schema::new(vec![Field::new("u", union, false)]);
    assert_eq!(decode_schema(&encode_schema(&schema).unwrap()).unwrap(), schema);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn random_schemas_come_back_or_are_refused(
        types in proptest::collection::vec(generate::data_type(), 0..5),
    ) {
        let fields = types.into_iter().enumerate();
        let fields = fields.map(|(i, t)| Field::new(i.to_string(), t, i % 2 == 0));
        let schema = Schema::new(fields.collect::<Fields>());
        match encode_schema(&schema) {
            Ok(bytes) => prop_assert_eq!(decode_schema(&bytes).unwrap(), schema),
            Err(SchemaError::NotExpressible { .. }) => {
                let has_dictionary = format!("{schema:?}").contains("Dictionary");
                prop_assert!(has_dictionary);
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn mutated_schemas_do_not_panic(seed: u64, mutations in 1..6usize) {
        let mut random = Random(seed);
        let mut bytes = encode_schema(&rich()).unwrap();
        for _ in 0..mutations {
            let at = 8 + random.below(bytes.len() - 8);
            bytes[at] = match random.below(3) {
                0 => bytes[at] ^ (1 << random.below(8)),
                1 => bytes[at].wrapping_add(4),
                _ => random.bytes(1)[0],
            };
        }
        let _ = decode_schema(&bytes);
    }

    #[test]
    fn random_messages_do_not_panic(message in proptest::collection::vec(any::<u8>(), 0..200)) {
        let length = u32::try_from(message.len()).unwrap();
        let mut bytes = vec![0xff; 4];
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&message);
        prop_assert!(decode_schema(&bytes).is_err());
    }
}
