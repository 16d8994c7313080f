//! Random numbers from a seed that is printed.

/// The variable that repeats a run.
pub const SEED_VARIABLE: &str = "CENOTE_SEED";

/// Mixes the bits of a word so that each depends on all (the finaliser of SplitMix64).
#[must_use]
pub fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// A generator: a seed is a history.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// From the seed of this run and the name of a test, so that tests differ.
    #[must_use]
    pub fn of(test: &str) -> Chance {
        let name = cenote_region::copy::hash(test.as_bytes());
        Chance(mix(seed() ^ name))
    }

    /// From a number.
    #[must_use]
    pub fn from_seed(seed: u64) -> Chance {
        Chance(seed)
    }

    /// Sixty-four bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.word() % end.max(1)
    }

    /// One of `things`.
    ///
    /// # Panics
    /// There are none.
    pub fn pick<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        let at = usize::try_from(self.below(things.len() as u64)).unwrap_or(0);
        &things[at]
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// The seed of this run: what [`SEED_VARIABLE`] says, else a new one; printed once.
pub fn seed() -> u64 {
    static SEED: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *SEED.get_or_init(|| {
        let given = std::env::var(SEED_VARIABLE).ok().and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| cenote_region::random::random_u64().unwrap_or(1));
        eprintln!("{SEED_VARIABLE}={seed} repeats this run");
        seed
    })
}
