//! The lines of clients that wait for locks: first come, first served for each database and key.
//!
//! A pure structure, without server or clock: its caller reports events and executes the next
//! action. A waiter is in line, then granted or refused, then answered and removed.

mod bounds;
mod due;
mod events;
mod granted;
mod lost;
mod request;
mod waiter;

use crate::db_key::DbKey;
pub use bounds::{Bounds, Full};
use due::{Due, Dues};
use granted::Granted;
use lost::AllLost;
pub use lost::Lost;
pub use request::{Request, Wait};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::rc::Rc;
use waiter::{Stage, Waiter};

#[derive(Default)]
struct Line<C> {
    waiters: BTreeMap<u64, C>,
    is_marked: bool,
    /// When the holder's lease ends, as far as known.
    look_ms: Option<i64>,
}

/// All lines. `C` identifies a client, `H` is the handle that answers it once, with an `A`.
pub struct Waiters<C, H, A> {
    lines: BTreeMap<i32, HashMap<Rc<[u8]>, Line<C>>>,
    clients: HashMap<C, Waiter<H, A>>,
    in_line: usize,
    next_ticket: u64,
    dues: Dues<C>,
    marked: VecDeque<DbKey>,
    /// Clients to be answered, with the numbers of their answers. A client that left otherwise or
    /// returned to its line stays here until its turn, but its number then differs or is none.
    unanswered: VecDeque<(C, u64)>,
    next_answer: u64,
    granted: Granted<C>,
    lost: AllLost,
}

impl<C, H, A> Default for Waiters<C, H, A> {
    fn default() -> Self {
        Self {
            lines: BTreeMap::new(),
            clients: HashMap::new(),
            in_line: 0,
            next_ticket: 0,
            dues: Dues::default(),
            marked: VecDeque::new(),
            unanswered: VecDeque::new(),
            next_answer: 0,
            granted: Granted::default(),
            lost: AllLost::default(),
        }
    }
}

impl<C: Copy + Ord + Hash, H, A: Copy> Waiters<C, H, A> {
    /// Puts a client at the end of the line for a lock.
    pub fn join(&mut self, client: C, handle: H, lock: &DbKey, request: Request, wait: Wait) {
        let ticket = self.next_ticket;
        self.next_ticket = ticket.wrapping_add(1);
        let lock = self.known_name(lock);
        let waiter = Waiter {
            handle: Some(handle),
            home_db: lock.db,
            lock: lock.clone(),
            request,
            ticket,
            wait,
            stage: Stage::InLine,
            answer_number: None,
            is_shared: false,
        };
        self.clients.insert(client, waiter);
        self.enter_line(client, &lock, ticket, wait);
    }

    /// The lock with the name of its line, so that all waiters share one name.
    fn known_name(&self, lock: &DbKey) -> DbKey {
        let line = self.lines.get(&lock.db).and_then(|lines| lines.get_key_value(&lock.key));
        line.map_or_else(|| lock.clone(), |(key, _)| DbKey { db: lock.db, key: Rc::clone(key) })
    }

    fn enter_line(&mut self, client: C, lock: &DbKey, ticket: u64, wait: Wait) {
        let lines = self.lines.entry(lock.db).or_default();
        let line = lines.entry(Rc::clone(&lock.key)).or_insert_with(|| Line {
            waiters: BTreeMap::new(),
            is_marked: false,
            look_ms: None,
        });
        line.waiters.insert(ticket, client);
        self.in_line = self.in_line.saturating_add(1);
        self.dues.add(wait.until_ms, Due::WaitEnd(client));
    }

    /// How many clients are in line, for all locks.
    pub fn in_line(&self) -> usize {
        self.in_line
    }

    /// Has every client been answered, and is there nothing to undo?
    pub fn is_idle(&self) -> bool {
        self.clients.is_empty() && self.lost.is_empty()
    }

    /// How many clients are in line for this lock.
    pub fn len(&self, db: i32, key: &[u8]) -> usize {
        self.line(db, key).map_or(0, |line| line.waiters.len())
    }

    fn line(&self, db: i32, key: &[u8]) -> Option<&Line<C>> {
        self.lines.get(&db)?.get(key)
    }

    /// The first client in line for this lock, and its request.
    pub fn head(&self, lock: &DbKey) -> Option<(C, Request)> {
        let (_, client) = self.line(lock.db, &lock.key)?.waiters.first_key_value()?;
        Some((*client, self.clients.get(client)?.request.clone()))
    }

    /// True if the first client in line has another token, or there is none.
    pub fn is_head_another(&self, lock: &DbKey, token: &[u8]) -> bool {
        let head = self.line(lock.db, &lock.key).and_then(|line| line.waiters.first_key_value());
        let waiter = head.and_then(|(_, client)| self.clients.get(client));
        waiter.is_none_or(|waiter| *waiter.request.token != *token)
    }

