//! The queues of clients that wait for locks, as the server's clients.

use crate::error::CommandError;
use crate::metrics;
use crate::server::{BlockedClient, ClientId, Ctx, MainThread};
use domain::lock::queues;

/// The answer to a waiter: that of its command, or why it got none.
pub(crate) type Answer = Result<i64, CommandError>;

/// The queues themselves.
pub(crate) type Waiters = queues::Queues<ClientId, BlockedClient, Answer>;

/// All queues. Costs nothing while nobody waits.
pub(crate) struct Queues {
    hear_turns: fn(Ctx<'_>),
    waiters: MainThread<Waiters>,
    is_used: MainThread<bool>,
    /// Set while a lock is changed on behalf of its queue, whose events the queue ignores.
    is_deaf: MainThread<bool>,
}

impl Queues {
    pub(super) fn new(hear_turns: fn(Ctx<'_>)) -> Self {
        Self {
            hear_turns,
            waiters: MainThread::new(Waiters::default()),
            is_used: MainThread::new(false),
            is_deaf: MainThread::new(false),
        }
    }

    /// A client is going to wait: subscribes to the ends of turns, which cost nothing before.
    pub(crate) fn hear_turns(&self, ctx: Ctx<'_>) {
        (self.hear_turns)(ctx);
    }

    /// Is there a waiter that has not been answered, or a grant to undo?
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        self.is_used.get()
    }

    /// Works on the queues. `work` must not call the server.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut Waiters) -> R) -> R {
        self.waiters.with(|waiters| {
            let result = work(waiters);
            metrics::LOCKS_WAITING.set(waiters.in_queue().all() as u64);
            self.is_used.set(!waiters.is_idle());
            if waiters.is_idle() {
                // Frees the memory of queues that were long.
                *waiters = Waiters::default();
            }
            result
        })
    }

    /// Runs `change`, whose events are of no interest to the queues.
    pub(crate) fn unheard<R>(&self, change: impl FnOnce() -> R) -> R {
        self.is_deaf.set(true);
        let result = change();
        self.is_deaf.set(false);
        result
    }

    /// Listens again, whatever went wrong in `change`.
    pub(crate) fn hear_again(&self) {
        self.is_deaf.set(false);
    }

    pub(super) fn mark(&self, db: i32, key: &[u8]) {
        if self.is_used() && !self.is_deaf.get() {
            self.with(|queues| queues.mark(db, key));
        }
    }

    pub(super) fn mark_all(&self, db: Option<i32>) {
        if self.is_used() {
            self.with(|queues| queues.mark_all(db));
        }
    }

    pub(super) fn swapped(&self, first: i32, second: i32) {
        if self.is_used() {
            self.with(|queues| queues.swap(first, second));
        }
    }

    /// The locks for which `left` is true are on another server: their waiters get this error and
    /// try again there.
    pub(super) fn leave(&self, left: impl Fn(&[u8]) -> bool, error: CommandError) {
        if self.is_used() {
            self.with(|queues| {
                for client in queues.leave(left) {
                    queues.refuse(client, Some(Err(error)));
                }
            });
        }
    }
}
