//! What texts mean: nulls, truth values, numbers and dates as the user writes them.

use super::infer::{self, BOOL, TEXT};
use crate::error::LoadError;
use crate::options::Options;

/// Longest number that is read with marks of its own.
const MAX_NUMBER_BYTES: usize = 128;

/// How fields become values.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    nulls: Vec<Vec<u8>>,
    trues: Vec<Vec<u8>>,
    falses: Vec<Vec<u8>>,
    decimal: u8,
    thousands: Option<u8>,
}

impl Rules {
    pub(crate) fn new(options: &Options) -> Result<Self, LoadError> {
        let bytes = |texts: &[String]| texts.iter().map(|text| text.clone().into_bytes()).collect();
        let csv = &options.csv;
        Ok(Self {
            nulls: bytes(&options.null_values),
            trues: bytes(&csv.true_values),
            falses: bytes(&csv.false_values),
            decimal: csv.decimal,
            thousands: csv.thousands,
        })
    }

    /// Whether a text beside the empty one means null.
    pub(super) fn has_nulls(&self) -> bool {
        !self.nulls.is_empty()
    }

    pub(super) fn is_null(&self, text: &[u8]) -> bool {
        text.is_empty() || self.nulls.iter().any(|null| null == text)
    }

    /// Whether numbers are written as programs write them.
    pub(super) fn plain_numbers(&self) -> bool {
        self.decimal == b'.' && self.thousands.is_none()
    }

    pub(super) fn truth(&self, text: &[u8]) -> Option<bool> {
        if self.trues.iter().any(|yes| yes == text) {
            return Some(true);
        }
        if self.falses.iter().any(|no| no == text) {
            return Some(false);
        }
        match text.len() {
            4 if text.eq_ignore_ascii_case(b"true") => Some(true),
            5 if text.eq_ignore_ascii_case(b"false") => Some(false),
            _ => None,
        }
    }

    /// What a text looks like.
    pub(super) fn classify(&self, text: &[u8]) -> u16 {
        if self.truth(text).is_some() {
            return BOOL;
        }
        if self.plain_numbers() {
            return infer::classify(text);
        }
        match infer::classify(text) {
            class if class & infer::NUMBER == 0 && class != TEXT => class,
            _ => self.with_number(text, infer::classify).unwrap_or(TEXT) & (infer::NUMBER | TEXT),
        }
    }

    /// Calls `read` with a number as programs write it; none: its marks stand wrong.
    pub(super) fn with_number<T>(&self, text: &[u8], read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let mut plain = [0; MAX_NUMBER_BYTES];
        if text.len() > plain.len() {
            return None;
        }
        // digits since the last mark; whether marks of thousands may still come
        let (mut length, mut group, mut marks, mut whole) = (0, 0, 0, true);
        for &byte in text.trim_ascii() {
            let digit = byte.is_ascii_digit();
            if Some(byte) == self.thousands {
                if !whole || group == 0 || group > 3 || marks > 0 && group != 3 {
                    return None;
                }
                (group, marks) = (0, marks + 1);
                continue;
            }
            if whole && !digit && marks > 0 && group != 3 {
                return None;
            }
            whole = whole && (digit || length == 0 && matches!(byte, b'+' | b'-'));
            group += usize::from(digit);
            plain[length] = match byte {
                _ if byte == self.decimal => b'.',
                b'.' => return None,
                _ => byte,
            };
            length += 1;
        }
        let complete = !whole || marks == 0 || group == 3;
        complete.then(|| read(&plain[..length]))
    }
}
