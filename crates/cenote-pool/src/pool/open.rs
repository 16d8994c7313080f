//! Taking a pool over, whatever the last owner left.
//!
//! In this order: the directory's lock; the catalog; the board's header; sessions and one
//! full scan of their leases; the ledger from board and catalog; the arenas. Nothing is
//! freed or moved before the scan.

use super::{
    Arc, AtomicBool, BTreeMap, BoardFile, Catalog, Condvar, Config, Core, Duration, Epoch, Estate,
    File, HashMap, Instant, Leased, Ledger, Liveness, LostFrame, Mutex, Pool, Row, RunDir, Session,
    SessionId, Space, io, lock_directory,
};

use cenote_region::process::boot_id;
use cenote_region::random::random_u64;
use tracing::{error, info, warn};

use crate::boardfile::BoardError;
use crate::catalog::{CatalogError, Contents};
use crate::id::EntryId;
use crate::manifest::{MANIFEST_BYTES_MAX, Manifest};
use crate::protocol::board::{HeaderError, Identity, Location, Shape};
use crate::protocol::heads::{Found, HeadTable, hash_name};
use crate::protocol::ledger::{Lost, ManifestChunks};
use crate::row::Change;
use crate::words::Shared;

mod error;

pub use error::OpenError;

/// Lost frames that the log names one by one.
const TOLD_MAX: usize = 100;
/// Smallest capacity that a pool is made with.
const CAPACITY_MIN: u64 = 1 << 20;
/// What a new owner's head table, journal and sessions may take.
const OWN_BYTES: u64 = 16 << 20;

impl Pool {
    /// Opens the pool in `config.dir`, or makes it.
    ///
    /// # Errors
    /// [`OpenError`]; then nothing is changed, but for the directory having been made.
    pub fn open(config: Config) -> Result<Arc<Pool>, OpenError> {
        let begin = Instant::now();
        config.dir.create()?;
        let lock = lock_directory(&config.dir)?;
        let path = config.dir.path().to_owned();
        let dir = config.dir.clone();
        let io = |source: io::Error| OpenError::io(&dir, source);
        let (catalog, contents) = open_catalog(&config.dir).map_err(&io)?;
        let found = open_board(&config.dir, &path)?;
        let is_new = matches!(found, Err(None));
        let mut state = Inherited { contents, ..Inherited::default() };
        let board = match found {
            Ok(board) => {
                if catalog.1
                    || state.contents.is_damaged
                    || catalog.0.number() < board.view().logged()
                {
                    let known = state.contents.rows.clone();
                    state.contents.rows = rows_from_heads(&config.dir, &board, known.clone());
                    state.incomplete = Some(known);
                }
                board
            }
            Err(reason) => {
                // The catalog may have lost something, too, and the board would have told.
                let known = state.contents.rows.clone();
                let mut names = names_from_heads(&config.dir);
                names.retain(|name| known.iter().all(|row| row.name != *name));
                let unnamed = Row::unnamed(EntryId(0), 0, 0);
                let rows = names.into_iter().map(|name| Row { name, ..unnamed.clone() });
                state.contents.rows.extend(rows);
                state.incomplete = Some(known);
                state.begin_anew(&config.dir, reason);
                let boot = boot_id().map_err(&io)?;
                let identity =
                    Identity { boot, pool: random_u64().map_err(&io)?, shape: Shape::DEFAULT };
                BoardFile::create(&config.dir, identity).map_err(|e| io(io::Error::other(e)))?
            }
        };
        let capacity = capacity(&config, board.view().capacity())?;
        let mut space = Space::open(config.dir.clone(), board.clone(), capacity).map_err(&io)?;
        if cenote_region::space::fs_space(dir.path())
            .is_ok_and(|space| space.available.0 < OWN_BYTES)
        {
            space.trim_unnamed();
        }
        let mut estate = Estate {
            dir: config.dir.clone(),
            board,
            space,
            catalog: catalog.0,
            request: (SessionId::NONE, 0),
        };
        let sessions = adopt_sessions(&config.dir, &state.contents).map_err(&io)?;
        let adopted =
            adopt_ledger(&mut estate, &sessions, std::mem::take(&mut state.contents.rows));
        let (ledger, lost) = adopted.map_err(|e| io(io::Error::other(e)))?;
        state.lost.extend(lost.into_iter().map(|l| (l.row.name.clone(), (l.row, l.reason))));
        if let Some(known) = &state.incomplete {
            complete_catalog(&mut estate.catalog, known, &ledger, &state.lost).map_err(&io)?;
        }
        estate.board.view().set_logged(estate.catalog.number());
        let pool = assemble(config, lock, capacity, ledger, estate, sessions, state.lost);
        sweep_heads(&pool);
        tell(&pool, is_new, begin.elapsed());
        pool.start_keepers();
        Ok(pool)
    }
}

