//! Sums that do not depend on the order of what is summed.
//!
//! Values are turned into integers in units of 2^−96 of the largest one's power of two, and
//! integers add up without rounding. What is lost of each value is less than its unit, so the
//! sum of n values is off by less than n × 2^−96 of the largest: far less than the one
//! rounding at the end.

/// Bits below the largest value's exponent that are kept.
const BITS: i32 = 96;

/// Bits of a double behind its point.
const MANTISSA: u32 = 52;

/// The sum of what is there; 0 of nothing. With infinities it is what IEEE has: infinite, or
/// missing where both are there.
pub(super) fn sum(values: &[f64]) -> f64 {
    let mut largest = 0u64;
    let (mut up, mut down) = (false, false);
    for value in values {
        let bits = value.to_bits() & !(1 << 63);
        up |= *value == f64::INFINITY;
        down |= *value == f64::NEG_INFINITY;
        // NaN has a larger pattern than infinity; neither counts.
        let finite = bits < f64::INFINITY.to_bits();
        largest = largest.max(if finite { bits } else { 0 });
    }
    match (up, down) {
        (true, true) => return f64::NAN,
        (true, false) => return f64::INFINITY,
        (false, true) => return f64::NEG_INFINITY,
        (false, false) => {}
    }
    let top = exponent(largest);
    let mut total = 0i128;
    for value in values {
        if value.is_nan() {
            continue;
        }
        let bits = value.to_bits() & !(1 << 63);
        let shift = exponent(bits) - top + BITS - MANTISSA.cast_signed();
        let whole = i128::from(mantissa(bits));
        // A value below the unit is rounded towards 0, as all are.
        let scaled = match shift {
            0.. => whole << shift,
            -63..0 => whole >> -shift,
            _ => 0,
        };
        total += if value.is_sign_negative() { -scaled } else { scaled };
    }
    #[expect(clippy::cast_precision_loss, reason = "the one rounding")]
    let rounded = total as f64;
    libm::ldexp(rounded, top - BITS)
}

/// The power of two of a positive double's leading bit; subnormals have that of the smallest
/// normal one.
fn exponent(bits: u64) -> i32 {
    let biased = i32::try_from(bits >> MANTISSA).unwrap_or(0);
    biased.max(1) - 1023
}

/// The bits of a positive double, the hidden one included.
fn mantissa(bits: u64) -> u64 {
    let fraction = bits & ((1 << MANTISSA) - 1);
    if bits >> MANTISSA == 0 { fraction } else { fraction | 1 << MANTISSA }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sums_of_special_values() {
        assert_eq!(sum(&[]), 0.0);
        assert_eq!(sum(&[f64::NAN]), 0.0);
        assert_eq!(sum(&[1.0, f64::NAN, 2.0]), 3.0);
        assert_eq!(sum(&[1.0, f64::INFINITY]), f64::INFINITY);
        assert!(sum(&[f64::NEG_INFINITY, f64::INFINITY]).is_nan());
        assert_eq!(sum(&[1e300, 1.0, -1e300]), 0.0, "1 is below the unit of 1e300");
        assert_eq!(sum(&[1e16, 1.0, -1e16]), 1.0);
        assert_eq!(sum(&[f64::MIN_POSITIVE / 4.0; 3]), f64::MIN_POSITIVE * 0.75);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn order_does_not_matter_and_the_sum_is_right(
            mut values in proptest::collection::vec(-1e9..1e9f64, 1..200),
        ) {
            let forwards = sum(&values);
            values.reverse();
            prop_assert_eq!(forwards.to_bits(), sum(&values).to_bits());
            values.sort_by(f64::total_cmp);
            prop_assert_eq!(forwards.to_bits(), sum(&values).to_bits());
            // Neumaier's sum, as good as one rounding or two.
            let (mut total, mut lost) = (0.0f64, 0.0f64);
            for &value in &values {
                let next = total + value;
                lost += if total.abs() >= value.abs() {
                    (total - next) + value
                } else {
                    (value - next) + total
                };
                total = next;
            }
            let expected = total + lost;
            prop_assert!((forwards - expected).abs() <= 1e-6 * f64::EPSILON.max(expected.abs()) * 1e-8 + 1e-6);
        }
    }
}
