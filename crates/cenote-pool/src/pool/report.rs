//! What the pool says of itself.

use std::collections::{HashMap, HashSet};

use cenote_region::headroom::memory_headroom;
use cenote_region::process::{ProcessId, state};
use cenote_region::space::{allocated, fs_space};

use super::{Core, Pool, SessionId};
use crate::id::{EntryId, Generation, Place};
use crate::message::{FrameInfo, LeaseInfo, PoolInfo, Refusal, Response, SessionInfo};
use crate::protocol::ledger::{Life, Version};

impl Pool {
    pub(super) fn list(&self) -> Response {
        let core = self.lock();
        let frames = core.ledger.names().map(|(name, version)| FrameInfo {
            name: name.to_owned(),
            version: version.row.version,
            num_rows: version.row.num_rows,
            num_columns: version.row.num_columns,
            nbytes: version.bytes,
            created_ns: version.row.created_ns,
            source: version.row.source.clone(),
            uses: core.uses.get(&version.manifest()).copied().unwrap_or(0),
        });
        Response::Frames(frames.collect())
    }

    /// The state of the pool, its sizes read off the file system.
    pub fn info(&self) -> PoolInfo {
        let core = self.lock();
        let space = &core.estate.space;
        let dir = self.dir();
        let file = |path: std::path::PathBuf| {
            std::fs::File::open(path).ok().and_then(|f| allocated(&f).ok()).map_or(0, |b| b.0)
        };
        let (mut open, mut ready, mut arena_bytes, mut leaked, mut own) = (0, 0, 0, 0, 0);
        for (_, arena) in space.arenas() {
            let bytes = arena.allocated();
            arena_bytes += bytes;
            let live = arena.book.live_pages();
            match arena.owner.session {
                SessionId::NONE if arena.book.is_empty() => ready += bytes,
                SessionId::NONE => {
                    leaked += bytes
                        .saturating_sub(live + arena.pending_bytes() + arena.book.unpunched_bytes())
                }
                SessionId::POOL => own += bytes,
                _ => open += bytes.saturating_sub(live),
            }
        }
        // A file that nobody knows is a leak, too.
        for number in dir.numbered("arena").unwrap_or_default() {
            let known = u32::try_from(number).ok().and_then(|n| space.arena(crate::id::ArenaId(n)));
            if known.is_none() {
                leaked += file(dir.file(&format!("arena.{number}")));
            }
        }
        let pages = |prefix: &str| -> u64 {
            let numbers = dir.numbered(prefix).unwrap_or_default();
            numbers.into_iter().map(|n| file(dir.file(&format!("{prefix}.{n}")))).sum()
        };
        for number in dir.numbered("lease").unwrap_or_default() {
            if !core.sessions.contains_key(&SessionId(number)) {
                leaked += file(dir.file(&format!("lease.{number}")));
            }
        }
        let files = ["board", "journal", "catalog.redb", "lock"].map(|n| file(dir.file(n)));
        let shared = files.iter().sum::<u64>() + pages("heads") + pages("lease") + pages("alive");
        let held: HashSet<Life> =
            core.ledger.versions().filter(|v| v.is_held()).flat_map(Version::lives).collect();
        let (mut sealed, mut retired, mut chunks) = (0, 0, 0);
        for (_, bytes, owners) in core.ledger.chunks() {
            chunks += 1;
            let is_held = owners.iter().any(|owner| held.contains(owner));
            *(if is_held { &mut sealed } else { &mut retired }) += bytes;
        }
        let unfreed = |(entry, generation, _): &(EntryId, Generation, Place)| {
            core.ledger.version(*entry, *generation).is_none()
        };
        let places = core.ledger.retired_places().filter(unfreed);
        retired += places.map(|(_, _, place)| place.length).sum::<u64>();
        PoolInfo {
            path: dir.path().display().to_string(),
            pid: std::process::id(),
            epoch: self.epoch,
            capacity: self.capacity,
            used: arena_bytes + shared,
            sealed,
            retired_held: retired,
            open,
            ready,
            metadata: shared + own,
            leaked,
            file_system_free: fs_space(dir.path()).map_or(0, |s| s.available.0),
            memory_headroom: memory_headroom().map(|h| h.0),
            frames: core.ledger.names().count() as u64,
            chunks,
            arenas: space.arenas().count() as u64,
            clients: core.sessions.values().filter(|s| s.spare_of.is_none()).count() as u64,
            uptime_s: self.started.elapsed().as_secs(),
            lost: super::open::lost_frames(&core.lost),
        }
    }