/// What was found, and what was lost.
fn tell(pool: &Pool, is_new: bool, took: Duration) {
    let info = pool.info();
    for frame in info.lost.iter().take(TOLD_MAX) {
        warn!(frame.name, frame.version, frame.source, "lost: {}", frame.reason);
    }
    info!(
        path = info.path,
        epoch = info.epoch.0,
        capacity = info.capacity,
        frames = info.frames,
        lost = info.lost.len(),
        clients = info.clients,
        took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        "{}",
        if is_new { "made a pool" } else { "took the pool over" }
    );
}

#[derive(Default)]
struct Inherited {
    contents: Contents,
    lost: BTreeMap<String, (Row, String)>,
    /// The catalog's rows, where it does not have all that it should.
    incomplete: Option<Vec<Row>>,
}

impl Inherited {
    /// There is no board to go by: everything in the catalog is lost, and what remains of it
    /// is unlinked, which harms no reader that has it mapped.
    fn begin_anew(&mut self, dir: &RunDir, reason: Option<String>) {
        for prefix in ["arena", "lease", "alive", "heads"] {
            for number in dir.numbered(prefix).unwrap_or_default() {
                let _ = std::fs::remove_file(dir.file(&format!("{prefix}.{number}")));
            }
        }
        let reason = reason.unwrap_or_else(|| "the board is missing".to_owned());
        for row in self.contents.rows.drain(..) {
            self.lost.insert(row.name.clone(), (row, reason.clone()));
        }
        self.contents.sequences.clear();
    }
}

/// What the user said, else what the last owner had, else half of what can be had.
fn capacity(config: &Config, remembered: u64) -> Result<u64, OpenError> {
    let path = config.dir.path().to_owned();
    let space = cenote_region::space::fs_space(&path)
        .map_err(|source| OpenError::Io { path: path.clone(), source })?;
    let headroom = cenote_region::headroom::memory_headroom().map_or(u64::MAX, |h| h.0);
    let half = space.total.0.min(headroom) / 2;
    let remembered = Some(remembered).filter(|bytes| *bytes >= CAPACITY_MIN);
    let capacity = config.capacity.or(remembered).unwrap_or(half);
    if capacity < CAPACITY_MIN {
        return Err(OpenError::NoRoom { path, needed: CAPACITY_MIN, available: capacity });
    }
    Ok(capacity)
}

/// The catalog; a damaged one is set aside, and the second value says so.
fn open_catalog(dir: &RunDir) -> io::Result<((Catalog, bool), Contents)> {
    match open_catalog_guarded(dir) {
        Ok((catalog, contents)) => Ok(((catalog, false), contents)),
        Err(CatalogError::Io(error)) => Err(error),
        Err(error) => {
            let aside = |name: &str| {
                let _ = std::fs::rename(dir.file(name), dir.file(&format!("damaged.{name}")));
            };
            error!("the catalog is damaged, and set aside: {error}");
            aside("catalog.redb");
            aside("journal");
            let (catalog, contents) = Catalog::open(dir.path()).map_err(io::Error::other)?;
            drop(error);
            Ok(((catalog, true), contents))
        }
    }
}

