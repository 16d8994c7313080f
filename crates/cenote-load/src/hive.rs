//! Columns that are made of folder names: `date=2024-01-02/venue=N/part.parquet`.
//!
//! Below a folder (or in an archive, or under a pattern) that was named, each folder called
//! `key=value` is a column, if all files have the same keys in the same order. All values of
//! a key decide its type: whole numbers Int64, dates Date32, anything else a dictionary of
//! Utf8. `%3A` and its like stand for the bytes they name, `__HIVE_DEFAULT_PARTITION__` for
//! null.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Date32Array, DictionaryArray, Int32Array, Int64Array, StringArray, UInt64Array,
};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef};
use arrow_select::take::take;

use crate::error::LoadError;
use crate::file::InputFile;

/// What a missing value is called.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// A column with one value a file.
#[derive(Debug, Clone)]
pub(crate) struct PathColumn {
    pub(crate) field: FieldRef,
    /// One a file.
    values: ArrayRef,
}

impl PathColumn {
    /// The column of a batch of one file. Cost: a value a row; of a dictionary a key.
    pub(crate) fn of(&self, file: usize, rows: usize) -> Result<ArrayRef, ArrowError> {
        take(&self.values, &UInt64Array::from_value(file as u64, rows), None)
    }
}

/// The columns of the files' paths.
///
/// # Errors
/// [`LoadError::PathKeys`]: the files do not have the same keys.
pub(crate) fn path_columns(files: &[InputFile]) -> Result<Vec<PathColumn>, LoadError> {
    let pairs: Vec<Vec<(String, Option<String>)>> =
        files.iter().map(|file| file.folders.iter().filter_map(|f| pair(f)).collect()).collect();
    let Some(first) = pairs.first() else { return Ok(Vec::new()) };
    let keys = |pairs: &[(String, Option<String>)]| -> Vec<String> {
        pairs.iter().map(|(key, _)| key.clone()).collect()
    };
    let wanted = keys(first);
    if let Some(at) = pairs.iter().position(|other| keys(other) != wanted) {
        return Err(LoadError::PathKeys {
            file: files[at].name.clone(),
            first: files[0].name.clone(),
            found: keys(&pairs[at]),
            wanted,
        });
    }
    let column = |(at, key): (usize, &String)| {
        let values = typed(pairs.iter().map(|pairs| pairs[at].1.as_deref()).collect());
        let field = Field::new(key, values.data_type().clone(), values.null_count() > 0);
        PathColumn { field: Arc::new(field), values }
    };
    Ok(wanted.iter().enumerate().map(column).collect())
}

fn pair(folder: &str) -> Option<(String, Option<String>)> {
    let (key, value) = folder.split_once('=').filter(|(key, _)| !key.is_empty())?;
    Some((decoded(key), (value != NULL).then(|| decoded(value))))
}

/// `%41` is `A`; what is not so is as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| byte == b'%');
        let code = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(value) => {
                bytes.push(value);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn typed(values: Vec<Option<&str>>) -> ArrayRef {
    let present = || values.iter().flatten();
    let all_null = present().next().is_none();
    if !all_null && present().all(|text| is_number(text)) {
        let numbers: Int64Array = values.iter().map(|v| v.and_then(|v| v.parse().ok())).collect();
        return Arc::new(numbers);
    }
    let text = StringArray::from(values.clone());
    if !all_null && present().all(|text| text.len() == 10) {
        let dates = cast(&text, &DataType::Date32).ok();
        let dates = dates.filter(|dates| dates.null_count() == text.null_count());
        if let Some(dates) = dates.filter(|d| d.as_any().is::<Date32Array>()) {
            return dates;
        }
    }
    dictionary(&values)
}

/// A leading zero is part of an identifier.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let zero = digits.len() > 1 && digits.starts_with('0');
    !zero && digits.bytes().all(|b| b.is_ascii_digit()) && text.parse::<i64>().is_ok()
}

fn dictionary(values: &[Option<&str>]) -> ArrayRef {
    let (mut distinct, mut index) = (Vec::new(), HashMap::new());
    let keys: Int32Array = values
        .iter()
        .map(|value| {
            let value = (*value)?;
            let at = *index.entry(value).or_insert_with(|| {
                distinct.push(value);
                distinct.len() - 1
            });
            i32::try_from(at).ok()
        })
        .collect();
    let all = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    match DictionaryArray::try_new(keys, Arc::new(StringArray::from(distinct))) {
        Ok(array) => Arc::new(array),
        // no more files than keys: each key names a value
        Err(_) => arrow_array::new_null_array(&all, values.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_values_decide_the_type() {
        let of = |values: &[&str]| {
            typed(values.iter().map(|v| Some(*v)).collect()).data_type().to_string()
        };
        assert_eq!(of(&["2024", "2025"]), "Int64");
        assert_eq!(of(&["2024-01-02", "2024-01-03"]), "Date32");
        for text in [&["2024", "x"][..], &["01", "02"], &["2024-13-02"], &["9999999999999999999"]] {
            assert_eq!(of(text), "Dictionary(Int32, Utf8)", "{text:?}");
        }
        assert_eq!(typed(vec![None, Some("7")]).null_count(), 1);
    }

    #[test]
    fn escapes_are_bytes() {
        assert_eq!(pair("a%20b=x%3Ay%"), Some(("a b".into(), Some("x:y%".into()))));
        assert_eq!(pair(&format!("k={NULL}")), Some(("k".into(), None)));
        assert_eq!((pair("plain"), pair("=x")), (None, None));
    }
}
