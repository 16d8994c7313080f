//! Checksums of files, to know later which ones a frame was made of.
//!
//! They are no by-product of the load. Large CSV files are decoded in pieces, by several threads
//! that may read a piece twice; of Parquet only the columns that are wanted are read, and never
//! in order. So a file is read once more, by a thread of its own beside the load, and only where
//! that is asked for.

use std::io::ErrorKind;
use std::thread::JoinHandle;

use xxhash_rust::xxh3::Xxh3;

use crate::error::LoadError;
use crate::file::InputFile;
use crate::meter::Meter;

/// Bytes that are read between two looks at whether to stop.
const READ_BYTES: usize = 1 << 20;

/// The checksums of files, on their way.
///
/// Dropped before its end the thread goes on; [`Meter::cancel`] ends it within a MiB.
#[derive(Debug)]
pub struct Checksums(JoinHandle<Result<Vec<u64>, LoadError>>);

impl Checksums {
    /// Begins to read.
    ///
    /// # Errors
    /// [`LoadError::Thread`].
    pub fn begin(files: &[InputFile], meter: &Meter) -> Result<Self, LoadError> {
        let (files, meter) = (files.to_vec(), meter.clone());
        let work = move || files.iter().map(|file| checksum(file, &meter)).collect();
        let thread = std::thread::Builder::new().name("cenote-checksum".into()).spawn(work);
        thread.map(Self).map_err(|source| LoadError::Thread { source })
    }

    /// XXH3 (64 bits) of each file's bytes as they are stored; of a member of a zip archive, as
    /// it comes out of it. Waits until they are there.
    ///
    /// # Errors
    /// A file cannot be read or has changed; [`LoadError::Cancelled`].
    pub fn finish(self) -> Result<Vec<u64>, LoadError> {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Cost: the file is read, at about the speed of memory where it is in the page cache.
fn checksum(file: &InputFile, meter: &Meter) -> Result<u64, LoadError> {
    file.with_stored(None, 0, |reader| {
        let (mut hash, mut piece) = (Xxh3::new(), vec![0; READ_BYTES]);
        loop {
            if meter.cancelled() {
                return Err(LoadError::Cancelled);
            }
            match reader.read(&mut piece) {
                Ok(0) => return Ok(hash.digest()),
                Ok(read) => hash.update(&piece[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(file.io(error)),
            }
        }
    })
}
