//! Events for all lines at once: databases are swapped, the clock is set back, slots leave.

use super::due::Due;
use super::waiter::{Stage, Waiter};
use super::{Wait, Waiters};
use crate::db_key::{DbKey, swapped_db};
use std::hash::Hash;

impl<C: Copy + Ord + Hash, H, A: Copy> Waiters<C, H, A> {
    /// Two databases were swapped. A waiter stays in the database that it selected; a granted lock,
    /// and a grant to be undone, have moved with their database.
    pub fn swap(&mut self, first: i32, second: i32) {
        let moved = |lock: DbKey| DbKey { db: swapped_db(lock.db, first, second), ..lock };
        for client in self.granted.all() {
            if let Some(waiter) = self.clients.get_mut(client) {
                waiter.lock = moved(waiter.lock.clone());
            }
        }
        self.granted.rename(moved);
        self.lost.rename(moved);
        self.mark_all(Some(first));
        self.mark_all(Some(second));
    }

    /// The clock was set back by `ms`. A wait is a duration, so its end moves back by `ms`, too.
    /// Takes time per waiter.
    pub fn clock_set_back(&mut self, ms: i64, now_ms: i64) {
        // A waiter that joined after the change already has times of the new clock.
        let before = |waiter: &&mut Waiter<H, A>| waiter.wait.since_ms > now_ms;
        let clients = self.clients.iter_mut();
        for (client, waiter) in clients.filter(|(_, waiter)| before(waiter)) {
            let Wait { since_ms, until_ms } = waiter.wait;
            let back = |at_ms: i64| at_ms.saturating_sub(ms);
            waiter.wait = Wait { since_ms: back(since_ms), until_ms: back(until_ms) };
            if matches!(waiter.stage, Stage::InLine) {
                self.dues.remove(until_ms, Due::WaitEnd(*client));
                self.dues.add(back(until_ms), Due::WaitEnd(*client));
            }
        }
    }

    /// The locks for which `left` is true are on another node: returns their waiters, to be
    /// refused, and forgets their grants to be undone. Takes time per lock with a line.
    pub fn leave(&mut self, left: impl Fn(&[u8]) -> bool) -> Vec<C> {
        self.lost.retain(|lock| !left(&lock.key));
        let lines = self.lines.values().flatten().filter(|(key, _)| left(key));
        lines.flat_map(|(_, line)| line.waiters.values().copied()).collect()
    }
}
