//! Running a plan over rows as they come.
//!
//! Blocks of rows pass through the phases of the plan; between blocks only the histories and
//! states of the windows are kept. So memory does not grow with the number of rows, and one
//! row pushed a day later gives the same bits as all of them at once.

mod reused;

use rayon::prelude::*;

use crate::op::Op;
use crate::plan::{Phase, Place, Plan, RowStep, TileStep};
use crate::row::{self, Scratch};
use crate::tile::element;
use crate::tile::ewm;
use crate::tile::history::History;
use crate::tile::window::State;
use reused::{Reused, Taken};

/// Symbols of a tile: its rows of some operators fit a core's cache.
const TILE_SYMBOLS: usize = 256;
/// Rows of a block, and fewest where one with many nodes would take much memory.
const BLOCK_ROWS: usize = 32;
const BLOCK_ROWS_LEAST: usize = 8;
/// Bytes of the rows of a block, about.
const BLOCK_BYTES: usize = 48 << 20;
/// Fewer cells are not worth waking other threads for.
const PARALLEL_CELLS: usize = 8_192;

/// A plan under way: what its windows remember.
#[derive(Debug)]
pub struct Engine {
    plan: Plan,
    symbols: usize,
    block_rows: usize,
    next: u64,
    tiles: Vec<Tile>,
    rows: Vec<Vec<f64>>,
    result: Vec<f64>,
    tile_scratch: Reused<TileScratch>,
    row_scratch: Reused<RowScratch>,
}

/// Slots of a thread's own.
type TileScratch = Vec<Vec<f64>>;

/// Some symbols.
#[derive(Debug)]
struct Tile {
    from: usize,
    width: usize,
    slots: Vec<Vec<f64>>,
    histories: Vec<History>,
    states: Vec<TileState>,
}

#[derive(Debug)]
enum TileState {
    Window(State),
    Ewm(ewm::State),
}

/// What a step reads beside its tile.
#[derive(Clone, Copy)]
struct Block<'a> {
    fields: &'a [&'a [f64]],
    symbols: usize,
    rows: &'a [Vec<f64>],
    /// Rows of the block.
    count: usize,
    /// The first one's ordinal.
    first: u64,
}

impl Engine {
    /// An engine for `symbols` symbols whose first row will be bar `first` of the session
    /// calendar: windows are anchored on that number, so that they give the same bits
    /// wherever a run begins.
    #[must_use]
    pub fn new(plan: Plan, symbols: usize, first: u64) -> Engine {
        let slots = plan.tile_slots + plan.row_slots + plan.histories.len();
        let rows = BLOCK_BYTES / (8 * slots * symbols).max(1);
        let rows = rows.clamp(BLOCK_ROWS_LEAST, BLOCK_ROWS);
        Engine::with_blocks(plan, symbols, first, rows, TILE_SYMBOLS)
    }

