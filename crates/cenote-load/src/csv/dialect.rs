//! How records and fields of a file are set apart.

use encoding_rs::Encoding;

use crate::error::LoadError;
use crate::options::Options;

/// The bytes with a meaning, and what is passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    /// None: quotes have no meaning.
    pub(crate) quote: Option<u8>,
    /// Within quotes the byte behind it stands for itself.
    pub(crate) escape: Option<u8>,
    /// A record that begins with it is none; empty: there are no comments.
    pub(crate) comment: Vec<u8>,
    /// Short records are filled with nulls.
    pub(crate) pad: bool,
    /// None: that of the byte order mark, else UTF-8.
    pub(crate) encoding: Option<&'static Encoding>,
}

impl Dialect {
    pub(crate) fn new(options: &Options, delimiter: u8) -> Result<Self, LoadError> {
        let csv = &options.csv;
        let known = |label: &String| {
            Encoding::for_label(label.as_bytes())
                .ok_or_else(|| LoadError::UnknownEncoding { label: label.clone() })
        };
        Ok(Self {
            delimiter,
            quote: csv.quote,
            escape: csv.escape,
            comment: csv.comment.clone().into_bytes(),
            pad: csv.pad_ragged,
            encoding: csv.encoding.as_ref().map(known).transpose()?,
        })
    }

    /// Whether [`super::index`] can serve.
    pub(super) fn is_plain(&self) -> bool {
        self.escape.is_none() && self.comment.is_empty()
    }
}

/// Records that must agree on a delimiter.
const SNIFFED_RECORDS: usize = 20;

/// The delimiter of a text: the first of `,` `;` tab `|` that occurs in the first record and
/// as often in all of the first ones; else a comma.
pub(super) fn sniff(text: &[u8], whole: bool, dialect: &Dialect) -> u8 {
    let candidates = [b',', b';', b'\t', b'|'];
    let agreed = candidates.into_iter().find(|&delimiter| {
        let dialect = Dialect { delimiter, ..dialect.clone() };
        let mut records = super::records::Records::new(text, &dialect, whole);
        let Some(first) = records.next().filter(|record| record.fields > 1) else { return false };
        records.take(SNIFFED_RECORDS).all(|record| record.fields == first.fields)
    });
    agreed.unwrap_or(b',')
}
