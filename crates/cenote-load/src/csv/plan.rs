//! What is known before decoding: columns, their types so far, and who decodes what.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::chain::Chain;
use super::dialect::{Dialect, sniff};
use super::fault::{Fault, FaultKind, explain, line_at};
use super::head::{self, Head};
use super::infer::Seen;
use super::look::{Look, Turn};
use super::rules::Rules;
use super::{MAX_PART_BYTES, MIN_PART_BYTES};
use crate::error::LoadError;
use crate::file::InputFile;
use crate::join::column_order;
use crate::meter::Meter;
use crate::notice::Notice;
use crate::options::Options;

/// Files whose first records are looked at.
const SAMPLED_FILES: usize = 8;

/// Parts a thread, so that none waits long for the others at the end.
const PARTS_A_THREAD: u64 = 4;

/// CSV files, and the types that their columns have as far as is known.
///
/// Clones are the same plan: all say what they have seen to the same place.
#[derive(Debug, Clone)]
pub(crate) struct CsvPlan(Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) files: Vec<InputFile>,
    pub(super) options: Options,
    pub(super) dialect: Dialect,
    pub(super) rules: Rules,
    pub(super) meter: Meter,
    /// All columns, as the first file has them.
    columns: Vec<String>,
    /// Which of them are taken.
    taken: Vec<usize>,
    /// For each that is taken: its declared type.
    pub(super) declared: Vec<Option<DataType>>,
    /// For each that is taken: what it was seen to hold when the plan was made.
    pub(super) seen: Vec<Seen>,
    pub(super) schema: SchemaRef,
    pub(super) parts: Vec<Vec<Piece>>,
    /// For each that is taken: the value that made it text, as far as is known.
    turns: Vec<Option<Turn>>,
    /// What decoding has seen, and where the types turn out too narrow.
    found: Mutex<Vec<Look>>,
    widened: AtomicBool,
    blank: Mutex<Vec<usize>>,
}

/// A run of records of one file.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) file: usize,
    /// None: the whole file.
    pub(super) split: Option<Split>,
}

/// One piece of several.
#[derive(Debug, Clone)]
pub(super) struct Split {
    pub(super) chain: Arc<Chain>,
    pub(super) layout: Arc<Layout>,
    pub(super) index: usize,
    /// The first byte that may begin a record of it.
    pub(super) begin: u64,
    /// The first one of the next piece.
    pub(super) end: u64,
}

/// Where the columns stand in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Fields of a record.
    pub(super) width: usize,
    /// For each column that is taken, which one of the file it is; none: the file lacks it.
    pub(super) map: Vec<Option<usize>>,
    /// Where the first record begins.
    pub(super) body: u64,
}

impl CsvPlan {
    /// Looks at the heads of some files.
    ///
    /// Cost: at most [`SAMPLED_FILES`] heads of a quarter MiB, and those of files that are
    /// split.
    pub(crate) fn new(
        files: Vec<InputFile>,
        options: &Options,
        meter: &Meter,
    ) -> Result<Self, LoadError> {
        let mut dialect = Dialect::new(options, options.delimiter.unwrap_or(b','))?;
        let mut first = None;
        for (index, file) in files.iter().enumerate() {
            let named = options.delimiter.or_else(|| delimiter_of_name(file));
            if let Some(delimiter) = named {
                dialect.delimiter = delimiter;
            }
            let base = dialect.clone();
            let read = |text: &[u8], whole| {
                let delimiter = named.unwrap_or_else(|| sniff(text, whole, &base));
                Dialect { delimiter, ..base.clone() }
            };
            let (chosen, head) = head::read_with(file, options, &base, read)?;
            dialect = chosen;
            if let Some(head) = head {
                first = Some((index, head));
                break;
            }
            if meter.cancelled() {
                return Err(LoadError::Cancelled);
            }
        }
        let Some((first, head)) = first else {
            return Err(LoadError::Empty { file: files[0].name.clone() });
        };
        let mut columns = head::columns(&files[first].name, &head.names, options)?;
        if options.evolve {
            for file in &files[first + 1..] {
                if meter.cancelled() {
                    return Err(LoadError::Cancelled);
                }
                let Some(head) = head::read(file, options, &dialect)? else { continue };
                let more = head::columns(&file.name, &head.names, options)?;
                let fresh = more.into_iter().filter(|name| !columns.contains(name));
                let fresh: Vec<String> = fresh.collect();
                columns.extend(fresh);
            }
        }
        let taken = head::taken(&files[first].name, &columns, options)?;
        let names: Vec<&String> = taken.iter().map(|&at| &columns[at]).collect();
        let declared = head::declared(&names, &columns, options)?;
        let (seen, rules) = (vec![Seen::default(); taken.len()], Rules::new(options)?);
        let mut inner = Inner {
            files,
            options: options.clone(),
            dialect,
            rules,
            meter: meter.clone(),
            columns,
            taken,
            declared,
            turns: vec![None; seen.len()],
            seen,
            schema: Arc::new(Schema::empty()),
            parts: Vec::new(),
            found: Mutex::default(),
            widened: AtomicBool::new(false),
            blank: Mutex::default(),
        };
        inner.sample(first)?;
        inner.parts = inner.split()?;
        inner.schema = inner.schema();
        Ok(Self(Arc::new(inner)))
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.0.schema.clone()
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.0
    }

