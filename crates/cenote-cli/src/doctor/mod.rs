//! `cenote doctor`: looks whether this system is good to a pool, and says what would be better.
//!
//! Each check is a function from a [`System`] to findings. None changes anything, but for
//! files that vanish with the check, where the pool's would be.

mod finding;
mod memory;
mod pools;
mod process;
mod system;
#[cfg(test)]
mod tests;

use std::path::Path;

use clap::Args;
use console::{Style, style};

use crate::args::PoolArgs;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::table::count;
use finding::{Finding, Level};
use system::System;

const AFTER_HELP: &str = "\
Exit codes: 0 a pool can work here; 1 something stops it (the report says what).

  cenote doctor --json | jq '.[] | select(.level != \"ok\")'";

/// Look whether this system is good to a pool
///
/// Memory and its limits, the file system, huge pages, swap, containers, limits of this
/// process, the kernel, and the pool itself. Says what was found, why it matters, and the
/// exact remedy. Changes nothing.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Doctor {
    #[command(flatten)]
    format: Format,
}

impl Doctor {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let findings = examine(&System::here(), pool);
        if self.format.json {
            output::print_json(&findings)?;
        } else {
            output::print(&text(&findings))?;
        }
        let stops = findings.iter().filter(|finding| finding.level == Level::Stops).count();
        if stops == 0 {
            return Ok(());
        }
        Err(Failure::new(format!("{} in the way of a pool", things(stops, "stands", "stand"))))
    }
}

fn examine(system: &System, pool: &PoolArgs) -> Vec<Finding> {
    let dir = pool.dir();
    let path = dir.path();
    let mut findings = vec![
        memory::memory(system),
        memory::files(system, path),
        memory::huge_pages(system, path),
        memory::swap(system, path),
    ];
    findings.extend(process::container(system));
    findings.extend(process::limits(system));
    findings.extend(process::logout(system, rustix::process::geteuid().as_raw()));
    // Where the pool is, or will be.
    let there = path.ancestors().find(|above| above.is_dir()).unwrap_or(Path::new("/dev/shm"));
    findings.push(process::kernel(there));
    findings.push(pools::directory(&dir));
    findings.extend(pools::daemon(system, pool));
    findings.extend(pools::board(&dir));
    findings.push(pools::left_behind(system, &cenote_pool::rundir::user_directory(), path));
    findings
}

fn things(number: usize, one: &str, many: &str) -> String {
    let verb = if number == 1 { one } else { many };
    format!("{} {verb}", count(number as u64, "thing"))
}

fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let (word, colour) = match finding.level {
            Level::Ok => ("ok", Style::new().green()),
            Level::Note => ("note", Style::new().cyan()),
            Level::Warning => ("warning", Style::new().yellow().bold()),
            Level::Stops => ("stops", Style::new().red().bold()),
        };
        let word = colour.apply_to(format!("{word:<8}"));
        text += &format!("{word}{:<14}{}\n", finding.check, finding.finding);
        for (label, said) in [("why", &finding.why), ("do", &finding.remedy)] {
            if let Some(said) = said {
                text += &format!("{:<22}{} {said}\n", "", style(format!("{label}:")).dim());
            }
        }
    }
    let of = |level| findings.iter().filter(|finding| finding.level == level).count();
    let (stops, warnings) = (of(Level::Stops), of(Level::Warning));
    text += &match (stops, warnings) {
        (0, 0) => "\nNothing stands in the way of a pool.\n".to_owned(),
        (0, n) => format!("\nA pool works here; {} a look.\n", things(n, "is worth", "are worth")),
        (n, _) => format!("\n{} in the way of a pool.\n", things(n, "stands", "stand")),
    };
    text
}
