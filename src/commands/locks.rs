//! Deciding on a lock, applying what was decided, and answering those who waited for it.
//!
//! `domain::lock` decides. LOCK.RELEASE serves the lock's queue in its own step; for locks that
//! become free in other ways, `background/grants.rs` does.

use crate::config;
use crate::error::CommandError;
use crate::keyspace::{fence, lock};
use crate::memory::Memory;
use crate::memory::queues::Waiters;
use crate::metrics;
use crate::server::{
    BlockedClient, Blocking, ClientId, Ctx, OwnedStr, Reply, Str, block, is_turn_over, may_run,
    turn_again,
};
use domain::db_key::DbKey;
use domain::integer::Decimal;
use domain::lock::fence::Fence;
use domain::lock::queues::{Answered, Name, Wait};
use domain::lock::{
    self as decision, LockDecision, LockFacts, LockPlan, LockRequest, LockWrite, QueueStep,
};
use domain::sessions::Tied;
use std::cell::OnceCell;

/// One lock, in the selected database.
pub(crate) struct Lock<'a> {
    ctx: Ctx<'a>,
    memory: &'a Memory,
    key: Str<'a>,
    name: OnceCell<DbKey>,
    asker: Asker<'a>,
}

/// On whose behalf a decision is made.
#[derive(Clone, Copy)]
enum Asker<'a> {
    /// A client that has just sent LOCK.ACQUIRE.
    Acquirer { request: &'a LockRequest<Str<'a>>, wait_ms: u64 },
    /// Another command. The server has checked slot and rights.
    Command,
    /// The queue. Its clients sent their commands some time ago: the slot may have moved since.
    Queue,
}

impl<'a> Lock<'a> {
    fn new(ctx: Ctx<'a>, memory: &'a Memory, key: Str<'a>, asker: Asker<'a>) -> Self {
        Self { ctx, memory, key, name: OnceCell::new(), asker }
    }

    /// As a command sees it that is not LOCK.ACQUIRE.
    pub(super) fn of_command(ctx: Ctx<'a>, memory: &'a Memory, key: Str<'a>) -> Self {
        Self::new(ctx, memory, key, Asker::Command)
    }

    fn name(&self) -> &DbKey {
        self.name.get_or_init(|| DbKey::new(self.ctx.selected_db(), self.key.bytes()))
    }

    fn with_queues<R>(&self, work: impl FnOnce(&mut Waiters, &DbKey) -> R) -> R {
        let name = self.name();
        self.memory.queues.with(|queues| work(queues, name))
    }

    /// How many clients are in the queue.
    pub(super) fn len(&self) -> i64 {
        let is_used = self.memory.queues.is_used();
        let len = if is_used { self.with_queues(|queues, lock| queues.len(lock)) } else { 0 };
        i64::try_from(len).unwrap_or(i64::MAX)
    }

    /// LOCK.ACQUIRE. None: the client waits.
    pub(super) fn acquire(
        ctx: Ctx<'a>,
        memory: &'a Memory,
        key: Str<'a>,
        request: &'a LockRequest<Str<'a>>,
        wait_ms: u64,
    ) -> Result<Option<i64>, CommandError> {
        let this = Self::new(ctx, memory, key, Asker::Acquirer { request, wait_ms });
        this.decide(|| decision::acquire(&this, request, ctx.now_ms()))
    }

    /// Releases the lock if it is held with this token, and hands it on.
    pub(super) fn release(&self, token: Str<'_>) -> Result<i64, CommandError> {
        let answer = self.decide(|| decision::release(self, token))?;
        if answer == Some(1) {
            metrics::LOCKS_RELEASED.count();
        }
        Ok(answer.unwrap_or(0))
    }

    pub(super) fn renew(&self, token: Str<'_>, lease_ms: i64) -> Result<i64, CommandError> {
        let now_ms = self.ctx.now_ms();
        Ok(self.decide(|| decision::renew(self, token, lease_ms, now_ms))?.unwrap_or(0))
    }

