//! Logarithm, exponential and power, pinned: the same bits on every machine. The C library's
//! differ from version to version; these come with the crate `libm`. And quantiles.

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

/// Where the quantile `q` of `count` sorted values is: so many are before the nearer one below,
/// and so far it is from there to the next one.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^32")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to count - 1")]
pub(crate) fn quantile_place(q: f64, count: usize) -> (usize, f64) {
    let at = q.clamp(0.0, 1.0) * count.saturating_sub(1) as f64;
    let below = (at.floor() as usize).min(count.saturating_sub(1));
    (below, at - below as f64)
}

/// From `low` towards `high`, which is not below it, a `part` of the way.
#[inline(always)]
pub(crate) fn between(low: f64, high: f64, part: f64) -> f64 {
    if low == high || part == 0.0 {
        return low;
    }
    // As a difference it is never out of bounds. That of two large values may be infinite.
    let step = high - low;
    if step < f64::INFINITY { low + step * part } else { low * (1.0 - part) + high * part }
}

/// The quantile `q` of sorted values, one at least: linear between the two nearest, as NumPy's
/// default.
pub(crate) fn quantile(sorted: &[f64], q: f64) -> f64 {
    let (below, part) = quantile_place(q, sorted.len());
    let above = (below + 1).min(sorted.len() - 1);
    between(sorted[below], sorted[above], part)
}
