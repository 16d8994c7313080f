//! Arrays over a chunk's bytes, without a copy.
//!
//! What makes this sound, in three parts. *Bounds and alignment*: decoding checked every
//! extent against the chunk's length, and lengths against type and rows. *Lifetime*: every
//! buffer holds a clone of the owner, which holds the lease. *Content* (offsets in
//! order, strings UTF-8, keys in range): a checksum shows the bytes to be those that a
//! writer planned from a valid array; without one, [`ColumnLayout::checked_array`] looks.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::alloc::Allocation;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;

use super::{ColumnLayout, ContentError, Extent, Node};

impl ColumnLayout {
    /// The column as an Arrow array over the chunk's bytes; copies none.
    ///
    /// `owner` is cloned into every buffer: dropping the last of them releases it.
    ///
    /// Cost: about 100 ns for a flat column, and as much again per further buffer or child.
    ///
    /// # Safety
    /// - `chunk` points to [`Self::chunk_len`] readable bytes, aligned to 64, of one
    ///   mapping that stays while `owner` lives.
    /// - The chunk is sealed: nobody writes to those bytes while `owner` lives.
    /// - The bytes are those that a [`ColumnPlan`](crate::ColumnPlan) of a valid array with
    ///   this layout and type wrote, as a checksum shows.
    pub unsafe fn array(&self, chunk: NonNull<u8>, owner: &Arc<dyn Allocation>) -> ArrayRef {
        // SAFETY: the same contract.
        make_array(unsafe { self.data(chunk, owner) })
    }

    /// [`Self::array`] as `ArrayData`.
    ///
    /// # Safety
    /// As [`Self::array`].
    pub unsafe fn data(&self, chunk: NonNull<u8>, owner: &Arc<dyn Allocation>) -> ArrayData {
        // SAFETY: the caller vouches for memory and content; decoding checked the layout
        // against the type and `chunk_len`.
        unsafe { self.root.data(chunk, owner) }
    }

    /// [`Self::array`] for chunks whose content nothing vouches for: checks all of it
    /// first, as `ArrayData::validate_full` does.
    ///
    /// Cost: a pass over bitmaps, offsets, keys and strings.
    ///
    /// # Errors
    /// [`ContentError`]: the bytes are not a valid array of the column's type.
    ///
    /// # Safety
    /// The first two points of [`Self::array`]: readable, aligned, sealed. The content may
    /// be anything.
    pub unsafe fn checked_array(
        &self,
        chunk: NonNull<u8>,
        owner: &Arc<dyn Allocation>,
    ) -> Result<ArrayRef, ContentError> {
        // SAFETY: the caller vouches for the memory. The content is not known yet, and until
        // it is, the data is only passed to `validate_full`, which takes data that breaks
        // the rules: it indexes with checks and reads plain numbers.
        let data = unsafe { self.root.data(chunk, owner) };
        match data.validate_full() {
            Ok(()) => Ok(make_array(data)),
            Err(source) => Err(ContentError { data_type: self.data_type().clone(), source }),
        }
    }
}

impl Node {
    /// # Safety
    /// `chunk` and `owner` as in [`ColumnLayout::array`]; the content too, unless the
    /// result is only validated.
    unsafe fn data(&self, chunk: NonNull<u8>, owner: &Arc<dyn Allocation>) -> ArrayData {
        let mut buffers = Vec::with_capacity(self.buffers.len());
        for extent in &self.buffers {
            // SAFETY: passed on from the caller.
            buffers.push(unsafe { extent.buffer(chunk, owner) });
        }
        let mut children = Vec::with_capacity(self.children.len());
        for child in &self.children {
            // SAFETY: passed on from the caller.
            children.push(unsafe { child.data(chunk, owner) });
        }
        let nulls = self.validity.map(|extent| {
            // SAFETY: passed on from the caller.
            let bits = BooleanBuffer::new(unsafe { extent.buffer(chunk, owner) }, 0, self.len);
            // SAFETY: the null count was counted by the writer; a wrong one is found by
            // validation, where the content is not vouched for.
            unsafe { NullBuffer::new_unchecked(bits, self.null_count) }
        });
        let builder = ArrayData::builder(self.data_type.clone())
            .len(self.len)
            .nulls(nulls)
            .buffers(buffers)
            .child_data(children);
        // SAFETY: decoding checked that buffers and children are those of the type and
        // long enough for the rows; the caller vouches for their content, or validates it.
        unsafe { builder.build_unchecked() }
    }
}

impl Extent {
    /// # Safety
    /// `chunk` and `owner` as in [`ColumnLayout::array`].
    unsafe fn buffer(self, chunk: NonNull<u8>, owner: &Arc<dyn Allocation>) -> Buffer {
        if self.len == 0 {
            // No bytes to keep alive, and no need for the chunk to have any.
            return Buffer::default();
        }
        // SAFETY: `offset + len` was checked against the chunk's length, which the caller
        // vouches to be one mapping.
        let start = unsafe { chunk.add(self.offset) };
        // SAFETY: `start` has `len` readable bytes that stay and stay the same while `owner`
        // lives (caller), and the buffer keeps a clone of it. A peer that writes to a sealed
        // chunk breaks the pool's trust boundary (one user id; design, Trust).
        unsafe { Buffer::from_custom_allocation(start, self.len, Arc::clone(owner)) }
    }
}
