//! What is mounted where, as /proc/self/mountinfo says it (proc_pid_mountinfo(5)).
//!
//! ```
//! use cenote_region::mount::Mount;
//! let line = "25 24 0:23 / /dev/shm rw,noexec - tmpfs tmpfs rw,size=65536k,huge=advise";
//! let mount = Mount::parse(line).ok_or("a line of mountinfo")?;
//! assert_eq!((mount.kind, mount.option("huge")), ("tmpfs", Some("advise")));
//! assert_eq!(mount.option("noexec"), Some(""));
//! # Ok::<(), &str>(())
//! ```

use std::path::{Path, PathBuf};

/// One line of mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount<'a> {
    /// Which directory of the file system is mounted.
    pub root: PathBuf,
    /// Where.
    pub point: PathBuf,
    /// The kind of file system.
    pub kind: &'a str,
    /// Options of this mount.
    pub own: &'a str,
    /// Options of the file system, wherever it is mounted.
    pub options: &'a str,
}

impl<'a> Mount<'a> {
    /// Reads a line; `None` where it is none.
    #[must_use]
    pub fn parse(line: &'a str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (unescape(mount.next()?), unescape(mount.next()?));
        let own = mount.next().unwrap_or_default();
        let mut file_system = file_system.split(' ');
        let kind = file_system.next()?;
        let options = file_system.nth(1)?;
        Some(Self { root, point, kind, own, options })
    }

    /// The value of an option, empty where it has none; `None` where it is not set.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&'a str> {
        self.own.split(',').chain(self.options.split(',')).find_map(|option| {
            let (found, value) = option.split_once('=').unwrap_or((option, ""));
            (found == name).then_some(value)
        })
    }

    /// The mount that `path`, absolute and without links, is on: of those above it the
    /// deepest, and of several at one place the last.
    #[must_use]
    pub fn of(path: &Path, mountinfo: &'a str) -> Option<Self> {
        let above = mountinfo.lines().filter_map(Mount::parse);
        above
            .filter(|mount| path.starts_with(&mount.point))
            .max_by_key(|mount| mount.point.components().count())
    }
}

/// Blanks and backslashes stand in mountinfo as `\` and three octal digits.
fn unescape(field: &str) -> PathBuf {
    let mut path = String::with_capacity(field.len());
    let mut rest = field;
    while let Some((before, after)) = rest.split_once('\\') {
        path.push_str(before);
        let code = after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code.filter(u8::is_ascii) {
            Some(code) => {
                path.push(char::from(code));
                rest = &after[3..];
            }
            None => {
                path.push('\\');
                rest = after;
            }
        }
    }
    path.push_str(rest);
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_and_the_last() {
        let text = "1 0 0:1 / / rw - ext4 /dev/sda rw\n\
                    2 1 0:2 / /dev/shm rw - tmpfs a rw\n\
                    3 2 0:3 / /dev/shm rw,noexec - tmpfs b rw,size=1k\n\
                    4 1 0:4 / /dev/shm2\\040x rw - tmpfs c rw";
        let of = |path: &str| Mount::of(Path::new(path), text).map(|m| (m.kind, m.option("size")));
        assert_eq!(of("/dev/shm/cenote-0/default"), Some(("tmpfs", Some("1k"))));
        assert_eq!(of("/dev/shm2"), Some(("ext4", None)));
        assert_eq!(of("/dev/shm2 x/y"), Some(("tmpfs", None)));
    }

    #[test]
    fn nonsense_is_no_mount() {
        for text in ["", "::::", " - ", "1 2 3 - cgroup", "\\", "a\\04", "a\\777 - x"] {
            assert_eq!(Mount::of(Path::new("/"), text), None);
            let _ = unescape(text);
        }
    }
}
