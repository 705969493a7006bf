//! The queues of all locks, with the clients in them, and what is due when.
//!
//! A pure structure, without server or clock: its caller reports events and executes the next
//! action. A client is in the queue, then granted the lock or told an answer, then answered and
//! removed.

mod events;

use super::queue::{LockQueue, LockWaiter, Taken};
use super::{Grant, LockRequest};
use crate::counts::Counts;
use crate::db_key::DbKey;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::Hash;
use std::rc::Rc;

/// The bytes of a token or a user's name.
pub type Name = Rc<[u8]>;

/// When a client joined, and when its wait ends, by a clock that is never set.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub since_ms: u64,
    pub until_ms: u64,
}

/// One waiting client. `H` is the handle that answers it once, with an `A`.
struct Client<H, A> {
    handle: Option<H>,
    wait: Wait,
    /// The lock that it wants, in the database that it selected.
    home: DbKey,
    stage: Stage<A>,
}

enum Stage<A> {
    InQueue {
        ticket: u64,
    },
    /// Holds this lock, which moves with its database, and is to be answered that.
    Granted {
        lock: DbKey,
        answer: A,
    },
    /// Is to be answered this; none: that it does not get the lock.
    Told(Option<A>),
}

/// A client that has been answered.
pub struct Answered<H, A> {
    /// None: it does not get the lock.
    pub answer: Option<A>,
    /// None once it was used.
    pub handle: Option<H>,
    /// When it joined.
    pub since_ms: Option<u64>,
    /// What it holds from now on.
    pub held: Option<(DbKey, LockRequest<Name>)>,
}

/// As for a client that is not known.
impl<H, A> Default for Answered<H, A> {
    fn default() -> Self {
        Self { answer: None, handle: None, since_ms: None, held: None }
    }
}

struct LockPlace<C> {
    queue: LockQueue<Name, C>,
    is_marked: bool,
    /// When the lease of the holder ends by the clock of the calendar, as far as known.
    look_ms: Option<i64>,
}

/// All queues. `C` identifies a client.
pub struct Queues<C, H, A> {
    places: BTreeMap<i32, HashMap<Rc<[u8]>, LockPlace<C>>>,
    clients: HashMap<C, Client<H, A>>,
    in_queue: Counts,
    next_ticket: u64,
    waits: BTreeSet<(u64, C)>,
    looks: BTreeSet<(i64, DbKey)>,
    marked: VecDeque<DbKey>,
    /// Locks with a grant that was not answered.
    granted: BTreeSet<DbKey>,
    /// Clients with a handle that are not in the queue.
    unanswered: BTreeSet<C>,
}

impl<C, H, A> Default for Queues<C, H, A> {
    fn default() -> Self {
        Self {
            places: BTreeMap::new(),
            clients: HashMap::new(),
            in_queue: Counts::default(),
            next_ticket: 0,
            waits: BTreeSet::new(),
            looks: BTreeSet::new(),
            marked: VecDeque::new(),
            granted: BTreeSet::new(),
            unanswered: BTreeSet::new(),
        }
    }
}

impl<C: Copy + Ord + Hash, H, A: Copy> Queues<C, H, A> {
    /// Puts a client at the end of the queue for a lock, or at the place of its token: who waited
    /// there is told that it does not get the lock.
    pub fn join(
        &mut self,
        client: C,
        handle: H,
        lock: &DbKey,
        request: LockRequest<Name>,
        wait: Wait,
    ) {
        let ticket = self.next_ticket;
        self.next_ticket = ticket.wrapping_add(1);
        let user = request.user.clone();
        let (ticket, taken) = self.place(lock).queue.join(LockWaiter { client, ticket, request });
        let home = self.shared_name(lock);
        self.tell(taken, &home, None);
        self.enter(client, &home, &user, wait);
        let stage = Stage::InQueue { ticket };
        self.clients.insert(client, Client { handle: Some(handle), wait, home, stage });
    }

    /// The lock with the name of its queue, so that all waiters share one name.
    fn shared_name(&self, lock: &DbKey) -> DbKey {
        let place = self.places.get(&lock.db).and_then(|places| places.get_key_value(&lock.key));
        place.map_or_else(|| lock.clone(), |(key, _)| DbKey { db: lock.db, key: Rc::clone(key) })
    }

    fn place(&mut self, lock: &DbKey) -> &mut LockPlace<C> {
        let places = self.places.entry(lock.db).or_default();
        let none = || LockPlace { queue: LockQueue::default(), is_marked: false, look_ms: None };
        places.entry(Rc::clone(&lock.key)).or_insert_with(none)
    }

    fn queue(&self, lock: &DbKey) -> Option<&LockQueue<Name, C>> {
        Some(&self.places.get(&lock.db)?.get(&lock.key)?.queue)
    }

