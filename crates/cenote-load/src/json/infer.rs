//! The type of a column from all its values.
//!
//! | values | type |
//! | --- | --- |
//! | `true`, `false` | Boolean |
//! | whole numbers of 64 bits | Int64 |
//! | numbers | Float64 |
//! | text; scalars of several kinds; whole numbers beyond 64 bits | Utf8 |
//! | lists | List of what their items are |
//! | objects | Struct of their keys |
//! | nothing but null | Utf8 |
//!
//! A scalar in one place and a list or an object in another is an error: no type holds both.

use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};

/// What values of one place have been so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Seen {
    #[default]
    Null,
    Boolean,
    Whole,
    Number,
    Text,
    List(Box<Seen>),
    Object(Keys),
}

/// In the order in which they were first seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Keys {
    all: Vec<Key>,
    /// Objects that were looked at.
    objects: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct Key {
    name: String,
    seen: Seen,
    /// The last object that had it, by number from 1.
    object: u64,
}

impl Keys {
    /// Where a key stands, looked for from `hint` on: lines mostly have their keys in order.
    fn entry(&mut self, hint: usize, key: &str) -> usize {
        if self.all.get(hint).is_some_and(|known| known.name == key) {
            return hint;
        }
        if let Some(at) = self.all.iter().position(|known| known.name == key) {
            return at;
        }
        self.all.push(Key { name: key.to_owned(), seen: Seen::Null, object: 0 });
        self.all.len() - 1
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn merge(&mut self, other: Keys) -> Result<(), Conflict> {
        for (hint, Key { name, seen, .. }) in other.all.into_iter().enumerate() {
            let at = self.entry(hint, &name);
            self.all[at].seen.merge(seen).map_err(|conflict| conflict.below(&name))?;
        }
        Ok(())
    }

    pub(super) fn fields(&self) -> Fields {
        let field = |key: &Key| Field::new(&key.name, key.seen.data_type(), true);
        self.all.iter().map(field).collect()
    }
}

/// No type holds both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conflict {
    path: String,
    before: &'static str,
    here: &'static str,
}

impl Conflict {
    fn below(mut self, key: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path = format!("{key}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, before, here } = self;
        write!(f, "key `{path}` has {here} here and {before} before: no type holds both")
    }
}

impl Seen {
    fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a truth value",
            Self::Whole | Self::Number => "a number",
            Self::Text => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    pub(super) fn merge(&mut self, other: Seen) -> Result<(), Conflict> {
        use Seen::{Boolean, List, Null, Number, Object, Text, Whole};
        match (&mut *self, other) {
            (_, Null) | (Boolean, Boolean) | (Whole, Whole) | (Number, Whole | Number) => {}
            (Null, other) => *self = other,
            (Whole, Number) => *self = Number,
            (List(own), List(other)) => own.merge(*other).map_err(|c| c.below("[]"))?,
            (Object(own), Object(other)) => own.merge(other)?,
            (Boolean | Whole | Number | Text, Boolean | Whole | Number | Text) => *self = Text,
            (before, here) => {
                let (before, here) = (before.name(), here.name());
                return Err(Conflict { path: String::new(), before, here });
            }
        }
        Ok(())
    }

    pub(super) fn data_type(&self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Whole => DataType::Int64,
            Self::Number => DataType::Float64,
            Self::Null | Self::Text => DataType::Utf8,
            Self::List(items) => {
                DataType::List(Arc::new(Field::new_list_field(items.data_type(), true)))
            }
            Self::Object(keys) => DataType::Struct(keys.fields()),
        }
    }
}

/// Takes the values of one line into what was seen, without building them.
pub(super) fn look(line: &[u8], keys: &mut Keys) -> Result<(), serde_json::Error> {
    let mut text = serde_json::Deserializer::from_slice(line);
    serde::Deserializer::deserialize_map(&mut text, LineVisitor(keys))?;
    text.end()
}