    /// Decides and applies; once more, if the lock has expired in between.
    fn decide<'t>(
        &self,
        decide: impl Fn() -> Result<LockDecision<Str<'t>, CommandError>, CommandError>,
    ) -> Result<Option<i64>, CommandError> {
        let mut decision = decide()?;
        if !self.apply(&decision.plan, decision.plan.token)? {
            decision = decide()?;
            self.apply(&decision.plan, decision.plan.token)?;
        }
        match decision.plan.queue {
            // Blocked at last, when nothing can refuse any more.
            Some(QueueStep::Join) => Ok((!self.join()).then_some(decision::NOT_ACQUIRED)),
            _ => Ok(decision.answer),
        }
    }

    /// Serves the queue: its first client holds the lock if it is free. The database is selected.
    ///
    /// With `may_write` false only a grant that was lost returns to the queue.
    pub(crate) fn serve(ctx: Ctx<'_>, memory: &Memory, lock: &DbKey, may_write: bool) {
        let key = OwnedStr::new(&lock.key);
        let this = Lock::new(ctx, memory, key.as_str(), Asker::Queue);
        while let Some(plan) = decision::serve(&this, ctx.now_ms()) {
            if !may_write && (plan.lock.is_some() || plan.queue != Some(QueueStep::Return)) {
                return memory.queues.with(|queues| queues.mark(lock.db, &lock.key));
            }
            let token = OwnedStr::new(&plan.token);
            if let Err(error) = this.apply(&plan, token.as_str()) {
                this.refuse_head(error);
            }
            if matches!(plan.queue, Some(QueueStep::LookAt(_))) || !may_write {
                return;
            }
        }
    }

    /// Writes a plan, and makes its effects. False if the lock that it extends has expired since:
    /// then, as on an error, nothing is written.
    fn apply<N>(
        &self,
        plan: &LockPlan<N, CommandError>,
        token: Str<'_>,
    ) -> Result<bool, CommandError> {
        let queues = &self.memory.queues;
        let is_queue_at_work = matches!(self.asker, Asker::Queue);
        let write = || self.write(plan, token);
        // What is written on behalf of the queue is no news to it.
        let is_news = !is_queue_at_work && !matches!(plan.queue, Some(QueueStep::Serve));
        if !(if is_news { write()? } else { queues.unheard(write)? }) {
            return Ok(false);
        }
        if let Some(step) = plan.queue {
            self.step(step, token);
        }
        Ok(true)
    }

    fn write<N>(
        &self,
        plan: &LockPlan<N, CommandError>,
        token: Str<'_>,
    ) -> Result<bool, CommandError> {
        let Self { ctx, key, .. } = *self;
        match (plan.lock, self.asker) {
            (Some(LockWrite::Take { until_ms }), Asker::Queue) if config::is_cluster() => {
                lock::take_by_call(ctx, key, token, until_ms)?;
            }
            (Some(write), _) if !lock::write(ctx, key, token, write) => return Ok(false),
            _ => {}
        }
        if matches!(plan.lock, Some(LockWrite::Take { .. })) {
            metrics::LOCKS_ACQUIRED.count();
        }
        if let Some(write) = plan.fence {
            fence::write(ctx, key, token, write);
        }
        Ok(true)
    }

    /// Applies what a plan says of the queue, and of the lock's tie to a connection.
    fn step(&self, step: QueueStep<CommandError>, token: Str<'_>) {
        let (queues, sessions) = (&self.memory.queues, &self.memory.sessions);
        let token = || Name::from(token.bytes());
        match step {
            QueueStep::TakeOver => {
                if let Asker::Acquirer { request, .. } = self.asker
                    && (request.session.is_some() || sessions.is_used())
                {
                    sessions.acquired(self.name(), request);
                }
                if queues.is_used() {
                    let token = token();
                    self.with_queues(|queues, lock| queues.take_over(lock, &token));
                }
            }
            QueueStep::Confirm => {
                if queues.is_used() {
                    let token = token();
                    self.with_queues(|queues, lock| queues.confirm(lock, &token));
                }
                if sessions.is_used() {
                    sessions.keep(self.name().db, &self.name().key);
                }
            }
            QueueStep::Look => self.with_queues(|queues, lock| queues.mark(lock.db, &lock.key)),
            QueueStep::LookAt(ends_at_ms) => {
                // A key expires only when its end has passed, not at it.
                let look_ms = ends_at_ms.map(|ends_at_ms| ends_at_ms.saturating_add(1));
                self.with_queues(|queues, lock| queues.look_at(lock, look_ms));
            }
            QueueStep::Serve if queues.is_used() => {
                Lock::serve(self.ctx, self.memory, self.name(), true);
            }
            QueueStep::Grant { answer } => {
                // A session that had this lock leaves it to the client, who is answered soon.
                sessions.end(self.name().db, &self.name().key);
                self.with_queues(|queues, lock| queues.grant_head(lock, Ok(answer)));
            }
            QueueStep::Refuse(error) => self.refuse_head(error),
            QueueStep::Return => self.with_queues(|queues, lock| queues.return_to_queue(lock)),
            QueueStep::Serve | QueueStep::Join => {}
        }
        if queues.is_used() {
            look_when_over();
        }
    }

    fn refuse_head(&self, error: CommandError) {
        self.with_queues(|queues, lock| queues.refuse_head(lock, Err(error)));
    }

    /// Puts the command's client in the queue, and blocks it. False if the server does not.
    fn join(&self) -> bool {
        let Asker::Acquirer { request, wait_ms } = self.asker else { return false };
        let queues = &self.memory.queues;
        queues.hear_turns(self.ctx);
        let Some((id, client)) = block::<LockWaiter>(self.ctx) else { return false };
        let since_ms = self.ctx.steady_ms();
        let wait = Wait { since_ms, until_ms: since_ms.saturating_add(wait_ms) };
        let request = LockRequest {
            token: request.token.bytes().into(),
            user: request.user.bytes().into(),
            lease_ms: request.lease_ms,
            with_fence: request.with_fence,
            session: request.session,
        };
        self.with_queues(|queues, lock| queues.join(id, client, lock, request, wait));
        look_when_over();
        true
    }
}

