//! Formulas, right and wrong.

use super::*;
use crate::{Engine, Plan};

fn names() -> Names {
    Names::new(["open", "high", "low", "close", "volume", "industry"])
}

/// The last value of a formula over some rows of one symbol.
fn last(text: &str, close: &[f64], volume: &[f64]) -> f64 {
    let mut graph = Graph::new();
    let node = parse(text, &names(), &mut graph).unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::new(&graph, &[node]);
    let of = |field: &String| if field == "close" { close } else { volume };
    let fields: Vec<&[f64]> = plan.graph().fields().iter().map(of).collect();
    let mut out = f64::NAN;
    Engine::new(plan, 1, 0).push(&fields, close.len(), |_, _, rows| out = rows[rows.len() - 1]);
    out
}

/// A formula over one row of closes.
fn row(text: &str, close: &[f64]) -> Vec<f64> {
    let mut graph = Graph::new();
    let node = parse(text, &names(), &mut graph).unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::new(&graph, &[node]);
    let mut out = vec![0.0; close.len()];
    Engine::new(plan, close.len(), 0).push(&[close], 1, |_, _, rows| out.copy_from_slice(rows));
    out
}

#[test]
fn the_first_and_the_last_of_a_row() {
    let close = [3.0, f64::NAN, 1.0, 2.0, 2.0];
    let of = |text: &str| row(text, &close).iter().map(|x| x.to_string()).collect::<Vec<_>>();
    assert_eq!(of("top(close, 1)"), ["1", "NaN", "0", "0", "0"]);
    assert_eq!(of("bottom(close, 1)"), ["0", "NaN", "1", "0", "0"]);
    assert_eq!(of("top(close, 2)"), ["1", "NaN", "0", "0", "0"], "equals share rank 2.5");
    assert_eq!(of("top(close, 3)"), ["1", "NaN", "0", "1", "1"]);
    assert_eq!(of("bottom(close, 9)"), ["1", "NaN", "1", "1", "1"]);
    assert!(parse("top(close, 0)", &names(), &mut Graph::new()).is_err());
}

#[test]
fn values_by_hand() {
    let (close, volume) = ([1.0, 2.0, 4.0, 3.0], [10.0, 20.0, 10.0, 40.0]);
    let of = |text: &str| last(text, &close, &volume);
    assert_eq!(of("close - 1"), 2.0);
    assert_eq!(of("-close ^ 2"), -9.0);
    assert_eq!(of("2 ^ 3 ^ 2 + 0 * close"), 512.0);
    assert_eq!(of("1 - 2 - close"), -4.0);
    assert_eq!(of("close > 2 ? volume : 0"), 40.0);
    assert_eq!(of("(close < 2) || (volume >= 40)"), 1.0);
    assert_eq!(of("close == 3 && close != 3"), 0.0);
    assert_eq!(of("delay(close, 2)"), 2.0);
    assert_eq!(of("delta(close, 1)"), -1.0);
    assert_eq!(of("SUM(close, 2.9)"), 7.0, "a fraction of a window is cut off");
    assert_eq!(of("min(close, 3)"), 2.0);
    assert_eq!(of("min(close, volume)"), 3.0);
    assert_eq!(of("max(close, 0)"), 3.0, "no window");
    assert_eq!(of("Ts_ArgMax(close, 3)"), 2.0);
    assert_eq!(of("returns"), 3.0 / 4.0 - 1.0);
    assert_eq!(of("adv2"), (40.0 + 120.0) / 2.0);
    assert_eq!(of("decay_linear(close, 2)"), (4.0 + 2.0 * 3.0) / 3.0);
    assert_eq!(of("1e1 * .5 + close * 0"), 5.0);
}

#[test]
fn common_parts_are_one() {
    let mut graph = Graph::new();
    let a = parse("rank(close) + rank(volume)", &names(), &mut graph).unwrap();
    let before = graph.nodes().len();
    let b = parse("RANK(Close)+Rank(VOLUME)", &names(), &mut graph).unwrap();
    assert_eq!((a, before), (b, graph.nodes().len()));
}

#[test]
fn faults_are_shown_where_they_are() {
    let cases: &[(&str, usize, &str)] = &[
        ("rank(clsoe)", 5, "did you mean close?"),
        ("rnak(close)", 0, "did you mean rank?"),
        ("rank(close", 10, "belongs here, not the end"),
        ("close close", 6, "an operator belongs here"),
        ("sum(close)", 0, "takes 2 arguments, not 1"),
        ("sum(close, 0)", 0, "the window of sum(x, rows) is 0"),
        ("sum(close, -3)", 0, "is -3"),
        ("sum(close, volume)", 0, "is a number, not an expression"),
        ("close $ 2", 6, "has no meaning here"),
        ("1.2.3", 0, "is not a number"),
        ("", 0, "a value belongs here, not the end"),
        ("close ? 1", 9, "\":\" belongs here"),
        ("indneutralize(close, IndClass.sector)", 21, "no field \"sector\""),
        ("winsorize(close, 0.7)", 0, "from 0 to 0.5"),
    ];
    for (text, at, what) in cases {
        let error = parse(text, &names(), &mut Graph::new()).unwrap_err();
        assert_eq!(error.at, *at, "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
    let deep = "(".repeat(100_000);
    assert!(matches!(
        parse(&deep, &names(), &mut Graph::new()).unwrap_err().problem,
        Problem::Deep(_)
    ));
    let deep = "-".repeat(100_000);
    assert!(parse(&deep, &names(), &mut Graph::new()).is_err());
}

#[test]
fn definitions_are_followed_and_circles_are_not() {
    let names = names().define("typical", "vwap * 1").define("a", "b + 1").define("b", "a - 1");
    assert!(parse("typical", &names, &mut Graph::new()).is_ok());
    let error = parse("a", &names, &mut Graph::new()).unwrap_err();
    assert!(error.to_string().contains("needs itself"), "{error}");
}
