//! Taking a pool over, whatever the last owner left.
//!
//! In this order: the directory's lock; the catalog; the board's header; sessions and one
//! full scan of their leases; the ledger from board and catalog; the arenas. Nothing is
//! freed or moved before the scan.

use super::{
    Arc, AtomicBool, AtomicU64, BTreeMap, BoardFile, Catalog, Condvar, Config, Core, Duration,
    Epoch, Estate, File, HashMap, Instant, Leased, Ledger, Liveness, Lost, LostFrame, Mutex, Pool,
    Row, RunDir, Session, SessionId, Space, io, lock_directory,
};

use cenote_region::process::boot_id;
use cenote_region::random::random_u64;
use tracing::{error, info, warn};

use crate::boardfile::BoardError;
use crate::catalog::{CatalogError, Contents};
use crate::change::{Change, Frames};
use crate::id::EntryId;
use crate::manifest::{MANIFEST_BYTES_MAX, Manifest};
use crate::protocol::board::{HeaderError, Identity, Location, Shape};
use crate::protocol::ledger::{self, ManifestParts};
use crate::row::Record;

use heads::{complete_catalog, frames_from_heads, names_from_heads};

mod heads;

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
        // First what tells another release's pool, which is left as it is.
        let found = open_board(&config.dir, &path)?;
        let is_new = matches!(found, Err(None));
        let (catalog, contents) = open_catalog(&config.dir)?;
        let mut state = Inherited { contents, ..Inherited::default() };
        let board = match found {
            Ok(board) => {
                if catalog.1
                    || state.contents.is_damaged
                    || catalog.0.number() < board.view().logged()
                {
                    let known = state.contents.frames.clone();
                    state.contents.frames.expire_unsaid();
                    let known_rest = std::mem::take(&mut state.contents.frames);
                    let frames = frames_from_heads(&config.dir, &board, known_rest);
                    state.contents.frames = frames;
                    state.incomplete = Some(known);
                }
                board
            }
            Err(reason) => {
                // The catalog may have lost something, too, and the board would have told.
                let known = state.contents.frames.clone();
                state.contents.frames.expire_unsaid();
                for name in names_from_heads(&config.dir) {
                    if !known.0.contains_key(&name) {
                        let row = Row { name, ..Row::unnamed(EntryId(0), 0, 0) };
                        let change = Change::Commit { row: Box::new(row), expired: Vec::new() };
                        state.contents.frames.apply(&change);
                    }
                }
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
            adopt_ledger(&mut estate, &sessions, std::mem::take(&mut state.contents.frames));
        let (ledger, lost) = adopted.map_err(|e| io(io::Error::other(e)))?;
        let lost = lost.into_iter().map(|l| ((l.row.name.clone(), l.row.version), l));
        for (key, l) in lost {
            state.lost.entry(key).or_insert((l.row, l.reason));
        }
        if let Some(known) = &state.incomplete {
            complete_catalog(&mut estate.catalog, known, ledger.frames()).map_err(&io)?;
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
    lost: Lost,
    /// What the catalog has, where that is not all that it should.
    incomplete: Option<Frames>,
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
        for row in self.contents.frames.0.values().flat_map(Record::living) {
            let key = (row.name.clone(), row.version);
            self.lost.insert(key, (row.clone(), reason.clone()));
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
fn open_catalog(dir: &RunDir) -> Result<((Catalog, bool), Contents), OpenError> {
    let path = || dir.path().to_owned();
    match open_catalog_guarded(dir) {
        Ok((catalog, contents)) => Ok(((catalog, false), contents)),
        Err(CatalogError::Io(source)) => Err(OpenError::io(dir, source)),
        Err(CatalogError::Layout { found }) => {
            let known = crate::catalog::LAYOUT_VERSION;
            Err(OpenError::Layout { path: path(), source: HeaderError::Version { found, known } })
        }
        Err(error @ CatalogError::Redb(_)) => {
            let aside = |name: &str| {
                let _ = std::fs::rename(dir.file(name), dir.file(&format!("damaged.{name}")));
            };
            error!("the catalog is damaged, and set aside: {error}");
            aside("catalog.redb");
            aside("journal");
            let opened = Catalog::open(dir.path()).map_err(io::Error::other);
            let io = |source| OpenError::io(dir, source);
            let (catalog, contents) = opened.map_err(io)?;
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
    frames: Frames,
) -> Result<(super::Book, Vec<ledger::Lost>), ledger::LedgerError> {
    let leased = scan_all(sessions);
    let board = estate.board.view().clone();
    // The reader of manifests borrows what adoption also writes: it gets a view of its own.
    let files = Space::open(estate.dir.clone(), estate.board.clone(), estate.space.capacity())?;
    let sound = |place: &crate::id::Place| files.holds(place);
    let read = |location: &Location| read_manifest(&files, location);
    let adopted = Ledger::adopt(board, estate, frames, &leased, sound, read)?;
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
fn read_manifest(space: &Space, location: &Location) -> Result<ManifestParts, String> {
    Ok(load_manifest(space, location)?.into())
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
    lost: Lost,
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
    let unverified: Vec<EntryId> = ledger.chunks().map(|(entry, _, _)| entry).collect();
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
        filled_ms: AtomicU64::new(0),
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

pub(super) fn lost_frames(lost: &Lost) -> Vec<LostFrame> {
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
