//! What the values of a column turn out to be while they are read, and where the values stand
//! that decide something.

use arrow_schema::DataType;

use super::block::{Block, Cutter};
use super::infer::Seen;
use super::rules::Rules;
use crate::error::clip;
use crate::file::InputFile;

/// Where a value stands.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) file: InputFile,
    /// Among the files of the plan that found it.
    number: usize,
    /// Where its record begins in the unpacked text.
    pub(super) offset: u64,
    pub(super) text: String,
}

/// The value that made a column text which had another type before.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) place: Place,
    pub(super) was: DataType,
}

/// What one thread has seen of a column.
#[derive(Debug, Clone, Default)]
pub(super) struct Look {
    /// What the plan knew before.
    known: Seen,
    /// What the values are that it did not know how to take.
    pub(super) seen: Seen,
    pub(super) turn: Option<Turn>,
    /// A number that a double does not hold.
    pub(super) beyond: Option<Place>,
    /// Rows of the block at hand: of a value that made the column text, with its type before,
    /// and of a number beyond a double.
    turned_at: Option<(usize, DataType)>,
    beyond_at: Option<usize>,
}

/// A block on its way into columns.
#[derive(Debug)]
pub(super) struct Origin<'a> {
    pub(super) file: &'a InputFile,
    pub(super) number: usize,
    /// Where its text begins in the unpacked text of the file.
    pub(super) offset: u64,
}

impl Look {
    pub(super) fn new(known: Seen) -> Self {
        Self { known, ..Self::default() }
    }

    /// Takes the values of a column of a block into account.
    pub(super) fn classify(&mut self, block: &Block<'_>, column: usize, rules: &Rules) {
        for (row, text) in block.column(column).enumerate() {
            if rules.is_null(text) {
                continue;
            }
            let before = self.seen;
            self.seen.add(text, rules);
            if self.seen != before && self.turn.is_none() && self.turned_at.is_none() {
                let (was, now) = (before.with(self.known), self.seen.with(self.known));
                let was = was.data_type();
                if was != DataType::Utf8 && now.data_type() == DataType::Utf8 {
                    self.turned_at = Some((row, was));
                }
            }
        }
    }

    /// A number of this row of the block is beyond a double.
    pub(super) fn is_beyond(&mut self, row: usize) {
        self.beyond_at = self.beyond_at.or(Some(row));
    }

    /// After a block: says where what was found in it stands.
    pub(super) fn settle(
        &mut self,
        origin: &Origin<'_>,
        block: &Block<'_>,
        column: usize,
        cutter: &Cutter,
    ) {
        let place = |row: usize| Place {
            file: origin.file.clone(),
            number: origin.number,
            offset: origin.offset + cutter.start(row) as u64,
            text: clip(&String::from_utf8_lossy(block.column(column).nth(row).unwrap_or_default())),
        };
        if let Some((row, was)) = self.turned_at.take() {
            self.turn.get_or_insert_with(|| Turn { place: place(row), was });
        }
        if let Some(row) = self.beyond_at.take() {
            self.beyond.get_or_insert_with(|| place(row));
        }
    }

    /// Takes in what another thread has seen: of two places the first.
    pub(super) fn merge(&mut self, other: &Look) {
        self.seen.merge(other.seen);
        let key = |place: &Place| (place.number, place.offset);
        let first = |own: &Option<Place>, other: &Place| {
            own.as_ref().is_none_or(|own| key(other) < key(own))
        };
        if let Some(turn) = &other.turn
            && first(&self.turn.as_ref().map(|turn| turn.place.clone()), &turn.place)
        {
            self.turn = Some(turn.clone());
        }
        if let Some(place) = &other.beyond
            && first(&self.beyond, place)
        {
            self.beyond = Some(place.clone());
        }
    }
}
