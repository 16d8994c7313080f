//! A part becomes batches.

use std::io::Read;

use arrow_array::{RecordBatch, RecordBatchOptions};

use super::block::{Cutter, guess, is_blank};
use super::column::{Column, Misfit};
use super::encoding::with_utf8;
use super::fault::{Fault, FaultKind, explain};
use super::head;
use super::look::{Look, Origin};
use super::plan::{CsvPlan, Inner, Layout, Piece, Split};
use super::text::Text;
use super::{BLOCK_BYTES, MAX_PART_BYTES, MAX_RECORD_BYTES};
use crate::error::{LoadError, clip};
use crate::file::InputFile;

impl CsvPlan {
    /// Decodes a part and hands on its batches, until `take` declines.
    pub(crate) fn decode(
        &self,
        part: usize,
        take: &mut dyn FnMut(RecordBatch, u64) -> bool,
    ) -> Result<(), LoadError> {
        let plan = self.inner();
        let mut worker = Worker::new(plan);
        for piece in &plan.parts[part] {
            let input = &plan.files[piece.file];
            let outcome = match &piece.split {
                None => worker.whole_file(input, piece).and_then(|()| worker.hand_on(take)),
                Some(split) => worker.linked(input, piece.file, split),
            };
            match outcome {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(fault) => return Err(explain(input, &plan.dialect, fault)),
            }
        }
        let input = &plan.files[plan.parts[part][0].file];
        worker
            .flush()
            .and_then(|()| worker.hand_on(take))
            .map_err(|fault| explain(input, &plan.dialect, fault))?;
        plan.tell(&worker.looks, worker.fits);
        Ok(())
    }
}

/// Decodes the pieces of a part, one after the other.
struct Worker<'a> {
    plan: &'a Inner,
    columns: Vec<Column>,
    looks: Vec<Look>,
    /// No value has asked for a wider type.
    fits: bool,
    cutter: Cutter,
    buffer: Vec<u8>,
    /// Rows and text of the batch in the making.
    rows: usize,
    bytes: u64,
    ready: Vec<RecordBatch>,
}

impl<'a> Worker<'a> {
    fn new(plan: &'a Inner) -> Self {
        let mut worker = Self {
            plan,
            columns: Vec::new(),
            looks: Vec::new(),
            fits: true,
            cutter: Cutter::default(),
            buffer: Vec::new(),
            rows: 0,
            bytes: 0,
            ready: Vec::new(),
        };
        worker.reset();
        worker
    }

    fn reset(&mut self) {
        let columns = self.plan.declared.iter().zip(&self.plan.seen);
        self.columns = columns
            .map(|(declared, seen)| match declared {
                Some(data_type) => Column::declared(data_type),
                None => Column::inferred(*seen, &self.plan.rules),
            })
            .collect();
        self.looks = self.plan.seen.iter().map(|seen| Look::new(*seen)).collect();
        (self.fits, self.rows, self.bytes) = (true, 0, 0);
        self.ready.clear();
    }

    fn whole_file(&mut self, input: &InputFile, piece: &Piece) -> Result<(), Fault> {
        let plan = self.plan;
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut read = |worker: &mut Self, reader: &mut dyn Read| -> Result<(), Fault> {
            let mut text = Text::new(reader, &mut buffer, 0);
            text.more(BLOCK_BYTES).map_err(|source| input.io(source))?;
            match head::open(input, &mut text, &plan.options, &plan.dialect)? {
                None => plan.is_blank(piece.file),
                Some(head) => {
                    let layout = plan.layout(input, &head)?;
                    worker.records(input, piece.file, &mut text, &layout, u64::MAX)?;
                }
            }
            Ok(())
        };
        let mut outcome = Ok(());
        input.with_metered_bytes(&plan.meter, |reader| {
            let decoded = with_utf8(reader, plan.dialect.encoding, |reader, _| read(self, reader));
            outcome = decoded.map_err(|source| input.io(source))?;
            Ok(())
        })?;
        self.buffer = buffer;
        outcome
    }

