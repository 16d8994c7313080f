//! Reading a dump, in one pass.

use std::io::{Cursor, Read};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, SchemaRef};
use serde::de::DeserializeOwned;
use tar::{Archive, Entries};

use super::{
    Described, DescribedVersion, Entry, FORMAT_VERSION, FRAME, HEAD, Head, INDEX, VERSION,
};
use crate::failure::Failure;

/// What comes next.
pub(crate) enum Item {
    /// Another frame begins.
    Frame(Described),
    /// Another version of it.
    Version(Box<DescribedVersion>),
    /// Rows of it; the first ones may be none, for their schema.
    Rows(SchemaRef, Vec<RecordBatch>),
}

/// A dump that is being read.
pub(crate) struct Dump<'a, R: Read> {
    members: Entries<'a, R>,
    seen: Vec<Entry>,
    /// What the head promises.
    pub(crate) frames: Vec<String>,
    name: String,
}

impl<'a, R: Read> Dump<'a, R> {
    /// Reads the head. `name` is what errors call the dump.
    ///
    /// # Errors
    /// It is no dump, or one of a version that is not known.
    pub(crate) fn begin(archive: &'a mut Archive<R>, name: String) -> Result<Self, Failure> {
        let doing = format!("read {name}");
        let members = archive.entries().map_err(|error| Failure::doing(&doing, &error))?;
        let mut dump = Dump { members, seen: Vec::new(), frames: Vec::new(), name };
        let head = match dump.member() {
            Ok(Some((path, bytes))) if path == HEAD => dump.parsed::<Head>(&path, &bytes)?,
            _ => {
                return Err(Failure::new(format!("{} is no export of cenote", dump.name))
                    .hint("`cenote export` writes one; `cenote put` loads other files"));
            }
        };
        if head.format_version != FORMAT_VERSION {
            return Err(Failure::new(format!(
                "{} is an export of version {}, and this cenote reads version {FORMAT_VERSION}",
                dump.name, head.format_version
            ))
            .hint(format!("cenote {} has written it", head.written_by)));
        }
        dump.frames = head.frames;
        Ok(dump)
    }

    /// The next frame or rows. `None`: the end, and every member had its checksum.
    ///
    /// # Errors
    /// The dump is damaged or not whole.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, Failure> {
        let Some((path, bytes)) = self.member()? else {
            return Err(Failure::new(format!("{} is not whole: it has no index", self.name))
                .hint("export again; nothing was imported"));
        };
        if path == INDEX {
            return self.check(&bytes).map(|()| None);
        }
        if path.ends_with(FRAME) {
            return self.parsed(&path, &bytes).map(|described| Some(Item::Frame(described)));
        }
        if path.ends_with(VERSION) {
            return self.parsed(&path, &bytes).map(|version| Some(Item::Version(version)));
        }
        let rows = || -> Result<_, ArrowError> {
            let reader = StreamReader::try_new(Cursor::new(&bytes), None)?;
            let schema = reader.schema();
            Ok(Item::Rows(schema, reader.collect::<Result<_, _>>()?))
        };
        rows().map(Some).map_err(|error| self.damaged(&path, &error))
    }

    fn check(&self, index: &[u8]) -> Result<(), Failure> {
        let wanted: Vec<Entry> = self.parsed(INDEX, index)?;
        // the index itself was read last
        let seen = &self.seen[..self.seen.len().saturating_sub(1)];
        if let Some((found, _)) = seen.iter().zip(&wanted).find(|(found, wanted)| found != wanted) {
            let text = format!("{}, member {:?}: its checksum is another", self.name, found.path);
            return Err(Failure::new(text).hint("export again; nothing was imported"));
        }
        if seen.len() != wanted.len() {
            let (seen, wanted) = (seen.len(), wanted.len());
            let text = format!("{} has {seen} members where its index has {wanted}", self.name);
            return Err(Failure::new(text).hint("export again; nothing was imported"));
        }
        Ok(())
    }

    fn member(&mut self) -> Result<Option<(String, Vec<u8>)>, Failure> {
        let failed = |error| Failure::doing(format_args!("read {}", self.name), &error);
        let Some(member) = self.members.next() else { return Ok(None) };
        let mut member = member.map_err(failed)?;
        let path = member.path().map_err(failed)?.to_string_lossy().into_owned();
        let (size, mut bytes) = (member.size(), Vec::new());
        member.read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 != size {
            return Err(Failure::new(format!("{} is cut short in {path:?}", self.name))
                .hint("export again; nothing was imported"));
        }
        self.seen.push(Entry::of(path.clone(), &bytes));
        Ok(Some((path, bytes)))
    }

    fn parsed<T: DeserializeOwned>(&self, path: &str, bytes: &[u8]) -> Result<T, Failure> {
        serde_json::from_slice(bytes).map_err(|error| self.damaged(path, &error))
    }

    fn damaged(&self, path: &str, error: &(dyn std::error::Error + 'static)) -> Failure {
        Failure::doing(format_args!("read member {path:?} of {}", self.name), error)
            .hint("the file is damaged: export again; nothing was imported")
    }
}
