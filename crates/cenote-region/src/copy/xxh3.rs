//! What every long-input XXH3-64 kernel shares: the constants, and the scalar finish.
//!
//! XXH3 (the xxHash specification, 64-bit variant, default secret, seed 0) reads inputs
//! longer than 240 bytes in 64-byte *stripes*: each stripe is mixed into eight 64-bit
//! lanes with a key that slides 8 bytes along the secret, and after every 16 stripes (a
//! 1 KiB *block*) the lanes are scrambled. The last 64 bytes are mixed in once more, with a
//! key of their own, and the lanes are folded into one word. Only the stripe loop is hot:
//! it is written once per instruction set, beside this file; everything else is here.
//!
//! Nothing here can fail; a kernel that disagrees with the specification is caught by the
//! property tests, which compare each against `xxhash-rust`.

/// Bytes that are mixed into the lanes at once.
pub(super) const STRIPE: usize = 64;

/// Stripes between two scrambles.
pub(super) const BLOCK_STRIPES: usize = 16;

/// Bytes between two scrambles.
pub(super) const BLOCK: usize = STRIPE * BLOCK_STRIPES;

/// The specification's long algorithm serves inputs longer than this.
pub(super) const SHORT_MAX: usize = 240;

const SECRET_LEN: usize = 192;

/// The key of a stripe moves this far along the secret from one stripe to the next.
const KEY_STEP: usize = 8;

pub(super) const PRIME32_1: u64 = 0x9E37_79B1;
const PRIME32_2: u64 = 0x85EB_CA77;
const PRIME32_3: u64 = 0xC2B2_AE3D;
const PRIME64_1: u64 = 0x9E37_79B1_85EB_CA87;
const PRIME64_2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const PRIME64_3: u64 = 0x1656_67B1_9E37_79F9;
const PRIME64_4: u64 = 0x85EB_CA77_C2B2_AE63;
const PRIME64_5: u64 = 0x27D4_EB2F_1656_67C5;
const PRIME_AVALANCHE: u64 = 0x1656_6791_9E37_79F9;

/// The eight lanes before the first stripe.
pub(super) const START: [u64; 8] =
    [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1];

/// The default secret of the specification.
const SECRET: [u8; SECRET_LEN] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];

/// Sixty-four bytes of the secret, aligned so that a vector load never crosses a line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Key(pub(super) [u8; STRIPE]);

const fn key_at(offset: usize) -> Key {
    let mut key = [0; STRIPE];
    let mut i = 0;
    while i < STRIPE {
        key[i] = SECRET[offset + i];
        i += 1;
    }
    Key(key)
}

/// The key of each stripe of a block.
pub(super) static STRIPE_KEYS: [Key; BLOCK_STRIPES] = {
    let mut keys = [key_at(0); BLOCK_STRIPES];
    let mut i = 0;
    while i < BLOCK_STRIPES {
        keys[i] = key_at(i * KEY_STEP);
        i += 1;
    }
    keys
};

/// The key of the scramble after a block.
pub(super) static SCRAMBLE_KEY: Key = key_at(SECRET_LEN - STRIPE);

/// The key of the last stripe, which overlaps the one before it.
pub(super) static LAST_KEY: Key = key_at(SECRET_LEN - STRIPE - 7);

/// The lanes are folded with the secret from here on.
const MERGE_KEY: usize = 11;

const fn secret_word(offset: usize) -> u64 {
    let mut word = 0;
    let mut i = 8;
    while i > 0 {
        i -= 1;
        word = (word << 8) | SECRET[offset + i] as u64;
    }
    word
}

/// Folds the lanes of an input of `len` bytes into its hash.
pub(super) fn finish(lanes: [u64; 8], len: usize) -> u64 {
    let mut sum = (len as u64).wrapping_mul(PRIME64_1);
    let (pairs, _) = lanes.as_chunks::<2>();
    for (i, [low, high]) in pairs.iter().enumerate() {
        let offset = MERGE_KEY + 16 * i;
        let product =
            u128::from(low ^ secret_word(offset)) * u128::from(high ^ secret_word(offset + 8));
        #[expect(clippy::cast_possible_truncation, reason = "folding takes the low half")]
        let folded = product as u64 ^ (product >> 64) as u64;
        sum = sum.wrapping_add(folded);
    }
    sum ^= sum >> 37;
    sum = sum.wrapping_mul(PRIME_AVALANCHE);
    sum ^ (sum >> 32)
}

/// An input of the long algorithm, cut as it reads it: whole blocks, the stripes that are
/// left, and the last 64 bytes (which overlap what comes before).
pub(super) struct Stripes<'a> {
    pub(super) blocks: &'a [[[u8; STRIPE]; BLOCK_STRIPES]],
    pub(super) rest: &'a [[u8; STRIPE]],
    pub(super) last: &'a [u8; STRIPE],
}

impl<'a> Stripes<'a> {
    /// `None` for inputs shorter than a stripe.
    pub(super) fn of(input: &'a [u8]) -> Option<Self> {
        let last = input.last_chunk::<STRIPE>()?;
        // The final byte always belongs to `last`, even where the length is a multiple.
        let (stripes, _) = input[..input.len() - 1].as_chunks::<STRIPE>();
        let (blocks, rest) = stripes.as_chunks::<BLOCK_STRIPES>();
        Some(Self { blocks, rest, last })
    }
}
