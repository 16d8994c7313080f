//! Copying bytes into a pool and checking them, in one pass over memory.
//!
//! A put is bounded by memory bandwidth: to copy first and hash afterwards reads every
//! byte twice. [`copy_and_hash`] hashes each 64-byte stripe while it is in a register on
//! its way to the pool, so that the checksum costs arithmetic only.
//!
//! The hash is XXH3-64 (xxHash specification, default secret, seed 0) to the bit, whichever
//! path computes it: AVX-512, AVX2 (both found at run time) or `xxhash-rust`.
//!
//! A chunk's checksum is made of leaves ([`checksum`]), so that a chunk can be copied and
//! verified in parallel, and in pieces of bounded size.
//!
//! ```
//! use cenote_region::copy::{LEAF, checksum, combine, hash};
//! let bytes = vec![7; LEAF + 5];
//! assert_eq!(checksum(&bytes), combine(&[hash(&bytes[..LEAF]), hash(&bytes[LEAF..])]));
//! ```

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod leaf;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod xxh3;

use std::fmt;

pub use leaf::{LEAF, checksum, checksum_reader, combine};

/// Kernel parameter: hash only.
#[cfg(target_arch = "x86_64")]
const NONE: u8 = 0;
/// Kernel parameter: ordinary stores, which leave the copy in the cache.
#[cfg(target_arch = "x86_64")]
const KEEP: u8 = 1;
/// Kernel parameter: streamed (non-temporal) stores, which save reading the target's lines.
#[cfg(target_arch = "x86_64")]
const STREAM: u8 = 2;

/// From this size on a kernel beats `memcpy` and `xxh3_64` one after the other.
const FUSE_MIN: usize = 1 << 10;

#[cfg(target_arch = "x86_64")]
const _: () = assert!(FUSE_MIN > xxh3::SHORT_MAX, "the kernels know the long algorithm only");

/// From this size on a copy goes past the caches.
#[cfg(target_arch = "x86_64")]
const STREAM_MIN: usize = 256 << 10;

/// How far ahead of a streaming copy its source is fetched.
#[cfg(target_arch = "x86_64")]
const PREFETCH_AHEAD: usize = 1 << 10;

/// A copy tells how far it is in steps of so many bytes: they and their copy stay in the second
/// cache of a core while they are looked at once more.
pub const SECTION: usize = 128 << 10;

/// What the portable copy hashes at once: small enough to be still in the first cache.
const PORTABLE_BLOCK: usize = 8 << 10;

/// XXH3-64 of `bytes`, seed 0.
///
/// Cost: one pass, at memory speed on AVX2; about half that elsewhere.
#[must_use]
pub fn hash(bytes: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if bytes.len() >= FUSE_MIN {
        if std::is_x86_feature_detected!("avx512f") {
            // SAFETY: the feature was found; `NONE` touches no `dst`.
            return unsafe { avx512::hash_long::<NONE>(std::ptr::null_mut(), bytes, |_| {}) };
        }
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: the feature was found; `NONE` touches no `dst`.
            return unsafe { avx2::hash_long::<NONE>(std::ptr::null_mut(), bytes, |_| {}) };
        }
    }
    hash_short(bytes)
}

