//! What is where in one arena: live chunks, and runs that are dead.
//!
//! The book knows three kinds of bytes: *live* (a chunk that somebody may read), *dead* (was
//! live, or was never used in an arena that has no writer), and the rest, which belongs to
//! the arena's writer: sealed and not yet committed, or free for it to use. Only whole dead
//! pages are ever given back, so a writer's uncommitted bytes are never touched.

use std::collections::BTreeMap;
use std::ops::Range;

use cenote_region::quantity::PAGE;
use cenote_region::space::inner_pages;

use crate::id::{CHUNK_ALIGN, Place};

/// The bytes of one arena.
#[derive(Clone, Debug, Default)]
pub struct Book {
    /// Offset → length of each chunk.
    live: BTreeMap<u64, u64>,
    /// Start → end of each dead run; merged, disjoint.
    dead: BTreeMap<u64, u64>,
    live_bytes: u64,
    /// Dead pages that the file system does not have back yet.
    unpunched: Vec<Range<u64>>,
}

/// A place that cannot be occupied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OccupyError {
    /// Another chunk is there.
    #[error("bytes {offset}..{end} overlap the chunk at {other}")]
    Overlap {
        /// Asked for.
        offset: u64,
        /// Asked for.
        end: u64,
        /// Where the other begins.
        other: u64,
    },
    /// The place was given up before.
    #[error("bytes {offset}..{end} are dead")]
    Dead {
        /// Asked for.
        offset: u64,
        /// Asked for.
        end: u64,
    },
    /// Not on the alignment of chunks.
    #[error("offset {offset} is not a multiple of {CHUNK_ALIGN}")]
    Unaligned {
        /// Asked for.
        offset: u64,
    },
}

impl Book {
    /// Notes a chunk.
    ///
    /// # Errors
    /// [`OccupyError`]; then nothing is changed.
    pub fn occupy(&mut self, place: &Place) -> Result<(), OccupyError> {
        let (offset, end) = (place.offset, place.end());
        if !offset.is_multiple_of(CHUNK_ALIGN) {
            return Err(OccupyError::Unaligned { offset });
        }
        // An empty chunk takes an address and no bytes.
        let wide = end.max(offset + 1);
        if let Some((&other, &length)) = self.live.range(..wide).next_back()
            && other + length.max(1) > offset
        {
            return Err(OccupyError::Overlap { offset, end, other });
        }
        if let Some((_, &dead)) = self.dead.range(..wide).next_back()
            && dead > offset
        {
            return Err(OccupyError::Dead { offset, end });
        }
        self.live.insert(offset, place.length);
        self.live_bytes += place.length;
        Ok(())
    }

    /// Notes that a chunk's bytes may be reused or given back.
    pub fn vacate(&mut self, place: &Place) {
        if self.live.remove(&place.offset).is_some() {
            self.live_bytes -= place.length;
            self.bury(place.offset..place.end().next_multiple_of(CHUNK_ALIGN));
        }
    }

    /// Forgets a chunk whose bytes its writer may still use.
    pub fn release(&mut self, place: &Place) {
        if self.live.remove(&place.offset).is_some() {
            self.live_bytes -= place.length;
        }
    }

    /// The arena has no writer any more: what is not live, up to `granted`, is dead.
    pub fn close(&mut self, granted: u64) {
        self.dead.clear();
        self.unpunched.clear();
        let mut at = 0;
        let live: Vec<_> = self.live.iter().map(|(&o, &l)| (o, o + l)).collect();
        for (offset, end) in live {
            self.bury(at..offset);
            at = at.max(end.next_multiple_of(CHUNK_ALIGN));
        }
        self.bury(at..granted);
    }

    /// The arena is empty and gets a writer: nothing is dead.
    pub fn open(&mut self) {
        debug_assert!(self.live.is_empty());
        self.dead.clear();
        self.unpunched.clear();
    }

    fn bury(&mut self, run: Range<u64>) {
        if run.start >= run.end {
            return;
        }
        let (mut start, mut end) = (run.start, run.end);
        if let Some((&before, &before_end)) = self.dead.range(..=start).next_back()
            && before_end >= start
        {
            (start, end) = (before, end.max(before_end));
            self.dead.remove(&before);
        }
        while let Some((&after, &after_end)) = self.dead.range(start..=end).next() {
            end = end.max(after_end);
            self.dead.remove(&after);
        }
        self.dead.insert(start, end);
        // Only pages that this burial completed: the run's own, and the ones it shares.
        let touched = (run.start / PAGE * PAGE).max(start)..run.end.next_multiple_of(PAGE).min(end);
        self.unpunched.extend(inner_pages(touched));
    }

