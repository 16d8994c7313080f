//! Predicates as they are read, shown, refused, and evaluated beside a model that looks at
//! one row after the other.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::*;
use arrow_schema::{Field, Schema};
use cenote_arrow::stats::ColumnStats;
use proptest::prelude::*;

use super::eval::Rows;
use super::*;
use crate::error::Error;

fn shown(text: &str) -> String {
    Predicate::parse(text).unwrap().to_string()
}

#[test]
fn what_is_read_is_what_was_meant() {
    for (text, meant) in [
        ("a=1", "a = 1"),
        ("1 <a", "a > 1"),
        ("a == 1 or b <> 2 and c < 3", "a = 1 or (b != 2 and c < 3)"),
        ("(a = 1 or b = 2) and c = 3", "(a = 1 or b = 2) and c = 3"),
        ("not a = 1 and b", "not a = 1 and b"),
        ("not (a = 1 and b)", "not (a = 1 and b)"),
        ("not not a", "a"),
        ("a between 1 and 2 and b", "a >= 1 and a <= 2 and b"),
        ("a not between 1 and 2", "not (a >= 1 and a <= 2)"),
        ("a NOT IN ('x', 'it''s') OR TRUE = b", "not a in ('x', 'it''s') or b = true"),
        ("a is not null", "a is not null"),
        ("\"a name\" > -1.5e-3", "\"a name\" > -1.5e-3"),
        ("`not` like '10\\%%'", "\"not\" like '10\\%%'"),
        ("date >= date '2017-01-01'", "\"date\" >= '2017-01-01'"),
        ("größe < 1_000", "größe < 1000"),
        ("a in ()", "a in ()"),
    ] {
        assert_eq!(shown(text), meant);
        assert_eq!(Predicate::parse(meant), Predicate::parse(text), "{text}");
    }
}

#[test]
fn a_mistake_is_shown_where_it_is() {
    for (text, at, what) in [
        ("a = ", 4, "expected a value, found the end"),
        ("", 0, "expected a comparison, such as `close > 100`, found the end"),
        ("a > 1 b", 6, "expected `and`, `or` or the end, found `b`"),
        ("(a > 1", 6, "expected `and`, `or` or `)`, found the end"),
        ("a = 'open", 4, "this text has no end; it ends with '"),
        ("\"a = 1", 0, "this name has no end; it ends with \""),
        ("a > 1 && b > 2", 6, "'&' means nothing here; write `and`"),
        ("1 < a < 3", 6, "comparisons do not chain; write `a < b and b < c`"),
        (
            "a = b",
            4,
            "one side of a comparison is a value; \"b\" is a column (text is in 'single quotes')",
        ),
        ("1 = 2", 0, "one side of a comparison is a column; both of these are values"),
        ("a = null", 4, "nothing compares with null; write `is null`"),
        ("a is 1", 5, "expected `null`, found `1`"),
        ("a not 1", 6, "expected `between`, `in` or `like`, found `1`"),
        ("a > 1.2.3", 4, "\"1.2.3\" is no number"),
        ("a > 0x10", 4, "\"0x10\" is no number"),
        ("a + 1 > 2", 2, "'+' means nothing here; there is no arithmetic"),
        ("a in (1, 2", 10, "expected `,` or `)`, found the end"),
        ("a like 5", 7, "expected a pattern, such as 'abc%', found `5`"),
    ] {
        let error = Predicate::parse(text).unwrap_err();
        assert_eq!((error.at, error.mistake.to_string().as_str()), (at, what), "{text}");
    }
    let error = Predicate::parse("größe > 1\n  and\tb ! 2").unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot read the predicate: '!' means nothing here; write `not`\n    and\tb ! 2\n       \t  ^"
    );
}

#[test]
fn depth_and_length_are_bounded() {
    let deep = format!("{}a{}", "(".repeat(DEPTH_MAX), ")".repeat(DEPTH_MAX));
    assert!(Predicate::parse(&deep).is_ok());
    let mistake = |text: &str| Predicate::parse(text).unwrap_err().mistake;
    assert_eq!(mistake(&format!("({deep})")), Mistake::TooDeep);
    assert_eq!(mistake(&format!("{}a", "not ".repeat(1_000_000))), Mistake::TooDeep);
    let long = vec!["a"; TERMS_MAX].join(" or ");
    assert!(Predicate::parse(&long).is_ok());
    assert_eq!(mistake(&format!("{long} or a")), Mistake::TooLong);
}

/// A row of the model.
#[derive(Clone, Debug)]
struct Row {
    whole: Option<i32>,
    float: Option<f64>,
    text: Option<String>,
    flag: Option<bool>,
    category: Option<String>,
}

