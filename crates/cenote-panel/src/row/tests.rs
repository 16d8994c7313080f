//! Row operators against their definitions.

use super::*;
use proptest::prelude::*;

fn ranks(x: &[f64]) -> Vec<f64> {
    let n = x.iter().filter(|x| !x.is_nan()).count() as f64;
    x.iter()
        .map(|&own| {
            if own.is_nan() {
                return f64::NAN;
            }
            let less = x.iter().filter(|x| **x < own).count() as f64;
            let equal = x.iter().filter(|x| **x == own).count() as f64;
            (less + (equal + 1.0) / 2.0) / n
        })
        .collect()
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => -1e3..1e3f64,
        3 => (0..5i32).prop_map(f64::from),
        2 => (0..1_000_000u64).prop_map(|ulps| f64::from_bits(1.0f64.to_bits() + ulps)),
        1 => Just(f64::NAN),
        1 => Just(-0.0),
        1 => Just(f64::INFINITY),
        1 => Just(f64::NEG_INFINITY),
    ]
}

proptest! {
    #[test]
    fn ranks_are_those_of_the_definition(x in proptest::collection::vec(value(), 0..400)) {
        let mut out = vec![0.0; x.len()];
        apply(RowOp::Rank, &x, &mut out, &mut Scratch::default());
        let expected = ranks(&x);
        for (found, expected) in out.iter().zip(expected) {
            prop_assert!(found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan());
        }
    }
}

#[test]
fn nearly_equal_keys_and_outliers_are_told_apart() {
    for n in [97usize, 3000, 5000, 9000] {
        let mut x: Vec<f64> = (0..n)
            .map(|i| f64::from_bits(1.0f64.to_bits() + (i as u64 * 7919) % n as u64))
            .collect();
        x[n / 2] = -1e300;
        x[n / 3] = 1e300;
        x[n / 5] = f64::NAN;
        let mut out = vec![0.0; n];
        apply(RowOp::Rank, &x, &mut out, &mut Scratch::default());
        let mut sorted: Vec<f64> = x.iter().copied().filter(|x| !x.is_nan()).collect();
        sorted.sort_by(f64::total_cmp);
        for (value, rank) in x.iter().zip(&out).filter(|(value, _)| !value.is_nan()) {
            let below = sorted.partition_point(|other| other < value);
            let upto = sorted.partition_point(|other| other <= value);
            let expected = (below + 1 + upto) as f64 / 2.0 / sorted.len() as f64;
            assert_eq!(*rank, expected, "n {n}");
        }
    }
}

#[test]
fn each_row_operator_by_hand() {
    let x = [1.0, f64::NAN, -3.0, 2.0];
    let of = |op: RowOp| {
        let mut out = [0.0; 4];
        apply(op, &x, &mut out, &mut Scratch::default());
        assert!(out[1].is_nan(), "{op:?}");
        [out[0], out[2], out[3]]
    };
    assert_eq!(of(RowOp::Scale(1.0f64.to_bits())), [1.0 / 6.0, -0.5, 2.0 / 6.0]);
    assert_eq!(of(RowOp::Count), [3.0; 3]);
    assert_eq!(of(RowOp::Mean), [0.0; 3]);
    assert_eq!(of(RowOp::Demean), [1.0, -3.0, 2.0]);
    let std = 7.0f64.sqrt();
    assert_eq!(of(RowOp::ZScore), [1.0 / std, -3.0 / std, 2.0 / std]);
    assert_eq!(of(RowOp::Bins(2)), [2.0, 1.0, 2.0]);
    assert_eq!(of(RowOp::Winsorize(0.25f64.to_bits())), [1.0, -1.0, 1.5]);
    let mut out = [0.0; 3];
    apply(RowOp::ZScore, &[0.1; 3], &mut out, &mut Scratch::default());
    assert!(out.iter().all(|x| x.is_nan()), "a constant row has no z-score");
}

#[test]
fn groups_by_hand() {
    let (x, groups) = ([1.0, 3.0, 5.0, f64::NAN, 7.0], [2.0, 2.0, 1.0, 2.0, f64::NAN]);
    let mut out = [0.0; 5];
    apply_group(RowOp::Demean, &x, &groups, &mut out, &mut Scratch::default());
    assert_eq!(out[..3], [-1.0, 1.0, 0.0]);
    assert!(out[3].is_nan() && out[4].is_nan());
    apply_group(RowOp::Rank, &x, &groups, &mut out, &mut Scratch::default());
    assert_eq!(out[..3], [0.5, 1.0, 1.0]);
    assert!(out[3].is_nan() && out[4].is_nan());
}

#[test]
fn a_group_is_a_row_of_its_own() {
    let x = [1.0, 3.0, 5.0, f64::NAN, 7.0, 5.0, 2.0, -2.0];
    let groups = [2.0, 2.0, 1.0, 2.0, f64::NAN, 2.0, -0.0, 0.0];
    let of = |op: RowOp| {
        let mut out = [0.5; 8];
        apply_group(op, &x, &groups, &mut out, &mut Scratch::default());
        assert!(out[3].is_nan() && out[4].is_nan(), "{op:?}");
        [out[0], out[1], out[5], out[2], out[6], out[7]]
    };
    assert_eq!(of(RowOp::Mean), [3.0, 3.0, 3.0, 5.0, 0.0, 0.0], "both zeros are one code");
    assert_eq!(of(RowOp::Count), [3.0, 3.0, 3.0, 1.0, 2.0, 2.0]);
    assert_eq!(of(RowOp::Ordinal), [1.0, 2.0, 3.0, 1.0, 2.0, 1.0]);
    assert_eq!(of(RowOp::Bins(3)), [1.0, 2.0, 3.0, 3.0, 3.0, 2.0]);
    let scaled = of(RowOp::Scale(2.0f64.to_bits()));
    assert_eq!(scaled, [2.0 / 9.0, 6.0 / 9.0, 10.0 / 9.0, 2.0, 1.0, -1.0]);
    let scores = of(RowOp::ZScore);
    assert_eq!(scores[..3], [-1.0, 0.0, 1.0]);
    assert!(scores[3].is_nan(), "who is alone has no z-score");
    assert_eq!(of(RowOp::Winsorize(0.25f64.to_bits())), [2.0, 3.0, 4.0, 5.0, 1.0, -1.0]);
}
