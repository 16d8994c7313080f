//! Named places in the pool's sequences, where a test may end the process.
//!
//! Built with the feature `steps`, a process reads `CENOTE_STEP=NAME[@N]=kill|stop` and sends
//! itself SIGKILL or SIGSTOP when it reaches the place NAME for the N-th time (1 unless
//! said). `CENOTE_STEPS_SEEN=FILE` appends each place reached, so that a test can ask which
//! there are. Built without, nothing is left of it.

/// Says that the process has reached a place.
#[cfg(not(feature = "steps"))]
#[inline(always)]
pub fn reach(_name: &'static str) {}

/// Says that the process has reached a place.
#[cfg(feature = "steps")]
pub fn reach(name: &'static str) {
    on::reach(name);
}

#[cfg(feature = "steps")]
mod on {
    use std::io::Write;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use rustix::process::{Signal, getpid, kill_process};

    struct Target {
        name: String,
        nth: u64,
        signal: Signal,
    }

    static TARGET: OnceLock<Option<Target>> = OnceLock::new();
    static SEEN: AtomicU64 = AtomicU64::new(0);

    fn parse() -> Option<Target> {
        let text = std::env::var("CENOTE_STEP").ok()?;
        let (place, action) = text.rsplit_once('=')?;
        let (name, nth) = place.rsplit_once('@').unwrap_or((place, "1"));
        let signal = if action == "stop" { Signal::STOP } else { Signal::KILL };
        Some(Target { name: name.to_owned(), nth: nth.parse().ok()?, signal })
    }

    pub(super) fn reach(name: &'static str) {
        if let Some(path) = std::env::var_os("CENOTE_STEPS_SEEN") {
            let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
            if let Ok(mut file) = file {
                let _ = file.write_all(format!("{name}\n").as_bytes());
            }
        }
        let Some(target) = TARGET.get_or_init(parse) else { return };
        if target.name == name && SEEN.fetch_add(1, Ordering::Relaxed) + 1 == target.nth {
            let _ = kill_process(getpid(), target.signal);
        }
    }
}
