//! The laws that a stream must keep, for all functions of formulas and all signs: whoever adds
//! one adds it here, too.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{bits, panel};
use crate::op::Reach;
use crate::{Engine, Graph, Names, NodeId, Plan, functions, parse};

/// A node, how it came about, and what a factor of its fields x and y does to it.
struct Case {
    node: NodeId,
    text: String,
    degree: Option<i32>,
}

/// Signs of formulas and definitions: they are no functions.
const SIGNS: [(&str, Option<i32>); 15] = [
    ("x + y", Some(1)),
    ("x - y", Some(1)),
    ("-x", Some(1)),
    ("x * y", Some(2)),
    ("x / y", Some(0)),
    ("x ^ 0.3", None),
    ("x < y", Some(0)),
    ("x <= y", Some(0)),
    ("x > y", Some(0)),
    ("x == y", Some(0)),
    ("x != y", Some(0)),
    ("x > 3 || !c", None),
    ("x > 0 && c", Some(0)),
    ("c ? x : y", Some(1)),
    ("adv5", Some(2)),
];

/// The power of a factor of x and y that comes out of a function; none where it is no power.
/// Powers of two come out exactly.
fn degree(function: &str) -> Option<i32> {
    Some(match function {
        "log" | "exp" | "sqrt" => return None,
        "sign" | "is_missing" | "change" | "ts_argmin" | "ts_argmax" | "ts_rank" | "ts_zscore" => 0,
        "skew" | "kurt" | "correlation" | "beta" | "rank" | "ordinal" | "scale" | "zscore" => 0,
        "bins" | "top" | "bottom" | "row_count" | "group_count" | "group_rank" => 0,
        "group_scale" | "group_zscore" | "group_bins" | "group_top" | "group_bottom" => 0,
        "group_ordinal" => 0,
        "abs" | "coalesce" | "where" | "min" | "max" | "delay" | "delta" | "sum" | "mean" => 1,
        "stddev" | "ts_min" | "ts_max" | "ts_median" | "ts_quantile" | "decay_linear" => 1,
        "slope" | "residual" | "ewm_mean" | "ewm_std" | "row_mean" | "demean" => 1,
        "winsorize" | "indneutralize" | "group_mean" | "group_winsorize" => 1,
        // The example is a square.
        "power" | "signedpower" | "var" | "covariance" | "ewm_var" => 2,
        "product" => 7,
        _ => panic!("say here what becomes of {function} where its input is doubled"),
    })
}

/// Every function and every sign over fields, ranks, and sums of ranks.
fn everything() -> (Graph, Vec<Case>) {
    let mut graph = Graph::new();
    let names = Names::new(["x", "y", "c", "groups", "close", "volume"]);
    let mut cases: Vec<Case> = Vec::new();
    for (text, degree) in SIGNS {
        let node = parse(text, &names, &mut graph).unwrap();
        cases.push(Case { node, text: text.to_owned(), degree });
    }
    for of in ["{}", "rank({})", "sum(2 * rank({}), 4)"] {
        for function in functions() {
            let mut matrix = |graph: &mut Graph, name: &str| match name {
                "x" | "y" => parse(&of.replace("{}", name), &names, graph).unwrap(),
                name => graph.field(name),
            };
            let made = function.examples(&mut graph, &mut matrix);
            assert_eq!(made.len(), function.usage.split(" or ").count(), "{}", function.usage);
            let name = function.names[0];
            let degree = if of == "{}" { degree(name) } else { degree(name).and(Some(0)) };
            let text = format!("{} of {of}", function.usage);
            cases.extend(made.into_iter().map(|node| Case { node, text: text.clone(), degree }));
        }
    }
    (graph, cases)
}

/// Fields of everything, by name.
struct Fields {
    symbols: usize,
    values: Vec<(&'static str, Vec<f64>)>,
}

impl Fields {
    fn new(rows: usize, symbols: usize, seed: u64) -> Fields {
        let of = |i: u64| panel(rows, symbols, seed / (2 * i + 1) + i + 1);
        let codes =
            |i: u64, n: f64| of(i).iter().map(|x| (x * 7.0).abs() % n).collect::<Vec<f64>>();
        let whole = codes(3, 4.0).iter().map(|x| x.floor()).collect();
        let truth = codes(4, 2.0).iter().map(|x| x.floor()).collect();
        let values = vec![
            ("x", of(1)),
            ("y", of(2)),
            ("close", of(5)),
            ("volume", of(6)),
            ("groups", whole),
            ("c", truth),
        ];
        Fields { symbols, values }
    }

