//! Every process of a pool is killed and stopped at every named step, and everything it
//! leaves on the file system is damaged; afterwards nothing is lost that was acknowledged,
//! nothing leaked, and no byte is wrong.
//!
//! `CENOTE_SEED` repeats a run; `CENOTE_TORTURE=long` makes it ten times as long.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where, and fails")]

mod all_at_once;
mod crowd;
mod damage;
mod every_step;
mod history;
mod limits;
mod owners;
mod pid_namespace;
mod scene;
mod socket;
mod stale;
mod steps;
