//! What time ends, and events for all queues at once: databases are swapped, slots leave, the
//! server becomes a replica.

use super::{Client, LockQueue, Queues, Stage};
use crate::db_key::{DbKey, swapped_db};
use std::hash::Hash;
use std::rc::Rc;

impl<C: Copy + Ord + Hash, H, A: Copy> Queues<C, H, A> {
    /// The lock is held until `look_ms`, and is looked at then; none if the end is unknown.
    pub fn look_at(&mut self, lock: &DbKey, look_ms: Option<i64>) {
        let places = self.places.get_mut(&lock.db);
        let Some(place) = places.and_then(|places| places.get_mut(&lock.key)) else { return };
        if let Some(before_ms) = place.look_ms {
            self.looks.remove(&(before_ms, lock.clone()));
        }
        place.look_ms = look_ms;
        if let Some(look_ms) = look_ms {
            self.looks.insert((look_ms, lock.clone()));
        }
    }

    /// Marks the locks whose lease should have ended by now.
    pub fn mark_ended(&mut self, now_ms: i64) {
        while let Some((_, lock)) = self.looks.first().filter(|(at_ms, _)| *at_ms <= now_ms) {
            let lock = lock.clone();
            self.look_at(&lock, None);
            self.mark(lock.db, &lock.key);
        }
    }

    /// A client whose wait has ended, to be refused.
    pub fn overdue(&self, now_ms: u64) -> Option<C> {
        self.waits.first().filter(|(until_ms, _)| *until_ms <= now_ms).map(|(_, client)| *client)
    }

    /// In how many ms the next wait ends, or the next lease does.
    pub fn next_due_in(&self, waits_now_ms: u64, now_ms: i64) -> Option<u64> {
        let wait = self.waits.first().map(|(at_ms, _)| at_ms.saturating_sub(waits_now_ms));
        let look = self.looks.first().map(|(at_ms, _)| at_ms.saturating_sub(now_ms).max(0));
        let look = look.map(|ms| u64::try_from(ms).unwrap_or(0));
        [wait, look].into_iter().flatten().min()
    }

    /// Two databases were swapped. A waiter stays in the database that it selected; a granted lock
    /// has moved with its database.
    pub fn swap(&mut self, first: i32, second: i32) {
        let locks = self.granted.iter().filter(|lock| [first, second].contains(&lock.db));
        let locks: Vec<_> = locks.cloned().collect();
        let moved: Vec<_> =
            locks.iter().map(|lock| self.queue_mut(lock).map(LockQueue::detach)).collect();
        for (lock, grant) in locks.iter().zip(moved) {
            let Some(grant) = grant else { continue };
            let to = DbKey { db: swapped_db(lock.db, first, second), key: Rc::clone(&lock.key) };
            let client = grant.granted_client().and_then(|client| self.clients.get_mut(&client));
            if let Some(Client { stage: Stage::Granted { lock, .. }, .. }) = client {
                *lock = to.clone();
            }
            self.place(&to).queue.attach(grant);
            self.granted.insert(to);
        }
        locks.iter().for_each(|lock| self.tidy(lock));
        self.mark_all(Some(first));
        self.mark_all(Some(second));
    }

    /// The locks for which `left` is true are on another node: returns their waiters, to be
    /// refused, and forgets their grants to be undone. Takes time per lock with a queue.
    pub fn leave(&mut self, left: impl Fn(&[u8]) -> bool) -> Vec<C> {
        self.forget_lost(&left);
        let places = self.places.values().flatten().filter(|(key, _)| left(key));
        places.flat_map(|(_, place)| place.queue.waiters().map(|waiter| waiter.client)).collect()
    }

    /// Forgets grants to be undone: they stay as they are.
    pub fn forget_lost(&mut self, of: impl Fn(&[u8]) -> bool) {
        let locks: Vec<_> = self.granted.iter().filter(|lock| of(&lock.key)).cloned().collect();
        for lock in locks {
            if let Some(queue) = self.queue_mut(&lock) {
                queue.forget_lost();
            }
            self.tidy(&lock);
        }
    }
}
