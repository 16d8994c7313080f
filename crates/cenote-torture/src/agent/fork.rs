//! Children that go on with what they inherited. They end when their socket does: their
//! parent's end must not be theirs.

use std::io::{BufReader, Write};
use std::os::unix::net::UnixStream;

use crate::client::Client;

pub(crate) enum Forked {
    Parent(u32),
    Child,
}

/// fork(2).
pub(crate) fn fork() -> Forked {
    // SAFETY: a child of a process with threads may find locks held for ever; the library's
    // claim, which is what is tested, is that none of its own is among those it needs. glibc
    // makes malloc usable.
    match unsafe { libc::fork() } {
        0 => Forked::Child,
        pid => Forked::Parent(u32::try_from(pid).unwrap_or(0)),
    }
}

/// Does what comes through `socket`, then ends without its parent's destructors.
pub(crate) fn serve(client: &mut Client, socket: &str) -> ! {
    if let Ok(stream) = UnixStream::connect(socket)
        && let (Ok(input), mut output) = (stream.try_clone(), stream)
    {
        let mut say = |line: &str| {
            let _ = output.write_all(format!("{line}\n").as_bytes());
        };
        say(&format!("ready {}", std::process::id()));
        client.obey(BufReader::new(input), &mut say);
    }
    // SAFETY: leaves at once; nothing of this process is used afterwards.
    unsafe { libc::_exit(0) }
}