impl LockFacts for Lock<'_> {
    type Name = Name;
    type Error = CommandError;

    fn holder(&self, token: &[u8]) -> Result<decision::Holder, CommandError> {
        lock::holder(self.ctx, self.key, token)
    }

    fn fence(&self, token: &[u8]) -> Result<Fence, CommandError> {
        fence::read(self.ctx, self.key, token)
    }

    fn has_fence(&self) -> bool {
        fence::is_there(self.ctx, self.key)
    }

    fn is_waited_for(&self) -> bool {
        self.memory.queues.is_used() && self.with_queues(|queues, lock| queues.is_waited_for(lock))
    }

    fn may_wait(&self, token: &[u8]) -> Result<bool, CommandError> {
        let Asker::Acquirer { request, wait_ms: 1.. } = self.asker else { return Ok(false) };
        if !self.ctx.may_block() || self.ctx.is_replica() {
            return Ok(false);
        }
        let Some(bounds) = config::lock_waiters_max() else { return Ok(true) };
        let (token, user) = (Name::from(token), request.user.bytes());
        let room = self.with_queues(|queues, lock| match queues.has_place(lock, &token) {
            true => Ok(()),
            false => bounds.check_queue(queues.len(lock), user, queues.in_queue()),
        });
        room.map(|()| true).map_err(|full| CommandError::Waiters { full })
    }

    fn check_may_hold(&self, request: &LockRequest<impl AsRef<[u8]>>) -> Result<(), CommandError> {
        if matches!(self.asker, Asker::Queue) {
            let lease_ms = Decimal::new(request.lease_ms);
            let words: [&[u8]; 3] = [b"lock.acquire", request.token.as_ref(), lease_ms.bytes()];
            let [command, token, lease_ms] = words.map(OwnedStr::new);
            let words = [command.as_str(), self.key, token.as_str(), lease_ms.as_str()];
            if !may_run(OwnedStr::new(request.user.as_ref()).as_str(), &words) {
                return Err(CommandError::NoPermission);
            }
        }
        match request.session {
            Some(_) => self.memory.sessions.check_room(self.name(), request.user.as_ref()),
            None => Ok(()),
        }
    }

    fn grant(&self) -> Option<decision::Grant<Name>> {
        self.with_queues(|queues, lock| queues.grant(lock))
    }

    fn head(&self) -> Option<LockRequest<Name>> {
        self.with_queues(|queues, lock| queues.head(lock).cloned())
    }
}

