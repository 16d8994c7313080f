//! A predicate bound to a schema: columns by number, values as their types have them.

use std::cmp::Ordering;

use arrow_buffer::i256;
use arrow_schema::{DataType, Schema};
use cenote_arrow::stats::Bound as Value;

use super::error::Misfit;
use super::literal::{Point, point};
use super::{DEPTH_MAX, Literal, Node, Op, Predicate};
use crate::error::Error;
use crate::selection::find_column;

/// Deepest nesting of nodes: for each parenthesis there may be an `and` and an `or`.
const NESTED_MAX: usize = 2 * DEPTH_MAX + 4;

/// A predicate whose columns and values are those of one schema.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    Test { column: u32, test: Test },
    Not(Box<Bound>),
    And(Vec<Bound>),
    Or(Vec<Bound>),
}

/// What is asked of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    /// The same for each value; null for null.
    Constant(bool),
    Compare(Op, Value),
    /// Sorted, at least one.
    In(Vec<Value>),
    Like(Pattern),
    IsNull,
}

/// A pattern of `like`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    /// What each match begins with.
    pub(crate) prefix: Vec<u8>,
}

impl Bound {
    /// The columns that are looked at.
    pub(crate) fn columns(&self, into: &mut Vec<u32>) {
        match self {
            Bound::Test { column, .. } => into.push(*column),
            Bound::Not(inner) => inner.columns(into),
            Bound::And(parts) | Bound::Or(parts) => parts.iter().for_each(|p| p.columns(into)),
        }
    }
}

impl Predicate {
    /// Binds to a frame's schema; `visible` are its columns that may be named, all if `None`.
    pub(crate) fn bind(
        &self,
        schema: &Schema,
        visible: Option<&[u32]>,
        frame: &str,
    ) -> Result<Bound, Error> {
        Binder { schema, visible, frame }.node(&self.0, 0)
    }
}

struct Binder<'a> {
    schema: &'a Schema,
    visible: Option<&'a [u32]>,
    frame: &'a str,
}

impl Binder<'_> {
    fn node(&self, node: &Node, depth: usize) -> Result<Bound, Error> {
        if depth > NESTED_MAX {
            return Err(Error::TooDeep);
        }
        let all = |parts: &[Node]| {
            let parts = parts.iter().map(|part| self.node(part, depth + 1));
            parts.collect::<Result<Vec<_>, _>>()
        };
        Ok(match node {
            Node::Not(inner) => Bound::Not(Box::new(self.node(inner, depth + 1)?)),
            Node::And(parts) => Bound::And(all(parts)?),
            Node::Or(parts) => Bound::Or(all(parts)?),
            Node::Compare { column, op, value } => {
                self.test(column, |data_type| compare(*op, value, data_type))?
            }
            Node::In { column, values } => {
                self.test(column, |data_type| is_in(values, data_type))?
            }
            Node::Like { column, pattern } => {
                self.test(column, |data_type| like(pattern, data_type))?
            }
            Node::IsNull { column } => self.test(column, |_| Ok(Test::IsNull))?,
            Node::Is { column } => self.test(column, |data_type| match data_type {
                DataType::Boolean => Ok(Test::Compare(Op::Eq, Value::Whole(i256::ONE))),
                _ => Err(Misfit::Test { test: "its name alone, as booleans are" }),
            })?,
        })
    }

    fn test(
        &self,
        name: &str,
        make: impl FnOnce(&DataType) -> Result<Test, Misfit>,
    ) -> Result<Bound, Error> {
        let column = self.column(name)?;
        let data_type = self.schema.field(column as usize).data_type();
        let misfit = |source| Error::Misfit {
            column: name.to_owned(),
            data_type: data_type.clone(),
            misfit: source,
        };
        let value_type = match data_type {
            DataType::Dictionary(_, values) => values,
            plain => plain,
        };
        let test = make(value_type).map_err(misfit)?;
        Ok(Bound::Test { column, test })
    }

    fn column(&self, name: &str) -> Result<u32, Error> {
        let named = |c: &u32| self.schema.field(*c as usize).name() == name;
        let count = u32::try_from(self.schema.fields().len()).unwrap_or(u32::MAX);
        let mut found: Vec<u32> = match self.visible {
            Some(visible) => visible.iter().copied().filter(named).collect(),
            None => (0..count).filter(named).collect(),
        };
        found.dedup();
        match found.as_slice() {
            [] => match self.visible {
                None => find_column(self.schema, self.frame, name),
                Some(visible) => {
                    let visible = crate::selection::project(self.schema, visible);
                    find_column(&visible, self.frame, name)
                }
            },
            [column] => Ok(*column),
            [column, ..] => Err(Error::Misfit {
                column: name.to_owned(),
                data_type: self.schema.field(*column as usize).data_type().clone(),
                misfit: Misfit::Ambiguous,
            }),
        }
    }
}

