//! A thread beside a load: shows how far it is, and stops it when the user asks.

use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cenote_load::{Meter, Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::table::grouped;

const TICK: Duration = Duration::from_millis(50);
/// A load that was told to stop may take so long over the batch that it is at. After that
/// the process ends, and the pool takes back what it held.
const STOPS_WITHIN: Duration = Duration::from_secs(3);
const INTERRUPTED: &str = "interrupted: nothing was put";

/// Ends with the load.
#[derive(Debug)]
pub(crate) struct Watch {
    meter: Meter,
    interrupt: Interrupt,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins. The bar is drawn on stderr, and only if that is a terminal.
    pub(crate) fn begin(interrupt: Interrupt, show: bool) -> Watch {
        let (meter, over) = (Meter::new(), Arc::new(AtomicBool::new(false)));
        let target = if show { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        let watched = (meter.clone(), interrupt.clone(), over.clone());
        let spawned =
            std::thread::Builder::new().name("cenote-watch".to_owned()).spawn(move || {
                let (meter, interrupt, over) = watched;
                watch(&meter, &interrupt, &over, &bar);
                bar.finish_and_clear();
            });
        // Without it the load is silent, and a signal waits for its end.
        Watch { meter, interrupt, over, thread: spawned.ok() }
    }

    /// What the load counts on.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Fails once the user has asked to stop.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.interrupt.check(INTERRUPTED)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

fn watch(meter: &Meter, interrupt: &Interrupt, over: &AtomicBool, bar: &ProgressBar) {
    let mut stopping: Option<Instant> = None;
    let mut stage = None;
    while !over.load(Ordering::SeqCst) {
        if interrupt.asked() {
            meter.cancel();
            if stopping.get_or_insert_with(Instant::now).elapsed() > STOPS_WITHIN {
                bar.finish_and_clear();
                Failure::interrupted(interrupt.signal(), INTERRUPTED).print();
                exit(128 + i32::from(interrupt.signal()));
            }
        }
        let now = meter.read();
        bar.set_message(format!("{} rows", grouped(now.rows_done)));
        if stage.replace(now.stage) == Some(now.stage) {
            bar.set_length(now.bytes_total);
            bar.set_position(now.bytes_done.min(now.bytes_total));
            bar.tick();
        } else {
            // Its speed is counted from here.
            bar.set_style(look(now.stage));
            bar.reset();
        }
        std::thread::park_timeout(TICK);
    }
}

fn look(stage: Stage) -> ProgressStyle {
    let template = match stage {
        Stage::Listing => "looking for files {spinner}",
        Stage::Scanning => {
            "reading {bar:30} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left"
        }
        _ => {
            "loading {bar:30} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {msg}, {eta} left"
        }
    };
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("█▌·")
}