    /// One piece of a file, once it is certain where it begins. False: it is not needed.
    fn linked(&mut self, input: &InputFile, number: usize, split: &Split) -> Result<bool, Fault> {
        let promise = split.chain.promise(split.index);
        let guessed = (split.index == 0 || split.chain.guesses())
            .then(|| self.piece(input, number, split, None))
            .transpose();
        let before = split.index.checked_sub(1).map(|before| split.chain.end_of(before));
        let Some(begin) = before.unwrap_or(Some(split.layout.body)) else { return Ok(false) };
        let outcome = match guessed {
            Ok(Some((start, end))) if start == begin => Ok(end),
            // an error of a piece that began in the wrong place is none
            Err((start, fault)) if start == begin => Err(fault),
            _ => {
                split.chain.miss();
                self.reset();
                self.piece(input, number, split, Some(begin))
                    .map(|(_, end)| end)
                    .map_err(|(_, fault)| fault)
            }
        };
        let end = outcome?;
        self.plan.meter.add_bytes(end - begin);
        promise.keep(end);
        Ok(true)
    }

    /// Decodes the records that begin in a piece: from `begin` on, or from where the first
    /// one is guessed to begin. Says where it began and ended.
    fn piece(
        &mut self,
        input: &InputFile,
        number: usize,
        split: &Split,
        begin: Option<u64>,
    ) -> Result<(u64, u64), (u64, Fault)> {
        let known = begin.or((split.index == 0).then_some(split.layout.body));
        let (layout, limit) = (&*split.layout, split.end);
        // the byte before tells whether a record begins at the first one
        let offset = known.unwrap_or(split.begin - 1);
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut start = known.unwrap_or(u64::MAX);
        let mut outcome = Ok(0);
        let read = input.with_bytes(offset, |reader| {
            let mut text = Text::new(reader, &mut buffer, offset);
            text.more(BLOCK_BYTES).map_err(|source| input.io(source))?;
            if known.is_none() {
                let guessed = guess(text.bytes(), layout.width, &self.plan.dialect);
                text.consume(guessed.unwrap_or(0));
                start = guessed.map_or(u64::MAX, |_| text.offset());
            }
            if start != u64::MAX {
                outcome = self.records(input, number, &mut text, layout, limit);
            }
            Ok(())
        });
        self.buffer = buffer;
        match (read, outcome) {
            (Ok(()), Ok(end)) => Ok((start, end)),
            (Ok(()), Err(fault)) => Err((start, fault)),
            (Err(error), _) => Err((start, error.into())),
        }
    }

