//! The information coefficient of one raw matrix against the returns of another.
//!
//! `cargo run --release -p cenote-panel --example ic -- FACTOR PRICES SYMBOLS DELAY HORIZON OUT`
//!
//! FACTOR and PRICES are doubles, little-endian, row by row, NaN where missing. OUT gets the IC of
//! each row, in the same form; what is said of it is printed, a name and a number a line.

#![allow(clippy::print_stdout, reason = "its output")]

use std::error::Error;
use std::fs;

use cenote_panel::ic::{self, Matrix, Trade};

const BINS: u32 = 5;
const LEAST: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [factor, prices, symbols, delay, horizon, out] = args.as_slice() else {
        return Err("usage: ic FACTOR PRICES SYMBOLS DELAY HORIZON OUT".into());
    };
    let (factor, prices, symbols) = (read(factor)?, read(prices)?, symbols.parse()?);
    let trade = Trade { delay: delay.parse()?, horizon: horizon.parse()? };
    let (factor, prices) = (Matrix::new(&factor, symbols), Matrix::new(&prices, symbols));
    let returns = ic::forward_returns(prices, trade);
    let returns = Matrix::new(&returns, symbols);
    let series = ic::ic(factor, returns, LEAST);
    fs::write(out, series.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())?;
    let summary = ic::summary(&series, trade.horizon);
    println!("dates {}", summary.dates);
    println!("mean {}", summary.mean);
    println!("std {}", summary.std);
    println!("ratio {}", summary.ratio);
    println!("t {}", summary.t);
    println!("t_newey_west {}", summary.t_newey_west);
    println!("positive {}", summary.positive);
    println!("coverage {}", ic::summary(&ic::coverage(factor, prices), 1).mean);
    let stays = ic::rank_autocorrelation(factor, 1, LEAST);
    println!("autocorrelation {}", ic::summary(&stays, 1).mean);
    let bins = ic::quantiles(factor, returns, BINS, 1);
    for (bin, (mean, turnover)) in (1..).zip(bins.returns.iter().zip(&bins.turnover)) {
        println!("return_{bin} {mean}");
        println!("turnover_{bin} {turnover}");
    }
    println!("spread {}", ic::summary(&bins.spread, 1).mean);
    let distinct = ic::distinct(factor, BINS as usize);
    println!("few {}", distinct.few);
    println!("commonest {}", distinct.commonest);
    Ok(())
}

fn read(path: &str) -> Result<Vec<f64>, Box<dyn Error>> {
    let bytes = fs::read(path)?;
    let (values, _) = bytes.as_chunks::<8>();
    Ok(values.iter().map(|value| f64::from_le_bytes(*value)).collect())
}
