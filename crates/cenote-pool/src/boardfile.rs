//! The board as a file: made, mapped, and grown before it is used.
//!
//! The file is sparse and as long as it will ever be. A page of it is allocated before the
//! board's lengths say that it is there, so that neither the pool nor a client ever touches
//! a page for which the file system may have no room.

use std::fs::File;
use std::io;
use std::sync::Arc;

use cenote_region::quantity::PAGE;
use cenote_region::space::allocate;

use crate::protocol::board::{
    ARENA_WORDS, Board, HEADER_WORDS, HeaderError, Identity, RECORD_WORDS,
};
use crate::rundir::RunDir;
use crate::words::{Shared, open_own};

/// Entries, records and arena records are allocated by so many bytes.
const STEP_BYTES: u64 = 64 << 10;

/// The pool's own view of its board.
#[derive(Clone, Debug)]
pub struct BoardFile {
    file: Arc<File>,
    board: Board<Arc<Shared>>,
}

/// Why a board is not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// It is no board that this program reads.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The file cannot be used.
    #[error("cannot use the board")]
    Io(#[from] io::Error),
}

impl BoardFile {
    /// Makes a new board beside the old one, if any, and puts it in its place whole.
    ///
    /// # Errors
    /// No space, or the file system refuses.
    pub fn create(dir: &RunDir, identity: Identity) -> Result<BoardFile, BoardError> {
        let fresh = dir.file("board.new");
        match std::fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let file = open_own(&fresh, true)?;
        let words = identity.shape.words();
        file.set_len(words * 8)?;
        allocate(&file, 0, HEADER_WORDS * 8).map_err(io::Error::other)?;
        let memory = Arc::new(Shared::read_write_not_in_children(&file, words)?);
        let board = Board::create(memory, identity);
        std::fs::rename(&fresh, dir.file("board"))?;
        Ok(BoardFile { file: Arc::new(file), board })
    }

    /// Opens the board that is there.
    ///
    /// # Errors
    /// [`BoardError`].
    pub fn open(dir: &RunDir) -> Result<BoardFile, BoardError> {
        let file = open_own(&dir.file("board"), false)?;
        let words = file.metadata()?.len() / 8;
        if words < HEADER_WORDS {
            return Err(HeaderError::Short { words, promised: HEADER_WORDS }.into());
        }
        let memory = Arc::new(Shared::read_write_not_in_children(&file, words)?);
        let board = Board::open(memory)?;
        let this = BoardFile { file: Arc::new(file), board };
        this.measure();
        // A board that lost its pages to a hole gets them back, empty, before they are read.
        let (entries, records, arenas) = this.board.lengths();
        this.allocate(this.board.identity().shape.entry_words(entries))?;
        this.allocate(this.board.identity().shape.record_words(records))?;
        this.allocate(this.board.identity().shape.arena_words(arenas))?;
        Ok(this)
    }

    /// Corrects lengths that are not what the file has: rubbish there would have a gigabyte
    /// allocated, or records forgotten.
    fn measure(&self) {
        let shape = self.board.identity().shape;
        let (e, r, a) = self.board.lengths();
        let count = |claimed: u64, most: u64, words: (u64, u64), size: u64| {
            match self.extent(words.0 * 8, words.1 * 8) {
                // Where a file system knows no holes, all of it is data.
                Some(bytes) if bytes / (8 * size) < most => bytes / (8 * size),
                _ => claimed,
            }
        };
        let (e2, r2, a2) = (
            count(e, shape.entries, shape.entry_words(shape.entries), 1),
            count(r, shape.records, shape.record_words(shape.records), RECORD_WORDS),
            count(a, shape.arenas, shape.arena_words(shape.arenas), ARENA_WORDS),
        );
        if (e, r, a) != (e2, r2, a2) {
            self.board.set_lengths(e2, r2, a2);
        }
    }

    /// Bytes of the file's range up to the end of its last data.
    fn extent(&self, start: u64, end: u64) -> Option<u64> {
        use rustix::fs::{SeekFrom, seek};
        let mut last = start;
        while last < end {
            let data = match seek(&*self.file, SeekFrom::Data(last)) {
                Ok(data) if data < end => data,
                Ok(_) | Err(rustix::io::Errno::NXIO) => break,
                Err(_) => return None,
            };
            last = seek(&*self.file, SeekFrom::Hole(data)).ok()?.min(end);
        }
        Some(last - start)
    }

    /// The board.
    pub fn view(&self) -> &Board<Arc<Shared>> {
        &self.board
    }

    fn allocate(&self, (first, end): (u64, u64)) -> io::Result<()> {
        let (start, end) = (first * 8 / PAGE * PAGE, (end * 8).next_multiple_of(PAGE));
        allocate(&*self.file, start, end - start).map_err(io::Error::other)
    }

    /// Makes sure that so many entries, records and arena records are allocated.
    ///
    /// # Errors
    /// No space.
    pub fn grow(&self, entries: u64, records: u64, arenas: u64) -> io::Result<()> {
        let shape = self.board.identity().shape;
        let (mut e, mut r, mut a) = self.board.lengths();
        if entries <= e && records <= r && arenas <= a {
            return Ok(());
        }
        let step = |wanted: u64, have: u64, words: u64, most: u64| {
            let per_step = STEP_BYTES / 8 / words;
            if wanted > have { wanted.next_multiple_of(per_step).min(most) } else { have }
        };
        let (e2, r2) = (step(entries, e, 1, shape.entries), step(records, r, 8, shape.records));
        let a2 = step(arenas, a, 8, shape.arenas);
        if e2 > e {
            self.allocate((shape.entry_words(e).1, shape.entry_words(e2).1))?;
            e = e2;
        }
        if r2 > r {
            self.allocate((shape.record_words(r).1, shape.record_words(r2).1))?;
            r = r2;
        }
        if a2 > a {
            self.allocate((shape.arena_words(a).1, shape.arena_words(a2).1))?;
            a = a2;
        }
        self.board.set_lengths(e, r, a);
        Ok(())
    }
}
