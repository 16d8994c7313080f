//! Memory of every kind as a mapping, and the kernel calls that a pool needs.
//!
//! This crate is one of two that may use `unsafe`. It wraps what the kernel offers, one
//! file per concept, keeps no global state and logs nothing: policies, formats and the
//! question *whether* to call live above.
//!
//! Linux only. What a processor or a kernel lacks is found at run time.

#![expect(unsafe_code, reason = "mappings, vector kernels and kernel calls without a safe wrapper")]

pub mod copy;
pub mod mapping;
pub mod quantity;
pub mod words;
