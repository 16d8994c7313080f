//! Heads: for each name, its current manifest, in an open-addressed table.
//!
//! A table is one file with one writer, the pool. A slot is filled in the order name, head,
//! hash, and its hash and name never change again: dropping a name leaves the slot with a
//! dropped head, to be revived by the same name. A table that fills up is never rebuilt in
//! place: a larger one is written, then its number is published in the board, and a reader
//! that holds the old one sees by that number that it must map the new.
//!
//! ```text
//! word 0   magic, layout version, number, slots, name words; checksum of these five
//! word 64  slots of 4 words: hash (0 = vacant), head, where the name is, spare
//! then     name records: length | check << 32, then the bytes, 8 a word
//! ```

use super::word::Head;
use super::{Memory, Ordering};
use crate::id::{EntryId, NAME_BYTES_MAX};

const MAGIC: u64 = u64::from_le_bytes(*b"CENOTE-H");
const HEADER_WORDS: u64 = 64;
const SLOT_WORDS: u64 = 4;

/// A slot of a head table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadSlot(u64);

/// What a look-up found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The name has a slot (its head may be dropped).
    Slot(HeadSlot),
    /// No such name in this table.
    Absent,
    /// The table contradicts itself: ask the pool.
    Damaged,
}

/// A view of one head table.
#[derive(Clone, Debug)]
pub struct HeadTable<M> {
    memory: M,
    number: u64,
    slots: u64,
    name_words: u64,
    // The owner's cursors; not shared.
    slots_used: u64,
    name_words_used: u64,
}

/// Hash of a name; never 0, which marks a vacant slot.
#[must_use]
#[inline]
pub fn hash_name(name: &str) -> u64 {
    cenote_region::copy::hash(name.as_bytes()).max(1)
}

fn check(name: &[u8]) -> u64 {
    // The high half of another hash than the one that chose the slot.
    (cenote_region::copy::hash(name) ^ 0x9E37_79B9_7F4A_7C15).rotate_left(32) & 0xFFFF_FFFF
}

/// Words of a table with room for `names` names of `name_bytes` bytes in all.
#[must_use]
pub fn table_words(names: u64, name_bytes: u64) -> (u64, u64, u64) {
    let slots = (names.max(8) * 10 / 7).next_power_of_two();
    let name_words = (name_bytes / 8 + 2 * slots).max(64);
    (HEADER_WORDS + slots * SLOT_WORDS + name_words, slots, name_words)
}

impl<M: Memory> HeadTable<M> {
    /// Writes an empty table into zeroed memory of [`table_words`] words.
    pub fn create(memory: M, number: u64, slots: u64, name_words: u64) -> HeadTable<M> {
        assert!(slots.is_power_of_two());
        assert!(memory.len() >= HEADER_WORDS + slots * SLOT_WORDS + name_words);
        let fixed = [MAGIC, super::board::LAYOUT_VERSION, number, slots, name_words];
        for (at, word) in fixed.into_iter().enumerate() {
            memory.store(at as u64, word, Ordering::Relaxed);
        }
        memory.store(5, fixed_checksum(&fixed), Ordering::Release);
        HeadTable { memory, number, slots, name_words, slots_used: 0, name_words_used: 0 }
    }

    /// Opens a table for reading; `None` if its header does not hold or the number differs.
    pub fn open(memory: M, number: u64) -> Option<HeadTable<M>> {
        let fixed: [u64; 5] = std::array::from_fn(|at| memory.load(at as u64, Ordering::Acquire));
        let [magic, version, found, slots, name_words] = fixed;
        let words =
            slots.checked_mul(SLOT_WORDS)?.checked_add(HEADER_WORDS)?.checked_add(name_words)?;
        let sound = memory.load(5, Ordering::Acquire) == fixed_checksum(&fixed)
            && magic == MAGIC
            && version == super::board::LAYOUT_VERSION
            && found == number
            && slots.is_power_of_two()
            && memory.len() >= words;
        sound.then_some(HeadTable {
            memory,
            number,
            slots,
            name_words,
            slots_used: 0,
            name_words_used: 0,
        })
    }

    /// The table's number.
    #[inline(always)]
    pub fn number(&self) -> u64 {
        self.number
    }

    fn slot_at(&self, slot: u64) -> u64 {
        HEADER_WORDS + (slot & (self.slots - 1)) * SLOT_WORDS
    }

    /// Looks `name` up; `hash` is [`hash_name`] of it. About one cache line a probe.
    pub fn find(&self, name: &str, hash: u64) -> Found {
        for probe in 0..self.slots {
            let slot = hash.wrapping_add(probe) & (self.slots - 1);
            // SYNC head-slot: pairs with `insert`; brings the name and the head with it.
            let found = self.memory.load(self.slot_at(slot), Ordering::Acquire);
            if found == 0 {
                return Found::Absent;
            }
            if found == hash {
                match self.name_is(slot, name.as_bytes()) {
                    Some(true) => return Found::Slot(HeadSlot(slot)),
                    Some(false) => {}
                    None => return Found::Damaged,
                }
            }
        }
        Found::Absent
    }

