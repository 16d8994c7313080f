//! The least and the greatest of a run of numbers, about as fast as memory gives them.
//!
//! The loops are plain ones over integers, which compilers turn into vector instructions, and
//! are compiled again for machines with AVX2 and AVX-512. Floating-point numbers are compared
//! by integers of the same order, in which NaN lies beyond the infinities: that there was one
//! shows at the end, and only then are they picked out.

use arrow_buffer::{NullBuffer, i256};

/// A number, and the integer that stands for it.
pub(super) trait Number: Copy {
    type Key: Key;

    fn key(self) -> Self::Key;

    fn of(key: Self::Key) -> Self;

    /// The keys of the least and the greatest number; NaN lies beyond.
    const ENDS: (Self::Key, Self::Key);
}

/// What is compared.
pub(super) trait Key: Copy + Ord {
    const LEAST: Self;
    const MOST: Self;
}

macro_rules! whole {
    ($($t:ty),*) => {$(
        impl Key for $t {
            const LEAST: Self = <$t>::MIN;
            const MOST: Self = <$t>::MAX;
        }

        impl Number for $t {
            type Key = $t;
            const ENDS: ($t, $t) = (<$t>::MIN, <$t>::MAX);

            #[inline(always)]
            fn key(self) -> $t {
                self
            }

            fn of(key: $t) -> $t {
                key
            }
        }
    )*};
}

whole!(i8, i16, i32, i64, i128, u8, u16, u32, u64, i256);

macro_rules! float {
    ($t:ty, $key:ty, $sign:literal) => {
        impl Number for $t {
            type Key = $key;
            const ENDS: ($key, $key) = {
                let most = <$t>::INFINITY.to_bits().cast_signed();
                (!most, most)
            };

            /// Numbers below zero sort backwards by their bits: all but the sign is turned.
            #[inline(always)]
            fn key(self) -> $key {
                let bits = self.to_bits().cast_signed();
                bits ^ (((bits >> $sign).cast_unsigned() >> 1).cast_signed())
            }

            fn of(key: $key) -> $t {
                let bits = key ^ (((key >> $sign).cast_unsigned() >> 1).cast_signed());
                <$t>::from_bits(bits.cast_unsigned())
            }
        }
    };
}

float!(f32, i32, 31);
float!(f64, i64, 63);

/// What a run of numbers comes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extremes<T> {
    /// The least and the greatest; `None` without a value but NaN.
    pub(super) range: Option<(T, T)>,
    pub(super) nan: bool,
}

/// The extremes of the values that are not null, of which there is one at least.
pub(super) fn extremes<T: Number>(values: &[T], nulls: Option<&NullBuffer>) -> Extremes<T> {
    let (least, most) = T::ENDS;
    let (mut min, mut max) = keys(values, nulls, false);
    let nan = min < least || max > most;
    if nan {
        (min, max) = keys(values, nulls, true);
    }
    Extremes { range: (min <= max).then(|| (T::of(min), T::of(max))), nan }
}

type Keys<T> = (<T as Number>::Key, <T as Number>::Key);

/// The least and the greatest key; in this order only if there is one.
fn keys<T: Number>(values: &[T], nulls: Option<&NullBuffer>, skip_nan: bool) -> Keys<T> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512dq")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vl")
    {
        // SAFETY: the machine has what the function is compiled for.
        return unsafe { avx512(values, nulls, skip_nan) };
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: as above.
        return unsafe { avx2(values, nulls, skip_nan) };
    }
    any(values, nulls, skip_nan)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl")]
fn avx512<T: Number>(values: &[T], nulls: Option<&NullBuffer>, skip_nan: bool) -> Keys<T> {
    any(values, nulls, skip_nan)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<T: Number>(values: &[T], nulls: Option<&NullBuffer>, skip_nan: bool) -> Keys<T> {
    any(values, nulls, skip_nan)
}

#[inline(always)]
fn any<T: Number>(values: &[T], nulls: Option<&NullBuffer>, skip_nan: bool) -> Keys<T> {
    match (nulls, skip_nan) {
        (None, false) => dense(values, |_| true),
        (None, true) => dense(values, is_number::<T>),
        (Some(nulls), false) => sparse(values, nulls, |_| true),
        (Some(nulls), true) => sparse(values, nulls, is_number::<T>),
    }
}

#[inline(always)]
fn is_number<T: Number>(key: T::Key) -> bool {
    key >= T::ENDS.0 && key <= T::ENDS.1
}

#[inline(always)]
fn dense<T: Number>(values: &[T], keep: impl Fn(T::Key) -> bool) -> Keys<T> {
    let (mut min, mut max) = (T::Key::MOST, T::Key::LEAST);
    for value in values {
        let key = value.key();
        let kept = keep(key);
        min = min.min(if kept { key } else { T::Key::MOST });
        max = max.max(if kept { key } else { T::Key::LEAST });
    }
    (min, max)
}

#[inline(always)]
fn sparse<T: Number>(values: &[T], nulls: &NullBuffer, keep: impl Fn(T::Key) -> bool) -> Keys<T> {
    let (mut min, mut max) = (T::Key::MOST, T::Key::LEAST);
    let bits = nulls.inner().bit_chunks();
    let words = bits.iter().chain(std::iter::once(bits.remainder_bits()));
    for (word, run) in words.zip(values.chunks(64)) {
        if word == 0 {
            continue;
        }
        // What stands in place of a null may be anything.
        for (bit, value) in run.iter().enumerate() {
            let key = value.key();
            let kept = word >> bit & 1 == 1 && keep(key);
            min = min.min(if kept { key } else { T::Key::MOST });
            max = max.max(if kept { key } else { T::Key::LEAST });
        }
    }
    (min, max)
}