    /// The client holds the lock now. Returns how long it was in line, in ms.
    pub fn grant(&mut self, client: C, answer: A, now_ms: i64) -> u64 {
        if let Some(waiter) = self.clients.get(&client) {
            // If a client with the same token is gone, this client holds the lock now.
            self.lost.remove(&waiter.lock, &waiter.request.token);
        }
        self.leave_line(client, Stage::Granted(answer), now_ms)
    }

    /// The client will be answered that it does not get the lock. Returns how long it was in line.
    pub fn refuse(&mut self, client: C, answer: A, now_ms: i64) -> u64 {
        self.leave_line(client, Stage::Refused(answer), now_ms)
    }

    fn leave_line(&mut self, client: C, stage: Stage<A>, now_ms: i64) -> u64 {
        let Some(waiter) = self.clients.get_mut(&client) else { return 0 };
        if !matches!(waiter.stage, Stage::InLine) {
            return 0;
        }
        waiter.stage = stage;
        let (lock, ticket, wait) = (waiter.lock.clone(), waiter.ticket, waiter.wait);
        self.unanswered.push_back((client, self.next_answer));
        waiter.answer_number = Some(self.next_answer);
        self.next_answer = self.next_answer.wrapping_add(1);
        if matches!(waiter.stage, Stage::Granted(_)) {
            self.granted.add(lock.clone(), client);
        }
        self.remove_from_line(&lock, client, ticket, wait);
        wait.lasted_ms(now_ms)
    }

    fn remove_from_line(&mut self, lock: &DbKey, client: C, ticket: u64, wait: Wait) {
        self.in_line = self.in_line.saturating_sub(1);
        self.dues.remove(wait.until_ms, Due::WaitEnd(client));
        let Some(lines) = self.lines.get_mut(&lock.db) else { return };
        let Some(line) = lines.get_mut(&lock.key) else { return };
        line.waiters.remove(&ticket);
        if !line.waiters.is_empty() {
            return;
        }
        if let Some(look_ms) = line.look_ms {
            self.dues.remove(look_ms, Due::Look(lock.clone()));
        }
        lines.remove(&lock.key);
        if lines.is_empty() {
            self.lines.remove(&lock.db);
        }
    }

    /// This lock may have changed: if a client waits for it, it must be looked at.
    pub fn mark(&mut self, db: i32, key: &[u8]) {
        let Some(lines) = self.lines.get_mut(&db) else { return };
        // The name is shared with the line.
        let Some(name) = lines.get_key_value(key).map(|(name, _)| Rc::clone(name)) else { return };
        let Some(line) = lines.get_mut(key) else { return };
        if !line.is_marked {
            line.is_marked = true;
            self.marked.push_back(DbKey { db, key: name });
        }
    }

    /// All locks of a database may have changed; with none, those of all databases.
    pub fn mark_all(&mut self, db: Option<i32>) {
        for (line_db, lines) in &mut self.lines {
            if db.is_some_and(|db| db != *line_db) {
                continue;
            }
            for (key, line) in lines.iter_mut().filter(|(_, line)| !line.is_marked) {
                line.is_marked = true;
                self.marked.push_back(DbKey { db: *line_db, key: Rc::clone(key) });
            }
        }
    }

    /// The next lock to be looked at, if a client still waits for it.
    pub fn next_marked(&mut self) -> Option<DbKey> {
        while let Some(lock) = self.marked.pop_front() {
            let lines = self.lines.get_mut(&lock.db);
            let line = lines.and_then(|lines| lines.get_mut(&lock.key));
            // A line that ended and started again meanwhile has its own mark, or none.
            if let Some(line) = line.filter(|line| line.is_marked) {
                line.is_marked = false;
                return Some(lock);
            }
        }
        None
    }

    /// The lock is held until `look_ms`, and is looked at then; none if the end is unknown.
    pub fn look_at(&mut self, lock: &DbKey, look_ms: Option<i64>) {
        let lines = self.lines.get_mut(&lock.db);
        let Some(line) = lines.and_then(|lines| lines.get_mut(&lock.key)) else { return };
        if line.look_ms == look_ms {
            return;
        }
        if let Some(before_ms) = line.look_ms {
            self.dues.remove(before_ms, Due::Look(lock.clone()));
        }
        line.look_ms = look_ms;
        if let Some(look_ms) = look_ms {
            self.dues.add(look_ms, Due::Look(lock.clone()));
        }
    }

    /// Marks the locks whose lease should have ended, and returns a client whose wait has ended, to
    /// be refused. Must be called until it returns none.
    pub fn next_overdue(&mut self, now_ms: i64) -> Option<C> {
        while let Some(due) = self.dues.first_until(now_ms) {
            match due {
                Due::WaitEnd(client) => return Some(client),
                Due::Look(lock) => {
                    self.look_at(&lock, None);
                    self.mark(lock.db, &lock.key);
                }
            }
        }
        None
    }

    /// When the next wait or lease ends.
    pub fn next_due_ms(&self) -> Option<i64> {
        self.dues.first_ms()
    }

