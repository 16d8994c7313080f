//! A mapped file as the protocol's memory.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use cenote_region::mapping::Mapping;
use cenote_region::words::WordMap;

use crate::protocol::{Memory, Ordering};

/// Words of a mapped file.
#[derive(Debug)]
pub struct Shared(WordMap);

impl Shared {
    /// Maps the first `words` words of a file for reading.
    ///
    /// # Errors
    /// The file cannot be opened or mapped, or is shorter.
    pub fn read_only(path: &Path, words: u64) -> io::Result<Shared> {
        let file = File::open(path)?;
        check_length(&file, words)?;
        Ok(Shared(WordMap::new(Mapping::read_only(&file, words * 8)?)))
    }

    /// Maps a file whole for reading, and tells how many words it has.
    ///
    /// # Errors
    /// The file cannot be opened or mapped.
    pub fn read_all(path: &Path) -> io::Result<Shared> {
        let file = File::open(path)?;
        let words = file.metadata()?.len() / 8;
        Ok(Shared(WordMap::new(Mapping::read_only(&file, words * 8)?)))
    }

    /// Maps the first `words` words of a file for writing.
    ///
    /// # Errors
    /// The file cannot be opened or mapped, or is shorter.
    pub fn read_write(file: &File, words: u64) -> io::Result<Shared> {
        check_length(file, words)?;
        Ok(Shared(WordMap::new(Mapping::read_write(file, words * 8)?)))
    }

    /// As [`Shared::read_write`], absent in a forked child.
    ///
    /// # Errors
    /// As there.
    pub fn read_write_not_in_children(file: &File, words: u64) -> io::Result<Shared> {
        check_length(file, words)?;
        Ok(Shared(WordMap::new(Mapping::read_write(file, words * 8)?.dont_fork()?)))
    }

    /// Shows another file's words at the same addresses: for a child after a fork.
    ///
    /// # Errors
    /// The mapping cannot be made.
    pub fn replace(&self, file: Option<std::os::fd::BorrowedFd<'_>>) -> io::Result<()> {
        self.0.replace(file)
    }

    /// The mapping below.
    #[must_use]
    pub fn mapping(&self) -> &Mapping {
        self.0.mapping()
    }
}

fn check_length(file: &File, words: u64) -> io::Result<()> {
    let length = file.metadata()?.len();
    if length / 8 < words {
        let text = format!("a file of {length} bytes where {} were promised", words * 8);
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
    }
    Ok(())
}

/// Makes a new file of this user's alone, or opens the one that is there.
///
/// # Errors
/// The file system refuses.
pub fn open_own(path: &Path, new: bool) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(new).truncate(false).mode(0o600).open(path)
}

impl Memory for Shared {
    #[inline(always)]
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    #[inline(always)]
    fn load(&self, at: u64, order: Ordering) -> u64 {
        usize::try_from(at).ok().and_then(|at| self.0.try_load(at, order)).unwrap_or(0)
    }

    #[inline(always)]
    fn store(&self, at: u64, value: u64, order: Ordering) {
        if let Some(word) = usize::try_from(at).ok().and_then(|at| self.0.get(at)) {
            word.store(value, order);
        }
    }

    #[inline(always)]
    fn fence(&self) {
        std::sync::atomic::fence(Ordering::SeqCst);
    }

    #[inline(always)]
    fn step(&self, name: &'static str) {
        crate::step::reach(name);
    }
}
