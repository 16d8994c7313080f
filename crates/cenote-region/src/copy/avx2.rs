//! The stripe loop for AVX2: two 32-byte vectors a stripe.
//!
//! Eleven instructions a vector, of which one is a load and at most one a store: from
//! memory it runs at the speed of the memory, from cache at about 16 bytes a cycle.

use std::arch::x86_64::{
    __m256i, _MM_HINT_T0, _mm_prefetch, _mm_sfence, _mm256_add_epi64, _mm256_load_si256,
    _mm256_loadu_si256, _mm256_mul_epu32, _mm256_set1_epi64x, _mm256_setr_epi64x,
    _mm256_shuffle_epi32, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_si256,
    _mm256_stream_si256, _mm256_xor_si256,
};

use super::xxh3::{
    BLOCK, Key, LAST_KEY, PRIME32_1, SCRAMBLE_KEY, START, STRIPE, STRIPE_KEYS, Stripes, finish,
};
use super::{KEEP, PREFETCH_AHEAD, SECTION, STREAM};

/// Half a stripe.
const LANE: usize = 32;

/// Alignment of `dst` that [`STREAM`] asks for.
pub(super) const STREAM_ALIGN: usize = LANE;

#[target_feature(enable = "avx2")]
#[inline]
fn load(stripe: &[u8; STRIPE]) -> [__m256i; 2] {
    let at = stripe.as_ptr();
    // SAFETY: the first 32 of 64 borrowed bytes; the load asks for no alignment.
    let low = unsafe { _mm256_loadu_si256(at.cast()) };
    // SAFETY: the last 32 of 64 borrowed bytes; the load asks for no alignment.
    let high = unsafe { _mm256_loadu_si256(at.wrapping_add(LANE).cast()) };
    [low, high]
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_key(key: &Key) -> [__m256i; 2] {
    let at = key.0.as_ptr();
    // SAFETY: the first 32 of 64 borrowed bytes; `Key` is aligned to 64.
    let low = unsafe { _mm256_load_si256(at.cast()) };
    // SAFETY: the last 32 of 64 borrowed bytes; `Key` is aligned to 64.
    let high = unsafe { _mm256_load_si256(at.wrapping_add(LANE).cast()) };
    [low, high]
}

/// # Safety
/// `dst` is valid for writing 64 bytes, and aligned to 32 where `STORE` is [`STREAM`].
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn store<const STORE: u8>(dst: *mut u8, data: [__m256i; 2]) {
    for (i, vector) in data.into_iter().enumerate() {
        let at: *mut __m256i = dst.wrapping_add(LANE * i).cast();
        if STORE == STREAM {
            // SAFETY: the caller gives 64 writable bytes, aligned to 32.
            unsafe { _mm256_stream_si256(at, vector) };
        } else if STORE == KEEP {
            // SAFETY: the caller gives 64 writable bytes; the store asks for no alignment.
            unsafe { _mm256_storeu_si256(at, vector) };
        }
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn accumulate(lanes: &mut [__m256i; 2], data: [__m256i; 2], key: &Key) {
    let key = load_key(key);
    for i in 0..2 {
        let mixed = _mm256_xor_si256(data[i], key[i]);
        let product = _mm256_mul_epu32(mixed, _mm256_srli_epi64::<32>(mixed));
        // Neighbouring 64-bit words change places.
        let swapped = _mm256_shuffle_epi32::<0b01_00_11_10>(data[i]);
        lanes[i] = _mm256_add_epi64(_mm256_add_epi64(lanes[i], swapped), product);
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn scramble(lanes: &mut [__m256i; 2]) {
    let key = load_key(&SCRAMBLE_KEY);
    let prime = _mm256_set1_epi64x(PRIME32_1.cast_signed());
    for i in 0..2 {
        let shifted = _mm256_srli_epi64::<47>(lanes[i]);
        let mixed = _mm256_xor_si256(_mm256_xor_si256(lanes[i], shifted), key[i]);
        // A 64 by 32 bit product out of two 32 by 32 bit ones.
        let low = _mm256_mul_epu32(mixed, prime);
        let high = _mm256_mul_epu32(_mm256_srli_epi64::<32>(mixed), prime);
        lanes[i] = _mm256_add_epi64(low, _mm256_slli_epi64::<32>(high));
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn words(lanes: [__m256i; 2]) -> [u64; 8] {
    let mut words = [0u64; 8];
    let at: *mut __m256i = words.as_mut_ptr().cast();
    // SAFETY: the first 32 of the array's 64 bytes; the store asks for no alignment.
    unsafe { _mm256_storeu_si256(at, lanes[0]) };
    // SAFETY: the last 32 of the array's 64 bytes; the store asks for no alignment.
    unsafe { _mm256_storeu_si256(at.wrapping_add(1), lanes[1]) };
    words
}

/// Hashes an input of the long algorithm and, as `STORE` says, copies it to `dst`. `seen` is
/// told the sections that are over when another one begins: 0, 1, 2, …, without the last.
///
/// # Safety
/// Unless `STORE` is `NONE`: `dst` is valid for writing `src.len()` bytes, does not overlap
/// `src`, is read by no one meanwhile, and is aligned to [`STREAM_ALIGN`] for [`STREAM`].
#[target_feature(enable = "avx2")]
pub(super) unsafe fn hash_long<const STORE: u8>(
    dst: *mut u8,
    src: &[u8],
    mut seen: impl FnMut(usize),
) -> u64 {
    let Some(cut) = Stripes::of(src) else { return super::hash_short(src) };
    let [a, b, c, d, e, f, g, h] = START.map(u64::cast_signed);
    let mut lanes = [_mm256_setr_epi64x(a, b, c, d), _mm256_setr_epi64x(e, f, g, h)];
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
                // length `dst` has; it keeps the alignment of `dst`, since 32 divides 64.
                unsafe { store::<STORE>(at, data) };
                at = at.wrapping_add(STRIPE);
                accumulate(&mut lanes, data, key);
            }
            scramble(&mut lanes);
        }
    }
    for (stripe, key) in cut.rest.iter().zip(&STRIPE_KEYS) {
        let data = load(stripe);
        // SAFETY: as above.
        unsafe { store::<STORE>(at, data) };
        at = at.wrapping_add(STRIPE);
        accumulate(&mut lanes, data, key);
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
    accumulate(&mut lanes, data, &LAST_KEY);
    finish(words(lanes), src.len())
}
