//! `cenote tag`: a name for one version, which is kept as long as it has one.

use clap::Args;
use clap_complete::ArgValueCompleter;
use serde::Serialize;

use crate::args::PoolArgs;
use crate::connect::connect;
use crate::failure::Failure;
use crate::output::{self, Format};

/// Name a version of a frame, so that it is kept
///
/// A tag that another version has moves to this one. `cenote get NAME --tag TAG` gets it.
#[derive(Debug, Args)]
pub(crate) struct Tag {
    /// The frame
    #[arg(add = ArgValueCompleter::new(crate::complete::frames))]
    name: String,
    /// The tag
    tag: String,
    /// The version [default: the current one]
    #[arg(long, value_name = "N")]
    version: Option<u64>,
    /// Take the tag away; its version goes if nothing else keeps it
    #[arg(long, conflicts_with = "version")]
    remove: bool,
    #[command(flatten)]
    format: Format,
}

#[derive(Debug, Serialize)]
struct Done<'a> {
    name: &'a str,
    tag: &'a str,
    /// The version that has it now.
    version: Option<u64>,
}

impl Tag {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let pool = connect(pool)?;
        let (name, tag) = (self.name.as_str(), self.tag.as_str());
        let outcome = if self.remove {
            pool.untag(name, tag).map(|()| None)
        } else {
            pool.tag(name, tag, self.version).map(Some)
        };
        let version = outcome.map_err(|error| Failure::of_pool(&error))?;
        if self.format.json {
            return output::print_json(&Done { name, tag, version });
        }
        output::print(&match version {
            Some(version) => format!("{name} v{version} has the tag {tag}\n"),
            None => format!("no version of {name} has the tag {tag} any more\n"),
        })
    }
}
