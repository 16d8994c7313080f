//! What made a version, as far as the process that writes it knows by itself.

use std::sync::OnceLock;

use cenote_pool::row::Made;
use cenote_region::process::{ProcessId, command_line};

/// What does not change while the process lives. Cost: a few files, once.
#[derive(Debug)]
struct Writer {
    pid: u32,
    command: String,
    user: String,
    host: String,
}

static WRITER: OnceLock<Writer> = OnceLock::new();

fn writer(pid: u32) -> Writer {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Writer { pid, command: command_line(ProcessId(pid)), user: user_name(), host }
}

/// The user's name, or the number where it has none.
fn user_name() -> String {
    let uid = rustix::process::geteuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of_user = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    };
    users.lines().find_map(of_user).unwrap_or(uid)
}

/// The process, its command line, its user and its host.
pub(crate) fn by_this_process() -> Made {
    let pid = std::process::id();
    let known = WRITER.get_or_init(|| writer(pid));
    // A child that was forked has another number, and perhaps another command line.
    let own = (known.pid != pid).then(|| command_line(ProcessId(pid)));
    Made {
        command: own.unwrap_or_else(|| known.command.clone()),
        user: known.user.clone(),
        host: known.host.clone(),
        pid,
        ..Made::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_says_who_it_is() {
        let made = by_this_process();
        assert_eq!(made.pid, std::process::id());
        assert!(!made.command.is_empty() && !made.user.is_empty() && !made.host.is_empty());
        assert_eq!(made, by_this_process());
    }
}
