//! Every path against `xxhash-rust`, over lengths and alignments.

use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::*;

/// Room before and after a copy that must stay as it was.
const GUARD: usize = 128;
const UNTOUCHED: u8 = 0xA5;

fn sample(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            (state >> 56) as u8
        })
        .collect()
}

type Copy = unsafe fn(*mut u8, &[u8], &mut dyn FnMut(usize)) -> u64;

/// The ways to copy on this machine, each with the alignment it asks for. Those that this
/// processor lacks are named on standard error.
fn ways() -> Vec<(&'static str, usize, Copy)> {
    let mut ways: Vec<(&str, usize, Copy)> = vec![
        // SAFETY: the caller's contract.
        ("dispatch", 1, |dst, src, seen| unsafe { copy_and_hash_with(dst, src, seen) }),
        // SAFETY: the caller's contract.
        ("portable", 1, |dst, src, seen| unsafe { copy_portable(dst, src, seen) }),
    ];
    #[cfg(target_arch = "x86_64")]
    {
        if std::is_x86_feature_detected!("avx2") {
            ways.push(("avx2 keep", 1, |dst, src, seen| {
                // SAFETY: the feature was found; the rest is the caller's contract.
                unsafe { avx2::hash_long::<KEEP>(dst, src, seen) }
            }));
            ways.push(("avx2 stream", avx2::STREAM_ALIGN, |dst, src, seen| {
                // SAFETY: the feature was found; the rest is the caller's contract.
                unsafe { avx2::hash_long::<STREAM>(dst, src, seen) }
            }));
        } else {
            eprintln!("skipped: no avx2");
        }
        if std::is_x86_feature_detected!("avx512f") {
            ways.push(("avx512 keep", 1, |dst, src, seen| {
                // SAFETY: the feature was found; the rest is the caller's contract.
                unsafe { avx512::hash_long::<KEEP>(dst, src, seen) }
            }));
            ways.push(("avx512 stream", avx512::STREAM_ALIGN, |dst, src, seen| {
                // SAFETY: the feature was found; the rest is the caller's contract.
                unsafe { avx512::hash_long::<STREAM>(dst, src, seen) }
            }));
        } else {
            eprintln!("skipped: no avx512f");
        }
    }
    ways
}

fn check(src: &[u8], dst_shift: usize) {
    let expected = xxh3_64(src);
    assert_eq!(hash(src), expected, "hash of {} bytes", src.len());
    for (name, align, copy) in ways() {
        // The kernels of the long algorithm are never given less.
        if !matches!(name, "dispatch" | "portable") && src.len() < FUSE_MIN {
            continue;
        }
        let mut target = vec![UNTOUCHED; src.len() + 2 * GUARD + 64];
        let base = target.as_ptr().align_offset(64) + GUARD;
        let start = base + dst_shift / align * align;
        let end = start + src.len();
        let mut seen = Vec::new();
        // SAFETY: `target` has a guard beyond `end`; the alignment was rounded to.
        let got = unsafe {
            copy(target.as_mut_ptr().wrapping_add(start), src, &mut |section| seen.push(section))
        };
        // Every section once, in order; only the dispatch knows when the last ones are over.
        let sections = src.len().div_ceil(SECTION);
        assert!(seen.iter().copied().eq(0..seen.len()) && seen.len() <= sections, "{name}");
        assert!(seen.len() == sections || name != "dispatch", "{name}: {seen:?}");
        let story = format!("{name}: {} bytes, dst + {dst_shift}", src.len());
        assert_eq!(got, expected, "{story}");
        assert!(&target[start..end] == src, "{story}");
        let outside = target[..start].iter().chain(&target[end..]);
        assert!(outside.copied().all(|byte| byte == UNTOUCHED), "{story}");
    }
}

#[test]
fn every_short_length() {
    let bytes = sample(4096 + 64, 1);
    for len in 0..=4096 {
        check(&bytes[len % 64..][..len], len / 7 % 64);
    }
}

