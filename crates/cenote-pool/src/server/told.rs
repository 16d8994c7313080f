//! What the log is told of a request and its answer: at the socket, where no lock is held that
//! a reader of the log could keep.

use std::time::{Duration, Instant};

use tracing::{debug, info};

use crate::id::SessionId;
use crate::message::{Refusal, Request, Response};

/// A client's lack of room is told so often.
const REFUSED_EVERY: Duration = Duration::from_secs(10);

/// A request, in words; `None` for those that nobody looks for, and where nobody listens.
pub(super) fn words(request: &Request) -> Option<String> {
    if !tracing::enabled!(tracing::Level::INFO) {
        return None;
    }
    Some(match request {
        Request::Commit(commit) => {
            let bytes: u64 = commit.chunks.iter().map(|chunk| chunk.place.length).sum();
            format!("commit {:?}: {} chunks, {bytes} bytes", commit.name, commit.chunks.len())
        }
        Request::Drop { name, .. } => format!("drop {name:?}"),
        Request::Rename { from, to, .. } => format!("rename {from:?} to {to:?}"),
        Request::Arena { bytes, .. } => format!("{bytes} bytes"),
        Request::Grow { to, .. } => format!("an arena of {to} bytes"),
        Request::Evict { session } => format!("end client {session}"),
        Request::Stop => "stop".to_owned(),
        _ => return None,
    })
}

/// What came of it. `refused` is when the client was last told of a lack of room: one that
/// waits asks many times a second.
pub(super) fn tell(
    session: Option<SessionId>,
    words: Option<&str>,
    response: &Response,
    refused: &mut Option<Instant>,
) {
    let session = session.unwrap_or(SessionId::NONE);
    let lately = refused.is_some_and(|last| last.elapsed() <= REFUSED_EVERY);
    match (words, response) {
        (words, Response::Refused(refusal @ Refusal::Exhausted { .. })) if !lately => {
            *refused = Some(Instant::now());
            info!(%session, "refused {}: {refusal}", words.unwrap_or("a request"));
        }
        (words, Response::Refused(refusal)) => {
            debug!(%session, "refused {}: {refusal}", words.unwrap_or("a request"));
        }
        (Some(words @ "stop"), _) => info!(%session, "{words}"),
        (Some(words), Response::Committed { version }) => debug!(%session, version, "{words}"),
        (Some(words), Response::Done) => debug!(%session, "{words}"),
        _ => {}
    }
}
