//! Reaching the pool that the user means.

use std::time::Duration;

use cenote::{DEFAULT_POOL, Daemon, Error, Options, Pool, Unavailable};

use crate::args::PoolArgs;
use crate::failure::Failure;
use crate::output;

/// A daemon that was started in the background ends after so long without a client. What is
/// in its pool stays.
const IDLE_EXIT: Duration = Duration::from_secs(600);

/// Connects to the pool; starts nothing.
///
/// # Errors
/// It cannot be reached.
pub(crate) fn connect(pool: &PoolArgs) -> Result<Pool, Failure> {
    Pool::connect(options(pool)).map_err(|error| Failure::of_pool(&error))
}

/// Connects to the pool. `None`: no daemon serves it, and it is the user's default pool, which
/// [`connect_or_start`] would start.
///
/// # Errors
/// It cannot be reached.
pub(crate) fn connect_if_served(pool: &PoolArgs) -> Result<Option<Pool>, Failure> {
    // What would be started need not be waited for.
    let connected = if is_default(pool) {
        Pool::connect_at_once(options(pool))
    } else {
        Pool::connect(options(pool))
    };
    match connected {
        Ok(connected) => Ok(Some(connected)),
        Err(error) if not_running(&error) && is_default(pool) => Ok(None),
        Err(error) => Err(Failure::of_pool(&error)),
    }
}

/// Connects to the pool; the default pool gets a daemon in the background if it has none.
///
/// # Errors
/// It cannot be reached or started.
pub(crate) fn connect_or_start(pool: &PoolArgs) -> Result<Pool, Failure> {
    if let Some(connected) = connect_if_served(pool)? {
        return Ok(connected);
    }
    let command = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find this program to start it: {error}")))?;
    let start = Some(Daemon { command, capacity: None, idle_exit: IDLE_EXIT });
    let started = Pool::connect(Options { start, ..options(pool) });
    let started = started.map_err(|error| Failure::of_pool(&error))?;
    let minutes = IDLE_EXIT.as_secs() / 60;
    output::note(&format!(
        "started a daemon for {}; it ends after {minutes} min without a client, or by `cenote stop`",
        started.dir().path().display()
    ));
    Ok(started)
}

fn options(pool: &PoolArgs) -> Options {
    Options {
        address: pool.address().map(str::to_owned),
        start: None,
        answer_within: pool.timeout(),
    }
}

/// Whether this is the pool that is meant when none is named.
fn is_default(pool: &PoolArgs) -> bool {
    pool.dir() == cenote::RunDir::from_address(Some(DEFAULT_POOL))
}

fn not_running(error: &Error) -> bool {
    matches!(error, Error::Unavailable { why: Unavailable::NotRunning, .. })
}
