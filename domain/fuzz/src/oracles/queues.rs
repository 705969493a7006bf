//! The queues of waiters, compared step by step with lists.

use std::collections::{BTreeMap, BTreeSet};

use domain::db_key::{DbKey, swapped_db};
use domain::lock::queues::{Name, Queues, Wait};
use domain::lock::{Grant, LockRequest};

use crate::input::Input;

type Letters = Queues<u32, u32, char>;

/// A client that waits, in the database that it selected.
#[derive(Clone, Debug)]
struct Waiting {
    client: u32,
    token: u8,
    home: DbKey,
    until_ms: u64,
}

/// A lock that was handed over, where it is now.
struct Granted {
    lock: DbKey,
    token: u8,
    waiting: Option<Waiting>,
    is_confirmed: bool,
}

#[derive(Default)]
struct Model {
    now_ms: u64,
    next: u32,
    /// By the number of the place.
    queue: BTreeMap<u32, Waiting>,
    granted: BTreeMap<u32, Granted>,
    told: BTreeMap<u32, Option<char>>,
    unanswered: BTreeSet<u32>,
    marked: BTreeSet<DbKey>,
    look_ms: BTreeMap<DbKey, i64>,
}

/// Queues are FIFO with one place for each token, no client is forgotten, and every grant is
/// answered or undone.
pub(crate) fn queues(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (mut queues, mut model) = (Letters::default(), Model::default());
    while !input.is_empty() {
        model.now_ms += u64::from(input.below(4));
        let lock = DbKey::new(i32::from(input.below(2)), &[b'a' + input.below(2)]);
        let token = input.below(4);
        match input.below(12) {
            0..3 => model.join(&mut queues, &lock, token, 1 + u64::from(input.below(60))),
            3 | 4 => model.grant(&mut queues, &lock),
            5 => model.answer(&mut queues, &mut input),
            6 => model.return_to_queue(&mut queues, &lock),
            7 => model.mark(&mut queues, &mut input, &lock),
            8 => model.time(&mut queues, &mut input, &lock),
            9 => {
                queues.take_over(&lock, &name(token));
                model.take_over(&lock, token);
                model.tidy();
            }
            10 => {
                queues.confirm(&lock, &name(token));
                let granted = model.granted.values_mut();
                let same = |one: &&mut Granted| one.lock == lock && one.token == token;
                granted.filter(same).for_each(|one| one.is_confirmed = true);
            }
            _ => match input.below(3) {
                0 => model.swap(&mut queues),
                1 => model.leave(&mut queues, &lock),
                _ => model.gone(&mut queues, u32::from(input.below(64))),
            },
        }
        model.check(&queues, &lock);
    }
    for client in 0..model.next {
        model.gone(&mut queues, client);
    }
    queues.forget_lost(|_| true);
    assert!(queues.is_idle() && queues.in_queue().all() == 0);
    assert_eq!(queues.next_due_in(0, 0), None);
}

fn name(token: u8) -> Name {
    [token].into()
}

impl Model {
    fn join(&mut self, queues: &mut Letters, lock: &DbKey, token: u8, wait_ms: u64) {
        let (client, until_ms) = (self.next, self.now_ms + wait_ms);
        self.next += 1;
        let request = LockRequest {
            token: name(token),
            lease_ms: 9,
            with_fence: false,
            session: None,
            user: name(token % 2),
        };
        let wait = Wait { since_ms: self.now_ms, until_ms };
        queues.join(client, client, lock, request, wait);
        let place = self.take_over(lock, token).unwrap_or(client);
        self.queue.insert(place, Waiting { client, token, home: lock.clone(), until_ms });
        self.marked.insert(lock.clone());
        self.tidy();
    }

    /// Those who wait with a token, or were granted the lock with it, are told that they don't get
    /// it. Returns the first place among them.
    fn take_over(&mut self, lock: &DbKey, token: u8) -> Option<u32> {
        let of_grants = self.granted.iter();
        let of_grants = of_grants.filter(|(_, one)| one.lock == *lock && one.token == token);
        let of_queue = self.queue.iter();
        let of_queue = of_queue.filter(|(_, one)| one.home == *lock && one.token == token);
        let places = of_queue.map(|(place, _)| *place);
        let places: Vec<u32> = places.chain(of_grants.map(|(place, _)| *place)).collect();
        let mut first = None;
        for place in places {
            let granted = self.granted.remove(&place);
            let waiting = granted.map_or_else(|| self.queue.remove(&place), |one| one.waiting);
            if let Some(waiting) = waiting {
                first = Some(first.unwrap_or(place).min(place));
                self.tell(waiting.client, None);
            }
        }
        first
    }

