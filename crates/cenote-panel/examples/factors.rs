//! Computes the factors of a file over a panel of raw matrices.
//!
//! `cargo run --release -p cenote-panel --example factors -- FILE FIELDS_DIR OUT_DIR`
//!
//! FILE is `alpha101`, `standard` or a TOML file. FIELDS_DIR holds `shape` ("ROWS SYMBOLS") and
//! one `NAME.f64` a field: doubles, little-endian, row by row, NaN where missing. OUT_DIR gets
//! one such file a factor. What is left out, and why, is printed.

#![allow(clippy::print_stdout, reason = "its output")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use cenote_panel::{Engine, Factor, Graph, Library, NodeId, Plan, Reading};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, fields, out] = args.as_slice() else {
        return Err("usage: factors FILE FIELDS_DIR OUT_DIR".into());
    };
    let library = match file.as_str() {
        "alpha101" => Library::alpha101()?,
        "standard" => Library::standard()?,
        path => Library::read(Path::new(path))?,
    };
    let (rows, symbols) = shape(&Path::new(fields).join("shape"))?;
    let names = names(Path::new(fields))?;
    let panel: Vec<&str> = names.iter().map(String::as_str).collect();
    let all: Vec<&Factor> = library.factors().iter().collect();
    let mut graph = Graph::new();
    let built = library.build(&all, &panel, Reading::Working, &mut graph)?;
    for left in &built.left_out {
        println!("left out: {}: needs {}", left.name, left.missing.join(", "));
    }
    let outputs: Vec<NodeId> = built.factors.iter().map(|(_, node)| *node).collect();
    let plan = Plan::new(&graph, &outputs);
    println!("{} factors, {} nodes", outputs.len(), plan.graph().nodes().len());
    let read = |field: &String| matrix(&Path::new(fields).join(format!("{field}.f64")));
    let inputs: Vec<Vec<f64>> = plan.graph().fields().iter().map(read).collect::<Result<_, _>>()?;
    if let Some(wrong) = inputs.iter().position(|input| input.len() != rows * symbols) {
        return Err(format!("{}.f64 is not of that shape", plan.graph().fields()[wrong]).into());
    }
    let inputs: Vec<&[f64]> = inputs.iter().map(Vec::as_slice).collect();
    let mut results = vec![Vec::with_capacity(rows * symbols * 8); outputs.len()];
    Engine::new(plan, symbols, 0).push(&inputs, rows, |output, _, values| {
        results[output].extend(values.iter().flat_map(|value| value.to_le_bytes()));
    });
    fs::create_dir_all(out)?;
    for ((name, _), result) in built.factors.iter().zip(results) {
        fs::write(Path::new(out).join(format!("{name}.f64")), result)?;
    }
    Ok(())
}

fn shape(path: &Path) -> Result<(usize, usize), Box<dyn Error>> {
    let text = fs::read_to_string(path)?;
    let mut numbers = text.split_whitespace().map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(rows), Some(symbols)) => Ok((rows?, symbols?)),
        _ => Err("shape holds ROWS and SYMBOLS".into()),
    }
}

/// The fields that are there.
fn names(folder: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        if path.extension().is_some_and(|extension| extension == "f64") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn matrix(path: &Path) -> Result<Vec<f64>, Box<dyn Error>> {
    let bytes = fs::read(path)?;
    let (values, _) = bytes.as_chunks::<8>();
    Ok(values.iter().map(|value| f64::from_le_bytes(*value)).collect())
}
