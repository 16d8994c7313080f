//! Commits, drops, renames, and finding versions.

use std::time::{SystemTime, UNIX_EPOCH};

use super::{Core, Pool, system};
use crate::id::{EntryId, Generation, SessionId, VERSION_CHUNKS_MAX};
use crate::manifest::{ChunkRef, encode};
use crate::message::{Commit, Refusal, Response, check_name};
use crate::protocol::ledger::LedgerError;
use crate::row::Row;

impl Pool {
    pub(super) fn commit(&self, session: SessionId, commit: Commit) -> Result<Response, Refusal> {
        let Commit { sequence, name, if_exists, source, chunks, draft } = commit;
        check_name(&name)?;
        let unsound = |what: String| Refusal::Unsound { what };
        draft.check(chunks.len()).map_err(|error| unsound(error.to_string()))?;
        if chunks.len() > VERSION_CHUNKS_MAX {
            let (used, room) = (chunks.len() as u64, VERSION_CHUNKS_MAX as u64);
            return Err(Refusal::Bound { what: "chunks of one version".to_owned(), used, room });
        }
        let mut core = self.lock();
        let core = &mut *core;
        if done_before(core, session, sequence)? {
            // The reply was lost, not the change.
            let version = core.ledger.get(&name).map_or(0, |v| v.row.version);
            return Ok(Response::Committed { version });
        }
        for (i, chunk) in chunks.iter().enumerate() {
            if let Err(what) = core.estate.space.occupy(session, &chunk.place) {
                for chunk in &chunks[..i] {
                    core.estate.space.release(&chunk.place);
                }
                return Err(unsound(format!("chunk {i}: {what}")));
            }
        }
        let created_ns = now_ns();
        let row = Row {
            name: name.clone(),
            version: core.lost.get(&name).map_or(1, |(row, _)| row.version + 1),
            num_rows: draft.num_rows(),
            num_columns: draft.num_columns,
            created_ns,
            source,
            ..Row::unnamed(EntryId(0), 0, 0)
        };
        core.estate.request = (session, sequence);
        let make = |entries: &[EntryId], row: &Row| {
            let refs: Vec<ChunkRef> = entries
                .iter()
                .zip(&chunks)
                .map(|(&entry, c)| ChunkRef { entry, length: c.place.length, checksum: c.checksum })
                .collect();
            encode(&draft, &[], &refs, row.version, created_ns)
        };
        match core.ledger.commit(&mut core.estate, row, if_exists, &chunks, make) {
            Ok(version) => {
                let version = version.row.version;
                core.lost.remove(&name);
                finish(core, session, sequence);
                if core.ledger.has_retired() {
                    core.fresh = true;
                    self.wake.notify_all();
                }
                Ok(Response::Committed { version })
            }
            Err(error) => {
                for chunk in &chunks {
                    core.estate.space.release(&chunk.place);
                }
                Err(refusal(self, core, error, "commit"))
            }
        }
    }

    pub(super) fn drop_frame(
        &self,
        session: SessionId,
        sequence: u64,
        name: &str,
    ) -> Result<Response, Refusal> {
        let mut core = self.lock();
        let core = &mut *core;
        if done_before(core, session, sequence)? {
            return Ok(Response::Done);
        }
        core.estate.request = (session, sequence);
        if core.ledger.get(name).is_none() && core.lost.contains_key(name) {
            use crate::protocol::ledger::World;
            let change = crate::row::Change::Drop { name: name.to_owned() };
            core.estate.log(&change).map_err(|error| system("drop the frame", &error))?;
            core.lost.remove(name);
        } else {
            let outcome = core.ledger.drop_name(&mut core.estate, name);
            outcome.map_err(|error| refusal(self, core, error, "drop the frame"))?;
            core.lost.remove(name);
        }
        finish(core, session, sequence);
        core.fresh = true;
        self.wake.notify_all();
        Ok(Response::Done)
    }

    pub(super) fn rename(
        &self,
        session: SessionId,
        sequence: u64,
        from: &str,
        to: &str,
    ) -> Result<Response, Refusal> {
        check_name(to)?;
        let mut core = self.lock();
        let core = &mut *core;
        if done_before(core, session, sequence)? {
            return Ok(Response::Done);
        }
        core.estate.request = (session, sequence);
        let outcome = core.ledger.rename(&mut core.estate, from, to);
        outcome.map_err(|error| refusal(self, core, error, "rename the frame"))?;
        core.lost.remove(to);
        if let Some(condemned) = core.lost.remove(from) {
            core.lost.insert(to.to_owned(), condemned);
        }
        finish(core, session, sequence);
        Ok(Response::Done)
    }

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
        let (place, checksum) = (version.location.place, version.location.checksum);
        Ok(Response::Manifest { entry: manifest, generation, place, checksum })
    }

    pub(super) fn find(&self, name: &str) -> Result<Response, Refusal> {
        let core = self.lock();
        match core.ledger.get(name) {
            Some(version) => Ok(Response::Manifest {
                entry: version.manifest,
                generation: version.generation,
                place: version.location.place,
                checksum: version.location.checksum,
            }),
            None => Err(not_found(&core, name)),
        }
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

/// Whether the session's change `sequence` has happened. Its changes come in order, one at
/// a time.
fn done_before(core: &Core, session: SessionId, sequence: u64) -> Result<bool, Refusal> {
    let known = core.sessions.get(&session).ok_or(Refusal::NoSession { session })?;
    if sequence < known.sequence {
        // Its client has given up waiting for it, and has gone on.
        let what = format!("change {sequence} comes after change {}", known.sequence);
        return Err(Refusal::Unsound { what });
    }
    Ok(sequence != 0 && sequence == known.sequence)
}

fn finish(core: &mut Core, session: SessionId, sequence: u64) {
    if let Some(session) = core.sessions.get_mut(&session) {
        session.sequence = sequence;
    }
}

fn refusal(pool: &Pool, core: &Core, error: LedgerError, what: &str) -> Refusal {
    match error {
        LedgerError::Exists(name) => Refusal::Exists { name },
        LedgerError::NotFound(name) => not_found(core, &name),
        LedgerError::BoardFull { what, used, room } => {
            Refusal::Bound { what: format!("board {what}"), used, room }
        }
        LedgerError::Io(error) if error.kind() == std::io::ErrorKind::StorageFull => {
            let shortage = core.estate.space.shortage();
            pool.exhausted(core, cenote_region::quantity::PAGE, shortage)
        }
        LedgerError::Io(error) => system(what, &error),
    }
}

pub(super) fn not_found(core: &Core, name: &str) -> Refusal {
    let nearest = crate::nearest::nearest(name, core.ledger.names().map(|(other, _)| other));
    Refusal::NotFound { name: name.chars().take(80).collect(), nearest }
}

fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}
