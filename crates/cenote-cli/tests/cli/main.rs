//! The command as users run it: real processes, a pool of each test's own, every process
//! ended by its id.

mod bad_input;
mod daemon;
mod interrupt;
mod support;
mod tables;