    fn queue_mut(&mut self, lock: &DbKey) -> Option<&mut LockQueue<Name, C>> {
        Some(&mut self.places.get_mut(&lock.db)?.get_mut(&lock.key)?.queue)
    }

    /// Keeps count of a client that comes into a queue.
    fn enter(&mut self, client: C, lock: &DbKey, user: &Name, wait: Wait) {
        self.in_queue.add(user);
        self.waits.insert((wait.until_ms, client));
        self.mark(lock.db, &lock.key);
    }

    /// Keeps count of a client that has left its queue.
    fn left(&mut self, waiter: &LockWaiter<Name, C>) {
        self.in_queue.remove(&waiter.request.user);
        if let Some(client) = self.clients.get(&waiter.client) {
            self.waits.remove(&(client.wait.until_ms, waiter.client));
        }
    }

    /// Clients that have left the lock's queue, or its grant, are told this.
    fn tell(&mut self, taken: Taken<Name, C>, lock: &DbKey, answer: Option<A>) {
        for waiter in taken.into_iter().flatten() {
            let Some(client) = self.clients.get_mut(&waiter.client) else { continue };
            let was_in_queue = matches!(client.stage, Stage::InQueue { .. });
            client.stage = Stage::Told(answer);
            self.unanswered.insert(waiter.client);
            if was_in_queue {
                self.left(&waiter);
            }
        }
        self.tidy(lock);
    }

    /// After a change of the lock's queue: forgets what is over.
    fn tidy(&mut self, lock: &DbKey) {
        if self.grant(lock).is_none() {
            self.granted.remove(lock);
        }
        let Some(places) = self.places.get_mut(&lock.db) else { return };
        if !places.get(&lock.key).is_some_and(|place| place.queue.is_empty()) {
            return;
        }
        let look_ms = places.remove(&lock.key).and_then(|place| place.look_ms);
        if let Some(look_ms) = look_ms {
            self.looks.remove(&(look_ms, lock.clone()));
        }
        if places.is_empty() {
            self.places.remove(&lock.db);
        }
    }

    /// How many clients are in the queue, for all locks and by user.
    pub fn in_queue(&self) -> &Counts {
        &self.in_queue
    }

    /// How many clients are in the queue for this lock.
    pub fn len(&self, lock: &DbKey) -> usize {
        self.queue(lock).map_or(0, LockQueue::len)
    }

    /// Has every client been answered, and is there nothing to undo?
    pub fn is_idle(&self) -> bool {
        self.clients.is_empty() && self.granted.is_empty()
    }

    pub fn is_waited_for(&self, lock: &DbKey) -> bool {
        self.queue(lock).is_some_and(LockQueue::is_waited_for)
    }

    pub fn has_place(&self, lock: &DbKey, token: &Name) -> bool {
        self.queue(lock).is_some_and(|queue| queue.has_place(token))
    }

    pub fn grant(&self, lock: &DbKey) -> Option<Grant<Name>> {
        self.queue(lock)?.grant()
    }

    pub fn head(&self, lock: &DbKey) -> Option<&LockRequest<Name>> {
        Some(&self.queue(lock)?.head()?.request)
    }

    /// A command holds the lock with this token: a client that waits with it is told that it does
    /// not.
    pub fn take_over(&mut self, lock: &DbKey, token: &Name) {
        if let Some(taken) = self.queue_mut(lock).map(|queue| queue.take_over(token)) {
            self.tell(taken, lock, None);
        }
    }

    /// A command was answered that the token holds the lock.
    pub fn confirm(&mut self, lock: &DbKey, token: &Name) {
        if let Some(queue) = self.queue_mut(lock) {
            queue.confirm(token);
        }
    }

    /// The first in the queue holds the lock now, and is to be answered this.
    pub fn grant_head(&mut self, lock: &DbKey, answer: A) {
        let Some(waiter) = self.queue_mut(lock).and_then(LockQueue::grant_head) else { return };
        self.left(&waiter);
        self.granted.insert(lock.clone());
        self.unanswered.insert(waiter.client);
        if let Some(client) = self.clients.get_mut(&waiter.client) {
            client.stage = Stage::Granted { lock: lock.clone(), answer };
        }
    }

    /// The first in the queue is told this.
    pub fn refuse_head(&mut self, lock: &DbKey, answer: A) {
        if let Some(head) = self.queue(lock).and_then(LockQueue::head).map(|head| head.client) {
            self.refuse(head, Some(answer));
        }
    }

    /// A client, if it is in the queue, is told this; none: that it does not get the lock.
    pub fn refuse(&mut self, client: C, answer: Option<A>) {
        let Some(one) = self.clients.get(&client) else { return };
        let Stage::InQueue { ticket } = one.stage else { return };
        let lock = one.home.clone();
        let waiter = self.queue_mut(&lock).and_then(|queue| queue.remove(ticket));
        self.tell([waiter, None], &lock, answer);
    }

