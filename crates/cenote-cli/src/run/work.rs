//! The computation: one pass over the panel, whose results go into the pool as they come.

use std::collections::HashMap;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use cenote::{FrameWriter, IfExists, Pool};
use cenote_panel::ic::{Finding, Matrix, Named, Study};
use cenote_panel::{
    Described, Factor, Graph, LeftOut, Library, NodeId, Panel, Plan, Reading, StandIn,
    describe as describe_columns,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::file::{Asked, Ic, of_library};
use super::source::{Given, of_panel};
use crate::failure::Failure;
use crate::interrupt::Interrupt;

const INTERRUPTED: &str = "interrupted: nothing was put";

/// What is computed.
#[derive(Debug, Default)]
pub(super) struct Factors {
    pub(super) factors: Vec<One>,
    pub(super) left_out: Vec<LeftOut>,
    nodes: Vec<NodeId>,
    graph: Graph,
}

/// One of the factors.
#[derive(Debug)]
pub(super) struct One {
    pub(super) name: String,
    pub(super) formula: String,
    pub(super) stand_ins: Vec<StandIn>,
    delay: usize,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) name: String,
    pub(super) version: u64,
    pub(super) ic_version: Option<u64>,
    pub(super) nbytes: u64,
    pub(super) seconds: f64,
    pub(super) operators: usize,
    /// Of each factor, if it was asked for.
    pub(super) findings: Vec<Finding>,
}

/// The name of the frame of ICs beside that of the factors.
pub(super) fn name_of_ic(name: &str) -> String {
    format!("{name}.ic")
}

/// The factors that the file asks for and the panel allows.
///
/// # Errors
/// A formula cannot be read, a name is not there or twice, or nothing is left.
pub(super) fn gather(asked: &Asked, panel: &Panel) -> Result<Factors, Failure> {
    let fields: Vec<&str> = panel.axes().fields.iter().map(String::as_str).collect();
    let mut all = Factors::default();
    if let Some(only) = &asked.only {
        check_only(only, &asked.libraries)?;
    }
    let is_asked = |factor: &&Factor| match &asked.only {
        Some(only) => only.iter().any(|name| factor.name.eq_ignore_ascii_case(name)),
        None => true,
    };
    for library in &asked.libraries {
        let chosen = library.factors().iter().filter(is_asked).collect();
        all.add(library, chosen, &fields)?;
    }
    all.add(&asked.own, asked.own.factors().iter().collect(), &fields)?;
    let mut known = HashMap::new();
    for one in &all.factors {
        if known.insert(&one.name, ()).is_some() {
            let name = &one.name;
            return Err(Failure::new(format!("two factors are named {name:?}"))
                .hint("only = [\"…\"] chooses among the library's; give your own another name"));
        }
    }
    if all.factors.is_empty() {
        let left = all.left_out.len();
        let fields = fields.join(", ");
        return Err(Failure::new(format!(
            "the panel has the fields for none of {left} factors; it has {fields}"
        )));
    }
    Ok(all)
}

