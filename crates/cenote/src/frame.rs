//! A frame: one version of a table, leased, and its columns as Arrow.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Metadata, Schema, SchemaRef};
use cenote_arrow::ColumnLayout;
use cenote_pool::id::{ArenaId, EntryId, Generation};
use cenote_pool::message::Request;
use cenote_region::mapping::Mapping;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::export::{self, Batch};
use crate::filter::{Filter, Piece, Wanted, in_parallel};
use crate::lease::LeaseSet;
use crate::memory::{self, ChunkOwner};
use crate::selection::{find_column, project};
use crate::session::Session;
use crate::version::Version;

/// How long to wait for the pool to hear what was found out about a chunk.
const TELL_WITHIN: Duration = Duration::from_millis(20);

/// Leases on a version's chunks, as a frame holds them.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) set: Arc<LeaseSet>,
    /// Which chunks, in order; all if `None`.
    pub(crate) chunks: Option<Vec<u32>>,
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
    pub(crate) session: Arc<Session>,
    pub(crate) version: Arc<Version>,
    pub(crate) name: Arc<str>,
    pub(crate) manifest: (EntryId, Generation),
    pub(crate) hold: Arc<Hold>,
    pub(crate) columns: Option<Arc<[u32]>>,
    pub(crate) rows: Range<u64>,
    pub(crate) filter: Option<Arc<Filter>>,
    pub(crate) schema: SchemaRef,
}

