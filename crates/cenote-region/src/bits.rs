//! Which of 64 bytes are equal to a byte, as the bits of a word.
//!
//! ```
//! let mut text = [b'x'; 64];
//! (text[3], text[7]) = (b',', b'\n');
//! assert_eq!(cenote_region::bits::equal(&text, [b',', b'\n']), [1 << 3, 1 << 7]);
//! ```

/// For each of `wanted`, a word whose bit `i` says whether `bytes[i]` is equal to it.
///
/// Cost: about two cycles for each of `wanted`; made to be inlined into a loop.
#[cfg(target_arch = "x86_64")]
#[inline]
#[must_use]
pub fn equal<const N: usize>(bytes: &[u8; 64], wanted: [u8; N]) -> [u64; N] {
    // SAFETY: SSE2 is part of x86-64, so every processor that runs this has it.
    unsafe { equal_sse2(bytes, wanted) }
}

/// For each of `wanted`, a word whose bit `i` says whether `bytes[i]` is equal to it.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
#[must_use]
pub fn equal<const N: usize>(bytes: &[u8; 64], wanted: [u8; N]) -> [u64; N] {
    wanted.map(|wanted| bits_of(bytes, wanted))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
#[inline]
fn equal_sse2<const N: usize>(bytes: &[u8; 64], wanted: [u8; N]) -> [u64; N] {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};

    let (parts, _) = bytes.as_chunks::<16>();
    let parts: [_; 4] = std::array::from_fn(|at| {
        // SAFETY: 16 borrowed bytes; the load asks for no alignment.
        unsafe { _mm_loadu_si128(parts[at].as_ptr().cast()) }
    });
    wanted.map(|wanted| {
        let wanted = _mm_set1_epi8(wanted.cast_signed());
        let bits = |at: usize| {
            let bits = _mm_movemask_epi8(_mm_cmpeq_epi8(parts[at], wanted));
            u64::from(bits.cast_unsigned()) << (16 * at)
        };
        bits(0) | bits(1) | bits(2) | bits(3)
    })
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn bits_of(bytes: &[u8; 64], wanted: u8) -> u64 {
    let bits = bytes.iter().enumerate();
    bits.fold(0, |bits, (at, &byte)| bits | u64::from(byte == wanted) << at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bits_are_those_of_a_loop(bytes in proptest::collection::vec(0u8..4, 64)) {
            let bytes: [u8; 64] = bytes.try_into().unwrap();
            let wanted = [0, 1, 3, 255];
            prop_assert_eq!(equal(&bytes, wanted), wanted.map(|wanted| bits_of(&bytes, wanted)));
        }
    }
}
