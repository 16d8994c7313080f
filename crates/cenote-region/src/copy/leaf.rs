//! The checksum of a chunk: the hash of the hashes of its leaves.
//!
//! `checksum = XXH3(le64(XXH3(leaf 0)) ‖ le64(XXH3(leaf 1)) ‖ …)`; each leaf is [`LEAF`] bytes,
//! the last may be shorter, and an empty chunk has none. So leaves can be copied and hashed
//! by several threads, a verifier needs one leaf of memory, and a mismatch can be narrowed
//! to a leaf. The rule is part of what is stored: it does not change with the code.

use std::io;

use super::{StreamHasher, hash};

/// The bytes that are hashed as one.
pub const LEAF: usize = 1 << 20;

/// The checksum of a chunk from the hashes of its leaves, in order.
#[must_use]
pub fn combine(leaves: &[u64]) -> u64 {
    let mut hasher = StreamHasher::new();
    for leaf in leaves {
        hasher.update(&leaf.to_le_bytes());
    }
    hasher.finish()
}

/// The checksum of a chunk in memory.
///
/// Cost: one pass; see [`hash`](super::hash).
#[must_use]
pub fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = StreamHasher::new();
    for leaf in bytes.chunks(LEAF) {
        hasher.update(&hash(leaf).to_le_bytes());
    }
    hasher.finish()
}

/// The checksum of `len` bytes that `read(offset, buffer)` delivers, a leaf at a time.
///
/// `read` fills its whole buffer or fails. Cost: one pass and at most [`LEAF`] bytes of
/// memory; nothing is mapped, so a file that shrinks meanwhile is an error, not a signal.
///
/// # Errors
/// The first error of `read`.
pub fn checksum_reader(
    mut read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
    len: u64,
) -> io::Result<u64> {
    let leaf_size = |offset: u64| usize::try_from(len - offset).unwrap_or(LEAF).min(LEAF);
    let mut hasher = StreamHasher::new();
    let mut buffer = vec![0; leaf_size(0)];
    let mut offset = 0;
    while offset < len {
        let leaf = &mut buffer[..leaf_size(offset)];
        read(offset, leaf)?;
        hasher.update(&hash(leaf).to_le_bytes());
        offset += leaf.len() as u64;
    }
    Ok(hasher.finish())
}
