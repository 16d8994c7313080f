//! The head of a file: what stands before the first record, and the names of the columns.

use std::collections::HashMap;

use arrow_schema::DataType;
use encoding_rs::Encoding;

use super::block::Cutter;
use super::dialect::Dialect;
use super::encoding::with_utf8;
use super::fault::{Fault, FaultKind, explain};
use super::look::{Look, Origin};
use super::plan::Inner;
use super::records::{Fields, record, skip};
use super::text::Text;
use super::{BLOCK_BYTES, MAX_COLUMNS, MAX_RECORD_BYTES};
use crate::error::LoadError;
use crate::file::{FileName, InputFile};
use crate::options::Options;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Bytes of a file that are looked at to guess types.
const SAMPLE_BYTES: usize = 64 << 10;

/// The head of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// Names as they stand there; without a header, as many empty ones as fields.
    pub(super) names: Vec<String>,
    /// Where the first record may begin.
    pub(super) body: u64,
    /// Whether offsets are those of the file: it is stored as UTF-8.
    pub(super) utf8: bool,
}

/// The head of a file; none: it is blank.
pub(super) fn read(
    file: &InputFile,
    options: &Options,
    dialect: &Dialect,
) -> Result<Option<Head>, LoadError> {
    Ok(read_with(file, options, dialect, |_, _| dialect.clone())?.1)
}

/// The head of a file, under the dialect that `choose` makes of the text behind what is
/// skipped.
pub(super) fn read_with(
    file: &InputFile,
    options: &Options,
    base: &Dialect,
    choose: impl Fn(&[u8], bool) -> Dialect,
) -> Result<(Dialect, Option<Head>), LoadError> {
    file.guarded(|| {
        with_text(file, base, |reader, encoding| {
            let mut buffer = Vec::new();
            let mut text = Text::new(reader, &mut buffer, 0);
            text.more(SAMPLE_BYTES).map_err(|source| file.io(source))?;
            let skipped = begin(file, &mut text, options)?;
            text.consume(skipped);
            let dialect = choose(text.bytes(), text.ended());
            let mut head = take(file, &mut text, options, &dialect)?;
            if let Some(head) = &mut head {
                head.utf8 = encoding == encoding_rs::UTF_8;
            }
            Ok((dialect, head))
        })
    })
}

/// Calls `read` with the text of a file as UTF-8, and what it is encoded in.
pub(super) fn with_text<T>(
    file: &InputFile,
    dialect: &Dialect,
    read: impl FnOnce(&mut dyn std::io::Read, &'static Encoding) -> Result<T, LoadError>,
) -> Result<T, LoadError> {
    file.with_bytes(0, |reader| {
        with_utf8(reader, dialect.encoding, read).map_err(|source| file.io(source))?
    })
}

/// Bytes before the header: the byte order mark and lines that the user skips.
fn begin(file: &InputFile, text: &mut Text<'_>, options: &Options) -> Result<usize, LoadError> {
    let mut at = if text.bytes().starts_with(BOM) { BOM.len() } else { 0 };
    for _ in 0..options.csv.skip_lines {
        loop {
            if let Some(end) = text.bytes()[at..].iter().position(|&b| b == b'\n') {
                at += end + 1;
                break;
            }
            if text.ended() {
                return Ok(text.bytes().len());
            }
            text.consume(at);
            at = 0;
            text.more(BLOCK_BYTES).map_err(|source| file.io(source))?;
        }
    }
    Ok(at)
}

/// Reads the head; the text is at the first record then. None: the file is blank.
pub(super) fn open(
    file: &InputFile,
    text: &mut Text<'_>,
    options: &Options,
    dialect: &Dialect,
) -> Result<Option<Head>, LoadError> {
    let skipped = begin(file, text, options)?;
    text.consume(skipped);
    take(file, text, options, dialect)
}

fn take(
    file: &InputFile,
    text: &mut Text<'_>,
    options: &Options,
    dialect: &Dialect,
) -> Result<Option<Head>, LoadError> {
    let mut fields = Fields::default();
    let found = loop {
        fields.clear();
        if let Some(found) = record(text.bytes(), 0, dialect, text.ended(), &mut fields) {
            break found;
        }
        let start = skip(text.bytes(), 0, dialect);
        let fault = |kind| {
            let offset = text.offset() + start.unwrap_or(0) as u64;
            Err(explain(file, dialect, Fault { offset, kind }))
        };
        if text.ended() {
            return if start.is_none() { Ok(None) } else { fault(FaultKind::UnclosedQuote) };
        }
        if text.bytes().len() > MAX_RECORD_BYTES {
            return fault(FaultKind::TooLong);
        }
        let bytes = BLOCK_BYTES.max(text.bytes().len());
        text.more(bytes).map_err(|source| file.io(source))?;
    };
    let offset = text.offset() + found.start as u64;
    if found.fields > MAX_COLUMNS {
        return Err(explain(file, dialect, Fault { offset, kind: FaultKind::TooManyColumns }));
    }
    let mut names = vec![String::new(); found.fields];
    if options.header {
        for (at, name) in names.iter_mut().enumerate() {
            let Ok(text) = std::str::from_utf8(fields.field(at)) else {
                return Err(explain(
                    file,
                    dialect,
                    Fault { offset, kind: FaultKind::NotUtf8 { field: at + 1 } },
                ));
            };
            text.clone_into(name);
        }
    }
    text.consume(if options.header { found.next } else { found.start });
    Ok(Some(Head { names, body: text.offset(), utf8: true }))
}

/// Column names; a column without one is called by its number.
///
/// # Errors
/// [`LoadError::DuplicateColumns`], where they are not renamed.
pub(super) fn columns(
    file: &FileName,
    names: &[String],
    options: &Options,
) -> Result<Vec<String>, LoadError> {
    if let Some(declared) = declared_names(options, names.len()) {
        return Ok(declared);
    }
    let columns = plain_names(names, options);
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, name) in columns.iter().enumerate() {
        places.entry(name).or_default().push(at + 1);
    }
    let twice = columns.iter().find(|name| places[name.as_str()].len() > 1);
    match twice {
        Some(name) => {
            let places = places[name.as_str()].clone();
            Err(LoadError::DuplicateColumns { file: file.clone(), column: name.clone(), places })
        }
        None => Ok(columns),
    }
}

