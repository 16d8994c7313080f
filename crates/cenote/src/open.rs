//! Opening a frame: from a name, or a reference, to leases on what is wanted.

use std::sync::Arc;

use cenote_pool::id::{EntryId, Generation};
use cenote_pool::manifest::{Manifest, Reference};
use cenote_pool::message::{Request, Response, Which};
use cenote_pool::protocol::Memory;
use cenote_pool::protocol::board::Location;
use cenote_pool::protocol::heads::hash_name;
use cenote_pool::protocol::lease::{self, CHUNK_LEASES_MAX, HeadMiss, LeaseError};
use cenote_pool::protocol::word::{ChunkKind, Lease, LeaseKind};
use cenote_region::mapping::Mapping;

use crate::error::{Contradiction, Error};
use crate::filter::Plan;
use crate::frame::{Frame, FrameRef, Hold};
use crate::lease::{LeaseSet, pin_version};
use crate::link::unexpected;
use crate::memory;
use crate::selection::{Asked, Selection, Target, project};
use crate::session::Session;
use crate::version::{Part, Version};

/// How often a client asks the pool about a name that keeps moving.
const TRIES_MAX: usize = 1000;

impl Frame {
    /// Opens the current version of `name`. No message to the pool, unless the name keeps
    /// moving.
    pub(crate) fn open(
        session: &Arc<Session>,
        name: &str,
        selection: &Selection,
    ) -> Result<Frame, Error> {
        let hash = hash_name(name);
        let mut slots = Vec::with_capacity(1);
        session.slots(1, &mut slots)?;
        for _ in 0..TRIES_MAX {
            let page = &session.leases.page;
            let heads = session.heads();
            let found = match selection.which {
                Which::Current => {
                    lease::acquire_head(&session.board, &heads, page, name, hash, slots[0])
                }
                // Heads name current versions alone.
                _ => Err(HeadMiss::AskPool),
            };
            let (manifest, location) = match found {
                Ok(head) => ((head.manifest, head.generation), head.location),
                Err(HeadMiss::NewTable) => {
                    session.renew_heads()?;
                    continue;
                }
                // The pool knows names that are near.
                Err(HeadMiss::Absent | HeadMiss::AskPool) => {
                    match ask(session, name, &selection.which, slots[0]) {
                        Ok(Some(found)) => found,
                        Ok(None) => continue,
                        Err(error) => {
                            session.leases.give(&slots);
                            return Err(error);
                        }
                    }
                }
            };
            page.note_use(manifest.0);
            let pinned = Pinned { manifest, location: &location, slot: slots[0], may_ask: true };
            match Frame::lease(session, name, &pinned, &Asked::Selection(selection)) {
                // The version was being freed when its lease was taken over from the pool.
                Err(Attempt::Again) => page.clear(slots[0]),
                Err(Attempt::Failed(error)) => {
                    session.leases.give(&slots);
                    return Err(error);
                }
                Ok(opened) => return finish(opened),
            }
        }
        session.leases.give(&slots);
        Err(Error::Damaged {
            frame: name.to_owned(),
            version: 0,
            what: "its name cannot be read".to_owned(),
        })
    }

    /// As [`Self::open`], or `None` where that would take a message, a file or a wait.
    pub(crate) fn open_at_once(
        session: &Arc<Session>,
        name: &str,
        selection: &Selection,
    ) -> Result<Option<Frame>, Error> {
        let mut slots = Vec::with_capacity(1);
        // Heads name current versions alone; to look at rows may mean to wait for them.
        let is_slow = selection.which != Which::Current || selection.predicate.is_some();
        if is_slow || !session.slots_at_hand(1, &mut slots) {
            return Ok(None);
        }
        let page = &session.leases.page;
        let heads = session.heads();
        let found =
            lease::acquire_head(&session.board, &heads, page, name, hash_name(name), slots[0]);
        let outcome = match found {
            Ok(head) if session.known_version(head.manifest, head.generation).is_some() => {
                page.note_use(head.manifest);
                let manifest = (head.manifest, head.generation);
                let location = &head.location;
                let pinned = Pinned { manifest, location, slot: slots[0], may_ask: false };
                Frame::lease(session, name, &pinned, &Asked::Selection(selection))
            }
            _ => Err(Attempt::Again),
        };
        match outcome {
            Ok(opened) => finish(opened).map(Some),
            Err(attempt) => {
                session.leases.give(&slots);
                match attempt {
                    Attempt::Again => Ok(None),
                    Attempt::Failed(error) => Err(error),
                }
            }
        }
    }

