//! A study beside the functions that look at whole matrices.

use super::super::*;
use super::*;

const SYMBOLS: usize = 23;
const DATES: usize = 61;

/// Numbers on a coarse grid, with gaps; the same for a seed.
fn matrix(seed: u64, scale: f64) -> Vec<f64> {
    let mut state = seed;
    let next = |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = (state >> 40) % 1000;
        if bits < 60 { f64::NAN } else { (bits as f64 / 50.0).round() * scale + scale }
    };
    (0..SYMBOLS * DATES).map(next).collect()
}

#[test]
fn a_study_in_blocks_is_what_whole_matrices_give() {
    let prices = matrix(3, 1.0);
    let prices = Matrix::new(&prices, SYMBOLS);
    let factors = [matrix(1, 0.5), matrix(2, -1.0), vec![4.0; SYMBOLS * DATES]];
    let asked = Asked { horizons: vec![1, 7], bins: 4, least: 5 };
    let delays = [1, 0, 1];
    for block in [1, 5, 60, 61] {
        let mut study = Study::new(asked.clone(), &delays, prices);
        for from in (0..DATES).step_by(block) {
            let rows = from * SYMBOLS..(from + block).min(DATES) * SYMBOLS;
            let part: Vec<&[f64]> = factors.iter().map(|f| &f[rows.clone()]).collect();
            study.push(&part);
        }
        let found = study.finish();
        for ((finding, factor), delay) in found.iter().zip(&factors).zip(delays) {
            let factor = Matrix::new(factor, SYMBOLS);
            assert_eq!(finding.delay, delay);
            assert_eq!(bits(&[finding.coverage]), bits(&[mean(&coverage(factor, prices))]));
            assert_eq!(finding.distinct, distinct(factor, 2));
            for (foretold, horizon) in finding.horizons.iter().zip([1, 7]) {
                let returns = forward_returns(prices, Trade { delay, horizon });
                let returns = Matrix::new(&returns, SYMBOLS);
                assert_eq!(bits(&foretold.ic), bits(&ic(factor, returns, 5)));
                let stays = rank_autocorrelation(factor, horizon, 5);
                assert_eq!(bits(&[foretold.autocorrelation]), bits(&[mean(&stays)]));
                let whole = quantiles(factor, returns, 4, horizon);
                assert_eq!(bits(&foretold.quantiles.returns), bits(&whole.returns));
                assert_eq!(bits(&foretold.quantiles.turnover), bits(&whole.turnover));
                assert_eq!(bits(&foretold.quantiles.spread), bits(&whole.spread));
                let of_ic = summary(&foretold.ic, horizon);
                assert_eq!(bits(&[foretold.summary.mean]), bits(&[of_ic.mean]));
            }
        }
        assert!(found[0].horizons[1].summary.dates > 40, "there is something to compare");
        assert!(found[2].is_nearly_constant() && !found[0].is_nearly_constant());
    }
}

#[test]
fn what_is_nearly_the_same_for_all_is_told() {
    let prices = vec![1.0; 200];
    let find = |values: Vec<f64>| {
        let mut study = Study::new(Asked::default(), &[1], Matrix::new(&prices, 200));
        study.push(&[&values]);
        study.finish().remove(0).is_nearly_constant()
    };
    let with = |others: usize| (0..200).map(|at| f64::from(u8::from(at < others))).collect();
    assert!(find(with(1)) && find(with(3)) && find(vec![f64::NAN; 200]));
    assert!(!find(with(5)) && !find(with(100)));
}

fn mean(series: &[f64]) -> f64 {
    let mut mean = Mean::default();
    series.iter().for_each(|&x| mean.add_if_there(x));
    mean.value()
}

fn bits(values: &[f64]) -> Vec<u64> {
    // Every NaN is the same.
    values.iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect()
}