    /// The records of a text that begin before `limit`. Says where the next one begins.
    fn records(
        &mut self,
        input: &InputFile,
        number: usize,
        text: &mut Text<'_>,
        layout: &Layout,
        limit: u64,
    ) -> Result<u64, Fault> {
        let plan = self.plan;
        while text.offset() < limit {
            if plan.meter.cancelled() {
                return Err(LoadError::Cancelled.into());
            }
            let (bytes, offset) = (text.bytes(), text.offset());
            let room = usize::try_from(limit - offset).unwrap_or(usize::MAX).min(bytes.len());
            let mut cutter = std::mem::take(&mut self.cutter);
            let cut = cutter.cut(bytes, room, text.ended(), layout.width, &plan.dialect);
            let origin = Origin { file: input, number, offset };
            let taken = self.block(&origin, &cutter, &bytes[..cut.bytes], bytes, layout);
            self.cutter = cutter;
            taken.map_err(|(at, kind)| Fault { offset: offset + at as u64, kind })?;
            if let Some(ragged) = cut.ragged {
                let (expected, found) = (layout.width, ragged.found);
                let offset = offset + ragged.start as u64;
                return Err(Fault { offset, kind: FaultKind::Ragged { expected, found } });
            }
            text.consume(cut.bytes);
            let left = text.bytes().len();
            if text.offset() >= limit {
                break;
            }
            if text.ended() {
                if is_blank(text.bytes(), &plan.dialect) {
                    break;
                }
                if cut.bytes == 0 && left <= MAX_RECORD_BYTES {
                    let start = super::records::skip(text.bytes(), 0, &plan.dialect).unwrap_or(0);
                    let offset = text.offset() + start as u64;
                    return Err(Fault { offset, kind: FaultKind::UnclosedQuote });
                }
                if cut.bytes > 0 {
                    continue;
                }
            }
            if left > MAX_RECORD_BYTES {
                return Err(Fault { offset: text.offset(), kind: FaultKind::TooLong });
            }
            // as much as is left of the piece, and a little for its last record
            let wanted = limit.saturating_sub(text.offset() + left as u64).saturating_add(4 << 10);
            let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).min(BLOCK_BYTES);
            let more = if cut.bytes == 0 { wanted.max(left) } else { wanted };
            text.more(more).map_err(|source| input.io(source))?;
        }
        Ok(text.offset())
    }

    /// Takes the values of a block into the columns.
    fn block(
        &mut self,
        origin: &Origin<'_>,
        cutter: &Cutter,
        raw: &[u8],
        text: &[u8],
        layout: &Layout,
    ) -> Result<(), (usize, FaultKind)> {
        let block = cutter.block(text);
        let rows = block.rows();
        if rows == 0 {
            return Ok(());
        }
        if let Err(error) = std::str::from_utf8(raw) {
            return Err(broken(cutter, &block, error.valid_up_to(), layout.width));
        }
        if self.rows + rows > self.plan.options.batch_rows() && self.rows > 0 {
            self.flush().map_err(|fault| (0, fault.kind))?;
        }
        if self.rows == 0 {
            // all parts are about equally long
            let expected = usize::try_from(MAX_PART_BYTES).unwrap_or(0) / raw.len().max(1) + 1;
            let expected = expected.min(4) * rows;
            self.columns.iter_mut().for_each(|column| column.reserve(expected));
        }
        let columns = self.columns.iter_mut().zip(&mut self.looks).zip(&layout.map);
        for (at, ((column, look), &place)) in columns.enumerate() {
            let Some(place) = place else {
                column.take_nulls(rows);
                continue;
            };
            let taken = column.take(&block, place, &self.plan.rules, look);
            look.settle(origin, &block, place, cutter);
            match taken {
                Ok(()) => {}
                Err(Misfit::Wider) => self.fits = false,
                Err(Misfit::Row(row)) => {
                    let text = block.column(place).nth(row).unwrap_or_default();
                    let field = self.plan.schema.field(at);
                    let (column, wanted) = (field.name().clone(), field.data_type().clone());
                    let beyond = wanted.is_floating() && self.plan.rules.is_number(Some(text));
                    let text = clip(&String::from_utf8_lossy(text));
                    let kind = if beyond {
                        FaultKind::Beyond { column, text, wanted }
                    } else {
                        FaultKind::Value { column, text, wanted }
                    };
                    return Err((cutter.start(row), kind));
                }
            }
        }
        self.rows += rows;
        self.bytes += raw.len() as u64;
        if self.bytes >= MAX_PART_BYTES {
            self.flush().map_err(|fault| (0, fault.kind))?;
        }
        Ok(())
    }

    /// The batch in the making is complete.
    fn flush(&mut self) -> Result<(), Fault> {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        if rows == 0 {
            return Ok(());
        }
        if !self.fits || self.plan.is_widened() {
            // of no use any more, and perhaps not even equally long
            let (looks, fits) = (std::mem::take(&mut self.looks), self.fits);
            self.reset();
            (self.looks, self.fits) = (looks, fits);
            return Ok(());
        }
        let fault = |source| Fault { offset: 0, kind: FaultKind::Array(source) };
        let arrays: Result<Vec<_>, _> = self.columns.iter_mut().map(Column::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = arrays.and_then(|arrays| {
            RecordBatch::try_new_with_options(self.plan.schema.clone(), arrays, &options)
        });
        let batch = batch.map_err(fault)?;
        let most = self.plan.options.batch_rows();
        for at in (0..rows).step_by(most) {
            self.ready.push(batch.slice(at, most.min(rows - at)));
        }
        Ok(())
    }

    /// False: nobody wants more.
    fn hand_on(&mut self, take: &mut dyn FnMut(RecordBatch, u64) -> bool) -> Result<bool, Fault> {
        Ok(self.ready.drain(..).all(|batch| take(batch, 0)))
    }
}

/// Which field holds the byte that is not UTF-8.
fn broken(
    cutter: &Cutter,
    block: &super::block::Block<'_>,
    at: usize,
    width: usize,
) -> (usize, FaultKind) {
    let row = (0..block.rows()).rev().find(|&row| cutter.start(row) <= at).unwrap_or(0);
    let is_sound =
        |column| std::str::from_utf8(block.column(column).nth(row).unwrap_or_default()).is_ok();
    let field = (0..width).find(|&column| !is_sound(column)).map_or(1, |column| column + 1);
    (cutter.start(row), FaultKind::NotUtf8 { field })
}
