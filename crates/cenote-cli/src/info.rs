//! `cenote info`: what a pool's memory is used for.

use cenote::PoolInfo;
use cenote_region::quantity::ByteSize;
use clap::Args;
use console::style;

use crate::args::PoolArgs;
use crate::connect::connect;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::table::{count, span};

/// Show what the pool's memory is used for
///
/// Sizes are what the file system says. Anything leaked is a fault of Cenote: please report
/// it. Lost frames are those that this daemon could not take over from the one before.
#[derive(Debug, Args)]
pub(crate) struct Info {
    #[command(flatten)]
    format: Format,
}

impl Info {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let info = connect(pool)?.info().map_err(|error| Failure::of_pool(&error))?;
        if self.format.json {
            return output::print_json(&info);
        }
        output::print(&text(&info))
    }
}

/// Characters of a whole bar.
const BAR: u64 = 30;

fn text(info: &PoolInfo) -> String {
    let mut text = String::new();
    let mut line = |label: &str, value: String| text += &format!("{label:<12}{value}\n");
    line("pool", info.path.clone());
    let daemon = format!("process {}, up {}, epoch {}", info.pid, span(info.uptime_s), info.epoch);
    line("daemon", daemon);
    let holds = [(info.frames, "frame"), (info.chunks, "chunk"), (info.arenas, "arena")];
    let holds = holds.map(|(number, one)| count(number, one)).join(", ");
    line("holds", holds);
    // This command is one itself.
    line("clients", count(info.clients.saturating_sub(1), "other client"));
    let beyond = info
        .memory_headroom
        .map_or(String::new(), |headroom| format!(", the memory limit {}", ByteSize(headroom)));
    line("system", format!("the file system has {} free{beyond}", ByteSize(info.file_system_free)));
    text.push('\n');
    let capacity = info.capacity.max(1);
    text += &format!("{:<12}{:>10}\n", "capacity", ByteSize(info.capacity).to_string());
    let mut sized = |label: &str, bytes: u64, why: &str| {
        text += &row(label, bytes, capacity, why);
    };
    sized("used", info.used, "by all of its files");
    sized("  frames", info.sealed, "");
    sized("  held", info.retired_held, "replaced or dropped, and still read");
    sized("  open", info.open, "being written");
    sized("  ready", info.ready, "allocated ahead of demand");
    sized("  metadata", info.metadata, "");
    let leaked =
        row("  leaked", info.leaked, capacity, if info.leaked > 0 { "a fault" } else { "" });
    text += &match info.leaked {
        0 => leaked,
        _ => style(leaked).red().bold().to_string(),
    };
    if !info.lost.is_empty() {
        let title = format!("lost: {}", count(info.lost.len() as u64, "frame"));
        text += &format!("\n{}\n", style(title).red().bold());
        for frame in &info.lost {
            let source = match frame.source.as_str() {
                "" => "of unknown source".to_owned(),
                source => format!("from {source}"),
            };
            text += &format!("  {} v{}, {source}: {}\n", frame.name, frame.version, frame.reason);
        }
        text += "  put them again, or take them off this list with `cenote rm`\n";
    }
    text
}

fn row(label: &str, bytes: u64, capacity: u64, why: &str) -> String {
    let size = ByteSize(bytes).to_string();
    let share = |of: u64| u128::from(bytes.min(capacity)) * u128::from(of) / u128::from(capacity);
    let whole = usize::try_from(share(BAR)).unwrap_or(0);
    // What is there is seen, be it ever so small.
    let (full, rest) = if bytes > 0 && whole == 0 { ("▏", 1) } else { ("", whole) };
    let bar = format!("{}{full}", "█".repeat(whole));
    let dots = "·".repeat(usize::try_from(BAR).unwrap_or(0).saturating_sub(rest));
    format!("{label:<12}{size:>10}  {bar}{dots} {:>3} %  {why}", share(100)).trim_end().to_owned()
        + "\n"
}
