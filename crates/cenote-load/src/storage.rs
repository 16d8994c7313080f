//! The bytes of an input file, in order or at random: where they stand, and what they are
//! wrapped in.
//!
//! A compressed file is unpacked as it is read, and each reader counts: what unpacks to more
//! than [`MAX_UNPACK_RATIO`] times its size is refused, since it was made to fill a disk.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use zip::ZipArchive;

use crate::error::LoadError;
use crate::file::{FileName, InputFile, Stamp};
use crate::meter::Meter;

/// Bytes that one stored byte may unpack to, beyond the first [`UNPACK_FREE_BYTES`]. Columns
/// of equal values come to some hundreds.
pub const MAX_UNPACK_RATIO: u64 = 4096;

/// What any file may unpack to.
pub const UNPACK_FREE_BYTES: u64 = 1 << 30;

/// Bytes that are read at a time.
const READ_BYTES: usize = 1 << 16;
/// Bytes that are unpacked between two looks at whether to stop.
const UNPACK_BYTES: usize = 1 << 20;

/// Where the bytes stand.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// At the file's path, unchanged since.
    Path(Stamp),
    /// In a zip archive.
    Member { archive: Archive, index: usize },
    /// In a file without a name: standard input.
    Spooled(SharedFile),
}

/// What the bytes are compressed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrap {
    /// Nothing.
    None,
    /// gzip, of one member or several.
    Gzip,
    /// Zstandard.
    Zstd,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
}

impl fmt::Display for Wrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wrap::None => "uncompressed",
            Wrap::Gzip => "gzip",
            Wrap::Zstd => "zstd",
            Wrap::Bzip2 => "bzip2",
            Wrap::Xz => "xz",
        })
    }
}

impl Wrap {
    /// By the first bytes.
    pub(crate) fn of(head: &[u8]) -> Wrap {
        match head {
            [0x1f, 0x8b, ..] => Wrap::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Wrap::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, ..] => Wrap::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Wrap::Xz,
            _ => Wrap::None,
        }
    }
}

impl InputFile {
    fn open(&self, stamp: Stamp) -> Result<SharedFile, LoadError> {
        let file = File::open(self.name.path()).map_err(|e| self.io(e))?;
        if Stamp::new(&file.metadata().map_err(|e| self.io(e))?) != stamp {
            return Err(LoadError::Changed { file: self.name.clone() });
        }
        SharedFile::new(file).map_err(|e| self.io(e))
    }

    /// All uncompressed bytes, while the meter follows the bytes as stored.
    pub(crate) fn with_metered_bytes<T>(
        &self,
        meter: &Meter,
        read: impl FnOnce(&mut dyn Read) -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        self.with_stored(Some(meter), 0, |stored| self.unwrapped(stored, read))
    }

    /// Calls `read` with the uncompressed bytes, from `offset` on.
    ///
    /// Cost: where the file is compressed, everything before `offset` is decompressed too.
    pub(crate) fn with_bytes<T>(
        &self,
        offset: u64,
        read: impl FnOnce(&mut dyn Read) -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        if self.is_plain() {
            return self.with_stored(None, offset, read);
        }
        self.with_stored(None, 0, |stored| {
            self.unwrapped(stored, |reader| {
                let skipped = io::copy(&mut reader.take(offset), &mut io::sink());
                skipped.map_err(|e| self.io(e))?;
                read(reader)
            })
        })
    }

    /// The bytes as they are stored, of a member as the archive gives them.
    pub(crate) fn with_stored<T>(
        &self,
        meter: Option<&Meter>,
        offset: u64,
        read: impl FnOnce(&mut dyn Read) -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        let file = match &self.place {
            Place::Path(stamp) => self.open(*stamp)?,
            Place::Spooled(file) => file.clone(),
            Place::Member { archive, index } => {
                let mut zip = archive.0.clone();
                let fault = |e: zip::result::ZipError| self.io(e.into());
                let outcome = read(&mut zip.by_index(*index).map_err(fault)?);
                if let Some(meter) = meter {
                    meter.add_bytes(self.bytes);
                }
                return outcome;
            }
        };
        let mut file = file.at(offset);
        match meter {
            Some(meter) => read(&mut Metered { inner: file, meter }),
            None => read(&mut file),
        }
    }