    fn rows(&self) -> usize {
        self.values[0].1.len() / self.symbols
    }

    /// The same with each field's values made anew.
    fn map(&self, f: impl Fn(&str, &[f64]) -> Vec<f64>) -> Fields {
        let values = self.values.iter().map(|(name, values)| (*name, f(name, values))).collect();
        Fields { symbols: self.symbols, values }
    }

    fn after(&self, row: usize) -> Fields {
        self.map(|_, values| values[row * self.symbols..].to_vec())
    }

    fn run(&self, plan: &Plan, first: u64, sizes: (usize, usize), cuts: &[usize]) -> Vec<Vec<f64>> {
        let names = plan.graph().fields();
        let field = |name: &String| &self.values.iter().find(|(own, _)| own == name).unwrap().1;
        let fields: Vec<&Vec<f64>> = names.iter().map(field).collect();
        let mut engine = Engine::with_blocks(plan.clone(), self.symbols, first, sizes.0, sizes.1);
        let mut out = vec![Vec::new(); plan.outputs().len()];
        let mut at = 0;
        for cut in cuts.iter().copied().chain([self.rows()]).filter(|cut| *cut <= self.rows()) {
            let range = at * self.symbols..cut.max(at) * self.symbols;
            let part: Vec<&[f64]> = fields.iter().map(|field| &field[range.clone()]).collect();
            engine.push(&part, cut.max(at) - at, |output, bar, rows| {
                assert_eq!(bar, first + (out[output].len() / self.symbols) as u64);
                out[output].extend_from_slice(rows);
            });
            at = cut.max(at);
        }
        out
    }
}

fn plan(graph: &Graph, cases: &[Case]) -> Plan {
    Plan::new(graph, &cases.iter().map(|case| case.node).collect::<Vec<_>>())
}

/// Both the same, bit by bit; else the case that is not.
fn same(cases: &[Case], a: &[Vec<f64>], b: &[Vec<f64>]) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.len(), cases.len());
    for (case, (a, b)) in cases.iter().zip(a.iter().zip(b)) {
        let one = |v: &Vec<f64>| bits(std::slice::from_ref(v));
        prop_assert!(one(a) == one(b), "{}", case.text);
    }
    Ok(())
}

