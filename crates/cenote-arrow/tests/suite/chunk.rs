//! A chunk in ordinary memory: what the pool's arenas are to the tests.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::alloc::Allocation;
use cenote_arrow::{ColumnLayout, ColumnPlan, ContentError};

/// 64-byte aligned memory that is never written after it was made.
#[derive(Debug)]
pub(crate) struct Chunk {
    lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Chunk {
    /// `bytes`, and zeros up to a whole line.
    pub(crate) fn new(bytes: &[u8]) -> Arc<Self> {
        let mut lines = vec![Line([0; 64]); bytes.len().div_ceil(64)];
        for (line, bytes) in lines.iter_mut().zip(bytes.chunks(64)) {
            line.0[..bytes.len()].copy_from_slice(bytes);
        }
        Arc::new(Self { lines })
    }

    /// `plan`, after `base` bytes of something else.
    pub(crate) fn of(plan: &ColumnPlan) -> Arc<Self> {
        let base = usize::try_from(plan.base()).unwrap();
        let mut bytes = vec![0xa5; usize::try_from(plan.end()).unwrap()];
        plan.fill(&mut bytes[base..]);
        Self::new(&bytes)
    }

    pub(crate) fn len(&self) -> u64 {
        self.lines.len() as u64 * 64
    }

    /// Where the bytes lie.
    pub(crate) fn start(&self) -> NonNull<u8> {
        NonNull::from(self.lines.as_slice()).cast()
    }

    /// The array that was planned into this chunk.
    pub(crate) fn array(self: &Arc<Self>, layout: &ColumnLayout) -> ArrayRef {
        assert!(layout.chunk_len() as u64 <= self.len());
        let owner: Arc<dyn Allocation> = Arc::clone(self) as _;
        // SAFETY: the lines are aligned, live in `owner`, nobody writes to them, and they
        // were filled from the plan that the layout belongs to.
        unsafe { layout.array(self.start(), &owner) }
    }

    /// The array that rubbish may be.
    pub(crate) fn checked_array(
        self: &Arc<Self>,
        layout: &ColumnLayout,
    ) -> Result<ArrayRef, ContentError> {
        assert!(layout.chunk_len() as u64 <= self.len());
        let owner: Arc<dyn Allocation> = Arc::clone(self) as _;
        // SAFETY: the lines are aligned, live in `owner`, and nobody writes to them.
        unsafe { layout.checked_array(self.start(), &owner) }
    }
}
