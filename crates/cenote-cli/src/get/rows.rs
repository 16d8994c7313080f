//! Rows as the user writes them: `A..B`, `A..`, `..B`.

use std::str::FromStr;

/// From one row up to and without another. Whether the frame has them is for the pool to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    start: i64,
    stop: i64,
}

impl Rows {
    /// First, and one past the last.
    pub(crate) fn bounds(self) -> (i64, i64) {
        (self.start, self.stop)
    }
}

impl FromStr for Rows {
    type Err = String;

    fn from_str(text: &str) -> Result<Rows, String> {
        let wrong = || format!("{text:?} is no range of rows: write A..B, A.. or ..B");
        let (start, stop) = text.split_once("..").ok_or_else(wrong)?;
        let bound = |text: &str, absent: i64| match text.trim() {
            "" => Ok(absent),
            text => text.replace(['_', ','], "").parse().map_err(|_| wrong()),
        };
        Ok(Rows { start: bound(start, 0)?, stop: bound(stop, i64::MAX)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_end_may_be_left_out() {
        let bounds = |text: &str| text.parse().map(Rows::bounds);
        assert_eq!(bounds("3..5"), Ok((3, 5)));
        assert_eq!(bounds("1_000.."), Ok((1000, i64::MAX)));
        assert_eq!(bounds("..5"), Ok((0, 5)));
        assert_eq!(bounds("-5..10"), Ok((-5, 10)));
        for text in ["", "5", "a..b", "1.5..2"] {
            assert!(bounds(text).is_err(), "{text}");
        }
    }
}