/// Makes the loop turn, so that marks set after the end of a turn don't wait for other work. To be
/// called only while a client is blocked.
pub(crate) fn look_when_over() {
    if is_turn_over() {
        turn_again();
    }
}

/// Releases the next lock of a connection that has closed, and hands it on, if the lock is still
/// held with the token that it was tied with. False when there is none left.
///
/// Only where a write in the background is safe: at the end of the turn in which it closed, so that
/// the write comes after it in the replication stream.
pub(crate) fn release_next_closed(ctx: Ctx<'_>, memory: &Memory) -> bool {
    let Some(Tied { lock, token }) = memory.sessions.next_closed() else { return false };
    let (key, token) = (OwnedStr::new(&lock.key), OwnedStr::new(&token));
    if ctx.select_db(lock.db) {
        // A key that is no lock is not released.
        _ = Lock::of_command(ctx, memory, key.as_str()).release(token.as_str());
    }
    true
}

/// A blocked client, as a handle of the server.
struct LockWaiter;

impl Blocking for LockWaiter {
    fn reply(ctx: Ctx<'_>, client: ClientId) -> Reply {
        // The handle was used: that is why the server asks.
        answer(ctx, client).0
    }

    fn timed_out(ctx: Ctx<'_>, client: ClientId) -> Reply {
        if let Some(memory) = Memory::current() {
            memory.queues.with(|queues| queues.refuse(client, None));
        }
        let (answer, handle) = answer(ctx, client);
        if let Some(handle) = handle {
            handle.unblock();
        }
        answer
    }

    fn gone(ctx: Ctx<'_>, client: ClientId) {
        let Some(memory) = Memory::current() else { return };
        let gone = memory.queues.with(|queues| queues.gone(client));
        let Some((handle, since_ms)) = gone else { return };
        count_wait(since_ms, ctx);
        // Also makes the loop turn, so that a grant is undone soon.
        if let Some(handle) = handle {
            handle.unblock();
        }
    }
}

/// The answer to a client, which then no longer waits, and its handle if it was not used. A lock
/// that it holds from now on is tied to its connection, if it asked for that.
fn answer(ctx: Ctx<'_>, client: ClientId) -> (Reply, Option<BlockedClient>) {
    let memory = Memory::current();
    let answered = memory.as_ref().and_then(|memory| {
        let answered = memory.queues.with(|queues| queues.answer(client))?;
        if let Some((lock, request)) = &answered.held {
            memory.sessions.acquired(lock, request);
        }
        Some(answered)
    });
    let Answered { answer, handle, since_ms, .. } = answered.unwrap_or_default();
    count_wait(since_ms, ctx);
    let reply = match answer {
        Some(answer) => answer.map_or_else(Reply::from, Reply::Integer),
        None => {
            metrics::LOCKS_REFUSED.count();
            Reply::Integer(decision::NOT_ACQUIRED)
        }
    };
    (reply, handle)
}

/// Counts a wait that is over.
fn count_wait(since_ms: Option<u64>, ctx: Ctx<'_>) {
    if let Some(since_ms) = since_ms {
        metrics::LOCKS_WAITED_MS.add(ctx.steady_ms().saturating_sub(since_ms));
    }
}
