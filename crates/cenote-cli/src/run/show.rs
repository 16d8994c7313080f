//! What a run says at its end.

use std::collections::BTreeMap;

use cenote::ByteSize;
use serde_json::{Value, json};

use super::source::Given;
use super::work::{Done, Factors, name_of_ic};
use crate::output::note;
use crate::table::{Align, Table, count};

/// A table of the factors, and a line of what was done.
pub(super) fn text(done: &Done, factors: &Factors, given: &Given) -> String {
    let table =
        if done.findings.is_empty() { formulas(factors) } else { coefficients(done, factors) };
    let axes = (given.panel.num_times() as u64, given.panel.num_symbols() as u64);
    #[expect(clippy::cast_precision_loss, reason = "a rate, shown with two digits")]
    let rate =
        (axes.0 * axes.1 * factors.factors.len() as u64) as f64 / done.seconds.max(1e-9) / 1e6;
    let mut text = table.render(None);
    text += &format!(
        "\n{} v{}: {} x {} x {}, {} in {:.2} s, {rate:.2} M values/s, {}\n",
        done.name,
        done.version,
        count(factors.factors.len() as u64, "factor"),
        count(axes.0, "time"),
        count(axes.1, "symbol"),
        ByteSize(done.nbytes),
        done.seconds,
        count(done.operators as u64, "operator"),
    );
    if let Some(version) = done.ic_version {
        text += &format!("{} v{version}: the table above, and more\n", name_of_ic(&done.name));
    }
    text
}

fn formulas(factors: &Factors) -> Table {
    let mut table = Table::new([("factor", Align::Left), ("formula", Align::Left)]);
    for one in &factors.factors {
        table.row(vec![one.name.clone(), one.formula.clone()]);
    }
    table
}

fn coefficients(done: &Done, factors: &Factors) -> Table {
    let mut table = Table::new([
        ("factor", Align::Left),
        ("rows", Align::Right),
        ("mean IC", Align::Right),
        ("std", Align::Right),
        ("ICIR", Align::Right),
        ("t (NW)", Align::Right),
        ("> 0", Align::Right),
        ("coverage", Align::Right),
        ("turnover", Align::Right),
        ("spread bp", Align::Right),
        ("stands in", Align::Left),
    ]);
    for (one, finding) in factors.factors.iter().zip(&done.findings) {
        let stand_ins: Vec<&str> = one.stand_ins.iter().map(|(field, _)| *field).collect();
        for foretold in &finding.horizons {
            let summary = &foretold.summary;
            table.row(vec![
                one.name.clone(),
                foretold.horizon.to_string(),
                signed(summary.mean, 4),
                plain(summary.std, 3),
                signed(summary.ratio, 2),
                signed(summary.t_newey_west, 2),
                share(summary.positive),
                share(finding.coverage),
                share(foretold.turnover()),
                signed(foretold.spread() * 1e4, 1),
                stand_ins.join(", "),
            ]);
        }
    }
    table
}

/// What is to be known beside the table, on stderr.
pub(super) fn notes(done: &Done, factors: &Factors) {
    let mut stand_ins = BTreeMap::new();
    for (field, formula) in factors.factors.iter().flat_map(|one| &one.stand_ins) {
        *stand_ins.entry((*field, *formula)).or_insert(0u64) += 1;
    }
    for ((field, formula), number) in stand_ins {
        let number = count(number, "factor");
        note(&format!("{field} is not in the panel: {formula} stands in for it in {number}"));
    }
    let mut missing: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for left in &factors.left_out {
        missing.entry(left.missing.join(", ")).or_default().push(&left.name);
    }
    for (fields, names) in missing {
        note(&format!("left out for want of {fields}: {}", names.join(", ")));
    }
    let constant = factors.factors.iter().zip(&done.findings);
    let constant = constant.filter(|(_, finding)| finding.is_nearly_constant());
    let constant: Vec<&str> = constant.map(|(one, _)| one.name.as_str()).collect();
    if !constant.is_empty() {
        note(&format!("nearly constant, no factors: {}", constant.join(", ")));
    }
}

/// The same for programs.
pub(super) fn json(done: &Done, factors: &Factors, given: &Given) -> Value {
    let mut rows = Vec::new();
    for (at, one) in factors.factors.iter().enumerate() {
        let stand_ins: Vec<&str> = one.stand_ins.iter().map(|(field, _)| *field).collect();
        let finding = done.findings.get(at);
        let foretold = finding.iter().flat_map(|finding| &finding.horizons);
        let ic: Vec<Value> = foretold
            .map(|foretold| {
                let summary = &foretold.summary;
                json!({
                    "horizon": foretold.horizon, "dates": summary.dates,
                    // What is no number is null.
                    "mean": summary.mean, "std": summary.std, "icir": summary.ratio,
                    "t": summary.t, "t_newey_west": summary.t_newey_west,
                    "positive": summary.positive, "turnover": foretold.turnover(),
                    "autocorrelation": foretold.autocorrelation, "spread": foretold.spread(),
                    "returns": foretold.quantiles.returns,
                })
            })
            .collect();
        rows.push(json!({
            "factor": one.name, "formula": one.formula, "stand_ins": stand_ins, "ic": ic,
            "coverage": finding.map(|finding| finding.coverage),
            "nearly_constant": finding.map(cenote_panel::ic::Finding::is_nearly_constant),
        }));
    }
    let left_out: BTreeMap<&str, &[String]> =
        factors.left_out.iter().map(|left| (left.name.as_str(), &left.missing[..])).collect();
    json!({
        "name": done.name, "version": done.version, "ic_version": done.ic_version,
        "num_times": given.panel.num_times(), "num_symbols": given.panel.num_symbols(),
        "nbytes": done.nbytes, "seconds": done.seconds, "factors": rows, "left_out": left_out,
    })
}

fn plain(x: f64, digits: usize) -> String {
    if x.is_nan() { "–".to_owned() } else { format!("{x:.digits$}") }
}

fn signed(x: f64, digits: usize) -> String {
    if x.is_nan() { "–".to_owned() } else { format!("{x:+.digits$}") }
}

fn share(x: f64) -> String {
    if x.is_nan() { "–".to_owned() } else { format!("{:.0}%", x * 100.0) }
}
