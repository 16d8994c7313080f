//! `--version`, `--as-of` and `--tag`: which version of a frame.

use cenote::Which;
use clap::Args;

/// Over the options that choose a version.
const HEADING: &str = "Which version";

/// Which version; the current one unless said.
#[derive(Clone, Debug, Args)]
pub(crate) struct WhichArgs {
    /// The version with this number
    #[arg(long, value_name = "N", help_heading = HEADING)]
    version: Option<u64>,
    /// The version that was current then, as 2026-01-31 or 2026-01-31T17:00:00Z; UTC unless said
    #[arg(long, value_name = "TIME", value_parser = moment, conflicts_with = "version")]
    #[arg(help_heading = HEADING)]
    as_of: Option<u64>,
    /// The version with this tag
    #[arg(long, value_name = "TAG", conflicts_with_all = ["version", "as_of"])]
    #[arg(help_heading = HEADING)]
    tag: Option<String>,
}

impl WhichArgs {
    pub(crate) fn which(&self) -> Which {
        match (self.version, self.as_of, &self.tag) {
            (Some(version), _, _) => Which::Version(version),
            (_, Some(ns), _) => Which::AsOf(ns),
            (_, _, Some(tag)) => Which::Tag(tag.clone()),
            _ => Which::Current,
        }
    }
}

/// Nanoseconds since 1970.
fn moment(text: &str) -> Result<u64, String> {
    let wrong = || "write a time as 2026-01-31 or 2026-01-31T17:00:00Z".to_owned();
    let ns = arrow_cast::parse::string_to_timestamp_nanos(text).map_err(|_| wrong())?;
    u64::try_from(ns).map_err(|_| wrong())
}

/// A version by its number, or by its tag.
pub(crate) fn named(text: &str) -> Which {
    let number = text.strip_prefix('v').unwrap_or(text).parse();
    number.map_or_else(|_| Which::Tag(text.to_owned()), Which::Version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_names_of_versions() {
        assert_eq!(moment("1970-01-02"), Ok(86_400_000_000_000));
        assert_eq!(moment("1970-01-01T01:00:00+01:00"), Ok(0));
        assert!(moment("yesterday").is_err() && moment("1969-12-31").is_err());
        assert_eq!(named("3"), Which::Version(3));
        assert_eq!(named("v3"), Which::Version(3));
        assert_eq!(named("vintage"), Which::Tag("vintage".to_owned()));
    }
}
