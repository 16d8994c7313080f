//! Changes of names: drop, rename, what is kept, tags.

use super::change::{done_before, finish, now_ns, refusal};
use super::find::{no_version, not_found};
use super::{Core, Pool};
use crate::change::{KEEP_MAX, TAGS_MAX};
use crate::id::SessionId;
use crate::message::{Refusal, Response, check_name};
use crate::row::Keep;

impl Pool {
    pub(super) fn drop_frame(
        &self,
        session: SessionId,
        sequence: u64,
        name: &str,
    ) -> Result<Response, Refusal> {
        self.change_names(session, sequence, |core| {
            let outcome = core.ledger.drop_name(&mut core.estate, name);
            outcome.map_err(|error| refusal(self, core, error, "drop the frame"))?;
            core.lost.retain(|(lost, _), _| lost != name);
            Ok(Response::Done)
        })
    }

    pub(super) fn rename(
        &self,
        session: SessionId,
        sequence: u64,
        from: &str,
        to: &str,
    ) -> Result<Response, Refusal> {
        check_name(to)?;
        let mut core = self.lock();
        let core = &mut *core;
        if done_before(core, session, sequence)? {
            return Ok(Response::Done);
        }
        core.estate.request = (session, sequence);
        let outcome = core.ledger.rename(&mut core.estate, from, to);
        outcome.map_err(|error| refusal(self, core, error, "rename the frame"))?;
        core.lost.retain(|(lost, _), _| lost != to);
        for ((name, version), why) in std::mem::take(&mut core.lost) {
            let name = if name == from { to.to_owned() } else { name };
            core.lost.insert((name, version), why);
        }
        finish(core, session, sequence);
        Ok(Response::Done)
    }

    pub(super) fn set_keep(
        &self,
        session: SessionId,
        sequence: u64,
        name: &str,
        keep: Keep,
    ) -> Result<Response, Refusal> {
        if !(1..=KEEP_MAX).contains(&keep.versions) {
            let (what, used) = ("kept versions".to_owned(), u64::from(keep.versions));
            return Err(Refusal::Bound { what, used, room: u64::from(KEEP_MAX) });
        }
        self.change_names(session, sequence, |core| {
            let outcome = core.ledger.keep(&mut core.estate, name, keep, now_ns());
            outcome.map_err(|error| refusal(self, core, error, "change what is kept"))?;
            Ok(Response::Done)
        })
    }

    /// `tag` is `version`'s from now on, or the current one's.
    pub(super) fn tag(
        &self,
        session: SessionId,
        sequence: u64,
        (name, tag): (&str, &str),
        version: Option<u64>,
    ) -> Result<Response, Refusal> {
        check_name(tag)?;
        self.change_names(session, sequence, |core| {
            let record = core.ledger.record(name).ok_or_else(|| not_found(core, name))?;
            let version = version.unwrap_or(record.settings.current);
            if core.ledger.held(name, version).is_none() {
                return Err(no_version(core, name, format!("version {version}")));
            }
            let tags = &record.settings.tags;
            if tags.len() >= TAGS_MAX && !tags.contains_key(tag) {
                let (what, used) = ("tags of one frame".to_owned(), tags.len() as u64);
                return Err(Refusal::Bound { what, used, room: TAGS_MAX as u64 });
            }
            let outcome = core.ledger.tag(&mut core.estate, name, tag, Some(version), now_ns());
            outcome.map_err(|error| refusal(self, core, error, "tag the version"))?;
            Ok(Response::Committed { version })
        })
    }

    pub(super) fn untag(
        &self,
        session: SessionId,
        sequence: u64,
        (name, tag): (&str, &str),
    ) -> Result<Response, Refusal> {
        self.change_names(session, sequence, |core| {
            let record = core.ledger.record(name).ok_or_else(|| not_found(core, name))?;
            if !record.settings.tags.contains_key(tag) {
                return Err(no_version(core, name, format!("tag {tag:?}")));
            }
            let outcome = core.ledger.tag(&mut core.estate, name, tag, None, now_ns());
            outcome.map_err(|error| refusal(self, core, error, "take the tag away"))?;
            Ok(Response::Done)
        })
    }

    pub(super) fn drop_version(
        &self,
        session: SessionId,
        sequence: u64,
        name: &str,
        version: u64,
    ) -> Result<Response, Refusal> {
        self.change_names(session, sequence, |core| {
            let record = core.ledger.record(name).ok_or_else(|| not_found(core, name))?;
            if record.row(version).is_none() {
                return Err(no_version(core, name, format!("version {version}")));
            }
            let tag = record.settings.tags.iter().find(|(_, tagged)| **tagged == version);
            let tag = tag.map(|(tag, _)| tag.clone());
            if tag.is_some() || record.settings.current == version {
                let current = record.settings.current == version;
                let (name, tag) = (name.to_owned(), tag.filter(|_| !current));
                return Err(Refusal::Needed { name, version, tag });
            }
            let outcome = core.ledger.drop_versions(&mut core.estate, name, vec![version]);
            outcome.map_err(|error| refusal(self, core, error, "drop the version"))?;
            core.lost.remove(&(name.to_owned(), version));
            Ok(Response::Done)
        })
    }

    /// Does a change once, however often it is asked for.
    fn change_names(
        &self,
        session: SessionId,
        sequence: u64,
        change: impl FnOnce(&mut Core) -> Result<Response, Refusal>,
    ) -> Result<Response, Refusal> {
        let mut core = self.lock();
        let core = &mut *core;
        if done_before(core, session, sequence)? {
            return Ok(Response::Done);
        }
        core.estate.request = (session, sequence);
        let response = change(core)?;
        finish(core, session, sequence);
        core.fresh = true;
        self.wake.notify_all();
        Ok(response)
    }

    /// Lets go what was kept for a time that is over.
    pub(super) fn expire(&self) {
        let now = now_ns();
        let mut core = self.lock();
        let core = &mut *core;
        let timed =
            core.ledger.frames().0.iter().filter(|(_, r)| r.settings.keep.seconds.is_some());
        let over: Vec<(String, Vec<u64>)> = timed
            .map(|(name, record)| (name.clone(), record.expired(now, None)))
            .filter(|(_, expired)| !expired.is_empty())
            .collect();
        core.estate.request = (SessionId::NONE, 0);
        for (name, expired) in over {
            // Where it cannot be logged now, the next round tries again.
            if core.ledger.drop_versions(&mut core.estate, &name, expired).is_ok() {
                core.fresh = true;
            }
        }
    }
}
