//! Columns through chunks and back, against Arrow's own equality.
#![allow(unsafe_code, reason = "the tests build arrays over memory as the pool's client does")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod cases;
mod chunk;
mod fuzz;
mod generate;
mod roundtrip;
mod rubbish;
mod schema;
mod speed;
mod stats;
