//! How much memory this process may still take before the kernel kills.
//!
//! tmpfs pages are charged to the memory cgroup of whoever touches them first, and past its
//! limit there is no error: the kernel ends a process. So a pool asks here before it
//! allocates. The answer is the least, over each memory cgroup from the process's own up to
//! the root, of `limit - usage + inactive file cache` (which the kernel drops under
//! pressure), and of `MemAvailable`. It is an estimate that is old at once: leave a margin.
//!
//! Both cgroup versions are read (kernel documentation: `admin-guide/cgroup-v1/memory.rst`,
//! `admin-guide/cgroup-v2.rst`). What cannot be read sets no limit.

use std::fs;
use std::path::{Path, PathBuf};

use crate::mount::Mount;
use crate::quantity::ByteSize;

/// Levels of cgroups that are asked.
const LEVELS_MAX: usize = 64;

/// What memory this process's cgroups and the machine still have; `None` where neither says.
///
/// Cost: some ten small files of /proc and /sys, about 0.1-1 ms.
#[must_use]
pub fn memory_headroom() -> Option<ByteSize> {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.as_deref().and_then(mem_available);
    let limits = cgroup_limits(&|path| fs::read_to_string(path).ok());
    limits.into_iter().map(|limit| limit.headroom).chain(machine).min()
}

/// A memory cgroup that limits this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupLimit {
    /// Its directory.
    pub path: PathBuf,
    /// What it may take.
    pub limit: ByteSize,
    /// What it may still take.
    pub headroom: ByteSize,
}

/// The memory cgroups that limit this process, its own first. `read` gives the text of a file
/// by its path, so that another system's can be looked at.
#[must_use]
pub fn cgroup_limits(read: &dyn Fn(&Path) -> Option<String>) -> Vec<CgroupLimit> {
    let own = |path: &str| read(Path::new(path));
    let cgroups = match (own("/proc/self/cgroup"), own("/proc/self/mountinfo")) {
        (Some(cgroup), Some(mountinfo)) => memory_cgroups(&cgroup, &mountinfo),
        _ => Vec::new(),
    };
    let of = |cgroup: MemoryCgroup| {
        let levels: Vec<_> = cgroup.levels().collect();
        levels.into_iter().filter_map(move |path| {
            let (limit, headroom) = limit_of(cgroup.version, |file| read(&path.join(file)))?;
            Some(CgroupLimit { path, limit, headroom })
        })
    };
    cgroups.into_iter().flat_map(of).collect()
}

/// `MemAvailable` of /proc/meminfo.
fn mem_available(meminfo: &str) -> Option<ByteSize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    ByteSize(kib).checked_mul(1024)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// The directory of this process in one hierarchy that may limit memory.
#[derive(Debug, PartialEq, Eq)]
struct MemoryCgroup {
    version: Version,
    mount_point: PathBuf,
    /// Relative to the mount point.
    path: PathBuf,
}

impl MemoryCgroup {
    /// The directories from the process's own up to the one that is mounted.
    fn levels(&self) -> impl Iterator<Item = PathBuf> {
        self.path.ancestors().take(LEVELS_MAX).map(|path| self.mount_point.join(path))
    }
}

/// What one level allows, in all and still, from its files.
fn limit_of(
    version: Version,
    read: impl Fn(&str) -> Option<String>,
) -> Option<(ByteSize, ByteSize)> {
    let (limit, usage, cache) = match version {
        Version::V1 => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        Version::V2 => ("memory.max", "memory.current", "inactive_file"),
    };
    // "max" is no number and no limit; version 1 writes the largest count of pages instead.
    let number = |file| read(file)?.trim().parse().ok().map(ByteSize);
    let limit = number(limit).filter(|limit| limit.bytes() < 1 << 62)?;
    let usage = number(usage)?;
    let cache = read("memory.stat").as_deref().and_then(|stat| stat_of(stat, cache));
    let left = limit.saturating_add(cache.unwrap_or_default()).saturating_sub(usage);
    Some((limit, left.min(limit)))
}

fn stat_of(stat: &str, key: &str) -> Option<ByteSize> {
    let mut entries = stat.lines().filter_map(|line| line.split_once(' '));
    let (_, value) = entries.find(|(name, _)| *name == key)?;
    value.trim().parse().ok().map(ByteSize)
}

