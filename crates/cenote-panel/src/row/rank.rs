//! Ranks of a row, by sorting it once.
//!
//! What lies between the smallest value and the largest is cut into equal steps, hundreds for
//! each value, and values are sorted by their step together with the places they came from: two
//! passes, whatever the values are. Those few that share a step are then compared.
//!
//! Where many share one, since others are far away, they are sorted by the bits of their
//! doubles. A double becomes an integer of the same order; what all integers begin with is cut
//! off, and the next 32 bits are sorted digit by digit; values that agree in those too are
//! sorted again by their next ones.

/// Bits of a digit, at most; of a step there are two.
const DIGIT: u32 = 11;
const DIGIT_LEAST: u32 = 7;
const BUCKETS: usize = 1 << DIGIT;
/// Digits of the bits that are sorted at once.
const DIGITS: usize = 3;
/// Fewer are sorted by comparison.
const FEW: usize = 32;
/// In its binade doubles are whole numbers: to add it to one below it leaves that in the low
/// bits.
const WHOLE: f64 = 4_503_599_627_370_496.0; // 2 ^ 52

/// Sorts rows; keeps its memory.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    /// The places that values came from; above them the step, or digits.
    items: Vec<u64>,
    other: Vec<u64>,
    keys: Vec<u64>,
    counts: Counts,
}

/// Of the two digits of a step.
#[derive(Debug)]
struct Counts(Box<[[u32; BUCKETS]; 2]>);

