//! Committing a version, anew or as more of the one before.
//!
//! A version that goes on from another has parts that are others' already. It refers to them,
//! or takes them into its own part: as the digits of a number do, small ones are gathered into
//! larger ones, so that the list of references stays short and each partition's metadata is
//! copied a logarithmic number of times.

use super::version::{State, life_of};
use super::{ChunkState, IfExists, Ledger, LedgerError, Memory, Sealed, Version, World};
use crate::change::Change;
use crate::id::{EntryId, Generation, RecordId};
use crate::manifest::Reference;
use crate::protocol::board::Location;
use crate::protocol::word::{ChunkKind, Tenant};
use crate::row::Row;

/// References of one size class, in a row at the end of the list, at which they are taken in.
pub const REFERENCES_A_LEVEL: usize = 15;

/// How many of `references`, from the first on, are still referred to by a version whose own
/// part begins with `partitions` partitions; it takes in the rest.
///
/// A class is a power of sixteen. A part of some class takes in the run of parts before it that
/// are of its class or smaller, once there are [`REFERENCES_A_LEVEL`] of them. So there are at
/// most 15 references a class.
#[must_use]
pub fn inherit(references: &[Reference], mut partitions: u64) -> usize {
    let class = |partitions: u64| partitions.max(1).ilog2() / 4;
    let mut kept = references.len();
    loop {
        let own = class(partitions);
        let run = references[..kept].iter().rev();
        let run = run.take_while(|r| class(u64::from(r.partitions)) <= own).count();
        if run < REFERENCES_A_LEVEL {
            return kept;
        }
        let taken = &references[kept - run..kept];
        partitions += taken.iter().map(|r| u64::from(r.partitions)).sum::<u64>();
        kept -= run;
    }
}

/// What a version has of earlier ones.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    /// What it refers to.
    pub references: Vec<Reference>,
    /// The chunks that come before its new ones in its own part.
    pub chunks: Vec<EntryId>,
}

/// A version to be committed.
#[derive(Debug)]
pub struct Put<'a> {
    /// Its row, but for the manifest. Version 0: that after the current one.
    pub row: Row,
    /// What to do if the name is taken.
    pub if_exists: IfExists,
    /// The version that the name must stand for, 0 for none.
    pub expect: Option<u64>,
    /// Its new chunks.
    pub data: &'a [Sealed],
    /// What it has of the version before.
    pub inherited: Inherited,
    /// Partitions of its own part.
    pub partitions: u32,
    /// Hash of its schema's bytes.
    pub schema: u64,
}

type Published = (EntryId, Generation, RecordId);

impl<M: Memory, H: Memory> Ledger<M, H> {
    /// Whether a commit may be made, as far as the name's versions go.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`], [`LedgerError::Exists`].
    pub fn check_terms(
        &self,
        name: &str,
        if_exists: IfExists,
        expect: Option<u64>,
    ) -> Result<(), LedgerError> {
        let current = self.get(name).map(|version| version.row.version);
        let found = current.unwrap_or(0);
        if let Some(expected) = expect.filter(|expected| *expected != found) {
            return Err(LedgerError::Conflict { name: name.to_owned(), expected, found });
        }
        if current.is_some() && if_exists == IfExists::Fail {
            return Err(LedgerError::Exists(name.to_owned()));
        }
        Ok(())
    }

    /// Commits a version. `manifest` makes its bytes from the entries of `put.data`.
    ///
    /// # Errors
    /// [`LedgerError`]; then nothing has happened.
    pub fn commit<W: World<Heads = H>>(
        &mut self,
        world: &mut W,
        put: Put<'_>,
        manifest: impl FnOnce(&[EntryId], &Row) -> Vec<u8>,
    ) -> Result<&Version, LedgerError> {
        let Put { mut row, if_exists, expect, data, inherited, partitions, schema } = put;
        let name = row.name.clone();
        self.check_terms(&name, if_exists, expect)?;
        if row.version == 0 {
            row.version = self.record(&name).map_or(0, |record| record.settings.current) + 1;
        }
        self.make_room(world, data.len() + 1)?;
        self.make_head_room(world, &name)?;

        let mut published = Vec::with_capacity(data.len());
        for sealed in data {
            published.push(self.publish(ChunkKind::Data, sealed.place, sealed.checksum));
            world.step("commit: entry published");
        }
        let new: Vec<EntryId> = published.iter().map(|p| p.0).collect();
        let bytes = manifest(&new, &row);
        row.manifest_checksum = cenote_region::copy::checksum(&bytes);
        row.manifest_length = bytes.len() as u64;
        let place = match world.write_manifest(&bytes) {
            Ok(place) => place,
            Err(error) => {
                self.unpublish(&published);
                return Err(error.into());
            }
        };
        world.step("commit: manifest written");
        let own = self.publish(ChunkKind::Manifest, place, row.manifest_checksum);
        row.manifest = own.0;
        world.step("commit: manifest published");
        let expired = self.expired_by(&row);
        let change = Change::Commit { row: Box::new(row.clone()), expired: expired.clone() };
        if let Err(error) = world.log(&change) {
            self.unpublish(&published);
            self.unpublish(&[own]);
            return Err(error.into());
        }
        world.step("commit: logged");

        self.frames.apply(&change);
        let (manifest, generation, record) = own;
        for (sealed, &(entry, generation, record)) in data.iter().zip(&published) {
            let (place, checksum) = (sealed.place, sealed.checksum);
            let versions = Vec::new();
            let state = ChunkState { place, checksum, record, generation, versions };
            self.chunks.insert(entry, state);
        }
        let tenant = Tenant { entry: manifest, generation, kind: ChunkKind::Manifest };
        let location = Location { tenant, place, checksum: row.manifest_checksum, verified: true };
        let Inherited { references, mut chunks } = inherited;
        chunks.extend(new);
        self.add(Version {
            own: own_reference(&row, &references, own, partitions, chunks.len()),
            num_chunks: 0,
            bytes: 0,
            own_bytes: 0,
            row,
            location,
            record,
            references: references.into(),
            chunks: chunks.into(),
            schema,
            state: State { held: true, counts: true, ..State::default() },
        });
        self.point(world, &name, (manifest, generation));
        self.expire(world, &name, &expired);
        self.get(&name).ok_or(LedgerError::NotFound(name))
    }

