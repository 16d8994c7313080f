//! Running a daemon: in this process, or as one in the background.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_pool::pool::{Config, Pool as Owner};
use cenote_pool::rundir::RunDir;
use cenote_pool::server::Server;
use tracing::info;

use crate::error::{Error, Unavailable};

/// A log that is longer is cut.
const LOG_BYTES_MAX: u64 = 1 << 20;
/// How often it is looked at.
const LOG_LOOK_EVERY: Duration = Duration::from_secs(1);

/// A daemon that is started where a pool has none.
#[derive(Clone, Debug)]
pub struct Daemon {
    /// The `cenote` command.
    pub command: PathBuf,
    /// Capacity of the pool in bytes, if it is to differ from the default.
    pub capacity: Option<u64>,
    /// It ends after so long without a client.
    pub idle_exit: Duration,
}

impl Daemon {
    /// Starts it in a session of its own, so that the terminal's Ctrl-C does not reach it. Also
    /// says where in the log its words begin.
    pub(crate) fn spawn(&self, dir: &RunDir) -> Result<(Child, u64), Error> {
        let fail = |error| Error::Unavailable {
            path: dir.path().to_owned(),
            why: Unavailable::Start(format!("{}: {error}", self.command.display())),
        };
        dir.create().map_err(|error| fail(std::io::Error::other(error)))?;
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(log_path(dir))
            .map_err(fail)?;
        let said = log.metadata().map_or(0, |metadata| metadata.len());
        let mut command = Command::new(&self.command);
        command.arg("serve").arg("--address").arg(dir.path());
        command.arg("--idle-exit").arg(self.idle_exit.as_secs().to_string());
        if let Some(capacity) = self.capacity {
            command.arg("--capacity").arg(capacity.to_string());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).current_dir("/");
        // A fault point of this process is not the daemon's.
        command.env_remove("CENOTE_STEP");
        // SAFETY: setsid is async-signal-safe and touches no memory.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                Ok(())
            });
        }
        info!(command = %self.command.display(), path = %dir.path().display(), "starting a daemon");
        Ok((command.spawn().map_err(fail)?, said))
    }

    /// What the daemon said before it ended: its error, else its last lines.
    pub(crate) fn last_words(&self, dir: &RunDir, from: u64) -> String {
        let mut bytes = std::fs::read(log_path(dir)).unwrap_or_default();
        // Cut meanwhile, all of it is new.
        if let Ok(from) = usize::try_from(from) {
            bytes.drain(..if from <= bytes.len() { from } else { 0 });
        }
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<_> = text.lines().collect();
        let error = lines.iter().rposition(|line| line.starts_with("error: "));
        lines[error.unwrap_or(lines.len().saturating_sub(3))..].join(" ")
    }
}

/// Whether somebody owns the pool: a daemon that serves it, starts or ends.
pub(crate) fn owned(dir: &RunDir) -> bool {
    File::open(dir.file("lock"))
        .is_ok_and(|file| cenote_region::lock::is_locked_by_other(&file).unwrap_or(false))
}

fn log_path(dir: &RunDir) -> PathBuf {
    dir.file("daemon.log")
}

/// Cuts a daemon's log in the pool's directory: it takes memory. What was in it stays as
/// `daemon.log.1`.
fn bound_log(dir: &RunDir) {
    let path = log_path(dir);
    let is_long = |file: &File| file.metadata().is_ok_and(|m| m.len() > LOG_BYTES_MAX);
    let Ok(file) = OpenOptions::new().write(true).open(&path) else { return };
    if is_long(&file) && std::fs::copy(&path, dir.file("daemon.log.1")).is_ok() {
        // Whoever writes it appends.
        let _ = file.set_len(0);
    }
}

/// A client takes some six descriptors, and shells give 1,024 where many more are allowed.
fn raise_descriptors() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Refused, as many clients are served as descriptors last for.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Serves the pool of `config` until `stop` says so, a client asks, or it has idled.
///
/// `ready` is called once clients can connect.
///
/// # Errors
/// [`Error::Open`], [`Error::Io`].
pub fn serve(
    config: Config,
    ready: impl FnOnce(&Arc<Owner>),
    stop: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let (idle, dir) = (config.idle_exit.is_some(), config.dir.clone());
    raise_descriptors();
    let owner = Owner::open(config)?;
    let server = Server::bind(owner.clone()).map_err(Error::io("listen"))?;
    ready(&owner);
    let looked = Cell::new(Instant::now());
    let stop = || {
        if looked.get().elapsed() > LOG_LOOK_EVERY {
            looked.set(Instant::now());
            bound_log(&dir);
        }
        stop()
    };
    let outcome = server.run(&stop).map_err(Error::io("accept clients"));
    owner.close(idle);
    info!("ended");
    outcome
}
