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
}

impl Rm {
    /// Drops all that can be dropped.
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let pool = connect(pool)?;
        let mut failure: Option<Failure> = None;
        for name in &self.names {
            match pool.drop_frame(name) {
                Ok(()) => output::print(&format!("dropped {name}\n"))?,
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
