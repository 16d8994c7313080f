//! `load PATH…`: reads files and says how long it took; `--no-header` for bare CSV,
//! `--times=N` to do it again.
#![allow(clippy::print_stdout, reason = "a command")]

use std::path::PathBuf;
use std::time::Instant;

use cenote_load::{LoadError, Meter, Options, Source};

fn main() -> Result<(), LoadError> {
    let (flags, paths): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let paths: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
    let header = !flags.iter().any(|flag| flag == "--no-header");
    let times = flags.iter().find_map(|flag| flag.strip_prefix("--times=")?.parse().ok());

    for time in 0..times.unwrap_or(1) {
        let start = Instant::now();
        let options = Options { header, ..Options::default() };
        let source = Source::begin(&paths, &options, &Meter::new())?;
        let begun = start.elapsed().as_secs_f64();
        if time == 0 {
            println!("{} files, {} bytes stored", source.files().len(), source.bytes_total());
        }
        let (rows, batches, schema) = source.load(|schema, all| {
            let (mut rows, mut batches) = (0, 0);
            for batch in all {
                rows += batch?.num_rows();
                batches += 1;
            }
            Ok::<_, LoadError>((rows, batches, schema))
        })?;
        let all = start.elapsed().as_secs_f64();
        if time == 0 {
            for field in schema.fields() {
                println!("  {}: {}", field.name(), field.data_type());
            }
        }
        println!(
            "{rows} rows in {batches} batches, {all:.3} s ({begun:.3} s to begin): {:.0} rows/s",
            rows as f64 / all
        );
    }
    Ok(())
}
