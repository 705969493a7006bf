//! A few values in their order, without an allocation.

/// At most `N` values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Few<T, const N: usize> {
    all: [Option<T>; N],
    len: usize,
}

impl<T, const N: usize> Default for Few<T, N> {
    #[inline]
    fn default() -> Self {
        Self { all: [const { None }; N], len: 0 }
    }
}

impl<T, const N: usize> Few<T, N> {
    /// Adds one more. False, and nothing is added, where there is no room.
    #[inline]
    pub fn push(&mut self, value: T) -> bool {
        let Some(place) = self.all.get_mut(self.len) else { return false };
        *place = Some(value);
        self.len = self.len.saturating_add(1);
        true
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub fn get(&self, number: usize) -> Option<&T> {
        self.all.get(number)?.as_ref()
    }

    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.all.iter().take(self.len).flatten()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.iter_mut().flatten()
    }
}

impl<T, const N: usize> FromIterator<T> for Few<T, N> {
    /// The first of them, as many as there is room for.
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut few = Self::default();
        values.into_iter().take(N).for_each(|value| {
            few.push(value);
        });
        few
    }
}

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn values_stay_in_order_as_long_as_there_is_room() {
        let mut few = Few::<_, 3>::default();
        assert!(few.is_empty());
        assert!([1, 2, 3].into_iter().all(|value| few.push(value)) && !few.push(4));
        assert_eq!((few.len(), few.get(2), few.get(3)), (3, Some(&3), None));
        few.iter_mut().for_each(|value| *value *= 2);
        assert_eq!(few.iter().collect::<Vec<_>>(), [&2, &4, &6]);
        assert_eq!((2..9).map(|value| value * 2 - 2).collect::<Few<_, 3>>(), few);
    }
}