/// A frame by reference: a few hundred bytes that open the same version in any process of
/// the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FrameRef {
    /// The pool's directory.
    pub dir: PathBuf,
    pub(crate) pool: u64,
    pub(crate) name: String,
    pub(crate) manifest: EntryId,
    pub(crate) generation: Generation,
    pub(crate) columns: Option<Vec<u32>>,
    pub(crate) rows: (u64, u64),
    /// As text, which reads as the same again.
    pub(crate) predicate: Option<String>,
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
    /// The frame's name when it was opened.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Counts the versions of the name, from 1.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version.version
    }

    /// When the version was committed, in nanoseconds since 1970.
    #[must_use]
    pub fn created_ns(&self) -> u64 {
        self.version.created_ns
    }

    /// The schema of what is selected.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows of what is selected. Of a predicate they were counted when the frame was opened.
    #[must_use]
    pub fn num_rows(&self) -> u64 {
        match &self.filter {
            Some(filter) => filter.num_rows(),
            None => self.rows.end - self.rows.start,
        }
    }

    /// Which rows of the version: (first, one past the last). A predicate may have left not all
    /// of them: see [`Self::first_row`].
    #[must_use]
    pub fn rows(&self) -> (u64, u64) {
        (self.rows.start, self.rows.end)
    }

    /// Whether all rows and columns of the version are selected.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.columns.is_none() && self.filter.is_none() && self.rows == (0..self.version.num_rows())
    }

    /// The same frame with other metadata of its schema, for whoever reads it from here on.
    #[must_use]
    pub fn with_metadata(&self, metadata: Metadata) -> Frame {
        let schema = Schema::new_with_metadata(self.schema.fields().clone(), metadata);
        Frame { schema: Arc::new(schema), ..self.clone() }
    }

    /// Bytes of the chunks that are leased, padding included.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        match &self.hold.chunks {
            None => self.version.chunks().map(|c| c.length).sum(),
            Some(some) => some.iter().map(|c| self.version.chunk(*c as usize).length).sum(),
        }
    }

    /// How many partitions the selected rows lie in.
    #[must_use]
    pub fn num_partitions(&self) -> usize {
        match &self.filter {
            Some(filter) => filter.pieces.len(),
            None => self.partitions().count(),
        }
    }

    /// Fails where the frame has no leases any more: a fork has left it without, or the pool
    /// was made anew.
    ///
    /// # Errors
    /// [`Error::LostInFork`], [`Error::Unavailable`].
    pub fn check(&self) -> Result<(), Error> {
        if self.hold.set.hold() {
            Ok(())
        } else if self.session.is_forked() {
            Err(Error::LostInFork)
        } else {
            Err(self.session.unavailable(crate::error::Unavailable::Remade))
        }
    }

    fn partitions(&self) -> impl Iterator<Item = usize> + '_ {
        // A table without rows has its dictionaries all the same.
        let none = self.is_whole() && self.rows.is_empty();
        (0..self.version.num_partitions()).filter(move |p| {
            let (start, end) = (self.version.starts[*p], self.version.starts[p + 1]);
            none || (start < self.rows.end && end > self.rows.start)
        })
    }

    /// What is selected of each partition, in order.
    pub(crate) fn pieces(&self) -> Vec<Piece> {
        if let Some(filter) = &self.filter {
            return filter.pieces.clone();
        }
        let piece = |partition: usize| {
            let (start, end) = (self.version.starts[partition], self.version.starts[partition + 1]);
            let index = |row: u64| usize::try_from(row - start).unwrap_or(usize::MAX);
            let run = index(self.rows.start.max(start))..index(self.rows.end.min(end));
            Piece { partition, wanted: Wanted::Run(run) }
        };
        self.partitions().map(piece).collect()
    }

    /// Comes to columns of a partition, verified. `None` of `each`: the chunk is not what it
    /// should be.
    fn visit(
        &self,
        partition: usize,
        columns: impl Iterator<Item = usize>,
        mut each: impl FnMut(&ColumnLayout, ChunkOwner) -> Option<()>,
    ) -> Result<(), Error> {
        let cells = self.version.cells(partition).map_err(|error| self.damaged(&error))?;
        let mut last: Option<(ArenaId, Arc<Mapping>)> = None;
        for column in columns {
            let Some(at) = cells.get(column) else {
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
            each(at.layout, owner)
                .ok_or_else(|| self.damaged(&"a chunk is not where the board says"))?;
        }
        Ok(())
    }

    /// The selected columns, by their numbers in the version.
    fn selected(&self) -> impl Iterator<Item = usize> + '_ {
        let column = |i: usize| self.columns.as_ref().map_or(i, |columns| columns[i] as usize);
        (0..self.schema.fields().len()).map(column)
    }

    /// All rows of one column of a partition.
    pub(crate) fn column(&self, partition: usize, column: u32) -> Result<ArrayRef, Error> {
        let mut array = None;
        self.visit(partition, std::iter::once(column as usize), |layout, owner| {
            array = Some(memory::array(layout, owner)?);
            Some(())
        })?;
        array.ok_or_else(|| self.damaged(&"its manifest lacks a column"))
    }

    /// What is selected of one partition as Arrow. Each buffer keeps the lease of its chunk.
    fn arrays(&self, piece: &Piece) -> Result<Vec<ArrayRef>, Error> {
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.schema.fields().len());
        self.visit(piece.partition, self.selected(), |layout, owner| {
            arrays.push(memory::array(layout, owner)?);
            Some(())
        })?;
        piece.wanted.take(&mut arrays)?;
        Ok(arrays)
    }

    fn batch(&self, piece: &Piece) -> Result<RecordBatch, Error> {
        let options = RecordBatchOptions::new().with_row_count(Some(piece.wanted.len()));
        let arrays = self.arrays(piece)?;
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)?)
    }

    fn export_piece(&self, piece: &Piece) -> Result<FFI_ArrowArray, Error> {
        let mut batch = Batch::with_capacity(self.schema.fields().len());
        match &piece.wanted {
            Wanted::Run(run) => {
                let each = |layout: &ColumnLayout, owner| batch.push(layout, owner);
                self.visit(piece.partition, self.selected(), each)?;
                Ok(batch.finish(run))
            }
            wanted @ Wanted::Some { .. } => {
                self.arrays(piece)?.into_iter().for_each(|array| batch.push_array(array));
                Ok(batch.finish(&(0..wanted.len())))
            }
        }
    }

    /// Does `work` for each piece; by several threads where rows are to be gathered.
    fn each_piece<T: Send>(
        &self,
        work: impl Fn(&Piece) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        self.check()?;
        let pieces = self.pieces();
        let gathered = |piece: &Piece| match &piece.wanted {
            Wanted::Run(_) => 0,
            Wanted::Some { of, .. } => of.len() as u64,
        };
        let rows = pieces.iter().map(gathered).sum();
        in_parallel(pieces.len(), rows, |at| work(&pieces[at]))
    }

    /// Looks at bytes that this daemon has taken over and nobody has looked at since.
    fn verify(&self, chunk: u32, owner: &ChunkOwner) -> Result<(), Error> {
        let chunk = *self.version.chunk(chunk as usize);
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
        tracing::error!(frame, version, "damaged: {what}");
        Error::Damaged { frame, version, what: what.to_string() }
    }

    /// Everything selected as Arrow, a batch a partition: read-only, no copy. Of a partition
    /// from which a predicate has left rows with gaps between, a copy of these.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::LostInFork`], [`Error::Io`].
    pub fn batches(&self) -> Result<Vec<RecordBatch>, Error> {
        self.each_piece(|piece| self.batch(piece))
    }

    /// Everything selected over Arrow's C data interface, a struct array a partition, as
    /// [`Self::batches`]. Each array keeps the leases of its partition's chunks.
    ///
    /// Cost: about 50 ns a flat column, where [`Self::batches`] and an export of its arrays
    /// cost 500 ns.
    ///
    /// # Errors
    /// As [`Self::batches`].
    pub fn export(&self) -> Result<Vec<FFI_ArrowArray>, Error> {
        self.each_piece(|piece| self.export_piece(piece))
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

    /// [`Self::select`] by number: several columns may have one name.
    ///
    /// # Errors
    /// [`Error::NoColumn`].
    pub fn select_at(&self, numbers: &[usize]) -> Result<Frame, Error> {
        let number = |at: &usize| match u32::try_from(*at) {
            Ok(own) if *at < self.schema.fields().len() => {
                Ok(self.columns.as_ref().map_or(own, |columns| columns[*at]))
            }
            _ => find_column(&self.schema, &self.name, &at.to_string()),
        };
        self.project(&numbers.iter().map(number).collect::<Result<Vec<_>, _>>()?)
    }

    pub(crate) fn project(&self, columns: &[u32]) -> Result<Frame, Error> {
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
            predicate: self.predicate().map(ToString::to_string),
        }
    }
}
