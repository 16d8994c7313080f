//! What was found of factors, as one table: a row for each factor and horizon. What cannot be
//! said is null.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;

use super::{Finding, Foretold};
use crate::formula::StandIn;

/// Whose finding it is.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The factor's name.
    pub name: &'a str,
    /// What it reads in place of fields that the panel lacks.
    pub stand_ins: &'a [StandIn],
}

/// The table of `findings`, which belong to `factors` one by one.
///
/// # Errors
/// Arrow's, which would be a fault of this function.
pub fn table(factors: &[Named<'_>], findings: &[Finding]) -> Result<RecordBatch, ArrowError> {
    let each: Vec<Line<'_>> = factors
        .iter()
        .zip(findings)
        .flat_map(|(&named, finding)| {
            finding.horizons.iter().map(move |foretold| Line { named, finding, foretold })
        })
        .collect();
    let bins = each.first().map_or(0, |line| line.foretold.quantiles.returns.len());
    let counts = |of: &dyn Fn(&Line<'_>) -> usize| -> ArrayRef {
        let values = each.iter().map(|line| i64::try_from(of(line)).unwrap_or(i64::MAX));
        Arc::new(Int64Array::from_iter_values(values))
    };
    let numbers = |of: &dyn Fn(&Line<'_>) -> f64| -> ArrayRef {
        let values = each.iter().map(of).map(|x| (!x.is_nan()).then_some(x));
        Arc::new(values.collect::<Float64Array>())
    };
    let names = each.iter().map(|line| line.named.name);
    let stand_ins = each.iter().map(|line| {
        line.named.stand_ins.iter().map(|(field, _)| *field).collect::<Vec<_>>().join(", ")
    });
    let constant = each.iter().map(|line| Some(line.finding.is_nearly_constant()));
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("factor".into(), Arc::new(StringArray::from_iter_values(names))),
        ("horizon".into(), counts(&|line| line.foretold.horizon)),
        ("delay".into(), counts(&|line| line.finding.delay)),
        ("dates".into(), counts(&|line| line.foretold.summary.dates)),
        ("mean".into(), numbers(&|line| line.foretold.summary.mean)),
        ("std".into(), numbers(&|line| line.foretold.summary.std)),
        ("icir".into(), numbers(&|line| line.foretold.summary.ratio)),
        ("t".into(), numbers(&|line| line.foretold.summary.t)),
        ("t_newey_west".into(), numbers(&|line| line.foretold.summary.t_newey_west)),
        ("positive".into(), numbers(&|line| line.foretold.summary.positive)),
        ("coverage".into(), numbers(&|line| line.finding.coverage)),
        ("autocorrelation".into(), numbers(&|line| line.foretold.autocorrelation)),
        ("turnover".into(), numbers(&|line| line.foretold.turnover())),
        ("spread".into(), numbers(&|line| line.foretold.spread())),
    ];
    for bin in 0..bins {
        let of = |line: &Line<'_>| line.foretold.quantiles.returns[bin];
        columns.push((format!("return_{}", bin + 1), numbers(&of)));
    }
    for bin in 0..bins {
        let of = |line: &Line<'_>| line.foretold.quantiles.turnover[bin];
        columns.push((format!("turnover_{}", bin + 1), numbers(&of)));
    }
    columns.push(("commonest".into(), numbers(&|line| line.finding.distinct.commonest)));
    columns.push(("nearly_constant".into(), Arc::new(constant.collect::<BooleanArray>())));
    columns.push(("stand_ins".into(), Arc::new(StringArray::from_iter_values(stand_ins))));
    RecordBatch::try_from_iter(columns)
}

/// A row of it.
struct Line<'a> {
    named: Named<'a>,
    finding: &'a Finding,
    foretold: &'a Foretold,
}
