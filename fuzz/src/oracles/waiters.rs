//! The lines of waiters, compared step by step with lists.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use domain::db_key::{DbKey, swapped_db};
use domain::waiters::{Lost, Request, Wait, Waiters};

use crate::input::Input;

type Lines = Waiters<u32, u32, char>;

/// A client in line: the lock, in the database that it selected, and the end of its wait.
#[derive(Clone)]
struct Waiting {
    lock: DbKey,
    until_ms: i64,
}

/// A client that left the line and is not answered yet.
struct Unanswered {
    client: u32,
    answer: char,
    /// Its wait, and the lock with its current database.
    waiting: Waiting,
    lock: DbKey,
    /// Another client has been answered that it holds the lock with the same token.
    is_shared: bool,
}

#[derive(Default)]
struct Model {
    now_ms: i64,
    next: u32,
    /// Clients get their numbers in the order of arrival.
    line: BTreeMap<u32, Waiting>,
    /// In the order in which they are answered.
    unanswered: Vec<Unanswered>,
    /// Grants to be undone: the lock and the token.
    lost: Vec<(DbKey, Rc<[u8]>)>,
    marked: BTreeSet<DbKey>,
    look_ms: BTreeMap<DbKey, i64>,
}

/// Lines are FIFO, no client is forgotten, and every grant is answered or undone.
pub(crate) fn waiters(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (mut lines, mut model) = (Lines::default(), Model::default());
    while !input.is_empty() {
        model.now_ms += i64::from(input.below(4));
        let lock = DbKey::new(i32::from(input.below(2)), &[b'a' + input.below(2)]);
        match input.below(10) {
            0..3 => model.join(&mut lines, &lock, 1 + i64::from(input.below(60))),
            3 | 4 => model.grant(&mut lines, &lock),
            5 => model.answer(&mut lines, &mut input),
            6 => model.lose(&mut lines, &mut input, &lock),
            7 => model.mark(&mut lines, &mut input, &lock),
            8 => model.time(&mut lines, &mut input, &lock),
            _ => match input.below(3) {
                0 => model.swap(&mut lines),
                1 => model.leave(&mut lines, &lock),
                _ => model.gone(&mut lines, u32::from(input.below(64))),
            },
        }
        model.check(&lines, &lock);
    }
    let clients = model.line.keys().copied();
    let clients = clients.chain(model.unanswered.iter().map(|client| client.client));
    for client in clients.collect::<Vec<_>>() {
        model.gone(&mut lines, client);
    }
    while let Some(lost) = lines.next_lost() {
        model.undo(&lost);
    }
    assert!(model.lost.is_empty() && lines.is_idle() && lines.in_line() == 0);
    assert_eq!(lines.next_due_ms(), None);
}

/// Some clients have the same token.
fn token(client: u32) -> Rc<[u8]> {
    (client % 5).to_string().into_bytes().into()
}

impl Model {
    fn join(&mut self, lines: &mut Lines, lock: &DbKey, wait_ms: i64) {
        let (client, until_ms) = (self.next, self.now_ms + wait_ms);
        self.next += 1;
        let request =
            Request { token: token(client), lease_ms: 9, with_fence: false, connection: None };
        let wait = Wait { since_ms: self.now_ms, until_ms };
        lines.join(client, client, lock, request, wait);
        self.line.insert(client, Waiting { lock: lock.clone(), until_ms });
    }

    fn head(&self, lock: &DbKey) -> Option<u32> {
        self.line.iter().find(|(_, waiting)| waiting.lock == *lock).map(|(client, _)| *client)
    }

    fn leave_line(&mut self, client: u32) -> Option<Waiting> {
        let waiting = self.line.remove(&client)?;
        if self.head(&waiting.lock).is_none() {
            self.marked.remove(&waiting.lock);
            self.look_ms.remove(&waiting.lock);
        }
        Some(waiting)
    }

    fn grant(&mut self, lines: &mut Lines, lock: &DbKey) {
        let Some(client) = self.head(lock) else { return };
        lines.grant(client, 'y', self.now_ms);
        let token = token(client);
        self.lost.retain(|(other, of)| other != lock || *of != token);
        self.end(client, 'y');
    }

