//! What a partition's statistics say of a predicate, without a look at its rows.

use cenote_arrow::stats::{Bound as Value, Bounds, ColumnStats};

use super::Op;
use super::bind::{Bound, Test};

/// What a predicate may come to in some row of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outlook {
    pub(crate) yes: bool,
    pub(crate) no: bool,
    pub(crate) null: bool,
}

impl Outlook {
    /// Nothing is known.
    pub(crate) const OPEN: Outlook = Outlook { yes: true, no: true, null: true };

    /// No row is wanted.
    pub(crate) fn none(self) -> bool {
        !self.yes
    }

    /// Each row is wanted.
    pub(crate) fn all(self) -> bool {
        !self.no && !self.null
    }
}

impl Bound {
    /// What it may come to, by what is known of each column of `rows` rows, or of more.
    pub(crate) fn outlook(&self, statistics: &[ColumnStats], rows: u64) -> Outlook {
        match self {
            Bound::Test { column, test } => match statistics.get(*column as usize) {
                Some(stats) => test.outlook(stats, rows),
                None => Outlook::OPEN,
            },
            Bound::Not(inner) => {
                let Outlook { yes, no, null } = inner.outlook(statistics, rows);
                Outlook { yes: no, no: yes, null }
            }
            Bound::And(parts) => {
                let mut all = Outlook { yes: true, no: false, null: false };
                for part in parts {
                    let part = part.outlook(statistics, rows);
                    if !part.yes && !part.null {
                        return Outlook { yes: false, no: true, null: false };
                    }
                    all.yes &= part.yes;
                    all.no |= part.no;
                    all.null |= part.null;
                }
                all
            }
            Bound::Or(parts) => {
                let mut all = Outlook { yes: false, no: true, null: false };
                for part in parts {
                    let part = part.outlook(statistics, rows);
                    if !part.no && !part.null {
                        return Outlook { yes: true, no: false, null: false };
                    }
                    all.yes |= part.yes;
                    all.no &= part.no;
                    all.null |= part.null;
                }
                all
            }
        }
    }
}

impl Test {
    pub(crate) fn outlook(&self, stats: &ColumnStats, rows: u64) -> Outlook {
        let null = stats.nulls != Some(0);
        let value = stats.nulls.is_none_or(|nulls| nulls < rows);
        if *self == Test::IsNull {
            return Outlook { yes: null, no: value, null: false };
        }
        if !value {
            return Outlook { yes: false, no: false, null: true };
        }
        let (yes, no) = match &stats.bounds {
            Bounds::Unknown => match self {
                Test::Constant(is) => (*is, !*is),
                _ => (true, true),
            },
            // NaN, if anything.
            Bounds::NoValue => match self {
                _ if !stats.nan => (true, true),
                Test::Constant(is) => (*is, !*is),
                Test::Compare(Op::Ne, _) => (true, false),
                _ => (false, true),
            },
            Bounds::Between { min, max, .. } => {
                let (yes, no) = self.between(min, max);
                match self {
                    Test::Compare(Op::Ne, _) => (yes || stats.nan, no),
                    Test::Constant(_) => (yes, no),
                    _ => (yes, no || stats.nan),
                }
            }
        };
        Outlook { yes, no, null }
    }

    /// Whether it may be true, and may be false, of values from `min` to `max`.
    fn between(&self, min: &Value, max: &Value) -> (bool, bool) {
        match self {
            Test::Constant(is) => (*is, !*is),
            Test::Compare(op, value) => compare(*op, value, min, max),
            Test::In(values) => {
                let mut any = (false, true);
                for value in values {
                    let (yes, no) = compare(Op::Eq, value, min, max);
                    any = (any.0 || yes, any.1 && no);
                }
                any
            }
            Test::Like(pattern) => {
                let Value::Bytes(max) = max else { return (true, true) };
                let Value::Bytes(min) = min else { return (true, true) };
                let prefix = pattern.prefix.as_slice();
                // All that begin with it are together, from itself on.
                let begin = &min[..min.len().min(prefix.len())];
                (max.as_slice() >= prefix && begin <= prefix, true)
            }
            Test::IsNull => (false, true),
        }
    }
}

/// A comparison with NaN is false.
fn compare(op: Op, value: &Value, min: &Value, max: &Value) -> (bool, bool) {
    let (low, high) = (min.compare(value), max.compare(value));
    let least = |is: fn(std::cmp::Ordering) -> bool| low.is_some_and(is);
    let most = |is: fn(std::cmp::Ordering) -> bool| high.is_some_and(is);
    let equal = (
        least(std::cmp::Ordering::is_le) && most(std::cmp::Ordering::is_ge),
        !(least(std::cmp::Ordering::is_eq) && most(std::cmp::Ordering::is_eq)),
    );
    match op {
        Op::Lt => (least(std::cmp::Ordering::is_lt), !most(std::cmp::Ordering::is_lt)),
        Op::Le => (least(std::cmp::Ordering::is_le), !most(std::cmp::Ordering::is_le)),
        Op::Gt => (most(std::cmp::Ordering::is_gt), !least(std::cmp::Ordering::is_gt)),
        Op::Ge => (most(std::cmp::Ordering::is_ge), !least(std::cmp::Ordering::is_ge)),
        Op::Eq => equal,
        Op::Ne => (equal.1, equal.0),
    }
}