    /// Parts, each with its last file.
    pub(crate) fn parts(&self) -> impl Iterator<Item = usize> {
        self.0.parts.iter().filter_map(|pieces| Some(pieces.last()?.file))
    }

    /// Whether a value asked for a wider type than its column has here: nothing that was
    /// decoded is of use then.
    pub(crate) fn is_widened(&self) -> bool {
        self.0.widened.load(Relaxed)
    }

    /// The plan that all values that were seen ask for, over files that have a content.
    pub(crate) fn next(&self) -> Result<Self, LoadError> {
        let inner = &*self.0;
        let blank = inner.blank.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let files = inner.files.iter().enumerate().filter(|(at, _)| !blank.contains(at));
        let (mut seen, mut turns) = (inner.seen.clone(), inner.turns.clone());
        let found = inner.found.lock().unwrap_or_else(PoisonError::into_inner);
        for (at, look) in found.iter().enumerate() {
            seen[at].merge(look.seen);
            turns[at] = turns[at].take().or_else(|| look.turn.clone());
            let wanted = seen[at].data_type();
            // where other values make the column text, no number is beyond anything
            if let Some(place) = &look.beyond
                && wanted == DataType::Float64
            {
                let column = inner.columns[inner.taken[at]].clone();
                let kind = FaultKind::Beyond { column, text: place.text.clone(), wanted };
                let fault = Fault { offset: place.offset, kind };
                return Err(explain(&place.file, &inner.dialect, fault));
            }
        }
        let mut next = Inner {
            files: files.map(|(_, file)| file.clone()).collect(),
            options: inner.options.clone(),
            dialect: inner.dialect.clone(),
            rules: inner.rules.clone(),
            meter: inner.meter.clone(),
            columns: inner.columns.clone(),
            taken: inner.taken.clone(),
            declared: inner.declared.clone(),
            seen,
            turns,
            schema: inner.schema.clone(),
            parts: Vec::new(),
            found: Mutex::default(),
            widened: AtomicBool::new(false),
            blank: Mutex::default(),
        };
        next.parts = next.split()?;
        next.schema = next.schema();
        Ok(Self(Arc::new(next)))
    }

    /// The delimiter, where it was found and is not a comma.
    pub(crate) fn found_delimiter(&self) -> Option<u8> {
        let (inner, delimiter) = (&self.0, self.0.dialect.delimiter);
        let told = inner.options.delimiter.is_some()
            || inner.files.first().is_some_and(|file| delimiter_of_name(file).is_some());
        (!told && delimiter != b',').then_some(delimiter)
    }

    pub(crate) fn files(&self) -> &[InputFile] {
        &self.0.files
    }

    /// Columns that one late value made text. Cost: each file is read up to that value, to count
    /// its lines.
    pub(crate) fn notices(&self) -> Vec<Notice> {
        let inner = &*self.0;
        let found = inner.found.lock().unwrap_or_else(PoisonError::into_inner);
        let notice = |at: usize| {
            let field = inner.schema.field(at);
            let is_inferred = inner.declared[at].is_none() && *field.data_type() == DataType::Utf8;
            let turn = inner.turns[at].as_ref().or_else(|| found.get(at)?.turn.as_ref());
            let Turn { place, was } = turn.filter(|_| is_inferred)?;
            // what cannot be read any more was read before: there is nothing to be said then
            let line = line_at(&place.file, &inner.dialect, place.offset).ok()?;
            Some(Notice::BecameText {
                file: place.file.name.clone(),
                line,
                column: field.name().clone(),
                text: place.text.clone(),
                was: was.clone(),
            })
        };
        (0..inner.taken.len()).filter_map(notice).collect()
    }
}

/// A tab, where the name says so.
fn delimiter_of_name(file: &InputFile) -> Option<u8> {
    file.name.stem().ends_with(".tsv").then_some(b'\t')
}

