//! The pool's shared-memory protocol, as pure state machines.
//!
//! Four kinds of words are shared between processes, and each has one writer:
//!
//! | words | written by | read by |
//! | --- | --- | --- |
//! | board entries and location records ([`board`]) | the pool | clients |
//! | heads ([`heads`]) | the pool | clients |
//! | lease slots ([`lease`]) | one client | the pool |
//! | arenas | their owner, until a chunk is sealed | whoever holds a lease |
//!
//! So a process that dies at any instruction leaves every word whole. What can be left
//! half done is a *sequence* of stores, and each sequence here is written so that every
//! prefix of it is a state that readers understand and that [`ledger::Ledger::adopt`]
//! repairs.
//!
//! Nothing in this module maps memory, reads a clock or makes a system call. The words are
//! reached through [`Memory`], so the same code runs over a mapped file in the daemon, under
//! loom (all interleavings: `tests/interleavings.rs`) and under a harness that stops the
//! owner at every store (`tests/every_step_may_be_the_last.rs`).

pub mod board;
pub mod heads;
pub mod lease;
pub mod ledger;
pub mod word;

pub use std::sync::atomic::Ordering;

/// Shared 64-bit words, addressed by index.
///
/// Implementations: a mapped file (`cenote_region::WordMap`), and the models in `tests/`.
/// A word outside the memory reads as 0 and takes no store: a number found in a damaged
/// page must not bring its reader down.
pub trait Memory {
    /// How many words there are.
    fn len(&self) -> u64;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Reads word `at`; 0 where there is none.
    fn load(&self, at: u64, order: Ordering) -> u64;
    /// Writes word `at`; nothing where there is none.
    fn store(&self, at: u64, value: u64, order: Ordering);
    /// Orders every earlier load and store of this thread before every later one, as seen
    /// by all (`SeqCst` fence). Costs about 10 ns.
    fn fence(&self);
    /// A named place in a client's sequence, where a test may end it ([`crate::step`]).
    #[inline(always)]
    fn step(&self, _name: &'static str) {}
}

impl<M: Memory + ?Sized> Memory for &M {
    #[inline(always)]
    fn len(&self) -> u64 {
        (**self).len()
    }
    #[inline(always)]
    fn load(&self, at: u64, order: Ordering) -> u64 {
        (**self).load(at, order)
    }
    #[inline(always)]
    fn store(&self, at: u64, value: u64, order: Ordering) {
        (**self).store(at, value, order);
    }
    #[inline(always)]
    fn fence(&self) {
        (**self).fence();
    }
    #[inline(always)]
    fn step(&self, name: &'static str) {
        (**self).step(name);
    }
}

impl<M: Memory + ?Sized> Memory for std::sync::Arc<M> {
    #[inline(always)]
    fn len(&self) -> u64 {
        (**self).len()
    }
    #[inline(always)]
    fn load(&self, at: u64, order: Ordering) -> u64 {
        (**self).load(at, order)
    }
    #[inline(always)]
    fn store(&self, at: u64, value: u64, order: Ordering) {
        (**self).store(at, value, order);
    }
    #[inline(always)]
    fn fence(&self) {
        (**self).fence();
    }
    #[inline(always)]
    fn step(&self, name: &'static str) {
        (**self).step(name);
    }
}
