//! What clients and the pool say to each other over the socket.
//!
//! A message is its length (u32, little-endian) and then postcard. Requests carry the epoch
//! of the daemon that the client means; another daemon refuses, and the client introduces
//! itself again. Bulk data never passes here: it is in the arenas.

use serde::{Deserialize, Serialize};

use crate::id::{ArenaId, EntryId, Epoch, Generation, Incarnation, Place, SessionId};
use crate::manifest::Draft;
use crate::protocol::ledger::{IfExists, Sealed};

/// Version of these messages. The first field of the first message, in every version.
pub const PROTOCOL_VERSION: u32 = 1;
/// Largest message.
pub const MESSAGE_BYTES_MAX: u32 = 256 << 20;

/// What a client asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// The first message of a connection.
    Hello {
        /// [`PROTOCOL_VERSION`].
        protocol: u32,
        /// The client's process id, as it sees itself.
        pid: u32,
        /// A session of an earlier daemon, or of a connection that broke, and the pool that
        /// it was with: another pool's sessions may have the same numbers.
        resume: Option<(SessionId, u64)>,
        /// The arenas that it knows to be its own; others were granted in an answer that
        /// never came.
        arenas: Vec<ArenaId>,
    },
    /// A lease page for a child that is about to be forked.
    Spare {
        /// Slots that it needs.
        slots: u64,
    },
    /// An arena to write, with room for `bytes` in one piece.
    Arena {
        /// How many.
        bytes: u64,
        /// How long to wait for room.
        wait_ms: u64,
    },
    /// More of an arena that the client owns.
    Grow {
        /// Which.
        arena: ArenaId,
        /// Bytes from its start.
        to: u64,
        /// How long to wait for room.
        wait_ms: u64,
    },
    /// An arena that the client will write no more.
    Return {
        /// Which.
        arena: ArenaId,
    },
    /// More slots of the lease page.
    Slots {
        /// In all.
        to: u64,
    },
    /// A sealed version gets its name.
    Commit(Box<Commit>),
    /// A name goes.
    Drop {
        /// The client's count of its changes.
        sequence: u64,
        /// Which.
        name: String,
    },
    /// A name changes.
    Rename {
        /// The client's count of its changes.
        sequence: u64,
        /// From.
        from: String,
        /// To.
        to: String,
    },
    /// Where a manifest stands that the client has already put into its lease page, whether
    /// or not it still has a name.
    Confirm {
        /// Its entry.
        manifest: EntryId,
        /// The life meant.
        generation: Generation,
    },
    /// The current version of a name, found by the pool itself.
    Find {
        /// Which.
        name: String,
    },
    /// A chunk did not match its checksum.
    Corrupt {
        /// Which.
        entry: EntryId,
    },
    /// A chunk, new to this daemon, did match.
    Verified {
        /// Which.
        entry: EntryId,
    },
    /// All frames.
    List,
    /// The state of the pool.
    Info,
    /// Who reads what.
    Leases,
    /// Ends a client's process.
    Evict {
        /// Whose.
        session: SessionId,
    },
    /// Ends the daemon; what is in the pool stays.
    Stop,
}

/// A version to be committed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Commit {
    /// The client's count of its changes.
    pub sequence: u64,
    /// The name.
    pub name: String,
    /// What to do if it is taken.
    pub if_exists: IfExists,
    /// Where the data came from.
    pub source: String,
    /// The chunks, sealed, in arenas that the client owns.
    pub chunks: Vec<Sealed>,
    /// What they are.
    pub draft: Draft,
}

/// What the pool answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Response {
    /// To [`Request::Hello`] and [`Request::Spare`]; the liveness descriptor comes with it.
    Welcome {
        /// The session.
        session: SessionId,
        /// The daemon's epoch.
        epoch: Epoch,
        /// The pool.
        pool: u64,
        /// Slots of the lease page that are allocated.
        slots: u64,
        /// The client's last change that the pool knows.
        sequence: u64,
    },
    /// To [`Request::Arena`] and [`Request::Grow`].
    Arena {
        /// Which.
        arena: ArenaId,
        /// The writer that the client now is.
        incarnation: Incarnation,
        /// Bytes of the file.
        size: u64,
        /// Bytes from its start that are allocated.
        granted: u64,
    },
    /// Done.
    Done,
    /// To [`Request::Commit`].
    Committed {
        /// The version that was made.
        version: u64,
    },
    /// To [`Request::Confirm`] and [`Request::Find`].
    Manifest {
        /// Its entry.
        entry: EntryId,
        /// The life.
        generation: Generation,
        /// Where it stands.
        place: Place,
        /// Its checksum.
        checksum: u64,
    },
    /// To [`Request::List`].
    Frames(Vec<FrameInfo>),
    /// To [`Request::Info`].
    Info(Box<PoolInfo>),
    /// To [`Request::Leases`].
    Leases(Vec<SessionInfo>),
    /// No, and why.
    Refused(Refusal),
}

