//! Ranks of a row, by sorting it once.
//!
//! A double becomes an integer of the same order; what all of a row's integers begin with is
//! cut off, and the next 32 bits are sorted by their digits together with the places they
//! came from. Values that agree in those 32 bits too are sorted again by their next ones. So
//! the usual row costs three passes, and one of values that are nearly equal a few more.

/// Bits of a digit.
const DIGIT: usize = 11;
const DIGITS: usize = 3;
const BUCKETS: usize = 1 << DIGIT;
/// Fewer are sorted by comparison.
const FEW: usize = 96;

/// Sorts rows; keeps its memory.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    keys: Vec<u64>,
    items: Vec<u64>,
    other: Vec<u64>,
}

/// An integer in the order of the double; both zeros are one.
#[inline(always)]
fn key(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The place that an item came from, below its digits.
#[inline(always)]
fn place(item: u64) -> usize {
    low(item) as usize
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
fn low(item: u64) -> u32 {
    item as u32
}

impl Sorter {
    /// Gives each value `of` its rank from 1; equals share the mean of theirs. What is
    /// missing stays missing.
    pub(super) fn ranks(&mut self, x: &[f64], out: &mut [f64], of: impl Fn(f64) -> f64) {
        self.sort(x);
        out.fill(f64::NAN);
        let mut at = 0;
        while at < self.items.len() {
            let own = self.keys[place(self.items[at])];
            let equal = |item: &&u64| self.keys[place(**item)] == own;
            let end = at + 1 + self.items[at + 1..].iter().take_while(equal).count();
            #[expect(clippy::cast_precision_loss, reason = "at most as many as symbols")]
            let rank = (at + 1 + end) as f64 / 2.0;
            let rank = of(rank);
            for item in &self.items[at..end] {
                out[place(*item)] = rank;
            }
            at = end;
        }
    }

    /// The places of what is there, from the smallest to the largest.
    pub(super) fn order(&mut self, x: &[f64], order: &mut Vec<u32>) {
        self.sort(x);
        order.clear();
        order.extend(self.items.iter().map(|&item| low(item)));
    }

    fn sort(&mut self, x: &[f64]) {
        self.keys.clear();
        self.keys.extend(x.iter().map(|&x| key(x)));
        self.items.clear();
        let places = 0..x.len() as u64;
        self.items.extend(places.zip(x).filter(|(_, x)| !x.is_nan()).map(|(place, _)| place));
        self.other.resize(self.items.len(), 0);
        sort_places(&self.keys, &mut self.items, &mut self.other);
    }
}

/// Sorts `items`, which are places, by their keys. Above their places they may hold anything.
fn sort_places(keys: &[u64], items: &mut [u64], other: &mut [u64]) {
    if items.len() <= FEW {
        items.sort_unstable_by_key(|item| keys[place(*item)]);
        return;
    }
    let first = keys[place(items[0])];
    let differ = items.iter().fold(0, |bits, item| bits | (keys[place(*item)] ^ first));
    if differ == 0 {
        return;
    }
    let skip = differ.leading_zeros();
    let mut counts = [[0u32; BUCKETS]; DIGITS];
    for item in &mut *items {
        let digits = (keys[place(*item)] << skip) >> 32;
        for (digit, counts) in counts.iter_mut().enumerate() {
            counts[bucket(digits, digit)] += 1;
        }
        *item = digits << 32 | (*item & u64::from(u32::MAX));
    }
    let (mut from, mut to) = (&mut *items, &mut *other);
    let mut swapped = false;
    for (digit, counts) in counts.iter_mut().enumerate() {
        if counts.iter().any(|&count| count as usize == from.len()) {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for &item in &*from {
            let at = &mut counts[bucket(item >> 32, digit)];
            to[*at as usize] = item;
            *at += 1;
        }
        std::mem::swap(&mut from, &mut to);
        swapped = !swapped;
    }
    if swapped {
        items.copy_from_slice(other);
    }
    if skip >= 32 {
        return;
    }
    let mut at = 0;
    while at < items.len() {
        let digits = items[at] >> 32;
        let equal = |item: &&u64| **item >> 32 == digits;
        let end = at + 1 + items[at + 1..].iter().take_while(equal).count();
        if end - at > 1 {
            sort_places(keys, &mut items[at..end], &mut other[at..end]);
        }
        at = end;
    }
}

#[inline(always)]
fn bucket(digits: u64, digit: usize) -> usize {
    low(digits >> (DIGIT * digit)) as usize & (BUCKETS - 1)
}
