//! The names of users, orders and references, wherever they come from.

use crate::server::{OwnedStr, Str};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// A name: an argument of the command, or read from a key.
#[derive(Clone)]
pub(crate) enum Name<'a> {
    Given(Str<'a>),
    Read(Rc<OwnedStr>),
}

impl Name<'_> {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        Self::Read(Rc::new(OwnedStr::new(bytes)))
    }

    #[inline]
    pub(crate) fn as_str(&self) -> Str<'_> {
        match self {
            Self::Given(name) => *name,
            Self::Read(name) => name.as_str(),
        }
    }
}

impl AsRef<[u8]> for Name<'_> {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        self.as_str().bytes()
    }
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for Name<'_> {}

impl Hash for Name<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Nothing follows in the same hash, so the length need not go into it.
        state.write(self.as_ref());
    }
}