    /// Whether a name is seen to stand for a version; no message, no wait.
    pub(crate) fn is_seen(session: &Arc<Session>, name: &str) -> bool {
        let mut slots = Vec::with_capacity(1);
        if !session.slots_at_hand(1, &mut slots) {
            return false;
        }
        let (heads, page) = (session.heads(), &session.leases.page);
        let found =
            lease::acquire_head(&session.board, &heads, page, name, hash_name(name), slots[0]);
        session.leases.give(&slots);
        found.is_ok()
    }

    /// Opens the version that a reference names, current or not.
    pub(crate) fn open_reference(
        session: &Arc<Session>,
        reference: &FrameRef,
    ) -> Result<Frame, Error> {
        if reference.pool != session.pool {
            // Made anew: the same numbers name other things.
            return Err(cenote_pool::message::Refusal::VersionGone.into());
        }
        let mut slots = Vec::with_capacity(1);
        session.slots(1, &mut slots)?;
        let page = &session.leases.page;
        let (entry, generation) = (reference.manifest, reference.generation);
        let opened = pin(session, entry, generation, slots[0]).and_then(|location| {
            page.note_use(entry);
            let manifest = (entry, generation);
            let pinned = Pinned { manifest, location: &location, slot: slots[0], may_ask: true };
            match Frame::lease(session, &reference.name, &pinned, &Asked::Reference(reference)) {
                Ok(opened) => Ok(opened),
                Err(Attempt::Failed(error)) => Err(error),
                Err(Attempt::Again) => Err(cenote_pool::message::Refusal::VersionGone.into()),
            }
        });
        if opened.is_err() {
            session.leases.give(&slots);
        }
        opened.and_then(finish)
    }

    /// Takes leases on the chunks of a version that is pinned. On success the slot is the
    /// frame's.
    fn lease(
        session: &Arc<Session>,
        name: &str,
        pinned: &Pinned<'_>,
        asked: &Asked<'_>,
    ) -> Result<(Frame, Option<Plan>), Attempt> {
        let Pinned { manifest, slot, .. } = *pinned;
        let read = || read_version(session, name, manifest, pinned.location);
        let version = session.version(manifest.0, manifest.1, read)?;
        let target = Target::new(&version, name, asked)?;
        let whole = target.is_whole(&version);
        let shared = if whole { version.whole_hold() } else { None };
        let hold = match shared {
            Some(hold) => {
                session.leases.give(&[slot]);
                hold
            }
            None => {
                let chunks = target.chunks(&version);
                let hold = Arc::new(acquire(session, &version, name, pinned, chunks)?);
                if whole {
                    version.set_whole_hold(&hold);
                }
                hold
            }
        };
        let Target { columns, rows, plan } = target;
        let schema = match &columns {
            None => version.schema.clone(),
            Some(columns) => project(&version.schema, columns),
        };
        let (session, columns, name) = (session.clone(), columns.map(Arc::from), name.into());
        let filter = None;
        Ok((Frame { session, version, name, manifest, hold, columns, rows, filter, schema }, plan))
    }
}

/// Looks at the rows that a predicate leaves open.
fn finish((frame, plan): (Frame, Option<Plan>)) -> Result<Frame, Error> {
    match plan {
        Some(plan) => frame.keep(plan),
        None => Ok(frame),
    }
}

/// A version whose manifest a slot pins.
struct Pinned<'a> {
    manifest: (EntryId, Generation),
    location: &'a Location,
    slot: u32,
    /// Whether the pool may be asked for more slots.
    may_ask: bool,
}

