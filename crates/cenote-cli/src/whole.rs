//! A file that appears under its name once it is whole, and of which nothing is left otherwise.
//!
//! Until then it has no name at all where the file system can do that (`O_TMPFILE`: ext4, XFS,
//! Btrfs, tmpfs, overlays of them), so that not even SIGKILL leaves anything. Elsewhere (NFS,
//! FAT) it is called `.cenote-…`, and only SIGKILL or a power cut leaves that.

use std::fs::{File, FileType, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use tempfile::TempPath;

/// What a file's mode is before the process's umask.
const MODE: u32 = 0o666;
/// What every file begins with that has a name before it is whole.
const PREFIX: &str = ".cenote-";

/// A file on its way.
#[derive(Debug)]
pub(crate) struct WholeFile {
    file: File,
    name: Name,
    path: PathBuf,
}

/// What the file is called so far.
#[derive(Debug)]
enum Name {
    Nothing,
    Temporary(TempPath),
    /// A device or pipe, which is written to and not replaced.
    ItsOwn,
}

impl WholeFile {
    /// Begins a file that is to be called `path`.
    ///
    /// # Errors
    /// There is no such folder, or no file may be made in it.
    pub(crate) fn begin(path: &Path) -> io::Result<WholeFile> {
        let takes_bytes = |kind: FileType| kind.is_char_device() || kind.is_fifo();
        if std::fs::metadata(path).is_ok_and(|found| takes_bytes(found.file_type())) {
            let file = OpenOptions::new().write(true).open(path)?;
            return Ok(WholeFile { file, name: Name::ItsOwn, path: path.to_owned() });
        }
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::open(folder(path), flags, Mode::from_raw_mode(MODE)) {
            Ok(file) => {
                Ok(WholeFile { file: file.into(), name: Name::Nothing, path: path.to_owned() })
            }
            // whatever the reason is: if it is not that the file system cannot, it comes again
            Err(_) => WholeFile::named(path),
        }
    }

    /// [`Self::begin`] where a file needs a name.
    fn named(path: &Path) -> io::Result<WholeFile> {
        let (file, name) = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(MODE))
            .tempfile_in(folder(path))?
            .into_parts();
        Ok(WholeFile { file, name: Name::Temporary(name), path: path.to_owned() })
    }

    /// The file, to be written.
    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives the file its name, in place of what has it. Returns its length.
    ///
    /// # Errors
    /// The name cannot be given: it is that of a folder, perhaps.
    pub(crate) fn finish(self) -> io::Result<u64> {
        let bytes = self.file.metadata()?.len();
        match self.name {
            Name::ItsOwn => {}
            Name::Temporary(name) => name.persist(&self.path).map_err(|error| error.error)?,
            Name::Nothing => match link(&self.file, &self.path) {
                // a link replaces nothing, a rename does: the name between is there for a moment
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let linked = tempfile::Builder::new()
                        .prefix(PREFIX)
                        .make_in(folder(&self.path), |name| link(&self.file, name))?;
                    linked.into_temp_path().persist(&self.path).map_err(|error| error.error)?;
                }
                outcome => outcome?,
            },
        }
        Ok(bytes)
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives an open file a name.
fn link(file: &File, name: &Path) -> io::Result<()> {
    // by its descriptor alone it would need a privilege, on kernels before 6.10
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    match rustix::fs::linkat(CWD, open, CWD, name, AtFlags::SYMLINK_FOLLOW) {
        Err(Errno::NOENT) => Ok(rustix::fs::linkat(file, "", CWD, name, AtFlags::EMPTY_PATH)?),
        outcome => Ok(outcome?),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, read};
    use std::io::Write;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Either way: nothing of the name before, the file after, nothing where it is dropped.
    #[test]
    fn a_file_has_its_name_once_it_is_whole() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = folder.path().join("x");
        let ways: [fn(&Path) -> io::Result<WholeFile>; 2] = [WholeFile::begin, WholeFile::named];
        for (way, hidden) in ways.into_iter().zip([0, 1]) {
            for text in ["first", "second"] {
                let before = read(&path).ok();
                let mut file = way(&path).unwrap();
                file.file().write_all(text.as_bytes()).unwrap();
                let seen = names(folder.path());
                let hidden_now = seen.iter().filter(|name| name.starts_with(PREFIX)).count();
                assert_eq!((hidden_now, read(&path).ok()), (hidden, before));
                assert_eq!(file.finish().unwrap(), text.len() as u64);
                assert_eq!(read(&path).unwrap(), text.as_bytes());
                assert_eq!(names(folder.path()), ["x"]);
            }
            let mut file = way(&path).unwrap();
            file.file().write_all(b"third").unwrap();
            drop(file);
            assert_eq!(
                (read(&path).unwrap(), names(folder.path())),
                (b"second".into(), vec!["x".into()])
            );
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn what_cannot_be_a_file_is_refused_and_nothing_is_left() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        assert!(WholeFile::begin(&folder.path().join("none/x")).is_err());
        fs::create_dir(folder.path().join("d")).unwrap();
        let file = WholeFile::begin(&folder.path().join("d")).unwrap();
        assert!(file.finish().is_err());
        assert_eq!(names(folder.path()), ["d"]);
    }

    #[test]
    fn a_device_is_written_to_and_stays() {
        let mut file = WholeFile::begin(Path::new("/dev/null")).unwrap();
        file.file().write_all(b"away").unwrap();
        file.finish().unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }
}
