//! `cenote mv`: a frame gets another name.

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::args::PoolArgs;
use crate::connect::connect;
use crate::failure::Failure;
use crate::output;

/// Rename a frame
///
/// Copies nothing; who reads it goes on. The new name must be free.
#[derive(Debug, Args)]
pub(crate) struct Mv {
    /// Its name
    #[arg(add = ArgValueCompleter::new(crate::complete::frames))]
    old: String,
    /// Its new name
    new: String,
}

impl Mv {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let failed = |error: cenote::Error| match &error {
            cenote::Error::Refused(cenote::Refusal::Exists { name }) => {
                Failure::new(format!("frame {name:?} exists already"))
                    .hint(format!("drop it first: `cenote rm {name}`"))
            }
            error => Failure::of_pool(error),
        };
        connect(pool)?.rename(&self.old, &self.new).map_err(failed)?;
        output::print(&format!("renamed {} to {}\n", self.old, self.new))
    }
}
