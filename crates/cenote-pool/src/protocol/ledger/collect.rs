//! Freeing what nobody reads any more.

use super::{Ledger, Memory};
use crate::id::Place;
use crate::protocol::lease::Leased;

/// What one pass freed.
#[derive(Clone, Debug, Default)]
pub struct Freed {
    /// Places that may be written again.
    pub places: Vec<Place>,
    /// Whether the pass retired chunks that only the next pass can free.
    pub again: bool,
}

impl<M: Memory, H: Memory> Ledger<M, H> {
    /// Frees what was retired before `mark` (see [`Ledger::mark`]) and is not in `leased`,
    /// which was scanned after it.
    ///
    /// A version whose manifest nobody leases ends here: chunks that were only its own are
    /// withdrawn and retired, to be freed by the next pass.
    pub fn collect(&mut self, mark: u64, leased: &Leased) -> Freed {
        let mut freed = Freed::default();
        let (places, versions) =
            (std::mem::take(&mut self.retired_places), std::mem::take(&mut self.retired_versions));
        for retired in places {
            let versions = || self.chunks.get(&retired.entry).map(|c| c.versions.as_slice());
            let pinned = leased.pins(retired.entry, retired.generation)
                || (retired.moved
                    && versions()
                        .unwrap_or_default()
                        .iter()
                        .any(|&(m, g)| leased.pins_version(m, g)));
            if retired.ticket >= mark || pinned {
                self.retired_places.push(retired);
                continue;
            }
            self.board.clear_location(retired.record);
            self.free_records.push(retired.record);
            freed.places.push(retired.place);
        }
        for (ticket, version) in versions {
            let key = (version.manifest, version.generation);
            if ticket >= mark || leased.pins(key.0, key.1) {
                self.retired_versions.push((ticket, version));
                continue;
            }
            for &entry in &version.chunks {
                let Some(chunk) = self.chunks.get_mut(&entry) else { continue };
                chunk.versions.retain(|&v| v != key);
                if !chunk.versions.is_empty() {
                    continue;
                }
                if let Some(chunk) = self.chunks.remove(&entry) {
                    self.withdraw(entry, chunk.generation);
                    self.retired_places.push(super::RetiredPlace {
                        entry,
                        generation: chunk.generation,
                        record: chunk.record,
                        place: chunk.place,
                        ticket: self.ticket,
                        moved: false,
                    });
                    freed.again = true;
                }
            }
        }
        freed
    }
}