    /// The versions that are kept no longer once `row` is committed.
    fn expired_by(&self, row: &Row) -> Vec<u64> {
        let record = self.record(&row.name);
        record.map_or_else(Vec::new, |record| record.expired(row.created_ns, Some(row)))
    }

    /// Adds a version to the ledger: to the chunks of its own part, and to what it refers to.
    /// Its sums over all parts are made here.
    pub(super) fn add(&mut self, mut version: Version) {
        let life = version.life();
        let mut own_bytes = 0;
        for entry in &version.chunks {
            if let Some(chunk) = self.chunks.get_mut(entry) {
                own_bytes += chunk.place.length;
                chunk.versions.push(life);
            }
        }
        let (mut num_chunks, mut bytes) = (version.chunks.len() as u64, 0);
        for reference in &version.references {
            num_chunks += u64::from(reference.chunks);
            let Some(other) = self.versions.get_mut(&life_of(reference)) else { continue };
            bytes += other.own_bytes;
            if version.state.counts {
                other.state.referrers += 1;
            }
        }
        (version.own_bytes, version.bytes) = (own_bytes, bytes + own_bytes);
        version.num_chunks = num_chunks;
        self.versions.insert(life, version);
    }
}

fn own_reference(
    row: &Row,
    references: &[Reference],
    (entry, generation, _): Published,
    partitions: u32,
    chunks: usize,
) -> Reference {
    let before: u64 = references.iter().map(|r| r.rows).sum();
    Reference {
        entry,
        generation,
        partitions,
        chunks: u32::try_from(chunks).unwrap_or(u32::MAX),
        rows: row.num_rows.saturating_sub(before),
        length: row.manifest_length,
        checksum: row.manifest_checksum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(partitions: u32) -> Reference {
        let (entry, generation) = (EntryId(0), Generation(0));
        Reference { entry, generation, partitions, chunks: 0, rows: 0, length: 0, checksum: 0 }
    }

    /// Appends parts of these sizes; returns the longest list of references, and how many
    /// partitions were copied.
    fn append(sizes: impl IntoIterator<Item = u32>) -> (usize, u64) {
        let mut references = Vec::new();
        let (mut longest, mut copied, mut total) = (0, 0, 0u64);
        for size in sizes {
            total += u64::from(size);
            let kept = inherit(&references, u64::from(size));
            let taken: u64 =
                references[kept..].iter().map(|r: &Reference| u64::from(r.partitions)).sum();
            references.truncate(kept);
            copied += taken;
            longest = longest.max(references.len());
            references.push(reference(u32::try_from(taken).unwrap() + size));
            let all: u64 = references.iter().map(|r| u64::from(r.partitions)).sum();
            assert_eq!(all, total, "a partition is lost");
        }
        (longest, copied)
    }

    #[test]
    fn few_references_and_few_copies_however_many_appends() {
        let (longest, copied) = append((0..100_000).map(|_| 1));
        assert!(longest <= 15 * 5, "{longest} references");
        assert!(copied <= 100_000 * 5, "{copied} partitions copied");
        assert!(copied > 100_000, "nothing is merged: the test does not look");
        let (longest, _) =
            append((0..10_000u32).map(|i| if i % 97 == 0 { 5000 } else { 1 + i % 7 }));
        assert!(longest <= 15 * 6, "{longest} references");
    }
}
