//! The pool: board, leases, arenas, catalog, and the daemon that owns them.

pub mod id;
pub mod protocol;
pub mod row;