/// A frame, as `cenote ls` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameInfo {
    /// Its name.
    pub name: String,
    /// Its current version.
    pub version: u64,
    /// Rows.
    pub num_rows: u64,
    /// Columns.
    pub num_columns: u32,
    /// Bytes of its chunks.
    pub nbytes: u64,
    /// Nanoseconds since 1970.
    pub created_ns: u64,
    /// Where it came from.
    pub source: String,
    /// How often it was opened since the daemon began; a lower bound.
    pub uses: u64,
}

/// The state of a pool. All sizes in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolInfo {
    /// Its directory.
    pub path: String,
    /// The daemon's process.
    pub pid: u32,
    /// The daemon's epoch.
    pub epoch: Epoch,
    /// What the arenas may take together.
    pub capacity: u64,
    /// What all its files take, by the file system.
    pub used: u64,
    /// What live frames take: their chunks.
    pub sealed: u64,
    /// Chunks of versions that are replaced or dropped and that somebody still reads.
    pub retired_held: u64,
    /// In arenas that clients are writing, not yet committed.
    pub open: u64,
    /// Allocated ahead of demand, free.
    pub ready: u64,
    /// Board, heads, lease pages, catalog, manifests.
    pub metadata: u64,
    /// Allocated, and accounted for by none of the above. Anything but 0 is a fault.
    pub leaked: u64,
    /// Free space of the file system.
    pub file_system_free: u64,
    /// What the memory cgroup still allows, if there is one.
    pub memory_headroom: Option<u64>,
    /// How many frames.
    pub frames: u64,
    /// How many chunks.
    pub chunks: u64,
    /// How many arenas.
    pub arenas: u64,
    /// How many clients.
    pub clients: u64,
    /// Seconds since the daemon began.
    pub uptime_s: u64,
    /// Frames that this daemon could not take over, and why.
    pub lost: Vec<LostFrame>,
}

/// A frame that was in the catalog and cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostFrame {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u64,
    /// Where it came from.
    pub source: String,
    /// Why it is lost.
    pub reason: String,
}

/// A client and what it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Its session.
    pub session: SessionId,
    /// Its process, 0 where the pool cannot see it.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// Seconds since it came.
    pub age_s: u64,
    /// Whether it is connected now.
    pub connected: bool,
    /// Its lock is free, and yet it is not known to be dead: nothing of its is reused.
    pub quarantined: bool,
    /// Whether its process is stopped (SIGSTOP, a debugger).
    pub stopped: bool,
    /// Bytes of the arenas that it may write.
    pub open: u64,
    /// What it reads.
    pub leases: Vec<LeaseInfo>,
}

/// What a client reads of one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseInfo {
    /// The frame; empty if the pool no longer knows.
    pub name: String,
    /// The version.
    pub version: u64,
    /// Whether the frame still stands for this version.
    pub current: bool,
    /// How many chunks.
    pub chunks: u64,
    /// Their bytes.
    pub nbytes: u64,
}

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
    #[error("no frame {name:?}{}", nearest_text(nearest))]
    NotFound {
        /// As asked.
        name: String,
        /// Names that are near.
        nearest: Vec<String>,
    },
    /// The version is gone.
    #[error("this version is gone: it was replaced or dropped, and nobody reads it any more")]
    VersionGone,
    /// The name is taken.
    #[error("frame {name:?} exists; replace=True (--replace) makes a new version of it")]
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

fn nearest_text(nearest: &[String]) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    let names: Vec<_> = nearest.iter().map(|n| format!("{n:?}")).collect();
    format!("; did you mean {}?", names.join(" or "))
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
