//! Writing a dump, member by member.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, Schema};
use cenote::{Frame, Keep, VersionInfo};
use tar::{Builder, EntryType, Header};

use super::{
    Described, DescribedVersion, Entry, FORMAT_VERSION, FRAME, HEAD, Head, INDEX, PIECE_BYTES,
    VERSION,
};
use crate::failure::Failure;

/// A frame to be written: its versions are leased, and none goes meanwhile.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) name: String,
    pub(crate) keep: Keep,
    /// Oldest first.
    pub(crate) versions: Vec<(VersionInfo, Frame)>,
}

/// A dump that is being written.
pub(crate) struct Export<W: Write> {
    tar: Builder<W>,
    entries: Vec<Entry>,
    options: IpcWriteOptions,
}

impl<W: Write> Export<W> {
    /// Writes the head.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn begin(to: W, frames: &[Chosen], zstd: bool) -> Result<Export<W>, Failure> {
        let compression = zstd.then_some(CompressionType::ZSTD);
        let options = IpcWriteOptions::default().try_with_compression(compression);
        let options = options.map_err(|error| Failure::doing("write an export", &error))?;
        let mut export = Export { tar: Builder::new(to), entries: Vec::new(), options };
        let head = Head {
            format_version: FORMAT_VERSION,
            written_by: env!("CARGO_PKG_VERSION").to_owned(),
            frames: frames.iter().map(|frame| frame.name.clone()).collect(),
        };
        export.json(HEAD.to_owned(), &head)?;
        Ok(export)
    }

    /// Writes a frame; `go_on` is asked before each piece, with the rows that it has.
    ///
    /// # Errors
    /// It cannot be read or written, or `go_on` says so.
    pub(crate) fn frame(
        &mut self,
        chosen: &Chosen,
        go_on: &mut dyn FnMut(u64) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let number = self.entries.iter().filter(|entry| entry.path.ends_with(FRAME)).count();
        let tag = |tag: &String, version| (tag.clone(), version);
        let described = Described {
            name: chosen.name.clone(),
            keep: chosen.keep,
            versions: chosen.versions.iter().map(|(info, _)| info.version).collect(),
            tags: chosen
                .versions
                .iter()
                .flat_map(|(info, _)| info.tags.iter().map(|name| tag(name, info.version)))
                .collect(),
        };
        self.json(format!("{number}/{FRAME}"), &described)?;
        let mut before: Option<&Frame> = None;
        for (info, frame) in &chosen.versions {
            let before = before.replace(frame).filter(|before| frame.goes_on_from(before));
            let described = DescribedVersion {
                version: info.version,
                created_ns: info.created_ns,
                num_rows: frame.num_rows(),
                goes_on: before.is_some(),
                source: info.source.clone(),
                made: info.made.clone(),
            };
            let folder = format!("{number}/{}", info.version);
            self.json(format!("{folder}/{VERSION}"), &described)?;
            self.rows(&folder, frame, before.map_or(0, Frame::num_rows), go_on)?;
        }
        Ok(())
    }

    /// The rows of a version from `first` on, where a partition begins.
    fn rows(
        &mut self,
        folder: &str,
        frame: &Frame,
        first: u64,
        go_on: &mut dyn FnMut(u64) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let arrow = |error: ArrowError| {
            Failure::doing(format_args!("export frame {:?}", frame.name()), &error)
        };
        let mut piece_number = 0_u64;
        let mut put = |export: &mut Self, batch: Option<&RecordBatch>| -> Result<(), Failure> {
            let bytes = export.stream(frame.schema(), batch).map_err(arrow)?;
            export.member(format!("{folder}/{piece_number:06}.arrows"), &bytes)?;
            piece_number += 1;
            Ok(())
        };
        // a schema at least
        put(self, None)?;
        let mut row = 0;
        for batch in frame.batches().map_err(|error| Failure::of_pool(&error))? {
            row += batch.num_rows() as u64;
            if row <= first {
                continue;
            }
            let rows = piece_rows(&batch);
            for start in (0..batch.num_rows()).step_by(rows) {
                let piece = batch.slice(start, rows.min(batch.num_rows() - start));
                go_on(piece.num_rows() as u64)?;
                put(self, Some(&piece))?;
            }
        }
        Ok(())
    }

    /// Writes the index, without which nothing can be imported.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn end(mut self) -> Result<W, Failure> {
        let entries = std::mem::take(&mut self.entries);
        self.json(INDEX.to_owned(), &entries)?;
        self.tar.into_inner().map_err(|error| Failure::doing("write an export", &error))
    }

    fn stream(&self, schema: &Schema, batch: Option<&RecordBatch>) -> Result<Vec<u8>, ArrowError> {
        let options = self.options.clone();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), schema, options)?;
        batch.map_or(Ok(()), |batch| writer.write(batch))?;
        writer.into_inner()
    }

    fn json(&mut self, path: String, value: &impl serde::Serialize) -> Result<(), Failure> {
        let bytes = serde_json::to_vec_pretty(value);
        let bytes = bytes.map_err(|error| Failure::doing("write an export", &error))?;
        self.member(path, &bytes)
    }

    fn member(&mut self, path: String, bytes: &[u8]) -> Result<(), Failure> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        self.tar
            .append_data(&mut header, &path, bytes)
            .map_err(|error| Failure::doing("write an export", &error))?;
        self.entries.push(Entry::of(path, bytes));
        Ok(())
    }
}

fn piece_rows(batch: &RecordBatch) -> usize {
    let of = |column: &arrow_array::ArrayRef| column.to_data().get_slice_memory_size().unwrap_or(0);
    let bytes: usize = batch.columns().iter().map(of).sum();
    let pieces = bytes.div_ceil(PIECE_BYTES).max(1);
    batch.num_rows().div_ceil(pieces).max(1)
}
