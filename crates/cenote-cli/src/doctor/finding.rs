//! What the doctor has to say: what was found, why it matters, and the exact remedy.

use serde::Serialize;

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// As it should be.
    Ok,
    /// Could be better, or good to know.
    Note,
    /// Will be felt.
    Warning,
    /// No pool can work like this.
    Stops,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What was looked at.
    pub(crate) check: &'static str,
    pub(crate) level: Level,
    /// What was found.
    pub(crate) finding: String,
    /// Why it matters; nothing where it does not.
    pub(crate) why: Option<String>,
    /// What to do; commands stand between backticks.
    pub(crate) remedy: Option<String>,
}

impl Finding {
    /// It is as it should be.
    pub(crate) fn ok(check: &'static str, finding: impl Into<String>) -> Finding {
        Finding { check, level: Level::Ok, finding: finding.into(), why: None, remedy: None }
    }

    /// It could be better.
    pub(crate) fn note(check: &'static str, finding: impl Into<String>) -> Finding {
        Finding { level: Level::Note, ..Finding::ok(check, finding) }
    }

    /// It will be felt.
    pub(crate) fn warning(check: &'static str, finding: impl Into<String>) -> Finding {
        Finding { level: Level::Warning, ..Finding::ok(check, finding) }
    }

    /// No pool can work like this.
    pub(crate) fn stops(check: &'static str, finding: impl Into<String>) -> Finding {
        Finding { level: Level::Stops, ..Finding::ok(check, finding) }
    }

    pub(crate) fn why(mut self, why: impl Into<String>) -> Finding {
        self.why = Some(why.into());
        self
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedy = Some(remedy.into());
        self
    }
}
