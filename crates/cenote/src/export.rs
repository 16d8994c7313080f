//! Frames over Arrow's C data interface.
//!
//! A partition is exported as one struct array. Its flat columns are described by three
//! allocations for all of them together, straight from their layouts; others go by arrow-rs.
//! <https://arrow.apache.org/docs/format/CDataInterface.html>

use std::ffi::{CString, c_char, c_int, c_void};
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::SchemaRef;
use cenote_arrow::{ColumnLayout, FLAT_BUFFERS_MAX, Flat};

use crate::memory::{self, ChunkOwner};

/// `EINVAL` on every system that Cenote runs on.
const INVALID: c_int = 22;

/// `struct ArrowArray`, as the interface fixes it.
#[repr(C)]
#[derive(Debug)]
struct CArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut CArray,
    dictionary: *mut CArray,
    release: Option<unsafe extern "C" fn(*mut CArray)>,
    private_data: *mut c_void,
}

const _: () = assert!(size_of::<CArray>() == size_of::<FFI_ArrowArray>());
const _: () = assert!(align_of::<CArray>() == align_of::<FFI_ArrowArray>());

impl CArray {
    fn empty() -> CArray {
        CArray {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null_mut(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }

    fn into_ffi(self) -> FFI_ArrowArray {
        // SAFETY: both are the interface's struct: `repr(C)`, the same fields. Neither has a
        // reference that could be invalid, and `CArray` has no destructor to run twice.
        unsafe { std::mem::transmute::<CArray, FFI_ArrowArray>(self) }
    }

    fn from_ffi(array: FFI_ArrowArray) -> CArray {
        // SAFETY: as above; the destructor of `array` is now the release callback's alone.
        unsafe { std::mem::transmute::<FFI_ArrowArray, CArray>(array) }
    }
}

/// A partition on its way out.
#[derive(Debug)]
pub(crate) struct Batch {
    columns: Vec<Column>,
    owners: Vec<ChunkOwner>,
}

#[derive(Debug)]
enum Column {
    Flat { flat: Flat, buffers: [*const c_void; FLAT_BUFFERS_MAX] },
    Other(ArrayRef),
}

/// What an exported batch and its flat columns share; each holds a count of it. The consumer
/// may move columns out of the batch, and release them in any order.
#[derive(Debug)]
struct Exported {
    children: NonNull<[CArray]>,
    pointers: NonNull<[*mut CArray]>,
    buffers: NonNull<[[*const c_void; FLAT_BUFFERS_MAX]]>,
    _owners: Vec<ChunkOwner>,
}

// SAFETY: the pointers are to this struct's own allocations, which are written before it is
// shared and then by the consumer alone, and into chunks, which nobody writes.
unsafe impl Send for Exported {}
// SAFETY: as above.
unsafe impl Sync for Exported {}

impl Drop for Exported {
    fn drop(&mut self) {
        // SAFETY: made by `Box::leak`, and freed here alone: nobody holds a count of `self`
        // any more, so neither the batch nor a column of it is in use. What was not moved out
        // has been released; a `CArray` has no destructor.
        drop(unsafe { Box::from_raw(self.children.as_ptr()) });
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(self.pointers.as_ptr()) });
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(self.buffers.as_ptr()) });
    }
}

impl Batch {
    pub(crate) fn with_capacity(columns: usize) -> Batch {
        Batch { columns: Vec::with_capacity(columns), owners: Vec::with_capacity(columns) }
    }

    /// Adds a column. `None`: its chunk is not what its layout says.
    pub(crate) fn push(&mut self, layout: &ColumnLayout, owner: ChunkOwner) -> Option<()> {
        let Some(flat) = layout.flat() else {
            self.columns.push(Column::Other(memory::array(layout, owner)?));
            return Some(());
        };
        let chunk = memory::chunk(layout, &owner)?;
        // The layout was checked against the chunk's length.
        let at = |offset: usize| chunk.as_ptr().wrapping_add(offset).cast_const().cast();
        let buffers = flat.buffers.map(|offset| offset.map_or(ptr::null(), at));
        self.columns.push(Column::Flat { flat, buffers });
        self.owners.push(owner);
        Some(())
    }

