//! Pieces of the sentences that errors are.

/// What the first record is where it has but one field and others have more: perhaps no header.
pub(super) const PREAMBLE: &str =
    "; --skip-lines or --comment passes over lines that stand above a header";

/// Names listed up to here; then their number.
const MAX_LISTED: usize = 20;

pub(super) fn list(names: &[String]) -> String {
    let shown: Vec<String> =
        names.iter().take(MAX_LISTED).map(|name| format!("`{}`", clip(name))).collect();
    match names.len().saturating_sub(MAX_LISTED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Which of the columns was meant: one that differs in blanks or case alone.
pub(super) fn meant(column: &str, known: &[String]) -> String {
    let plain = |name: &str| name.trim().to_lowercase();
    match known.iter().find(|name| plain(name) == plain(column)) {
        Some(name) => format!("; did you mean {name:?}?"),
        None => String::new(),
    }
}

pub(super) fn numbers(places: &[usize]) -> String {
    places.iter().take(MAX_LISTED).map(usize::to_string).collect::<Vec<_>>().join(", ")
}

pub(super) fn part(label: &str, names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("{label}{}", list(names)) }
}

pub(super) fn keys(names: &[String]) -> String {
    if names.is_empty() { "no columns".into() } else { list(names) }
}

pub(super) fn quoted(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": `{text}`") }
}

pub(super) fn message_at(message: Option<usize>) -> String {
    message.map_or_else(String::new, |number| format!(" (message {number})"))
}

pub(super) fn group(row_group: Option<usize>) -> String {
    row_group.map_or_else(|| " (footer)".into(), |number| format!(" (row group {number})"))
}

/// The first 80 characters of a text, for an error.
pub(crate) fn clip(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}