fn hash_short(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// Copies `src` to `dst` and returns the [`hash`] of `src`.
///
/// Cost: one pass, at least at the speed of `memcpy` from and to memory where AVX2 is present
/// (`examples/copy_bench.rs` measures it). From 256 KiB on, where `dst` is aligned to 64, the
/// copy goes past the caches: quicker for memory that is not in them, which is a pool's,
/// slower for memory that is. It is fenced before this returns, so that a release store after
/// it publishes the bytes.
///
/// # Safety
/// `dst` is valid for writing `src.len()` bytes and does not overlap `src`, and no thread of
/// this process reads or writes those bytes meanwhile. (Another *process* that writes there
/// spoils the copy, not this process's memory: nothing is read back.)
pub unsafe fn copy_and_hash(dst: *mut u8, src: &[u8]) -> u64 {
    // SAFETY: the caller's contract is the same.
    unsafe { copy_and_hash_with(dst, src, |_| {}) }
}

/// [`copy_and_hash`], which calls `seen(i)` once for each [`SECTION`] of `src`, in order (the
/// last may be shorter; an empty `src` has none), after that section was read: what else is
/// to be done with its bytes finds them in the second cache.
///
/// # Safety
/// As [`copy_and_hash`].
pub unsafe fn copy_and_hash_with(dst: *mut u8, src: &[u8], mut seen: impl FnMut(usize)) -> u64 {
    let mut over = 0;
    // SAFETY: the caller's contract is the same.
    let hash = unsafe {
        dispatch(dst, src, |section| {
            seen(section);
            over = section + 1;
        })
    };
    (over..src.len().div_ceil(SECTION)).for_each(seen);
    hash
}

/// The best way for this machine; `seen` may lack the last sections.
///
/// # Safety
/// As [`copy_and_hash`].
unsafe fn dispatch(dst: *mut u8, src: &[u8], seen: impl FnMut(usize)) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if src.len() >= FUSE_MIN {
        if std::is_x86_feature_detected!("avx512f") {
            return if src.len() >= STREAM_MIN && dst.addr().is_multiple_of(avx512::STREAM_ALIGN) {
                // SAFETY: the feature and the alignment were checked; the rest is the caller's.
                unsafe { avx512::hash_long::<STREAM>(dst, src, seen) }
            } else {
                // SAFETY: the feature was found; the rest is the caller's.
                unsafe { avx512::hash_long::<KEEP>(dst, src, seen) }
            };
        }
        if std::is_x86_feature_detected!("avx2") {
            return if src.len() >= STREAM_MIN && dst.addr().is_multiple_of(avx2::STREAM_ALIGN) {
                // SAFETY: the feature and the alignment were checked; the rest is the caller's.
                unsafe { avx2::hash_long::<STREAM>(dst, src, seen) }
            } else {
                // SAFETY: the feature was found; the rest is the caller's.
                unsafe { avx2::hash_long::<KEEP>(dst, src, seen) }
            };
        }
    }
    // SAFETY: the caller's contract is the same.
    unsafe { copy_portable(dst, src, seen) }
}

/// [`copy_and_hash`] without vector instructions of its own.
///
/// # Safety
/// As [`copy_and_hash`].
unsafe fn copy_portable(dst: *mut u8, src: &[u8], mut seen: impl FnMut(usize)) -> u64 {
    if src.len() <= PORTABLE_BLOCK {
        // SAFETY: the caller gives `src.len()` writable bytes that do not overlap `src`.
        unsafe { std::ptr::copy_nonoverlapping(src.as_ptr(), dst, src.len()) };
        return hash_short(src);
    }
    let mut hasher = StreamHasher::new();
    for (i, block) in src.chunks(PORTABLE_BLOCK).enumerate() {
        if i > 0 && i.is_multiple_of(SECTION / PORTABLE_BLOCK) {
            seen(i / (SECTION / PORTABLE_BLOCK) - 1);
        }
        let at = dst.wrapping_add(i * PORTABLE_BLOCK);
        // SAFETY: `at` is as far into `dst` as `block` is into `src`.
        unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), at, block.len()) };
        hasher.update(block);
    }
    hasher.finish()
}

/// [`hash`] of bytes that come in pieces.
///
/// Cost: 0.6 KiB of state; about half the speed of [`hash`], since it knows no instruction
/// set beyond the one the build targets.
///
/// ```
/// use cenote_region::copy::{StreamHasher, hash};
/// let mut hasher = StreamHasher::new();
/// hasher.update(b"ce");
/// hasher.update(b"note");
/// assert_eq!(hasher.finish(), hash(b"cenote"));
/// ```
#[derive(Clone, Default)]
pub struct StreamHasher(xxhash_rust::xxh3::Xxh3Default);

impl StreamHasher {
    /// A hasher that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `bytes`.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all bytes so far; more may follow.
    #[must_use]
    pub fn finish(&self) -> u64 {
        self.0.digest()
    }
}

impl fmt::Debug for StreamHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamHasher").finish_non_exhaustive()
    }
}
