//! The first pass: every CSV file is scanned whole, the findings become one schema.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use arrow_csv::reader::Format;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use regex::Regex;

use super::infer::Seen;
use super::scan::Scanner;
use super::{Cut, MAX_CUT_BYTES};
use crate::error::LoadError;
use crate::file::InputFile;
use crate::join::column_order;
use crate::meter::Meter;
use crate::options::Options;

/// All that the second pass needs.
#[derive(Debug)]
pub(crate) struct CsvPlan {
    pub(crate) schema: SchemaRef,
    pub(super) scans: Vec<CsvFile>,
}

/// One file's part in the plan.
#[derive(Debug)]
pub(crate) struct CsvFile {
    pub(crate) cuts: Vec<Cut>,
    /// For each column of the schema, which one of the file it is; none: the same.
    pub(super) order: Option<Vec<usize>>,
    pub(super) format: Format,
    delimiter: u8,
}

impl CsvFile {
    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    pub(crate) fn rows(&self) -> u64 {
        self.cuts.iter().map(|cut| cut.rows as u64).sum()
    }

    /// Length of the text.
    pub(crate) fn bytes(&self) -> u64 {
        self.cuts.iter().map(|cut| cut.bytes).sum()
    }
}

/// What scanning one file found out. Without a header there are no columns.
#[derive(Debug)]
struct Scan {
    header: Vec<String>,
    seen: Vec<Seen>,
    cuts: Vec<Cut>,
}

impl CsvPlan {
    /// Scans the files; those without even a header are taken out of `files`.
    pub(crate) fn new(
        files: &mut Vec<InputFile>,
        options: &Options,
        meter: &Meter,
    ) -> Result<Self, LoadError> {
        let nulls = null_pattern(&options.null_values)?;
        let scans = scan_all(files, options, nulls.as_ref(), meter)?;
        let first_name = files[0].name.clone();
        let blank: Vec<bool> = scans.iter().map(|scan| scan.header.is_empty()).collect();
        let mut keep = blank.iter().map(|blank| !blank);
        files.retain(|_| keep.next().unwrap_or(true));
        let mut scans = scans.into_iter().filter(|scan| !scan.header.is_empty());

        let Some(first) = scans.next() else {
            return Err(LoadError::Empty { file: first_name });
        };
        let (mut columns, mut seen) = (first.header, first.seen);
        let mut plan = vec![(first.cuts, None)];
        for scan in scans {
            let (first, file) = (&files[0].name, &files[plan.len()].name);
            let order = column_order(first, &columns, file, &scan.header)?;
            for (column, seen) in seen.iter_mut().enumerate() {
                seen.merge(scan.seen[order.as_ref().map_or(column, |order| order[column])]);
            }
            plan.push((scan.cuts, order));
        }
        if let Some(declared) = declared_names(options, columns.len()) {
            columns = declared;
        }
        let schema = Arc::new(Schema::new(apply_declared(&columns, &seen, options)?));
        let scans = plan.into_iter().zip(&*files).map(|((cuts, order), file)| {
            let delimiter = delimiter(file, options);
            let mut format = Format::default().with_header(false).with_delimiter(delimiter);
            if let Some(nulls) = &nulls {
                format = format.with_null_regex(nulls.clone());
            }
            CsvFile { cuts, order, format, delimiter }
        });
        Ok(Self { schema, scans: scans.collect() })
    }

    pub(crate) fn file(&self, index: usize) -> &CsvFile {
        &self.scans[index]
    }

    pub(crate) fn rows(&self) -> u64 {
        self.scans.iter().map(CsvFile::rows).sum()
    }
}

fn null_pattern(values: &[String]) -> Result<Option<Regex>, LoadError> {
    if values.iter().all(String::is_empty) {
        return Ok(None);
    }
    let values: Vec<String> = values.iter().map(|value| regex::escape(value)).collect();
    let pattern = Regex::new(&format!("^(?:|{})$", values.join("|")));
    pattern.map(Some).map_err(|_| LoadError::NullValues)
}

fn delimiter(file: &InputFile, options: &Options) -> u8 {
    let name = file.name.to_string().to_ascii_lowercase();
    let tabs = name.ends_with(".tsv") || name.ends_with(".tsv.gz");
    options.delimiter.unwrap_or(if tabs { b'\t' } else { b',' })
}

/// The declared names, where they name the columns of files without a header.
fn declared_names(options: &Options, columns: usize) -> Option<Vec<String>> {
    let declared = options.schema.as_ref().filter(|_| !options.header)?;
    let names = declared.fields().iter().map(|field| field.name().clone());
    (names.len() == columns).then(|| names.collect())
}

