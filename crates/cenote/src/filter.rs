//! The rows of a frame that a predicate leaves.
//!
//! First statistics decide: partitions that cannot have a wanted row are not leased and not
//! touched, and of those whose rows are all wanted nothing is looked at. In the others the
//! predicate's columns are read, once, when the frame is opened or filtered; what is kept of
//! that is a run of rows, or a bit for each. A run is read in place, whatever it is a run of;
//! other rows are gathered in memory of the reader's own each time they are asked for.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;
use arrow_select::filter::FilterBuilder;

use crate::error::Error;
use crate::frame::Frame;
use crate::predicate::{Bound, Predicate, Rows};
use crate::version::Version;

/// Threads that look at partitions.
const THREADS_MAX: usize = 8;
/// Fewer rows than this are looked at by the calling thread alone.
const PARALLEL_FROM: u64 = 1 << 18;

/// What a predicate has left.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) predicate: Predicate,
    /// In order, none of them empty.
    pub(crate) pieces: Vec<Piece>,
    rows: u64,
    /// Partitions that there were, that could have a wanted row, and all of whose rows were.
    partitions: (usize, usize, usize),
}

/// Wanted rows of a partition.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) partition: usize,
    pub(crate) wanted: Wanted,
}

/// Which rows of a partition are wanted.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    Run(Range<usize>),
    /// Those of a run whose bits are set.
    Some {
        of: Range<usize>,
        bits: BooleanBuffer,
        count: usize,
    },
}

impl Wanted {
    fn of(&self) -> &Range<usize> {
        match self {
            Wanted::Run(run) => run,
            Wanted::Some { of, .. } => of,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Wanted::Run(run) => run.len(),
            Wanted::Some { count, .. } => *count,
        }
    }

    /// Those whose bits are set, too. `None`: none is.
    fn and(&self, bits: &BooleanBuffer) -> Option<Wanted> {
        let (of, bits) = match self {
            Wanted::Run(run) => (run.clone(), bits.clone()),
            Wanted::Some { of, bits: own, .. } => (of.clone(), own & bits),
        };
        let count = bits.count_set_bits();
        let (first, end) = bits.set_slices().next()?;
        if end - first == count {
            return Some(Wanted::Run(of.start + first..of.start + end));
        }
        Some(Wanted::Some { of, bits, count })
    }

    /// The first `rows` of them. `None` of no row.
    fn head(&self, rows: u64) -> Option<Wanted> {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        if rows >= self.len() {
            return Some(self.clone());
        }
        let last = rows.checked_sub(1)?;
        Some(match self {
            Wanted::Run(run) => Wanted::Run(run.start..run.start + rows),
            Wanted::Some { of, bits, .. } => {
                let length = bits.set_indices().nth(last)? + 1;
                let of = of.start..of.start + length;
                Wanted::Some { of, bits: bits.slice(0, length), count: rows }
            }
        })
    }

    /// These rows of columns of the whole partition.
    pub(crate) fn take(&self, arrays: &mut [ArrayRef]) -> Result<(), Error> {
        let of = self.of();
        for array in &mut *arrays {
            if array.len() != of.len() {
                *array = array.slice(of.start, of.len());
            }
        }
        if let Wanted::Some { bits, .. } = self {
            let bits = BooleanArray::new(bits.clone(), None);
            let filter = FilterBuilder::new(&bits).optimize().build();
            for array in arrays {
                *array = filter.filter(array)?;
            }
        }
        Ok(())
    }
}

/// A predicate, and the partitions that have to be looked at.
#[derive(Debug)]
pub(crate) struct Plan {
    predicate: Predicate,
    bound: Bound,
    total: usize,
    /// Partitions that may have a wanted row, in order; whether all rows are.
    pub(crate) kept: Vec<(usize, bool)>,
    /// The predicate's columns.
    pub(crate) columns: Vec<u32>,
}

impl Plan {
    /// Asks the statistics of `partitions`.
    pub(crate) fn new(
        version: &Version,
        predicate: Predicate,
        bound: Bound,
        partitions: impl Iterator<Item = usize>,
    ) -> Plan {
        let (mut total, mut kept) = (0, Vec::new());
        for partition in partitions {
            total += 1;
            let outlook = bound.outlook(&version.statistics(partition), version.rows_of(partition));
            if !outlook.none() {
                kept.push((partition, outlook.all()));
            }
        }
        let mut columns = Vec::new();
        bound.columns(&mut columns);
        columns.sort_unstable();
        columns.dedup();
        Plan { predicate, bound, total, kept, columns }
    }
}

impl Frame {
    /// The rows of the frame for which the predicate is true, too.
    ///
    /// Cost: a look at the statistics of each partition; where they do not decide, one pass
    /// over the predicate's columns, with several threads where there is much. Takes no new
    /// leases; the old ones stay with it.
    ///
    /// # Errors
    /// [`Error::NoColumn`]: the frame has no such column. [`Error::Misfit`]: a column's type
    /// does not compare so. As [`Self::batches`].
    pub fn filter(&self, predicate: &Predicate) -> Result<Frame, Error> {
        self.check()?;
        let bound = predicate.bind(&self.version.schema, self.columns.as_deref(), &self.name)?;
        let pieces = self.pieces();
        let partitions = pieces.iter().map(|piece| piece.partition);
        let plan = Plan::new(&self.version, predicate.clone(), bound, partitions);
        self.clone().keep(plan)
    }

