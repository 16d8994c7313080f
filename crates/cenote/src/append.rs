//! More of a frame: what is appended has the frame's columns, and takes the schema as the
//! frame has it.
//!
//! The pool compares schemas by their bytes, and knows no Arrow. So the writer brings the
//! frame's own bytes, and it is here that types are compared and said.

use arrow_schema::{Schema, SchemaRef};
use cenote_arrow::{decode_schema, encode_schema};
use cenote_pool::manifest::schema_of;
use cenote_pool::message::{Refusal, Request, Response, Which};
use cenote_pool::protocol::heads::hash_name;
use cenote_pool::protocol::lease::{self, HeadMiss};

use crate::error::{Contradiction, Error};
use crate::link::unexpected;
use crate::open::{damaged, manifest_bytes, pin};
use crate::session::Session;

/// How often a name may move while its schema is read.
const TRIES_MAX: usize = 1000;

/// The schema with which `schema` is appended to a name, also as its bytes: the frame's own, if
/// there is one.
pub(crate) fn schema_to_append(
    session: &Session,
    name: &str,
    schema: SchemaRef,
) -> Result<(Vec<u8>, SchemaRef), Error> {
    let Some((bytes, known)) = schema_now(session, name)? else {
        return Ok((encode_schema(&schema)?, schema));
    };
    compare(name, &known, &schema)?;
    Ok((bytes, known))
}

/// The schema of a name's current version, also as its bytes; `None`: there is no such name.
/// Reads the head of one manifest, however many parts the version has.
fn schema_now(session: &Session, name: &str) -> Result<Option<(Vec<u8>, SchemaRef)>, Error> {
    let mut slots = Vec::with_capacity(1);
    session.slots(1, &mut slots)?;
    let found = read_schema(session, name, slots[0]);
    session.leases.give(&slots);
    found
}

fn read_schema(
    session: &Session,
    name: &str,
    slot: u32,
) -> Result<Option<(Vec<u8>, SchemaRef)>, Error> {
    for _ in 0..TRIES_MAX {
        let (heads, page) = (session.heads(), &session.leases.page);
        let found = lease::acquire_head(&session.board, &heads, page, name, hash_name(name), slot);
        let location = match found {
            Ok(head) => head.location,
            Err(HeadMiss::NewTable) => {
                session.renew_heads()?;
                continue;
            }
            Err(HeadMiss::Absent | HeadMiss::AskPool) => {
                let (name, which) = (name.to_owned(), Which::Current);
                match session.call(&Request::Find { name, which }) {
                    Ok(Response::Manifest { entry, generation, .. }) => {
                        match pin(session, entry, generation, slot) {
                            Ok(location) => location,
                            Err(Error::Refused(Refusal::VersionGone)) => continue,
                            Err(error) => return Err(error),
                        }
                    }
                    Ok(other) => return Err(unexpected(&other)),
                    Err(Error::Refused(Refusal::NotFound { .. })) => return Ok(None),
                    Err(error) => return Err(error),
                }
            }
        };
        let wrong = |error: Contradiction| damaged(name, 0, &error);
        let mapping = session.map(&location.place)?;
        let bytes = manifest_bytes(name, &mapping, &location)?;
        let bytes = schema_of(bytes).map_err(|error| wrong(error.into()))?;
        let schema = decode_schema(bytes).map_err(|error| wrong(error.into()))?;
        return Ok(Some((bytes.to_vec(), schema.into())));
    }
    Err(damaged(name, 0, &"its name cannot be read"))
}

/// Whether what has the schema `new` can be appended to `frame`, which has `known`.
///
/// # Errors
/// [`Error::Append`], with the first column that differs.
fn compare(frame: &str, known: &Schema, new: &Schema) -> Result<(), Error> {
    let of = |schema: &Schema, at: usize| {
        schema.fields().get(at).map(|field| {
            let nulls = if field.is_nullable() { "" } else { ", never null" };
            Box::new((field.name().clone(), format!("{}{nulls}", field.data_type())))
        })
    };
    for at in 0..known.fields().len().max(new.fields().len()) {
        let same = match (known.fields().get(at), new.fields().get(at)) {
            (Some(known), Some(new)) => {
                known.name() == new.name()
                    && known.data_type() == new.data_type()
                    && (known.is_nullable() || !new.is_nullable())
            }
            _ => false,
        };
        if !same {
            let frame = frame.to_owned();
            return Err(Error::Append { frame, at, found: of(new, at), expected: of(known, at) });
        }
    }
    Ok(())
}
