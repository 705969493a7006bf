//! One value that is kept between commands, because the next command is likely to want it again.

use crate::server::MainThread;
use std::rc::Rc;

/// The value used last, or none.
pub(crate) struct Kept<T>(MainThread<Option<Rc<T>>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(MainThread::new(None))
    }
}

impl<T> Kept<T> {
    #[inline]
    pub(crate) fn get(&self) -> Option<Rc<T>> {
        self.0.cloned()
    }

    /// Keeps `value` in place of what was kept before.
    pub(crate) fn keep(&self, value: impl Into<Rc<T>>) -> Rc<T> {
        let value = value.into();
        self.0.set(Some(Rc::clone(&value)));
        value
    }

    pub(crate) fn forget(&self) {
        self.0.set(None);
    }
}
