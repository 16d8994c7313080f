//! The stripe loop for AVX-512: one 64-byte vector a stripe.
//!
//! A streamed store fills a whole cache line at once, so no write-combining buffer is ever
//! flushed half full.

use std::arch::x86_64::{
    __m512i, _MM_HINT_T0, _mm_prefetch, _mm_sfence, _mm512_add_epi64, _mm512_load_si512,
    _mm512_loadu_si512, _mm512_mul_epu32, _mm512_set1_epi64, _mm512_setr_epi64,
    _mm512_shuffle_epi32, _mm512_slli_epi64, _mm512_srli_epi64, _mm512_storeu_si512,
    _mm512_stream_si512, _mm512_xor_si512,
};

use super::xxh3::{
    BLOCK, Key, LAST_KEY, PRIME32_1, SCRAMBLE_KEY, START, STRIPE, STRIPE_KEYS, Stripes, finish,
};
use super::{KEEP, PREFETCH_AHEAD, SECTION, STREAM};

/// Alignment of `dst` that [`STREAM`] asks for.
pub(super) const STREAM_ALIGN: usize = STRIPE;

#[target_feature(enable = "avx512f")]
#[inline]
fn load(stripe: &[u8; STRIPE]) -> __m512i {
    // SAFETY: 64 borrowed bytes; the load asks for no alignment.
    unsafe { _mm512_loadu_si512(stripe.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load_key(key: &Key) -> __m512i {
    // SAFETY: 64 borrowed bytes; `Key` is aligned to 64.
    unsafe { _mm512_load_si512(key.0.as_ptr().cast()) }
}

/// # Safety
/// `dst` is valid for writing 64 bytes, and aligned to 64 where `STORE` is [`STREAM`].
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn store<const STORE: u8>(dst: *mut u8, data: __m512i) {
    if STORE == STREAM {
        // SAFETY: the caller gives 64 writable bytes, aligned to 64.
        unsafe { _mm512_stream_si512(dst.cast(), data) };
    } else if STORE == KEEP {
        // SAFETY: the caller gives 64 writable bytes; the store asks for no alignment.
        unsafe { _mm512_storeu_si512(dst.cast(), data) };
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn accumulate(lanes: __m512i, data: __m512i, key: &Key) -> __m512i {
    let mixed = _mm512_xor_si512(data, load_key(key));
    let product = _mm512_mul_epu32(mixed, _mm512_srli_epi64::<32>(mixed));
    // Neighbouring 64-bit words change places.
    let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(data);
    _mm512_add_epi64(_mm512_add_epi64(lanes, swapped), product)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn scramble(lanes: __m512i) -> __m512i {
    let prime = _mm512_set1_epi64(PRIME32_1.cast_signed());
    let shifted = _mm512_srli_epi64::<47>(lanes);
    let mixed = _mm512_xor_si512(_mm512_xor_si512(lanes, shifted), load_key(&SCRAMBLE_KEY));
    // A 64 by 32 bit product out of two 32 by 32 bit ones.
    let low = _mm512_mul_epu32(mixed, prime);
    let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(mixed), prime);
    _mm512_add_epi64(low, _mm512_slli_epi64::<32>(high))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn words(lanes: __m512i) -> [u64; 8] {
    let mut words = [0u64; 8];
    // SAFETY: the array has 64 bytes; the store asks for no alignment.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), lanes) };
    words
}

/// Hashes an input of the long algorithm and, as `STORE` says, copies it to `dst`. `seen` is
/// told the sections that are over when another one begins: 0, 1, 2, …, without the last.
///
/// # Safety
/// Unless `STORE` is `NONE`: `dst` is valid for writing `src.len()` bytes, does not overlap
/// `src`, is read by no one meanwhile, and is aligned to [`STREAM_ALIGN`] for [`STREAM`].
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn hash_long<const STORE: u8>(
    dst: *mut u8,
    src: &[u8],
    mut seen: impl FnMut(usize),
) -> u64 {
    let Some(cut) = Stripes::of(src) else { return super::hash_short(src) };
    let [a, b, c, d, e, f, g, h] = START.map(u64::cast_signed);
    let mut lanes = _mm512_setr_epi64(a, b, c, d, e, f, g, h);
    let mut at = dst;
    for (section, blocks) in cut.blocks.chunks(SECTION / BLOCK).enumerate() {
        if section > 0 {
            seen(section - 1);
        }
        for block in blocks {
            for (stripe, key) in block.iter().zip(&STRIPE_KEYS) {
                if STORE == STREAM {
                    let ahead = stripe.as_ptr().wrapping_add(PREFETCH_AHEAD);
                    // A hint: it faults at no address.
                    _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
                }
                let data = load(stripe);
                // SAFETY: `at` has advanced by as many bytes as were read of `src`, whose
                // length `dst` has; it keeps the alignment of `dst`, a multiple of 64 at most.
                unsafe { store::<STORE>(at, data) };
                at = at.wrapping_add(STRIPE);
                lanes = accumulate(lanes, data, key);
            }
            lanes = scramble(lanes);
        }
    }
    for (stripe, key) in cut.rest.iter().zip(&STRIPE_KEYS) {
        let data = load(stripe);
        // SAFETY: as above.
        unsafe { store::<STORE>(at, data) };
        at = at.wrapping_add(STRIPE);
        lanes = accumulate(lanes, data, key);
    }
    let data = load(cut.last);
    if STORE != super::NONE {
        if STORE == STREAM {
            // Orders the streamed stores before every later one: what publishes the
            // bytes (a release store) must not overtake them.
            _mm_sfence();
        }
        // SAFETY: the last 64 of the `src.len()` bytes that `dst` has.
        unsafe { store::<KEEP>(dst.wrapping_add(src.len() - STRIPE), data) };
    }
    lanes = accumulate(lanes, data, &LAST_KEY);
    finish(words(lanes), src.len())
}
