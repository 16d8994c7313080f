//! A formula cut into words, numbers and signs.

use super::error::Problem;

/// A word, number or sign.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name, in lower case; only the last part of one with points.
    Name(String),
    Number(f64),
    Sign(&'static str),
    End,
}

impl Token {
    /// As a message names it.
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Name(name) => format!("the name {name:?}"),
            Token::Number(number) => format!("the number {number}"),
            Token::Sign(sign) => format!("{sign:?}"),
            Token::End => "the end".to_owned(),
        }
    }
}

/// Longer ones first.
const SIGNS: [&str; 21] = [
    "<=", ">=", "==", "!=", "||", "&&", "<", ">", "+", "-", "*", "/", "^", "?", ":", "(", ")", ",",
    "!", "=", ";",
];

/// The tokens, each with the byte at which it begins; the last is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, (Problem, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
        } else if c.is_ascii_digit() || c == '.' {
            let length = number_length(rest);
            let number = rest[..length].parse().ok().filter(|n: &f64| n.is_finite());
            let number = number.ok_or_else(|| (Problem::Number(rest[..length].to_owned()), at))?;
            found.push((Token::Number(number), at));
            at += length;
        } else if c.is_alphabetic() || c == '_' {
            let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let name = rest[..length].rsplit('.').next().unwrap_or_default();
            found.push((Token::Name(name.to_lowercase()), at));
            at += length;
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            found.push((Token::Sign(sign), at));
            at += sign.len();
        } else {
            return Err((Problem::Character(c), at));
        }
    }
    found.push((Token::End, text.len()));
    Ok(found)
}

/// Digits, a point, digits, an exponent.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() && (bytes[at].is_ascii_digit() || bytes[at] == b'.') {
        at += 1;
    }
    if at < bytes.len() && bytes[at].eq_ignore_ascii_case(&b'e') {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        if bytes.get(at + 1 + sign).is_some_and(u8::is_ascii_digit) {
            at += 1 + sign;
            while at < bytes.len() && bytes[at].is_ascii_digit() {
                at += 1;
            }
        }
    }
    at
}