/// An attempt at leasing: again, or never.
enum Attempt {
    Again,
    Failed(Error),
}

/// Why a version is not decoded.
enum Fault {
    Attempt(Attempt),
    Contradiction(Contradiction),
}

impl From<Contradiction> for Fault {
    fn from(error: Contradiction) -> Fault {
        Fault::Contradiction(error)
    }
}

impl From<Error> for Attempt {
    fn from(error: Error) -> Attempt {
        Attempt::Failed(error)
    }
}

/// Asks the pool for a version of a name, and pins it. `None`: gone meanwhile.
#[expect(clippy::type_complexity, reason = "a version and its place, used once")]
fn ask(
    session: &Session,
    name: &str,
    which: &Which,
    slot: u32,
) -> Result<Option<((EntryId, Generation), Location)>, Error> {
    let (name, which) = (name.to_owned(), which.clone());
    let response = session.call(&Request::Find { name, which })?;
    let Response::Manifest { entry, generation, .. } = response else {
        return Err(unexpected(&response));
    };
    match pin(session, entry, generation, slot) {
        Ok(location) => Ok(Some(((entry, generation), location))),
        Err(Error::Refused(cenote_pool::message::Refusal::VersionGone)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Pins a manifest by its life: from the board while it is current, else the pool confirms.
pub(crate) fn pin(
    session: &Session,
    entry: EntryId,
    generation: Generation,
    slot: u32,
) -> Result<Location, Error> {
    let page = &session.leases.page;
    page.set(slot, Lease { entry, generation, kind: LeaseKind::Place });
    page.memory().fence();
    let now = session.board.entry(entry);
    if now.generation == generation
        && let Some(location) = now.record.and_then(|record| session.board.location(record))
        && location.tenant.entry == entry
        && location.tenant.generation == generation
        && location.tenant.kind == ChunkKind::Manifest
    {
        return Ok(location);
    }
    let answer = session.call(&Request::Confirm { manifest: entry, generation });
    if answer.is_err() {
        page.clear(slot);
    }
    match answer? {
        Response::Manifest { place, checksum, .. } => {
            let kind = ChunkKind::Manifest;
            let tenant = cenote_pool::protocol::word::Tenant { entry, generation, kind };
            Ok(Location { tenant, place, checksum, verified: true })
        }
        other => Err(unexpected(&other)),
    }
}

/// Leases the chunks that a selection needs.
fn acquire(
    session: &Arc<Session>,
    version: &Version,
    name: &str,
    pinned: &Pinned<'_>,
    chunks: Option<Vec<u32>>,
) -> Result<Hold, Attempt> {
    let Pinned { manifest, slot, .. } = *pinned;
    let count = chunks.as_ref().map_or(version.num_chunks(), Vec::len);
    let chunk = |i: usize| match &chunks {
        None => version.chunk(i),
        Some(some) => version.chunk(some[i] as usize),
    };
    let mut locations = Vec::with_capacity(count);
    let mut slots = Vec::with_capacity(count + 1);
    slots.push(slot);
    let whole = count > CHUNK_LEASES_MAX;
    let outcome = if whole {
        pin_version(&session.leases.page, slot, manifest.0, manifest.1);
        (0..count).try_for_each(|i| {
            locations.push(lease::locate(&session.board, chunk(i).entry)?);
            Ok(())
        })
    } else {
        if pinned.may_ask {
            session.slots(count, &mut slots)?;
        } else if !session.slots_at_hand(count, &mut slots) {
            return Err(Attempt::Again);
        }
        let wanted: Vec<_> = (0..count).map(|i| (chunk(i).entry, slots[i + 1])).collect();
        let each = |_, location| locations.push(location);
        lease::acquire(&session.board, &session.leases.page, &wanted, each)
    };
    let outcome = outcome.map_err(|error| match error {
        LeaseError::Gone(_) => Attempt::Again,
        LeaseError::Damaged(_) => Attempt::Failed(damaged(name, version.version, &error)),
    });
    // That the board names a chunk of the same length and checksum is what makes a wrong
    // place impossible to serve.
    let agrees = |(i, l): (usize, &Location)| {
        l.place.length == chunk(i).length && l.checksum == chunk(i).checksum
    };
    let outcome = outcome.and_then(|()| {
        if locations.iter().enumerate().all(agrees) {
            return Ok(());
        }
        let what = "the board and the manifest disagree";
        Err(Attempt::Failed(damaged(name, version.version, &what)))
    });
    if let Err(error) = outcome {
        session.leases.give(&slots[1..]);
        return Err(error);
    }
    let set = LeaseSet::new(session.clone(), slots, whole, locations);
    Ok(Hold { set: Arc::new(set), chunks })
}

/// Decodes a version whose manifest is leased, and the manifests that it refers to as far as
/// they are not decoded yet: its lease keeps them where they are.
fn read_version(
    session: &Session,
    name: &str,
    key: (EntryId, Generation),
    location: &Location,
) -> Result<Version, Attempt> {
    let (entries, _, _) = session.board.lengths();
    let wrong = |error: Contradiction| Attempt::from(damaged(name, 0, &error));
    let manifest = read_manifest(session, name, location)?;
    let own = |manifest| session.part(key, || Ok(Part::new(manifest, entries)?));
    let part = |reference: &Reference| {
        let key = (reference.entry, reference.generation);
        session.part(key, || {
            let location = refer(session, name, reference, entries).map_err(Fault::Attempt)?;
            let manifest = read_manifest(session, name, &location);
            Ok(Part::new(manifest.map_err(|e| Fault::Attempt(e.into()))?, entries)?)
        })
    };
    Version::new(manifest, own, part).map_err(|fault| match fault {
        Fault::Attempt(attempt) => attempt,
        Fault::Contradiction(error) => wrong(error),
    })
}

/// Where the manifest stands that a leased one refers to.
fn refer(
    session: &Session,
    name: &str,
    reference: &Reference,
    entries: u64,
) -> Result<Location, Attempt> {
    let entry = reference.entry;
    if u64::from(entry.0) >= entries {
        let error = Contradiction::Entry { entry: entry.0, entries };
        return Err(damaged(name, 0, &error).into());
    }
    let location = match lease::locate(&session.board, entry) {
        Ok(location) if location.tenant.generation == reference.generation => location,
        // Its life is over, and so was that of the version when it was leased.
        Ok(_) | Err(LeaseError::Gone(_)) => return Err(Attempt::Again),
        Err(error @ LeaseError::Damaged(_)) => return Err(damaged(name, 0, &error).into()),
    };
    let agrees = location.tenant.kind == ChunkKind::Manifest
        && location.place.length == reference.length
        && location.checksum == reference.checksum;
    if agrees {
        return Ok(location);
    }
    Err(damaged(name, 0, &Contradiction::Part { entry: entry.0 }).into())
}

/// Reads a manifest that cannot be freed meanwhile.
fn read_manifest(session: &Session, name: &str, location: &Location) -> Result<Manifest, Error> {
    let mapping = session.map(&location.place)?;
    let bytes = manifest_bytes(name, &mapping, location)?;
    Manifest::decode(bytes).map_err(|error| damaged(name, 0, &error))
}

/// The bytes of a manifest that cannot be freed meanwhile, checked.
pub(crate) fn manifest_bytes<'a>(
    name: &str,
    mapping: &'a Mapping,
    location: &Location,
) -> Result<&'a [u8], Error> {
    let bytes = memory::leased(mapping, &location.place)
        .ok_or_else(|| damaged(name, 0, &"its manifest is not where the board says"))?;
    if cenote_region::copy::checksum(bytes) != location.checksum {
        return Err(damaged(name, 0, &"its manifest does not match its checksum"));
    }
    Ok(bytes)
}

pub(crate) fn damaged(name: &str, version: u64, what: &dyn std::fmt::Display) -> Error {
    tracing::error!(frame = name, version, "damaged: {what}");
    Error::Damaged { frame: name.to_owned(), version, what: what.to_string() }
}