fn apply_declared(
    columns: &[String],
    seen: &[Seen],
    options: &Options,
) -> Result<Vec<Field>, LoadError> {
    let mut types: Vec<DataType> = seen.iter().map(|seen| seen.data_type()).collect();
    for declared in options.schema.iter().flat_map(|schema| schema.fields()) {
        let mut unknown = true;
        for (column, data_type) in columns.iter().zip(&mut types) {
            if column == declared.name() {
                *data_type = declared.data_type().clone();
                unknown = false;
            }
        }
        if unknown {
            let (column, known) = (declared.name().clone(), columns.to_vec());
            return Err(LoadError::UnknownColumn { column, known });
        }
    }
    Ok(columns.iter().zip(types).map(|(name, t)| Field::new(name, t, true)).collect())
}

/// Scans in several threads. Of several errors the one of the earliest file is returned:
/// files are taken in order, so all earlier ones are finished.
fn scan_all(
    files: &[InputFile],
    options: &Options,
    nulls: Option<&Regex>,
    meter: &Meter,
) -> Result<Vec<Scan>, LoadError> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        let mut done = Vec::new();
        while !failed.load(Relaxed) {
            let index = next.fetch_add(1, Relaxed);
            let Some(file) = files.get(index) else { break };
            let scan = file.guarded(|| scan(file, options, nulls, meter));
            failed.fetch_or(scan.is_err(), Relaxed);
            done.push((index, scan));
        }
        done
    };
    let mut done = std::thread::scope(|scope| {
        let threads = options.threads().min(files.len());
        // a thread that cannot be started is not missed: this one does the work
        let others: Vec<_> = (1..threads)
            .map_while(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, scan)| scan).collect()
}

fn scan(
    file: &InputFile,
    options: &Options,
    nulls: Option<&Regex>,
    meter: &Meter,
) -> Result<Scan, LoadError> {
    let scan = file.with_metered_bytes(meter, |reader| {
        let mut scanner = Scanner::new(file, reader, delimiter(file, options), (0, 1))?;
        let mut scan = Scan { header: Vec::new(), seen: Vec::new(), cuts: Vec::new() };
        let mut looked = Vec::new();
        let mut rows = options.header;
        while let Some(record) = scanner.next()? {
            if scan.header.is_empty() {
                scan.header = header(record.fields(), options.header);
                scan.seen = vec![Seen::default(); record.len()];
                looked = undeclared(&scan.header, options);
                if std::mem::take(&mut rows) {
                    continue;
                }
            }
            let expected = scan.header.len();
            if record.len() != expected {
                let (file, line, found) = (file.name.clone(), record.line, record.len());
                return Err(LoadError::Ragged { file, line, expected, found });
            }
            if cut(&mut scan.cuts, record.offset, record.line, options) && meter.cancelled() {
                return Err(LoadError::Cancelled);
            }
            for ((field, seen), look) in record.fields().zip(&mut scan.seen).zip(&looked) {
                let null = || nulls.is_some_and(|nulls| nulls.is_match(field));
                if *look && !field.is_empty() && !null() {
                    seen.add(field.as_bytes());
                }
            }
        }
        if let Some(last) = scan.cuts.last_mut() {
            last.bytes = scanner.offset() - last.offset;
        }
        Ok(scan)
    })?;
    if meter.cancelled() { Err(LoadError::Cancelled) } else { Ok(scan) }
}

/// Counts a record that begins here into the last cut, or opens another.
fn cut(cuts: &mut Vec<Cut>, offset: u64, line: u64, options: &Options) -> bool {
    if let Some(last) = cuts.last_mut() {
        if last.rows < options.batch_rows() && offset - last.offset < MAX_CUT_BYTES {
            last.rows += 1;
            return false;
        }
        last.bytes = offset - last.offset;
    }
    cuts.push(Cut { offset, bytes: 0, line, rows: 1 });
    true
}

/// Column names; a column without one is called by its number.
fn header<'a>(fields: impl Iterator<Item = &'a str>, named: bool) -> Vec<String> {
    let names = fields.enumerate().map(|(index, name)| match name {
        name if named && !name.is_empty() => name.into(),
        _ => format!("column_{}", index + 1),
    });
    names.collect()
}

/// Which columns need inference.
fn undeclared(header: &[String], options: &Options) -> Vec<bool> {
    if declared_names(options, header.len()).is_some() {
        return vec![false; header.len()];
    }
    let declared = |name: &String| {
        options.schema.as_ref().is_some_and(|schema| schema.field_with_name(name).is_ok())
    };
    header.iter().map(|name| !declared(name)).collect()
}
