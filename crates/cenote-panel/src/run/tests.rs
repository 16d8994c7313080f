//! Every operator against its definition, and the laws that a stream must keep.

use super::*;
use crate::{Ewm, Graph, NodeId, Window, Window2};

const WINDOWS: [Window; 20] = [
    Window::Delay,
    Window::Sum,
    Window::Mean,
    Window::Var,
    Window::Std,
    Window::Product,
    Window::Min,
    Window::Max,
    Window::ArgMin,
    Window::ArgMax,
    Window::Rank,
    Window::MEDIAN,
    Window::Quantile(0.0f64.to_bits()),
    Window::Quantile(0.3f64.to_bits()),
    Window::Quantile(1.0f64.to_bits()),
    Window::DecayLinear,
    Window::Skew,
    Window::Kurt,
    Window::Slope,
    Window::Residual,
];
const WINDOWS2: [Window2; 3] = [Window2::Cov, Window2::Corr, Window2::Beta];

/// A panel with all that makes trouble: gaps, ties, constants, spikes, infinities.
fn panel(rows: usize, symbols: usize, mut seed: u64) -> Vec<f64> {
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let mut values = vec![0.0; rows * symbols];
    for s in 0..symbols {
        let kind = next() % 7;
        for t in 0..rows {
            let noise = (next() % 20_000) as f64 / 10_000.0 - 1.0;
            values[t * symbols + s] = match kind {
                0 => 5.0,
                1 => (next() % 4) as f64,
                2 if next() % 12 == 0 => f64::NAN,
                3 if next() % 30 == 0 => 1e12,
                4 if next() % 60 == 0 => f64::INFINITY,
                4 if next() % 60 == 0 => f64::NEG_INFINITY,
                5 => 1e6 + noise,
                _ => 100.0 + noise,
            };
        }
    }
    values
}

fn run(
    plan: &Plan,
    fields: &[&[f64]],
    symbols: usize,
    first: u64,
    sizes: (usize, usize),
) -> Vec<Vec<f64>> {
    let rows = fields[0].len() / symbols;
    let mut engine = Engine::with_blocks(plan.clone(), symbols, first, sizes.0, sizes.1);
    let mut out = vec![Vec::new(); plan.outputs().len()];
    engine.push(fields, rows, |output, _, rows| out[output].extend_from_slice(rows));
    out
}

fn bits(values: &[Vec<f64>]) -> Vec<Vec<u64>> {
    values.iter().map(|v| v.iter().map(|x| x.to_bits()).collect()).collect()
}

