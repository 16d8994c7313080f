//! The least and the greatest of a run of numbers, as fast as memory gives them.
//!
//! Each loop keeps so many running values side by side that the compiler can hold them in
//! vector registers, and is compiled a second time for machines with AVX2, which compares
//! 64-bit integers. Where a bitmap says that a row is null, 64 rows are looked at together.

use arrow_buffer::{NullBuffer, i256};

/// Running values, side by side.
const LANES: usize = 16;

/// A number that can be folded. `LEAST` and `MOST` end every comparison.
pub(super) trait Number: Copy {
    const LEAST: Self;
    const MOST: Self;

    fn is_less(self, other: Self) -> bool;

    /// Whether it is no number at all.
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
}

macro_rules! whole {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const LEAST: Self = <$t>::MIN;
            const MOST: Self = <$t>::MAX;

            #[inline(always)]
            fn is_less(self, other: Self) -> bool {
                self < other
            }
        }
    )*};
}

whole!(i8, i16, i32, i64, i128, u8, u16, u32, u64, i256);

macro_rules! float {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const LEAST: Self = <$t>::NEG_INFINITY;
            const MOST: Self = <$t>::INFINITY;

            #[inline(always)]
            fn is_less(self, other: Self) -> bool {
                self < other
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }
        }
    )*};
}

float!(f32, f64);

/// What a run of numbers comes to. Without a value `min` is greater than `max`, but for
/// `LEAST` and `MOST` themselves `count` tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extremes<T> {
    pub(super) min: T,
    pub(super) max: T,
    pub(super) nan: bool,
}

impl<T: Number> Extremes<T> {
    const NONE: Self = Extremes { min: T::MOST, max: T::LEAST, nan: false };

    #[inline(always)]
    fn take(&mut self, value: T) {
        // A NaN is less than nothing.
        if value.is_less(self.min) {
            self.min = value;
        }
        if self.max.is_less(value) {
            self.max = value;
        }
        self.nan |= value.is_nan();
    }

    #[inline(always)]
    fn join(&mut self, other: Self) {
        if other.min.is_less(self.min) {
            self.min = other.min;
        }
        if self.max.is_less(other.max) {
            self.max = other.max;
        }
        self.nan |= other.nan;
    }

    /// Whether there was any value but NaN.
    pub(super) fn any(&self) -> bool {
        !self.max.is_less(self.min)
    }
}

/// The extremes of the values that are not null.
pub(super) fn extremes<T: Number>(values: &[T], nulls: Option<&NullBuffer>) -> Extremes<T> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has AVX2, and the function needs nothing else of its caller.
        return unsafe { avx2(values, nulls) };
    }
    either(values, nulls)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<T: Number>(values: &[T], nulls: Option<&NullBuffer>) -> Extremes<T> {
    either(values, nulls)
}

#[inline(always)]
fn either<T: Number>(values: &[T], nulls: Option<&NullBuffer>) -> Extremes<T> {
    match nulls {
        None => dense(values),
        Some(nulls) => sparse(values, nulls),
    }
}

#[inline(always)]
fn dense<T: Number>(values: &[T]) -> Extremes<T> {
    let (mut min, mut max) = ([T::MOST; LANES], [T::LEAST; LANES]);
    let mut nan = false;
    let (runs, rest) = values.as_chunks::<LANES>();
    for run in runs {
        let mut odd = false;
        for lane in 0..LANES {
            let value = run[lane];
            min[lane] = if value.is_less(min[lane]) { value } else { min[lane] };
            max[lane] = if max[lane].is_less(value) { value } else { max[lane] };
            odd |= value.is_nan();
        }
        nan |= odd;
    }
    let mut all = Extremes { nan, ..Extremes::NONE };
    for lane in 0..LANES {
        all.join(Extremes { min: min[lane], max: max[lane], nan: false });
    }
    rest.iter().for_each(|value| all.take(*value));
    all
}

#[inline(always)]
fn sparse<T: Number>(values: &[T], nulls: &NullBuffer) -> Extremes<T> {
    let mut all = Extremes::NONE;
    let bits = nulls.inner().bit_chunks();
    let words = bits.iter().chain(std::iter::once(bits.remainder_bits()));
    for (word, run) in words.zip(values.chunks(64)) {
        if word == u64::MAX && run.len() == 64 {
            all.join(dense(run));
        } else if word != 0 {
            // What stands in place of a null may be anything.
            for (bit, value) in run.iter().enumerate() {
                if word >> bit & 1 == 1 {
                    all.take(*value);
                }
            }
        }
    }
    all
}
