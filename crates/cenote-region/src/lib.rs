//! Memory of every kind as a mapping, and the kernel calls that a pool needs.
//!
//! This crate is one of two that may use `unsafe`. It wraps what the kernel offers, one
//! file per concept, keeps no global state and logs nothing: policies, formats and the
//! question *whether* to call live above.
//!
//! - [`mapping`], [`words`]: a file as memory, and as atomic words
//! - [`copy`]: bytes into memory, hashed in the same pass; a chunk's checksum
//! - [`bits`]: where bytes stand in a text
//! - [`space`], [`headroom`], [`mount`]: taking memory, and knowing how much is left, and where
//! - [`heap`]: what the allocator does with memory that was freed
//! - [`lock`], [`process`], [`socket`]: who owns, who lives, how descriptors travel
//! - [`quantity`], [`random`]: sizes and random numbers
//!
//! Linux only, 64-bit only. What a processor or a kernel lacks is found at run time.

#![expect(unsafe_code, reason = "mappings, vector kernels and kernel calls without a safe wrapper")]

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("cenote-region maps whole pools: it needs Linux and 64-bit addresses");

pub mod bits;
pub mod copy;
pub mod headroom;
pub mod heap;
pub mod lock;
pub mod mapping;
pub mod mount;
pub mod process;
pub mod quantity;
pub mod random;
pub mod socket;
pub mod space;
pub mod words;
