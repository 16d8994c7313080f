//! From tokens to nodes of a graph: operator precedence, by climbing.

use super::error::Problem;
use super::functions::{DEFINITIONS_DEPTH, Function};
use super::names::Names;
use super::token::{Token, tokens};
use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, Unary};

type Fault = (Problem, usize);

struct Parser<'a> {
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
    names: &'a Names,
    graph: &'a mut Graph,
    /// Definitions within which this text stands.
    within: usize,
}

/// Expressions one in another.
const DEPTH_MAX: usize = 200;

pub(super) fn parse(
    text: &str,
    names: &Names,
    graph: &mut Graph,
    within: usize,
) -> Result<NodeId, Fault> {
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens, at: 0, depth: 0, names, graph, within };
    let node = parser.expression()?;
    parser.expect_end()?;
    Ok(node)
}

/// How tightly a sign binds, and what it does.
fn binary(sign: &str) -> Option<(u8, Binary, bool)> {
    Some(match sign {
        "||" => (1, Binary::Or, false),
        "&&" => (2, Binary::And, false),
        "<" => (3, Binary::Less, false),
        "<=" => (3, Binary::LessEqual, false),
        ">" => (3, Binary::Less, true),
        ">=" => (3, Binary::LessEqual, true),
        "==" | "=" => (3, Binary::Equal, false),
        "!=" => (3, Binary::NotEqual, false),
        "+" => (4, Binary::Add, false),
        "-" => (4, Binary::Sub, false),
        "*" => (5, Binary::Mul, false),
        "/" => (5, Binary::Div, false),
        "^" => (7, Binary::Pow, false),
        _ => return None,
    })
}

/// Of a sign before a value.
const SIGN_BINDS: u8 = 6;
const POWER_BINDS: u8 = 7;

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn position(&self) -> usize {
        self.tokens[self.at].1
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at].0.clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn accept(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek(), Token::Sign(found) if *found == sign);
        if is {
            self.next();
        }
        is
    }

    fn fault<T>(&self, expected: &'static str) -> Result<T, Fault> {
        Err((Problem::Expected { expected, found: self.peek().describe() }, self.position()))
    }

    fn expect_end(&self) -> Result<(), Fault> {
        if *self.peek() == Token::End { Ok(()) } else { self.fault("an operator") }
    }

    fn expression(&mut self) -> Result<NodeId, Fault> {
        if self.depth >= DEPTH_MAX {
            return Err((Problem::Deep(DEPTH_MAX), self.position()));
        }
        self.depth += 1;
        let condition = self.operators(0)?;
        let node = if self.accept("?") {
            let x = self.expression()?;
            if !self.accept(":") {
                return self.fault("\":\"");
            }
            let y = self.expression()?;
            self.graph.add(Op::Where, vec![condition, x, y])
        } else {
            condition
        };
        self.depth -= 1;
        Ok(node)
    }

    /// Values joined by signs that bind at least so tightly.
    fn operators(&mut self, least: u8) -> Result<NodeId, Fault> {
        let mut left = self.value()?;
        while let Token::Sign(sign) = *self.peek() {
            let Some((binds, op, swapped)) = binary(sign).filter(|found| found.0 >= least) else {
                break;
            };
            self.next();
            // From the left, but for powers.
            let right = self.operators(if binds == POWER_BINDS { binds } else { binds + 1 })?;
            let inputs = if swapped { vec![right, left] } else { vec![left, right] };
            left = self.graph.add(Op::Binary(op), inputs);
        }
        Ok(left)
    }

    fn value(&mut self) -> Result<NodeId, Fault> {
        let at = self.position();
        match self.peek().clone() {
            Token::Number(number) => {
                self.next();
                Ok(self.graph.constant(number))
            }
            Token::Name(name) => {
                self.next();
                if self.accept("(") { self.call(&name, at) } else { self.name(&name, at) }
            }
            Token::Sign("(") => {
                self.next();
                let node = self.expression()?;
                if self.accept(")") { Ok(node) } else { self.fault("\")\"") }
            }
            Token::Sign(sign @ ("-" | "+" | "!")) => {
                if self.depth >= DEPTH_MAX {
                    return Err((Problem::Deep(DEPTH_MAX), at));
                }
                self.next();
                self.depth += 1;
                let node = self.operators(SIGN_BINDS)?;
                self.depth -= 1;
                Ok(match sign {
                    "-" => self.graph.add(Op::Unary(Unary::Neg), vec![node]),
                    "!" => self.graph.add(Op::Unary(Unary::Not), vec![node]),
                    _ => node,
                })
            }
            _ => self.fault("a value"),
        }
    }

    fn name(&mut self, name: &str, at: usize) -> Result<NodeId, Fault> {
        if let Some(field) = self.names.field(name) {
            return Ok(self.graph.field(field));
        }
        let Some(formula) = self.names.definition(name) else {
            return Err((self.names.unknown(name), at));
        };
        if self.within >= DEFINITIONS_DEPTH {
            return Err((Problem::Circle(name.to_owned()), at));
        }
        parse(&formula, self.names, self.graph, self.within + 1).map_err(|(problem, _)| {
            let problem = Box::new(problem);
            (Problem::Definition { name: name.to_owned(), problem }, at)
        })
    }

    fn call(&mut self, name: &str, at: usize) -> Result<NodeId, Fault> {
        let function = Function::named(name).map_err(|problem| (problem, at))?;
        let mut arguments = Vec::new();
        if !self.accept(")") {
            loop {
                arguments.push(self.expression()?);
                if self.accept(")") {
                    break;
                }
                if !self.accept(",") {
                    return self.fault("\",\" or \")\"");
                }
            }
        }
        function.call(self.graph, arguments).map_err(|problem| (problem, at))
    }
}
