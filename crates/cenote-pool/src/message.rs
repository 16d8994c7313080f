//! What clients and the pool say to each other over the socket.
//!
//! A message is its length (u32, little-endian) and then postcard. Requests carry the epoch
//! of the daemon that the client means; another daemon refuses, and the client introduces
//! itself again. Bulk data never passes here: it is in the arenas.

use serde::{Deserialize, Serialize};

pub use crate::refusal::{Holder, Limit, NameFault, Refusal, check_name};

use crate::id::{ArenaId, EntryId, Epoch, Generation, Incarnation, Place, SessionId};
use crate::manifest::Draft;
use crate::protocol::ledger::{IfExists, Sealed};
use crate::row::{Keep, Made};

/// Version of these messages. The first field of the first message, in every version.
pub const PROTOCOL_VERSION: u32 = 2;
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
        resume: Option<Resume>,
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
    /// Which versions of a name are kept.
    Keep {
        /// The client's count of its changes.
        sequence: u64,
        /// Of which name.
        name: String,
        /// Which.
        keep: Keep,
    },
    /// A version gets a tag; what had it before has it no more.
    Tag {
        /// The client's count of its changes.
        sequence: u64,
        /// Of which name.
        name: String,
        /// The tag.
        tag: String,
        /// The version; the current one if `None`.
        version: Option<u64>,
    },
    /// A tag goes.
    Untag {
        /// The client's count of its changes.
        sequence: u64,
        /// Of which name.
        name: String,
        /// The tag.
        tag: String,
    },
    /// A version of a name goes that is neither the current one nor has a tag.
    DropVersion {
        /// The client's count of its changes.
        sequence: u64,
        /// Of which name.
        name: String,
        /// Which.
        version: u64,
    },
    /// Where a manifest stands that the client has already put into its lease page, whether
    /// or not it still has a name.
    Confirm {
        /// Its entry.
        manifest: EntryId,
        /// The life meant.
        generation: Generation,
    },
    /// A version of a name, found by the pool itself.
    Find {
        /// Of which name.
        name: String,
        /// Which.
        which: Which,
    },
    /// The versions of a name, and what made them.
    Log {
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

/// Which session a client means to go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resume {
    /// The session.
    pub session: SessionId,
    /// The pool that it is of: one made anew gives the same numbers to others.
    pub pool: u64,
    /// Counts the client's tries. One that it gave up, because the daemon was stopped, may be
    /// read after a later one, and must not undo it.
    pub attempt: u64,
}

/// Which version of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Which {
    /// The one it stands for.
    #[default]
    Current,
    /// The one with this number.
    Version(u64),
    /// The one it stood for at a time, in nanoseconds since 1970.
    AsOf(u64),
    /// The one with this tag.
    Tag(String),
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
    /// The version that the name must stand for, 0 for none; any if `None`.
    pub expect: Option<u64>,
    /// Where the data came from.
    pub source: String,
    /// What made it.
    pub made: Made,
    /// What it was in another pool; `None`: it is new.
    pub restored: Option<Restored>,
    /// The chunks, sealed, in arenas that the client owns.
    pub chunks: Vec<Sealed>,
    /// What they are. To be appended, it has the schema's bytes of the version before.
    pub draft: Draft,
}

/// What a version keeps of the one that it is a copy of, in another pool or an earlier time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// Its number: above that of the name's current version.
    pub version: u64,
    /// When it was committed, in nanoseconds since 1970: later than the name's current version.
    pub created_ns: u64,
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
    /// To [`Request::Commit`] and [`Request::Tag`].
    Committed {
        /// The version that was made, or has the tag.
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
    /// To [`Request::Log`].
    Log(Box<FrameLog>),
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

/// The versions of a frame, as `cenote log` shows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameLog {
    /// Its name.
    pub name: String,
    /// Which of its versions are kept.
    pub keep: Keep,
    /// Those that live, and the last of those that are gone; oldest first.
    pub versions: Vec<VersionInfo>,
}

/// One version of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionInfo {
    /// Its number.
    pub version: u64,
    /// Whether it can be had.
    pub state: VersionState,
    /// Its tags.
    pub tags: Vec<String>,
    /// Rows.
    pub num_rows: u64,
    /// Columns.
    pub num_columns: u32,
    /// Bytes of its chunks, those that it shares with other versions included; 0 if it is gone.
    pub nbytes: u64,
    /// Nanoseconds since 1970.
    pub created_ns: u64,
    /// Where it came from.
    pub source: String,
    /// What made it.
    pub made: Made,
}

/// Whether a version can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VersionState {
    /// It is what the name stands for.
    Current,
    /// It is kept.
    Kept,
    /// Only what is known of it is left.
    Gone,
    /// It is in the catalog and cannot be served.
    Lost,
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
