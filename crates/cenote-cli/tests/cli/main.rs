//! The command as users run it: real processes, a pool of each test's own, every process
//! ended by its id.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod bad_input;
mod daemon;
mod dump;
mod errors;
mod formats;
mod interrupt;
mod run;
mod support;
mod tables;
mod teaching;
mod versions;
