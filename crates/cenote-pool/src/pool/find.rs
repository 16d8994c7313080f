//! Finding versions, and what is said where there is none.

use super::{Core, Pool};
use crate::id::{EntryId, Generation};
use crate::message::{FrameLog, Refusal, Response, VersionInfo, VersionState, Which};
use crate::protocol::ledger::Version;

/// Versions that are named where another was asked for.
const KNOWN_MAX: usize = 12;

impl Pool {
    /// The client has put (manifest, generation) into its page. If the version is not yet
    /// freed, no later scan can miss that.
    pub(super) fn confirm(
        &self,
        manifest: EntryId,
        generation: Generation,
    ) -> Result<Response, Refusal> {
        let mut core = self.lock();
        core.ledger.refresh(manifest, generation);
        let version = core.ledger.version(manifest, generation).ok_or(Refusal::VersionGone)?;
        Ok(stands(version))
    }

    pub(super) fn find(&self, name: &str, which: &Which) -> Result<Response, Refusal> {
        let core = self.lock();
        let record = core.ledger.record(name).ok_or_else(|| not_found(&core, name))?;
        let version = match which {
            Which::Current => Some(record.settings.current),
            Which::Version(version) => Some(*version),
            Which::AsOf(ns) => record.as_of(*ns).map(|row| row.version),
            Which::Tag(tag) => record.settings.tags.get(tag).copied(),
        };
        if let Some(version) = version.and_then(|version| core.ledger.held(name, version)) {
            return Ok(stands(version));
        }
        let lost = version.and_then(|version| core.lost.get_key_value(&(name.to_owned(), version)));
        if let Some(((name, version), (_, reason))) = lost {
            let (name, reason) = (name.clone(), reason.clone());
            return Err(Refusal::Lost { name, version: *version, reason });
        }
        Err(match which {
            Which::Current => not_found(&core, name),
            Which::Version(version) => no_version(&core, name, format!("version {version}")),
            Which::AsOf(_) => no_version(&core, name, "version of that time any more".to_owned()),
            Which::Tag(tag) => no_version(&core, name, format!("tag {tag:?}")),
        })
    }

    pub(super) fn log(&self, name: &str) -> Result<Response, Refusal> {
        let core = self.lock();
        let record = core.ledger.record(name).ok_or_else(|| not_found(&core, name))?;
        let settings = &record.settings;
        let info = |row: &crate::row::Row| {
            let held = core.ledger.held(name, row.version);
            let state = if settings.gone.contains(&row.version) {
                VersionState::Gone
            } else if held.is_none() {
                VersionState::Lost
            } else if row.version == settings.current {
                VersionState::Current
            } else {
                VersionState::Kept
            };
            let tags = settings.tags.iter().filter(|(_, version)| **version == row.version);
            VersionInfo {
                version: row.version,
                state,
                tags: tags.map(|(tag, _)| tag.clone()).collect(),
                num_rows: row.num_rows,
                num_columns: row.num_columns,
                nbytes: held.map_or(0, |version| version.bytes),
                created_ns: row.created_ns,
                source: row.source.clone(),
                made: row.made.clone(),
            }
        };
        let versions = record.rows.values().map(info).collect();
        let (name, keep) = (name.to_owned(), settings.keep);
        Ok(Response::Log(Box::new(FrameLog { name, keep, versions })))
    }

    pub(super) fn corrupt(&self, entry: EntryId) -> Response {
        // A client's word is not enough to condemn a frame: the keeper looks itself.
        let mut core = self.lock();
        if core.ledger.place(entry).is_some() && !core.unverified.contains(&entry) {
            core.unverified.push(entry);
            self.wake.notify_all();
        }
        Response::Done
    }

    pub(super) fn verified(&self, entry: EntryId) -> Response {
        let core = self.lock();
        if core.ledger.place(entry).is_some() && !core.corrupt.contains_key(&entry) {
            core.ledger.set_verified(entry, true);
        }
        Response::Done
    }
}

fn stands(version: &Version) -> Response {
    Response::Manifest {
        entry: version.manifest(),
        generation: version.generation(),
        place: version.location.place,
        checksum: version.location.checksum,
    }
}

/// The frame is there, and has not what was wanted.
pub(super) fn no_version(core: &Core, name: &str, wanted: String) -> Refusal {
    let mut living: Vec<u64> = core.ledger.held_by(name).map(|v| v.row.version).collect();
    living.drain(..living.len().saturating_sub(KNOWN_MAX));
    Refusal::NoVersion { name: name.to_owned(), wanted, living }
}

pub(super) fn not_found(core: &Core, name: &str) -> Refusal {
    let nearest = crate::nearest::nearest(name, core.ledger.names().map(|(other, _)| other));
    Refusal::NotFound { name: name.chars().take(80).collect(), nearest }
}
