//! `cenote stop`: the daemon ends.

use std::fs::File;
use std::time::{Duration, Instant};

use cenote_region::lock::is_locked_by_other;
use clap::Args;

use crate::args::PoolArgs;
use crate::connect::connect;
use crate::failure::Failure;
use crate::output;
use crate::table::count;

/// How long the daemon may take to write down what it must.
const ENDS_WITHIN: Duration = Duration::from_secs(15);

/// Stop the pool's daemon
///
/// Its frames stay in memory, for the next `cenote serve`; who reads them goes on. Returns
/// once the daemon has ended.
#[derive(Debug, Args)]
pub(crate) struct Stop {}

impl Stop {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let connected = connect(pool)?;
        let info = connected.info().map_err(|error| Failure::of_pool(&error))?;
        connected.stop_daemon().map_err(|error| Failure::of_pool(&error))?;
        let lock = connected.dir().file("lock");
        drop(connected);
        let deadline = Instant::now() + ENDS_WITHIN;
        // An owner holds the lock of the directory as long as it lives.
        while File::open(&lock).is_ok_and(|file| is_locked_by_other(&file).unwrap_or(false)) {
            if Instant::now() > deadline {
                let pid = info.pid;
                return Err(Failure::new(format!(
                    "process {pid} was told to stop and still owns the pool in {} after {ENDS_WITHIN:?}",
                    info.path
                ))
                .hint(format!("`kill -KILL {pid}` ends it at once; its frames stay")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        output::print(&format!("stopped the daemon of {}, process {}\n", info.path, info.pid))?;
        if info.frames > 0 {
            let frames = count(info.frames, "frame");
            output::note(&format!("left in memory for the next `cenote serve`: {frames}"));
        }
        Ok(())
    }
}
