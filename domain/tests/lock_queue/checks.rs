//! What must be true of every world, and what tells two worlds apart.

use domain::lock::ACQUIRED;
use std::hash::{Hash, Hasher};

use crate::model::{Key, Token, World};

impl World {
    /// A client is answered that it holds the lock.
    pub fn check_answer(&mut self, answer: i64, token: Token, with_fence: bool) {
        let holds = self.key.is_some_and(|key| key.token == token);
        self.must(holds, "told that it holds, and it does not");
        let want = if with_fence { self.fence.filter(|(_, owner)| *owner == token) } else { None };
        let want = if with_fence { want.map(|(number, _)| number) } else { Some(ACQUIRED) };
        self.must(Some(answer) == want, "an answer that is not its own");
    }

    pub fn check_turn(&mut self) {
        let waits = self.queue.head().is_some();
        let order: Vec<_> =
            self.queue.waiters().map(|one| (one.request.token, one.client)).collect();
        self.must(order == self.truth.order, "the queue is not who came first");
        if self.queue.grant().is_some() {
            // The next turn follows at once.
            return;
        }
        match self.key {
            None => self.must(!waits, "the lock is free, and somebody waits"),
            Some(Key { until: Some(until), .. }) => {
                let wakes = self.look.is_some_and(|look| look <= until + 1);
                self.must(!waits || wakes, "nobody will look when the lease ends");
                self.must(self.truth.is_known, "nobody knows that the lock is held");
            }
            Some(Key { until: None, .. }) => {}
        }
    }

    /// What distinguishes this world from others: tickets and clients have names, which don't, and
    /// numbers matter only beside each other.
    fn essence(&self) -> impl Hash + PartialEq + use<> {
        let place = |client: usize| self.clients[client].map(|one| (one, self.now));
        let queue: Vec<_> = self.queue.waiters().map(|waiter| place(waiter.client)).collect();
        let order: Vec<_> = self.truth.order.iter().map(|(token, _)| *token).collect();
        let granted = self.queue.granted_client().map(place);
        let grant = self.queue.grant().map(|one| (one.token, one.has_client, one.is_confirmed));
        // The next number is the last plus one, or the time: only how far they are apart counts.
        let fence = self.fence.map(|(number, token)| ((number - self.now).clamp(-1, 3), token));
        let last = self.fence.map_or(0, |(last, _)| last);
        let of_holder = self.truth.number.filter(|_| self.key.is_some()).map(|one| one == last);
        let of_grant = self.queue.grant().map(|_| (self.granted == last, self.granted == ACQUIRED));
        let fences = (fence, of_holder, of_grant);
        let look = self.look.filter(|_| self.queue.head().is_some());
        let marks = (self.is_marked && self.queue.is_waited_for(), look, self.truth.is_known);
        (self.now, self.key, queue, order, granted, grant, fences, marks, self.bad)
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.essence().hash(state);
    }
}

impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        self.essence() == other.essence()
    }
}