/// redb checks what it reads, and still a page of rubbish may trip an assertion in it: that
/// is damage, too.
fn open_catalog_guarded(dir: &RunDir) -> Result<(Catalog, Contents), CatalogError> {
    let path = dir.path().to_owned();
    std::panic::catch_unwind(move || Catalog::open(&path)).unwrap_or_else(|_| {
        Err(CatalogError::Redb(redb::Error::Corrupted(
            "its pages contradict themselves".to_owned(),
        )))
    })
}

/// The board; inside, why there is none to go by (`None`: the pool is new).
fn open_board(
    dir: &RunDir,
    path: &std::path::Path,
) -> Result<Result<BoardFile, Option<String>>, OpenError> {
    let io = |source| OpenError::io(dir, source);
    match BoardFile::open(dir) {
        Ok(board) => {
            if board.view().identity().boot == boot_id().map_err(io)? {
                Ok(Ok(board))
            } else {
                Ok(Err(Some("the machine was restarted since".to_owned())))
            }
        }
        Err(BoardError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Err(None)),
        Err(BoardError::Io(error)) => Err(io(error)),
        Err(BoardError::Header(source @ HeaderError::Version { .. })) => {
            Err(OpenError::Layout { path: path.to_owned(), source })
        }
        Err(BoardError::Header(error)) => Ok(Err(Some(error.to_string()))),
    }
}

/// The catalog is damaged, the board is not: the heads say which manifests have names, the
/// manifests what they are. What is known of a version from the catalog is kept.
fn rows_from_heads(dir: &RunDir, board: &BoardFile, known: Vec<Row>) -> Vec<Row> {
    let table = open_heads(dir, board.view().heads()).or_else(|| last_heads(dir));
    let Some(table) = table else { return known };
    let files = Space::open(dir.clone(), board.clone(), 0).ok();
    let mut known: HashMap<u64, Row> =
        known.into_iter().map(|row| (row.manifest_checksum, row)).collect();
    let mut rows = Vec::new();
    for (name, manifest) in table.entries() {
        let record = board.view().entry(manifest).record;
        let Some(location) = record.and_then(|r| board.view().location(r)) else {
            // It has a name and no place: adoption says that it is lost.
            rows.push(Row { name, ..Row::unnamed(manifest, 0, 0) });
            continue;
        };
        let row = known.remove(&location.checksum).unwrap_or_else(|| {
            let mut row = Row::unnamed(manifest, location.checksum, location.place.length);
            let read = files.as_ref().and_then(|files| load_manifest(files, &location).ok());
            if let Some(read) = read {
                row.version = read.version;
                row.num_rows = read.num_rows();
                row.num_columns = read.draft.num_columns;
                row.created_ns = read.created_ns;
            }
            row
        });
        rows.push(Row { name, ..row });
    }
    // A name that the table does not have: dropped, if the table says so; else its slot is
    // damaged, too.
    let named: std::collections::HashSet<String> = rows.iter().map(|r| r.name.clone()).collect();
    rows.extend(known.into_values().filter(|row| {
        let found = table.find(&row.name, hash_name(&row.name));
        !named.contains(&row.name) && !matches!(found, Found::Slot(_))
    }));
    rows
}

/// Board and catalog are gone: all that the heads still tell is what was lost.
fn names_from_heads(dir: &RunDir) -> Vec<String> {
    let entries = last_heads(dir).map(|table| table.entries()).unwrap_or_default();
    entries.into_iter().map(|(name, _)| name).collect()
}

/// The last head table that is whole, where the board does not say which one counts.
fn last_heads(dir: &RunDir) -> Option<HeadTable<Shared>> {
    let numbers = dir.numbered("heads").unwrap_or_default();
    numbers.into_iter().rev().find_map(|number| open_heads(dir, number))
}

