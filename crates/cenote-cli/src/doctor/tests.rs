//! Systems that are laid out below a directory, each with something that the doctor has to see.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use cenote::RunDir;
use cenote_region::quantity::ByteSize;

use super::finding::{Finding, Level};
use super::system::{Room, System};
use super::{memory, pools, process};

const GIB: u64 = 1 << 30;
const POOL: &str = "/dev/shm/cenote-7/default";

/// A system's files.
struct Laid {
    directory: tempfile::TempDir,
    room: Room,
}

impl Laid {
    /// A machine of 16 GiB, on which nothing is wrong but that huge pages are off.
    fn out() -> Laid {
        let laid = Laid {
            directory: tempfile::tempdir().unwrap(),
            room: (ByteSize(8 * GIB), ByteSize(7 * GIB)),
        };
        laid.file(
            "/proc/meminfo",
            "MemTotal: 16777216 kB\nMemAvailable: 12582912 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
        )
        .file("/proc/self/cgroup", "0::/user.slice\n")
        .file("/proc/self/mountinfo", &mounts("rw", "rw,size=8388608k"))
        .file(
            "/proc/self/limits",
            "Max open files            1024                 1048576              files     \n\
                 Max locked memory         8388608              8388608              bytes     \n\
                 Max address space         unlimited            unlimited            bytes     \n",
        )
        .file("/proc/1/cgroup", "0::/init.scope\n")
        .file(
            "/sys/kernel/mm/transparent_hugepage/shmem_enabled",
            "always within_size advise [never] deny force\n",
        );
        laid.link("/proc/self/ns/pid", "pid:[4026531836]");
        laid
    }

    fn at(&self, path: &str) -> PathBuf {
        let path = self.directory.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn file(&self, path: &str, text: &str) -> &Laid {
        std::fs::write(self.at(path), text).unwrap();
        self
    }

    fn link(&self, path: &str, to: &str) {
        let path = self.at(path);
        let _ = std::fs::remove_file(&path);
        symlink(to, path).unwrap();
    }

    fn system(&self) -> System {
        System::below(self.directory.path(), &[("/dev/shm", self.room)])
    }
}

fn mounts(own: &str, options: &str) -> String {
    format!(
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
         2 1 0:5 / /proc rw - proc proc rw\n\
         3 1 0:6 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
         4 1 0:7 / /dev/shm {own} - tmpfs tmpfs {options}\n"
    )
}

/// It is of this level, and its words hold all of these.
#[track_caller]
fn says(finding: &Finding, level: Level, words: &[&str]) {
    let all = format!(
        "{} {} {}",
        finding.finding,
        finding.why.as_deref().unwrap_or_default(),
        finding.remedy.as_deref().unwrap_or_default()
    );
    assert_eq!(finding.level, level, "{finding:?}");
    for word in words {
        assert!(all.contains(word), "{word:?} is not in {all:?}");
    }
    // Whatever is not well has a reason.
    assert_eq!(finding.why.is_none(), level == Level::Ok, "{finding:?}");
}

fn pool() -> &'static Path {
    Path::new(POOL)
}

#[test]
fn a_good_machine() {
    let laid = Laid::out();
    let system = laid.system();
    says(&memory::memory(&system), Level::Ok, &["16.0 GiB", "12.0 GiB can be had", "no cgroup"]);
    says(&memory::files(&system, pool()), Level::Ok, &["tmpfs of 8.0 GiB, 7.0 GiB free"]);
    says(&memory::swap(&system, pool()), Level::Ok, &["none"]);
    assert!(process::limits(&system).iter().all(|finding| finding.level == Level::Ok));
    says(&process::container(&system)[0], Level::Ok, &["none"]);
}

