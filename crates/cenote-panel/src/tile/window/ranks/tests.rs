//! Ranks of few symbols, whose products tie all the time, against whole numbers.

use crate::{Engine, Graph, Names, Plan, parse};

const SYMBOLS: usize = 19;
const ROWS: usize = 60;
const WINDOW: usize = 5;

/// Prices and volumes whose order changes little from row to row, so that products of ranks tie;
/// with gaps, some rows have fewer symbols.
fn panel(gaps: bool) -> [Vec<f64>; 2] {
    let mut state = 12345u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64
    };
    std::array::from_fn(|_| {
        let value = |at: usize| {
            let gone = gaps && at % SYMBOLS == 3 && (20..23).contains(&(at / SYMBOLS));
            let value = (at % SYMBOLS) as f64 + next() % 4.0;
            if gone { f64::NAN } else { value }
        };
        (0..ROWS * SYMBOLS).map(value).collect()
    })
}

fn run(formula: &str, panel: &[Vec<f64>; 2], block_rows: usize) -> Vec<f64> {
    let mut graph = Graph::new();
    let node = parse(formula, &Names::new(["close", "volume"]), &mut graph).unwrap();
    let plan = Plan::new(&graph, &[node]);
    let of = |field: &String| panel[usize::from(field == "volume")].as_slice();
    let fields: Vec<&[f64]> = plan.graph().fields().iter().map(of).collect();
    let mut out = Vec::new();
    let mut engine = Engine::with_blocks(plan, SYMBOLS, 0, block_rows, 5);
    engine.push(&fields, ROWS, |_, _, rows| out.extend_from_slice(rows));
    out
}

/// Twice the places of a row, and how many.
fn places(row: &[f64]) -> (Vec<Option<i128>>, i128) {
    let place = |own: &f64| {
        let less = row.iter().filter(|x| *x < own).count() as i128;
        let equal = row.iter().filter(|x| *x == own).count() as i128;
        (!own.is_nan()).then_some(2 * less + equal + 1)
    };
    (row.iter().map(place).collect(), row.iter().filter(|x| !x.is_nan()).count() as i128)
}

/// Of each cell: what n Σxy − Σx Σy and its kin are over a common denominator.
fn moments(panel: &[Vec<f64>; 2], date: usize, symbol: usize) -> Option<[i128; 3]> {
    let mut sums = [0i128; 5];
    let mut rows = Vec::new();
    for date in date + 1 - WINDOW..=date {
        let range = date * SYMBOLS..(date + 1) * SYMBOLS;
        let [(x, n), (y, m)] = [0, 1].map(|field| places(&panel[field][range.clone()]));
        rows.push((x[symbol]?, n, y[symbol]?, m));
    }
    // 19 and 18 are all the counts that there are.
    let all = 19 * 18;
    for (x, n, y, m) in rows {
        let (x, y) = (x * all / n, y * all / m);
        for (sum, value) in sums.iter_mut().zip([x, y, x * y, x * x, y * y]) {
            *sum += value;
        }
    }
    let [x, y, xy, xx, yy] = sums;
    let n = WINDOW as i128;
    Some([n * xy - x * y, n * xx - x * x, n * yy - y * y])
}

#[test]
fn equal_covariances_and_correlations_have_equal_bits() {
    let mut ties = 0;
    for gaps in [false, true] {
        let panel = panel(gaps);
        let cov = run("covariance(rank(close), rank(volume), 5)", &panel, 32);
        let corr = run("correlation(rank(close), rank(volume), 5)", &panel, 32);
        for date in WINDOW - 1..ROWS {
            let mut seen: Vec<([i128; 3], f64, f64)> = Vec::new();
            for symbol in 0..SYMBOLS {
                let at = date * SYMBOLS + symbol;
                let Some([xy, xx, yy]) = moments(&panel, date, symbol) else {
                    assert!(cov[at].is_nan() && corr[at].is_nan());
                    continue;
                };
                let scale = (2.0 * 19.0 * 18.0f64).powi(2) * 20.0;
                let expected = xy as f64 / scale;
                assert!((cov[at] - expected).abs() <= 4e-16 * expected.abs(), "{date} {symbol}");
                if xx == 0 || yy == 0 {
                    assert!(corr[at].is_nan());
                } else {
                    let expected = xy as f64 / (xx as f64).sqrt() / (yy as f64).sqrt();
                    assert!((corr[at] - expected).abs() <= 1e-15, "{date} {symbol}");
                }
                for &([other, xx2, yy2], cov2, corr2) in &seen {
                    assert_eq!(other == xy, cov2.to_bits() == cov[at].to_bits(), "{date} {symbol}");
                    ties += usize::from(other == xy);
                    if xx * yy * xx2 * yy2 != 0 && other.signum() == xy.signum() {
                        let equal = other * other * (xx * yy) == xy * xy * (xx2 * yy2);
                        assert_eq!(equal, corr2.to_bits() == corr[at].to_bits(), "{date}");
                    }
                }
                seen.push(([xy, xx, yy], cov[at], corr[at]));
            }
        }
    }
    assert!(ties > 100, "the test looks at ties: {ties}");
}

#[test]
fn the_size_of_blocks_does_not_matter() {
    let panel = panel(true);
    for formula in
        ["covariance(rank(close), rank(volume), 5)", "correlation(rank(volume), rank(close), 5)"]
    {
        let bits = |rows| run(formula, &panel, rows).iter().map(|x| x.to_bits()).collect();
        let whole: Vec<u64> = bits(ROWS);
        assert_eq!(whole, bits(1) as Vec<u64>);
        assert_eq!(whole, bits(7) as Vec<u64>);
    }
}
