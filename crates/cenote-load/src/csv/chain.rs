//! Where the pieces of a large file begin, handed from each to the next.
//!
//! A file is split at fixed offsets; which record is the first behind such an offset is only
//! certain once all before it is cut into records, for a line end may stand within quotes.
//! So each piece guesses its first record, and its batches wait until the piece before says
//! where it has ended: most often there. Then the guess was right, by induction from the
//! first byte of the file. Else the piece is read again from the right place.

use std::sync::{Condvar, Mutex, PoisonError};

/// No piece may follow: the one before failed.
const NOTHING: u64 = u64::MAX;

/// Wrong guesses after which a file's pieces wait rather than guess.
const MAX_MISSES: usize = 3;

#[derive(Debug)]
pub(super) struct Chain {
    state: Mutex<State>,
    known: Condvar,
}

#[derive(Debug)]
struct State {
    ends: Vec<Option<u64>>,
    misses: usize,
}

impl Chain {
    pub(super) fn new(pieces: usize) -> Self {
        let state = Mutex::new(State { ends: vec![None; pieces], misses: 0 });
        Self { state, known: Condvar::new() }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether to guess.
    pub(super) fn guesses(&self) -> bool {
        self.state().misses < MAX_MISSES
    }

    pub(super) fn miss(&self) {
        self.state().misses += 1;
    }

    /// The obligation to say where a piece ends; dropped unmet, nothing follows.
    pub(super) fn promise(&self, piece: usize) -> Promise<'_> {
        Promise { chain: self, piece }
    }

    /// Where a piece has ended; none: nothing follows. Waits until it is known.
    ///
    /// It ends because parts are taken in order: whoever works at the piece before was there
    /// earlier, keeps its promise or drops it, and waits for none behind.
    pub(super) fn end_of(&self, piece: usize) -> Option<u64> {
        let unknown = |state: &mut State| state.ends[piece].is_none();
        let state = self.known.wait_while(self.state(), unknown);
        let end = state.unwrap_or_else(PoisonError::into_inner).ends[piece];
        end.filter(|&end| end != NOTHING)
    }
}

#[derive(Debug)]
pub(super) struct Promise<'a> {
    chain: &'a Chain,
    piece: usize,
}

impl Promise<'_> {
    pub(super) fn keep(self, end: u64) {
        self.chain.state().ends[self.piece] = Some(end);
    }
}

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        self.chain.state().ends[self.piece].get_or_insert(NOTHING);
        self.chain.known.notify_all();
    }
}
