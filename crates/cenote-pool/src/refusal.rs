//! Why the pool refuses: facts, and a sentence that says what to do.

use serde::{Deserialize, Serialize};

use crate::id::{Epoch, SessionId};

/// Somebody whose bytes stand in the way of a put.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// Bytes of versions that nobody can find any more and that it still reads, and of
    /// arenas that it is writing.
    pub bytes: u64,
}

/// Why the pool refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No such frame.
    #[error("no frame {name:?}{}", crate::nearest::did_you_mean(nearest))]
    NotFound {
        /// As asked.
        name: String,
        /// Names that are near.
        nearest: Vec<String>,
    },
    /// The version is gone.
    #[error("this version is gone: it was replaced or dropped, and nobody reads it any more")]
    VersionGone,
    /// The frame has no such version.
    #[error("{}", no_version_text(name, wanted, living))]
    NoVersion {
        /// Which frame.
        name: String,
        /// As asked, in words.
        wanted: String,
        /// The newest versions that it has, oldest first.
        living: Vec<u64>,
    },
    /// The frame stands for another version than the writer went by.
    #[error("frame {name:?} {}, and {} was expected: read it again, and decide anew", stands_text(*found), expected_text(*expected))]
    Conflict {
        /// Which frame.
        name: String,
        /// As expected; 0 for none.
        expected: u64,
        /// As found; 0 for none.
        found: u64,
    },
    /// What was to be appended has another schema than the frame has now.
    #[error("frame {name:?} has another schema now (version {version})")]
    Schema {
        /// Which frame.
        name: String,
        /// Its version.
        version: u64,
    },
    /// The version that is meant is in the catalog and cannot be served.
    #[error("version {version} of frame {name:?} is lost: {reason}")]
    Lost {
        /// Which frame.
        name: String,
        /// Which version.
        version: u64,
        /// Why.
        reason: String,
    },
    /// The version is needed.
    #[error("version {version} of frame {name:?} {}", needed_text(tag.as_deref()))]
    Needed {
        /// Which frame.
        name: String,
        /// Which version.
        version: u64,
        /// The tag that it has; `None`: it is the current one.
        tag: Option<String>,
    },
    /// The name is taken. Each face says how it is replaced.
    #[error("frame {name:?} exists")]
    Exists {
        /// Which.
        name: String,
    },
    /// The name cannot be used.
    #[error("{}", name_text(name, *length, reason))]
    Name {
        /// Its beginning.
        name: String,
        /// Its length in bytes.
        length: u64,
        /// What is wrong with it.
        reason: NameFault,
    },
    /// It does not fit.
    #[error("{}", exhausted_text(*asked, *free, *largest, *capacity, limit, holders))]
    Exhausted {
        /// Bytes asked for.
        asked: u64,
        /// Bytes free.
        free: u64,
        /// Largest run of bytes that could be had.
        largest: u64,
        /// Of the pool.
        capacity: u64,
        /// Which limit it is.
        limit: Limit,
        /// Who holds the rest, the largest first.
        holders: Vec<Holder>,
    },
    /// A bound of the pool is reached.
    #[error("the pool has no room for more {what}: {used} of {room}")]
    Bound {
        /// Of what.
        what: String,
        /// In use.
        used: u64,
        /// In all.
        room: u64,
    },
    /// Another daemon owns the pool now.
    #[error("the pool has another daemon now (epoch {epoch})")]
    Epoch {
        /// Its epoch.
        epoch: Epoch,
    },
    /// Client and daemon are of different versions.
    #[error("the client speaks protocol {client}, the daemon {daemon}: use the same release")]
    Protocol {
        /// The client's.
        client: u32,
        /// The daemon's.
        daemon: u32,
    },
    /// The request does not hold together.
    #[error("the request is not sound: {what}")]
    Unsound {
        /// In what way.
        what: String,
    },
    /// No such client.
    #[error("no client with session {session}")]
    NoSession {
        /// As asked.
        session: SessionId,
    },
    /// The operating system refused.
    #[error("the pool could not {what}: {error}")]
    System {
        /// Do what.
        what: String,
        /// Its words.
        error: String,
    },
}

/// Which limit a put met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// The pool's own capacity.
    Capacity,
    /// The file system's space.
    FileSystem,
    /// The memory cgroup, or the machine's memory.
    Memory,
}

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NameFault {
    /// It has no characters.
    Empty,
    /// It has too many.
    Long,
    /// It has a `/`.
    Path,
    /// It has a control character.
    Control,
    /// It begins or ends with white space, or is `.` or `..`.
    Edge,
}

/// Checks the name of a frame.
///
/// # Errors
/// [`Refusal::Name`].
pub fn check_name(name: &str) -> Result<(), Refusal> {
    let fault = if name.is_empty() {
        NameFault::Empty
    } else if name.len() > crate::id::NAME_BYTES_MAX {
        NameFault::Long
    } else if name.contains(['/', '\\']) {
        NameFault::Path
    } else if name.chars().any(char::is_control) {
        NameFault::Control
    } else if name.trim() != name || name == "." || name == ".." {
        NameFault::Edge
    } else {
        return Ok(());
    };
    let start = name.chars().take(40).collect();
    Err(Refusal::Name { name: start, length: name.len() as u64, reason: fault })
}

fn name_text(name: &str, length: u64, reason: &NameFault) -> String {
    let max = crate::id::NAME_BYTES_MAX;
    match reason {
        NameFault::Empty => "a frame's name has at least one character".to_owned(),
        NameFault::Long => {
            format!("the name {name:?}… has {length} bytes; a frame's name has at most {max}")
        }
        NameFault::Path => {
            format!("the name {name:?} has a path separator; a frame's name is not a path")
        }
        NameFault::Control => format!("the name {name:?} has a control character"),
        NameFault::Edge => {
            format!("the name {name:?} begins or ends with white space, or is only dots")
        }
    }
}

fn no_version_text(name: &str, wanted: &str, living: &[u64]) -> String {
    let known: Vec<String> = living.iter().map(u64::to_string).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("frame {name:?} has no {wanted}; of its versions it has {known} (`cenote log`)")
}

fn stands_text(found: u64) -> String {
    if found == 0 { "does not exist".to_owned() } else { format!("is at version {found}") }
}

fn expected_text(expected: u64) -> String {
    if expected == 0 { "none".to_owned() } else { format!("version {expected}") }
}

fn needed_text(tag: Option<&str>) -> String {
    match tag {
        Some(tag) => format!("has the tag {tag:?}: take that from it first"),
        None => "is the current one: drop the frame, or put another version first".to_owned(),
    }
}

fn exhausted_text(
    asked: u64,
    free: u64,
    largest: u64,
    capacity: u64,
    limit: &Limit,
    holders: &[Holder],
) -> String {
    use cenote_region::quantity::ByteSize;
    let size = |bytes: u64| ByteSize(bytes).to_string();
    let limit = match limit {
        Limit::Capacity => "the pool's capacity",
        Limit::FileSystem => "the file system",
        Limit::Memory => "the memory limit",
    };
    let mut text = format!(
        "the pool has no room: {} asked, {} free, {} in one piece, capacity {}; the limit is {limit}",
        size(asked),
        size(free),
        size(largest),
        size(capacity)
    );
    for holder in holders.iter().take(3) {
        text += &format!(
            "; {} held by process {} ({})",
            size(holder.bytes),
            holder.pid,
            holder.command
        );
    }
    text
}