impl Default for Counts {
    fn default() -> Counts {
        Counts(Box::new([[0; BUCKETS]; 2]))
    }
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
        out.fill(f64::NAN);
        self.sort(x);
        let items = &self.items[..];
        let mut at = 0;
        while let Some(&own) = items.get(at) {
            let value = x[place(own)];
            let equal = |item: &u64| item >> 32 == own >> 32 && x[place(*item)] == value;
            let mut end = at + 1;
            while end < items.len() && equal(&items[end]) {
                end += 1;
            }
            let rank = of(whole(at + 1 + end) / 2.0);
            for item in &items[at..end] {
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

    /// Leaves the sorted places of what is there; equal values have the same above them.
    fn sort(&mut self, x: &[f64]) {
        if !self.by_steps(x) {
            self.items.clear();
            let places = 0..x.len() as u64;
            self.items.extend(places.zip(x).filter(|(_, x)| !x.is_nan()).map(|(place, _)| place));
            self.other.resize(self.items.len(), 0);
        }
        let mut keys = Keys { x, keys: &mut self.keys, are_there: false };
        let (items, other) = (&mut self.items[..], &mut self.other[..]);
        let mut at = 0;
        while at + 1 < items.len() {
            let step = items[at] >> 32;
            if items[at + 1] >> 32 != step {
                at += 1;
                continue;
            }
            let end = at + items[at..].iter().take_while(|item| **item >> 32 == step).count();
            keys.sort(&mut items[at..end], &mut other[at..end]);
            at = end;
        }
    }

    /// Sorts by steps. Not where they are few, and where there are no steps: all are equal, or
    /// too far from each other.
    fn by_steps(&mut self, x: &[f64]) -> bool {
        if x.len() <= FEW {
            return false;
        }
        let (least, most) = bounds(x);
        let digit = x.len().ilog2().clamp(DIGIT_LEAST, DIGIT);
        let mask = (1u64 << (2 * digit)) - 1;
        #[expect(clippy::cast_precision_loss, reason = "22 bits")]
        let scale = mask as f64 / (most - least);
        if !(scale > 0.0 && scale.is_finite()) {
            return false;
        }
        self.items.resize(x.len(), 0);
        self.other.resize(x.len(), 0);
        let (items, other) = (&mut self.items[..], &mut self.other[..]);
        for ((place, item), &x) in (0..).zip(&mut *other).zip(x) {
            let step = ((x - least) * scale + WHOLE).to_bits() & mask;
            *item = step << 32 | place;
        }
        let buckets = 1usize << digit;
        let lower_of = |item: u64| low(item >> 32) as usize & (buckets - 1) & (BUCKETS - 1);
        let upper_of = |item: u64| low(item >> (32 + digit)) as usize & (BUCKETS - 1);
        let [lower, upper] = &mut *self.counts.0;
        lower[..buckets].fill(0);
        upper[..buckets].fill(0);
        let mut n = 0;
        for (&item, x) in other.iter().zip(x) {
            items[n] = item;
            let is_there = !x.is_nan();
            n += usize::from(is_there);
            lower[lower_of(item)] += u32::from(is_there);
            upper[upper_of(item)] += u32::from(is_there);
        }
        let (items, other) = (&mut items[..n], &mut other[..n]);
        starts(&mut lower[..buckets]);
        starts(&mut upper[..buckets]);
        for &item in &*items {
            let at = &mut lower[lower_of(item)];
            other[*at as usize] = item;
            *at += 1;
        }
        for &item in &*other {
            let at = &mut upper[upper_of(item)];
            items[*at as usize] = item;
            *at += 1;
        }
        self.items.truncate(n);
        self.other.truncate(n);
        true
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most as many as symbols")]
fn whole(n: usize) -> f64 {
    n as f64
}

/// Where each bucket begins.
fn starts(counts: &mut [u32]) {
    let mut start = 0;
    for count in counts {
        start += std::mem::replace(count, start);
    }
}

/// A row's values, and their keys once these are needed.
struct Keys<'a> {
    x: &'a [f64],
    keys: &'a mut Vec<u64>,
    are_there: bool,
}

impl Keys<'_> {
    /// Sorts places of one step by their values.
    fn sort(&mut self, items: &mut [u64], other: &mut [u64]) {
        let x = self.x;
        if items.len() <= FEW {
            return by_comparison(x, items);
        }
        let first = x[place(items[0])];
        if items.iter().all(|item| x[place(*item)] == first) {
            return;
        }
        if !self.are_there {
            self.keys.clear();
            self.keys.extend(x.iter().map(|&x| key(x)));
            self.are_there = true;
        }
        by_bits(self.keys, items, other);
    }
}

/// By insertion: they are few.
fn by_comparison(x: &[f64], items: &mut [u64]) {
    for i in 1..items.len() {
        let own = items[i];
        let value = x[place(own)];
        let mut at = i;
        while at > 0 && x[place(items[at - 1])] > value {
            items[at] = items[at - 1];
            at -= 1;
        }
        items[at] = own;
    }
}

/// The smallest and the largest of what is there.
fn bounds(x: &[f64]) -> (f64, f64) {
    const LANES: usize = 8;
    let (mut low, mut high) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
    let (whole, rest) = x.as_chunks::<LANES>();
    for x in whole {
        for i in 0..LANES {
            low[i] = if x[i] < low[i] { x[i] } else { low[i] };
            high[i] = if x[i] > high[i] { x[i] } else { high[i] };
        }
    }
    let least = |a: f64, b: f64| if b < a { b } else { a };
    let most = |a: f64, b: f64| if b > a { b } else { a };
    (
        low.into_iter().chain(rest.iter().copied()).fold(f64::INFINITY, least),
        high.into_iter().chain(rest.iter().copied()).fold(f64::NEG_INFINITY, most),
    )
}

/// Sorts `items`, which are places, by their keys. Above their places they may hold anything.
fn by_bits(keys: &[u64], items: &mut [u64], other: &mut [u64]) {
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
        for (digit, counts) in (0..).zip(&mut counts) {
            counts[bucket(digits, digit)] += 1;
        }
        *item = digits << 32 | u64::from(low(*item));
    }
    let (mut from, mut to) = (&mut *items, &mut *other);
    let mut swapped = false;
    for (digit, counts) in (0..).zip(&mut counts) {
        if counts.iter().any(|&count| count as usize == from.len()) {
            continue;
        }
        starts(counts);
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
            by_bits(keys, &mut items[at..end], &mut other[at..end]);
        }
        at = end;
    }
}

#[inline(always)]
fn bucket(digits: u64, digit: u32) -> usize {
    low(digits >> (DIGIT * digit)) as usize & (BUCKETS - 1)
}

#[cfg(test)]
mod tests;