    pub fn has_marked(&self) -> bool {
        !self.marked.is_empty()
    }

    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The clients that were granted a lock and are not answered yet, with the lock and the token,
    /// in no order.
    pub fn granted(&self) -> Vec<(C, DbKey, Rc<[u8]>)> {
        let clients = self.granted.all();
        let waiters = clients.filter_map(|client| {
            let waiter = self.clients.get(client).filter(|waiter| waiter.handle.is_some())?;
            Some((*client, waiter.lock.clone(), Rc::clone(&waiter.request.token)))
        });
        waiters.collect()
    }

    /// A client lost its granted lock before it was answered: it returns to its place in line.
    pub fn return_to_line(&mut self, client: C) {
        let Some(waiter) = self.clients.get_mut(&client) else { return };
        if !matches!(waiter.stage, Stage::Granted(_)) {
            return;
        }
        let granted = waiter.lock.clone();
        waiter.stage = Stage::InLine;
        waiter.answer_number = None;
        waiter.is_shared = false;
        waiter.lock.db = waiter.home_db;
        let (lock, ticket, wait) = (waiter.lock.clone(), waiter.ticket, waiter.wait);
        self.granted.remove(&granted, client);
        self.enter_line(client, &lock, ticket, wait);
        self.mark(lock.db, &lock.key);
    }

    /// The handle of the next client to be answered. The client counts as a waiter until
    /// [`Waiters::answer`] or [`Waiters::gone`].
    pub fn next_unanswered(&mut self) -> Option<H> {
        while let Some((client, number)) = self.unanswered.pop_front() {
            let waiter = self.clients.get_mut(&client);
            let waiter = waiter.filter(|waiter| waiter.answer_number == Some(number));
            if let Some(handle) = waiter.and_then(|waiter| waiter.handle.take()) {
                return Some(handle);
            }
        }
        None
    }

    /// The grant of a client that has not been answered: the lock, and the request.
    pub fn grant_of(&self, client: C) -> Option<(DbKey, Request)> {
        let waiter = self.clients.get(&client)?;
        let is_granted = matches!(waiter.stage, Stage::Granted(_));
        is_granted.then(|| (waiter.lock.clone(), waiter.request.clone()))
    }

    /// Removes a waiter and returns its answer. None if it is still in line, or unknown.
    pub fn answer(&mut self, client: C) -> Option<(A, Option<H>)> {
        let (Stage::Granted(answer) | Stage::Refused(answer)) = self.clients.get(&client)?.stage
        else {
            return None;
        };
        let waiter = self.clients.remove(&client)?;
        if matches!(waiter.stage, Stage::Granted(_)) {
            self.granted.remove(&waiter.lock, client);
            self.confirm(waiter.lock.db, &waiter.lock.key, &waiter.request.token);
        }
        Some((answer, waiter.handle))
    }

    /// The client can no longer be answered, so its grant must be undone. Returns the handle to
    /// unblock it, and how long it was in line, if it was.
    pub fn gone(&mut self, client: C, now_ms: i64) -> Option<(Option<H>, u64)> {
        let waiter = self.clients.remove(&client)?;
        if matches!(waiter.stage, Stage::Granted(_)) {
            self.granted.remove(&waiter.lock, client);
        }
        let waited_ms = match waiter.stage {
            Stage::InLine => {
                self.remove_from_line(&waiter.lock, client, waiter.ticket, waiter.wait);
                waiter.wait.lasted_ms(now_ms)
            }
            Stage::Granted(_) if !waiter.is_shared && !self.is_granted_to_another(&waiter) => {
                self.lost.add(Lost { lock: waiter.lock, token: waiter.request.token });
                0
            }
            Stage::Granted(_) | Stage::Refused(_) => 0,
        };
        Some((waiter.handle, waited_ms))
    }

    /// Is another client with the same token still to be answered with the same grant?
    fn is_granted_to_another(&self, gone: &Waiter<H, A>) -> bool {
        let others = self.granted.of(&gone.lock);
        others
            .filter_map(|client| self.clients.get(client))
            .any(|other| other.request.token == gone.request.token)
    }

    /// The next grant to be undone.
    pub fn next_lost(&mut self) -> Option<Lost> {
        self.lost.take_first()
    }

    /// Forgets the grants to be undone: they stay as they are.
    pub fn forget_lost(&mut self) {
        self.lost.clear();
    }

    /// A client was answered that it holds this lock with this token: no grant of the lock with
    /// this token is undone.
    pub fn confirm(&mut self, db: i32, key: &[u8], token: &[u8]) {
        if self.lost.is_empty() && self.granted.is_empty() {
            return;
        }
        let lock = DbKey::new(db, key);
        self.lost.remove(&lock, token);
        for client in self.granted.of(&lock) {
            if let Some(waiter) = self.clients.get_mut(client)
                && *waiter.request.token == *token
            {
                waiter.is_shared = true;
            }
        }
    }
}

#[cfg(test)]
mod tests;
