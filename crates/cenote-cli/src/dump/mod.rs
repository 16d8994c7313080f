//! Whole frames in one file: a tar archive that other tools can unpack.
//!
//! docs/export.md draws it. In short: a head, for each frame its description and its versions,
//! oldest first, each with a description and with its rows as Arrow IPC streams, of which a
//! version that goes on from the one before has only what is new; and last an index with a
//! checksum of every member. So a dump is written and read in one pass, in memory of one piece,
//! and one that was cut short has no index.

mod read;
mod write;

use std::collections::BTreeMap;

use cenote::{Keep, Made};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

pub(crate) use read::{Dump, Item};
pub(crate) use write::{Chosen, Export};

/// Version of the layout.
const FORMAT_VERSION: u32 = 2;
/// The first member: what this is.
const HEAD: &str = "cenote-export.json";
/// The last member: what must be there.
const INDEX: &str = "index.json";
/// A frame's description.
const FRAME: &str = "frame.json";
/// A version's description.
const VERSION: &str = "version.json";
/// Bytes of a frame's rows in one member, about; a partition above it is cut.
const PIECE_BYTES: usize = 64 << 20;

/// The first member.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    format_version: u32,
    /// Of the `cenote` that wrote it.
    written_by: String,
    frames: Vec<String>,
}

/// A frame's description.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Described {
    pub(crate) name: String,
    /// Which versions are kept.
    pub(crate) keep: Keep,
    /// The versions in the dump, oldest first.
    pub(crate) versions: Vec<u64>,
    /// The numbers of tagged versions among them.
    pub(crate) tags: BTreeMap<String, u64>,
}

/// A version's description.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DescribedVersion {
    pub(crate) version: u64,
    pub(crate) created_ns: u64,
    /// All of its rows.
    pub(crate) num_rows: u64,
    /// Whether those of the version before come first: only what is new is here.
    pub(crate) goes_on: bool,
    pub(crate) source: String,
    /// What made it.
    pub(crate) made: Made,
}

/// A member and its checksum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    path: String,
    bytes: u64,
    /// XXH3, 64 bits, in hexadecimal.
    xxh3: String,
}

impl Entry {
    fn of(path: String, bytes: &[u8]) -> Entry {
        Entry { path, bytes: bytes.len() as u64, xxh3: format!("{:016x}", xxh3_64(bytes)) }
    }
}