fn open_heads(dir: &RunDir, number: u64) -> Option<HeadTable<Shared>> {
    HeadTable::open(Shared::read_all(&dir.heads(number)).ok()?, number)
}

/// Gives the catalog what it lacks, and takes from it what is no more, so that the next owner
/// finds what this one has found.
fn complete_catalog(
    catalog: &mut Catalog,
    known: &[Row],
    ledger: &super::Book,
    lost: &BTreeMap<String, (Row, String)>,
) -> io::Result<()> {
    let current = ledger.names().map(|(_, version)| &version.row);
    let current: BTreeMap<&str, &Row> = current
        .chain(lost.values().map(|(row, _)| row))
        .map(|row| (row.name.as_str(), row))
        .collect();
    for row in known.iter().filter(|row| !current.contains_key(row.name.as_str())) {
        catalog.append(SessionId::NONE, 0, &Change::Drop { name: row.name.clone() })?;
    }
    let known: BTreeMap<&str, &Row> = known.iter().map(|row| (row.name.as_str(), row)).collect();
    for row in current.values().filter(|row| known.get(row.name.as_str()) != Some(*row)) {
        catalog.append(SessionId::NONE, 0, &Change::Commit((*row).clone()))?;
    }
    Ok(())
}

fn adopt_sessions(dir: &RunDir, contents: &Contents) -> io::Result<BTreeMap<SessionId, Session>> {
    let mut sessions = BTreeMap::new();
    for number in dir.numbered("alive")? {
        let id = SessionId(number);
        let adopted = Session::adopt(dir, id);
        match adopted {
            Some(mut session) if session.liveness() != Liveness::Dead => {
                session.sequence = contents.sequences.get(&id).copied().unwrap_or(0);
                session.quarantined = session.liveness() == Liveness::Unclear;
                sessions.insert(id, session);
            }
            Some(session) => session.remove(dir),
            None => {
                // Half made, or half removed: if its lock is held, its client is about to
                // find that it has no session.
                let _ = std::fs::remove_file(dir.lease(id));
                let _ = std::fs::remove_file(dir.alive(id));
            }
        }
    }
    for number in dir.numbered("lease")? {
        if !sessions.contains_key(&SessionId(number)) {
            let _ = std::fs::remove_file(dir.lease(SessionId(number)));
        }
    }
    Ok(sessions)
}

/// Ledger and losses; afterwards nothing is retired but what somebody leases.
fn adopt_ledger(
    estate: &mut Estate,
    sessions: &BTreeMap<SessionId, Session>,
    rows: Vec<Row>,
) -> Result<(super::Book, Vec<Lost>), crate::protocol::ledger::LedgerError> {
    let leased = scan_all(sessions);
    let board = estate.board.view().clone();
    // The reader of manifests borrows what adoption also writes: it gets a view of its own.
    let files = Space::open(estate.dir.clone(), estate.board.clone(), estate.space.capacity())?;
    let sound = |place: &crate::id::Place| files.holds(place);
    let read = |location: &Location| read_manifest(&files, location);
    let adopted = Ledger::adopt(board, estate, rows, &leased, sound, read)?;
    let mut ledger = adopted.ledger;
    // The bytes of orphans in arenas that clients still write stay theirs: a client whose
    // commit was cut off repeats it.
    loop {
        let mark = ledger.mark();
        if !ledger.collect(mark, &scan_all(sessions)).again {
            break;
        }
    }
    let lives = |id: SessionId| sessions.contains_key(&id);
    estate.space.settle(ledger.occupied(), lives);
    Ok((ledger, adopted.lost))
}

pub(super) fn scan_all(sessions: &BTreeMap<SessionId, Session>) -> Leased {
    let mut leased = Leased::default();
    // In the order of their numbers: a child's page after its parent's.
    for session in sessions.values() {
        session.scan(&mut leased);
    }
    leased
}

