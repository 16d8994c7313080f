//! A version as the ledger knows it, and what keeps it.

use crate::id::{EntryId, Generation, RecordId};
use crate::manifest::Reference;
use crate::protocol::board::Location;
use crate::row::Row;

/// One life of a board entry: names a manifest for good.
pub type Life = (EntryId, Generation);

/// A version that a name stands for, that others refer to, or that somebody still reads.
#[derive(Clone, Debug)]
pub struct Version {
    /// Its name when it was committed.
    pub row: Row,
    /// Where the manifest stands.
    pub location: Location,
    pub(super) record: RecordId,
    /// The manifest as later ones refer to it: its own part.
    pub own: Reference,
    /// The earlier manifests whose own parts come before its own.
    pub references: Box<[Reference]>,
    /// The chunks of its own part, in the manifest's order.
    pub chunks: Box<[EntryId]>,
    /// Chunks of all its parts.
    pub num_chunks: u64,
    /// Bytes of all its chunks.
    pub bytes: u64,
    /// Bytes of the chunks of its own part.
    pub own_bytes: u64,
    /// Hash of its schema's bytes.
    pub schema: u64,
    pub(super) state: State,
}

/// What keeps a version. It is published for as long as it is held or referred to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// A name holds it: it is the current one, or kept, or has a tag.
    pub(super) held: bool,
    /// What it refers to counts it: it is held, or was, and may still be read from then.
    pub(super) counts: bool,
    /// So many that count refer to it.
    pub(super) referrers: u32,
    /// Its entry is withdrawn and its place retired.
    pub(super) withdrawn: bool,
    /// When it was last let go; see [`super::Ledger::mark`].
    pub(super) ticket: u64,
}

impl Version {
    /// Its manifest.
    #[must_use]
    pub fn manifest(&self) -> EntryId {
        self.own.entry
    }

    /// The life of its manifest's entry.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.own.generation
    }

    /// Both.
    #[must_use]
    pub fn life(&self) -> Life {
        (self.own.entry, self.own.generation)
    }

    /// Whether a name holds it.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.state.held
    }

    /// Whether one of its parts is the own part of that manifest.
    #[must_use]
    pub fn includes(&self, life: Life) -> bool {
        self.life() == life || self.references.iter().any(|r| life_of(r) == life)
    }

    /// The lives of the manifests whose own parts it is made of.
    pub fn lives(&self) -> impl Iterator<Item = Life> {
        self.references.iter().map(life_of).chain([self.life()])
    }

    /// What an append would refer to: the references, and the version itself.
    #[must_use]
    pub fn as_references(&self) -> Vec<Reference> {
        self.references.iter().copied().chain([self.own]).collect()
    }
}

pub(super) fn life_of(reference: &Reference) -> Life {
    (reference.entry, reference.generation)
}
