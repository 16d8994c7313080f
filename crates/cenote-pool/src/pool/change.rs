//! Commits: a version anew, or as more of the one before.

use std::time::{SystemTime, UNIX_EPOCH};

use super::{Core, Pool, system};
use crate::id::{EntryId, SessionId, VERSION_CHUNKS_MAX};
use crate::manifest::{ChunkRef, encode};
use crate::message::{Commit, Refusal, Response, Restored, check_name};
use crate::protocol::ledger::{IfExists, LedgerError, Put, Sealed};
use crate::row::Row;

use super::append::{Base, base_of};

/// Greatest number that a restored version may have: others can follow.
const RESTORED_VERSION_MAX: u64 = u64::MAX >> 1;
/// Clocks of two hosts may differ by so much.
const DAY_NS: u64 = 86_400 * 1_000_000_000;

impl Pool {
    pub(super) fn commit(
        &self,
        session: SessionId,
        mut commit: Commit,
    ) -> Result<Response, Refusal> {
        check_name(&commit.name)?;
        let unsound = |what: String| Refusal::Unsound { what };
        commit.draft.check(commit.chunks.len()).map_err(|error| unsound(error.to_string()))?;
        commit.made.bound();
        let mut core = self.lock();
        let core = &mut *core;
        if done_before(core, session, commit.sequence)? {
            // The reply was lost, not the change.
            let version = core.ledger.get(&commit.name).map_or(0, |v| v.row.version);
            return Ok(Response::Committed { version });
        }
        let terms = core.ledger.check_terms(&commit.name, commit.if_exists, commit.expect);
        terms.map_err(|error| refusal(self, core, error, "commit"))?;
        if let Some(restored) = &commit.restored {
            check_restored(core, &commit.name, restored)?;
        }
        let base = match commit.if_exists {
            IfExists::Append => base_of(core, &commit)?,
            IfExists::Fail | IfExists::Replace => None,
        };
        let before = base.as_ref().map_or(0, |base| base.num_chunks);
        let num_chunks = before + commit.chunks.len() as u64;
        if num_chunks > VERSION_CHUNKS_MAX as u64 {
            let (used, room) = (num_chunks, VERSION_CHUNKS_MAX as u64);
            return Err(Refusal::Bound { what: "chunks of one version".to_owned(), used, room });
        }
        for (i, chunk) in commit.chunks.iter().enumerate() {
            if let Err(what) = core.estate.space.occupy(session, &chunk.place) {
                release(core, &commit.chunks[..i]);
                return Err(unsound(format!("chunk {i}: {what}")));
            }
        }
        core.estate.request = (session, commit.sequence);
        match commit_sealed(core, &mut commit, base.unwrap_or_default()) {
            Ok(version) => {
                core.lost.retain(|(name, version), _| {
                    *name != commit.name
                        || core.ledger.record(name).is_some_and(|r| r.row(*version).is_some())
                });
                finish(core, session, commit.sequence);
                if core.ledger.has_retired() {
                    core.fresh = true;
                    self.wake.notify_all();
                }
                Ok(Response::Committed { version })
            }
            Err(error) => {
                release(core, &commit.chunks);
                Err(refusal(self, core, error, "commit"))
            }
        }
    }
}

/// Numbers and times of a name's versions go up, and not so far that no other could follow.
fn check_restored(core: &Core, name: &str, restored: &Restored) -> Result<(), Refusal> {
    let current = core.ledger.get(name).map(|version| &version.row);
    let (version, created_ns) = current.map_or((0, 0), |row| (row.version, row.created_ns));
    let Restored { version: number, created_ns: time } = *restored;
    let what = if number <= version || number > RESTORED_VERSION_MAX {
        format!("version {number} cannot follow version {version}")
    } else if time <= created_ns || time > now_ns().saturating_add(DAY_NS) {
        format!("a version of {time} ns since 1970 cannot follow one of {created_ns} ns, today")
    } else {
        return Ok(());
    };
    Err(Refusal::Unsound { what })
}

fn release(core: &mut Core, chunks: &[Sealed]) {
    for chunk in chunks {
        core.estate.space.release(&chunk.place);
    }
}

/// Commits what was checked and is occupied.
fn commit_sealed(core: &mut Core, commit: &mut Commit, base: Base) -> Result<u64, LedgerError> {
    let Base { inherited, mut chunks, mut own, .. } = base;
    own.add(std::mem::take(&mut commit.draft), chunks.len());
    let draft = own.finish();
    let references = inherited.references.clone();
    let rows_before: u64 = references.iter().map(|r| r.rows).sum();
    // Versions of a name follow each other in time, whatever the clock does.
    let last = core.ledger.record(&commit.name);
    let last = last.and_then(|r| r.rows.get(&r.settings.current)).map_or(0, |row| row.created_ns);
    let mut made = std::mem::take(&mut commit.made);
    let (version, created_ns) = match commit.restored {
        Some(restored) => (restored.version, restored.created_ns),
        None => {
            made.append = commit.if_exists == IfExists::Append && last != 0;
            (0, now_ns().max(last.saturating_add(1)))
        }
    };
    let row = Row {
        name: commit.name.clone(),
        version,
        num_rows: rows_before + draft.num_rows(),
        num_columns: draft.num_columns,
        created_ns,
        source: std::mem::take(&mut commit.source),
        made,
        ..Row::unnamed(EntryId(0), 0, 0)
    };
    let sealed = &commit.chunks;
    let make = |entries: &[EntryId], row: &Row| {
        let new = entries.iter().zip(sealed);
        let new = new.map(|(&entry, c)| (entry, c.place.length, c.checksum));
        chunks.extend(new.map(|(entry, length, checksum)| ChunkRef { entry, length, checksum }));
        encode(&draft, &references, &chunks, row.version, created_ns)
    };
    let put = Put {
        row,
        if_exists: commit.if_exists,
        expect: commit.expect,
        data: sealed,
        inherited,
        partitions: u32::try_from(draft.partitions.len()).unwrap_or(u32::MAX),
        schema: cenote_region::copy::hash(&draft.schema),
    };
    Ok(core.ledger.commit(&mut core.estate, put, make)?.row.version)
}

/// Whether the session's change `sequence` has happened. Its changes come in order, one at
/// a time.
pub(super) fn done_before(core: &Core, session: SessionId, sequence: u64) -> Result<bool, Refusal> {
    let known = core.sessions.get(&session).ok_or(Refusal::NoSession { session })?;
    if sequence < known.sequence {
        // Its client has given up waiting for it, and has gone on.
        let what = format!("change {sequence} comes after change {}", known.sequence);
        return Err(Refusal::Unsound { what });
    }
    Ok(sequence != 0 && sequence == known.sequence)
}

pub(super) fn finish(core: &mut Core, session: SessionId, sequence: u64) {
    if let Some(session) = core.sessions.get_mut(&session) {
        session.sequence = sequence;
    }
}

pub(super) fn refusal(pool: &Pool, core: &Core, error: LedgerError, what: &str) -> Refusal {
    match error {
        LedgerError::Exists(name) => Refusal::Exists { name },
        LedgerError::Conflict { name, expected, found } => {
            Refusal::Conflict { name, expected, found }
        }
        LedgerError::NotFound(name) => super::find::not_found(core, &name),
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

pub(super) fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}