    /// Whether the slot's name is `name`; `None`: its record contradicts itself.
    fn name_is(&self, slot: u64, name: &[u8]) -> Option<bool> {
        let reference = self.memory.load(self.slot_at(slot) + 2, Ordering::Relaxed);
        let at = HEADER_WORDS + self.slots * SLOT_WORDS + reference;
        let head = self.memory.load(at, Ordering::Relaxed);
        let length = head & 0xFFFF_FFFF;
        if reference >= self.name_words || length > NAME_BYTES_MAX as u64 {
            return None;
        }
        if length != name.len() as u64 {
            return Some(false);
        }
        let equal = name.chunks(8).enumerate().all(|(i, part)| {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.memory.load(at + 1 + i as u64, Ordering::Relaxed) == u64::from_le_bytes(word)
        });
        if equal && head >> 32 == check(name) {
            return Some(true);
        }
        // The same hash and length, and another name: true once in 2^64 pairs. Damage is
        // likelier, so the record has to prove itself.
        let bytes = self.name_bytes(at, length);
        (check(&bytes) == head >> 32).then_some(false)
    }

    fn name_bytes(&self, at: u64, length: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(NAME_BYTES_MAX + 8);
        for i in 0..length.div_ceil(8) {
            bytes.extend(self.memory.load(at + 1 + i, Ordering::Relaxed).to_le_bytes());
        }
        bytes.truncate(usize::try_from(length).unwrap_or(NAME_BYTES_MAX));
        bytes
    }

    /// All live names and their manifests, as far as their records prove themselves.
    pub fn entries(&self) -> Vec<(String, EntryId)> {
        let mut found = Vec::new();
        for slot in 0..self.slots {
            let at = self.slot_at(slot);
            let reference = self.memory.load(at + 2, Ordering::Relaxed);
            let head = Head::unpack(self.memory.load(at + 1, Ordering::Relaxed));
            let Some(manifest) = head.manifest else { continue };
            if self.memory.load(at, Ordering::Acquire) == 0 || reference >= self.name_words {
                continue;
            }
            let record = HEADER_WORDS + self.slots * SLOT_WORDS + reference;
            let word = self.memory.load(record, Ordering::Relaxed);
            let length = word & 0xFFFF_FFFF;
            if length > NAME_BYTES_MAX as u64 {
                continue;
            }
            let bytes = self.name_bytes(record, length);
            if check(&bytes) == word >> 32
                && let Ok(name) = String::from_utf8(bytes)
            {
                found.push((name, manifest));
            }
        }
        found
    }

    /// The slot's head.
    #[inline(always)]
    pub fn head_word(&self, slot: HeadSlot) -> u64 {
        // SYNC head: pairs with `set`; the manifest's entry was published before.
        self.memory.load(self.slot_at(slot.0) + 1, Ordering::Acquire)
    }

    /// Points the slot at another manifest, or at none.
    pub fn set(&self, slot: HeadSlot, manifest: Option<EntryId>) {
        let at = self.slot_at(slot.0) + 1;
        let stamp = Head::unpack(self.memory.load(at, Ordering::Relaxed)).stamp.wrapping_add(1);
        // SYNC head: pairs with `head_word`.
        self.memory.store(at, Head { manifest, stamp }.pack(), Ordering::Release);
    }

    /// Whether [`Self::insert`] has room for another name of so many bytes.
    pub fn has_room(&self, name: &str) -> bool {
        let words = 1 + (name.len() as u64).div_ceil(8);
        (self.slots_used + 1) * 10 <= self.slots * 7
            && self.name_words_used + words <= self.name_words
    }

    /// Adds a name that [`Self::find`] did not find. `None`: the table is full.
    pub fn insert(&mut self, name: &str, manifest: Option<EntryId>) -> Option<HeadSlot> {
        let hash = hash_name(name);
        let bytes = name.as_bytes();
        let words = 1 + (bytes.len() as u64).div_ceil(8);
        if !self.has_room(name) {
            return None;
        }
        let reference = self.name_words_used;
        let at = HEADER_WORDS + self.slots * SLOT_WORDS + reference;
        for (i, part) in bytes.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.memory.store(at + 1 + i as u64, u64::from_le_bytes(word), Ordering::Relaxed);
        }
        let head = bytes.len() as u64 | (check(bytes) << 32);
        self.memory.store(at, head, Ordering::Relaxed);
        let slot = (0..self.slots)
            .map(|probe| hash.wrapping_add(probe) & (self.slots - 1))
            .find(|&slot| self.memory.load(self.slot_at(slot), Ordering::Relaxed) == 0)?;
        let slot_at = self.slot_at(slot);
        self.memory.store(slot_at + 2, reference, Ordering::Relaxed);
        self.memory.store(slot_at + 1, Head { manifest, stamp: 0 }.pack(), Ordering::Relaxed);
        // SYNC head-slot: pairs with `find`.
        self.memory.store(slot_at, hash, Ordering::Release);
        self.slots_used += 1;
        self.name_words_used += words;
        Some(HeadSlot(slot))
    }
}

fn fixed_checksum(fixed: &[u64; 5]) -> u64 {
    let mut bytes = [0; 40];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(fixed) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    cenote_region::copy::hash(&bytes)
}
