//! The panel that a run is over: of files or of a frame, long, wide, or a panel already.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use cenote::{Input, Pool, SourceFile};
use cenote_load::{Options, Source};
use cenote_panel::{METADATA, Panel, PanelError, Pivot, Wide};

use super::file::{Asked, PanelSource};
use crate::failure::Failure;
use crate::output;
use crate::put::{source_file, watch::Watch};

/// A panel, and where it comes from.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) panel: Panel,
    pub(super) files: Vec<SourceFile>,
    pub(super) inputs: Vec<Input>,
    /// In a few words.
    pub(super) source: String,
}

/// Reads what the file names.
///
/// # Errors
/// It cannot be read, or is no panel; the user has asked to stop.
pub(super) fn panel(asked: &Asked, pool: &Pool, watch: &Watch) -> Result<Given, Failure> {
    match &asked.panel {
        PanelSource::Frame(name) => {
            let frame = pool.get(name).map_err(|error| Failure::of_pool(&error))?;
            let batches = frame.batches().map_err(|error| Failure::of_pool(&error))?;
            let input = Input { name: name.clone(), version: frame.version() };
            let source = format!("{name} v{}", input.version);
            let panel = of_table(asked, frame.schema(), batches)?;
            Ok(Given { panel, files: Vec::new(), inputs: vec![input], source })
        }
        PanelSource::Files(paths) => {
            let (schema, batches, files) = load(paths, watch)?;
            let source: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            let panel = of_table(asked, &schema, batches)?;
            Ok(Given { panel, files, inputs: Vec::new(), source: source.join(", ") })
        }
        PanelSource::Wide(fields) => {
            let (mut tables, mut files, mut source) = (Vec::new(), Vec::new(), Vec::new());
            for (field, path) in fields {
                let (schema, batches, of) = load(std::slice::from_ref(path), watch)?;
                tables.push((field.clone(), schema.as_ref().clone(), batches));
                files.extend(of);
                source.push(path.display().to_string());
            }
            let panel = Wide { time: asked.time.clone() }.run(tables).map_err(of_panel)?;
            Ok(Given { panel, files, inputs: Vec::new(), source: source.join(", ") })
        }
    }
}

/// A fault of a panel.
pub(super) fn of_panel(error: PanelError) -> Failure {
    let failure = Failure::of(&error);
    match error {
        PanelError::NoTime { .. } => failure.hint("time = \"…\" in [panel] names it"),
        _ => failure,
    }
}

fn of_table(
    asked: &Asked,
    schema: &SchemaRef,
    batches: Vec<RecordBatch>,
) -> Result<Panel, Failure> {
    if schema.metadata().contains_key(METADATA) {
        return Panel::from_batches(schema, batches).map_err(of_panel);
    }
    let (Some(time), Some(symbol)) = (&asked.time, &asked.symbol) else {
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        return Err(Failure::new(format!("which columns are the times and the symbols? there are {}", names.join(", ")))
            .hint("time = \"…\" and symbol = \"…\" in [panel] say it; wide = { … } is for a column a symbol"));
    };
    let pivot = Pivot { time: time.clone(), symbol: symbol.clone(), fields: asked.fields.clone() };
    pivot.run(&batches).map_err(of_panel)
}

type Loaded = (SchemaRef, Vec<RecordBatch>, Vec<SourceFile>);

fn load(paths: &[PathBuf], watch: &Watch) -> Result<Loaded, Failure> {
    let ended = |failure: Failure| watch.check().err().unwrap_or(failure);
    let source = Source::begin(paths, &Options::default(), watch.meter())
        .map_err(|error| ended(Failure::of(&error)))?;
    let files = source.files().iter().map(source_file).collect();
    // Called again where a late value asks for a wider type.
    let (schema, batches) = source
        .load(|schema, batches| {
            let all: Result<Vec<_>, _> = batches.collect();
            all.map(|all| (schema, all)).map_err(Failure::from)
        })
        .map_err(ended)?;
    watch.check()?;
    watch.meter().notices().iter().for_each(|notice| output::note(&notice.to_string()));
    Ok((schema, batches, files))
}