    fn refuse(&mut self, lines: &mut Lines, client: u32) {
        lines.refuse(client, 'n', self.now_ms);
        self.end(client, 'n');
    }

    fn end(&mut self, client: u32, answer: char) {
        let waiting = self.leave_line(client).expect("a client in line");
        let lock = waiting.lock.clone();
        self.unanswered.push(Unanswered { client, answer, waiting, lock, is_shared: false });
    }

    /// Answers a client, in turn or out of turn, or finds that it is gone.
    fn answer(&mut self, lines: &mut Lines, input: &mut Input<'_>) {
        if self.unanswered.is_empty() {
            assert_eq!(lines.next_unanswered(), None);
            return;
        }
        let is_in_turn = input.flag();
        let index = if is_in_turn { 0 } else { usize::from(input.byte()) % self.unanswered.len() };
        let Unanswered { client, answer, .. } = self.unanswered[index];
        if is_in_turn {
            assert_eq!(lines.next_unanswered(), Some(client));
            if input.flag() {
                let ended = lines.gone(client, self.now_ms);
                assert_eq!(ended, Some((None, 0)));
                self.forget(index);
                return;
            }
        }
        assert_eq!(lines.answer(client), Some((answer, (!is_in_turn).then_some(client))));
        let answered = self.unanswered.remove(index);
        if answer == 'y' {
            self.confirm(&answered.lock, &token(client));
        }
    }

    fn confirm(&mut self, lock: &DbKey, token_of: &[u8]) {
        self.lost.retain(|(other, of)| other != lock || **of != *token_of);
        for other in &mut self.unanswered {
            other.is_shared |= other.lock == *lock && *token(other.client) == *token_of;
        }
    }

    /// A client that was not answered is gone: its grant must be undone, unless another client has
    /// the lock with the same token.
    fn forget(&mut self, index: usize) {
        let Unanswered { client, answer, lock, is_shared, .. } = self.unanswered.remove(index);
        let is_same = |other: &Unanswered| {
            other.answer == 'y' && other.lock == lock && token(other.client) == token(client)
        };
        if answer == 'y' && !is_shared && !self.unanswered.iter().any(is_same) {
            self.lost.push((lock, token(client)));
        }
    }

    /// A grant is confirmed, lost before its client was answered, or undone.
    fn lose(&mut self, lines: &mut Lines, input: &mut Input<'_>, lock: &DbKey) {
        match input.below(8) {
            0 => {
                lines.forget_lost();
                self.lost.clear();
            }
            1 | 2 => {
                let token = token(u32::from(input.below(5)));
                lines.confirm(lock.db, &lock.key, &token);
                self.confirm(lock, &token);
            }
            3 | 4 => match lines.next_lost() {
                Some(lost) => self.undo(&lost),
                None => assert!(self.lost.is_empty(), "a grant is never undone"),
            },
            _ => {
                let can_return = |one: &Unanswered| one.answer == 'y';
                let Some(index) = self.unanswered.iter().position(can_return) else { return };
                let Unanswered { client, waiting, .. } = self.unanswered.remove(index);
                lines.return_to_line(client);
                // It waits again in the database that it selected, even if the lock was moved.
                self.marked.insert(waiting.lock.clone());
                self.line.insert(client, waiting);
            }
        }
    }

    fn undo(&mut self, lost: &Lost) {
        let same = |(lock, token): &(DbKey, Rc<[u8]>)| *lock == lost.lock && *token == lost.token;
        let index = self.lost.iter().position(same).expect("a grant that was lost");
        self.lost.remove(index);
    }

    fn mark(&mut self, lines: &mut Lines, input: &mut Input<'_>, lock: &DbKey) {
        match input.below(6) {
            0..3 => {
                lines.mark(lock.db, &lock.key);
                if self.head(lock).is_some() {
                    self.marked.insert(lock.clone());
                }
            }
            3 => {
                let db = input.flag().then_some(lock.db);
                lines.mark_all(db);
                self.mark_all(|lock| db.is_none_or(|db| lock.db == db));
            }
            _ => match lines.next_marked() {
                Some(lock) => assert!(self.marked.remove(&lock), "nobody waits, or no mark"),
                None => assert!(self.marked.is_empty(), "a mark was forgotten"),
            },
        }
    }

