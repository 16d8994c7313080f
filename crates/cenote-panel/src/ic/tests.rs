//! Values by hand.

use super::*;

const NAN: f64 = f64::NAN;

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

#[test]
fn spearman_by_hand() {
    close(spearman(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0], 2), 1.0);
    close(spearman(&[1.0, 2.0, 3.0], &[9.0, 5.0, 1.0], 2), -1.0);
    // Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: 4.5 ÷ √(4.5 × 5).
    close(spearman(&[1.0, 2.0, 2.0, 5.0], &[0.1, 0.3, 0.2, 9.0], 2), 4.5 / 22.5f64.sqrt());
    close(spearman(&[1.0, NAN, 2.0, 3.0], &[1.0, 5.0, 2.0, NAN], 2), 1.0);
    close(spearman(&[f64::NEG_INFINITY, 0.0, f64::INFINITY], &[1.0, 2.0, 3.0], 2), 1.0);
    assert!(spearman(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0], 2).is_nan(), "constant");
    assert!(spearman(&[1.0, 2.0], &[1.0, 2.0], 3).is_nan(), "too few");
    assert!(spearman(&[], &[], 0).is_nan());
}

#[test]
fn returns_are_from_entry_to_exit_and_nothing_is_filled() {
    let prices = [10.0, 11.0, NAN, 22.0, 0.0, 33.0];
    let of = |delay, horizon| forward_returns(Matrix::new(&prices, 1), Trade { delay, horizon });
    let found = of(0, 1);
    close(found[0], 0.1);
    assert!(found[1].is_nan() && found[2].is_nan(), "no price at exit, none at entry");
    assert!(found[3].is_nan() && found[4].is_nan() && found[5].is_nan());
    let found = of(1, 2);
    close(found[0], 1.0);
    close(found[2], 0.5);
    assert!(found[3..].iter().all(|x| x.is_nan()), "beyond the end");
    assert_eq!(Trade::default(), Trade { delay: 1, horizon: 1 });
}

#[test]
fn a_date_without_an_ic_is_missing_and_not_zero() {
    let factor = [1.0, 2.0, 3.0, 4.0, 4.0, 4.0, 3.0, NAN, 1.0];
    let returns = [0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.3, 0.2, 0.1];
    let found = ic(Matrix::new(&factor, 3), Matrix::new(&returns, 3), 3);
    close(found[0], 1.0);
    assert!(found[1].is_nan() && found[2].is_nan());
    assert_eq!(summary(&found, 1).dates, 1);
    assert!(summary(&found, 1).t.is_nan());
}

#[test]
fn summaries_by_hand() {
    let found = summary(&[0.1, NAN, 0.3, -0.1, 0.1], 1);
    assert_eq!(found.dates, 4);
    close(found.mean, 0.1);
    close(found.std, (0.08f64 / 3.0).sqrt());
    close(found.ratio, 0.1 / (0.08f64 / 3.0).sqrt());
    close(found.t, found.ratio * 2.0);
    close(found.t_newey_west, found.t);
    close(found.positive, 0.75);
    // γ(0) = 0.08 ÷ 4; one row apart: (0.2)(−0.2) + (−0.2)(0) = −0.04, ÷ 4, weight ½.
    let found = summary(&[0.1, NAN, 0.3, -0.1, 0.1], 2);
    close(found.t_newey_west, 0.1 / ((0.02 - 0.01) / 3.0f64).sqrt());
    let none = summary(&[NAN, NAN], 5);
    assert!(none.dates == 0 && none.mean.is_nan() && none.t_newey_west.is_nan());
    let constant = summary(&[0.5; 4], 2);
    assert!(constant.t.is_nan() && constant.ratio.is_nan(), "{constant:?}");
}

#[test]
fn order_that_stays_is_an_autocorrelation_of_1() {
    let factor = [1.0, 2.0, 3.0, 10.0, 20.0, 30.0, 3.0, 2.0, 1.0];
    let found = rank_autocorrelation(Matrix::new(&factor, 3), 1, 2);
    assert!(found[0].is_nan());
    close(found[1], 1.0);
    close(found[2], -1.0);
}

#[test]
fn coverage_is_of_the_universe() {
    let factor = [1.0, NAN, 3.0, 4.0, NAN, NAN];
    let prices = [9.0, 9.0, NAN, 9.0, 9.0, 9.0];
    let found = coverage(Matrix::new(&factor, 3), Matrix::new(&prices, 3));
    close(found[0], 0.5);
    close(found[1], 1.0 / 3.0);
    assert!(coverage(Matrix::new(&[1.0], 1), Matrix::new(&[NAN], 1))[0].is_nan());
}

#[test]
fn quantiles_by_hand() {
    let factor = [1.0, 2.0, 3.0, 4.0, 4.0, 2.0, 3.0, 1.0];
    let returns = [0.1, 0.3, 0.5, NAN, 0.2, 0.2, 0.4, 0.0];
    let found = quantiles(Matrix::new(&factor, 4), Matrix::new(&returns, 4), 2, 1);
    close(found.returns[0], (0.2 + 0.1) / 2.0);
    close(found.returns[1], (0.5 + 0.3) / 2.0);
    close(found.spread[0], 0.5 - 0.2);
    close(found.spread[1], 0.3 - 0.1);
    assert_eq!(found.turnover, [0.5, 0.5], "of two, one is new");
    // All the same: one bin has all, and nothing fails.
    let found = quantiles(Matrix::new(&[7.0; 4], 4), Matrix::new(&returns[..4], 4), 3, 1);
    assert_eq!(found.returns.iter().filter(|x| x.is_nan()).count(), 2);
    assert!(found.spread[0].is_nan());
}

#[test]
fn nearly_constant_factors_are_found() {
    let constant = [0.0, -0.0, NAN, 0.0, 1.0, 2.0, NAN, NAN, NAN];
    let found = distinct(Matrix::new(&constant, 3), 2);
    assert_eq!(found, Distinct { dates: 2, few: 0.5, commonest: (1.0 + 1.0 / 3.0) / 2.0 });
    assert_eq!(distinct(Matrix::new(&constant, 3), 4).few, 1.0);
    assert_eq!(distinct(Matrix::new(&[NAN, NAN], 2), 2).few, 1.0, "nothing is no factor");
}
