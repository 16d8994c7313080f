//! Writing a frame: batches are laid into arenas as they come, and one commit gives the
//! version its name. Until then nobody sees it; a writer that is dropped leaves nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use cenote_arrow::stats::{ColumnStats, encode_statistics};
use cenote_arrow::{ColumnPlan, encode_schema};
use cenote_pool::id::{CHUNK_ALIGN, PAGE_ALIGNED_FROM, Place};
use cenote_pool::manifest::{ColumnRef, Draft};
use cenote_pool::message::{Commit, Refusal, Request, Response, Restored};
use cenote_pool::protocol::ledger::{IfExists, Sealed};
use cenote_pool::row::Made;
use cenote_pool::step::reach;
use cenote_region::quantity::PAGE;

use crate::append;
use crate::error::Error;
use crate::link::unexpected;
use crate::made;
use crate::memory::{self, Contents, Span, Written};
use crate::part::{Part, PartColumn};
use crate::patience::until_room;
use crate::session::{Session, WriteArena};

/// The columns of a partition smaller than this share one chunk.
const PACK_BELOW: u64 = 64 << 10;
/// Batches of a stream are gathered up to so many bytes before they are written: enough for
/// all threads, and a bound on what a stream holds in memory.
const GATHER_BYTES: u64 = 32 << 20;
/// How often the schema of a frame may change under an append.
const SCHEMA_TRIES_MAX: usize = 8;
/// More than any machine has: what a partition is counted up to.
const PART_BYTES_MAX: u64 = 1 << 62;

/// Writes one version of a frame.
#[derive(Debug)]
pub struct FrameWriter {
    session: Arc<Session>,
    name: String,
    if_exists: IfExists,
    expect: Option<u64>,
    source: String,
    made: Made,
    restored: Option<Restored>,
    schema: SchemaRef,
    draft: Draft,
    layouts: HashMap<Vec<u8>, u32>,
    sealed: Vec<Sealed>,
    /// The arena under the bump pointer, and where this writer began in it.
    arena: Option<(WriteArena, u64)>,
    /// Full ones: given back when the version is committed, or will not be.
    full: Vec<WriteArena>,
    wait: Duration,
    threads: Option<usize>,
    ended: bool,
    realigned: u64,
    /// A write failed: there is nothing to commit.
    failed: bool,
}

impl FrameWriter {
    pub(crate) fn new(
        session: Arc<Session>,
        name: &str,
        schema: SchemaRef,
        if_exists: IfExists,
    ) -> Result<FrameWriter, Error> {
        cenote_pool::message::check_name(name)?;
        let (bytes, schema) = match if_exists {
            IfExists::Append => append::schema_to_append(&session, name, schema)?,
            IfExists::Fail | IfExists::Replace => (encode_schema(&schema)?, schema),
        };
        let num_columns = u32::try_from(schema.fields().len()).unwrap_or(u32::MAX);
        let draft = Draft { schema: bytes, num_columns, ..Draft::default() };
        Ok(FrameWriter {
            session,
            name: name.to_owned(),
            if_exists,
            expect: None,
            source: String::new(),
            made: made::by_this_process(),
            restored: None,
            schema,
            draft,
            layouts: HashMap::new(),
            sealed: Vec::new(),
            arena: None,
            full: Vec::new(),
            wait: Duration::ZERO,
            threads: None,
            ended: false,
            realigned: 0,
            failed: false,
        })
    }

