//! `load PATH…`: reads files and says how long it took; `--no-header` for bare CSV.
#![allow(clippy::print_stdout, reason = "a command")]

use std::path::PathBuf;
use std::time::Instant;

use cenote_load::{LoadError, Options, Source};

fn main() -> Result<(), LoadError> {
    let (flags, paths): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let paths: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
    let header = !flags.iter().any(|flag| flag == "--no-header");

    let start = Instant::now();
    let source = Source::open(&paths, &Options { header, ..Options::default() })?;
    let (opened, rows) = (start.elapsed(), source.num_rows());
    println!("{} files, {} bytes stored", source.files().len(), source.bytes_total());
    for field in source.schema().fields() {
        println!("  {}: {}", field.name(), field.data_type());
    }
    let mut batches = 0;
    for batch in source.batches() {
        batch?;
        batches += 1;
    }
    let all = start.elapsed().as_secs_f64();
    println!(
        "{rows} rows in {batches} batches, {all:.3} s ({:.3} s to open): {:.0} rows/s",
        opened.as_secs_f64(),
        rows as f64 / all
    );
    Ok(())
}