struct LineVisitor<'a>(&'a mut Keys);

impl<'de> Visitor<'de> for LineVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object on a line of its own")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut hint = 0;
        self.0.objects += 1;
        let object = self.0.objects;
        while let Some(key) = map.next_key::<String>()? {
            let at = self.0.entry(hint, &key);
            hint = at + 1;
            if std::mem::replace(&mut self.0.all[at].object, object) == object {
                let text = format!("key `{key}` is there twice; `jq -c .` keeps the last one");
                return Err(A::Error::custom(text));
            }
            let seen = map.next_value_seed(Value)?;
            self.0.all[at].seen.merge(seen).map_err(|c| A::Error::custom(c.below(&key)))?;
        }
        Ok(())
    }
}

struct Value;

impl<'de> DeserializeSeed<'de> for Value {
    type Value = Seen;

    fn deserialize<D: serde::Deserializer<'de>>(self, value: D) -> Result<Seen, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value {
    type Value = Seen;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Seen, E> {
        Ok(Seen::Boolean)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Seen, E> {
        Ok(Seen::Whole)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Seen, E> {
        // as a number it would lose digits
        Ok(if i64::try_from(value).is_ok() { Seen::Whole } else { Seen::Text })
    }

    fn visit_f64<E>(self, _: f64) -> Result<Seen, E> {
        Ok(Seen::Number)
    }

    fn visit_str<E>(self, _: &str) -> Result<Seen, E> {
        Ok(Seen::Text)
    }

    fn visit_unit<E>(self) -> Result<Seen, E> {
        Ok(Seen::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Seen, A::Error> {
        let mut all = Seen::Null;
        while let Some(item) = items.next_element_seed(Value)? {
            all.merge(item).map_err(|c| A::Error::custom(c.below("[]")))?;
        }
        Ok(Seen::List(Box::new(all)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Seen, A::Error> {
        let mut keys = Keys::default();
        LineVisitor(&mut keys).visit_map(map)?;
        Ok(Seen::Object(keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> Result<String, String> {
        let mut keys = Keys::default();
        for line in lines {
            look(line.as_bytes(), &mut keys).map_err(|e| e.to_string())?;
        }
        let fields = keys.fields();
        let shown = fields.iter().map(|f| format!("{}:{}", f.name(), f.data_type()));
        Ok(shown.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn all_lines_decide() {
        assert_eq!(of(&[r#"{"b":1,"a":null}"#, r#"{"a":true}"#]).unwrap(), "b:Int64 a:Boolean");
        assert_eq!(of(&[r#"{"x":1}"#, r#"{"x":1.5}"#]).unwrap(), "x:Float64");
        assert_eq!(of(&[r#"{"x":1}"#, r#"{"x":"1"}"#]).unwrap(), "x:Utf8");
        assert_eq!(of(&[r#"{"x":18446744073709551615}"#]).unwrap(), "x:Utf8");
        assert!(of(&[r#"{"x":[]}"#, r#"{"x":[1]}"#]).unwrap().starts_with("x:List("));
    }

    #[test]
    fn what_no_type_holds_is_said_with_its_path() {
        let text = of(&[r#"{"a":{"b":[1]}}"#, r#"{"a":{"b":7}}"#]).unwrap_err();
        assert!(text.contains("key `a.b` has a number here and a list before"), "{text}");
        for line in [r#"{"a":1,"b":2,"a":3}"#, r#"{"x":{"a":1,"a":1}}"#, r#"{"a":1,"\u0061":2}"#] {
            assert!(
                of(&[r#"{"b":1,"a":2}"#, line]).unwrap_err().contains("key `a` is there twice")
            );
        }
        assert!(of(&[r#"{"a":1,"b":2}"#, r#"{"b":1,"a":2}"#]).is_ok());
        assert!(of(&["[1]"]).unwrap_err().contains("an object on a line of its own"));
        assert!(of(&["{} {}"]).unwrap_err().contains("trailing"));
    }
}