    fn tell(&mut self, client: u32, answer: Option<char>) {
        self.told.insert(client, answer);
        self.unanswered.insert(client);
    }

    /// Marks and looks are those of locks with a queue or a grant.
    fn tidy(&mut self) {
        let of_queue = self.queue.values().map(|one| &one.home);
        let locks = of_queue.chain(self.granted.values().map(|one| &one.lock)).cloned();
        let locks: BTreeSet<DbKey> = locks.collect();
        self.marked.retain(|lock| locks.contains(lock));
        self.look_ms.retain(|lock, _| locks.contains(lock));
    }

    fn head(&self, lock: &DbKey) -> Option<u32> {
        self.queue.iter().find(|(_, one)| one.home == *lock).map(|(place, _)| *place)
    }

    fn grant_of(&self, lock: &DbKey) -> Option<u32> {
        self.granted.iter().find(|(_, one)| one.lock == *lock).map(|(place, _)| *place)
    }

    /// The first in the queue, if no grant of the lock has to end first.
    fn grant(&mut self, queues: &mut Letters, lock: &DbKey) {
        let Some(place) = self.head(lock).filter(|_| self.grant_of(lock).is_none()) else { return };
        queues.grant_head(lock, 'y');
        let waiting = self.queue.remove(&place).expect("the head");
        self.unanswered.insert(waiting.client);
        let (lock, token) = (lock.clone(), waiting.token);
        let granted = Granted { lock, token, waiting: Some(waiting), is_confirmed: false };
        self.granted.insert(place, granted);
    }

    fn return_to_queue(&mut self, queues: &mut Letters, lock: &DbKey) {
        let Some(place) = self.grant_of(lock) else { return };
        queues.return_to_queue(lock);
        self.marked.insert(lock.clone());
        let granted = self.granted.remove(&place).expect("a grant");
        self.tidy();
        if let Some(waiting) = granted.waiting {
            let same = |one: &Waiting| one.home == waiting.home && one.token == waiting.token;
            if self.queue.values().any(same) {
                self.tell(waiting.client, None);
            } else {
                self.unanswered.remove(&waiting.client);
                self.marked.insert(waiting.home.clone());
                self.queue.insert(place, waiting);
            }
        }
        self.tidy();
    }

    /// Answers a client, in turn or out of turn.
    fn answer(&mut self, queues: &mut Letters, input: &mut Input<'_>) {
        let client = if input.flag() {
            let handle = queues.next_unanswered();
            assert_eq!(handle.is_none(), self.unanswered.is_empty());
            let Some(client) = handle else { return };
            assert!(self.unanswered.remove(&client), "{client}");
            client
        } else {
            u32::from(input.below(64))
        };
        let answered = queues.answer(client);
        self.unanswered.remove(&client);
        if let Some(answer) = self.told.remove(&client) {
            let answered = answered.expect("an answer");
            assert!(answered.answer == answer && answered.held.is_none());
            return;
        }
        let of = |one: &Granted| one.waiting.as_ref().is_some_and(|one| one.client == client);
        let place = self.granted.iter().find(|(_, one)| of(one)).map(|(place, _)| *place);
        let Some(place) = place else { return assert!(answered.is_none()) };
        let granted = self.granted.remove(&place).expect("a grant");
        let (lock, request) = answered.and_then(|answered| answered.held).expect("a lock");
        assert_eq!((lock, request.token), (granted.lock, name(granted.token)));
        self.tidy();
    }

    fn mark(&mut self, queues: &mut Letters, input: &mut Input<'_>, lock: &DbKey) {
        match input.below(6) {
            0..3 => {
                queues.mark(lock.db, &lock.key);
                self.marked.insert(lock.clone());
            }
            3 => {
                let db = input.flag().then_some(lock.db);
                queues.mark_all(db);
                self.mark_all(|lock| db.is_none_or(|db| lock.db == db));
            }
            _ => match queues.next_marked() {
                Some(lock) => assert!(self.marked.remove(&lock), "nobody waits, or no mark"),
                None => assert!(self.marked.is_empty(), "a mark was forgotten"),
            },
        }
        self.tidy();
    }

    fn mark_all(&mut self, is_it: impl Fn(&DbKey) -> bool) {
        let locks = self.queue.values().map(|one| &one.home);
        let locks = locks.chain(self.granted.values().map(|one| &one.lock));
        self.marked.extend(locks.filter(|lock| is_it(lock)).cloned());
    }

