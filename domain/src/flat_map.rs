//! A map of few entries: one vector, in the order of the keys. A `BTreeMap` of one entry takes the
//! memory of eleven.

use std::borrow::Borrow;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlatMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for FlatMap<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> FlatMap<K, V> {
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0.binary_search_by(|(other, _)| other.borrow().cmp(key))
    }

    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.0.get(self.find(key).ok()?).map(|(_, value)| value)
    }

    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let at = self.find(key).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    pub fn insert(&mut self, key: K, value: V) {
        match self.find(&key) {
            Ok(at) => drop(self.0.splice(at..=at, [(key, value)])),
            Err(at) => {
                // Most maps stay at one entry, for which a vector would take room for four.
                self.0.reserve_exact(usize::from(self.0.is_empty()));
                self.0.insert(at, (key, value));
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for FlatMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        entries.into_iter().for_each(|(key, value)| map.insert(key, value));
        map
    }
}

#[cfg(test)]
mod tests {
    use super::FlatMap;
    use std::collections::BTreeMap;

    #[test]
    fn it_is_a_map() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let entry = |random: &mut fastrand::Rng| (random.u8(..6), random.u8(..));
            let entries: Vec<_> = (0..random.usize(..9)).map(|_| entry(&mut random)).collect();
            let wanted: BTreeMap<u8, u8> = entries.iter().copied().collect();
            let map: FlatMap<u8, u8> = entries.into_iter().collect();
            assert!(map.iter().eq(&wanted), "{map:?} {wanted:?}");
            assert!((0..6).all(|key| map.get(&key) == wanted.get(&key)));
        }
    }
}
