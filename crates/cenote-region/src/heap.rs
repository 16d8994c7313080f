//! How glibc treats memory that a program has freed.

/// Has freed memory kept for the next allocation instead of given back to the kernel.
///
/// For a program that allocates and frees large arrays all the time, as a load does: each
/// array would be mapped, zeroed page by page and unmapped again, which took up to half
/// of the time of decoding Parquet. Up to 32 MiB an array is then taken from the heap, and a
/// heap shrinks only above 1 GiB of free memory at its end. For the whole process and for
/// good, so a matter of the program, not of a library. Elsewhere than with glibc it does
/// nothing.
pub fn keep_freed() {
    #[cfg(target_env = "gnu")]
    for (parameter, bytes) in [
        (libc::M_MMAP_THRESHOLD, 32 << 20),
        (libc::M_TRIM_THRESHOLD, 1 << 30),
        (libc::M_TOP_PAD, 16 << 20),
    ] {
        // SAFETY: mallopt takes two numbers and touches only the allocator's own state. It
        // refuses what it does not know, and then all is as it was.
        unsafe { libc::mallopt(parameter, bytes) };
    }
}
