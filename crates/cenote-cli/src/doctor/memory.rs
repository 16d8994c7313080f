//! Memory and what takes it away: cgroups, swap; and the file system that a pool lies on.

use std::path::Path;

use cenote_region::quantity::ByteSize;

use super::finding::Finding;
use super::system::{System, mount_of};

/// Less is not enough for a pool and its client.
const MEMORY_MIN: ByteSize = ByteSize(16 << 20);
/// A container's /dev/shm has 64 MiB unless somebody says more.
const SMALL: ByteSize = ByteSize(1 << 30);

/// What there is, and what this process may take of it.
pub(super) fn memory(system: &System) -> Finding {
    const CHECK: &str = "memory";
    let (total, free) = (system.memory("MemTotal"), system.memory("MemAvailable"));
    let (Some(total), Some(free)) = (total, free) else {
        return Finding::warning(CHECK, "/proc/meminfo cannot be read")
            .why("a put is refused before memory runs out, by what that file says")
            .remedy("`mount -t proc proc /proc`");
    };
    let machine = format!("{total}, of which {free} can be had");
    let limits = system.limits();
    let Some(limit) = limits.iter().min_by_key(|limit| limit.headroom) else {
        if free < MEMORY_MIN {
            return Finding::stops(CHECK, machine).why("a pool is memory").remedy(
                "end what takes it: `ps -eo rss,pid,args --sort=-rss | head` shows the largest",
            );
        }
        return Finding::ok(CHECK, format!("{machine}; no cgroup limits it"));
    };
    let (allowed, left) = (limit.limit, limit.headroom.min(free));
    let path = limit.path.display();
    let found = format!("{machine}; the cgroup {path} allows {allowed}, of which {left} are left");
    let raise = "raise it: in a container `--memory`, in a unit `systemctl set-property UNIT \
                 MemoryMax=…`, in Kubernetes `resources.limits.memory`";
    if left < MEMORY_MIN {
        return Finding::stops(CHECK, found).why("a pool is memory").remedy(raise);
    }
    Finding::note(CHECK, found)
        .why(
            "the pool's files count for the cgroup of the daemon, which allocates them; a put \
             that it has no room for is refused",
        )
        .remedy(format!("where that is too little, {raise}"))
}

/// Whether the pool's bytes may be written to a disk.
pub(super) fn swap(system: &System, pool: &Path) -> Finding {
    const CHECK: &str = "swap";
    let size = |name| system.memory(name).unwrap_or_default();
    let (total, free) = (size("SwapTotal"), size("SwapFree"));
    if total == ByteSize::ZERO {
        return Finding::ok(CHECK, "none: what is in the pool stays in memory");
    }
    let mountinfo = system.mountinfo();
    let mount = mount_of(pool, &mountinfo);
    if mount.is_some_and(|mount| mount.option("noswap").is_some()) {
        return Finding::ok(
            CHECK,
            format!("{total}, and the pool's mount is kept out of it (noswap)"),
        );
    }
    let used = total.saturating_sub(free);
    Finding::note(CHECK, format!("{total}, of which {used} are used; the pool may be swapped, too"))
        .why("a tmpfs page that was swapped is read back from the disk by its next reader")
        .remedy(
            "keep the capacity well below the memory; or, from Linux 6.4, give the pool a mount of \
             its own: `sudo mkdir /mnt/cenote && sudo mount -t tmpfs -o noswap,size=50%,mode=700,\
             uid=$(id -u) none /mnt/cenote`, and `--address /mnt/cenote/pool`",
        )
}

