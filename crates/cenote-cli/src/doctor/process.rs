//! What this process may do: its limits, the container it is in, the kernel below it.

use std::fs::File;
use std::io;
use std::path::Path;

use cenote_region::lock::{is_locked_by_other, try_lock_exclusive};
use cenote_region::process::{PidFd, ProcessId};
use cenote_region::quantity::{ByteSize, PAGE};
use cenote_region::space::{allocate, allocated, punch};

use super::finding::Finding;
use super::system::{System, mount_of};

/// A client takes some six of the daemon's descriptors.
const FILES_MIN: u64 = 1024;
/// A client's page, the board and a few arenas.
const ADDRESSES_MIN: ByteSize = ByteSize(4 << 30);
/// The number of the first PID namespace (`PROC_PID_INIT_INO`).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// ulimit -n, -v and -l.
pub(super) fn limits(system: &System) -> Vec<Finding> {
    let (_, files) = system.limit("Max open files");
    let files = match files {
        Some(hard) if hard < FILES_MIN => {
            Finding::warning("open files", format!("at most {hard} (`ulimit -Hn`)"))
                .why(format!("a daemon takes some six a client: it serves {} of them", hard / 6))
                .remedy("`ulimit -Hn 65536` as root, `LimitNOFILE=65536` in a unit, `--ulimit nofile=65536` in a container")
        }
        Some(hard) => Finding::ok("open files", format!("up to {hard}, for {} clients", hard / 6)),
        None => Finding::ok("open files", "no limit"),
    };
    let (addresses, _) = system.limit("Max address space");
    let addresses = match addresses {
        None => Finding::ok("addresses", "no limit (`ulimit -v`)"),
        Some(bytes) => {
            let found = format!("{} a process (`ulimit -v {}`)", ByteSize(bytes), bytes >> 10);
            let finding = if ByteSize(bytes) < ADDRESSES_MIN {
                Finding::stops("addresses", found)
            } else {
                Finding::warning("addresses", found)
            };
            finding
                .why(
                    "a process maps each arena that it reads, 256 MiB and more, and the board, \
                     1.2 GiB; addresses, not memory",
                )
                .remedy(
                    "`ulimit -v unlimited` before the program starts; in a unit `LimitAS=infinity`",
                )
        }
    };
    let (locked, _) = system.limit("Max locked memory");
    let locked = locked.map_or_else(|| "no limit".to_owned(), |bytes| ByteSize(bytes).to_string());
    let locked = Finding::ok("locked memory", format!("{locked}; a pool locks none"));
    vec![files, addresses, locked]
}

/// Containers, PID namespaces, a /proc that hides processes.
pub(super) fn container(system: &System) -> Vec<Finding> {
    let by_file = [("/.dockerenv", "Docker"), ("/run/.containerenv", "Podman")];
    let by_file = by_file.iter().find(|(file, _)| system.exists(file)).map(|(_, name)| *name);
    let by_name = system.text("/run/systemd/container").map(|name| name.trim().to_owned());
    let cgroup = system.text("/proc/1/cgroup").unwrap_or_default();
    let by_cgroup = [
        ("kubepods", "Kubernetes"),
        ("docker", "Docker"),
        ("lxc", "LXC"),
        ("containerd", "containerd"),
    ];
    let by_cgroup = by_cgroup.iter().find(|(part, _)| cgroup.contains(part)).map(|(_, name)| *name);
    let name = by_file.map(str::to_owned).or(by_name).or(by_cgroup.map(str::to_owned));
    let namespace = std::fs::read_link(system.path("/proc/self/ns/pid"));
    let inside = namespace.is_ok_and(|link| link.as_os_str() != FIRST_PID_NAMESPACE);
    let mut findings = vec![match (&name, inside) {
        (None, false) => Finding::ok("container", "none"),
        (name, inside) => {
            let name = name.as_deref().unwrap_or("a PID namespace");
            let seen =
                if inside { "sees only its own processes" } else { "sees the host's processes" };
            let finding = format!("{name}; it {seen}");
            Finding::note("container", finding)
                .why(
                    "clients and daemon share a pool where they have the same directory and the \
                     same user id",
                )
                .remedy(
                    "one pool for several containers: mount one directory into all, as with \
                     `-v /dev/shm/cenote-1000:/dev/shm/cenote-1000 --user 1000`; the book's chapter \
                     on containers has the rest",
                )
        }
    }];
    let mountinfo = system.mountinfo();
    let hidden = mount_of(Path::new("/proc"), &mountinfo).and_then(|proc| proc.option("hidepid"));
    if let Some(hidden) = hidden.filter(|value| !matches!(*value, "0" | "off")) {
        findings.push(
            Finding::note("processes", format!("/proc is mounted with hidepid={hidden}")).why(
                "other users' processes are not seen; a pool's clients are its own user's, and are",
            ),
        );
    }
    findings
}