#[test]
fn a_cgroup_limits_memory() {
    let laid = Laid::out();
    laid.file("/sys/fs/cgroup/user.slice/memory.max", "4294967296\n")
        .file("/sys/fs/cgroup/user.slice/memory.current", "1073741824\n");
    let found = memory::memory(&laid.system());
    let words =
        ["allows 4.0 GiB, of which 3.0 GiB are left", "/sys/fs/cgroup/user.slice", "--memory"];
    says(&found, Level::Note, &words);
    laid.file("/sys/fs/cgroup/user.slice/memory.current", "4294967000\n");
    says(&memory::memory(&laid.system()), Level::Stops, &["MemoryMax"]);
    // Version 1 has other files.
    let laid = Laid::out();
    laid.file("/proc/self/cgroup", "4:memory:/job\n")
        .file(
            "/proc/self/mountinfo",
            "5 1 0:9 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        )
        .file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n")
        .file("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1073741824\n");
    says(
        &memory::memory(&laid.system()),
        Level::Note,
        &["allows 2.0 GiB, of which 1.0 GiB are left"],
    );
}

#[test]
fn no_memory_or_no_word_of_it() {
    let laid = Laid::out();
    laid.file("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 1024 kB\n");
    says(&memory::memory(&laid.system()), Level::Stops, &["1 MiB can be had", "ps -eo"]);
    laid.file("/proc/meminfo", "");
    says(&memory::memory(&laid.system()), Level::Warning, &["mount -t proc"]);
}

#[test]
fn the_file_system() {
    let mut laid = Laid::out();
    laid.file("/proc/self/mountinfo", &mounts("rw,nosuid,noexec", "rw,size=65536k"));
    laid.room = (ByteSize(64 << 20), ByteSize(60 << 20));
    let words = ["tmpfs of 64 MiB", "noexec, which does no harm", "--shm-size", "remount,size=80%"];
    says(&memory::files(&laid.system(), pool()), Level::Warning, &words);
    laid.room = (ByteSize(64 << 20), ByteSize(1 << 20));
    says(&memory::files(&laid.system(), pool()), Level::Stops, &["du -xsh /dev/shm/*"]);
    laid.room = (ByteSize(8 * GIB), ByteSize(GIB / 2));
    says(&memory::files(&laid.system(), pool()), Level::Warning, &["512 MiB free", "du -xsh"]);
    laid.file("/proc/self/mountinfo", &mounts("ro", "rw,size=65536k"));
    says(
        &memory::files(&laid.system(), pool()),
        Level::Stops,
        &["read-only", "remount,rw /dev/shm"],
    );
    laid.file("/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n");
    says(&memory::files(&laid.system(), pool()), Level::Warning, &["ext4", "mount -t tmpfs"]);
    laid.file("/proc/self/mountinfo", "");
    says(&memory::files(&laid.system(), pool()), Level::Warning, &["does not say"]);
}

#[test]
fn huge_pages() {
    let laid = Laid::out();
    let look = || memory::huge_pages(&laid.system(), pool());
    says(
        &look(),
        Level::Note,
        &["huge=never", "4 KiB of page tables", "remount,huge=within_size /dev/shm"],
    );
    for (huge, level) in
        [("advise", Level::Note), ("always", Level::Ok), ("within_size", Level::Ok)]
    {
        laid.file("/proc/self/mountinfo", &mounts("rw", &format!("rw,size=1k,huge={huge}")));
        says(&look(), level, &[&format!("huge={huge}")]);
    }
    let shared = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
    laid.file(shared, "always within_size advise never [deny] force");
    says(&look(), Level::Note, &["denied", shared]);
    laid.file(shared, "always within_size advise never deny [force]");
    says(&look(), Level::Ok, &["forced"]);
    std::fs::remove_file(laid.at(shared)).unwrap();
    says(&look(), Level::Note, &["CONFIG_TRANSPARENT_HUGEPAGE"]);
}

#[test]
fn swap() {
    let laid = Laid::out();
    laid.file("/proc/meminfo", "SwapTotal: 4194304 kB\nSwapFree: 3145728 kB\n");
    let look = || memory::swap(&laid.system(), pool());
    says(&look(), Level::Note, &["4.0 GiB, of which 1.0 GiB are used", "noswap"]);
    laid.file("/proc/self/mountinfo", &mounts("rw", "rw,noswap,size=1k"));
    says(&look(), Level::Ok, &["kept out of it"]);
}

#[test]
fn limits() {
    let laid = Laid::out();
    laid.file(
        "/proc/self/limits",
        "Max open files            100                  600                  files     \n\
         Max address space         8589934592           unlimited            bytes     \n",
    );
    let found = process::limits(&laid.system());
    says(&found[0], Level::Warning, &["at most 600", "100 of them", "LimitNOFILE"]);
    says(
        &found[1],
        Level::Warning,
        &["8.0 GiB a process (`ulimit -v 8388608`)", "ulimit -v unlimited"],
    );
    laid.file(
        "/proc/self/limits",
        "Max address space         1073741824           unlimited            bytes\n",
    );
    says(&process::limits(&laid.system())[1], Level::Stops, &["ulimit -v 1048576"]);
}

#[test]
fn containers() {
    let laid = Laid::out();
    laid.link("/proc/self/ns/pid", "pid:[4026532200]");
    let look = || process::container(&laid.system());
    says(&look()[0], Level::Note, &["a PID namespace; it sees only its own processes"]);
    laid.file("/proc/1/cgroup", "0::/kubepods/besteffort/pod1\n");
    says(&look()[0], Level::Note, &["Kubernetes"]);
    laid.file("/run/systemd/container", "podman\n");
    says(&look()[0], Level::Note, &["podman"]);
    laid.file("/.dockerenv", "");
    says(&look()[0], Level::Note, &["Docker; it sees only", "-v /dev/shm/cenote-1000:"]);
    laid.link("/proc/self/ns/pid", "pid:[4026531836]");
    says(&look()[0], Level::Note, &["sees the host's processes"]);
    laid.file("/proc/self/mountinfo", "2 1 0:5 / /proc rw - proc proc rw,hidepid=2\n");
    assert!(look()[1].finding.contains("hidepid=2"));
}

#[test]
fn logout() {
    let laid = Laid::out();
    let look = |user| process::logout(&laid.system(), user);
    assert_eq!(look(1000), None, "no systemd, no logind");
    laid.file("/run/systemd/system/x", "")
        .file("/etc/passwd", "root:x:0:0\nada:x:1000:1000::/home/ada:/bin/sh\n");
    assert_eq!(look(0), None);
    says(&look(1000).unwrap(), Level::Warning, &["/dev/shm", "loginctl enable-linger"]);
    laid.file("/etc/systemd/logind.conf", "[Login]\n#RemoveIPC=no\nRemoveIPC=yes\n");
    says(&look(1000).unwrap(), Level::Warning, &["RemoveIPC=no"]);
    laid.file("/etc/systemd/logind.conf", "[Login]\nRemoveIPC=no\n");
    says(&look(1000).unwrap(), Level::Ok, &["stays"]);
    laid.file("/etc/systemd/logind.conf", "").file("/var/lib/systemd/linger/ada", "");
    says(&look(1000).unwrap(), Level::Ok, &["lingers"]);
}

#[test]
fn pools_without_a_daemon() {
    let laid = Laid::out();
    let user = Path::new("/dev/shm/cenote-7");
    let look = || pools::left_behind(&laid.system(), user, pool());
    says(&look(), Level::Ok, &["nothing"]);
    laid.file("/dev/shm/cenote-7/default/lock", "1").file("/dev/shm/cenote-7/old/lock", "1");
    laid.file("/dev/shm/cenote-7/old/arena.0", &"x".repeat(100_000));
    let words = ["1 pool without a daemon", "/dev/shm/cenote-7/old", "rm -r /dev/shm/cenote-7/old"];
    says(&look(), Level::Note, &words);
    let lock = std::fs::File::options().write(true).open(laid.at("/dev/shm/cenote-7/old/lock"));
    let lock = lock.unwrap();
    assert!(cenote_region::lock::try_lock_exclusive(&lock).unwrap());
    says(&look(), Level::Ok, &["nothing"]);
}

#[test]
fn this_kernel_and_a_directory_of_others() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    says(&process::kernel(directory.path()), Level::Ok, &["locks", "holes work"]);
    // Where nothing can be made, nothing works.
    let found = process::kernel(Path::new("/proc/self"));
    says(&found, Level::Stops, &["open-file-description locks", "holes", "a newer kernel"]);
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let found = pools::directory(&RunDir::at(directory.path()));
    says(&found, Level::Stops, &["0755", "chmod 700"]);
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    says(&pools::directory(&RunDir::at(directory.path())), Level::Ok, &[]);
    says(&pools::directory(&RunDir::at(directory.path().join("none"))), Level::Ok, &["not there"]);
    assert!(pools::board(&RunDir::at(directory.path())).is_none());
}
