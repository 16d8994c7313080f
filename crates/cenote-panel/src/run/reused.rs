//! Memory that threads take for a phase and give back.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// As many as have ever been taken at one time.
#[derive(Debug, Default)]
pub(super) struct Reused<T>(Mutex<Vec<T>>);

impl<T: Default> Reused<T> {
    /// One that somebody gave back, or a new one.
    pub(super) fn take(&self) -> Taken<'_, T> {
        let one = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Taken { all: self, one: one.unwrap_or_default() }
    }
}

/// One that is taken; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Taken<'a, T: Default> {
    all: &'a Reused<T>,
    one: T,
}

impl<T: Default> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        let one = std::mem::take(&mut self.one);
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).push(one);
    }
}

impl<T: Default> Deref for Taken<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.one
    }
}

impl<T: Default> DerefMut for Taken<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.one
    }
}