/// Reads a manifest's bytes with bounds and checksum.
pub(super) fn read_manifest(space: &Space, location: &Location) -> Result<ManifestChunks, String> {
    let manifest = load_manifest(space, location)?;
    Ok(manifest.chunks.iter().map(|c| (c.entry, c.length, c.checksum)).collect())
}

pub(super) fn load_manifest(space: &Space, location: &Location) -> Result<Manifest, String> {
    let length = location.place.length;
    if length > MANIFEST_BYTES_MAX {
        return Err(format!("its manifest claims {length} bytes"));
    }
    let mut bytes = vec![0; usize::try_from(length).map_err(|e| e.to_string())?];
    space
        .read(&location.place, 0, &mut bytes)
        .map_err(|error| format!("its manifest cannot be read: {error}"))?;
    if cenote_region::copy::checksum(&bytes) != location.checksum {
        return Err("its manifest does not match its checksum".to_owned());
    }
    Manifest::decode(&bytes).map_err(|error| format!("its manifest is damaged: {error}"))
}

fn assemble(
    config: Config,
    lock: File,
    capacity: u64,
    ledger: super::Book,
    mut estate: Estate,
    mut sessions: BTreeMap<SessionId, Session>,
    lost: BTreeMap<String, (Row, String)>,
) -> Arc<Pool> {
    for (id, arena) in estate.space.arenas() {
        if let Some(session) = sessions.get_mut(&arena.owner.session) {
            session.arenas.push(id);
        }
    }
    estate.space.trim(0);
    let board = estate.board.view();
    // Beyond every session's, too: a damaged board must not have numbers given out twice.
    let of_sessions = sessions.keys().next_back().map_or(0, |id| id.0 >> 32);
    let last = board.epoch().0.max(u32::try_from(of_sessions).unwrap_or(0));
    let epoch = Epoch(last.wrapping_add(1));
    let pool_id = board.identity().pool;
    board.set_epoch(epoch, u64::from(std::process::id()));
    board.set_capacity(capacity);
    let reserve = config.reserve.unwrap_or((capacity / 4).min(1280 << 20));
    let unverified: Vec<EntryId> =
        ledger.names().flat_map(|(_, v)| v.chunks.iter().copied()).collect();
    let core = Core {
        ledger,
        estate,
        sessions,
        next_session: 1,
        lost,
        corrupt: HashMap::new(),
        uses: HashMap::new(),
        unverified,
        last_client: Instant::now(),
        fresh: true,
        thinned: true,
        ended: Vec::new(),
    };
    Arc::new(Pool {
        config,
        capacity,
        reserve,
        epoch,
        pool_id,
        started: Instant::now(),
        core: Mutex::new(core),
        freed: Condvar::new(),
        wake: Condvar::new(),
        stopping: AtomicBool::new(false),
        keepers: Mutex::new(Vec::new()),
        lock: Mutex::new(Some(lock)),
    })
}

/// Head tables other than the current one belong to nobody.
fn sweep_heads(pool: &Pool) {
    let current = pool.lock().ledger.board().heads();
    for number in pool.dir().numbered("heads").unwrap_or_default() {
        if number != current {
            let _ = std::fs::remove_file(pool.dir().heads(number));
        }
    }
    let _ = std::fs::remove_file(pool.dir().file("board.new"));
}

pub(super) fn lost_frames(lost: &BTreeMap<String, (Row, String)>) -> Vec<LostFrame> {
    lost.values()
        .map(|(row, reason)| LostFrame {
            name: row.name.clone(),
            version: row.version,
            source: row.source.clone(),
            reason: reason.clone(),
        })
        .collect()
}

/// How long a keeper sleeps when nothing wakes it.
pub(super) const TICK: Duration = Duration::from_millis(50);
