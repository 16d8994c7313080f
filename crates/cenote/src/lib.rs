//! Put a table in once; every process computes on it in place.
//!
//! A [`Pool`] is a connection to a pool of this host, or a pool of this process alone. Tables
//! go in as Arrow record batches and come out as Arrow arrays over shared memory: no copy,
//! and no message to the daemon, a read.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{Float64Array, RecordBatch};
//! use cenote::{IfExists, Pool};
//!
//! let pool = Pool::embedded(Some(64 << 20))?;
//! let close = Arc::new(Float64Array::from(vec![101.5, 102.25, 99.0]));
//! let batch = RecordBatch::try_from_iter([("close", close as _)])?;
//! pool.put("prices", &[batch], IfExists::Fail)?;
//!
//! let prices = pool.get("prices")?;
//! assert_eq!(prices.num_rows(), 3);
//! let batches = prices.batches()?;
//! assert_eq!(batches[0].num_columns(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Fork
//! A child that was forked keeps the frames that it inherited: its leases were copied to a
//! page of its own. It gets a connection of its own when it first needs one. A pool of the
//! parent alone ([`Pool::embedded`]) is of no use in a child, and says so.
#![allow(unsafe_code, reason = "leases turn into slices here, in memory.rs")]

mod append;
mod diff;
mod error;
mod export;
mod filter;
mod fork;
mod frame;
mod history;
mod lease;
mod link;
#[cfg(feature = "stderr-log")]
mod log;
mod made;
mod maps;
mod memory;
mod open;
mod part;
mod patience;
mod pool;
mod predicate;
mod selection;
mod session;
mod start;
mod version;
mod writer;

pub use cenote_pool::id::SessionId;
pub use cenote_pool::message::check_name;
pub use cenote_pool::message::{
    FrameInfo, FrameLog, Holder, LeaseInfo, Limit, LostFrame, PoolInfo, Refusal, SessionInfo,
    VersionInfo, VersionState, Which,
};
pub use cenote_pool::protocol::ledger::IfExists;
pub use cenote_pool::row::{Input, Keep, Made, SourceFile};
pub use cenote_pool::rundir::{ADDRESS_VARIABLE, DEFAULT_POOL, RunDir};
pub use cenote_region::quantity::ByteSize;
pub use diff::{ColumnChange, ColumnStatistics, Diff, Extreme, Side, Summary, Value};
pub use error::{Error, Unavailable};
pub use frame::{Frame, FrameRef};
#[cfg(feature = "stderr-log")]
pub use log::{LOG_VARIABLE, LogError, log_to_stderr};
pub use part::Part;
pub use patience::{Stop, on_wait};
pub use pool::{Options, Pool};
pub use predicate::{Column, Literal, Misfit, Mistake, Predicate, PredicateError, column};
pub use selection::Selection;
pub use start::{Daemon, serve};
pub use writer::FrameWriter;
