//! Where leases turn into slices, and spans of an arena into bytes: the unsafe part.
//!
//! Reading: a chunk is sealed before its entry is published, and its place is not written
//! again while a lease on it stands. The lease is a [`ChunkOwner`], which every slice, or
//! every Arrow buffer made from one, keeps. What a buggy process of the same user may do to
//! the bytes (it can map any arena for writing) is outside the trust of a pool; the checksum
//! is what finds it.
//!
//! Writing: a [`Span`] is a run of an arena that this client owns, cut off its bump pointer
//! once, so no two spans overlap.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::ArrayRef;
use arrow_buffer::alloc::Allocation;
use cenote_arrow::stats::ColumnStats;
use cenote_arrow::{ColumnLayout, ColumnPlan};
use cenote_pool::id::Place;
use cenote_region::copy::{LEAF, SECTION, combine, copy_and_hash_with};
use cenote_region::mapping::Mapping;

use crate::lease::LeaseSet;
use crate::maps::Writable;

/// Writes of fewer bytes are done by the calling thread alone.
const PARALLEL_FROM: u64 = 8 << 20;
/// Pages are brought in by so many bytes at a time for small chunks.
const POPULATE_BYTES: u64 = 256 << 10;
/// Threads that write.
const THREADS_MAX: usize = 8;

/// One user of one chunk's lease, and the mapping that it reads through.
#[derive(Debug)]
pub(crate) struct ChunkOwner {
    set: Arc<LeaseSet>,
    chunk: usize,
    mapping: Arc<Mapping>,
}

impl ChunkOwner {
    pub(crate) fn new(set: &Arc<LeaseSet>, chunk: usize, mapping: Arc<Mapping>) -> ChunkOwner {
        set.add_user(chunk);
        ChunkOwner { set: set.clone(), chunk, mapping }
    }

    /// The chunk's bytes.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        let place = &self.set.locations[self.chunk].place;
        // SAFETY: the chunk is sealed, and the lease that `self` is a user of pins its place,
        // so the bytes are backed by the file and nobody writes them.
        unsafe { self.mapping.bytes(place.offset, place.length) }
    }
}

impl Drop for ChunkOwner {
    fn drop(&mut self) {
        self.set.remove_user(self.chunk);
    }
}

/// The bytes of a chunk that the caller has leased, for as long as it holds the lease.
pub(crate) fn leased<'a>(mapping: &'a Mapping, place: &Place) -> Option<&'a [u8]> {
    // SAFETY: a sealed chunk under a lease is not written; the callers (`read_version`) hold
    // theirs until they are done with the slice.
    unsafe { mapping.bytes(place.offset, place.length) }
}

/// The first byte of a column's chunk, good as long as `owner`. `None`: the place is not in
/// the mapping, or not aligned.
pub(crate) fn chunk(layout: &ColumnLayout, owner: &ChunkOwner) -> Option<NonNull<u8>> {
    let bytes = owner.bytes()?;
    if bytes.len() != layout.chunk_len() || !bytes.as_ptr().addr().is_multiple_of(64) {
        return None;
    }
    Some(NonNull::from(bytes).cast())
}

/// A column over its chunk. `None`: as [`chunk`].
pub(crate) fn array(layout: &ColumnLayout, owner: ChunkOwner) -> Option<ArrayRef> {
    let start = chunk(layout, &owner)?;
    let owner: Arc<dyn Allocation> = Arc::new(owner);
    // SAFETY: `start` has `chunk_len` bytes, aligned, sealed and leased by `owner`, which each
    // buffer keeps. Their contents are what `ColumnPlan` laid out of a valid array: the
    // location's checksum is the manifest's, which the manifest's own checksum covers.
    Some(unsafe { layout.array(start, &owner) })
}

/// A run of an arena that this client owns, to be written once.
#[derive(Debug)]
pub(crate) struct Span {
    map: Arc<Writable>,
    offset: u64,
    length: u64,
}