#[test]
fn every_alignment() {
    let bytes = sample(STREAM_MIN + 4096, 2);
    for shift in 0..64 {
        check(&bytes[shift..][..2048 + shift], 63 - shift);
        check(&bytes[shift..][..STREAM_MIN + shift], 0);
    }
}

#[test]
fn around_block_and_stripe_multiples() {
    let bytes = sample(LEAF + 2048, 3);
    for center in [2048, 64 << 10, STREAM_MIN, LEAF] {
        for edge in [center, center + 64, center + 1024, center - 64, center - 1024] {
            for len in edge - 2..=edge + 2 {
                check(&bytes[..len], 0);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_length_and_alignment(
        len in 0usize..600_000, seed: u64, src_shift in 0usize..64, dst_shift in 0usize..64,
    ) {
        let bytes = sample(src_shift + len, seed);
        check(&bytes[src_shift..], dst_shift);
    }

    #[test]
    fn pieces_are_the_whole(seed: u64, cuts in prop::collection::vec(0usize..5000, 0..8)) {
        let bytes = sample(cuts.iter().sum(), seed);
        let mut hasher = StreamHasher::new();
        let mut rest = &bytes[..];
        for cut in cuts {
            hasher.update(&rest[..cut]);
            rest = &rest[cut..];
        }
        prop_assert_eq!(hasher.finish(), hash(&bytes));
    }
}

/// The rule spelled out once more, from the oracle only.
fn checksum_by_rule(bytes: &[u8]) -> u64 {
    let leaves: Vec<u8> = bytes.chunks(LEAF).flat_map(|leaf| xxh3_64(leaf).to_le_bytes()).collect();
    xxh3_64(&leaves)
}

#[test]
fn checksum_in_memory_and_by_reading() {
    let bytes = sample(40 * LEAF + 3, 4);
    for len in [0, 1, 240, LEAF - 1, LEAF, LEAF + 1, 2 * LEAF, 3 * LEAF + 17, bytes.len()] {
        let bytes = &bytes[..len];
        let expected = checksum_by_rule(bytes);
        assert_eq!(checksum(bytes), expected);
        let leaves: Vec<u64> = bytes.chunks(LEAF).map(hash).collect();
        assert_eq!(combine(&leaves), expected);
        let mut asked = 0;
        let read = |offset: u64, buffer: &mut [u8]| {
            asked += buffer.len();
            let at = usize::try_from(offset).map_err(io::Error::other)?;
            buffer.copy_from_slice(&bytes[at..at + buffer.len()]);
            Ok(())
        };
        assert_eq!(checksum_reader(read, len as u64).unwrap(), expected);
        assert_eq!(asked, len);
    }
}

#[test]
fn a_section_was_read_when_it_is_seen_and_the_next_was_not_written() {
    let bytes = sample(LEAF, 5);
    for (name, align, copy) in ways() {
        assert!(align <= 64, "{name}");
        let mut target = vec![UNTOUCHED; bytes.len() + 64];
        let start = target.as_ptr().align_offset(64);
        let at = target[start..][..bytes.len()].as_mut_ptr();
        let mut calls = 0;
        let mut look = |section: usize| {
            let end = (section + 1) * SECTION;
            if end < bytes.len() {
                // SAFETY: the copy is not going on while it asks, and `end` is inside.
                let next = unsafe { at.wrapping_add(end).read_volatile() };
                assert_eq!(next, UNTOUCHED, "{name}: section {section}");
            }
            calls += 1;
        };
        // SAFETY: the slice was as long as `bytes`, and is aligned to 64.
        unsafe { copy(at, &bytes, &mut look) };
        assert!(calls >= bytes.len() / SECTION - 1, "{name}: {calls}");
    }
}

#[test]
fn a_failed_read_is_returned() {
    let read = |offset, _: &mut [u8]| {
        if offset == 0 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    };
    let error = checksum_reader(read, LEAF as u64 + 1).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

use std::io;
