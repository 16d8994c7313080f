//! Logarithm, exponential and power, pinned: the same bits on every machine.
//!
//! The C library's differ from version to version; these come with the crate `libm`.

/// x to the y, missing where either is (IEEE and pandas make 1 of a missing value to the 0).
/// The powers that formulas use most are products and roots, which are rounded correctly.
#[inline]
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if y == 2.0 {
        x * x
    } else if y == 1.0 {
        x
    } else if y == 0.5 && x >= 0.0 && x.is_finite() {
        x.sqrt()
    } else {
        libm::pow(x, y)
    }
}

/// sign(x) × |x| to the y; 0 for 0 where y is above 0.
#[inline]
pub(crate) fn signed_pow(x: f64, y: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    let power = pow(x.abs(), y);
    if x < 0.0 {
        -power
    } else if x == 0.0 && y > 0.0 {
        0.0
    } else {
        power
    }
}

/// The natural logarithm.
#[inline]
pub(crate) fn log(x: f64) -> f64 {
    libm::log(x)
}

/// e to the x.
#[inline]
pub(crate) fn exp(x: f64) -> f64 {
    libm::exp(x)
}
