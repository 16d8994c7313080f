//! The table of classes, and arrow-csv as the oracle of what may have which.

use std::sync::Arc;

use arrow_csv::ReaderBuilder;
use arrow_schema::{Field, Schema};
use proptest::prelude::*;

use super::*;
use crate::options::Options;

fn type_of(values: &[&str]) -> DataType {
    let mut seen = Seen::default();
    let rules = Rules::new(&Options::default()).unwrap();
    values.iter().for_each(|value| seen.add(value.as_bytes(), &rules));
    seen.data_type()
}

fn timestamp(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, None)
}

#[test]
fn types_widen_only_as_far_as_the_values_ask() {
    let table: &[(&[&str], DataType)] = &[
        (&[], DataType::Utf8),
        (&["true", "FALSE"], DataType::Boolean),
        (&["true", "1"], DataType::Utf8),
        (&["0", "-7", "+3", " 5 ", "9223372036854775807"], DataType::Int64),
        (&["1", "2.5"], DataType::Float64),
        (&["1", "NaN", "-inf", ".5", "5.", "1e9", "-1.5E-3"], DataType::Float64),
        (&["Infinity", "-Infinity", "0.5"], DataType::Float64),
        (&["1", "x"], DataType::Utf8),
        (&["2013-02-08", "0001-01-01", "9999-12-31"], DataType::Date32),
        (&["2013-02-30"], DataType::Utf8),
        (&["1900-02-29"], DataType::Utf8),
        (&["2000-02-29"], DataType::Date32),
        (&["2013-02-08", "7"], DataType::Utf8),
        (&["2013-02-08", "2013-02-08 09:30:00"], timestamp(TimeUnit::Second)),
        (&["2013-02-08T09:30:00.1", "2013-02-08T09:30:00"], timestamp(TimeUnit::Millisecond)),
        (&["2013-02-08T09:30:00.1234"], timestamp(TimeUnit::Microsecond)),
        (&["2013-02-08T09:30:00.123456789"], timestamp(TimeUnit::Nanosecond)),
        (&["2013-02-08T09:30:00.1234567890"], DataType::Utf8),
        (&["2013-02-08T24:00:00"], DataType::Utf8),
        (
            &["2013-02-08T09:30:00Z", "2013-02-08T09:30:00-05:00"],
            DataType::Timestamp(TimeUnit::Second, Some("UTC".into())),
        ),
        (&["2013-02-08T09:30:00Z", "2013-02-08T09:30:00"], DataType::Utf8),
        (&["-", "+", ".", "e5", "1e", "1.5.2", "--1", "0x10", "1_000", "1,000"], DataType::Utf8),
    ];
    for (values, wanted) in table {
        assert_eq!(type_of(values), *wanted, "{values:?}");
        for value in *values {
            // one alone may be narrower, but never what arrow-csv would refuse
            assert!(parses(value, &type_of(&[value])), "{value}");
            assert!(parses(value, wanted), "{value} as {wanted}");
        }
    }
    for text in ["-", "+", ".", "e5", "1e", "1.5.2", "--1", "+inf", "INF", "2013-2-8", "09:30:00"] {
        assert_eq!(type_of(&[text]), DataType::Utf8, "{text}");
    }
}

#[test]
fn what_would_lose_digits_stays_text() {
    assert_eq!(type_of(&["037833100"]), DataType::Utf8);
    assert_eq!(type_of(&["9223372036854775808"]), DataType::Utf8);
    assert_eq!(type_of(&["123456789012345678901234567890"]), DataType::Utf8);
    // with a fraction beside them they are measurements
    assert_eq!(type_of(&["9223372036854775808", "0.5"]), DataType::Float64);
    // nanoseconds end in 2262
    assert_eq!(type_of(&["9999-12-31", "2013-02-08 00:00:00.000000001"]), DataType::Utf8);
}

/// Whether arrow-csv takes a text as a type.
fn parses(text: &str, data_type: &DataType) -> bool {
    let schema = Arc::new(Schema::new(vec![Field::new("x", data_type.clone(), true)]));
    let mut decoder = ReaderBuilder::new(schema).with_batch_size(1).build_decoder();
    let record = format!("\"{}\"\n", text.replace('"', "\"\""));
    decoder.decode(record.as_bytes()).unwrap();
    matches!(decoder.flush(), Ok(Some(_)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    /// Whatever one or two texts are taken for, arrow-csv must parse them as that.
    #[test]
    fn arrow_parses_what_is_inferred(
        texts in proptest::collection::vec(prop_oneof![
            "[ \t]?[-+]?[0-9]{0,20}[.]?[0-9]{0,4}([eE][-+]?[0-9]{0,4})?[ ]?",
            "[0-9]{4}-[0-1][0-9]-[0-3][0-9]([T ][0-2][0-9]:[0-5][0-9]:[0-6][0-9]([.][0-9]{0,10})?(Z| ?[-+][0-2][0-9](:?[0-9]{2})?)?)?",
            "true|FALSE|NaN|-?(inf|Infinity)|\\PC{0,12}",
        ], 1..4)
    ) {
        let values: Vec<&str> = texts.iter().map(String::as_str).filter(|t| !t.is_empty()).collect();
        let data_type = type_of(&values);
        for value in values {
            prop_assert!(parses(value, &data_type), "{value:?} as {data_type}");
        }
    }
}