    /// The same with other sizes of blocks and tiles; the results do not depend on them.
    #[must_use]
    pub fn with_blocks(
        plan: Plan,
        symbols: usize,
        first: u64,
        block_rows: usize,
        tile_symbols: usize,
    ) -> Engine {
        let (block_rows, tile_symbols) = (block_rows.max(1), tile_symbols.max(1));
        let starts = (0..symbols).step_by(tile_symbols);
        let tile =
            |from: usize| Tile::new(&plan, from, tile_symbols.min(symbols - from), block_rows);
        let tiles = starts.map(tile).collect();
        let rows = vec![vec![f64::NAN; block_rows * symbols]; plan.row_slots];
        let result = vec![f64::NAN; block_rows * symbols];
        let (tile_scratch, row_scratch) = (Reused::default(), Reused::default());
        let next = first;
        Engine { plan, symbols, block_rows, next, tiles, rows, result, tile_scratch, row_scratch }
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The bar that comes next.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Bytes that windows, states and slots take.
    #[must_use]
    pub fn memory(&self) -> usize {
        let tiles: usize = self.tiles.iter().map(Tile::memory).sum();
        let rows: usize = self.rows.iter().map(|row| row.capacity() * 8).sum();
        tiles + rows + self.result.capacity() * 8
    }

    /// Takes the next `count` rows of every field, row by row, and gives each output's rows
    /// to `sink` as (output, first bar, rows).
    ///
    /// # Panics
    /// A field does not have `count × symbols` values.
    pub fn push(
        &mut self,
        fields: &[&[f64]],
        count: usize,
        mut sink: impl FnMut(usize, u64, &[f64]),
    ) {
        assert_eq!(fields.len(), self.plan.graph().fields().len(), "fields");
        for field in fields {
            assert_eq!(field.len(), count * self.symbols, "values of a field");
        }
        let mut at = 0;
        while at < count {
            let rows = self.block_rows.min(count - at);
            let range = at * self.symbols..(at + rows) * self.symbols;
            let part: Vec<&[f64]> = fields.iter().map(|field| &field[range.clone()]).collect();
            self.block(&part, rows, &mut sink);
            at += rows;
        }
    }

    fn block(
        &mut self,
        fields: &[&[f64]],
        count: usize,
        sink: &mut impl FnMut(usize, u64, &[f64]),
    ) {
        let parallel = count * self.symbols >= PARALLEL_CELLS;
        for phase in &self.plan.phases {
            match phase {
                Phase::Tiles(steps) => {
                    let (symbols, first) = (self.symbols, self.next);
                    let block = Block { fields, symbols, rows: &self.rows, count, first };
                    let slots = self.plan.scratch_slots;
                    let scratch = || {
                        let mut scratch = self.tile_scratch.take();
                        scratch.resize(slots, Vec::new());
                        scratch
                    };
                    let run = |scratch: &mut Taken<'_, TileScratch>, tile: &mut Tile| {
                        tile.run(steps, block, scratch);
                    };
                    if parallel {
                        self.tiles.par_iter_mut().for_each_init(scratch, run);
                    } else {
                        let mut scratch = scratch();
                        self.tiles.iter_mut().for_each(|tile| run(&mut scratch, tile));
                    }
                }
                Phase::Rows(steps) => {
                    for step in steps {
                        let mut out = std::mem::take(&mut self.rows[step.out as usize]);
                        let (symbols, first) = (self.symbols, self.next);
                        let block = Block { fields, symbols, rows: &self.rows, count, first };
                        let scratch = || self.row_scratch.take();
                        row_step(step, block, &self.tiles, &mut out, parallel, scratch);
                        self.rows[step.out as usize] = out;
                    }
                }
            }
        }
        for (output, &place) in self.plan.results.iter().enumerate() {
            let (symbols, first) = (self.symbols, self.next);
            let block = Block { fields, symbols, rows: &self.rows, count, first };
            let result = &mut self.result[..count * symbols];
            for (row, out) in result.chunks_mut(symbols.max(1)).enumerate() {
                if let Place::Constant(value) = place {
                    out.fill(canonical(value));
                }
                parts(place, row, block, &self.tiles, |at, part| {
                    for (out, &value) in out[at..].iter_mut().zip(part) {
                        *out = canonical(value);
                    }
                });
            }
            sink(output, self.next, result);
        }
        self.next += count as u64;
    }
}

/// Row `row` of a place, all symbols, in parts: each with the first symbol's place. A number
/// has none.
fn parts<'a>(
    place: Place,
    row: usize,
    block: Block<'a>,
    tiles: &'a [Tile],
    mut part: impl FnMut(usize, &'a [f64]),
) {
    let range = row * block.symbols..(row + 1) * block.symbols;
    match place {
        Place::Field(field) => part(0, &block.fields[field as usize][range]),
        Place::Row(slot) => part(0, &block.rows[slot as usize][range]),
        Place::Tile(slot) => {
            for tile in tiles {
                let own = row * tile.width..(row + 1) * tile.width;
                part(tile.from, &tile.slots[slot as usize][own]);
            }
        }
        Place::Constant(_) | Place::Scratch(_) => {}
    }
}