/// The names of another file; they are not looked at for duplicates.
pub(super) fn columns_like(first: &[String], names: &[String], options: &Options) -> Vec<String> {
    // without a header only the number of columns can be compared
    if !options.header && first.len() == names.len() {
        return first.to_vec();
    }
    plain_names(names, options)
}

fn plain_names(names: &[String], options: &Options) -> Vec<String> {
    let named = names.iter().enumerate().map(|(index, name)| match name.as_str() {
        "" => format!("column_{}", index + 1),
        name => name.into(),
    });
    let mut columns: Vec<String> = named.collect();
    if options.csv.rename_duplicates {
        let mut used: std::collections::HashSet<String> = columns.iter().cloned().collect();
        let mut met = std::collections::HashSet::new();
        for column in &mut columns {
            if !met.insert(column.clone()) {
                let fresh = (1..).map(|number| format!("{column}_{number}"));
                let fresh = fresh.into_iter().find(|name| !used.contains(name));
                *column = fresh.unwrap_or_default();
                used.insert(column.clone());
            }
        }
    }
    columns
}

/// The declared names, where they name the columns of files without a header.
fn declared_names(options: &Options, columns: usize) -> Option<Vec<String>> {
    let declared = options.schema.as_ref().filter(|_| !options.header)?;
    let names = declared.fields().iter().map(|field| field.name().clone());
    (names.len() == columns).then(|| names.collect())
}

/// Which columns are taken.
pub(super) fn taken(
    file: &FileName,
    columns: &[String],
    options: &Options,
) -> Result<Vec<usize>, LoadError> {
    let Some(wanted) = &options.csv.columns else { return Ok((0..columns.len()).collect()) };
    let place = |name: &String| {
        columns.iter().position(|column| column == name).ok_or_else(|| LoadError::NoSuchColumn {
            file: file.clone(),
            column: name.clone(),
            known: columns.to_vec(),
        })
    };
    wanted.iter().map(place).collect()
}

/// Declared types of the columns that are taken.
pub(super) fn declared(
    taken: &[&String],
    columns: &[String],
    options: &Options,
) -> Result<Vec<Option<DataType>>, LoadError> {
    let mut types = vec![None; taken.len()];
    for declared in options.schema.iter().flat_map(|schema| schema.fields()) {
        if !columns.contains(declared.name()) {
            let (column, known) = (declared.name().clone(), columns.to_vec());
            return Err(LoadError::UnknownColumn { column, known });
        }
        for (name, data_type) in taken.iter().zip(&mut types) {
            if *name == declared.name() {
                *data_type = Some(declared.data_type().clone());
            }
        }
    }
    Ok(types)
}

/// What the first records of a file hold.
pub(super) fn sample(
    plan: &Inner,
    file: &InputFile,
    number: usize,
    looks: &mut [Look],
) -> Result<(), LoadError> {
    with_text(file, &plan.dialect, |reader, _| {
        let mut buffer = Vec::new();
        let mut text = Text::new(reader, &mut buffer, 0);
        text.more(SAMPLE_BYTES).map_err(|source| file.io(source))?;
        let Some(head) = open(file, &mut text, &plan.options, &plan.dialect)? else {
            return Ok(());
        };
        let layout = plan.layout(file, &head)?;
        let mut cutter = Cutter::default();
        let bytes = text.bytes();
        cutter.cut(bytes, bytes.len(), text.ended(), layout.width, &plan.dialect);
        let block = cutter.block(bytes);
        let origin = Origin { file, number, offset: text.offset() };
        for (look, column) in looks.iter_mut().zip(&layout.map) {
            let Some(column) = *column else { continue };
            look.classify(&block, column, &plan.rules);
            look.settle(&origin, &block, column, &cutter);
        }
        Ok(())
    })
}