impl Inner {
    fn schema(&self) -> SchemaRef {
        let fields = self.taken.iter().zip(&self.declared).zip(&self.seen);
        let fields = fields.map(|((&column, declared), seen)| {
            let data_type = declared.clone().unwrap_or_else(|| self.rules.data_type(*seen));
            Field::new(&self.columns[column], data_type, true)
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// Where the columns stand in a file with this head.
    pub(super) fn layout(&self, file: &InputFile, head: &Head) -> Result<Layout, LoadError> {
        let (width, body) = (head.names.len(), head.body);
        if self.options.evolve {
            let names = head::columns(&file.name, &head.names, &self.options)?;
            let place = |&column: &usize| names.iter().position(|n| *n == self.columns[column]);
            return Ok(Layout { width, map: self.taken.iter().map(place).collect(), body });
        }
        let names = head::columns_like(&self.columns, &head.names, &self.options);
        let order = column_order(&self.files[0].name, &self.columns, &file.name, &names)?;
        let place = |&column: &usize| Some(order.as_ref().map_or(column, |order| order[column]));
        Ok(Layout { width, map: self.taken.iter().map(place).collect(), body })
    }

    /// Types as the first records have them. An error here is one that decoding finds too,
    /// and in the order of the files.
    fn sample(&mut self, first: usize) -> Result<(), LoadError> {
        let step = (self.files.len() - first).div_ceil(SAMPLED_FILES).max(1);
        let mut looks = vec![Look::default(); self.seen.len()];
        for (number, file) in self.files.iter().enumerate().skip(first).step_by(step) {
            if self.meter.cancelled() {
                return Err(LoadError::Cancelled);
            }
            let sampled = file.guarded(|| head::sample(self, file, number, &mut looks));
            if sampled.is_err() {
                break;
            }
        }
        self.seen = looks.iter().map(|look| look.seen).collect();
        self.turns = looks.into_iter().map(|look| look.turn).collect();
        Ok(())
    }

    /// Small files together, large ones in pieces.
    fn split(&self) -> Result<Vec<Vec<Piece>>, LoadError> {
        let total: u64 = self.files.iter().map(|file| file.bytes).sum();
        let wanted = total / (self.options.threads() as u64 * PARTS_A_THREAD);
        let size = wanted.clamp(MIN_PART_BYTES, MAX_PART_BYTES);
        let (mut parts, mut group, mut grouped) = (Vec::new(), Vec::new(), 0);
        for (file, input) in self.files.iter().enumerate() {
            if input.is_plain() && input.bytes > size / 2 * 3 {
                let head = head::read(input, &self.options, &self.dialect)?;
                if let Some(head) = head.filter(|head| head.utf8) {
                    parts.extend((!group.is_empty()).then(|| std::mem::take(&mut group)));
                    grouped = 0;
                    let layout = Arc::new(self.layout(input, &head)?);
                    parts.extend(pieces(file, input.bytes, size, &layout).map(|piece| vec![piece]));
                    continue;
                }
            }
            // columns that are made of the folders' names are the same in all of a part
            if group
                .last()
                .is_some_and(|last: &Piece| self.files[last.file].folders != input.folders)
            {
                parts.push(std::mem::take(&mut group));
                grouped = 0;
            }
            group.push(Piece { file, split: None });
            // what is compressed is about four times as long
            grouped += if input.is_plain() { input.bytes } else { input.bytes * 4 };
            if grouped >= size {
                parts.push(std::mem::take(&mut group));
                grouped = 0;
            }
        }
        parts.extend((!group.is_empty()).then_some(group));
        Ok(parts)
    }

    /// What decoding a part has seen.
    pub(super) fn tell(&self, looks: &[Look], fits: bool) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.resize(self.seen.len(), Look::default());
        for (found, look) in found.iter_mut().zip(looks) {
            found.merge(look);
        }
        // a type of all values may differ from that of those which the plan knew
        let types = self.declared.iter().zip(self.seen.iter().zip(&*found));
        let same = types
            .filter(|(declared, _)| declared.is_none())
            .all(|(_, (seen, found))| found.seen.with(*seen).data_type() == seen.data_type());
        self.widened.fetch_or(!fits || !same, Relaxed);
    }

    pub(super) fn is_blank(&self, file: usize) {
        self.blank.lock().unwrap_or_else(PoisonError::into_inner).push(file);
    }

    pub(super) fn is_widened(&self) -> bool {
        self.widened.load(Relaxed)
    }
}

fn pieces(file: usize, bytes: u64, size: u64, layout: &Arc<Layout>) -> impl Iterator<Item = Piece> {
    let count = usize::try_from((bytes / size).max(1)).unwrap_or(usize::MAX);
    let chain = Arc::new(Chain::new(count));
    let layout = layout.clone();
    (0..count).map(move |index| {
        // before the first record there is nothing to guess at
        let begin = (index as u64 * size).max(layout.body);
        let end = if index + 1 == count { u64::MAX } else { (index as u64 + 1) * size };
        let (chain, layout) = (chain.clone(), layout.clone());
        Piece { file, split: Some(Split { chain, layout, index, begin, end }) }
    })
}