/// Where this process stands in the hierarchies of /proc/self/mountinfo that may limit
/// memory, by its paths in /proc/self/cgroup.
fn memory_cgroups(cgroup: &str, mountinfo: &str) -> Vec<MemoryCgroup> {
    mountinfo
        .lines()
        .filter_map(|line| {
            let mount = Mount::parse(line)?;
            let version = match mount.kind {
                "cgroup2" => Version::V2,
                "cgroup" if mount.options.split(',').any(|name| name == "memory") => Version::V1,
                _ => return None,
            };
            let path = cgroup.lines().find_map(|line| {
                let mut fields = line.splitn(3, ':');
                let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
                let found = match version {
                    Version::V1 => controllers.split(',').any(|name| name == "memory"),
                    Version::V2 => id == "0" && controllers.is_empty(),
                };
                found.then_some(path)
            })?;
            // A container sees its own directory mounted as the root, yet may be told its
            // path from outside; and a path that leaves the mount names nothing in it.
            let path = Path::new(path);
            let inside = path.strip_prefix(&mount.root).unwrap_or(Path::new(""));
            let inside = if inside.components().any(|part| part.as_os_str() == "..") {
                Path::new("")
            } else {
                inside
            };
            Some(MemoryCgroup {
                version,
                mount_point: mount.point,
                path: inside.strip_prefix("/").unwrap_or(inside).to_owned(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(cgroup: &str, mountinfo: &str) -> Vec<(Version, Vec<String>)> {
        memory_cgroups(cgroup, mountinfo)
            .iter()
            .map(|found| {
                let levels = found
                    .levels()
                    .map(|level| level.to_string_lossy().trim_end_matches('/').to_owned());
                (found.version, levels.collect())
            })
            .collect()
    }

    #[test]
    fn version_2() {
        let mounts = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n\
                      31 24 0:5 / /proc rw - proc proc rw";
        assert_eq!(
            levels("0::/user.slice/app.scope\n", mounts),
            [(
                Version::V2,
                vec![
                    "/sys/fs/cgroup/user.slice/app.scope".to_owned(),
                    "/sys/fs/cgroup/user.slice".to_owned(),
                    "/sys/fs/cgroup".to_owned(),
                ]
            )]
        );
    }

    #[test]
    fn version_1_beside_version_2() {
        let mounts = "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
        let cgroup = "4:memory:/jobs/7\n1:cpu:/other\n0::/";
        assert_eq!(
            levels(cgroup, mounts),
            [
                (
                    Version::V1,
                    vec![
                        "/sys/fs/cgroup/memory/jobs/7".to_owned(),
                        "/sys/fs/cgroup/memory/jobs".to_owned(),
                        "/sys/fs/cgroup/memory".to_owned(),
                    ]
                ),
                (Version::V2, vec!["/sys/fs/cgroup/unified".to_owned()]),
            ]
        );
    }

    #[test]
    fn a_container_sees_its_own_directory_as_the_root() {
        let mounts = "9 8 0:1 /docker/ab\\040c /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory";
        let own = [(Version::V1, vec!["/sys/fs/cgroup/memory".to_owned()])];
        assert_eq!(levels("4:memory:/docker/ab c", mounts), own);
        assert_eq!(levels("4:memory:/elsewhere", mounts), own);
        let mounts = "9 8 0:1 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory";
        assert_eq!(levels("4:memory:/../../outside", mounts), own);
    }

    fn level(files: &[(&str, &str)], version: Version) -> Option<u64> {
        let read = |name: &str| {
            let found = files.iter().find(|(file, _)| *file == name)?;
            Some(found.1.to_owned())
        };
        limit_of(version, read).map(|(_, headroom)| headroom.bytes())
    }

    #[test]
    fn one_level() {
        let stat = ("memory.stat", "anon 5\ninactive_file 30\ntotal_inactive_file 40\n");
        let v2 = [("memory.max", "1000\n"), ("memory.current", "300\n"), stat];
        assert_eq!(level(&v2, Version::V2), Some(730));
        let v1 = [("memory.limit_in_bytes", "1000\n"), ("memory.usage_in_bytes", "300\n"), stat];
        assert_eq!(level(&v1, Version::V1), Some(740));
        assert_eq!(level(&v1[..2], Version::V1), Some(700), "no statistics");
        let over = [("memory.max", "1000"), ("memory.current", "1100")];
        assert_eq!(level(&over, Version::V2), Some(0));
        let unlimited = [("memory.max", "max\n"), ("memory.current", "300\n")];
        assert_eq!(level(&unlimited, Version::V2), None);
        let unlimited =
            [("memory.limit_in_bytes", "9223372036854771712"), ("memory.usage_in_bytes", "3")];
        assert_eq!(level(&unlimited, Version::V1), None);
        assert_eq!(level(&[], Version::V2), None);
    }

    #[test]
    fn the_machine() {
        let meminfo = "MemTotal:       24683584 kB\nMemAvailable:   23000000 kB\n";
        assert_eq!(mem_available(meminfo), Some(ByteSize(23_000_000 * 1024)));
        assert_eq!(mem_available("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn nonsense_sets_no_limit() {
        for text in ["", "::::", "4:memory", " - ", "1 2 3 - cgroup", "\\", "a\\04", "a\\777 - x"] {
            assert!(memory_cgroups(text, text).is_empty());
            assert_eq!(mem_available(text), None);
        }
    }

    #[test]
    fn here() {
        let headroom = memory_headroom().expect("Linux says MemAvailable since 3.14");
        assert!(headroom > ByteSize(1 << 20), "{headroom}");
        assert!(headroom < ByteSize(1 << 50), "{headroom}");
    }
}
