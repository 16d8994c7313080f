//! An IC as people read it.

use std::collections::BTreeMap;

use super::IC;

/// Lines of a table that are shown.
const LINES_MAX: usize = 40;

/// The table in short, and what stands in for fields that the panel lacked.
pub(super) fn table(ic: &IC) -> String {
    let longest = ic.outputs.iter().map(|output| output.name.len()).max().unwrap_or(0).max(6);
    let mut text = format!(
        "{:<longest$}  {:>4}  {:>7}  {:>6}  {:>6}  {:>6}  {:>5}  {:>5}  {:>5}  {:>8}\n",
        "factor", "rows", "mean IC", "std", "ICIR", "t(NW)", "> 0", "cover", "turn", "spread"
    );
    for (output, finding, foretold) in ic.each().take(LINES_MAX) {
        let summary = &foretold.summary;
        text += &format!(
            "{:<longest$}  {:>4}  {:>7}  {:>6}  {:>6}  {:>6}  {:>5}  {:>5}  {:>5}  {:>8}{}\n",
            output.name,
            foretold.horizon,
            signed(summary.mean, 4),
            plain(summary.std, 3),
            signed(summary.ratio, 2),
            signed(summary.t_newey_west, 2),
            share(summary.positive),
            share(finding.coverage),
            share(foretold.turnover()),
            signed(foretold.spread() * 1e4, 1),
            if finding.is_nearly_constant() { "  nearly constant" } else { "" },
        );
    }
    let hidden = ic.each().count().saturating_sub(LINES_MAX);
    if hidden > 0 {
        text += &format!("… {hidden} more: to_pandas() has all\n");
    }
    text += "rows: from entry to exit; spread: highest less lowest bin, in 1/10,000 of a return";
    let mut stand_ins: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for (field, formula) in ic.outputs.iter().flat_map(|output| &output.stand_ins) {
        stand_ins.entry(field).or_insert((formula, 0)).1 += 1;
    }
    for (field, (formula, count)) in stand_ins {
        text +=
            &format!("\n{field} is not in the panel: {formula} stands in for it, in {count} of ");
        text += &format!("{} factors", ic.outputs.len());
    }
    text
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