    /// Leases and waits end. Both clocks say the same here.
    fn time(&mut self, queues: &mut Letters, input: &mut Input<'_>, lock: &DbKey) {
        let now_ms = i64::try_from(self.now_ms).expect("a time");
        let look_ms = input.flag().then_some(now_ms + 5);
        queues.look_at(lock, look_ms);
        self.look_ms.remove(lock);
        self.look_ms.extend(look_ms.map(|look_ms| (lock.clone(), look_ms)));
        self.tidy();
        let waits = self.queue.values().map(|one| one.until_ms.saturating_sub(self.now_ms));
        let looks = self.look_ms.values().map(|look_ms| look_ms.abs_diff(now_ms.min(*look_ms)));
        assert_eq!(queues.next_due_in(self.now_ms, now_ms), waits.chain(looks).min());
        while let Some(late) = queues.overdue(self.now_ms) {
            let place = self.queue.iter().find(|(_, one)| one.client == late);
            let place = *place.expect("a client in the queue").0;
            assert!(self.queue[&place].until_ms <= self.now_ms, "too early");
            queues.refuse(late, None);
            self.queue.remove(&place);
            self.tell(late, None);
        }
        assert!(self.queue.values().all(|one| one.until_ms > self.now_ms), "too late");
        self.tidy();
        queues.mark_ended(now_ms);
        let ended = self.look_ms.iter().filter(|(_, look_ms)| **look_ms <= now_ms);
        self.marked.extend(ended.map(|(lock, _)| lock.clone()));
        self.look_ms.retain(|_, look_ms| *look_ms > now_ms);
    }

    /// Waiters stay in their database; granted locks move with theirs.
    fn swap(&mut self, queues: &mut Letters) {
        queues.swap(0, 1);
        for one in self.granted.values_mut() {
            one.lock.db = swapped_db(one.lock.db, 0, 1);
        }
        self.tidy();
        self.mark_all(|_| true);
    }

    /// The locks of a name are on another node now, in every database.
    fn leave(&mut self, queues: &mut Letters, lock: &DbKey) {
        let mut left = queues.leave(|key| *key == *lock.key);
        left.sort_unstable();
        let places: Vec<u32> = {
            let of = self.queue.iter().filter(|(_, one)| one.home.key == lock.key);
            of.map(|(place, _)| *place).collect()
        };
        self.granted.retain(|_, one| one.lock.key != lock.key || one.waiting.is_some());
        let mut clients = Vec::new();
        for place in places {
            let waiting = self.queue.remove(&place).expect("a place");
            queues.refuse(waiting.client, Some('n'));
            self.tell(waiting.client, Some('n'));
            clients.push(waiting.client);
        }
        clients.sort_unstable();
        assert_eq!(left, clients);
        self.tidy();
    }

    fn gone(&mut self, queues: &mut Letters, client: u32) {
        let ended = queues.gone(client);
        self.unanswered.remove(&client);
        let in_queue = self.queue.iter().find(|(_, one)| one.client == client);
        let in_queue =
            in_queue.map(|(place, _)| *place).and_then(|place| self.queue.remove(&place));
        let of = |one: &Granted| one.waiting.as_ref().is_some_and(|one| one.client == client);
        let granted = self.granted.iter().find(|(_, one)| of(one)).map(|(place, _)| *place);
        let was_there =
            in_queue.is_some() || granted.is_some() || self.told.remove(&client).is_some();
        assert_eq!(ended.is_some(), was_there);
        // A grant that nobody else knows of is to be undone.
        if let Some(place) = granted {
            let mut one = self.granted.remove(&place).expect("a grant");
            one.waiting = None;
            self.granted.extend(Some((place, one)).filter(|(_, one)| !one.is_confirmed));
        }
        self.tidy();
    }

    fn check(&self, queues: &Letters, lock: &DbKey) {
        assert_eq!(queues.in_queue().all(), self.queue.len());
        let of_user = self.queue.values().filter(|one| one.token % 2 == 1);
        assert_eq!(queues.in_queue().of(&[1]), of_user.count());
        let here = self.queue.values().filter(|one| one.home == *lock);
        assert_eq!(queues.len(lock), here.count());
        let head = self.head(lock).map(|place| name(self.queue[&place].token));
        assert_eq!(queues.head(lock).map(|request| request.token.clone()), head);
        let grant = self.grant_of(lock).map(|place| &self.granted[&place]);
        let has_client = grant.is_some_and(|one| one.waiting.is_some());
        assert_eq!(queues.is_waited_for(lock), has_client || head.is_some());
        let grant = grant.map(|one| Grant {
            token: name(one.token),
            has_client,
            is_confirmed: one.is_confirmed,
        });
        assert_eq!(queues.grant(lock), grant);
        assert_eq!(queues.granted().len(), self.granted.len());
        assert!(queues.has_marked() || self.marked.is_empty(), "a mark was forgotten");
    }
}
