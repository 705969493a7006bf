//! State that only the server's main thread touches.

use std::cell::Cell;

/// A slot for state of the main thread, usable in a `static`.
///
/// A value is taken out or copied out, never borrowed: nothing stays borrowed across a call of
/// the server's API, which may call back into us.
pub(crate) struct MainThread<T>(Cell<T>);

// SAFETY: the server runs every command, configuration, info and load callback of a module on
// its main thread, and this module starts no thread of its own, so no two threads ever reach the
// cell. What is inside is reached by moving it out and back only.
unsafe impl<T> Sync for MainThread<T> {}

impl<T: Default> Default for MainThread<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> MainThread<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Cell::new(value))
    }

    pub(crate) fn set(&self, value: T) {
        self.0.set(value);
    }

    pub(crate) fn get(&self) -> T
    where
        T: Copy,
    {
        self.0.get()
    }
}

impl<T: Default> MainThread<T> {
    /// Takes the value out and leaves the default, without allocating for the usual `Option`.
    pub(crate) fn take(&self) -> T {
        self.0.take()
    }

    /// Runs `work` on the value, which is back in its place afterwards even when `work` panics.
    ///
    /// `work` must not call the server, which could call back into here and find the default.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        let mut borrowed = Borrowed { home: self, value: self.0.take() };
        work(&mut borrowed.value)
    }
}

/// A value on loan, put back when this is dropped.
struct Borrowed<'c, T: Default> {
    home: &'c MainThread<T>,
    value: T,
}

impl<T: Default> Drop for Borrowed<'_, T> {
    fn drop(&mut self) {
        self.home.0.set(std::mem::take(&mut self.value));
    }
}

impl<T: Clone + Default> MainThread<T> {
    /// A clone of what is inside.
    pub(crate) fn cloned(&self) -> T {
        let value = self.0.take();
        let clone = value.clone();
        self.0.set(value);
        clone
    }
}

#[cfg(test)]
mod tests {
    use super::MainThread;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_value_is_back_in_its_place_after_a_panic() {
        let waiting = MainThread::new(vec![1]);
        let work = AssertUnwindSafe(|| {
            waiting.with(|value: &mut Vec<i32>| {
                value.push(2);
                panic!("a bug");
            })
        });
        assert!(catch_unwind(work).is_err());
        assert_eq!(waiting.with(|value| value.clone()), [1, 2]);
    }
}
