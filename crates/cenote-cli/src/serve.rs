//! `cenote serve`: the pool's daemon, in the foreground.

use std::io::{self, Write};
use std::time::Duration;

use cenote_pool::pool::Config;
use cenote_region::quantity::ByteSize;
use clap::Args;

use crate::args::PoolArgs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::table::count;

/// Serve a pool until Ctrl-C
///
/// Prints one line once clients can connect. What is in the pool stays in memory when the
/// daemon ends, however it ends: the next `cenote serve` takes it over. A second signal ends
/// it at once.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// What the pool's data may take, such as 8GiB [default: half of what the machine allows]
    #[arg(long, value_name = "SIZE")]
    capacity: Option<ByteSize>,
    /// Memory to keep allocated ahead of puts [default: a quarter of the capacity, at most
    /// 1.25 GiB]
    #[arg(long, value_name = "SIZE")]
    reserve: Option<ByteSize>,
    /// End after so many seconds without a client; an empty pool's directory goes, too
    #[arg(long, value_name = "SECONDS")]
    idle_exit: Option<u64>,
}

impl Serve {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let config = Config {
            dir: pool.dir(),
            capacity: self.capacity.map(ByteSize::bytes),
            reserve: self.reserve.map(ByteSize::bytes),
            idle_exit: self.idle_exit.map(Duration::from_secs),
            ephemeral: false,
        };
        let dir = config.dir.clone();
        let ready = |owner: &std::sync::Arc<cenote_pool::pool::Pool>| {
            let info = owner.info();
            let capacity = ByteSize(info.capacity);
            let lost = match info.lost.len() {
                0 => String::new(),
                n => format!(" ({n} lost: `cenote info` says why)"),
            };
            // A daemon serves whether or not anybody reads what it says.
            let _ = writeln!(
                io::stdout(),
                "serving {} · capacity {capacity} · {}{lost} · pid {} · Ctrl-C stops; frames stay \
                 for the next serve",
                dir.path().display(),
                count(info.frames, "frame"),
                std::process::id(),
            );
        };
        cenote::serve(config, ready, &|| interrupt.asked())
            .map_err(|error| Failure::of_pool(&error))
    }
}