    /// The first `rows` rows of what is selected.
    #[must_use]
    pub fn head(&self, rows: u64) -> Frame {
        if rows >= self.num_rows() {
            return self.clone();
        }
        let mut frame = self.clone();
        let Some(filter) = &self.filter else {
            frame.rows.end = self.rows.start + rows;
            return frame;
        };
        let (mut pieces, mut left) = (Vec::new(), rows);
        // The rows up to which there are so many: a reference opens these.
        frame.rows.end = frame.rows.start;
        for piece in &filter.pieces {
            let Some(wanted) = piece.wanted.head(left) else { break };
            left -= wanted.len() as u64;
            frame.rows.end = self.version.starts[piece.partition] + wanted.of().end as u64;
            pieces.push(Piece { partition: piece.partition, wanted });
        }
        frame.filter = Some(Filter { pieces, rows, ..Filter::clone(filter) }.into());
        frame
    }

    /// The predicate that has left the frame's rows.
    #[must_use]
    pub fn predicate(&self) -> Option<&Predicate> {
        self.filter.as_ref().map(|filter| &filter.predicate)
    }

    /// The first row of the version that is selected, where all that are follow it without a
    /// gap; `None` where there are gaps, or no row.
    #[must_use]
    pub fn first_row(&self) -> Option<u64> {
        let Some(filter) = &self.filter else { return Some(self.rows.start) };
        let mut next = None;
        for Piece { partition, wanted } in &filter.pieces {
            let Wanted::Run(run) = wanted else { return None };
            let start = self.version.starts[*partition] + run.start as u64;
            if next.is_some_and(|next| next != start) {
                return None;
            }
            next = Some(start + run.len() as u64);
        }
        next.map(|next| next - filter.rows)
    }

    /// What the frame selects, and what that took, in a few lines for people.
    #[must_use]
    pub fn explain(&self) -> String {
        let version = &self.version;
        let (rows, all) = (self.num_rows(), version.num_rows());
        let mut text = format!("{} version {}\n", self.name, self.version());
        if let Some(Filter { predicate, partitions: (total, kept, whole), .. }) =
            self.filter.as_deref()
        {
            let looked = kept - whole;
            text += &format!(
                "where {predicate}\n\
                 partitions: {total}; by their statistics {kept} may have such rows, and of \
                 {whole} all are; {looked} looked at\n"
            );
        } else {
            text +=
                &format!("partitions: {} of {}\n", self.num_partitions(), version.num_partitions());
        }
        let leased = self.hold.chunks.as_ref().map_or(version.num_chunks(), Vec::len);
        text += &format!(
            "rows: {rows} of {all}\ncolumns: {} of {}\nleased: {leased} of {} chunks, {} bytes",
            self.schema.fields().len(),
            version.num_columns(),
            version.num_chunks(),
            self.nbytes(),
        );
        text
    }

    /// The rows of a plan for this frame.
    pub(crate) fn keep(self, plan: Plan) -> Result<Frame, Error> {
        let Plan { predicate, bound, total, kept, .. } = plan;
        let mut pieces = self.pieces();
        pieces.retain(|piece| kept.binary_search_by_key(&piece.partition, |kept| kept.0).is_ok());
        debug_assert_eq!(pieces.len(), kept.len());
        let whole = kept.iter().filter(|kept| kept.1).count();
        let open: u64 = pieces
            .iter()
            .zip(&kept)
            .filter(|(_, kept)| !kept.1)
            .map(|(p, _)| p.wanted.of().len() as u64)
            .sum();
        let matched = in_parallel(pieces.len(), open, |at| {
            let piece = &pieces[at];
            if kept[at].1 {
                return Ok(Some(piece.clone()));
            }
            let bits = self.matches(piece, &bound)?;
            let wanted = piece.wanted.and(&bits);
            Ok(wanted.map(|wanted| Piece { partition: piece.partition, wanted }))
        })?;
        let pieces: Vec<Piece> = matched.into_iter().flatten().collect();
        let rows = pieces.iter().map(|piece| piece.wanted.len() as u64).sum();
        let predicate = match &self.filter {
            Some(filter) => filter.predicate.clone().and(predicate),
            None => predicate,
        };
        let partitions = (total, kept.len(), whole);
        let filter = Filter { predicate, pieces, rows, partitions };
        Ok(Frame { filter: Some(filter.into()), ..self })
    }

    /// The rows of a piece's run where a predicate is true.
    fn matches(&self, piece: &Piece, bound: &Bound) -> Result<BooleanBuffer, Error> {
        let of = piece.wanted.of();
        let column =
            |column: u32| Ok(self.column(piece.partition, column)?.slice(of.start, of.len()));
        bound.matches(&Rows {
            len: of.len(),
            known: self.version.rows_of(piece.partition),
            statistics: &self.version.statistics(piece.partition),
            column: &column,
        })
    }
}

impl Filter {
    pub(crate) fn num_rows(&self) -> u64 {
        self.rows
    }
}

/// Does `work` for each of `count` things, by several threads where `rows` are many; what comes
/// of it is in order. The first failure ends it.
pub(crate) fn in_parallel<T: Send>(
    count: usize,
    rows: u64,
    work: impl Fn(usize) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let threads = if rows < PARALLEL_FROM { 1 } else { cores().min(count) };
    if threads <= 1 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return Ok(done);
            }
            match work(at) {
                Ok(outcome) => done.push((at, outcome)),
                Err(error) => {
                    next.store(count, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    let mut all = Vec::with_capacity(count);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
        let mut outcome = take().map(|done| all.extend(done));
        for other in others {
            let done = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and(done.map(|done| all.extend(done)));
        }
        outcome
    })?;
    all.sort_unstable_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, outcome)| outcome).collect())
}
