//! One lock, its queue and its clients, as maps: facts and plans are those of the module.
//!
//! Beside them the model keeps what must be true, in its own words, and notes the first thing that
//! is not.

use domain::lock::fence::Exhausted;
use domain::lock::queue::{LockQueue, LockWaiter};
use domain::lock::{
    self as decision, FenceWrite, LockDecision, LockPlan, LockRequest, LockWrite, NOT_ACQUIRED,
    QueueStep,
};

use crate::faults::Fault;
use crate::view::View;

/// A token, as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub [u8; 1]);

impl AsRef<[u8]> for Token {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The first moment: greater than the answers that are not fencing tokens.
pub const START: i64 = 10;

/// The token of somebody who overwrites the lock with SET.
const STRANGER: Token = Token([99]);

pub type Planned = LockPlan<Token, Exhausted>;
type Decided = LockDecision<Token, Exhausted>;

/// The lock's key. It expires when `until` has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub token: Token,
    pub until: Option<i64>,
}

/// A client that is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blocked {
    pub token: Token,
    pub lease: i64,
    pub with_fence: bool,
    pub until: i64,
}

#[derive(Clone, Debug)]
pub struct World {
    pub now: i64,
    pub key: Option<Key>,
    pub fence: Option<(i64, Token)>,
    pub queue: LockQueue<Token, usize>,
    pub clients: [Option<Blocked>; 4],
    /// The answer of the client that was granted the lock.
    pub granted: i64,
    next_ticket: u64,
    pub is_marked: bool,
    pub look: Option<i64>,
    pub truth: Truth,
    pub bad: Option<&'static str>,
}

/// What the model knows by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Truth {
    /// The clients that wait, in the order of arrival of their tokens.
    pub order: Vec<(Token, usize)>,
    /// Does somebody know that the lock is held?
    pub is_known: bool,
    /// The number of the present holder.
    pub number: Option<i64>,
}

/// A command, with its client's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Acquire {
        token: u8,
        lease: i64,
        wait: i64,
        with_fence: bool,
    },
    Renew {
        token: u8,
        lease: i64,
    },
    Release {
        token: u8,
    },
    /// Somebody deletes the key.
    Delete,
    /// Somebody overwrites it.
    Overwrite,
    /// A waiting client, by its place in the queue; beyond the last, the one that was granted.
    Vanish {
        place: usize,
    },
    /// The end of a turn. Not heard: the client that was granted the lock vanishes at the last
    /// moment, when its answer is on its way.
    EndTurn {
        is_heard: bool,
    },
    Tick,
}

impl World {
    pub fn new() -> Self {
        Self {
            now: START,
            key: None,
            fence: None,
            queue: LockQueue::default(),
            clients: [None; 4],
            granted: 0,
            next_ticket: 0,
            is_marked: false,
            look: None,
            truth: Truth::default(),
            bad: None,
        }
    }

    /// Notes what is wrong, if it is the first.
    pub fn must(&mut self, is_true: bool, what: &'static str) {
        if !is_true && self.bad.is_none() {
            self.bad = Some(what);
        }
    }

