//! Names: what they stand for, what they keep, and their heads.

use super::version::Life;
use super::{Ledger, LedgerError, Memory, World};
use crate::change::Change;
use crate::protocol::heads::{Found, HeadTable, hash_name, table_words};
use crate::row::Keep;

impl<M: Memory, H: Memory> Ledger<M, H> {
    /// Drops a name, with all its versions. One of which nothing could be taken over is dropped,
    /// too.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], [`LedgerError::Io`].
    pub fn drop_name<W: World<Heads = H>>(
        &mut self,
        world: &mut W,
        name: &str,
    ) -> Result<(), LedgerError> {
        if !self.frames.0.contains_key(name) {
            return Err(LedgerError::NotFound(name.to_owned()));
        }
        self.change(world, &Change::Drop { name: name.to_owned() })?;
        world.step("drop: logged");
        if let Some(named) = self.names.remove(name) {
            self.set_head(name, None);
            world.step("drop: head cleared");
            for life in named.held.into_values() {
                self.let_go(world, life);
            }
        }
        Ok(())
    }

    /// Gives a name's versions another name. Readers that hold them notice nothing.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn rename<W: World<Heads = H>>(
        &mut self,
        world: &mut W,
        from: &str,
        to: &str,
    ) -> Result<(), LedgerError> {
        if self.names.contains_key(to) {
            return Err(LedgerError::Exists(to.to_owned()));
        }
        if !self.names.contains_key(from) {
            return Err(LedgerError::NotFound(from.to_owned()));
        }
        self.make_head_room(world, to)?;
        self.change(world, &Change::Rename { from: from.to_owned(), to: to.to_owned() })?;
        world.step("rename: logged");
        if let Some(named) = self.names.remove(from) {
            self.set_head(from, None);
            world.step("rename: old head cleared");
            for life in named.held.values() {
                if let Some(version) = self.versions.get_mut(life) {
                    to.clone_into(&mut version.row.name);
                }
            }
            self.names.insert(to.to_owned(), named);
            if let Some(life) = self.get(to).map(super::Version::life) {
                self.set_head(to, Some(life));
                world.step("head set");
            }
        }
        Ok(())
    }

    /// Sets which versions of a name are kept.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], [`LedgerError::Io`].
    pub fn keep<W: World<Heads = H>>(
        &mut self,
        world: &mut W,
        name: &str,
        keep: Keep,
        now_ns: u64,
    ) -> Result<(), LedgerError> {
        let mut record = self.known(name)?.clone();
        record.settings.keep = keep;
        let expired = record.expired(now_ns, None);
        let change = Change::Keep { name: name.to_owned(), keep, expired: expired.clone() };
        self.change(world, &change)?;
        world.step("keep: logged");
        self.expire(world, name, &expired);
        Ok(())
    }

    /// Gives a version a tag, or takes the tag away. What had the tag before is kept only if
    /// something else keeps it.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], [`LedgerError::Io`].
    pub fn tag<W: World<Heads = H>>(
        &mut self,
        world: &mut W,
        name: &str,
        tag: &str,
        version: Option<u64>,
        now_ns: u64,
    ) -> Result<(), LedgerError> {
        let mut record = self.known(name)?.clone();
        match version {
            Some(version) => record.settings.tags.insert(tag.to_owned(), version),
            None => record.settings.tags.remove(tag),
        };
        let expired = record.expired(now_ns, None);
        let (name, tag) = (name.to_owned(), tag.to_owned());
        let change = Change::Tag { name: name.clone(), tag, version, expired: expired.clone() };
        self.change(world, &change)?;
        world.step("tag: logged");
        self.expire(world, &name, &expired);
        Ok(())
    }

    /// Keeps some versions of a name no longer. None is the current one.
    ///
    /// # Errors
    /// [`LedgerError::Io`].
    pub fn drop_versions<W: World<Heads = H>>(
        &mut self,
        world: &mut W,
        name: &str,
        expired: Vec<u64>,
    ) -> Result<(), LedgerError> {
        let change = Change::Expire { name: name.to_owned(), expired: expired.clone() };
        self.change(world, &change)?;
        world.step("expire: logged");
        self.expire(world, name, &expired);
        Ok(())
    }

    fn known(&self, name: &str) -> Result<&crate::row::Record, LedgerError> {
        self.frames.0.get(name).ok_or_else(|| LedgerError::NotFound(name.to_owned()))
    }

    /// Logs a change and applies it to what the catalog knows.
    fn change<W: World<Heads = H>>(
        &mut self,
        world: &mut W,
        change: &Change,
    ) -> Result<(), LedgerError> {
        world.log(change)?;
        self.frames.apply(change);
        Ok(())
    }

    /// Lets go what was logged as kept no longer.
    pub(super) fn expire<W: World<Heads = H>>(&mut self, world: &mut W, name: &str, gone: &[u64]) {
        for version in gone {
            let named = self.names.get_mut(name);
            if let Some(life) = named.and_then(|named| named.held.remove(version)) {
                self.let_go(world, life);
            }
        }
    }

    /// Makes sure that `name` has a slot or can be given one: after the log nothing may fail.
    pub(super) fn make_head_room<W: World<Heads = H>>(
        &mut self,
        world: &mut W,
        name: &str,
    ) -> Result<(), LedgerError> {
        let known = matches!(self.heads.find(name, hash_name(name)), Found::Slot(_));
        if !known && !self.heads.has_room(name) {
            self.regrow_heads(world)?;
        }
        Ok(())
    }

    /// Points `name` at a version, which is its current one and held from now on.
    /// [`Self::make_head_room`] was called.
    pub(super) fn point<W: World<Heads = H>>(&mut self, world: &mut W, name: &str, life: Life) {
        let version = self.versions.get(&life).map_or(0, |version| version.row.version);
        match self.names.get_mut(name) {
            Some(named) => drop(named.held.insert(version, life)),
            None => drop(self.names.entry(name.to_owned()).or_default().held.insert(version, life)),
        }
        self.set_head(name, Some(life));
        world.step("head set");
    }

    fn set_head(&mut self, name: &str, life: Option<Life>) {
        let manifest = life.map(|life| life.0);
        let slot = match self.heads.find(name, hash_name(name)) {
            Found::Slot(slot) => {
                self.heads.set(slot, manifest);
                Some(slot)
            }
            Found::Absent | Found::Damaged if life.is_some() => self.heads.insert(name, manifest),
            Found::Absent | Found::Damaged => None,
        };
        debug_assert!(slot.is_some() || life.is_none(), "room was made");
    }

    /// Writes all names into a new table with room to grow, and publishes it.
    fn regrow_heads<W: World<Heads = H>>(&mut self, world: &mut W) -> Result<(), LedgerError> {
        let old = self.heads.number();
        let number = old + 1;
        let count = self.names.len() as u64;
        let bytes: usize = self.names.keys().map(|name| name.len() + 16).sum();
        let (words, slots, name_words) = table_words(2 * count.max(32), 2 * bytes as u64);
        let memory = world.make_heads(number, words)?;
        let mut table = HeadTable::create(memory, number, slots, name_words);
        for (name, version) in self.names() {
            table.insert(name, Some(version.manifest()));
        }
        world.step("heads: table written");
        self.heads = table;
        self.board.set_heads(number);
        world.step("heads: table published");
        world.drop_heads(old);
        Ok(())
    }
}
