//! Standard input, as a file without a name: what is loaded is read twice.

use std::io::{self, IsTerminal, Read, Stdin};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::LoadError;
use crate::file::{FileName, InputFile, Kind};
use crate::meter::Meter;
use crate::storage::{Place, Wrap, spool};

/// What errors call it.
const NAME: &str = "standard input";

/// Longest wait for input before it is looked whether to stop.
const LOOK_EVERY_NS: i64 = 50_000_000;

/// Reads it to its end. Cost: its size in the directory for temporary files; nothing of it
/// stays in memory.
///
/// # Errors
/// It is a terminal; it cannot be read; there is no room for it.
pub(super) fn spooled(meter: &Meter) -> Result<InputFile, LoadError> {
    let name = FileName::new(Path::new(NAME), None);
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(LoadError::Terminal);
    }
    let fault = |source| LoadError::Io { file: name.clone(), source };
    let file = spool(&mut Patient(stdin), meter, fault)?;
    let bytes = file.len();
    let place = Place::Spooled(file);
    Ok(InputFile { name, kind: Kind::Csv, bytes, place, wrap: Wrap::None, folders: Vec::new() })
}

/// Comes back as interrupted where nothing came for a while.
struct Patient(Stdin);

impl Read for Patient {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let wait = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY_NS };
        if poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&wait))? == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.0.read(buf)
    }
}
