//! A frame: one version of a table, leased, and its columns as Arrow.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use cenote_arrow::ColumnLayout;
use cenote_pool::id::{ArenaId, EntryId, Generation};
use cenote_pool::message::{Request, Response};
use cenote_pool::protocol::Memory;
use cenote_pool::protocol::board::Location;
use cenote_pool::protocol::heads::hash_name;
use cenote_pool::protocol::lease::{self, CHUNK_LEASES_MAX, HeadMiss, LeaseError};
use cenote_pool::protocol::word::{Lease, LeaseKind};
use cenote_region::mapping::Mapping;
use serde::{Deserialize, Serialize};

use crate::error::{Contradiction, Error};
use crate::export::{self, Batch};
use crate::lease::{LeaseSet, pin_version};
use crate::link::unexpected;
use crate::memory::{self, ChunkOwner};
use crate::session::Session;
use crate::version::Version;

/// How often a client asks the pool about a name that keeps moving.
const TRIES_MAX: usize = 1000;

/// How long to wait for the pool to hear what was found out about a chunk.
const TELL_WITHIN: Duration = Duration::from_millis(20);

/// Which part of a frame is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Names of columns, in the order wanted; all if `None`.
    pub columns: Option<Vec<String>>,
    /// Rows, as (first, one past the last); all if `None`. May end beyond the last row.
    pub rows: Option<(i64, i64)>,
}

/// Leases on a version's chunks, as a frame holds them.
#[derive(Debug)]
pub(crate) struct Hold {
    set: Arc<LeaseSet>,
    /// Which chunks, in order; all if `None`.
    chunks: Option<Vec<u32>>,
}

impl Hold {
    fn position(&self, chunk: u32) -> Option<usize> {
        match &self.chunks {
            None => Some(chunk as usize),
            Some(chunks) => chunks.binary_search(&chunk).ok(),
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.set.release_all();
    }
}

/// One version of a table, or a part of it. It stays what it is, whatever happens to its
/// name, for as long as the frame, or a buffer got from it, lives.
#[derive(Clone, Debug)]
pub struct Frame {
    session: Arc<Session>,
    version: Arc<Version>,
    name: Arc<str>,
    manifest: (EntryId, Generation),
    hold: Arc<Hold>,
    columns: Option<Arc<[u32]>>,
    rows: Range<u64>,
    schema: SchemaRef,
}

/// A frame by reference: a few hundred bytes that open the same version in any process of
/// the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FrameRef {
    /// The pool's directory.
    pub dir: PathBuf,
    pool: u64,
    name: String,
    manifest: EntryId,
    generation: Generation,
    columns: Option<Vec<u32>>,
    rows: (u64, u64),
}

