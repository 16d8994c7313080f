//! `cenote rm`: frames go.

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::args::PoolArgs;
use crate::connect::connect;
use crate::failure::Failure;
use crate::output;

/// Drop frames
///
/// Who reads one goes on reading; its memory is free once nobody does. Also takes a lost
/// frame off the list of `cenote info`.
#[derive(Debug, Args)]
pub(crate) struct Rm {
    /// The frames
    #[arg(required = true, value_name = "NAME")]
    #[arg(add = ArgValueCompleter::new(crate::complete::frames))]
    names: Vec<String>,
    /// Drop only this version, of one frame; not the current one, nor one that has a tag
    #[arg(long, value_name = "N")]
    version: Option<u64>,
}

impl Rm {
    /// Drops all that can be dropped.
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        if self.version.is_some() && self.names.len() > 1 {
            return Err(Failure::usage("--version is of one frame: name one"));
        }
        let pool = connect(pool)?;
        let mut failure: Option<Failure> = None;
        for name in &self.names {
            let (outcome, which) = match self.version {
                Some(version) => (pool.drop_version(name, version), format!(" v{version}")),
                None => (pool.drop_frame(name), String::new()),
            };
            match outcome {
                Ok(()) => output::print(&format!("dropped {name}{which}\n"))?,
                Err(error) => {
                    if let Some(earlier) = failure.replace(Failure::of_pool(&error)) {
                        earlier.print();
                    }
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }
}
