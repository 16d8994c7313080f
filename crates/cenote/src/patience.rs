//! What a caller may do while a call waits.
//!
//! An answer may take as long as the deadline says, room for a put as long as its caller
//! chose. A program that handles signals itself, as Python does, would not hear of Ctrl-C
//! meanwhile: so a wait asks it, every [`EVERY`] and whenever a signal has interrupted it.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::error::Error;

/// How often a wait asks.
pub(crate) const EVERY: Duration = Duration::from_millis(100);
/// Room for a put is waited for in pieces of this length, and this process's connection is in
/// use for so long: other threads and forks need it, too.
const PIECE: Duration = Duration::from_millis(10);
/// Between two pieces.
const PAUSE: Duration = Duration::from_millis(40);

/// An error of the program's own.
pub type Stop = Box<dyn std::error::Error + Send + Sync>;

static HOOK: OnceLock<fn() -> Result<(), Stop>> = OnceLock::new();

/// Has every wait of this process ask `hook`, at least ten times a second, whether to go on.
/// Its error becomes the call's, as [`Error::Source`]. The first hook stays.
///
/// The hook runs while this process's connection is in use, so it must not call the pool,
/// nor wait for a thread that does.
pub fn on_wait(hook: fn() -> Result<(), Stop>) {
    // A second caller wants what the first one has.
    let _ = HOOK.set(hook);
}

/// Asks.
pub(crate) fn go_on() -> Result<(), Error> {
    HOOK.get().map_or(Ok(()), |hook| hook()).map_err(Error::Source)
}

/// Does what may be refused for lack of room until it is not, or `wait` has passed.
pub(crate) fn until_room<T>(
    wait: Duration,
    mut attempt: impl FnMut(Duration) -> Result<T, Error>,
) -> Result<T, Error> {
    let begin = Instant::now();
    loop {
        let left = wait.saturating_sub(begin.elapsed());
        match attempt(left.min(PIECE)) {
            // What is more than all of it will not fit, however long.
            Err(Error::Refused(crate::Refusal::Exhausted { asked, capacity, .. }))
                if left > PIECE && asked <= capacity =>
            {
                go_on()?;
                std::thread::sleep(PAUSE.min(left));
            }
            outcome => return outcome,
        }
    }
}
