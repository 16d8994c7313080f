//! Names that are near one that was not found, so that an error can ask "did you mean …?".

/// Names that are compared with the one that was not found.
const AMONG_MAX: usize = 20_000;
/// Names that are told.
const TOLD_MAX: usize = 3;
/// Characters of a name that are compared.
const CHARACTERS_MAX: usize = 64;

/// The names of `among` that are near `name`, the nearest first: a quarter of the characters
/// may differ, and one more. Case does not count.
///
/// Cost: about a microsecond for each name of a like length.
#[must_use]
pub fn nearest<'a>(name: &str, among: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let lower = comparable(name);
    let mut near: Vec<(usize, &str)> = among
        .into_iter()
        .filter(|other| other.len().abs_diff(name.len()) <= 1 + name.len() / 4)
        .take(AMONG_MAX)
        .map(|other| (strsim::levenshtein(&lower, &comparable(other)), other))
        .filter(|(d, other)| {
            *d <= 1 + other.len() / 4 && *d < other.chars().count().max(lower.chars().count())
        })
        .collect();
    near.sort_unstable();
    near.into_iter().take(TOLD_MAX).map(|(_, name)| name.to_owned()).collect()
}

/// Without case, and not longer than is worth the time.
fn comparable(name: &str) -> String {
    name.to_lowercase().chars().take(CHARACTERS_MAX).collect()
}

/// `; did you mean "a" or "b"?`, or nothing.
#[must_use]
pub fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    let names: Vec<_> = nearest.iter().map(|name| format!("{name:?}")).collect();
    format!("; did you mean {}?", names.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger() {
        let among = ["prices", "returns", "Price", "x", "symbols"];
        assert_eq!(nearest("pries", among), ["prices", "Price"]);
        assert_eq!(nearest("RETURN", among), ["returns"]);
        assert_eq!(nearest("y", among), [""; 0], "a name of one letter is not any other");
        assert_eq!(nearest("weights", among), [""; 0]);
        assert_eq!(nearest("", among), [""; 0]);
    }

    #[test]
    fn asks() {
        let names = ["a".to_owned(), "b".to_owned()];
        assert_eq!(did_you_mean(&names), "; did you mean \"a\" or \"b\"?");
        assert_eq!(did_you_mean(&[]), "");
    }
}
