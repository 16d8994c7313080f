//! A predicate as text that reads as the same again: what a reference carries.

use std::fmt::{self, Display, Formatter};

use super::{Literal, Node, Predicate};

/// Words that are no plain names.
const KEYWORDS: [&str; 14] = [
    "and",
    "or",
    "not",
    "in",
    "is",
    "null",
    "between",
    "like",
    "true",
    "false",
    "date",
    "time",
    "timestamp",
    "interval",
];

fn quote(f: &mut Formatter<'_>, text: &str, mark: &str) -> fmt::Result {
    write!(f, "{mark}{}{mark}", text.replace(mark, &mark.repeat(2)))
}

struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let goes_on = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let plain = self.0.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && self.0.chars().all(goes_on)
            && !KEYWORDS.iter().any(|word| word.eq_ignore_ascii_case(self.0));
        if plain { f.write_str(self.0) } else { quote(f, self.0, "\"") }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Number(number) => f.write_str(number),
            Literal::Text(text) => quote(f, text, "'"),
            Literal::Bool(value) => write!(f, "{value}"),
        }
    }
}

/// `part`, in parentheses unless it binds more tightly than what it stands in.
fn inside(f: &mut Formatter<'_>, part: &Node) -> fmt::Result {
    match part {
        Node::And(_) | Node::Or(_) => write!(f, "({part})"),
        _ => write!(f, "{part}"),
    }
}

fn joined(f: &mut Formatter<'_>, parts: &[Node], word: &str) -> fmt::Result {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            write!(f, " {word} ")?;
        }
        inside(f, part)?;
    }
    Ok(())
}

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Node::Compare { column, op, value } => {
                write!(f, "{} {} {value}", Name(column), op.text())
            }
            Node::In { column, values } => {
                write!(f, "{} in (", Name(column))?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            Node::Like { column, pattern } => {
                write!(f, "{} like ", Name(column))?;
                quote(f, pattern, "'")
            }
            Node::IsNull { column } => write!(f, "{} is null", Name(column)),
            Node::Is { column } => write!(f, "{}", Name(column)),
            Node::Not(inner) => match &**inner {
                Node::IsNull { column } => write!(f, "{} is not null", Name(column)),
                inner => {
                    f.write_str("not ")?;
                    inside(f, inner)
                }
            },
            Node::And(parts) => joined(f, parts, "and"),
            Node::Or(parts) => joined(f, parts, "or"),
        }
    }
}

impl Display for Predicate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
