//! Processes: naming one for good, asking what it is, and whether it lives.
//!
//! A process id alone names nothing: it is used again. While a process lives a [`PidFd`] names
//! it for good; on paper, within one boot, an id with its [`StartTime`] does. What
//! /proc says is read as text and parsed by pure functions; a process that has gone is
//! `None`, not an error.
//!
//! ```
//! use cenote_region::process::{ProcessId, start_time, state};
//! let this = ProcessId::current();
//! assert!(start_time(this).is_some());
//! assert_eq!(state(ProcessId(u32::MAX)), None);
//! ```

mod fork;
mod pidfd;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};

pub use fork::at_fork;
pub use pidfd::{PeerCredentials, PidFd, Signal, peer_credentials};

/// A process id, in the PID namespace of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u32);

impl ProcessId {
    /// This process. Cost: one system call.
    #[must_use]
    pub fn current() -> Self {
        Self(std::process::id())
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// When a process started, in clock ticks since the boot; with its id it names it within a
/// boot and a PID namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StartTime(pub u64);

/// Bound of what [`command_line`] returns, in bytes.
pub const COMMAND_LINE_MAX: usize = 256;

/// Fields of /proc/\<pid\>/stat behind the command, counted from zero (proc_pid_stat(5)).
const STATE_FIELD: usize = 0;
const START_TIME_FIELD: usize = 19;

/// When `pid` started; `None` where there is no such process, not even a zombie.
///
/// Cost: one small file of /proc, about 20 µs.
#[must_use]
pub fn start_time(pid: ProcessId) -> Option<StartTime> {
    stat_field(&stat(pid)?, START_TIME_FIELD)?.parse().ok().map(StartTime)
}

/// The kernel's letter for what `pid` does: `R` runs, `S` and `D` sleep, `T` and `t` are
/// stopped, `Z` and `X` dead; `None` where there is no such process.
///
/// Cost: one small file of /proc, about 20 µs.
#[must_use]
pub fn state(pid: ProcessId) -> Option<char> {
    stat_field(&stat(pid)?, STATE_FIELD)?.chars().next()
}

/// The name of a command may hold any bytes.
fn stat(pid: ProcessId) -> Option<Vec<u8>> {
    fs::read(format!("/proc/{pid}/stat")).ok()
}

/// A field behind the command, which stands in parentheses and may itself hold blanks and
/// parentheses; none of the fields behind it does.
fn stat_field(stat: &[u8], field: usize) -> Option<&str> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = str::from_utf8(&stat[end + 1..]).ok()?;
    fields.split_ascii_whitespace().nth(field)
}

/// How `pid` was called, for people: at most [`COMMAND_LINE_MAX`] bytes, printable. Where a
/// process has none (a zombie, a kernel thread) its name in brackets; where there is no
/// process, nothing.
///
/// Cost: one or two small files of /proc, about 20 µs each.
#[must_use]
pub fn command_line(pid: ProcessId) -> String {
    let shown = printable(&read_some(&format!("/proc/{pid}/cmdline")));
    if !shown.is_empty() {
        return shown;
    }
    match printable(&read_some(&format!("/proc/{pid}/comm"))) {
        name if name.is_empty() => name,
        name => format!("[{name}]"),
    }
}

fn read_some(path: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(path) {
        // What was read before an error is shown.
        let _ = file.take(COMMAND_LINE_MAX as u64).read_to_end(&mut bytes);
    }
    bytes
}

/// Arguments end with NUL; control characters, which could steer a terminal, become `?`.
fn printable(bytes: &[u8]) -> String {
    let mut text = String::new();
    for character in String::from_utf8_lossy(bytes).trim_end_matches(['\0', '\n']).chars() {
        let shown = match character {
            '\0' => ' ',
            other if other.is_control() => '?',
            other => other,
        };
        if text.len() + shown.len_utf8() > COMMAND_LINE_MAX {
            break;
        }
        text.push(shown);
    }
    text
}

/// The identity of this boot of the machine.
///
/// Cost: one small file of /proc.
///
/// # Errors
/// Those of reading it; `InvalidData` where it holds no UUID.
pub fn boot_id() -> io::Result<u128> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    parse_uuid(text.trim()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn parse_uuid(text: &str) -> Option<u128> {
    let digits: String = text.chars().filter(|character| *character != '-').collect();
    if digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(&digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn commands_with_parentheses_and_blanks() {
        let tail = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20";
        for command in ["sleep", "a) b", "((", ") S 1 2 (", "\u{fffd}", ""] {
            let line = format!("77 ({command}) {tail}\n");
            assert_eq!(stat_field(line.as_bytes(), START_TIME_FIELD), Some("4242"), "{line}");
            assert_eq!(stat_field(line.as_bytes(), STATE_FIELD), Some("S"), "{line}");
        }
        assert_eq!(stat_field(b"77 (\xff\xfe) R 1", STATE_FIELD), Some("R"));
        for text in ["", "77", "77 (x", ")"] {
            assert_eq!(stat_field(text.as_bytes(), STATE_FIELD), None, "{text}");
        }
    }

    #[test]
    fn this_process() {
        let this = ProcessId::current();
        assert_eq!(start_time(this), start_time(this));
        assert!(start_time(this).unwrap() > StartTime(0));
        assert!(command_line(this).contains("cenote_region"), "{}", command_line(this));
        assert!(matches!(state(this), Some('R' | 'S')));
    }

    #[test]
    fn nobody() {
        let nobody = ProcessId(u32::MAX);
        assert_eq!((start_time(nobody), state(nobody)), (None, None));
        assert_eq!(command_line(nobody), "");
    }

    #[test]
    fn a_zombie_has_a_name_in_brackets() {
        let mut child = Command::new("true").stdout(Stdio::null()).spawn().unwrap();
        let pid = ProcessId(child.id());
        for _ in 0..2000 {
            if state(pid) == Some('Z') {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(state(pid), Some('Z'));
        assert_eq!(command_line(pid), "[true]");
        child.wait().unwrap();
        assert_eq!(state(pid), None);
    }

    #[test]
    fn what_is_shown_is_bounded_and_printable() {
        assert_eq!(printable(b"a\0b c\0\x1b[31m\0"), "a b c ?[31m");
        assert_eq!(printable(&[b'x'; 1000]).len(), COMMAND_LINE_MAX);
        assert!(printable(&[0xff; 1000]).len() <= COMMAND_LINE_MAX);
        assert_eq!(printable(b"\0\0"), "");
    }

    #[test]
    fn boots() {
        assert_eq!(boot_id().unwrap(), boot_id().unwrap());
        assert_eq!(parse_uuid("00000000-0000-0000-0000-0000000000ff"), Some(0xff));
        for text in ["", "ff", "+0000000-0000-0000-0000-0000000000ff"] {
            assert_eq!(parse_uuid(text), None, "{text}");
        }
    }
}
