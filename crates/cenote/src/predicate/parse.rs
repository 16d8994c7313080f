//! A predicate's words as an expression: precedence climbing.

use super::error::{Mistake, PredicateError};
use super::token::{Spanned, Token, tokens};
use super::{DEPTH_MAX, Literal, Node, Op, TERMS_MAX};

const A_COMPARISON: &str = "a comparison, such as `close > 100`";

pub(super) fn parse(text: &str) -> Result<Node, PredicateError> {
    let tokens = tokens(text)?;
    let mut parser = Parser { text, tokens, at: 0, depth: 0, terms: 0 };
    let node = parser.expression(0)?;
    match parser.peek() {
        Token::End => Ok(node),
        Token::Op(_) => Err(parser.wrong(Mistake::Chained)),
        _ => Err(parser.expected("`and`, `or` or the end")),
    }
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Spanned>,
    at: usize,
    depth: usize,
    terms: usize,
}

/// One side of a comparison.
enum Side {
    Column(String),
    Value(Literal),
}

/// How tightly an operator binds what stands beside it.
fn power(word: &str) -> Option<usize> {
    match word.to_ascii_lowercase().as_str() {
        "or" => Some(1),
        "and" => Some(2),
        _ => None,
    }
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at].token.clone();
        // The end stays.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn wrong(&self, mistake: Mistake) -> PredicateError {
        PredicateError::new(self.text, self.tokens[self.at].start, mistake)
    }

    fn expected(&self, expected: &'static str) -> PredicateError {
        let Spanned { start, end, .. } = self.tokens[self.at];
        let found = match self.peek() {
            Token::End => "the end".to_owned(),
            _ => format!("`{}`", self.text[start..end].chars().take(40).collect::<String>()),
        };
        self.wrong(Mistake::Expected { expected, found })
    }

    /// Takes a keyword, if it comes next.
    fn takes(&mut self, keyword: &str) -> bool {
        let is = matches!(self.peek(), Token::Word(word) if word.eq_ignore_ascii_case(keyword));
        if is {
            self.next();
        }
        is
    }

    fn deeper<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, PredicateError>,
    ) -> Result<T, PredicateError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.wrong(Mistake::TooDeep));
        }
        let outcome = inner(self);
        self.depth -= 1;
        outcome
    }

    /// Operators that bind at least so tightly.
    fn expression(&mut self, least: usize) -> Result<Node, PredicateError> {
        let mut left = self.unary()?;
        loop {
            let Token::Word(word) = self.peek() else { return Ok(left) };
            let Some(power) = power(word).filter(|power| *power > least) else { return Ok(left) };
            self.next();
            let right = self.expression(power)?;
            left = if power == 1 { left.or(right) } else { left.and(right) };
        }
    }

    fn unary(&mut self) -> Result<Node, PredicateError> {
        if self.takes("not") {
            return self.deeper(Parser::unary).map(Node::negated);
        }
        if *self.peek() == Token::Open {
            self.next();
            let inner = self.deeper(|parser| parser.expression(0))?;
            if *self.peek() != Token::Close {
                return Err(self.expected("`and`, `or` or `)`"));
            }
            self.next();
            return Ok(inner);
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Node, PredicateError> {
        self.terms += 1;
        if self.terms > TERMS_MAX {
            return Err(self.wrong(Mistake::TooLong));
        }
        let begin = self.at;
        let left = self.side(A_COMPARISON)?;
        if let Token::Op(op) = *self.peek() {
            self.next();
            let second = self.at;
            let node = match (left, self.side("a value")?) {
                (Side::Column(column), Side::Value(value)) => Node::Compare { column, op, value },
                (Side::Value(value), Side::Column(column)) => {
                    Node::Compare { column, op: op.flipped(), value }
                }
                (Side::Column(_), Side::Column(other)) => {
                    self.at = second;
                    return Err(self.wrong(Mistake::TwoColumns(other)));
                }
                (Side::Value(_), Side::Value(_)) => {
                    self.at = begin;
                    return Err(self.wrong(Mistake::TwoValues));
                }
            };
            return match self.peek() {
                Token::Op(_) => Err(self.wrong(Mistake::Chained)),
                _ => Ok(node),
            };
        }
        match left {
            Side::Column(column) => self.test(column),
            Side::Value(_) => Err(self.expected("an operator, such as `<`")),
        }
    }

    /// What may follow a column beside an operator.
    fn test(&mut self, column: String) -> Result<Node, PredicateError> {
        if self.takes("is") {
            let not = self.takes("not");
            if !self.takes("null") {
                return Err(self.expected("`null`"));
            }
            let node = Node::IsNull { column };
            return Ok(if not { node.negated() } else { node });
        }
        let not = self.takes("not");
        let node = if self.takes("between") {
            let least = self.value()?;
            if !self.takes("and") {
                return Err(self.expected("`and`, and the greatest value"));
            }
            let most = self.value()?;
            let side = |op, value| Node::Compare { column: column.clone(), op, value };
            side(Op::Ge, least).and(side(Op::Le, most))
        } else if self.takes("in") {
            Node::In { column, values: self.list()? }
        } else if self.takes("like") {
            match self.next() {
                Token::Text(pattern) => Node::Like { column, pattern },
                _ => {
                    self.at -= 1;
                    return Err(self.expected("a pattern, such as 'abc%'"));
                }
            }
        } else if not {
            return Err(self.expected("`between`, `in` or `like`"));
        } else {
            Node::Is { column }
        };
        Ok(if not { node.negated() } else { node })
    }

    fn list(&mut self) -> Result<Vec<Literal>, PredicateError> {
        if *self.peek() != Token::Open {
            return Err(self.expected("`(`"));
        }
        self.next();
        let mut values = Vec::new();
        if *self.peek() == Token::Close {
            self.next();
            return Ok(values);
        }
        loop {
            values.push(self.value()?);
            match self.peek() {
                Token::Comma => self.next(),
                Token::Close => {
                    self.next();
                    return Ok(values);
                }
                _ => return Err(self.expected("`,` or `)`")),
            };
        }
    }

    fn value(&mut self) -> Result<Literal, PredicateError> {
        let begin = self.at;
        match self.side("a value")? {
            Side::Value(value) => Ok(value),
            Side::Column(name) => {
                self.at = begin;
                Err(self.wrong(Mistake::TwoColumns(name)))
            }
        }
    }

    fn side(&mut self, expected: &'static str) -> Result<Side, PredicateError> {
        let side = match self.peek().clone() {
            Token::Name(name) => Side::Column(name),
            Token::Text(text) => Side::Value(Literal::Text(text)),
            Token::Number(number) => Side::Value(Literal::Number(number)),
            Token::Word(word) => match word.to_ascii_lowercase().as_str() {
                "true" => Side::Value(Literal::Bool(true)),
                "false" => Side::Value(Literal::Bool(false)),
                "null" => return Err(self.wrong(Mistake::Null)),
                "and" | "or" | "not" | "in" | "is" | "between" | "like" => {
                    return Err(self.expected(expected));
                }
                // As SQL has it: date '2017-01-01'.
                "date" | "time" | "timestamp" | "interval" => {
                    match self.tokens.get(self.at + 1).map(|next| next.token.clone()) {
                        Some(Token::Text(text)) => {
                            self.next();
                            Side::Value(Literal::Text(text))
                        }
                        _ => Side::Column(word),
                    }
                }
                _ => Side::Column(word),
            },
            _ => return Err(self.expected(expected)),
        };
        self.next();
        Ok(side)
    }
}