impl Span {
    /// The caller has cut the run off its arena's bump pointer, and cuts it off only once.
    /// The arena is allocated up to `granted`.
    pub(crate) fn new(map: Arc<Writable>, offset: u64, length: u64, granted: u64) -> Span {
        let end = offset + length;
        if map.is_fresh(end) && length < LEAF as u64 {
            // Small chunks: the pages of the next ones, too.
            let ahead = end.next_multiple_of(POPULATE_BYTES).min(granted).max(end);
            map.populate(offset, ahead);
            map.set_populated(ahead);
        }
        Span { map, offset, length }
    }

    pub(crate) fn len(&self) -> u64 {
        self.length
    }

    /// The span's first byte; `None` where the mapping is too short, a fault of the pool.
    pub(crate) fn start(&self) -> Option<NonNull<u8>> {
        self.map.mapping.writable(self.offset, self.length)
    }

    /// What was written through [`Self::start`], when that is over.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        // SAFETY: the caller has stopped writing, and no other process writes an arena that
        // this one owns.
        unsafe { self.map.mapping.bytes(self.offset, self.length) }
    }
}

/// What goes into a chunk: columns one after the other.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) plans: Vec<ColumnPlan>,
    /// What was planned.
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) length: u64,
}

impl Contents {
    fn leaves(&self) -> usize {
        usize::try_from(self.length.div_ceil(LEAF as u64)).unwrap_or(usize::MAX)
    }

    /// Adds a section's share of the rows to each column's statistics, of which there are none
    /// before the first.
    fn add_statistics(&self, section: usize, to: &mut Vec<ColumnStats>) {
        let pieces = usize::try_from(self.length.div_ceil(SECTION as u64)).unwrap_or(usize::MAX);
        let own = self.columns.iter().map(|c| ColumnStats::of_piece(c, section, pieces.max(1)));
        if to.is_empty() {
            to.extend(own);
        } else {
            to.iter_mut().zip(own).for_each(|(all, own)| all.merge(own));
        }
    }
}

/// A chunk that was written.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) checksum: u64,
    /// Of each column.
    pub(crate) statistics: Vec<ColumnStats>,
}

/// A leaf that was written: its hash, and what it adds to the statistics.
#[derive(Debug, Default)]
struct Leaf {
    hash: u64,
    statistics: Vec<ColumnStats>,
}

struct Job<'a> {
    contents: &'a Contents,
    span: &'a Span,
    fresh: bool,
    to: Destination,
    at: u64,
    length: usize,
}

/// An address in a span. Sent to the threads that write different leaves of it.
#[derive(Clone, Copy)]
struct Destination(NonNull<u8>);

// SAFETY: an address; each thread writes another part of what it points to.
unsafe impl Send for Destination {}
// SAFETY: as above.
unsafe impl Sync for Destination {}

/// Writes chunks, each into its span. Copy and checksum are one pass, and statistics are taken
/// of what it has brought into the caches; large writes use several threads. `None`: a span is
/// out of its mapping.
pub(crate) fn write(chunks: &[(Contents, Span)], threads: Option<usize>) -> Option<Vec<Written>> {
    let mut jobs = Vec::new();
    let mut total = 0;
    for (contents, span) in chunks {
        debug_assert_eq!(contents.length, span.len());
        if contents.length == 0 {
            continue;
        }
        let start = span.start()?;
        let fresh = span.map.is_fresh(span.offset + span.length);
        total += contents.length;
        let mut at = 0;
        while at < contents.length {
            let length = usize::try_from(contents.length - at).unwrap_or(LEAF).min(LEAF);
            jobs.push(Job { contents, span, fresh, to: Destination(start), at, length });
            at += length as u64;
        }
    }
    let mut leaves = run(&jobs, total, threads).into_iter();
    for (_, span) in chunks {
        span.map.set_populated(span.offset + span.length);
    }
    let mut written = Vec::with_capacity(chunks.len());
    let mut hashes = Vec::new();
    for (contents, _) in chunks {
        hashes.clear();
        let first = leaves.by_ref().take(contents.leaves().min(1)).next();
        // Without a byte there may be rows: of nulls, say.
        let mut statistics = first.map_or_else(
            || {
                let mut statistics = Vec::new();
                contents.add_statistics(0, &mut statistics);
                statistics
            },
            |leaf| {
                hashes.push(leaf.hash);
                leaf.statistics
            },
        );
        for leaf in leaves.by_ref().take(contents.leaves().saturating_sub(1)) {
            hashes.push(leaf.hash);
            statistics.iter_mut().zip(leaf.statistics).for_each(|(all, own)| all.merge(own));
        }
        written.push(Written { checksum: combine(&hashes), statistics });
    }
    Some(written)
}

