//! The lines of clients that wait for locks, as the server's clients.

use crate::error::CommandError;
use crate::metrics;
use crate::server::{BlockedClient, ClientId, Ctx, MainThread};
use domain::lock::lines;

/// The answer to a waiter: that of its command, or why it got none.
pub(crate) type Answer = Result<i64, CommandError>;

/// The lines themselves.
pub(crate) type Waiters = lines::Lines<ClientId, BlockedClient, Answer>;

/// All lines. Costs nothing while nobody waits.
pub(crate) struct Lines {
    hear_turns: fn(Ctx<'_>),
    waiters: MainThread<Waiters>,
    is_used: MainThread<bool>,
    /// Set while a lock is changed on behalf of its line, whose events the line ignores.
    is_deaf: MainThread<bool>,
}

impl Lines {
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

    /// Works on the lines. `work` must not call the server.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut Waiters) -> R) -> R {
        self.waiters.with(|waiters| {
            let result = work(waiters);
            metrics::LOCKS_WAITING.set(waiters.in_queue().all() as u64);
            self.is_used.set(!waiters.is_idle());
            if waiters.is_idle() {
                // Frees the memory of lines that were long.
                *waiters = Waiters::default();
            }
            result
        })
    }

    /// Runs `change`, whose events are of no interest to the lines.
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
            self.with(|lines| lines.mark(db, key));
        }
    }

    pub(super) fn mark_all(&self, db: Option<i32>) {
        if self.is_used() {
            self.with(|lines| lines.mark_all(db));
        }
    }

    pub(super) fn swapped(&self, first: i32, second: i32) {
        if self.is_used() {
            self.with(|lines| lines.swap(first, second));
        }
    }

    /// The locks for which `left` is true are on another server: their waiters get this error and
    /// try again there.
    pub(super) fn leave(&self, left: impl Fn(&[u8]) -> bool, error: CommandError) {
        if self.is_used() {
            self.with(|lines| {
                for client in lines.leave(left) {
                    lines.refuse(client, Some(Err(error)));
                }
            });
        }
    }
}