impl FrameRef {
    /// As bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// From bytes.
    ///
    /// # Errors
    /// [`Error::Reference`].
    pub fn from_bytes(bytes: &[u8]) -> Result<FrameRef, Error> {
        postcard::from_bytes(bytes).map_err(|_| Error::Reference)
    }
}

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
            let found = lease::acquire_head(&session.board, &heads, page, name, hash, slots[0]);
            let (manifest, location) = match found {
                Ok(head) => ((head.manifest, head.generation), head.location),
                Err(HeadMiss::NewTable) => {
                    session.renew_heads()?;
                    continue;
                }
                // The pool knows names that are near.
                Err(HeadMiss::Absent | HeadMiss::AskPool) => match ask(session, name, slots[0]) {
                    Ok(Some(found)) => found,
                    Ok(None) => continue,
                    Err(error) => {
                        session.leases.give(&slots);
                        return Err(error);
                    }
                },
            };
            page.note_use(manifest.0);
            let pinned = Pinned { manifest, location: &location, slot: slots[0], may_ask: true };
            match Frame::lease(session, name, &pinned, selection) {
                // The version was being freed when its lease was taken over from the pool.
                Err(Attempt::Again) => page.clear(slots[0]),
                Err(Attempt::Failed(error)) => {
                    session.leases.give(&slots);
                    return Err(error);
                }
                Ok(frame) => return Ok(frame),
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
        if !session.slots_at_hand(1, &mut slots) {
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
                Frame::lease(session, name, &pinned, selection)
            }
            _ => Err(Attempt::Again),
        };
        match outcome {
            Ok(frame) => Ok(Some(frame)),
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
            let all = Selection::default();
            let manifest = (entry, generation);
            let pinned = Pinned { manifest, location: &location, slot: slots[0], may_ask: true };
            match Frame::lease(session, &reference.name, &pinned, &all) {
                Ok(frame) => Ok(frame),
                Err(Attempt::Failed(error)) => Err(error),
                Err(Attempt::Again) => Err(cenote_pool::message::Refusal::VersionGone.into()),
            }
        });
        if opened.is_err() {
            session.leases.give(&slots);
        }
        let mut frame = opened?;
        if let Some(columns) = &reference.columns {
            frame = frame.project(columns)?;
        }
        let (start, end) = reference.rows;
        let start = start.min(frame.rows.end);
        frame.rows = start..end.clamp(start, frame.rows.end);
        Ok(frame)
    }

    /// Takes leases on the chunks of a version that is pinned. On success the slot is the
    /// frame's.
    fn lease(
        session: &Arc<Session>,
        name: &str,
        pinned: &Pinned<'_>,
        selection: &Selection,
    ) -> Result<Frame, Attempt> {
        let Pinned { manifest, slot, .. } = *pinned;
        let read = || read_version(session, name, pinned.location);
        let version = session.version(manifest.0, manifest.1, read)?;
        let (columns, rows) = select(&version, name, selection)?;
        let whole = columns.is_none() && rows == (0..version.manifest.num_rows());
        let shared = if whole { version.whole_hold() } else { None };
        let hold = match shared {
            Some(hold) => {
                session.leases.give(&[slot]);
                hold
            }
            None => {
                let chunks = needed(&version, columns.as_deref(), &rows);
                let hold = Arc::new(acquire(session, &version, name, pinned, chunks)?);
                if whole {
                    version.set_whole_hold(&hold);
                }
                hold
            }
        };
        let schema = match &columns {
            None => version.schema.clone(),
            Some(columns) => project(&version.schema, columns),
        };
        let (session, columns) = (session.clone(), columns.map(Arc::from));
        Ok(Frame { session, version, name: name.into(), manifest, hold, columns, rows, schema })
    }

    /// The frame's name when it was opened.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Counts the versions of the name, from 1.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version.manifest.version
    }

    /// When the version was committed, in nanoseconds since 1970.
    #[must_use]
    pub fn created_ns(&self) -> u64 {
        self.version.manifest.created_ns
    }

    /// The schema of what is selected.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows of what is selected.
    #[must_use]
    pub fn num_rows(&self) -> u64 {
        self.rows.end - self.rows.start
    }

    /// Which rows of the version: (first, one past the last).
    #[must_use]
    pub fn rows(&self) -> (u64, u64) {
        (self.rows.start, self.rows.end)
    }

    /// Bytes of the chunks that are leased, padding included.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        let chunks = &self.version.manifest.chunks;
        match &self.hold.chunks {
            None => chunks.iter().map(|c| c.length).sum(),
            Some(some) => some.iter().map(|c| chunks[*c as usize].length).sum(),
        }
    }

    /// How many partitions the selected rows lie in.
    #[must_use]
    pub fn num_partitions(&self) -> usize {
        self.partitions().count()
    }

    /// Fails where a fork has left the frame without leases.
    ///
    /// # Errors
    /// [`Error::LostInFork`].
    pub fn check(&self) -> Result<(), Error> {
        if self.hold.set.hold() { Ok(()) } else { Err(Error::LostInFork) }
    }

    fn partitions(&self) -> impl Iterator<Item = usize> + '_ {
        let parts = 0..self.version.manifest.draft.partitions.len();
        parts.filter(|p| {
            let (start, end) = (self.version.starts[*p], self.version.starts[p + 1]);
            start < self.rows.end && end > self.rows.start
        })
    }

    /// Comes to each selected column of a partition, verified; returns which of the
    /// partition's rows are selected. `None` of `each`: the chunk is not what it should be.
    fn visit(
        &self,
        partition: usize,
        mut each: impl FnMut(&ColumnLayout, ChunkOwner) -> Option<()>,
    ) -> Result<Range<usize>, Error> {
        let version = &self.version;
        let layouts = version.layouts(partition).map_err(|error| self.damaged(&error))?;
        let mut last: Option<(ArenaId, Arc<Mapping>)> = None;
        for i in 0..self.schema.fields().len() {
            let column = self.columns.as_ref().map_or(i, |columns| columns[i] as usize);
            let (Some(at), Some(layout)) =
                (version.manifest.column(partition, column), layouts.get(column))
            else {
                return Err(self.damaged(&"its manifest lacks a column"));
            };
            let position = self
                .hold
                .position(at.chunk)
                .ok_or_else(|| self.damaged(&"a chunk is not leased"))?;
            let location = &self.hold.set.locations[position];
            let place = &location.place;
            let mapping = match &last {
                Some((arena, mapping)) if *arena == place.arena && mapping.len() >= place.end() => {
                    mapping.clone()
                }
                _ => {
                    let mapping = self.session.map(place)?;
                    last = Some((place.arena, mapping.clone()));
                    mapping
                }
            };
            let owner = ChunkOwner::new(&self.hold.set, position, mapping);
            if !location.verified && !self.hold.set.is_verified(position) {
                self.verify(at.chunk, &owner)?;
                self.hold.set.set_verified(position);
            }
            each(layout, owner)
                .ok_or_else(|| self.damaged(&"a chunk is not where the board says"))?;
        }
        let (start, end) = (version.starts[partition], version.starts[partition + 1]);
        let index = |row: u64| usize::try_from(row - start).unwrap_or(usize::MAX);
        Ok(index(self.rows.start.max(start))..index(self.rows.end.min(end)))
    }

    /// The columns of one partition as Arrow: read-only, no copy. Each buffer keeps the lease
    /// of its chunk.
    fn batch(&self, partition: usize) -> Result<RecordBatch, Error> {
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.schema.fields().len());
        let rows = self.visit(partition, |layout, owner| {
            arrays.push(memory::array(layout, owner)?);
            Some(())
        })?;
        for array in &mut arrays {
            if array.len() != rows.len() {
                *array = array.slice(rows.start, rows.len());
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)?)
    }

    /// Looks at bytes that this daemon has taken over and nobody has looked at since.
    fn verify(&self, chunk: u32, owner: &ChunkOwner) -> Result<(), Error> {
        let chunk = self.version.manifest.chunks[chunk as usize];
        let entry = chunk.entry;
        // Telling the pool is a kindness to others: a reader waits for no daemon.
        let tell = |request| drop(self.session.try_call_within(&request, TELL_WITHIN));
        if memory::verify(owner, chunk.checksum) {
            tell(Request::Verified { entry });
            return Ok(());
        }
        tell(Request::Corrupt { entry });
        Err(self.damaged(&"its bytes do not match their checksum"))
    }

    fn damaged(&self, what: &dyn std::fmt::Display) -> Error {
        let (frame, version) = (self.name.to_string(), self.version());
        Error::Damaged { frame, version, what: what.to_string() }
    }

    /// Everything selected as Arrow, a batch a partition: read-only, no copy.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::LostInFork`], [`Error::Io`].
    pub fn batches(&self) -> Result<Vec<RecordBatch>, Error> {
        self.check()?;
        self.partitions().map(|partition| self.batch(partition)).collect()
    }

    /// Everything selected over Arrow's C data interface, a struct array a partition:
    /// read-only, no copy. Each array keeps the leases of its partition's chunks.
    ///
    /// Cost: about 50 ns a flat column, where [`Self::batches`] and an export of its arrays
    /// cost 500 ns.
    ///
    /// # Errors
    /// As [`Self::batches`].
    pub fn export(&self) -> Result<Vec<FFI_ArrowArray>, Error> {
        self.check()?;
        let each = |partition| {
            let mut batch = Batch::with_capacity(self.schema.fields().len());
            let rows = self.visit(partition, |layout, owner| batch.push(layout, owner))?;
            Ok(batch.finish(&rows))
        };
        self.partitions().map(each).collect()
    }

    /// [`Self::export`] as a stream.
    ///
    /// # Errors
    /// As [`Self::batches`].
    pub fn export_stream(&self) -> Result<FFI_ArrowArrayStream, Error> {
        Ok(export::stream(self.schema.clone(), self.export()?))
    }

    /// A frame of some of the columns. Takes no new leases; the old ones stay with it.
    ///
    /// # Errors
    /// [`Error::NoColumn`].
    pub fn select<S: AsRef<str>>(&self, names: &[S]) -> Result<Frame, Error> {
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let at = find_column(&self.schema, &self.name, name.as_ref())?;
            columns.push(self.columns.as_ref().map_or(at, |own| own[at as usize]));
        }
        self.project(&columns)
    }

    fn project(&self, columns: &[u32]) -> Result<Frame, Error> {
        if columns.iter().any(|c| *c as usize >= self.version.num_columns()) {
            return Err(Error::Reference);
        }
        let schema = project(&self.version.schema, columns);
        Ok(Frame { columns: Some(columns.into()), schema, ..self.clone() })
    }

    /// The frame by reference.
    #[must_use]
    pub fn reference(&self) -> FrameRef {
        FrameRef {
            dir: self.session.dir.path().to_owned(),
            pool: self.session.pool,
            name: self.name.to_string(),
            manifest: self.manifest.0,
            generation: self.manifest.1,
            columns: self.columns.as_ref().map(|c| c.to_vec()),
            rows: (self.rows.start, self.rows.end),
        }
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

impl From<Error> for Attempt {
    fn from(error: Error) -> Attempt {
        Attempt::Failed(error)
    }
}

/// Asks the pool for the current version of a name, and pins it. `None`: gone meanwhile.
#[expect(clippy::type_complexity, reason = "a version and its place, used once")]
fn ask(
    session: &Session,
    name: &str,
    slot: u32,
) -> Result<Option<((EntryId, Generation), Location)>, Error> {
    let response = session.call(&Request::Find { name: name.to_owned() })?;
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
fn pin(
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
        && location.tenant.kind == cenote_pool::protocol::word::ChunkKind::Manifest
    {
        return Ok(location);
    }
    let answer = session.call(&Request::Confirm { manifest: entry, generation });
    if answer.is_err() {
        page.clear(slot);
    }
    match answer? {
        Response::Manifest { place, checksum, .. } => {
            let kind = cenote_pool::protocol::word::ChunkKind::Manifest;
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
    let all = &version.manifest.chunks;
    let count = chunks.as_ref().map_or(all.len(), Vec::len);
    let chunk = |i: usize| match &chunks {
        None => &all[i],
        Some(some) => &all[some[i] as usize],
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
    let damaged = |what: String| Error::Damaged {
        frame: name.to_owned(),
        version: version.manifest.version,
        what,
    };
    let outcome = outcome.map_err(|error| match error {
        LeaseError::Gone(_) => Attempt::Again,
        LeaseError::Damaged(_) => Attempt::Failed(damaged(error.to_string())),
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
        Err(Attempt::Failed(damaged("the board and the manifest disagree".to_owned())))
    });
    if let Err(error) = outcome {
        session.leases.give(&slots[1..]);
        return Err(error);
    }
    let set = LeaseSet::new(session.leases.clone(), slots, whole, locations);
    Ok(Hold { set: Arc::new(set), chunks })
}

/// The chunks of a selection, in order; `None` for all.
fn needed(version: &Version, columns: Option<&[u32]>, rows: &Range<u64>) -> Option<Vec<u32>> {
    if columns.is_none() && *rows == (0..version.manifest.num_rows()) {
        return None;
    }
    let all: Vec<u32>;
    let columns = match columns {
        Some(columns) => columns,
        None => {
            all = (0..u32::try_from(version.num_columns()).unwrap_or(u32::MAX)).collect();
            &all
        }
    };
    let mut chunks = Vec::new();
    for partition in 0..version.manifest.draft.partitions.len() {
        let (start, end) = (version.starts[partition], version.starts[partition + 1]);
        if start >= rows.end || end <= rows.start {
            continue;
        }
        let of = |column: &u32| version.manifest.column(partition, *column as usize);
        chunks.extend(columns.iter().filter_map(of).map(|at| at.chunk));
    }
    chunks.sort_unstable();
    chunks.dedup();
    Some(chunks)
}

fn select(
    version: &Version,
    name: &str,
    selection: &Selection,
) -> Result<(Option<Vec<u32>>, Range<u64>), Error> {
    let columns = match &selection.columns {
        None => None,
        Some(names) => Some(
            names
                .iter()
                .map(|c| find_column(&version.schema, name, c))
                .collect::<Result<Vec<_>, _>>()?,
        ),
    };
    let total = version.manifest.num_rows();
    let rows = match selection.rows {
        None => 0..total,
        Some((start, stop)) => {
            let bound = |row: i64| u64::try_from(row).ok();
            match (bound(start), bound(stop)) {
                (Some(start), Some(stop)) if start <= stop && start <= total => {
                    start..stop.min(total)
                }
                _ => {
                    return Err(Error::Rows { frame: name.to_owned(), start, stop, rows: total });
                }
            }
        }
    };
    Ok((columns, rows))
}

fn find_column(schema: &Schema, frame: &str, column: &str) -> Result<u32, Error> {
    let at = schema.fields().iter().position(|field| field.name() == column);
    at.and_then(|at| u32::try_from(at).ok()).ok_or_else(|| Error::NoColumn {
        frame: frame.to_owned(),
        column: column.chars().take(80).collect(),
        known: schema.fields().iter().map(|f: &Arc<Field>| f.name().clone()).collect(),
    })
}

fn project(schema: &Schema, columns: &[u32]) -> SchemaRef {
    let fields: Vec<_> = columns.iter().map(|c| schema.fields()[*c as usize].clone()).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn read_version(session: &Session, name: &str, location: &Location) -> Result<Version, Error> {
    let damaged = |what: String| Error::Damaged { frame: name.to_owned(), version: 0, what };
    let mapping = session.map(&location.place)?;
    let bytes = memory::leased(&mapping, &location.place)
        .ok_or_else(|| damaged("its manifest is not where the board says".to_owned()))?;
    if cenote_region::copy::checksum(bytes) != location.checksum {
        return Err(damaged("its manifest does not match its checksum".to_owned()));
    }
    let (entries, _, _) = session.board.lengths();
    Version::decode(bytes, entries).map_err(|error: Contradiction| damaged(error.to_string()))
}