    /// Dead pages to give back; each is returned once.
    pub fn take_unpunched(&mut self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.unpunched)
    }

    /// Bytes of the dead pages that are still to be given back.
    #[must_use]
    pub fn unpunched_bytes(&self) -> u64 {
        self.unpunched.iter().map(|run| run.end - run.start).sum()
    }

    /// Whether there are any.
    #[must_use]
    pub fn has_unpunched(&self) -> bool {
        !self.unpunched.is_empty()
    }

    /// Whether no chunk is live.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Bytes of live chunks.
    #[must_use]
    pub fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// Bytes of the pages that live chunks touch.
    #[must_use]
    pub fn live_pages(&self) -> u64 {
        let (mut sum, mut last) = (0, 0);
        for (&offset, &length) in &self.live {
            let start = (offset / PAGE * PAGE).max(last);
            let end = (offset + length).next_multiple_of(PAGE);
            if end > start {
                sum += end - start;
                last = end;
            }
        }
        sum
    }

    /// Whole dead pages, in bytes.
    #[must_use]
    pub fn dead_pages(&self) -> u64 {
        let pages =
            |(&start, &end): (&u64, &u64)| inner_pages(start..end).map_or(0, |r| r.end - r.start);
        self.dead.iter().map(pages).sum()
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "small numbers")]
mod tests {
    use super::*;
    use crate::id::{ArenaId, Incarnation};
    use proptest::prelude::*;

    fn place(offset: u64, length: u64) -> Place {
        Place { arena: ArenaId(0), incarnation: Incarnation(0), offset, length }
    }

    #[test]
    fn a_dead_page_is_given_back_once_and_only_when_all_of_it_is_dead() {
        let mut book = Book::default();
        for offset in [0, 2048, 4096] {
            book.occupy(&place(offset, 2048)).unwrap();
        }
        book.vacate(&place(0, 2048));
        assert!(book.take_unpunched().is_empty());
        book.vacate(&place(2048, 2048));
        assert_eq!(book.take_unpunched(), vec![0..4096]);
        book.vacate(&place(4096, 2048));
        assert!(book.take_unpunched().is_empty());
        book.close(8192);
        assert_eq!(book.take_unpunched(), vec![0..8192]);
    }

    #[test]
    fn overlaps_and_dead_bytes_are_refused() {
        let mut book = Book::default();
        book.occupy(&place(64, 128)).unwrap();
        assert!(matches!(book.occupy(&place(128, 64)), Err(OccupyError::Overlap { .. })));
        assert!(matches!(book.occupy(&place(0, 65)), Err(OccupyError::Overlap { .. })));
        assert!(matches!(book.occupy(&place(63, 1)), Err(OccupyError::Unaligned { .. })));
        book.vacate(&place(64, 128));
        assert!(matches!(book.occupy(&place(128, 64)), Err(OccupyError::Dead { .. })));
    }

    proptest! {
        /// Beside a map of bytes: whatever is given back is dead and whole pages, never twice.
        #[test]
        fn against_a_byte_map(ops in prop::collection::vec((0u64..40, 1u64..6000, any::<bool>()), 1..60)) {
            let mut book = Book::default();
            let mut map = vec![b'.'; 1 << 20];
            let mut places: Vec<Place> = Vec::new();
            let mut bump = 0;
            for (pick, length, add) in ops {
                if add {
                    let place = place(bump, length);
                    bump = place.end().next_multiple_of(CHUNK_ALIGN);
                    book.occupy(&place).unwrap();
                    map[place.offset as usize..place.end() as usize].fill(b'l');
                    places.push(place);
                } else if !places.is_empty() {
                    let place = places.remove(pick as usize % places.len());
                    book.vacate(&place);
                    map[place.offset as usize..place.end().next_multiple_of(CHUNK_ALIGN) as usize].fill(b'd');
                }
                for range in book.take_unpunched() {
                    prop_assert!(range.start % PAGE == 0 && range.end % PAGE == 0);
                    for byte in &mut map[range.start as usize..range.end as usize] {
                        prop_assert_eq!(*byte, b'd');
                        *byte = b'p';
                    }
                }
                let whole_dead = map.chunks(4096).filter(|p| p.iter().all(|&b| b == b'd')).count();
                prop_assert_eq!(whole_dead, 0, "a dead page was forgotten");
                let live = places.iter().map(|p| p.length).sum::<u64>();
                prop_assert_eq!(book.live_bytes(), live);
            }
        }
    }
}
