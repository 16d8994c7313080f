//! A predicate's text as words.

use super::Op;
use super::error::{Mistake, PredicateError};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A plain word: a column, or a keyword.
    Word(String),
    /// A quoted name: a column.
    Name(String),
    Text(String),
    Number(String),
    Op(Op),
    Open,
    Close,
    Comma,
    End,
}

/// A word, and the bytes of the text that it stands in.
#[derive(Clone, Debug)]
pub(super) struct Spanned {
    pub(super) token: Token,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// All words, and an end.
pub(super) fn tokens(text: &str) -> Result<Vec<Spanned>, PredicateError> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, end) = one(text, at, first).map_err(|m| PredicateError::new(text, at, m))?;
        all.push(Spanned { token, start: at, end });
        at = end;
    }
    all.push(Spanned { token: Token::End, start: text.len(), end: text.len() });
    Ok(all)
}

fn one(text: &str, at: usize, first: char) -> Result<(Token, usize), Mistake> {
    let rest = &text[at..];
    for (symbol, op) in [
        ("==", Op::Eq),
        ("!=", Op::Ne),
        ("<>", Op::Ne),
        ("<=", Op::Le),
        (">=", Op::Ge),
        ("=", Op::Eq),
        ("<", Op::Lt),
        (">", Op::Gt),
    ] {
        if rest.starts_with(symbol) {
            return Ok((Token::Op(op), at + symbol.len()));
        }
    }
    let simple = |token| Ok((token, at + first.len_utf8()));
    match first {
        '(' => simple(Token::Open),
        ')' => simple(Token::Close),
        ',' => simple(Token::Comma),
        '\'' => quoted(rest, first).ok_or(Mistake::OpenText).map(|(t, n)| (Token::Text(t), at + n)),
        '"' | '`' => {
            let name = quoted(rest, first).ok_or(Mistake::OpenName(first));
            name.map(|(name, n)| (Token::Name(name), at + n))
        }
        '0'..='9' | '.' | '-' | '+' => number(rest, first).map(|(t, n)| (Token::Number(t), at + n)),
        c if c.is_alphabetic() || c == '_' => {
            let goes_on = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            let length = rest.find(|c| !goes_on(c)).unwrap_or(rest.len());
            Ok((Token::Word(rest[..length].to_owned()), at + length))
        }
        found => Err(Mistake::Character { found }),
    }
}

/// What stands between two quotes, and the bytes up to and with the second.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut inner = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c != quote {
            inner.push(c);
        } else if characters.next_if(|(_, next)| *next == quote).is_some() {
            inner.push(quote);
        } else {
            return Some((inner, at + 1));
        }
    }
    None
}

/// A number without its underscores, and its bytes.
fn number(rest: &str, first: char) -> Result<(String, usize), Mistake> {
    let bytes = rest.as_bytes();
    let mut length = usize::from(matches!(first, '-' | '+'));
    let begins = bytes.get(length).is_some_and(|b| b.is_ascii_digit() || *b == b'.');
    if !begins {
        return Err(Mistake::Character { found: first });
    }
    while let Some(byte) = bytes.get(length) {
        let exponent = matches!(bytes[length - usize::from(length > 0)], b'e' | b'E');
        let sign = matches!(byte, b'-' | b'+') && exponent;
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || sign) {
            break;
        }
        length += 1;
    }
    let text = rest[..length].replace('_', "");
    // No hexadecimal, no infinity: digits, a point, an exponent.
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    if !plain || text.parse::<f64>().is_err() {
        return Err(Mistake::Number(rest[..length].to_owned()));
    }
    Ok((text, length))
}
