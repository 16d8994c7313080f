//! What the doctor reads of a system: files below a root, so that a test can lay out another
//! system's /proc and /sys, and two things that are asked of the kernel.

use std::path::{Path, PathBuf};

use cenote_region::headroom::{CgroupLimit, cgroup_limits};
use cenote_region::mount::Mount;
use cenote_region::quantity::ByteSize;
use cenote_region::space::fs_space;

/// What a file system has, in all and free.
pub(crate) type Room = (ByteSize, ByteSize);

type AskRoom = dyn Fn(&Path) -> Option<Room>;

/// A system.
pub(crate) struct System {
    root: PathBuf,
    /// What the file system of a path has.
    room: Box<AskRoom>,
}

impl System {
    /// This one.
    pub(crate) fn here() -> System {
        // What is not there yet will be where its parent is.
        let room = |path: &Path| {
            let space = path.ancestors().find_map(|above| fs_space(above).ok())?;
            Some((space.total, space.available))
        };
        System { root: PathBuf::from("/"), room: Box::new(room) }
    }

    /// One that is laid out below `root`, with file systems of so much room.
    #[cfg(test)]
    pub(crate) fn below(root: &Path, rooms: &[(&str, Room)]) -> System {
        let rooms: Vec<(PathBuf, Room)> =
            rooms.iter().map(|(path, room)| (PathBuf::from(path), *room)).collect();
        let room = move |path: &Path| {
            let on = rooms.iter().filter(|(point, _)| path.starts_with(point));
            on.max_by_key(|(point, _)| point.components().count()).map(|(_, room)| *room)
        };
        System { root: root.to_owned(), room: Box::new(room) }
    }

    /// Where an absolute path is.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.path(path)).ok()
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        std::fs::symlink_metadata(self.path(path)).is_ok()
    }

    /// What the file system of `path` has, in all and free.
    pub(crate) fn room(&self, path: &Path) -> Option<Room> {
        (self.room)(path)
    }

    pub(crate) fn mountinfo(&self) -> String {
        self.text("/proc/self/mountinfo").unwrap_or_default()
    }

    /// The memory cgroups that limit this process.
    pub(crate) fn limits(&self) -> Vec<CgroupLimit> {
        cgroup_limits(&|path| path.to_str().and_then(|path| self.text(path)))
    }

    /// A size of /proc/meminfo.
    pub(crate) fn memory(&self, name: &str) -> Option<ByteSize> {
        let text = self.text("/proc/meminfo")?;
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(found, _)| *found == name)?;
        let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
        ByteSize(kib).checked_mul(1024)
    }

    /// A limit of this process, soft and hard, by its name in /proc/self/limits; `None` is
    /// unlimited, or unknown.
    pub(crate) fn limit(&self, name: &str) -> (Option<u64>, Option<u64>) {
        let text = self.text("/proc/self/limits").unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let mut values = line.split_whitespace().map(|value| value.parse().ok());
        (values.next().flatten(), values.next().flatten())
    }
}

/// The mount that `path` is on.
pub(crate) fn mount_of<'a>(path: &Path, mountinfo: &'a str) -> Option<Mount<'a>> {
    // What is not there yet will be where its parent is.
    let real = path.ancestors().find_map(|above| std::fs::canonicalize(above).ok());
    let real = real.unwrap_or_else(|| path.to_owned());
    Mount::of(&real, mountinfo)
}
