//! Arrow columns to and from chunks.
//!
//! Writing: a [`ColumnPlan`] says which bytes of an array go where inside a chunk. It
//! copies nothing; the caller copies each [`Segment`] into the arena (and hashes it in
//! the same pass) and stores [`ColumnPlan::layout`] in the manifest.
//!
//! Reading: a [`ColumnLayout`] is decoded once from those bytes, checked against the
//! schema's type and the chunk's length, and then builds Arrow arrays over the chunk's
//! memory, without copying, as often as asked.
//!
//! What is laid out: one column of one partition, an Arrow array with all its children,
//! as raw Arrow buffers. Each buffer starts on a multiple of [`ALIGNMENT`] bytes, counted
//! from the start of the chunk; the bytes between buffers are zero. Slices bring their own
//! bytes only. Equal input gives equal bytes in the chunk, so a checksum names the content.
//!
//! [`stats`] are what is known of a column's values without reading them.
//!
//! [`encode_schema`] and [`decode_schema`] are the schema's side of a manifest.
//!
//! ```
//! use arrow_array::{Array, Int64Array};
//! use cenote_arrow::{ColumnLayout, ColumnPlan};
//!
//! let prices = Int64Array::from(vec![Some(7), None, Some(9)]);
//! let plan = ColumnPlan::new(&prices, 0)?;
//! assert_eq!(plan.end(), 128); // one line of validity, one of values
//!
//! let mut chunk = vec![0; 128];
//! plan.fill(&mut chunk);
//! let layout = ColumnLayout::decode(plan.layout(), prices.data_type(), 3, 128)?;
//! assert_eq!(layout.nbytes(), 1 + 3 * 8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![allow(
    unsafe_code,
    reason = "arrays are built over shared memory that no Rust owner holds; see layout/build.rs"
)]

#[cfg(target_endian = "big")]
compile_error!("chunks are little-endian and are read where they lie");

mod layout;
mod physical;
mod plan;
mod schema;
mod segment;
pub mod stats;

pub use layout::{ColumnLayout, ContentError, FLAT_BUFFERS_MAX, Flat, LayoutError};
pub use physical::UnsupportedType;
pub use plan::{ColumnPlan, PlanError};
pub use schema::{MAX_SCHEMA_BYTES, MAX_SCHEMA_FIELDS, SchemaError, decode_schema, encode_schema};
pub use segment::Segment;

/// Every buffer starts on a multiple of this many bytes: a cache line, and the alignment
/// that the Arrow format recommends.
pub const ALIGNMENT: u64 = 64;

/// Deepest nesting of a column's type; a flat column has depth 1.
pub const MAX_DEPTH: usize = 64;

/// Most arrays (a column and all its descendants) in one layout.
pub const MAX_NODES: usize = 1 << 16;

/// Most buffers in one layout.
pub const MAX_BUFFERS: usize = 1 << 18;

/// Most rows of one array in a layout. Arrays without bytes (of type null, say) could
/// otherwise state any length, and sums of lengths could overflow.
pub const MAX_LENGTH: u64 = 1 << 40;