    pub(super) fn leases(&self) -> Response {
        let core = self.lock();
        Response::Leases(self.session_infos(&core))
    }

    pub(super) fn session_infos(&self, core: &Core) -> Vec<SessionInfo> {
        let mut by_manifest: HashMap<Life, (&Version, bool)> = HashMap::new();
        for version in core.ledger.versions() {
            let row = &version.row;
            let current = core.ledger.get(&row.name).is_some_and(|v| v.life() == version.life());
            by_manifest.insert(version.life(), (version, current));
        }
        let mut infos = Vec::new();
        for session in core.sessions.values() {
            if session.is_unused_spare() {
                continue;
            }
            let mut sums: HashMap<Life, (u64, u64)> = HashMap::new();
            let each = |lease: crate::protocol::word::Lease| {
                let key = (lease.entry, lease.generation);
                if let Some((version, _)) = by_manifest.get(&key) {
                    let sum = sums.entry(key).or_default();
                    if lease.kind == crate::protocol::word::LeaseKind::Version {
                        *sum = (version.num_chunks, version.bytes);
                    }
                } else if let Some((owner, bytes)) =
                    core.ledger.chunk(lease.entry, lease.generation)
                {
                    let sum = sums.entry(owner).or_default();
                    *sum = (sum.0 + 1, sum.1 + bytes);
                }
            };
            if let Some(page) = session.page.read() {
                page.scan(session.slots(), each);
            }
            let mut leases: Vec<LeaseInfo> = sums
                .into_iter()
                .map(|(key, (chunks, nbytes))| {
                    let version = by_manifest.get(&key);
                    LeaseInfo {
                        name: version.map(|(v, _)| v.row.name.clone()).unwrap_or_default(),
                        version: version.map_or(0, |(v, _)| v.row.version),
                        current: version.is_some_and(|(_, current)| *current),
                        chunks,
                        nbytes,
                    }
                })
                .collect();
            leases.sort_unstable_by(|a, b| (&a.name, a.version).cmp(&(&b.name, b.version)));
            let pid = session.reader();
            let granted = |id: &crate::id::ArenaId| {
                let arena = core.estate.space.arena(*id);
                arena.map_or(0, |a| a.allocated().saturating_sub(a.book.live_pages()))
            };
            infos.push(SessionInfo {
                session: session.id,
                pid,
                command: session.command.clone(),
                age_s: session.since.elapsed().as_secs(),
                connected: session.connected,
                quarantined: session.quarantined,
                stopped: matches!(state(ProcessId(pid)), Some('T' | 't')),
                open: session.arenas.iter().map(granted).sum(),
                leases,
            });
        }
        infos
    }

    pub(super) fn evict(&self, session: SessionId) -> Result<Response, Refusal> {
        {
            let core = self.lock();
            let found = core.sessions.get(&session).ok_or(Refusal::NoSession { session })?;
            if found.pid == std::process::id() {
                return Err(Refusal::Unsound { what: "that is the pool's own process".to_owned() });
            }
            found.kill().map_err(|error| super::system("end the client", &error))?;
        }
        // Its bytes are free once the kernel has released its lock.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while std::time::Instant::now() < deadline {
            self.sweep();
            if !self.lock().sessions.contains_key(&session) {
                return Ok(Response::Done);
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Err(Refusal::System {
            what: "see the client end within 5 s".to_owned(),
            error: "it was killed, and its lock is still held: a child of it may live".to_owned(),
        })
    }
}
