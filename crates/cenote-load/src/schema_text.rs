//! Column types as text: `date:date32,close:float64,Name:utf8`.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};

/// The types that [`parse_schema`] knows, as its errors list them.
pub const KNOWN_TYPES: &str = "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, \
     float16, float32, float64, utf8, category, date32, date64, time32[s|ms], time64[us|ns], \
     timestamp[s|ms|us|ns] or timestamp[ns, UTC], decimal128(PRECISION, SCALE)";

/// What is wrong with a schema's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaTextError {
    /// The text is empty.
    #[error("no column is declared; write it as `column:type,column:type`")]
    Empty,
    /// An entry has no colon outside of brackets and quotes.
    #[error("`{entry}` has no type; write it as `column:type`")]
    NoType {
        /// The entry.
        entry: String,
    },
    /// A quote or a bracket is not closed.
    #[error("`{open}` is not closed")]
    NotClosed {
        /// What was opened: a quote or a bracket.
        open: char,
    },
    /// The type is none of [`KNOWN_TYPES`].
    #[error("column `{column}` has the unknown type `{found}`; known are {KNOWN_TYPES}")]
    UnknownType {
        /// The column.
        column: String,
        /// What stands for its type.
        found: String,
    },
    /// A column is declared twice.
    #[error("column `{column}` is declared twice")]
    Twice {
        /// The column.
        column: String,
    },
}

/// Reads declared column types: `name:type`, separated by commas.
///
/// A name that contains a comma or a colon stands in double quotes (one inside is doubled).
/// Beside [`KNOWN_TYPES`] the short names `int`, `float`, `double`, `str`, `string`, `date`
/// and `timestamp` (microseconds) are understood. `category` is a dictionary of strings with
/// 32-bit keys. Every field is nullable.
///
/// ```
/// let schema = cenote_load::parse_schema("day:date32,at:timestamp[ns, Europe/Berlin],p:float64")?;
/// assert_eq!(schema.field(2).data_type().to_string(), "Float64");
/// # Ok::<(), cenote_load::SchemaTextError>(())
/// ```
/// # Errors
/// [`SchemaTextError`]; the unknown type is named and the known ones are listed.
pub fn parse_schema(text: &str) -> Result<Schema, SchemaTextError> {
    let mut fields: Vec<Field> = Vec::new();
    for entry in split(text, ',')? {
        let entry = entry.trim();
        let parts = split(entry, ':')?;
        let Some((type_text, name)) = parts.split_last().filter(|(_, name)| !name.is_empty())
        else {
            if text.trim().is_empty() {
                return Err(SchemaTextError::Empty);
            }
            return Err(SchemaTextError::NoType { entry: entry.into() });
        };
        let column = unquote(name.join(":").trim());
        let type_text = type_text.trim();
        let Some(data_type) = parse_type(type_text) else {
            return Err(SchemaTextError::UnknownType { column, found: type_text.into() });
        };
        if fields.iter().any(|field| *field.name() == column) {
            return Err(SchemaTextError::Twice { column });
        }
        fields.push(Field::new(column, data_type, true));
    }
    Ok(Schema::new(fields))
}

/// A column and its type as [`parse_schema`] reads them.
pub(crate) fn entry(column: &str, data_type: &DataType) -> String {
    let quoted = column.contains([',', ':', '"', '[', '(']) || column.trim() != column;
    let name = if quoted { format!("\"{}\"", column.replace('"', "\"\"")) } else { column.into() };
    format!("{name}:{}", type_text(data_type))
}

/// What [`parse_schema`] calls a type that CSV can be inferred to have.
pub(crate) fn type_text(data_type: &DataType) -> String {
    match data_type {
        DataType::Boolean => "bool".into(),
        DataType::Timestamp(unit, zone) => {
            let zone = zone.as_ref().map(|zone| format!(", {zone}")).unwrap_or_default();
            format!("timestamp[{unit}{zone}]")
        }
        other => other.to_string().to_ascii_lowercase(),
    }
}

/// Splits at `at` outside of double quotes and brackets.
fn split(text: &str, at: char) -> Result<Vec<&str>, SchemaTextError> {
    let (mut parts, mut start, mut open) = (Vec::new(), 0, Vec::new());
    for (i, c) in text.char_indices() {
        match (c, open.last()) {
            ('"', Some('"')) | (']', Some('[')) | (')', Some('(')) => drop(open.pop()),
            (_, Some('"')) => {}
            ('"' | '[' | '(', _) => open.push(c),
            _ if c == at && open.is_empty() => {
                parts.push(&text[start..i]);
                start = i + c.len_utf8();
            }
            _ => {}
        }
    }
    if let Some(&open) = open.first() {
        return Err(SchemaTextError::NotClosed { open });
    }
    parts.push(&text[start..]);
    Ok(parts)
}

fn unquote(name: &str) -> String {
    match name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => name.into(),
    }
}

