//! The versions of a frame: which are kept, what they are called, what made them, and in what
//! they differ.

use cenote_pool::message::{FrameLog, Request, Response, VersionInfo, VersionState, Which};
use cenote_pool::row::Keep;

use crate::diff::Diff;
use crate::error::Error;
use crate::link::unexpected;
use crate::pool::Pool;
use crate::selection::Selection;

impl Pool {
    /// The versions of a frame, oldest first, with what made them: those that can be had, and
    /// the last of those that are gone.
    ///
    /// # Errors
    /// No such frame.
    pub fn log(&self, name: &str) -> Result<FrameLog, Error> {
        match self.session()?.call(&Request::Log { name: name.to_owned() })? {
            Response::Log(log) => Ok(*log),
            other => Err(unexpected(&other)),
        }
    }

    /// The versions of a frame that can be had, oldest first.
    ///
    /// # Errors
    /// No such frame.
    pub fn versions(&self, name: &str) -> Result<Vec<VersionInfo>, Error> {
        let mut versions = self.log(name)?.versions;
        versions.retain(|v| matches!(v.state, VersionState::Current | VersionState::Kept));
        Ok(versions)
    }

    /// Sets which versions of a frame are kept beside the current one and those with a tag.
    /// Those that no longer are go, as soon as nobody reads them.
    ///
    /// # Errors
    /// No such frame.
    pub fn keep(&self, name: &str, keep: Keep) -> Result<(), Error> {
        let name = name.to_owned();
        self.done(|sequence| Request::Keep { sequence, name, keep })
    }

    /// Gives a version a tag, the current one if `version` is `None`; returns which one. It is
    /// kept as long as it has one. Another version that had the tag has it no more.
    ///
    /// # Errors
    /// No such frame, no such version; the tag is no name.
    pub fn tag(&self, name: &str, tag: &str, version: Option<u64>) -> Result<u64, Error> {
        let (name, tag) = (name.to_owned(), tag.to_owned());
        let request = |sequence| Request::Tag { sequence, name, tag, version };
        match self.session()?.change(request)? {
            Response::Committed { version } => Ok(version),
            other => Err(unexpected(&other)),
        }
    }

    /// Takes a tag away. Its version goes if nothing else keeps it.
    ///
    /// # Errors
    /// No such frame, no such tag.
    pub fn untag(&self, name: &str, tag: &str) -> Result<(), Error> {
        let (name, tag) = (name.to_owned(), tag.to_owned());
        self.done(|sequence| Request::Untag { sequence, name, tag })
    }

    /// Drops one version that is neither the current one nor has a tag. Who reads it goes on.
    ///
    /// # Errors
    /// No such version; it is needed.
    pub fn drop_version(&self, name: &str, version: u64) -> Result<(), Error> {
        let name = name.to_owned();
        self.done(|sequence| Request::DropVersion { sequence, name, version })
    }

    /// In what two versions of a frame differ: columns, rows, bytes, and what is known of each
    /// column's values. Reads no data.
    ///
    /// # Errors
    /// No such frame, no such version.
    pub fn diff(&self, name: &str, from: Which, to: Which) -> Result<Diff, Error> {
        let get = |which| self.get_selected(name, &Selection { which, ..Selection::default() });
        Ok(Diff::between(&get(from)?, &get(to)?))
    }
}