    /// Waits so long for room before the pool refuses; not at all unless said.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> FrameWriter {
        self.wait = wait;
        self
    }

    /// Writes large batches with so many threads; as many as there are cores unless said.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> FrameWriter {
        self.threads = Some(threads);
        self
    }

    /// Notes where the data comes from.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> FrameWriter {
        self.source = source.into();
        self
    }

    /// Commits only if the name stands for this version, or for none if 0. Otherwise
    /// [`Refusal::Conflict`](crate::Refusal::Conflict).
    #[must_use]
    pub fn expect_version(mut self, version: u64) -> FrameWriter {
        self.expect = Some(version);
        self
    }

    /// What is remembered of how the version was made: this process, and what is added here.
    pub fn made(&mut self) -> &mut Made {
        &mut self.made
    }

    /// A version as it was in another pool: with its number and its time, in nanoseconds since
    /// 1970, both above those of the frame's current version; and with [`Self::made`] as it is
    /// told, where else the pool notes whether rows were appended.
    #[must_use]
    pub fn restore(mut self, version: u64, created_ns: u64) -> FrameWriter {
        self.restored = Some(Restored { version, created_ns });
        self
    }

    /// The schema of the frame.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Bytes written so far.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        self.sealed.iter().map(|s| s.place.length).sum()
    }

    /// Rows written so far.
    #[must_use]
    pub fn num_rows(&self) -> u64 {
        self.draft.num_rows()
    }

    /// Buffers so far that were not copied as they were: parts of bitmaps that start within a
    /// byte, offsets that do not start at zero.
    #[must_use]
    pub fn realigned(&self) -> u64 {
        self.realigned
    }

    /// Adds a partition: copies the batch into the pool, one pass with its checksum.
    ///
    /// # Errors
    /// [`Error::Schema`], [`Error::Plan`], [`Error::Refused`] where the pool has no room.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.write_all(std::slice::from_ref(batch))
    }

    /// Adds a partition for each batch, with all threads at once.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_all(&mut self, batches: &[RecordBatch]) -> Result<(), Error> {
        self.go_on()?;
        let outcome = self.write_planned(batches);
        // A part of it may be in the draft: this version cannot be committed any more.
        self.failed |= outcome.is_err();
        outcome
    }

    fn write_planned(&mut self, batches: &[RecordBatch]) -> Result<(), Error> {
        let mut planned = Vec::with_capacity(batches.len());
        for batch in batches {
            planned.push((batch.num_rows() as u64, self.plan(batch)?));
        }
        let total: u64 = planned
            .iter()
            .flat_map(|(_, chunks)| chunks)
            .map(|c| c.0.length.next_multiple_of(PAGE))
            .sum();
        let mut chunks = Vec::new();
        let mut left = total;
        for (rows, contents) in planned {
            let first = u32::try_from(self.sealed.len() + chunks.len()).unwrap_or(u32::MAX);
            for (at, (contents, columns)) in contents.into_iter().enumerate() {
                let length = contents.length;
                let (place, span) = self.cut(length, left)?;
                left = left.saturating_sub(length.next_multiple_of(PAGE));
                debug_assert_eq!(contents.plans.len(), columns);
                for plan in &contents.plans {
                    self.realigned += plan.realigned();
                    let layout = self.draft.intern(&mut self.layouts, plan.layout().to_vec());
                    let chunk = first + u32::try_from(at).unwrap_or(u32::MAX);
                    self.draft.columns.push(ColumnRef { chunk, layout });
                }
                chunks.push((place, contents, span));
            }
            self.draft.partitions.push(rows);
        }
        let places: Vec<Place> = chunks.iter().map(|c| c.0).collect();
        let work: Vec<_> = chunks.into_iter().map(|(_, contents, span)| (contents, span)).collect();
        let written = memory::write(&work, self.threads).ok_or_else(short_mapping)?;
        reach("client: bytes written");
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for (place, Written { checksum, statistics }) in places.into_iter().zip(written) {
            self.sealed.push(Sealed { place, checksum });
            // Chunks come in the order of columns, partition by partition.
            columns.extend(statistics);
            if columns.len() == self.schema.fields().len() {
                self.note_statistics(&columns);
                columns.clear();
            }
        }
        // A partition without columns has no chunk.
        self.draft.statistics.resize_with(self.draft.partitions.len(), Vec::new);
        Ok(())
    }

    fn note_statistics(&mut self, columns: &[ColumnStats]) {
        let types = self.schema.fields().iter().map(|field| field.data_type());
        self.draft.statistics.push(encode_statistics(types.zip(columns)));
    }

    /// Adds a partition for each batch of a stream. Holds a bounded part of it at a time.
    ///
    /// # Errors
    /// As [`Self::write`], and the stream's own.
    pub fn write_stream<E>(
        &mut self,
        batches: impl IntoIterator<Item = Result<RecordBatch, E>>,
    ) -> Result<(), Error>
    where
        Error: From<E>,
    {
        let mut gathered = Vec::new();
        let mut bytes = 0;
        for batch in batches {
            let batch = batch?;
            bytes += batch_bytes(&batch);
            gathered.push(batch);
            if bytes >= GATHER_BYTES {
                self.write_all(&gathered)?;
                gathered.clear();
                bytes = 0;
            }
        }
        self.write_all(&gathered)
    }

    /// Chunks of a batch, each with its number of columns.
    fn plan(&self, batch: &RecordBatch) -> Result<Vec<(Contents, usize)>, Error> {
        check_schema(&self.schema, &batch.schema())?;
        let plan = |i: usize, base: u64| {
            ColumnPlan::new(batch.column(i), base).map_err(|source| Error::Plan {
                column: self.schema.field(i).name().clone(),
                source,
            })
        };
        let plans = (0..batch.num_columns()).map(|i| plan(i, 0)).collect::<Result<Vec<_>, _>>()?;
        let total: u64 = plans.iter().map(ColumnPlan::end).sum();
        if total >= PACK_BELOW || plans.len() < 2 {
            let alone = |(plan, column): (ColumnPlan, &ArrayRef)| {
                let (length, columns) = (plan.end(), vec![column.clone()]);
                (Contents { length, columns, plans: vec![plan] }, 1)
            };
            return Ok(plans.into_iter().zip(batch.columns()).map(alone).collect());
        }
        let mut packed = Vec::with_capacity(plans.len());
        let mut base = 0;
        for i in 0..plans.len() {
            let plan = plan(i, base)?;
            base = plan.end();
            packed.push(plan);
        }
        let (columns, plans) = (batch.columns().to_vec(), packed);
        let count = plans.len();
        Ok(vec![(Contents { length: base, columns, plans }, count)])
    }

    /// Cuts `length` bytes off an arena; `coming` bytes, these included, are known to come.
    fn cut(&mut self, length: u64, coming: u64) -> Result<(Place, Span), Error> {
        let align = if length >= PAGE_ALIGNED_FROM { PAGE } else { CHUNK_ALIGN };
        loop {
            if self.arena.is_none() {
                let bytes = coming.max(length).max(self.least_bytes());
                let arena = match self.session.take_arena(bytes, Duration::ZERO) {
                    Ok(arena) => arena,
                    // Not in one piece, or not at once.
                    Err(Error::Refused(_)) => {
                        until_room(self.wait, |wait| self.session.take_arena(length, wait))?
                    }
                    Err(error) => return Err(error),
                };
                let at = arena.at;
                self.arena = Some((arena, at));
            }
            let Some((arena, _)) = &mut self.arena else { continue };
            let offset = arena.at.next_multiple_of(align);
            // An empty chunk, too, has an address of its own.
            let end = offset + length.max(1);
            if end > arena.size {
                self.full.extend(self.arena.take().map(|(arena, _)| arena));
                continue;
            }
            if end > arena.granted {
                until_room(self.wait, |wait| self.session.grow(arena, end, wait))?;
            }
            arena.at = end;
            let (id, incarnation) = (arena.id, arena.incarnation);
            let place = Place { arena: id, incarnation, offset, length };
            let span = Span::new(arena.map.clone(), offset, length, arena.granted);
            return Ok((place, span));
        }
    }

    /// The second arena of a long stream is asked for in one large piece.
    fn least_bytes(&self) -> u64 {
        if self.full.is_empty() { 0 } else { 64 << 20 }
    }

    /// A partition of `rows` rows to be filled in place: every column of a fixed width, none
    /// with missing values.
    ///
    /// # Errors
    /// [`Error::Plan`] for a column of another type; no room.
    pub fn allocate(&mut self, rows: u64) -> Result<Part, Error> {
        self.go_on()?;
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for i in 0..self.schema.fields().len() {
            let field = self.schema.field(i).clone();
            let width = field.data_type().primitive_width().ok_or_else(|| Error::Schema {
                found: format!("column {:?} of type {}", field.name(), field.data_type()),
                expected: "columns of a fixed width, to be filled in place".to_owned(),
            })? as u64;
            // More than can be counted is refused by the pool as what it is: too much.
            let bytes = rows.saturating_mul(width).min(PART_BYTES_MAX);
            let length = bytes.next_multiple_of(CHUNK_ALIGN);
            let (place, span) = self.cut(length, length)?;
            let start = span.start().ok_or_else(short_mapping)?;
            // SAFETY: the span has `length` bytes that nobody else has been given. What stood
            // there before is another version's: it must not show through.
            unsafe { start.as_ptr().write_bytes(0, index(length)) };
            columns.push(PartColumn { place, span, data_type: field.data_type().clone(), bytes });
        }
        Ok(Part { rows, columns })
    }

    /// Seals a partition that was filled in place.
    ///
    /// # Errors
    /// The pool's mapping is at fault.
    pub fn seal(&mut self, part: &Part) -> Result<(), Error> {
        self.go_on()?;
        let mut statistics = Vec::with_capacity(part.columns.len());
        for column in &part.columns {
            let chunk = u32::try_from(self.sealed.len()).unwrap_or(u32::MAX);
            let sealed = column.seal(part.rows)?;
            let layout = self.draft.intern(&mut self.layouts, sealed.layout);
            self.draft.columns.push(ColumnRef { chunk, layout });
            self.sealed.push(Sealed { place: column.place, checksum: sealed.checksum });
            statistics.push(sealed.statistics);
        }
        self.draft.partitions.push(part.rows);
        self.note_statistics(&statistics);
        Ok(())
    }

    fn go_on(&self) -> Result<(), Error> {
        if self.ended || self.failed || self.session.is_forked() {
            return Err(Error::Ended(self.name.clone()));
        }
        Ok(())
    }

    /// Gives the version its name. Durable when this returns: the daemon may be killed.
    ///
    /// # Errors
    /// [`Error::Refused`]: the name exists, or cannot be used. Nothing is left behind.
    pub fn commit(mut self) -> Result<u64, Error> {
        self.go_on()?;
        reach("client: before commit");
        let response = self.send_commit();
        reach("client: after commit");
        let version = match response {
            Ok(Response::Committed { version }) => version,
            // A clear no: the bytes are this writer's, to be written over.
            Err(error @ Error::Refused(_)) => return Err(error),
            outcome => {
                // Perhaps the pool has the request, and will answer it to nobody: what was
                // sealed must stay as it is.
                self.ended = true;
                self.full.extend(self.arena.take().map(|(arena, _)| arena));
                self.give_back_full();
                return Err(outcome.map_or_else(|error| error, |other| unexpected(&other)));
            }
        };
        self.ended = true;
        if let Some((arena, _)) = self.arena.take() {
            self.session.put_arena(arena);
        }
        self.give_back_full();
        tracing::debug!(frame = self.name, version, "committed");
        Ok(version)
    }

    /// Asks for the commit; where a frame to be appended to has changed meanwhile, with the
    /// schema that it has now.
    fn send_commit(&mut self) -> Result<Response, Error> {
        let mut commit = Commit {
            sequence: 0,
            name: self.name.clone(),
            if_exists: self.if_exists,
            expect: self.expect,
            source: self.source.clone(),
            made: std::mem::take(&mut self.made),
            restored: self.restored,
            chunks: std::mem::take(&mut self.sealed),
            draft: std::mem::take(&mut self.draft),
        };
        if self.if_exists != IfExists::Append {
            return self
                .session
                .change(|sequence| Request::Commit(Box::new(Commit { sequence, ..commit })));
        }
        for _ in 0..SCHEMA_TRIES_MAX {
            let again = commit.clone();
            let response = self
                .session
                .change(|sequence| Request::Commit(Box::new(Commit { sequence, ..again })));
            let Err(Error::Refused(Refusal::Schema { .. })) = response else { return response };
            let schema = self.schema.clone();
            commit.draft.schema = append::schema_to_append(&self.session, &self.name, schema)?.0;
        }
        Err(Refusal::Schema { name: self.name.clone(), version: 0 }.into())
    }

    fn give_back_full(&mut self) {
        for arena in std::mem::take(&mut self.full) {
            self.session.return_arena(arena.id);
        }
    }
}