    fn mark_all(&mut self, is_it: impl Fn(&DbKey) -> bool) {
        let locks = self.line.values().map(|waiting| &waiting.lock);
        self.marked.extend(locks.filter(|lock| is_it(lock)).cloned());
    }

    /// Leases and waits end.
    fn time(&mut self, lines: &mut Lines, input: &mut Input<'_>, lock: &DbKey) {
        let look_ms = input.flag().then_some(self.now_ms + 5);
        lines.look_at(lock, look_ms);
        self.look_ms.remove(lock);
        if let Some(look_ms) = look_ms.filter(|_| self.head(lock).is_some()) {
            self.look_ms.insert(lock.clone(), look_ms);
        }
        let ends = self.line.values().map(|waiting| waiting.until_ms);
        assert_eq!(lines.next_due_ms(), ends.chain(self.look_ms.values().copied()).min());
        while let Some(late) = lines.next_overdue(self.now_ms) {
            assert!(self.line[&late].until_ms <= self.now_ms, "too early");
            self.refuse(lines, late);
        }
        assert!(self.line.values().all(|waiting| waiting.until_ms > self.now_ms), "too late");
        let ended = self.look_ms.iter().filter(|(_, look_ms)| **look_ms <= self.now_ms);
        self.marked.extend(ended.map(|(lock, _)| lock.clone()));
        self.look_ms.retain(|_, look_ms| *look_ms > self.now_ms);
    }

    /// Waiters stay in their database; granted locks move with theirs.
    fn swap(&mut self, lines: &mut Lines) {
        lines.swap(0, 1);
        for one in self.unanswered.iter_mut().filter(|one| one.answer == 'y') {
            one.lock.db = swapped_db(one.lock.db, 0, 1);
        }
        for (lock, _) in &mut self.lost {
            lock.db = swapped_db(lock.db, 0, 1);
        }
        self.mark_all(|_| true);
    }

    /// The locks of a name are on another node now, in every database.
    fn leave(&mut self, lines: &mut Lines, lock: &DbKey) {
        let mut left = lines.leave(|key| *key == *lock.key);
        left.sort_unstable();
        let waiting = self.line.iter().filter(|(_, waiting)| waiting.lock.key == lock.key);
        let clients: Vec<u32> = waiting.map(|(client, _)| *client).collect();
        assert_eq!(left, clients);
        self.lost.retain(|(other, _)| other.key != lock.key);
        for client in left {
            self.refuse(lines, client);
        }
    }

    fn gone(&mut self, lines: &mut Lines, client: u32) {
        let ended = lines.gone(client, self.now_ms);
        let index = self.unanswered.iter().position(|one| one.client == client);
        if self.leave_line(client).is_some() {
            assert!(ended.is_some_and(|(handle, _)| handle == Some(client)));
        } else if let Some(index) = index {
            assert_eq!(ended, Some((Some(client), 0)));
            self.forget(index);
        } else {
            assert_eq!(ended, None);
        }
    }

    fn check(&self, lines: &Lines, lock: &DbKey) {
        assert_eq!(lines.in_line(), self.line.len());
        let here = self.line.values().filter(|waiting| waiting.lock == *lock);
        assert_eq!(lines.len(lock.db, &lock.key), here.count());
        assert_eq!(lines.head(lock).map(|(client, _)| client), self.head(lock));
        let granted = self.unanswered.iter().filter(|one| one.answer == 'y');
        let granted = granted.map(|one| (one.client, one.lock.clone(), token(one.client)));
        // The order is undefined, since each lock is looked at separately.
        let mut found = lines.granted();
        found.sort_unstable();
        assert_eq!(found, granted.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
        assert_eq!(lines.has_lost(), !self.lost.is_empty());
        assert!(lines.has_marked() || self.marked.is_empty(), "a mark was forgotten");
    }
}