fn words() -> impl Strategy<Value = String> {
    proptest::sample::select(vec![
        "",
        "a",
        "ab",
        "b",
        "ba%",
        "z_",
        "a very long text, longer than 32 bytes",
    ])
    .prop_map(str::to_owned)
}

fn floats() -> impl Strategy<Value = f64> {
    proptest::sample::select(vec![-1.5, -0.0, 0.0, 1.0, 2.5, f64::NAN, f64::INFINITY])
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let maybe = proptest::option::of::<BoxedStrategy<i32>>;
    let row = (
        maybe((-3..4i32).boxed()),
        proptest::option::of(floats()),
        proptest::option::of(words()),
        proptest::option::of(any::<bool>()),
        proptest::option::of(words()),
    );
    let row = row.prop_map(|(whole, float, text, flag, category)| Row {
        whole,
        float,
        text,
        flag,
        category,
    });
    // Runs of like rows, so that statistics decide sometimes.
    proptest::collection::vec((row, 1..4usize), 0..30)
        .prop_map(|runs| runs.into_iter().flat_map(|(row, n)| vec![row; n]).collect())
}

fn node() -> impl Strategy<Value = Node> {
    let op = proptest::sample::select(vec![Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge]);
    let whole = proptest::sample::select(vec!["-3", "0", "2", "1.5", "-0.5", "1e30", "-1e80"])
        .prop_map(|n| Literal::Number(n.to_owned()));
    let float = floats().prop_map(Literal::from);
    let text = words().prop_map(Literal::Text).boxed();
    let flag = any::<bool>().prop_map(Literal::Bool);
    let pairs = prop_oneof![
        (Just("whole"), whole.boxed()),
        (Just("float"), float.boxed()),
        (Just("text"), text.clone()),
        (Just("flag"), flag.boxed()),
        (Just("category"), text),
    ];
    let names = proptest::sample::select(vec!["whole", "float", "text", "flag", "category"]);
    let lists = prop_oneof![
        (Just("whole"), proptest::collection::vec((-9..9i32).prop_map(Literal::from), 0..9)),
        (Just("float"), proptest::collection::vec(floats().prop_map(Literal::from), 0..9)),
        (Just("text"), proptest::collection::vec(words().prop_map(Literal::from), 0..9)),
        (Just("category"), proptest::collection::vec(words().prop_map(Literal::from), 0..9)),
    ];
    let patterns =
        proptest::sample::select(vec!["a%", "%b", "_", "%", "ba\\%", "a very long %", ""]);
    let leaf = prop_oneof![
        4 => (pairs, op).prop_map(|((column, value), op)| Node::Compare { column: column.to_owned(), op, value }),
        1 => names.prop_map(|column| Node::IsNull { column: column.to_owned() }),
        1 => Just(Node::Is { column: "flag".to_owned() }),
        2 => lists.prop_map(|(column, values)| Node::In { column: column.to_owned(), values }),
        1 => (proptest::sample::select(vec!["text", "category"]), patterns)
            .prop_map(|(column, pattern)| Node::Like { column: column.to_owned(), pattern: pattern.to_owned() }),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.and(b)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.or(b)),
            inner.prop_map(Node::negated),
        ]
    })
}

fn arrays(rows: &[Row]) -> (Schema, Vec<ArrayRef>) {
    let category: DictionaryArray<Int8Type> = rows.iter().map(|r| r.category.as_deref()).collect();
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(PrimitiveArray::<Int32Type>::from_iter(rows.iter().map(|r| r.whole))),
        Arc::new(Float64Array::from_iter(rows.iter().map(|r| r.float))),
        Arc::new(StringViewArray::from_iter(rows.iter().map(|r| r.text.as_deref()))),
        Arc::new(BooleanArray::from_iter(rows.iter().map(|r| r.flag))),
        Arc::new(category),
    ];
    let names = ["whole", "float", "text", "flag", "category"];
    let field =
        |(name, array): (&str, &ArrayRef)| Field::new(name, array.data_type().clone(), true);
    (Schema::new(names.into_iter().zip(&arrays).map(field).collect::<Vec<_>>()), arrays)
}

/// SQL's `like`, by trying.
fn is_like(text: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|n| is_like(&text[n..], rest)),
        ['_', rest @ ..] => !text.is_empty() && is_like(&text[1..], rest),
        ['\\', c, rest @ ..] | [c, rest @ ..] => {
            text.first() == Some(c) && is_like(&text[1..], rest)
        }
    }
}