/// Whether a pool outlives its user's logout: logind removes what a user has in /dev/shm
/// (logind.conf(5), `RemoveIPC`) once no session of his is left.
pub(super) fn logout(system: &System, user: u32) -> Option<Finding> {
    const CHECK: &str = "logout";
    // Users of the system are spared.
    if user < 1000 || !system.exists("/run/systemd/system") {
        return None;
    }
    let passwd = system.text("/etc/passwd").unwrap_or_default();
    let name = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, id) = (fields.next()?, fields.next()?, fields.next()?);
        (id.parse() == Ok(user)).then(|| name.to_owned())
    });
    if name.is_some_and(|name| system.exists(&format!("/var/lib/systemd/linger/{name}"))) {
        return Some(Finding::ok(CHECK, "this user lingers: the pool stays"));
    }
    let set = system.text("/etc/systemd/logind.conf").unwrap_or_default();
    let set = set.lines().filter_map(|line| line.trim().strip_prefix("RemoveIPC=")).next_back();
    if set.is_some_and(|set| matches!(set.trim(), "no" | "false" | "0" | "off")) {
        return Some(Finding::ok(CHECK, "RemoveIPC=no: the pool stays"));
    }
    Some(
        Finding::warning(CHECK, "logind removes what this user has in /dev/shm at the last logout")
            .why("the pool is gone then, whoever was reading it")
            .remedy("`loginctl enable-linger`, or `RemoveIPC=no` in /etc/systemd/logind.conf"),
    )
}

/// What a pool asks of the kernel, tried on a file where the pool's would be.
pub(super) fn kernel(directory: &Path) -> Finding {
    const CHECK: &str = "kernel";
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let missing: Vec<String> = [
        ("open-file-description locks (Linux 3.15)", locks(directory)),
        ("pidfd_open (Linux 5.3)", PidFd::open(ProcessId::current()).map(drop)),
        ("allocating files and punching holes", holes(directory)),
    ]
    .into_iter()
    .filter_map(|(what, outcome)| Some(format!("{what}: {}", outcome.err()?)))
    .collect();
    if missing.is_empty() {
        return Finding::ok(
            CHECK,
            format!("Linux {release}: locks, process descriptors and holes work"),
        );
    }
    Finding::stops(CHECK, format!("Linux {release} lacks {}", missing.join("; ")))
        .why("who owns a pool, who lives and what is free rests on these")
        .remedy(
            "a newer kernel; in a sandbox (gVisor, a strict seccomp profile) allow fcntl, \
             pidfd_open and fallocate",
        )
}

fn locks(directory: &Path) -> io::Result<()> {
    let file = tempfile::NamedTempFile::new_in(directory)?;
    let other: File = file.reopen()?;
    if try_lock_exclusive(&file)? && is_locked_by_other(&other)? {
        return Ok(());
    }
    Err(io::Error::other("a lock is not seen through another descriptor"))
}

fn holes(directory: &Path) -> io::Result<()> {
    let file = tempfile::tempfile_in(directory)?;
    allocate(&file, 0, 4 * PAGE).map_err(io::Error::other)?;
    let before = allocated(&file)?;
    punch(&file, PAGE, 2 * PAGE)?;
    if allocated(&file)? < before {
        return Ok(());
    }
    Err(io::Error::other("a hole gives nothing back"))
}