impl Drop for FrameWriter {
    fn drop(&mut self) {
        if self.ended || self.session.is_forked() {
            return;
        }
        // Nothing of it was committed: the arena is as it was when this writer took it.
        if let Some((mut arena, began)) = self.arena.take() {
            arena.at = began;
            self.session.put_arena(arena);
        }
        self.give_back_full();
    }
}

pub(crate) fn index(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

pub(crate) fn short_mapping() -> Error {
    Error::Io { what: "write an arena", source: std::io::ErrorKind::UnexpectedEof.into() }
}

/// Bytes of a batch's own rows, about: a slice counts for what it shows.
fn batch_bytes(batch: &RecordBatch) -> u64 {
    let of = |column: &arrow_array::ArrayRef| column.to_data().get_slice_memory_size().unwrap_or(0);
    batch.columns().iter().map(|column| of(column) as u64).sum()
}

fn check_schema(expected: &Schema, found: &Schema) -> Result<(), Error> {
    let same = expected.fields().len() == found.fields().len()
        && expected.fields().iter().zip(found.fields()).all(|(a, b)| {
            a.name() == b.name()
                && a.data_type() == b.data_type()
                && (a.is_nullable() || !b.is_nullable())
        });
    if same {
        return Ok(());
    }
    let text = |schema: &Schema| {
        let fields =
            schema.fields().iter().take(12).map(|f| format!("{}: {}", f.name(), f.data_type()));
        fields.collect::<Vec<_>>().join(", ")
    };
    Err(Error::Schema { found: text(found), expected: text(expected) })
}
