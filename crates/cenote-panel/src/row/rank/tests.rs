//! Ranks against their definition, by every way in which rows are sorted.

use super::*;
use proptest::prelude::*;

fn expected(x: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = x.iter().copied().filter(|x| !x.is_nan()).collect();
    // Both zeros are one number.
    sorted.sort_by(|a, b| (a + 0.0).total_cmp(&(b + 0.0)));
    let rank = |x: &f64| {
        let below = sorted.partition_point(|other| other < x);
        let upto = sorted.partition_point(|other| other <= x);
        if x.is_nan() { f64::NAN } else { (below + 1 + upto) as f64 / 2.0 }
    };
    x.iter().map(rank).collect()
}

fn check(sorter: &mut Sorter, x: &[f64]) {
    let mut out = vec![0.0; x.len()];
    sorter.ranks(x, &mut out, |rank| rank);
    for ((x, found), expected) in x.iter().zip(&out).zip(expected(x)) {
        let same = found.is_nan() && expected.is_nan() || *found == expected;
        assert!(same, "{x:e}: {found}, not {expected}");
    }
    let mut order = Vec::new();
    sorter.order(x, &mut order);
    assert_eq!(order.len(), x.iter().filter(|x| !x.is_nan()).count());
    assert!(order.is_sorted_by(|a, b| x[*a as usize] <= x[*b as usize]));
}

/// Values of one kind: rows of it are sorted by steps, most of them.
fn kind() -> impl Strategy<Value = Vec<f64>> {
    let some = |value: BoxedStrategy<f64>| {
        let value = prop_oneof![12 => value, 1 => Just(f64::NAN), 1 => Just(0.0), 1 => Just(-0.0)];
        proptest::collection::vec(value, 0..700)
    };
    prop_oneof![
        some((-1e3..1e3f64).boxed()),
        some((0..9i32).prop_map(f64::from).boxed()),
        some((0..99u64).prop_map(|ulps| f64::from_bits(1.0f64.to_bits() + ulps)).boxed()),
        some((0..99u64).prop_map(f64::from_bits).boxed()),
        some((-300.0..300.0f64).prop_map(|power| 10f64.powf(power)).boxed()),
        some((0..3i32, -1.0..1.0f64).prop_map(|(far, x)| f64::from(far) * 1e12 + x).boxed()),
        some(prop_oneof![-1.0..1.0f64, Just(f64::INFINITY), Just(f64::MIN)].boxed()),
    ]
}

proptest! {
    #[test]
    fn ranks_of_all_kinds(rows in proptest::collection::vec(kind(), 1..4)) {
        // One sorter: nothing of an earlier row is left.
        let mut sorter = Sorter::default();
        for row in rows {
            check(&mut sorter, &row);
        }
    }
}

#[test]
fn long_rows() {
    let mut sorter = Sorter::default();
    for n in [31usize, 32, 33, 34, 127, 128, 129, 3000, 5000, 70_000] {
        let scatter = |i: usize| (i * 7919 % n) as f64;
        let rows: [&dyn Fn(usize) -> f64; 6] = [
            &|i| scatter(i) / 7.0 - 100.0,
            &|i| (scatter(i) / 40.0).floor(),
            &|i| if i == n / 2 { 1e300 } else { scatter(i).sin() },
            &|i| if i % 3 == 0 { f64::NAN } else { scatter(i).exp() },
            &|_| 5.0,
            &|i| if i == n / 2 { f64::NEG_INFINITY } else { (scatter(i) / 9.0).ceil() },
        ];
        for row in rows {
            check(&mut sorter, &(0..n).map(row).collect::<Vec<_>>());
        }
    }
}
