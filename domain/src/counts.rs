//! How many of something there are, in all and by user.

use std::collections::HashMap;
use std::rc::Rc;

/// A count in all and by user.
#[derive(Default)]
pub struct Counts {
    all: usize,
    by_user: HashMap<Rc<[u8]>, usize>,
}

impl Counts {
    pub fn all(&self) -> usize {
        self.all
    }

    pub fn of(&self, user: &[u8]) -> usize {
        self.by_user.get(user).copied().unwrap_or(0)
    }

    pub fn add(&mut self, user: &Rc<[u8]>) {
        self.all = self.all.saturating_add(1);
        let count = self.by_user.entry(Rc::clone(user)).or_default();
        *count = count.saturating_add(1);
    }

    /// Removes one that was added.
    pub fn remove(&mut self, user: &[u8]) {
        let Some(count) = self.by_user.get_mut(user) else { return };
        self.all = self.all.saturating_sub(1);
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.by_user.remove(user);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn each_user_has_a_count() {
        let mut counts = Counts::default();
        let [ann, bob] = [b"ann", b"bob"].map(|name| name.as_slice().into());
        counts.add(&ann);
        counts.add(&bob);
        counts.add(&ann);
        counts.remove(b"cid");
        assert_eq!((counts.all(), counts.of(b"ann"), counts.of(b"bob")), (3, 2, 1));
        counts.remove(b"bob");
        counts.remove(b"bob");
        assert_eq!((counts.all(), counts.of(b"ann"), counts.of(b"bob")), (2, 2, 0));
        assert_eq!(counts.by_user.len(), 1);
    }
}