    fn view(&self, may_wait: bool, fault: Fault) -> View<'_> {
        View { world: self, may_wait, fault }
    }

    /// A client that waits for nothing; none if all wait.
    pub fn idle(&self) -> Option<usize> {
        self.clients.iter().position(Option::is_none)
    }

    pub fn can_vanish(&self, place: usize) -> bool {
        place < self.queue.len()
            || place == self.queue.len() && self.queue.granted_client().is_some()
    }

    pub fn act(&mut self, action: Action, fault: Fault) {
        match action {
            Action::Acquire { token, lease, wait, with_fence } => {
                let blocked =
                    Blocked { token: Token([token]), lease, with_fence, until: self.now + wait };
                self.acquire(blocked, wait > 0, fault);
            }
            Action::Renew { token, lease } => {
                let view = self.view(false, fault);
                let decided = decision::renew(&view, Token([token]), lease, self.now);
                self.command(decided.ok(), Token([token]), fault);
            }
            Action::Release { token } => {
                let decided = decision::release(&self.view(false, fault), Token([token]));
                self.command(decided.ok(), Token([token]), fault);
            }
            Action::Delete => {
                self.key = None;
                self.is_marked = true;
            }
            Action::Overwrite => {
                // An event is fired for a new key only.
                self.is_marked |= self.key.is_none();
                self.key = Some(Key { token: STRANGER, until: None });
                (self.truth.is_known, self.truth.number) = (true, None);
            }
            Action::Vanish { place } => self.vanish(place),
            Action::EndTurn { is_heard } => self.end_turn(is_heard, fault),
            Action::Tick => {
                self.now += 1;
                let is_over = |key: &mut Key| key.until.is_some_and(|until| until < self.now);
                self.key.take_if(is_over);
            }
        }
    }

    fn acquire(&mut self, blocked: Blocked, may_wait: bool, fault: Fault) {
        let Blocked { token, lease, with_fence, .. } = blocked;
        let request =
            LockRequest { token, lease_ms: lease, with_fence, session: None, user: Token([0]) };
        let decided = decision::acquire(&self.view(may_wait, fault), &request, self.now);
        let is_repeat = self.key.is_some_and(|key| key.token == token);
        let number = self.truth.number;
        let is_free = self.key.is_none() && self.truth.order.is_empty();
        let Some(decided) = self.command(decided.ok(), token, fault) else { return };
        let LockDecision { answer, plan } = decided;
        self.must(!is_free || answer.is_some_and(|answer| answer > 0), "a free lock is refused");
        match answer {
            None => self.join(blocked, request),
            Some(NOT_ACQUIRED) => self.must(!is_repeat, "a repeat is refused"),
            Some(answer) => {
                self.check_answer(answer, token, with_fence);
                if with_fence && is_repeat && number.is_some() {
                    self.must(Some(answer) == number, "a repeat is answered otherwise");
                }
                self.must(plan.lock.is_some(), "a lock without a lease");
            }
        }
    }

    fn join(&mut self, blocked: Blocked, request: LockRequest<Token>) {
        let client = self.idle().expect("an idle client");
        let waiter = LockWaiter { client, ticket: self.next_ticket, request };
        self.next_ticket += 1;
        let (_, taken) = self.queue.join(waiter);
        let taken: Vec<_> = taken.iter().flatten().map(|waiter| waiter.client).collect();
        match self.truth.order.iter_mut().find(|(token, _)| *token == blocked.token) {
            Some((_, place)) => {
                let before = std::mem::replace(place, client);
                self.must(taken == [before], "a place was taken over, and nobody answered");
            }
            None => self.truth.order.push((blocked.token, client)),
        }
        self.free(&taken);
        self.clients[client] = Some(blocked);
        self.is_marked = true;
    }

    fn free(&mut self, clients: &[usize]) {
        for client in clients {
            self.clients[*client] = None;
        }
    }

    /// Applies what a command decided.
    fn command(&mut self, decided: Option<Decided>, token: Token, by: Fault) -> Option<Decided> {
        let mut decision = decided?;
        by.edit(&mut decision.plan);
        // What is written on behalf of the queue is no news to it.
        self.is_marked |= decision.plan.lock.is_some()
            && self.queue.is_waited_for()
            && decision.plan.queue != Some(QueueStep::Serve);
        let is_held = self.key.is_some_and(|key| key.token == token);
        self.apply(&decision.plan, by);
        let is_refused = decision.answer == Some(NOT_ACQUIRED);
        self.must(!is_held || !is_refused, "the holder is refused");
        if decision.answer.is_some_and(|answer| answer > 0) {
            let holds = self.key.is_some_and(|key| key.token == token);
            let is_release = matches!(decision.plan.lock, Some(LockWrite::Delete));
            self.must(
                if is_release { is_held } else { holds },
                "told that it holds, and it does not",
            );
            self.truth.is_known |= !is_release;
        }
        Some(decision)
    }

    /// Writes a plan.
    fn apply(&mut self, plan: &Planned, fault: Fault) {
        let token = plan.token;
        let is_own = self.key.is_some_and(|key| key.token == token);
        match plan.lock {
            Some(LockWrite::Take { until_ms }) => {
                self.must(self.key.is_none(), "two owners");
                let first = self.truth.order.first().map_or(token, |(first, _)| *first);
                self.must(first == token, "overtaken");
                self.key = Some(Key { token, until: Some(until_ms) });
                (self.truth.is_known, self.truth.number) = (false, None);
            }
            Some(LockWrite::Extend { until_ms }) => {
                self.must(is_own, "a lock of somebody else is extended");
                if let Some(key) = &mut self.key {
                    key.until = Some(until_ms);
                }
            }
            Some(LockWrite::Delete) => {
                self.must(is_own, "a lock of somebody else is released");
                let is_undone = plan.queue == Some(QueueStep::Return);
                self.must(!is_undone || !self.truth.is_known, "a known lock is taken away");
                self.key = None;
            }
            None => {}
        }
        let is_extended = matches!(plan.lock, Some(LockWrite::Extend { .. }));
        let is_needed = is_extended && self.fence.is_some();
        self.must(!is_needed || plan.fence.is_some(), "a fence key does not follow the lease");
        let extends = matches!(plan.fence, Some(FenceWrite::Extend { .. }));
        self.must(!extends || is_needed, "a fence key is extended without need");
        if let Some(FenceWrite::Issue { number, .. }) = plan.fence {
            let is_taken = matches!(plan.lock, Some(LockWrite::Take { .. }));
            let is_again = self.fence == Some((number, token)) && !is_taken;
            let is_next = self.fence.is_none_or(|(last, _)| last < number);
            self.must(is_again || is_next, "a fencing token is issued twice, or does not grow");
            self.fence = Some((number, token));
            self.truth.number = Some(number);
        }
        if let Some(step) = plan.queue {
            self.step(step, token, fault);
        }
    }

    fn step(&mut self, step: QueueStep<Exhausted>, token: Token, fault: Fault) {
        match step {
            // Done by the command.
            QueueStep::Join => {}
            QueueStep::TakeOver => {
                let taken = self.queue.take_over(&token);
                let taken: Vec<_> = taken.iter().flatten().map(|waiter| waiter.client).collect();
                self.truth.order.retain(|(_, client)| !taken.contains(client));
                self.free(&taken);
            }
            QueueStep::Confirm => self.queue.confirm(&token),
            QueueStep::Look => self.is_marked = true,
            QueueStep::LookAt(until) => self.look = until.map(|until| until + 1),
            QueueStep::Serve => self.serve(fault),
            QueueStep::Grant { answer } => {
                let waiter = self.queue.grant_head().expect("a head");
                self.must(waiter.request.token == token, "granted to another than the first");
                self.granted = answer;
            }
            QueueStep::Refuse(Exhausted) => unreachable!("numbers are small"),
            QueueStep::Return => {
                if let Some(waiter) = self.queue.answered() {
                    let is_there = self.queue.return_to_queue(waiter).is_none();
                    self.must(is_there, "a place was taken over, and its grant was not");
                }
                self.is_marked = true;
            }
        }
    }

    fn serve(&mut self, fault: Fault) {
        for _ in 0..9 {
            let now = self.now;
            let Some(mut plan) = decision::serve(&self.view(false, fault), now) else { return };
            let is_over = matches!(plan.queue, Some(QueueStep::LookAt(_)));
            fault.edit(&mut plan);
            self.apply(&plan, fault);
            if is_over || self.bad.is_some() {
                return;
            }
        }
        self.must(false, "serving does not end");
    }

    fn vanish(&mut self, place: usize) {
        let waiter = self.queue.waiters().nth(place).map(|waiter| (waiter.ticket, waiter.client));
        let client = match waiter {
            Some((ticket, client)) => {
                self.queue.remove(ticket);
                client
            }
            None => {
                let client = self.queue.granted_client().expect("a client to vanish");
                self.queue.gone();
                client
            }
        };
        self.truth.order.retain(|(_, other)| *other != client);
        self.free(&[client]);
    }

    fn end_turn(&mut self, is_heard: bool, fault: Fault) {
        let is_due = |client: &Option<Blocked>| client.is_some_and(|one| one.until <= self.now);
        let waiters = self.queue.waiters().map(|waiter| (waiter.ticket, waiter.client));
        let due: Vec<_> = waiters.filter(|(_, client)| is_due(&self.clients[*client])).collect();
        for (ticket, client) in due {
            self.queue.remove(ticket);
            self.truth.order.retain(|(_, other)| *other != client);
            self.free(&[client]);
        }
        let is_due = self.look.take_if(|look| *look <= self.now).is_some();
        if std::mem::take(&mut self.is_marked) || is_due || self.queue.grant().is_some() {
            self.serve(fault);
        }
        if let Some(client) = self.queue.granted_client() {
            if is_heard {
                self.tell(client);
            } else {
                self.vanish(self.queue.len());
            }
        } else {
            self.queue.answered();
        }
        // A turn in which nothing happened has changed nothing.
        self.is_marked = self.queue.grant().is_some();
        self.check_turn();
    }

    /// Answers the client that was granted the lock.
    fn tell(&mut self, client: usize) {
        let Some(Blocked { token, with_fence, .. }) = self.clients[client] else { return };
        self.queue.answered();
        self.truth.order.retain(|(_, other)| *other != client);
        self.free(&[client]);
        self.truth.is_known = true;
        self.check_answer(self.granted, token, with_fence);
        self.granted = 0;
    }
}