/// The file system of the pool.
pub(super) fn files(system: &System, pool: &Path) -> Finding {
    const CHECK: &str = "file system";
    let mountinfo = system.mountinfo();
    let Some(mount) = mount_of(pool, &mountinfo) else {
        return Finding::warning(
            CHECK,
            format!("/proc/self/mountinfo does not say what {} is on", pool.display()),
        )
        .why("a pool is shared memory only on a tmpfs");
    };
    let point = mount.point.display();
    let make = format!(
        "`sudo mount -t tmpfs -o size=50%,mode=1777 none {}`, or name a directory on a tmpfs with --address",
        if pool.starts_with("/dev/shm") {
            "/dev/shm".to_owned()
        } else {
            pool.display().to_string()
        }
    );
    if mount.option("ro").is_some() {
        return Finding::stops(CHECK, format!("{point} is mounted read-only"))
            .why("a pool is files that are written")
            .remedy(format!("`sudo mount -o remount,rw {point}`"));
    }
    if mount.kind != "tmpfs" {
        let found = format!("the pool's directory is on {point}, of kind {}", mount.kind);
        return Finding::warning(CHECK, found)
            .why("its files are on a disk: slower, and written back again and again; memory limits are not seen")
            .remedy(make);
    }
    let Some((total, free)) = system.room(pool) else {
        return Finding::warning(CHECK, format!("{point} does not say how large it is"));
    };
    let no_exec =
        if mount.option("noexec").is_some() { ", noexec, which does no harm" } else { "" };
    let found = format!("{point}: tmpfs of {total}, {free} free{no_exec}");
    let larger = format!(
        "in a container start it with `--shm-size=8g` (Compose: `shm_size`; Kubernetes: an emptyDir \
         of `medium: Memory` at {point}); elsewhere `sudo mount -o remount,size=80% {point}`"
    );
    if free < ByteSize(4 << 20) {
        return Finding::stops(CHECK, found).why("there is no room for even an empty pool").remedy(
            format!("`du -xsh {point}/* | sort -h | tail` shows what takes it; or {larger}"),
        );
    }
    if total < SMALL {
        return Finding::warning(CHECK, found)
            .why(format!(
                "a pool takes half of it unless told otherwise: {}",
                ByteSize(total.0 / 2)
            ))
            .remedy(larger);
    }
    if free.0 < total.0 / 10 {
        return Finding::warning(CHECK, found)
            .why("a put that does not fit is refused")
            .remedy(format!("`du -xsh {point}/* | sort -h | tail` shows what takes it"));
    }
    Finding::ok(CHECK, found)
}

/// Whether arenas are of huge pages, and what that would give.
pub(super) fn huge_pages(system: &System, pool: &Path) -> Finding {
    const CHECK: &str = "huge pages";
    let chosen = |path: &str| {
        let text = system.text(path)?;
        let start = text.find('[')? + 1;
        Some(text[start..].split(']').next()?.to_owned())
    };
    let shared = chosen("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    let Some(shared) = shared else {
        return Finding::note(CHECK, "this kernel has none for shared memory")
            .why("a reader's page tables take 2 MiB a GiB")
            .remedy("a kernel with CONFIG_TRANSPARENT_HUGEPAGE has");
    };
    let mountinfo = system.mountinfo();
    let mount = mount_of(pool, &mountinfo);
    let point =
        mount.as_ref().map_or_else(|| "/dev/shm".to_owned(), |m| m.point.display().to_string());
    let of_mount = mount.and_then(|mount| mount.option("huge")).unwrap_or("never").to_owned();
    let gain = "with huge pages a GiB takes 4 KiB of page tables in each process instead of 2 MiB, \
                and its allocation some 2 ms instead of 240 ms (measured on 2 cores of an AMD EPYC \
                virtual machine); the price: each client's lease page takes 2 MiB, and `cenote info` \
                shows as leaked what a huge page keeps beside a hole";
    match (shared.as_str(), of_mount.as_str()) {
        ("deny", _) => Finding::note(CHECK, "denied: shmem_enabled is `deny`").why(gain).remedy(
            "`echo never | sudo tee /sys/kernel/mm/transparent_hugepage/shmem_enabled`, then \
             `cenote doctor` again",
        ),
        ("force", _) => Finding::ok(CHECK, "forced for all shared memory"),
        (_, "always" | "within_size") => {
            Finding::ok(CHECK, format!("{point} is mounted with huge={of_mount}"))
        }
        _ => Finding::note(CHECK, format!("none: {point} is mounted with huge={of_mount}"))
            .why(gain)
            .remedy(format!(
                "while no pool is in it: `sudo mount -o remount,huge=within_size {point}`"
            )),
    }
}