#[test]
fn every_function_is_looked_at() {
    let (_, cases) = everything();
    let homogeneous = cases.iter().filter(|case| case.degree.is_some()).count();
    let distinct: BTreeSet<NodeId> = cases.iter().map(|case| case.node).collect();
    assert!(distinct.len() > 3 * functions().len() && homogeneous > 2 * functions().len());
    let plan = plan(&everything().0, &cases);
    let fields = Fields::new(60, 19, 12_345);
    for (case, out) in cases.iter().zip(fields.run(&plan, 0, (32, 256), &[])) {
        let there = out.iter().filter(|x| !x.is_nan()).count();
        assert!(there * 10 > out.len(), "{}: {there} of {}", case.text, out.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_stream_in_pieces_gives_the_bits_of_one_batch(
        seed in 1..u64::MAX, block in 1usize..40, tile in 1usize..30, first in 0..1000u64,
        mut cuts in proptest::collection::vec(0usize..60, 0..9),
    ) {
        cuts.sort_unstable();
        let (graph, cases) = everything();
        let (plan, fields) = (plan(&graph, &cases), Fields::new(60, 19, seed));
        let batch = fields.run(&plan, first, (32, 256), &[]);
        same(&cases, &batch, &fields.run(&plan, first, (block, tile), &cuts))?;
        let each: Vec<usize> = (0..60).collect();
        same(&cases, &batch, &fields.run(&plan, first, (8, tile), &each))?;
    }

    #[test]
    fn bits_do_not_depend_on_earlier_rows_or_on_other_factors(
        seed in 1..u64::MAX, skip in 1usize..30,
    ) {
        let (graph, mut cases) = everything();
        let reach = graph.reach();
        cases.retain(|case| reach[case.node.index()] != Reach::Recursive);
        let (plan, fields) = (plan(&graph, &cases), Fields::new(70, 9, seed));
        let Reach::Finite(warm_up) = plan.warm_up() else { panic!("all are finite") };
        let valid = skip + usize::try_from(warm_up).unwrap();
        prop_assert!(valid < fields.rows());
        let all = fields.run(&plan, 0, (32, 256), &[]);
        let later = fields.after(skip).run(&plan, skip as u64, (32, 256), &[]);
        let tail = |all: &[Vec<f64>], row: usize| -> Vec<Vec<f64>> {
            all.iter().map(|values| values[row * fields.symbols..].to_vec()).collect()
        };
        same(&cases, &tail(&all, valid), &tail(&later, valid - skip))?;
        for (i, case) in cases.iter().enumerate() {
            let alone = Plan::new(&graph, &[case.node]);
            let one = fields.run(&alone, 0, (16, 4), &[]);
            same(std::slice::from_ref(case), &all[i..=i], &one)?;
        }
    }

    #[test]
    fn the_order_of_symbols_does_not_matter(
        seed in 1..u64::MAX, order in Just((0..11).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let (graph, cases) = everything();
        let (plan, fields) = (plan(&graph, &cases), Fields::new(40, 11, seed));
        let permuted = |values: &[f64]| -> Vec<f64> {
            values.chunks(11).flat_map(|row| order.iter().map(|&at| row[at])).collect()
        };
        let all: Vec<Vec<f64>> =
            fields.run(&plan, 0, (32, 256), &[]).iter().map(|v| permuted(v)).collect();
        let other = fields.map(|_, values| permuted(values)).run(&plan, 0, (32, 4), &[]);
        same(&cases, &all, &other)?;
    }

    #[test]
    fn the_future_does_not_change_the_past(seed in 1..u64::MAX, from in 1usize..40) {
        let (graph, cases) = everything();
        let (plan, fields) = (plan(&graph, &cases), Fields::new(40, 11, seed));
        let (past, other) = (from * 11, Fields::new(40, 11, seed ^ 0xABCD_EF01));
        let changed = fields.map(|name, values| {
            let other = &other.values.iter().find(|(own, _)| *own == name).unwrap().1;
            [&values[..past], &other[past..]].concat()
        });
        let until = |fields: &Fields| -> Vec<Vec<f64>> {
            let out = fields.run(&plan, 0, (32, 4), &[]);
            out.into_iter().map(|mut values| { values.truncate(past); values }).collect()
        };
        same(&cases, &until(&fields), &until(&changed))?;
    }

    #[test]
    fn a_power_of_two_comes_out_as_it_goes_in(seed in 1..u64::MAX, k in -24i32..24) {
        let (graph, mut cases) = everything();
        cases.retain(|case| case.degree.is_some());
        let (plan, fields) = (plan(&graph, &cases), Fields::new(60, 11, seed));
        let times = |values: &[f64], k: i32| -> Vec<f64> {
            values.iter().map(|x| x * 2.0f64.powi(k)).collect()
        };
        let scaled = fields.map(|name, values| {
            times(values, if ["c", "groups"].contains(&name) { 0 } else { k })
        });
        let plain = fields.run(&plan, 0, (32, 256), &[]);
        let expected: Vec<Vec<f64>> = cases
            .iter()
            .zip(plain)
            .map(|(case, values)| times(&values, k * case.degree.unwrap_or(0)))
            .collect();
        same(&cases, &expected, &scaled.run(&plan, 0, (32, 256), &[]))?;
    }

    #[test]
    fn vectors_of_every_width_give_the_same_bits(seed in 1..u64::MAX) {
        let (graph, cases) = everything();
        let (plan, fields) = (plan(&graph, &cases), Fields::new(60, 21, seed));
        let wide = fields.run(&plan, 0, (32, 256), &[]);
        let narrow = crate::wide::narrow(|| fields.run(&plan, 0, (32, 256), &[]));
        same(&cases, &wide, &narrow)?;
    }
}

#[test]
fn memory_does_not_grow_with_rows() {
    let (graph, cases) = everything();
    let (plan, fields) = (plan(&graph, &cases), Fields::new(500, 5, 3));
    let mut engine = Engine::new(plan, 5, 0);
    let before = engine.memory();
    let names = engine.plan().graph().fields().to_vec();
    let field = |name: &String| &fields.values.iter().find(|(own, _)| own == name).unwrap().1;
    let all: Vec<&[f64]> = names.iter().map(|name| field(name).as_slice()).collect();
    engine.push(&all, 500, |_, _, _| {});
    assert_eq!(engine.memory(), before);
}
