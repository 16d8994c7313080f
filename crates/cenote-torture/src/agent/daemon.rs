//! The daemon, as `cenote serve` runs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cenote::RunDir;
use cenote_pool::pool::Config;

/// Serves until the input ends. `-` as a number: what the pool chooses.
pub(crate) fn run(
    directory: &str,
    capacity: &str,
    reserve: &str,
    idle_ms: &str,
) -> Result<(), String> {
    let number = |text: &str| match text {
        "-" => Ok(None),
        text => text.parse().map(Some).map_err(|error| format!("{text}: {error}")),
    };
    let config = Config {
        dir: RunDir::at(directory),
        capacity: number(capacity)?,
        reserve: number(reserve)?,
        idle_exit: number(idle_ms)?.map(Duration::from_millis),
        ephemeral: false,
    };
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    std::thread::spawn(move || {
        for _ in std::io::stdin().lines().map_while(Result::ok) {}
        told.store(true, Ordering::Relaxed);
    });
    let ready = |_: &_| crate::say(&format!("ready {}", std::process::id()));
    cenote::serve(config, ready, &|| stop.load(Ordering::Relaxed)).map_err(|e| in_full(&e))
}

/// With the reasons behind it.
fn in_full(error: &dyn std::error::Error) -> String {
    let reason = error.source().map(in_full);
    reason.map_or_else(|| error.to_string(), |reason| format!("{error}: {reason}"))
}
