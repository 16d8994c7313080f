//! `cenote leases`: who reads what.

use cenote::SessionInfo;
use cenote_region::quantity::ByteSize;
use clap::Args;

use crate::args::PoolArgs;
use crate::connect::connect;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::table::{Align, Table, span};

/// List the pool's clients and what each reads
///
/// What a client reads stays in memory, replaced or dropped though it be: its version is then
/// marked as old. OPEN is what it is writing. `cenote evict-client` ends a client.
#[derive(Debug, Args)]
pub(crate) struct Leases {
    #[command(flatten)]
    format: Format,
}

impl Leases {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let clients = others(pool)?.1;
        if self.format.json {
            return output::print_json(&clients);
        }
        let terminal = output::to_terminal();
        if terminal && clients.is_empty() {
            output::note("nobody is connected");
            return Ok(());
        }
        let width = terminal.then(|| console::Term::stdout().size().1.into());
        output::print(&table(&clients).render(width))
    }
}

/// The pool, and its clients but for this command itself.
pub(crate) fn others(pool: &PoolArgs) -> Result<(cenote::Pool, Vec<SessionInfo>), Failure> {
    let connected = connect(pool)?;
    let failed = |error: cenote::Error| Failure::of_pool(&error);
    let own = connected.session_id().map_err(failed)?;
    let mut clients = connected.leases().map_err(failed)?;
    clients.retain(|client| client.session != own);
    Ok((connected, clients))
}

/// Bytes that a client reads.
pub(crate) fn bytes_read(client: &SessionInfo) -> ByteSize {
    client.leases.iter().map(|lease| ByteSize(lease.nbytes)).sum()
}

fn table(clients: &[SessionInfo]) -> Table {
    let mut table = Table::new([
        ("SESSION", Align::Right),
        ("PID", Align::Right),
        ("AGE", Align::Right),
        ("STATE", Align::Left),
        ("OPEN", Align::Right),
        ("FRAME", Align::Left),
        ("CHUNKS", Align::Right),
        ("SIZE", Align::Right),
        ("COMMAND", Align::Left),
    ]);
    for client in clients {
        let mut leases = client.leases.iter().map(|lease| {
            let name = if lease.name.is_empty() { "?" } else { &lease.name };
            let old = if lease.current { "" } else { " (old)" };
            let frame = format!("{name} v{}{old}", lease.version);
            [frame, lease.chunks.to_string(), ByteSize(lease.nbytes).to_string()]
        });
        let first = leases.next().unwrap_or_else(|| ["-", "", ""].map(str::to_owned));
        let [frame, chunks, size] = first;
        table.row(vec![
            client.session.to_string(),
            client.pid.to_string(),
            span(client.age_s),
            state(client).to_owned(),
            ByteSize(client.open).to_string(),
            frame,
            chunks,
            size,
            client.command.clone(),
        ]);
        for [frame, chunks, size] in leases {
            let mut cells = vec![String::new(); 5];
            cells.extend([frame, chunks, size, String::new()]);
            table.row(cells);
        }
    }
    table
}

fn state(client: &SessionInfo) -> &'static str {
    match client {
        SessionInfo { quarantined: true, .. } => "quarantined",
        SessionInfo { stopped: true, .. } => "stopped",
        SessionInfo { connected: true, .. } => "connected",
        _ => "away",
    }
}
