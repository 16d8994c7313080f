//! The one place where wide vector instructions are chosen, at run time.
//!
//! A kernel is a plain loop in a closure; [`wide`] is compiled once for every x86-64 machine
//! and once with AVX2 and FMA, and the closure with it. Rust never fuses a multiplication with
//! an addition by itself, so both versions give the same bits.

use multiversion::multiversion;

/// Runs `kernel` with the widest vectors that this machine has. The closure must be
/// `#[inline(always)]`, or it stays what it was.
#[inline]
pub(crate) fn wide<R, F: FnOnce() -> R>(kernel: F) -> R {
    #[cfg(test)]
    if NARROW.get() {
        return kernel();
    }
    widest(kernel)
}

#[multiversion(targets("x86_64+avx2+fma+bmi1+bmi2+lzcnt+popcnt"), dispatcher = "direct")]
#[inline]
fn widest<R, F: FnOnce() -> R>(kernel: F) -> R {
    kernel()
}

/// Whether [`wide`] has an instruction for a multiplication and an addition with one rounding.
/// `f64::mul_add` is slow where it has not.
pub(crate) fn fuses() -> bool {
    #[cfg(test)]
    if NARROW.get() {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

#[cfg(test)]
thread_local! {
    static NARROW: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs something with the vectors that every x86-64 machine has, as far as this thread does it.
#[cfg(test)]
pub(crate) fn narrow<R>(f: impl FnOnce() -> R) -> R {
    NARROW.set(true);
    let found = f();
    NARROW.set(false);
    found
}
