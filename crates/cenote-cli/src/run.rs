//! `cenote run`: the factors of a file over a panel, into the pool.

mod file;
mod show;
mod source;
mod work;

use std::path::PathBuf;

use cenote::{Pool, Refusal};
use cenote_pool::message::check_name;
use clap::Args;

use crate::args::PoolArgs;
use crate::connect::connect_or_start;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, Format};
use crate::put::watch::Watch;

const EXAMPLE: &str = include_str!("run/example.toml");

const AFTER_HELP: &str = "\
A file says what is computed, on what, and where the results go:

  library = [\"alpha101\"]           # or standard, or a file of yours; only = [\"alpha001\"]
  [panel]
  frame = \"prices\"                 # of the pool; or files = [\"prices/\"], or wide files
  time = \"date\"
  symbol = \"Name\"
  [factors]
  quiet = \"-1 * stddev(returns, 10)\"
  [results]
  name = \"factors\"
  [ic]
  horizons = [1, 5, 20]

Examples:
  cenote run --example > factors.toml   the same with every key explained, to be changed
  cenote run factors.toml
  cenote run factors.toml --json | jq '.factors[] | [.factor, .ic[0].mean]'
  cenote get factors                    what was computed: a column of times, a column of lists for
                                        each factor; in Python cenote.Panel(pool[\"factors\"])
  cenote log factors                    of which data, by which formulas

All factors are computed in one pass. One is left out, and said so, where the panel lacks a field
that the library names. Where there is no vwap the typical price stands in for it, close x volume
for amount; the table says where. What a factor says of the returns that follow (mean IC, its
deviation, their ratio, t after Newey and West, coverage, turnover, spread) is printed, and put as
`NAME.ic`. Ctrl-C, an error or a kill leaves nothing.
The 101 formulaic alphas are Kakushadze's (2016); WorldQuant retains rights in the formulae.";

/// Compute the factors of a file over a panel, and what they say of returns
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Run {
    /// What is computed, on what, and where the results go, in TOML
    #[arg(required_unless_present = "example", value_name = "FILE.toml")]
    file: Option<PathBuf>,
    /// Print a file to begin with
    #[arg(long, conflicts_with = "file")]
    example: bool,
    #[command(flatten)]
    format: Format,
}

impl Run {
    pub(crate) fn run(&self, pool: &PoolArgs) -> Result<(), Failure> {
        let Some(path) = &self.file else { return output::print(EXAMPLE) };
        let asked = file::read(path)?;
        check_name(&asked.name).map_err(|refusal| Failure::of_pool(&refusal.into()))?;
        let interrupt = Interrupt::listen()?;
        let pool = connect_or_start(pool)?;
        check_free(&pool, &asked)?;
        let watch = Watch::begin(interrupt.clone(), !self.format.json);
        let given = source::panel(&asked, &pool, &watch)?;
        drop(watch);
        let factors = work::gather(&asked, &given.panel)?;
        let done = work::compute(&asked, &given, &factors, &pool, &interrupt, !self.format.json)?;
        if self.format.json {
            return output::print_json(&show::json(&done, &factors, &given));
        }
        output::print(&show::text(&done, &factors, &given))?;
        show::notes(&done, &factors);
        Ok(())
    }
}

/// Says at once what the commit would say after all has been computed.
fn check_free(pool: &Pool, asked: &file::Asked) -> Result<(), Failure> {
    if asked.replace {
        return Ok(());
    }
    let frames = pool.frames().map_err(|error| Failure::of_pool(&error))?;
    let of_ic = asked.ic.as_ref().map(|_| work::name_of_ic(&asked.name));
    let taken = |name: &str| name == asked.name || Some(name) == of_ic.as_deref();
    match frames.into_iter().find(|frame| taken(&frame.name)) {
        Some(frame) => Err(Failure::of(&Refusal::Exists { name: frame.name }).hint(
            "replace = true in [results] makes a new version; name = \"…\" gives another name",
        )),
        None => Ok(()),
    }
}
