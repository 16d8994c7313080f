//! `cenote evict-client`: ends a client's process, and with it what it holds.

use std::io::{self, IsTerminal, Write};

use cenote::SessionInfo;
use cenote_pool::id::SessionId;
use clap::Args;

use crate::args::PoolArgs;
use crate::failure::Failure;
use crate::leases::{bytes_read, others};
use crate::output;
use crate::table::count;

/// End a client's process, so that what it holds is free
///
/// The process gets SIGKILL: it is for one that hangs. Asks first, on a terminal.
#[derive(Debug, Args)]
pub(crate) struct EvictClient {
    /// Its session, as `cenote leases` lists it
    #[arg(required_unless_present = "pid", conflicts_with = "pid")]
    session: Option<u64>,
    /// Its process, instead of a session
    #[arg(long)]
    pid: Option<u32>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl EvictClient {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let (connected, clients) = others(pool)?;
        let meant = |client: &&SessionInfo| match (self.session, self.pid) {
            (Some(session), _) => client.session == SessionId(session),
            (None, pid) => pid == Some(client.pid),
        };
        let Some(client) = clients.iter().find(meant) else {
            let whom = match (self.session, self.pid) {
                (Some(session), _) => format!("session {session}"),
                (None, pid) => format!("process {}", pid.unwrap_or(0)),
            };
            return Err(Failure::new(format!("no client of the pool is {whom}"))
                .hint("`cenote leases` lists the clients"));
        };
        if !self.yes && !agreed(client)? {
            return Err(Failure::new("nothing was done"));
        }
        connected.evict(client.session).map_err(|error| Failure::of_pool(&error))?;
        output::print(&format!("ended process {} (session {})\n", client.pid, client.session))
    }
}

fn agreed(client: &SessionInfo) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(
            "ending a process needs a yes, and there is no terminal to ask on",
        )
        .hint("--yes does not ask"));
    }
    let reads = match client.leases.len() {
        0 => "reads nothing".to_owned(),
        n => format!("reads {}, {}", count(n as u64, "frame"), bytes_read(client)),
    };
    let question =
        format!("end process {} ({}), which {reads}? [y/N] ", client.pid, client.command);
    let failed = |error: io::Error| Failure::doing("ask", &error);
    let mut err = io::stderr();
    err.write_all(question.as_bytes()).and_then(|()| err.flush()).map_err(failed)?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(failed)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
