//! Random numbers from the kernel, for identities and seeds.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    // Up to 256 bytes come whole and uninterrupted once the kernel has its seed
    // (getrandom(2)); before that, a signal may interrupt the wait.
    let mut bytes = [0; N];
    let len = rustix::io::retry_on_intr(|| getrandom(&mut bytes, GetRandomFlags::empty()))?;
    if len == N { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Sixty-four random bits. Cost: one system call.
///
/// # Errors
/// `ENOSYS` where a sandbox forbids getrandom(2).
pub fn random_u64() -> io::Result<u64> {
    random_bytes().map(u64::from_le_bytes)
}

/// A hundred and twenty-eight random bits. Cost: one system call.
///
/// # Errors
/// `ENOSYS` where a sandbox forbids getrandom(2).
pub fn random_u128() -> io::Result<u128> {
    random_bytes().map(u128::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_equal() {
        assert_ne!(random_u64().unwrap(), random_u64().unwrap());
        assert_ne!(random_u128().unwrap(), random_u128().unwrap());
    }
}