    fn unwrapped<T>(
        &self,
        stored: &mut dyn Read,
        read: impl FnOnce(&mut dyn Read) -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        if self.is_plain() {
            return read(stored);
        }
        let limit = self.bytes.saturating_mul(MAX_UNPACK_RATIO).max(UNPACK_FREE_BYTES);
        if self.wrap == Wrap::None {
            return read(&mut Bounded { inner: stored, left: limit });
        }
        let stored = BufReader::with_capacity(READ_BYTES, stored);
        let mut unpacking: Box<dyn Read + '_> = match self.wrap {
            Wrap::None => Box::new(stored),
            Wrap::Gzip => Box::new(MultiGzDecoder::new(stored)),
            Wrap::Zstd => {
                Box::new(zstd::stream::read::Decoder::with_buffer(stored).map_err(|e| self.io(e))?)
            }
            Wrap::Bzip2 => Box::new(MultiBzDecoder::new(stored)),
            Wrap::Xz => Box::new(XzReader::new(stored, true)),
        };
        read(&mut Bounded { inner: &mut unpacking, left: limit })
    }

    /// The uncompressed bytes as a file of its own.
    ///
    /// Cost: nothing for a plain file. A compressed one is unpacked into an unlinked file in
    /// the directory for temporary files: it needs that space until the result is dropped.
    pub(crate) fn random_access(&self, meter: &Meter) -> Result<SharedFile, LoadError> {
        match &self.place {
            Place::Path(stamp) if self.wrap == Wrap::None => return self.open(*stamp),
            Place::Spooled(file) if self.wrap == Wrap::None => return Ok(file.clone()),
            _ => {}
        }
        self.with_bytes(0, |reader| spool(reader, meter, |source| self.io(source)))
    }
}

/// Reads to the end, into a file without a name.
pub(crate) fn spool(
    reader: &mut dyn Read,
    meter: &Meter,
    fault: impl Fn(io::Error) -> LoadError,
) -> Result<SharedFile, LoadError> {
    let no_room = |source| LoadError::Spool { folder: std::env::temp_dir(), source };
    let mut file = tempfile::tempfile().map_err(no_room)?;
    let mut piece = vec![0; UNPACK_BYTES];
    loop {
        if meter.cancelled() {
            return Err(LoadError::Cancelled);
        }
        let read = match reader.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(fault(error)),
        };
        file.write_all(&piece[..read]).map_err(no_room)?;
    }
    SharedFile::new(file).map_err(no_room)
}

/// Tells a meter what is read.
struct Metered<'a> {
    inner: SharedFile,
    meter: &'a Meter,
}

impl Read for Metered<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buf)?;
        self.meter.add_bytes(read as u64);
        Ok(read)
    }
}

/// Ends with an error where more comes than may.
struct Bounded<'a> {
    inner: &'a mut dyn Read,
    left: u64,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buf)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!(
                    "it unpacks to more than {MAX_UNPACK_RATIO} times its size, which data does \
                     not; unpack it yourself if it is meant so"
                ),
            )
        })?;
        Ok(read)
    }
}

/// An opened zip archive; clones share its directory.
#[derive(Debug, Clone)]
pub(crate) struct Archive(pub(crate) ZipArchive<SharedFile>);

impl Archive {
    pub(crate) fn open(path: &Path) -> Result<Self, LoadError> {
        let io = |source| LoadError::Io { file: FileName::new(path, None), source };
        let file = SharedFile::new(File::open(path).map_err(io)?).map_err(io)?;
        let archive = ZipArchive::new(file)
            .map_err(|e| LoadError::Archive { path: path.into(), source: e.into() })?;
        Ok(Self(archive))
    }
}

/// A file with a position of its own: clones are independent readers of one descriptor.
#[derive(Debug, Clone)]
pub(crate) struct SharedFile {
    file: Arc<File>,
    at: u64,
    len: u64,
}

impl SharedFile {
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), at: 0, len })
    }

    /// The same file, from a place on.
    pub(crate) fn at(&self, at: u64) -> Self {
        Self { file: self.file.clone(), at, len: self.len }
    }

    /// Its length when it was opened.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// A run of its bytes. Cost: one read into memory that is not zeroed before.
    ///
    /// # Errors
    /// The run does not lie in the file.
    pub(crate) fn read_run(&self, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let end = at.checked_add(length).filter(|end| *end <= self.len);
        let length = usize::try_from(length).ok().filter(|_| end.is_some());
        let length = length.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut bytes = Vec::with_capacity(length);
        self.at(at).take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }
}

impl Read for SharedFile {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buf, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for SharedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_unpacks_without_end_is_refused() {
        let mut zeros = io::repeat(0);
        let mut bounded = Bounded { inner: &mut zeros, left: 10_000 };
        let read = io::copy(&mut bounded, &mut io::sink());
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
