//! What a column of results says of itself, in its field's metadata: its formula, and what stood
//! in for fields that the panel lacked. So a figure of it can say so, too, wherever it is stored.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};

use crate::formula::{StandIn, estimates};

/// The key of a field's metadata under which its formula is.
const FORMULA: &str = "cenote.formula";
/// The key of what stood in: `name = formula`, several apart by `; `.
const STAND_INS: &str = "cenote.stand_ins";

/// What a column is.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its formula, or nothing.
    pub formula: &'a str,
    /// What it reads in place of fields that the panel lacked.
    pub stand_ins: &'a [StandIn],
}

/// A schema whose columns say what they are.
#[must_use]
pub fn describe(schema: &Schema, columns: &[Described<'_>]) -> SchemaRef {
    let known: HashMap<&str, &Described<'_>> = columns.iter().map(|one| (one.name, one)).collect();
    let described = |field: &Arc<Field>| {
        let Some(one) = known.get(field.name().as_str()) else { return Arc::clone(field) };
        let mut metadata = field.metadata().clone();
        if !one.formula.is_empty() {
            metadata.insert(FORMULA.to_owned(), one.formula.to_owned());
        }
        if !one.stand_ins.is_empty() {
            let all: Vec<String> = one.stand_ins.iter().map(text).collect();
            metadata.insert(STAND_INS.to_owned(), all.join("; "));
        }
        Arc::new(field.as_ref().clone().with_metadata(metadata))
    };
    let fields: Vec<Arc<Field>> = schema.fields().iter().map(described).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// What stood in for fields where a column was computed.
#[must_use]
pub fn stood_in(field: &Field) -> Vec<StandIn> {
    let told = field.metadata().get(STAND_INS).map_or("", String::as_str);
    let is_told = |one: &StandIn| told.split("; ").any(|part| part == text(one));
    estimates().iter().copied().filter(is_told).collect()
}

fn text((name, formula): &StandIn) -> String {
    format!("{name} = {formula}")
}