fn run(jobs: &[Job<'_>], total: u64, threads: Option<usize>) -> Vec<Leaf> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let threads = if total < PARALLEL_FROM { 1 } else { threads.unwrap_or_else(cores) };
    if threads <= 1 {
        let mut scratch = Vec::new();
        return jobs.iter().map(|job| job.run(&mut scratch)).collect();
    }
    let next = AtomicUsize::new(0);
    let mut leaves = Vec::new();
    leaves.resize_with(jobs.len(), Leaf::default);
    std::thread::scope(|scope| {
        let work = || {
            let (mut done, mut scratch) = (Vec::new(), Vec::new());
            while let Some((i, job)) = {
                let i = next.fetch_add(1, Ordering::Relaxed);
                jobs.get(i).map(|job| (i, job))
            } {
                done.push((i, job.run(&mut scratch)));
            }
            done
        };
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            // A thread that panicked has written nothing that will be committed.
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        for (i, leaf) in done {
            leaves[i] = leaf;
        }
    });
    leaves
}

impl Job<'_> {
    /// Writes one leaf.
    fn run(&self, scratch: &mut Vec<u8>) -> Leaf {
        let end = self.at + self.length as u64;
        if self.fresh {
            self.span.map.populate(self.span.offset + self.at, self.span.offset + end);
        }
        let bytes = match self.verbatim(end) {
            Some(bytes) => bytes,
            None => {
                self.assemble(end, scratch);
                scratch.as_slice()
            }
        };
        let at = usize::try_from(self.at).unwrap_or(usize::MAX);
        let to = self.to.0.as_ptr().wrapping_add(at);
        let mut statistics = Vec::new();
        // SAFETY: `to` is in a span of at least `end` bytes that only this job writes at
        // `at..end`, and `bytes` has `length` of them, on the heap or in an Arrow buffer.
        let hash = unsafe {
            copy_and_hash_with(to, bytes, |section| {
                self.contents.add_statistics(at / SECTION + section, &mut statistics);
            })
        };
        Leaf { hash, statistics }
    }

    /// The leaf's bytes, where they stand together in one of the input's buffers.
    fn verbatim(&self, end: u64) -> Option<&[u8]> {
        let plans = &self.contents.plans;
        let plan = &plans[plans.partition_point(|p| p.end() <= self.at)];
        let segments = plan.segments();
        let after = segments.partition_point(|s| s.offset() <= self.at);
        let segment = segments.get(after.checked_sub(1)?)?;
        let from = usize::try_from(self.at - segment.offset()).ok()?;
        let to = usize::try_from(end - segment.offset()).ok()?;
        segment.as_bytes()?.get(from..to)
    }

    fn assemble(&self, end: u64, scratch: &mut Vec<u8>) {
        scratch.clear();
        scratch.resize(self.length, 0);
        let plans = &self.contents.plans;
        for plan in &plans[plans.partition_point(|p| p.end() <= self.at)..] {
            if plan.base() >= end {
                break;
            }
            for segment in plan.segments() {
                let (start, stop) = (segment.offset(), segment.offset() + segment.len() as u64);
                let (from, to) = (start.max(self.at), stop.min(end));
                if from < to {
                    let index = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
                    let out = &mut scratch[index(from - self.at)..index(to - self.at)];
                    segment.fill(from - start, out);
                }
            }
        }
    }
}

/// Looks whether a chunk's bytes are what was written.
pub(crate) fn verify(owner: &ChunkOwner, checksum: u64) -> bool {
    owner.bytes().is_some_and(|bytes| cenote_region::copy::checksum(bytes) == checksum)
}