fn parse_type(text: &str) -> Option<DataType> {
    let text = text.to_ascii_lowercase_outside_brackets();
    let (name, arguments) = match text.find(['[', '(']) {
        Some(at) => (text[..at].trim_end(), Some(text[at + 1..].strip_suffix([']', ')'])?)),
        None => (text.as_str(), None),
    };
    if arguments.is_some() || matches!(name, "timestamp") {
        return parse_parametric(name, arguments.unwrap_or("us"));
    }
    Some(match name {
        "bool" | "boolean" => DataType::Boolean,
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "int64" | "int" => DataType::Int64,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "uint32" => DataType::UInt32,
        "uint64" => DataType::UInt64,
        "float16" => DataType::Float16,
        "float32" => DataType::Float32,
        "float64" | "float" | "double" => DataType::Float64,
        "utf8" | "string" | "str" => DataType::Utf8,
        "category" => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        "date32" | "date" => DataType::Date32,
        "date64" => DataType::Date64,
        _ => return None,
    })
}

fn parse_parametric(name: &str, arguments: &str) -> Option<DataType> {
    let (first, second) = match arguments.split_once(',') {
        Some((first, second)) => (first.trim(), Some(second.trim())),
        None => (arguments.trim(), None),
    };
    if name == "decimal128" {
        let (precision, scale): (u8, i8) = (first.parse().ok()?, second?.parse().ok()?);
        let fits = (1..=38).contains(&precision) && scale.unsigned_abs() <= precision;
        return fits.then_some(DataType::Decimal128(precision, scale));
    }
    let unit = match first.to_ascii_lowercase().as_str() {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    };
    match (name, unit, second) {
        ("timestamp", _, zone) => {
            let zone = zone.map(|zone| zone.trim_matches(['"', '\'']));
            if let Some(zone) = zone {
                zone.parse::<arrow_array::timezone::Tz>().ok()?;
            }
            Some(DataType::Timestamp(unit, zone.map(Arc::from)))
        }
        ("time32", TimeUnit::Second | TimeUnit::Millisecond, None) => Some(DataType::Time32(unit)),
        ("time64", TimeUnit::Microsecond | TimeUnit::Nanosecond, None) => {
            Some(DataType::Time64(unit))
        }
        _ => None,
    }
}

/// Type names are written in any case, time zones are not.
trait LowercaseName {
    fn to_ascii_lowercase_outside_brackets(&self) -> String;
}

impl LowercaseName for str {
    fn to_ascii_lowercase_outside_brackets(&self) -> String {
        let end = self.find(['[', '(']).unwrap_or(self.len());
        format!("{}{}", self[..end].to_ascii_lowercase(), &self[end..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_of(text: &str) -> DataType {
        parse_schema(&format!("x:{text}")).unwrap().field(0).data_type().clone()
    }

    #[test]
    fn known_types_are_read() {
        assert_eq!(type_of("Float64"), DataType::Float64);
        assert_eq!(type_of("date"), DataType::Date32);
        assert_eq!(type_of("decimal128(10, 2)"), DataType::Decimal128(10, 2));
        let zoned = DataType::Timestamp(TimeUnit::Nanosecond, Some("+01:00".into()));
        assert_eq!(type_of("timestamp[ns,+01:00]"), zoned);
        assert_eq!(type_of("timestamp"), DataType::Timestamp(TimeUnit::Microsecond, None));
        // every name that the errors list is known
        let simple = KNOWN_TYPES.split(", ").filter(|name| !name.contains(['[', '(', ']', ')']));
        assert_eq!(simple.map(type_of).count(), 16);
    }

    #[test]
    fn names_may_be_quoted() {
        let schema = parse_schema("\"a,b:\"\"c\"\"\":int64, d :utf8").unwrap();
        assert_eq!(schema.field(0).name(), "a,b:\"c\"");
        assert_eq!(schema.field(1).name(), "d");
    }

    #[test]
    fn each_fault_is_named() {
        let unknown = parse_schema("a:int64,b:int46").unwrap_err();
        assert_eq!(
            unknown,
            SchemaTextError::UnknownType { column: "b".into(), found: "int46".into() }
        );
        assert!(unknown.to_string().contains("uint64"), "{unknown}");
        for bad in ["x:timestamp[ns,Nowhere/City]", "x:decimal128(99,1)", "x:time32[ns]", "x:"] {
            assert!(matches!(parse_schema(bad), Err(SchemaTextError::UnknownType { .. })), "{bad}");
        }
        assert_eq!(parse_schema(" "), Err(SchemaTextError::Empty));
        assert_eq!(parse_schema("a"), Err(SchemaTextError::NoType { entry: "a".into() }));
        assert_eq!(parse_schema("\"a:int64"), Err(SchemaTextError::NotClosed { open: '"' }));
        assert_eq!(
            parse_schema("a:int8,a:int8"),
            Err(SchemaTextError::Twice { column: "a".into() })
        );
    }
}