    /// Adds a column that is no chunk's.
    pub(crate) fn push_array(&mut self, array: ArrayRef) {
        self.columns.push(Column::Other(array));
    }

    /// The partition's rows `rows` as a struct array.
    pub(crate) fn finish(self, rows: &Range<usize>) -> FFI_ArrowArray {
        let mut children = Vec::with_capacity(self.columns.len());
        let mut buffers = Vec::with_capacity(self.columns.len() + 1);
        // The batch's own validity: none.
        buffers.push([ptr::null(); FLAT_BUFFERS_MAX]);
        for column in self.columns {
            match column {
                Column::Flat { flat, buffers: own } => {
                    children.push(flat_child(&flat, rows));
                    buffers.push(own);
                }
                Column::Other(array) => {
                    let whole = rows.start == 0 && rows.end == array.len();
                    let array = if whole { array } else { array.slice(rows.start, rows.len()) };
                    children.push(CArray::from_ffi(FFI_ArrowArray::new(&array.to_data())));
                }
            }
        }
        export(children, buffers, self.owners, rows.len())
    }
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn flat_child(flat: &Flat, rows: &Range<usize>) -> CArray {
    let null_count = match flat.null_count {
        0 => 0,
        nulls if rows.len() == flat.len => count(nulls),
        // Not counted.
        _ => -1,
    };
    CArray {
        length: count(rows.len()),
        null_count,
        offset: count(rows.start),
        n_buffers: count(flat.num_buffers),
        release: Some(release_column),
        ..CArray::empty()
    }
}

/// `buffers`: the batch's, and then those of each flat column in order.
fn export(
    children: Vec<CArray>,
    buffers: Vec<[*const c_void; FLAT_BUFFERS_MAX]>,
    owners: Vec<ChunkOwner>,
    rows: usize,
) -> FFI_ArrowArray {
    let columns = children.len();
    let children = NonNull::from(Box::leak(children.into_boxed_slice()));
    let buffers = NonNull::from(Box::leak(buffers.into_boxed_slice()));
    let child = |i: usize| children.as_ptr().cast::<CArray>().wrapping_add(i);
    let pointers: Box<[*mut CArray]> = (0..columns).map(child).collect();
    let pointers = NonNull::from(Box::leak(pointers));
    let exported = Arc::new(Exported { children, pointers, buffers, _owners: owners });
    let buffers_of = |i: usize| {
        buffers.as_ptr().cast::<[*const c_void; FLAT_BUFFERS_MAX]>().wrapping_add(i).cast()
    };
    let mut flat = 0;
    for i in 0..columns {
        // SAFETY: one of `columns` elements that nobody else has seen yet.
        let child = unsafe { &mut *child(i) };
        if child.private_data.is_null() {
            flat += 1;
            child.buffers = buffers_of(flat);
            child.private_data = Arc::into_raw(exported.clone()).cast_mut().cast();
        }
    }
    let batch = CArray {
        length: count(rows),
        n_buffers: 1,
        n_children: count(columns),
        buffers: buffers_of(0),
        children: pointers.as_ptr().cast(),
        release: Some(release_batch),
        private_data: Arc::into_raw(exported).cast_mut().cast(),
        ..CArray::empty()
    };
    batch.into_ffi()
}

/// Gives one count of the shared part back.
///
/// # Safety
/// `array` is a batch or a column of [`export`] that was not released.
unsafe fn give_back(array: *mut CArray) {
    // SAFETY: the caller's array is there, and its consumer the only one who uses it.
    let array = unsafe { &mut *array };
    array.release = None;
    // SAFETY: the count that `export` put there, taken once: released arrays come here no more.
    drop(unsafe { Arc::from_raw(array.private_data.cast_const().cast::<Exported>()) });
}

unsafe extern "C" fn release_column(array: *mut CArray) {
    // SAFETY: a consumer calls the callback once, with the array that has it.
    unsafe { give_back(array) };
}

unsafe extern "C" fn release_batch(array: *mut CArray) {
    // SAFETY: as above.
    let batch = unsafe { &*array };
    for i in 0..usize::try_from(batch.n_children).unwrap_or(0) {
        // SAFETY: `n_children` pointers, which the batch's own count still holds.
        let child = unsafe { *batch.children.wrapping_add(i) };
        // SAFETY: a column stays where it was made; a consumer that moved it out has marked it
        // as released here.
        if let Some(release) = unsafe { (*child).release } {
            // SAFETY: not released yet.
            unsafe { release(child) };
        }
    }
    // SAFETY: as above.
    unsafe { give_back(array) };
}

struct Stream {
    schema: SchemaRef,
    batches: std::vec::IntoIter<FFI_ArrowArray>,
    error: Option<CString>,
}

/// Exported batches as a stream.
pub(crate) fn stream(schema: SchemaRef, batches: Vec<FFI_ArrowArray>) -> FFI_ArrowArrayStream {
    let stream = Box::new(Stream { schema, batches: batches.into_iter(), error: None });
    let private_data = Box::into_raw(stream).cast();
    // SAFETY: the callbacks below are for a stream whose private data is a `Stream` of its own.
    unsafe {
        FFI_ArrowArrayStream::new_unchecked(
            Some(stream_schema),
            Some(stream_next),
            Some(stream_error),
            Some(stream_release),
            private_data,
        )
    }
}

/// # Safety
/// `stream` was made by [`stream`] and is not released; its consumer makes one call at a time.
unsafe fn of<'a>(stream: *mut FFI_ArrowArrayStream) -> &'a mut Stream {
    // SAFETY: the caller's.
    let private_data = unsafe { (*stream).private_data() };
    // SAFETY: the caller's; `stream` put a `Stream` there.
    unsafe { &mut *private_data.cast::<Stream>() }
}

unsafe extern "C" fn stream_schema(
    stream: *mut FFI_ArrowArrayStream,
    out: *mut FFI_ArrowSchema,
) -> c_int {
    // SAFETY: the interface's terms.
    let own = unsafe { of(stream) };
    match FFI_ArrowSchema::try_from(own.schema.as_ref()) {
        Ok(schema) => {
            // SAFETY: the consumer's struct, not initialised or released.
            unsafe { out.write(schema) };
            0
        }
        Err(error) => {
            own.error = CString::new(error.to_string().replace('\0', " ")).ok();
            INVALID
        }
    }
}

unsafe extern "C" fn stream_next(
    stream: *mut FFI_ArrowArrayStream,
    out: *mut FFI_ArrowArray,
) -> c_int {
    // SAFETY: the interface's terms.
    let own = unsafe { of(stream) };
    let next = own.batches.next().unwrap_or_else(FFI_ArrowArray::empty);
    // SAFETY: the consumer's struct, not initialised or released.
    unsafe { out.write(next) };
    0
}

unsafe extern "C" fn stream_error(stream: *mut FFI_ArrowArrayStream) -> *const c_char {
    // SAFETY: the interface's terms.
    let own = unsafe { of(stream) };
    own.error.as_ref().map_or(ptr::null(), |error| error.as_ptr())
}

unsafe extern "C" fn stream_release(stream: *mut FFI_ArrowArrayStream) {
    // SAFETY: the interface's terms: once.
    let stream = unsafe { &mut *stream };
    // SAFETY: what `stream` put there. That it is released is marked just below.
    drop(unsafe { Box::from_raw(stream.private_data().cast::<Stream>()) });
    // SAFETY: without private data there is nothing left to release.
    unsafe { stream.set_release(None) };
}
