//! The queue of one lock: who waits, in the order of arrival, and who was handed the lock and is
//! not answered yet.
//!
//! A token has one place. A later request of the token takes it over.

use super::{Grant, LockRequest};
use std::collections::BTreeMap;

/// A client that waits for the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockWaiter<N, C> {
    pub client: C,
    /// Its number in the order of arrival.
    pub ticket: u64,
    pub request: LockRequest<N>,
}

/// The lock was handed to this token.
#[derive(Clone, Debug)]
struct Granted<N, C> {
    token: N,
    /// The client that is to be answered; none once it has gone.
    waiter: Option<LockWaiter<N, C>>,
    /// A command was answered that the token holds the lock.
    is_confirmed: bool,
}

/// Those whose place was taken over.
pub type Taken<N, C> = [Option<LockWaiter<N, C>>; 2];

/// `N` is the bytes of a name, `C` identifies a client.
#[derive(Clone, Debug)]
pub struct LockQueue<N, C> {
    waiters: BTreeMap<u64, LockWaiter<N, C>>,
    /// The ticket of each token.
    places: BTreeMap<N, u64>,
    granted: Option<Granted<N, C>>,
}

impl<N, C> Default for LockQueue<N, C> {
    fn default() -> Self {
        Self { waiters: BTreeMap::new(), places: BTreeMap::new(), granted: None }
    }
}

impl<N: Ord + Clone, C: Copy + PartialEq> LockQueue<N, C> {
    /// How many clients wait.
    pub fn len(&self) -> usize {
        self.waiters.len()
    }

    /// Is there nothing to remember?
    pub fn is_empty(&self) -> bool {
        self.waiters.is_empty() && self.granted.is_none()
    }

    /// Is there a client that waits, or that was granted the lock and is to be answered?
    pub fn is_waited_for(&self) -> bool {
        !self.waiters.is_empty() || self.granted.as_ref().is_some_and(|one| one.waiter.is_some())
    }

    /// Those who wait, in the order in which they are served.
    pub fn waiters(&self) -> impl Iterator<Item = &LockWaiter<N, C>> {
        self.waiters.values()
    }

    pub fn head(&self) -> Option<&LockWaiter<N, C>> {
        self.waiters.values().next()
    }

    /// Does a client with this token wait, so that another takes over its place?
    pub fn has_place(&self, token: &N) -> bool {
        self.places.contains_key(token)
            || self.granted.as_ref().is_some_and(|granted| granted.token == *token)
    }

    /// The grant that was not answered yet.
    pub fn grant(&self) -> Option<Grant<N>> {
        let Granted { token, waiter, is_confirmed } = self.granted.as_ref()?;
        let (token, has_client) = (token.clone(), waiter.is_some());
        Some(Grant { token, has_client, is_confirmed: *is_confirmed })
    }

    /// Puts a client in the queue, at the place of its token if it has one. Returns its ticket, and
    /// who waited there, to be answered that it does not get the lock.
    pub fn join(&mut self, waiter: LockWaiter<N, C>) -> (u64, Taken<N, C>) {
        let taken = self.take_over(&waiter.request.token);
        let before = taken.iter().flatten().map(|before| before.ticket).min();
        let ticket = before.unwrap_or(waiter.ticket);
        self.enter(LockWaiter { ticket, ..waiter });
        (ticket, taken)
    }

    fn enter(&mut self, waiter: LockWaiter<N, C>) {
        self.places.insert(waiter.request.token.clone(), waiter.ticket);
        self.waiters.insert(waiter.ticket, waiter);
    }

    /// A later request has this token: returns who waited with it, and who was granted the lock
    /// with it and not answered. Only after databases were swapped there can be both.
    pub fn take_over(&mut self, token: &N) -> Taken<N, C> {
        let granted = self.granted.take_if(|granted| granted.token == *token);
        let place = self.places.get(token).copied();
        [granted.and_then(|granted| granted.waiter), place.and_then(|place| self.remove(place))]
    }

    /// Removes a client from the queue.
    pub fn remove(&mut self, ticket: u64) -> Option<LockWaiter<N, C>> {
        let waiter = self.waiters.remove(&ticket)?;
        self.places.remove(&waiter.request.token);
        Some(waiter)
    }

    /// A command was answered that the token holds the lock: a grant is not undone any more.
    pub fn confirm(&mut self, token: &N) {
        if let Some(granted) = self.granted.as_mut().filter(|granted| granted.token == *token) {
            granted.is_confirmed = true;
        }
    }

    /// The first in the queue holds the lock. Returns it.
    pub fn grant_head(&mut self) -> Option<LockWaiter<N, C>> {
        let (ticket, _) = self.waiters.first_key_value()?;
        let waiter = self.remove(*ticket)?;
        let token = waiter.request.token.clone();
        let granted = Granted { token, waiter: Some(waiter.clone()), is_confirmed: false };
        self.granted = Some(granted);
        Some(waiter)
    }

    /// The client that was granted the lock is answered that it holds it.
    pub fn answered(&mut self) -> Option<LockWaiter<N, C>> {
        self.granted.take()?.waiter
    }

    /// The client that was granted the lock can't be answered any more.
    pub fn gone(&mut self) {
        self.granted.take_if(|granted| granted.is_confirmed);
        if let Some(granted) = &mut self.granted {
            granted.waiter = None;
        }
    }

    /// Forgets a grant that nobody will be answered: the lock stays as it is.
    pub fn forget_lost(&mut self) {
        self.granted.take_if(|granted| granted.waiter.is_none());
    }

    /// The grant was lost. Its client, if it is still there, returns to its old place. If its token
    /// has another place by now, the client is returned, to be answered that it does not hold the
    /// lock.
    pub fn return_to_queue(&mut self, waiter: LockWaiter<N, C>) -> Option<LockWaiter<N, C>> {
        if self.places.contains_key(&waiter.request.token) {
            return Some(waiter);
        }
        self.enter(waiter);
        None
    }

    /// The client that was granted the lock and is to be answered.
    pub fn granted_client(&self) -> Option<C> {
        Some(self.granted.as_ref()?.waiter.as_ref()?.client)
    }

    /// Takes the grant away, as the lock moves to another database with all that belongs to it.
    pub fn detach(&mut self) -> Self {
        Self { granted: self.granted.take(), ..Self::default() }
    }

    /// The lock has come with all that belongs to it.
    pub fn attach(&mut self, moved: Self) {
        self.granted = moved.granted;
    }
}