/// What a predicate is of one row.
fn model(node: &Node, row: &Row) -> Option<bool> {
    let text = |column: &str| if column == "text" { &row.text } else { &row.category };
    match node {
        Node::Not(inner) => model(inner, row).map(|is| !is),
        Node::And(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| model(part, row)).collect();
            if parts.contains(&Some(false)) {
                Some(false)
            } else {
                parts.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
            }
        }
        Node::Or(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| model(part, row)).collect();
            if parts.contains(&Some(true)) {
                Some(true)
            } else {
                parts.into_iter().collect::<Option<Vec<_>>>().map(|_| false)
            }
        }
        Node::Is { .. } => row.flag,
        Node::IsNull { column } => Some(match column.as_str() {
            "whole" => row.whole.is_none(),
            "float" => row.float.is_none(),
            "flag" => row.flag.is_none(),
            other => text(other).is_none(),
        }),
        Node::Like { column, pattern } => {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            text(column).as_ref().map(|value| is_like(&chars(value), &chars(pattern)))
        }
        Node::In { column, values } => {
            let one = |value: &Literal| {
                let (column, value) = (column.clone(), value.clone());
                model(&Node::Compare { column, op: Op::Eq, value }, row)
            };
            let null = model(&Node::IsNull { column: column.clone() }, row) == Some(true);
            (!null).then(|| values.iter().any(|value| one(value) == Some(true)))
        }
        Node::Compare { column, op, value } => {
            let number = |value: &Literal| match value {
                Literal::Number(text) | Literal::Text(text) => text.parse::<f64>().unwrap(),
                Literal::Bool(value) => f64::from(u8::from(*value)),
            };
            let order = match column.as_str() {
                "whole" => f64::from(row.whole?).partial_cmp(&number(value)),
                "float" => row.float?.partial_cmp(&number(value)),
                "flag" => f64::from(u8::from(row.flag?)).partial_cmp(&number(value)),
                other => {
                    let Literal::Text(value) = value else { unreachable!() };
                    Some(text(other).as_ref()?.as_str().cmp(value))
                }
            };
            Some(match op {
                Op::Eq => order.is_some_and(std::cmp::Ordering::is_eq),
                Op::Ne => !order.is_some_and(std::cmp::Ordering::is_eq),
                Op::Lt => order.is_some_and(std::cmp::Ordering::is_lt),
                Op::Le => order.is_some_and(std::cmp::Ordering::is_le),
                Op::Gt => order.is_some_and(std::cmp::Ordering::is_gt),
                Op::Ge => order.is_some_and(std::cmp::Ordering::is_ge),
            })
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// With statistics, without, and of a part of the rows: the model's rows.
    #[test]
    fn rows_are_those_of_the_model(rows in rows(), node in node(), cut in 0..10usize) {
        let (schema, arrays) = arrays(&rows);
        let predicate = Predicate(node);
        let bound = predicate.bind(&schema, None, "t").unwrap();
        let statistics: Vec<_> = arrays.iter().map(|array| ColumnStats::of(array)).collect();
        let expected: Vec<bool> =
            rows.iter().map(|row| model(&predicate.0, row) == Some(true)).collect();

        let outlook = bound.outlook(&statistics, rows.len() as u64);
        prop_assert!(!outlook.none() || !expected.contains(&true), "pruned what matches");
        prop_assert!(!outlook.all() || !expected.contains(&false), "kept what does not match");

        let start = cut.min(rows.len());
        for (statistics, start) in [(&statistics[..], 0), (&[], 0), (&statistics[..], start)] {
            let column = |at: u32| {
                Ok::<_, Error>(arrays[at as usize].slice(start, rows.len() - start))
            };
            let part = Rows {
                len: rows.len() - start,
                known: rows.len() as u64,
                statistics,
                column: &column,
            };
            let found: Vec<bool> = bound.matches(&part).unwrap().iter().collect();
            prop_assert_eq!(&found[..], &expected[start..]);
        }
        prop_assert_eq!(Predicate::parse(&predicate.to_string()).unwrap(), predicate);
    }
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let (schema, _) = arrays(&[]);
    let refused = |text: &str| {
        Predicate::parse(text).unwrap().bind(&schema, None, "t").unwrap_err().to_string()
    };
    assert_eq!(
        refused("whole = 'a'"),
        "column \"whole\" is of type Int32: 'a' does not compare with it; a number does"
    );
    assert_eq!(
        refused("text > 5"),
        "column \"text\" is of type Utf8View: 5 does not compare with it; 'text' does"
    );
    assert_eq!(
        refused("float"),
        "column \"float\" is of type Float64: it cannot be tested by its name alone, as booleans are"
    );
    assert!(refused("flag like 'a'").contains("cannot be tested by `like`, which is for text"));
    assert!(refused("missing = 1").contains("missing"));
    let twice = Schema::new(vec![Field::new("a", arrow_schema::DataType::Int8, true); 2]);
    let error = Predicate::parse("a = 1").unwrap().bind(&twice, None, "t").unwrap_err();
    assert!(error.to_string().contains("several columns"));
}
