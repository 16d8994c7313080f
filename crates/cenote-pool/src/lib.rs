//! The pool: board, leases, arenas, catalog, and the daemon that owns them.
//!
//! - [`protocol`]: the shared words and who may write them, as pure state machines
//! - [`manifest`], [`message`], [`row`], [`change`]: what is stored, said and remembered
//! - [`boardfile`], [`space`], [`arena`], [`session`], [`page`], [`catalog`]: the protocol's world
//! - [`pool`]: the owner; [`server`]: the owner behind a socket
//! - [`rundir`]: where it all lives; [`nearest`]: what a wrong name may have meant;
//!   [`step`]: where a test may end it

pub mod arena;
pub mod boardfile;
pub mod catalog;
pub mod change;
pub mod id;
pub mod manifest;
pub mod message;
pub mod nearest;
pub mod page;
pub mod pool;
pub mod protocol;
pub mod refusal;
pub mod row;
pub mod rundir;
pub mod server;
pub mod session;
pub mod space;
pub mod step;
pub mod words;