fn check_only(only: &[String], libraries: &[Library]) -> Result<(), Failure> {
    for name in only {
        let mut found = libraries.iter().map(|library| library.get(name));
        match found.next() {
            None => {
                return Err(Failure::new("only = […] chooses from library = […]: there is none"));
            }
            Some(Err(error)) if !found.any(|factor| factor.is_ok()) => {
                return Err(of_library(&error));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

impl Factors {
    fn add(
        &mut self,
        library: &Library,
        chosen: Vec<&Factor>,
        fields: &[&str],
    ) -> Result<(), Failure> {
        let reading = Reading::Working;
        let built = library.build(&chosen, fields, reading, &mut self.graph);
        let built = built.map_err(|error| of_library(&error))?;
        let mut nodes = built.factors.into_iter().peekable();
        for factor in chosen {
            let is_own = |(name, _): &(String, NodeId)| *name == factor.name;
            let Some((name, node)) = nodes.next_if(is_own) else { continue };
            self.nodes.push(node);
            self.factors.push(One {
                name,
                formula: factor.formula.clone(),
                stand_ins: library.stand_ins(factor, fields, reading),
                delay: factor.delay as usize,
            });
        }
        self.left_out.extend(built.left_out);
        Ok(())
    }

    pub(super) fn names(&self) -> Vec<Named<'_>> {
        self.factors
            .iter()
            .map(|one| Named { name: &one.name, stand_ins: &one.stand_ins })
            .collect()
    }

    /// The schema of the results: each column says its formula.
    fn schema(&self, schema: &Schema) -> SchemaRef {
        let columns = self.factors.iter().map(|one| Described {
            name: &one.name,
            formula: &one.formula,
            stand_ins: &one.stand_ins,
        });
        describe_columns(schema, &columns.collect::<Vec<_>>())
    }
}

/// Computes all, puts the results, and commits them: the last thing that is done.
///
/// # Errors
/// The pool refuses, or the user has asked to stop; nothing is left then.
pub(super) fn compute(
    asked: &Asked,
    given: &Given,
    factors: &Factors,
    pool: &Pool,
    interrupt: &Interrupt,
    show: bool,
) -> Result<Done, Failure> {
    let failed = |error: cenote::Error| Failure::of_pool(&error);
    let panel = &given.panel;
    let plan = Plan::new(&factors.graph, &factors.nodes);
    let names = factors.factors.iter().map(|one| one.name.clone()).collect();
    let computation = panel.run(&plan, names).map_err(of_panel)?;
    let prices = asked.ic.as_ref().map(|ic| panel.field(&ic.price)).transpose();
    let prices =
        prices.map_err(|error| of_panel(error).hint("price = \"…\" in [ic] names another"))?;
    let mut study = match (&asked.ic, &prices) {
        (Some(ic), Some(prices)) if panel.num_symbols() > 0 => {
            Some(study_of(ic, factors, Matrix::new(prices, panel.num_symbols())))
        }
        _ => None,
    };
    let schema = factors.schema(computation.schema());
    let writer = pool.writer(&asked.name, schema.clone(), if_exists(asked)).map_err(failed)?;
    let mut writer = describe(writer, asked, given);
    let bar = progress(panel.num_times(), show);
    let began = Instant::now();
    for batch in computation {
        interrupt.check(INTERRUPTED)?;
        let batch = batch.map_err(of_panel)?;
        if let Some(study) = &mut study {
            let part = Panel::from_batches(&batch.schema(), [batch.clone()]).map_err(of_panel)?;
            let values = factors.factors.iter().map(|one| part.field(&one.name));
            let values = values.collect::<Result<Vec<_>, _>>().map_err(of_panel)?;
            study.push(&values.iter().map(AsRef::as_ref).collect::<Vec<&[f64]>>());
        }
        let rows = batch.num_rows() as u64;
        let batch = RecordBatch::try_new(schema.clone(), batch.columns().to_vec())
            .map_err(|error| Failure::of(&error))?;
        writer.write(&batch).map_err(failed)?;
        bar.inc(rows);
    }
    let seconds = began.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let findings = study.map(Study::finish).unwrap_or_default();
    let of_ic = match &asked.ic {
        Some(_) => Some(write_ic(asked, given, factors, &findings, pool)?),
        None => None,
    };
    let nbytes = writer.nbytes();
    // From here on the frames are either there or not; Ctrl-C would not say which.
    interrupt.check(INTERRUPTED)?;
    let version = writer.commit().map_err(failed)?;
    let ic_version = of_ic.map(FrameWriter::commit).transpose().map_err(failed)?;
    let (name, operators) = (asked.name.clone(), plan.graph().nodes().len());
    Ok(Done { name, version, ic_version, nbytes, seconds, operators, findings })
}

fn study_of<'a>(ic: &Ic, factors: &Factors, prices: Matrix<'a>) -> Study<'a> {
    let delays = factors.factors.iter().map(|one| ic.delay.unwrap_or(one.delay));
    Study::new(ic.asked.clone(), &delays.collect::<Vec<_>>(), prices)
}

fn write_ic(
    asked: &Asked,
    given: &Given,
    factors: &Factors,
    findings: &[Finding],
    pool: &Pool,
) -> Result<FrameWriter, Failure> {
    let table = cenote_panel::ic::table(&factors.names(), findings);
    let table = table.map_err(|error| Failure::of(&error))?;
    let writer = pool.writer(&name_of_ic(&asked.name), table.schema(), if_exists(asked));
    let writer = writer.map_err(|error| Failure::of_pool(&error))?;
    let mut writer = describe(writer, asked, given);
    writer.write(&table).map_err(|error| Failure::of_pool(&error))?;
    Ok(writer)
}

/// Where it comes from: files, or a version of a frame; and which factors were asked for.
fn describe(writer: FrameWriter, asked: &Asked, given: &Given) -> FrameWriter {
    let mut writer = writer.source(given.source.clone());
    let libraries = asked.libraries.iter().map(|library| library.title().to_owned());
    let own = asked.own.factors().iter();
    let own = own.map(|factor| format!("{} = {}", factor.name, factor.formula));
    let made = writer.made();
    made.files.clone_from(&given.files);
    made.inputs.clone_from(&given.inputs);
    made.expression = libraries.chain(own).collect::<Vec<_>>().join("; ");
    writer
}

fn if_exists(asked: &Asked) -> IfExists {
    if asked.replace { IfExists::Replace } else { IfExists::Fail }
}

fn progress(rows: usize, show: bool) -> ProgressBar {
    let target = if show { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(rows as u64), target);
    let template = "computing {bar:30} {pos} of {len} times, {per_sec}, {eta} left";
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("█▌·"));
    bar
}