/// Row `row` of a place, all symbols: where it stands, or put together in `room`.
fn whole_row<'a>(
    place: Place,
    row: usize,
    block: Block<'a>,
    tiles: &'a [Tile],
    room: &'a mut Vec<f64>,
) -> &'a [f64] {
    let mut whole = None;
    room.resize(block.symbols, f64::NAN);
    if let Place::Constant(value) = place {
        room.fill(value);
    }
    parts(place, row, block, tiles, |at, part| {
        if part.len() == room.len() {
            whole = Some(part);
        } else {
            room[at..at + part.len()].copy_from_slice(part);
        }
    });
    whole.unwrap_or(room)
}

/// Memory of a row phase's thread.
#[derive(Debug, Default)]
struct RowScratch {
    inputs: [Vec<f64>; 2],
    row: Scratch,
}

fn row_step<'a>(
    step: &RowStep,
    block: Block<'_>,
    tiles: &[Tile],
    out: &mut [f64],
    parallel: bool,
    scratch: impl Fn() -> Taken<'a, RowScratch> + Send + Sync,
) {
    let run = |scratch: &mut Taken<'_, RowScratch>, (row, out): (usize, &mut [f64])| {
        let RowScratch { inputs: [x, groups], row: sorted } = &mut **scratch;
        let input = |at: usize| step.inputs.get(at).copied().unwrap_or(Place::Constant(f64::NAN));
        let x = whole_row(input(0), row, block, tiles, x);
        match step.op {
            Op::Row(op) => row::apply(op, x, out, sorted),
            Op::Group(op) => {
                let groups = whole_row(input(1), row, block, tiles, groups);
                row::apply_group(op, x, groups, out, sorted);
            }
            _ => out.fill(f64::NAN),
        }
    };
    let out = &mut out[..block.count * block.symbols];
    if parallel {
        let rows = out.par_chunks_mut(block.symbols.max(1)).enumerate();
        rows.for_each_init(scratch, run);
    } else {
        let mut scratch = scratch();
        out.chunks_mut(block.symbols.max(1)).enumerate().for_each(|row| run(&mut scratch, row));
    }
}