#[expect(clippy::too_many_lines, reason = "a definition for each operator")]
/// The definition of a window operator, and how far a good computation may be from it.
fn define(op: Window, w: &[f64]) -> (f64, f64) {
    let n = w.len() as f64;
    let newest = w[w.len() - 1];
    if op == Window::Delay {
        return (w[0], 0.0);
    }
    if w.iter().any(|x| x.is_nan()) {
        return (f64::NAN, 0.0);
    }
    // Against the newest value, as sums of differences are better conditioned.
    let base = newest;
    let mean = base + w.iter().map(|x| x - base).sum::<f64>() / n;
    let moment = |k: i32| w.iter().map(|x| (x - mean).powi(k)).sum::<f64>();
    let constant = w.iter().all(|x| *x == newest);
    let spread = w.iter().fold(0.0f64, |m, x| m.max((x - newest).abs()));
    let largest = w.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let close = 1e-12 * spread.max(1e-300);
    let finite = w.iter().all(|x| x.is_finite());
    let best = |sign: f64| {
        let mut at = 0;
        for (i, x) in w.iter().enumerate() {
            if x * sign < w[at] * sign {
                at = i;
            }
        }
        at
    };
    let slope = || {
        let middle = (n - 1.0) / 2.0;
        let (mut a, mut b) = (0.0, 0.0);
        for (i, x) in w.iter().enumerate() {
            a += (i as f64 - middle) * (x - mean);
            b += (i as f64 - middle).powi(2);
        }
        a / b
    };
    let missing_unless = |is: bool, value: f64, within: f64| {
        if is { (value, within) } else { (f64::NAN, 0.0) }
    };
    match op {
        Window::Delay => unreachable!(),
        Window::Sum => (w.iter().sum(), 1e-13 * n * largest),
        Window::Mean => missing_unless(
            finite,
            if constant { newest } else { mean },
            if constant { 0.0 } else { close + 1e-15 * largest },
        ),
        Window::Var if n < 2.0 => (f64::NAN, 0.0),
        Window::Var => missing_unless(
            finite,
            if constant { 0.0 } else { moment(2) / (n - 1.0) },
            1e-10 * moment(2),
        ),
        Window::Std if n < 2.0 => (f64::NAN, 0.0),
        Window::Std => missing_unless(
            finite,
            if constant { 0.0 } else { (moment(2) / (n - 1.0)).sqrt() },
            1e-10 * moment(2).sqrt(),
        ),
        Window::Product => (w.iter().product(), 1e-12 * w.iter().product::<f64>().abs()),
        Window::Min => (w[best(1.0)], 0.0),
        Window::Max => (w[best(-1.0)], 0.0),
        Window::ArgMin => (best(1.0) as f64 + 1.0, 0.0),
        Window::ArgMax => (best(-1.0) as f64 + 1.0, 0.0),
        Window::Rank => {
            let less = w.iter().filter(|x| **x < newest).count() as f64;
            let equal = w.iter().filter(|x| **x == newest).count() as f64;
            (less + (equal + 1.0) / 2.0, 0.0)
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
        Window::Quantile(q) => {
            let mut s = w.to_vec();
            s.sort_by(f64::total_cmp);
            let at = f64::from_bits(q) * (n - 1.0);
            let (a, b, part) = (s[at.floor() as usize], s[at.ceil() as usize], at.fract());
            let between = a * (1.0 - part) + b * part;
            (if a == b || part == 0.0 { a } else { between }, 1e-15 * largest.min(f64::MAX))
        }
        Window::DecayLinear => {
            let total: f64 =
                w.iter().enumerate().map(|(i, x)| (i as f64 + 1.0) * (x - newest)).sum();
            missing_unless(finite, newest + total / (n * (n + 1.0) / 2.0), close + 1e-15 * largest)
        }
        Window::Skew if n < 3.0 || constant => (f64::NAN, 0.0),
        Window::Skew => {
            let g = moment(3) / n / (moment(2) / n).powf(1.5);
            missing_unless(finite, (n * (n - 1.0)).sqrt() / (n - 2.0) * g, 1e-7)
        }
        Window::Kurt if n < 4.0 || constant => (f64::NAN, 0.0),
        Window::Kurt => {
            let g = moment(4) / n / (moment(2) / n).powi(2);
            let k = (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * g - 3.0 * (n - 1.0));
            missing_unless(finite, k, 1e-6 * n)
        }
        Window::Slope if n < 2.0 => (f64::NAN, 0.0),
        Window::Slope => missing_unless(finite, slope(), 1e-11 * spread),
        Window::Residual if n < 2.0 => (f64::NAN, 0.0),
        Window::Residual => missing_unless(
            finite,
            newest - (mean + slope() * (n - 1.0) / 2.0),
            1e-11 * spread + 1e-15 * largest,
        ),
    }
}

fn define2(op: Window2, x: &[f64], y: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let finite = x.iter().chain(y).all(|v| v.is_finite());
    if !finite || n < 2.0 {
        return (f64::NAN, 0.0);
    }
    let centred = |v: &[f64]| -> Vec<f64> {
        let base = v[0];
        let mean = v.iter().map(|x| x - base).sum::<f64>() / n;
        v.iter().map(|x| (x - base) - mean).collect()
    };
    let (dx, dy) = (centred(x), centred(y));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (cxy, cxx, cyy) = (dot(&dx, &dy), dot(&dx, &dx), dot(&dy, &dy));
    let constant = |v: &[f64]| v.iter().all(|x| *x == v[0]);
    match op {
        Window2::Cov => (cxy / (n - 1.0), 1e-10 * (cxx * cyy).sqrt()),
        Window2::Corr if constant(x) || constant(y) => (f64::NAN, 0.0),
        Window2::Corr => ((cxy / (cxx * cyy).sqrt()).clamp(-1.0, 1.0), 1e-10),
        Window2::Beta if constant(y) => (f64::NAN, 0.0),
        Window2::Beta => (cxy / cyy, 1e-10 * (cxx / cyy).sqrt()),
    }
}

fn check(name: &str, found: f64, (expected, within): (f64, f64)) {
    let agrees = if expected.is_nan() {
        found.is_nan()
    } else if expected.is_infinite() {
        found == expected
    } else {
        (found - expected).abs() <= within
    };
    assert!(agrees, "{name}: found {found:e}, expected {expected:e} within {within:e}");
}

#[test]
fn windows_are_what_their_definitions_say() {
    let (rows, symbols) = (110, 23);
    let mut looked_at = 0;
    for seed in 1..6u64 {
        let (x, y) = (panel(rows, symbols, seed * 77), panel(rows, symbols, seed * 1313 + 5));
        for n in [1u32, 2, 3, 5, 20, 75] {
            let mut graph = Graph::new();
            let (a, b) = (graph.field("x"), graph.field("y"));
            let mut wanted = Vec::new();
            for op in WINDOWS {
                wanted.push(graph.add(Op::Window(op, n), vec![a]));
            }
            for op in WINDOWS2 {
                wanted.push(graph.add(Op::Window2(op, n), vec![a, b]));
            }
            let plan = Plan::new(&graph, &wanted);
            let n = n as usize;
            let out = run(&plan, &[&x, &y], symbols, 0, (32, 8));
            let column = |v: &[f64], s: usize, from: usize, to: usize| -> Vec<f64> {
                (from..=to).map(|t| v[t * symbols + s]).collect()
            };
            for t in 0..rows {
                for s in 0..symbols {
                    let (ops1, ops2) = out.split_at(WINDOWS.len());
                    for (op, out) in WINDOWS.iter().zip(ops1) {
                        let back = if *op == Window::Delay { n } else { n - 1 };
                        let found = out[t * symbols + s];
                        let name = format!("{op:?}({n}) at {t},{s} seed {seed}");
                        if t < back {
                            assert!(found.is_nan(), "{name}");
                            continue;
                        }
                        check(&name, found, define(*op, &column(&x, s, t - back, t)));
                        looked_at += 1;
                    }
                    for (op, out) in WINDOWS2.iter().zip(ops2) {
                        let found = out[t * symbols + s];
                        if t + 1 < n {
                            assert!(found.is_nan());
                            continue;
                        }
                        let (wx, wy) = (column(&x, s, t + 1 - n, t), column(&y, s, t + 1 - n, t));
                        check(&format!("{op:?}({n}) at {t},{s}"), found, define2(*op, &wx, &wy));
                        looked_at += 1;
                    }
                }
            }
        }
    }
    assert!(looked_at > 100_000, "{looked_at}");
}

#[test]
fn exponential_weights_are_those_of_the_definition() {
    let (rows, symbols) = (70, 23);
    let mut looked_at = 0;
    for (seed, alpha) in [(3u64, 0.1), (4, 0.5), (5, 1.0), (6, 1.0 / 3.0)] {
        let x = panel(rows, symbols, seed * 91);
        let mut graph = Graph::new();
        let field = graph.field("x");
        let ops = [Ewm::Mean, Ewm::Var, Ewm::Std];
        let wanted = ops.map(|op| graph.add(Op::Ewm(op, f64::to_bits(alpha)), vec![field]));
        let out = run(&Plan::new(&graph, &wanted), &[&x], symbols, 0, (16, 8));
        for s in 0..symbols {
            let mut seen: Vec<f64> = Vec::new();
            for t in 0..rows {
                let newest = x[t * symbols + s];
                let found = [0, 1, 2].map(|i| out[i][t * symbols + s]);
                if !newest.is_finite() {
                    assert!(found.iter().all(|v| v.is_nan()), "at {t},{s}");
                    continue;
                }
                seen.push(newest);
                let of = |(i, _): (usize, &f64)| {
                    let age = i32::try_from(seen.len() - 1 - i).unwrap();
                    let first = if i == 0 { 1.0 } else { alpha };
                    first * (1.0 - alpha).powi(age)
                };
                let weights: Vec<f64> = seen.iter().enumerate().map(of).collect();
                let dot = |f: &dyn Fn(f64) -> f64| -> f64 {
                    weights.iter().zip(&seen).map(|(w, x)| w * f(*x)).sum()
                };
                let mean = newest + dot(&|x| x - newest);
                let moment = dot(&|x| (x - mean) * (x - mean));
                let rest = 1.0 - weights.iter().map(|w| w * w).sum::<f64>();
                let largest = seen.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                check("mean", found[0], (mean, 1e-13 * largest));
                let constant = seen.iter().all(|x| *x == newest);
                let var = if seen.len() == 1 || alpha == 1.0 { f64::NAN } else { moment / rest };
                let var = if constant { var * 0.0 } else { var };
                let within = if constant { 0.0 } else { 1e-10 * var + 1e-14 * largest };
                check("var", found[1], (var, within));
                check(
                    "std",
                    found[2],
                    (var.sqrt(), if constant { 0.0 } else { 1e-6 * var.sqrt() }),
                );
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 5_000, "{looked_at}");
}

#[test]
fn what_has_left_a_window_leaves_no_trace() {
    let symbols = 1;
    let mut x: Vec<f64> = (0..60).map(|t| f64::from(t % 7)).collect();
    let clean = x.clone();
    for (at, trouble) in [(10, f64::INFINITY), (20, f64::NAN), (30, 1e300)] {
        x[at] = trouble;
    }
    let mut graph = Graph::new();
    let field = graph.field("x");
    let wanted: Vec<NodeId> =
        WINDOWS.iter().map(|op| graph.add(Op::Window(*op, 5), vec![field])).collect();
    let plan = Plan::new(&graph, &wanted);
    let (with, without) =
        (run(&plan, &[&x], symbols, 0, (8, 1)), run(&plan, &[&clean], symbols, 0, (8, 1)));
    for (op, (with, without)) in WINDOWS.iter().zip(with.iter().zip(&without)) {
        for t in [4, 9, 16, 19, 26, 29, 36, 59] {
            assert_eq!(with[t].to_bits(), without[t].to_bits(), "{op:?} at {t}");
        }
    }
}

mod laws;