    /// The grant of the lock was lost, or undone: its client, if it is still there, returns to its
    /// place. If another client has taken it over, it is told that it does not get the lock.
    pub fn return_to_queue(&mut self, lock: &DbKey) {
        let waiter = self.queue_mut(lock).and_then(LockQueue::answered);
        self.mark(lock.db, &lock.key);
        self.tidy(lock);
        let Some(waiter) = waiter else { return };
        let Some(client) = self.clients.get(&waiter.client) else { return };
        let (id, user, ticket) = (waiter.client, waiter.request.user.clone(), waiter.ticket);
        let (home, wait) = (client.home.clone(), client.wait);
        if let Some(waiter) = self.place(&home).queue.return_to_queue(waiter) {
            return self.tell([Some(waiter), None], &home, None);
        }
        self.enter(id, &home, &user, wait);
        self.unanswered.remove(&id);
        if let Some(client) = self.clients.get_mut(&id) {
            client.stage = Stage::InQueue { ticket };
        }
    }

    /// The handle of a client to be answered. The client counts as a waiter until
    /// [`Queues::answer`] or [`Queues::gone`].
    pub fn next_unanswered(&mut self) -> Option<H> {
        while let Some(client) = self.unanswered.pop_first() {
            let handle = self.clients.get_mut(&client).and_then(|client| client.handle.take());
            if handle.is_some() {
                return handle;
            }
        }
        None
    }

    /// Removes a client and returns its answer, and the lock with its request if it was granted
    /// one. None if it is still in the queue, or unknown.
    pub fn answer(&mut self, client: C) -> Option<Answered<H, A>> {
        if matches!(self.clients.get(&client)?.stage, Stage::InQueue { .. }) {
            return None;
        }
        self.unanswered.remove(&client);
        let Client { handle, stage, wait, .. } = self.clients.remove(&client)?;
        let since_ms = Some(wait.since_ms);
        Some(match stage {
            Stage::Granted { lock, answer } => {
                let waiter = self.queue_mut(&lock).and_then(LockQueue::answered);
                self.tidy(&lock);
                let held = waiter.map(|waiter| (lock, waiter.request));
                Answered { answer: Some(answer), handle, since_ms, held }
            }
            Stage::Told(answer) => Answered { answer, handle, since_ms, held: None },
            Stage::InQueue { .. } => return None,
        })
    }

    /// The client can no longer be answered, so its grant must be undone. Returns the handle to
    /// unblock it, and when it joined.
    pub fn gone(&mut self, client: C) -> Option<(Option<H>, Option<u64>)> {
        self.refuse(client, None);
        let Client { handle, stage, wait, .. } = self.clients.remove(&client)?;
        self.unanswered.remove(&client);
        if let Stage::Granted { lock, .. } = stage {
            if let Some(queue) = self.queue_mut(&lock) {
                queue.gone();
            }
            self.tidy(&lock);
        }
        Some((handle, Some(wait.since_ms)))
    }

    /// This lock may have changed: if a client waits for it, it must be looked at.
    pub fn mark(&mut self, db: i32, key: &[u8]) {
        let Some(places) = self.places.get_mut(&db) else { return };
        // The name is shared with the queue.
        let Some(name) = places.get_key_value(key).map(|(name, _)| Rc::clone(name)) else { return };
        let Some(place) = places.get_mut(key) else { return };
        if !place.is_marked {
            place.is_marked = true;
            self.marked.push_back(DbKey { db, key: name });
        }
    }

    /// All locks of a database may have changed; with none, those of all databases.
    pub fn mark_all(&mut self, db: Option<i32>) {
        for (of, places) in &mut self.places {
            if db.is_some_and(|db| db != *of) {
                continue;
            }
            for (key, place) in places.iter_mut().filter(|(_, place)| !place.is_marked) {
                place.is_marked = true;
                self.marked.push_back(DbKey { db: *of, key: Rc::clone(key) });
            }
        }
    }

    /// The locks with a grant that was not answered.
    pub fn granted(&self) -> Vec<DbKey> {
        self.granted.iter().cloned().collect()
    }

    /// The next lock to be looked at, if a client still waits for it.
    pub fn next_marked(&mut self) -> Option<DbKey> {
        while let Some(lock) = self.marked.pop_front() {
            let places = self.places.get_mut(&lock.db);
            let place = places.and_then(|places| places.get_mut(&lock.key));
            // A queue that ended and started again meanwhile has its own mark, or none.
            if let Some(place) = place.filter(|place| place.is_marked) {
                place.is_marked = false;
                return Some(lock);
            }
        }
        None
    }

    pub fn has_marked(&self) -> bool {
        !self.marked.is_empty()
    }
}

#[cfg(test)]
mod tests;
