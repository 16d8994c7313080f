//! The directory in which a pool lives, and the names of its files.
//!
//! ```text
//! lock            held by the daemon; says its process id
//! socket          requests
//! board           entries, locations, arena owners
//! heads.N         names
//! journal         changes that the catalog does not have yet
//! catalog.redb    names and versions
//! arena.N         bytes
//! lease.S         what session S reads
//! daemon.log      what a daemon in the background says, at most 1 MiB; daemon.log.1 before that
//! alive.S         held by the client of session S as long as it lives; says who it is
//! ```
//!
//! A pool serves one user: the directory is 0700 and belongs to that user, or it is refused.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::id::{ArenaId, SessionId};

/// The pool that is meant when none is named.
pub const DEFAULT_POOL: &str = "default";
/// Names the pool to use, as a path or a plain name.
pub const ADDRESS_VARIABLE: &str = "CENOTE_ADDRESS";

/// Why a directory is not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunDirError {
    /// It belongs to somebody else.
    #[error("{path} belongs to user {owner}, not to user {user}: a pool serves one user")]
    Owner {
        /// The directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// This user.
        user: u32,
    },
    /// It is a link, or a file.
    #[error("{path} is no directory: name another one")]
    NoDirectory {
        /// What it was to be.
        path: PathBuf,
    },
    /// It is open to others.
    #[error(
        "{path} is open to others (mode {mode:04o}): `chmod 700 {path}` makes it its owner's alone"
    )]
    Mode {
        /// The directory.
        path: PathBuf,
        /// As found.
        mode: u32,
    },
    /// It cannot be made or read.
    #[error("cannot use {path}")]
    Io {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A pool's directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// The directory that an address names: a path where it has a `/`, else a pool of this
    /// user in /dev/shm. `None`: what `CENOTE_ADDRESS` says, or the default pool.
    #[must_use]
    pub fn from_address(address: Option<&str>) -> RunDir {
        let variable = std::env::var(ADDRESS_VARIABLE).ok().filter(|a| !a.is_empty());
        let address = address.map(str::to_owned).or(variable);
        let address = address.as_deref().unwrap_or(DEFAULT_POOL);
        match address.strip_prefix("cenote://").unwrap_or(address) {
            path if path.contains('/') => {
                RunDir { path: std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path)) }
            }
            name => RunDir { path: user_directory().join(name) },
        }
    }

    /// The directory at `path`.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> RunDir {
        RunDir { path: path.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the directory, if it is not there, and checks that it is this user's alone.
    ///
    /// # Errors
    /// [`RunDirError`].
    pub fn create(&self) -> Result<(), RunDirError> {
        let io = |source| RunDirError::Io { path: self.path.clone(), source };
        if self.path.starts_with(user_directory()) && user_directory() != self.path {
            RunDir::at(user_directory()).create()?;
        }
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        // Another process may have made it meanwhile; the check below decides.
        if let Err(error) = made
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(io(error));
        }
        self.check()
    }

    /// Checks that the directory exists and is this user's alone.
    ///
    /// # Errors
    /// [`RunDirError`].
    pub fn check(&self) -> Result<(), RunDirError> {
        let found = fs::symlink_metadata(&self.path)
            .map_err(|source| RunDirError::Io { path: self.path.clone(), source })?;
        let user = rustix::process::geteuid().as_raw();
        if found.uid() != user {
            return Err(RunDirError::Owner { path: self.path.clone(), owner: found.uid(), user });
        }
        if !found.is_dir() {
            return Err(RunDirError::NoDirectory { path: self.path.clone() });
        }
        if found.mode() & 0o077 != 0 {
            return Err(RunDirError::Mode { path: self.path.clone(), mode: found.mode() & 0o7777 });
        }
        Ok(())
    }

    /// A file of the directory.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The file of an arena.
    #[must_use]
    pub fn arena(&self, id: ArenaId) -> PathBuf {
        self.file(&format!("arena.{id}"))
    }

    /// The file of a head table.
    #[must_use]
    pub fn heads(&self, number: u64) -> PathBuf {
        self.file(&format!("heads.{number}"))
    }

    /// The lease page of a session.
    #[must_use]
    pub fn lease(&self, id: SessionId) -> PathBuf {
        self.file(&format!("lease.{id}"))
    }

    /// The liveness file of a session.
    #[must_use]
    pub fn alive(&self, id: SessionId) -> PathBuf {
        self.file(&format!("alive.{id}"))
    }

    /// The files whose names are `prefix.NUMBER`.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn numbered(&self, prefix: &str) -> io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let number: Option<u64> = name
                .to_str()
                .and_then(|n| n.strip_prefix(prefix))
                .and_then(|n| n.strip_prefix('.'))
                .and_then(|n| n.parse().ok());
            numbers.extend(number);
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// Where this user's pools are.
#[must_use]
pub fn user_directory() -> PathBuf {
    PathBuf::from(format!("/dev/shm/cenote-{}", rustix::process::geteuid().as_raw()))
}