/// One NaN for all: its sign and bits would depend on the machine.
fn canonical(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

impl Tile {
    fn new(plan: &Plan, from: usize, width: usize, block_rows: usize) -> Tile {
        let state = |op: &Op| match *op {
            Op::Window(window, rows) => TileState::Window(State::one(window, rows, width)),
            Op::Window2(window, rows) => TileState::Window(State::two(window, rows, width)),
            Op::OfRanks(window, rows) => TileState::Window(State::ranks(window, rows, width)),
            Op::Ewm(of, alpha) => TileState::Ewm(ewm::State::new(of, f64::from_bits(alpha), width)),
            _ => TileState::Ewm(ewm::State::default()),
        };
        // A history has the block's rows in it before its first reader comes.
        let history = |&rows: &usize| History::new(rows + block_rows, width);
        Tile {
            from,
            width,
            slots: vec![vec![f64::NAN; block_rows * width]; plan.tile_slots],
            histories: plan.histories.iter().map(history).collect(),
            states: plan.states.iter().map(state).collect(),
        }
    }

    fn memory(&self) -> usize {
        let slots: usize = self.slots.iter().map(|slot| slot.capacity() * 8).sum();
        let histories: usize = self.histories.iter().map(History::memory).sum();
        let state = |state: &TileState| match state {
            TileState::Window(state) => state.memory(),
            TileState::Ewm(state) => state.memory(),
        };
        slots + histories + self.states.iter().map(state).sum::<usize>()
    }

    /// The rows of an input, one of them.
    fn row<'a>(
        &'a self,
        place: Place,
        row: usize,
        block: Block<'a>,
        scratch: &'a [Vec<f64>],
        constant: &'a [f64],
    ) -> &'a [f64] {
        let own = row * self.width..(row + 1) * self.width;
        let start = row * block.symbols + self.from;
        let whole = start..start + self.width;
        match place {
            Place::Field(field) => &block.fields[field as usize][whole],
            Place::Row(slot) => &block.rows[slot as usize][whole],
            Place::Constant(_) => constant,
            Place::Scratch(slot) => &scratch[slot as usize][own],
            Place::Tile(slot) => &self.slots[slot as usize][own],
        }
    }

    fn run(&mut self, steps: &[TileStep], block: Block<'_>, scratch: &mut [Vec<f64>]) {
        for step in steps {
            let mut out = match step.out {
                Some(Place::Scratch(slot)) => std::mem::take(&mut scratch[slot as usize]),
                Some(Place::Tile(slot)) => std::mem::take(&mut self.slots[slot as usize]),
                _ => Vec::new(),
            };
            if step.out.is_some() {
                out.resize((block.count * self.width).max(out.len()), f64::NAN);
            }
            self.step(step, block, scratch, &mut out);
            match step.out {
                Some(Place::Scratch(slot)) => scratch[slot as usize] = out,
                Some(Place::Tile(slot)) => self.slots[slot as usize] = out,
                _ => {}
            }
        }
    }

    fn step(&mut self, step: &TileStep, block: Block<'_>, scratch: &[Vec<f64>], out: &mut [f64]) {
        let width = self.width;
        let constants: Vec<Vec<f64>> = step
            .inputs
            .iter()
            .map(|place| match place {
                Place::Constant(value) => vec![*value; width],
                _ => Vec::new(),
            })
            .collect();
        for row in 0..block.count {
            let ordinal = block.first + row as u64;
            if let Some(op) = &step.op {
                let out = &mut out[row * width..(row + 1) * width];
                if let Some(state) = step.state {
                    self.stateful(step, state, ordinal, row, block, scratch, out);
                } else {
                    let input =
                        |i: usize| self.row(step.inputs[i], row, block, scratch, &constants[i]);
                    match *op {
                        Op::Unary(op) => element::unary(op, input(0), out),
                        Op::Binary(op) => element::binary(op, input(0), input(1), out),
                        Op::Where => element::choose(input(0), input(1), input(2), out),
                        _ => out.fill(f64::NAN),
                    }
                }
                if let Some(keep) = step.keep {
                    self.histories[keep as usize].set(ordinal, out);
                }
            } else if let Some(keep) = step.keep {
                let mut history = std::mem::take(&mut self.histories[keep as usize]);
                history.set(ordinal, self.row(step.inputs[0], row, block, scratch, &constants[0]));
                self.histories[keep as usize] = history;
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one caller, which has them all at hand")]
    fn stateful(
        &mut self,
        step: &TileStep,
        state: u32,
        ordinal: u64,
        row: usize,
        block: Block<'_>,
        scratch: &[Vec<f64>],
        out: &mut [f64],
    ) {
        let mut state_of = std::mem::replace(
            &mut self.states[state as usize],
            TileState::Ewm(ewm::State::default()),
        );
        match &mut state_of {
            TileState::Window(window) => {
                let history = |&at: &u32| &self.histories[at as usize];
                match step.histories.as_slice() {
                    [x] => window.step(&[history(x)], ordinal, out),
                    [x, y] => window.step(&[history(x), history(y)], ordinal, out),
                    [x, n, y, m] => {
                        let inputs = [history(x), history(n), history(y), history(m)];
                        window.step(&inputs, ordinal, out);
                    }
                    _ => out.fill(f64::NAN),
                }
            }
            TileState::Ewm(ewm) => {
                ewm.step(self.row(step.inputs[0], row, block, scratch, &[]), out);
            }
        }
        self.states[state as usize] = state_of;
    }
}

#[cfg(test)]
mod tests;