/// The least and the greatest whole number of a type.
fn ends(data_type: &DataType) -> Option<(i256, i256)> {
    use DataType as T;
    let between = |low: i128, high: i128| Some((i256::from_i128(low), i256::from_i128(high)));
    match data_type {
        T::Boolean => between(0, 1),
        T::Int8 => between(i8::MIN.into(), i8::MAX.into()),
        T::Int16 => between(i16::MIN.into(), i16::MAX.into()),
        T::Int32 | T::Date32 | T::Time32(_) | T::Decimal32(..) => {
            between(i32::MIN.into(), i32::MAX.into())
        }
        T::Int64 | T::Date64 | T::Time64(_) | T::Timestamp(..) | T::Duration(_) => {
            between(i64::MIN.into(), i64::MAX.into())
        }
        T::Decimal64(..) => between(i64::MIN.into(), i64::MAX.into()),
        T::UInt8 => between(0, u8::MAX.into()),
        T::UInt16 => between(0, u16::MAX.into()),
        T::UInt32 => between(0, u32::MAX.into()),
        T::UInt64 => between(0, u64::MAX.into()),
        T::Decimal128(..) => between(i128::MIN, i128::MAX),
        T::Decimal256(..) => Some((i256::MIN, i256::MAX)),
        _ => None,
    }
}

fn compare(op: Op, literal: &Literal, data_type: &DataType) -> Result<Test, Misfit> {
    let (op, value) = match point(literal, data_type)? {
        Point::At(value) => (op, value),
        // Between two values: what is less than it is up to the one below.
        Point::Above(below) => match op {
            Op::Eq => return Ok(Test::Constant(false)),
            Op::Ne => return Ok(Test::Constant(true)),
            Op::Lt | Op::Le => (Op::Le, Value::Whole(below)),
            Op::Gt | Op::Ge => (Op::Gt, Value::Whole(below)),
        },
    };
    if let (Value::Whole(number), Some((low, high))) = (&value, ends(data_type)) {
        let is = match op {
            _ if *number >= low && *number <= high => return Ok(Test::Compare(op, value)),
            Op::Eq => false,
            Op::Ne => true,
            Op::Lt | Op::Le => *number > high,
            Op::Gt | Op::Ge => *number < low,
        };
        return Ok(Test::Constant(is));
    }
    Ok(Test::Compare(op, value))
}

fn is_in(literals: &[Literal], data_type: &DataType) -> Result<Test, Misfit> {
    let mut values = Vec::with_capacity(literals.len());
    for literal in literals {
        // What no value is need not be looked for.
        if let Test::Compare(_, value) = compare(Op::Eq, literal, data_type)? {
            let nan = matches!(value, Value::Float(number) if number.is_nan());
            values.extend((!nan).then_some(value));
        }
    }
    values.sort_by(|a, b| a.compare(b).unwrap_or(Ordering::Equal));
    values.dedup();
    Ok(if values.is_empty() { Test::Constant(false) } else { Test::In(values) })
}

fn like(text: &str, data_type: &DataType) -> Result<Test, Misfit> {
    use DataType as T;
    if !matches!(data_type, T::Utf8 | T::LargeUtf8 | T::Utf8View) {
        return Err(Misfit::Test { test: "`like`, which is for text" });
    }
    let mut prefix = String::new();
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '%' | '_' => break,
            '\\' => match characters.next_if(|next| matches!(next, '%' | '_' | '\\')) {
                Some(escaped) => prefix.push(escaped),
                None => prefix.push(c),
            },
            c => prefix.push(c),
        }
    }
    Ok(Test::Like(Pattern { text: text.to_owned(), prefix: prefix.into_bytes() }))
}
