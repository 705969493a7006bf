//! Everything that the module remembers: one value, made when a load can no longer fail.
//!
//! All of it is hint or index, never truth: every fact is in an ordinary key. The table of what
//! each event does to each memory is in docs/ARCHITECTURE.md. [`Memory::on_key`] and
//! [`Memory::on_server`] are that table; nothing else receives events.

pub(crate) mod arrivals;
pub(crate) mod holds;
pub(crate) mod queues;
pub(crate) mod scripts;
pub(crate) mod sessions;

use crate::error::CommandError;
use crate::keyspace::counter::IdCounter;
use crate::keyspace::kept::Kept;
use crate::keyspace::pool::PoolKeys;
use crate::keyspace::vouchers::Vouchers;
use crate::server::{Ctx, MainThread, ServerEvent, SlotsMoved};
use arrivals::Arrivals;
use domain::key_names::{is_timed_name, timed_names_of_rules};
use domain::slot::Slot;
use holds::Holds;
use queues::Queues;
use scripts::ScriptCalls;
use sessions::Sessions;
use std::ffi::CStr;
use std::rc::Rc;

/// What is remembered.
pub(crate) struct Memory {
    /// Names of the vouchers tried lately, and what is known of their keys.
    pub(crate) vouchers: Vouchers,
    /// Names of the pool drawn from last.
    pub(crate) pool: Kept<PoolKeys>,
    /// The name of the id counter used last.
    pub(crate) counter: Kept<IdCounter>,
    /// Sales whose keys came one by one.
    pub(crate) arrivals: Arrivals,
    /// When to look at which holds.
    pub(crate) holds: Holds,
    /// The clients that wait for locks.
    pub(crate) queues: Queues,
    /// Scripts that commands answer: a function of the setting, so only its change ends them.
    pub(crate) scripts: ScriptCalls,
    /// Which locks are tied to which connections.
    pub(crate) sessions: Sessions,
}

static MEMORY: MainThread<Option<Rc<Memory>>> = MainThread::new(None);

impl Memory {
    /// Makes the memory: from now on there is a current one. `databases` are those with keys, which
    /// may contain holds that are not indexed yet.
    ///
    /// `hear_turns` subscribes to the ends of turns, at the first client that waits or has a lock
    /// with SESSION, and `hear_connections` to connections that close, at the first such lock.
    pub(crate) fn begin(
        databases: Vec<i32>,
        hear_turns: fn(Ctx<'_>),
        hear_connections: fn(Ctx<'_>),
    ) -> Rc<Self> {
        let memory = Rc::new(Self {
            vouchers: Vouchers::default(),
            pool: Kept::default(),
            counter: Kept::default(),
            arrivals: Arrivals::default(),
            holds: Holds::new(databases),
            queues: Queues::new(hear_turns),
            scripts: ScriptCalls::default(),
            sessions: Sessions::new(hear_connections),
        });
        MEMORY.set(Some(Rc::clone(&memory)));
        memory
    }

    /// The memory of the loaded module.
    #[inline]
    pub(crate) fn current() -> Option<Rc<Self>> {
        MEMORY.cloned()
    }

    /// Drops the memory: the load is undone, or the server exits.
    pub(crate) fn end() {
        MEMORY.set(None);
    }

    /// Handles an event of a key. True if holds or queues are to be looked at.
    pub(crate) fn on_key(&self, event: &CStr, db: i32, key: &[u8]) -> bool {
        self.vouchers.on_key(event, key);
        self.queues.mark(db, key);
        self.sessions.on_key(event, db, key);
        self.arrivals.on_key(event, db, key);
        if is_timed_name(key) {
            self.holds.mark(db, key);
            return true;
        }
        let is_awaited = self.holds.mark_if_awaited(db, key);
        // Holds and queues without rules are left alone, but now they may have some.
        let parked = timed_names_of_rules(key).into_iter().flatten();
        parked.filter(|key| self.holds.mark_if_parked(db, key)).count() > 0 || is_awaited
    }

    /// Handles an event of the server or of whole databases.
    pub(crate) fn on_server(&self, event: &ServerEvent) {
        // Nothing here depends on a setting that is not about names, and names carry the settings
        // that they were made of. A closed connection, the cron and the passing of time change
        // nothing by themselves. Any other event may change any key, or what is due.
        let is_harmless = matches!(
            event,
            ServerEvent::Configured { .. }
                | ServerEvent::Disconnected { .. }
                | ServerEvent::FirstCron
                | ServerEvent::ClockSetForward { .. }
        );
        if !is_harmless {
            self.vouchers.forget();
        }
        match event {
            ServerEvent::Flushed { db } => {
                self.arrivals.flushed(*db);
                self.holds.flushed(*db);
                self.queues.mark_all(*db);
                self.sessions.flushed(*db);
            }
            ServerEvent::Swapped { first, second } => {
                self.arrivals.swapped(*first, *second);
                self.holds.swapped(*first, *second);
                self.queues.swapped(*first, *second);
                self.sessions.swapped(*first, *second);
            }
            // Each key that is loaded fires an event.
            ServerEvent::LoadingStarted => {}
            ServerEvent::Replaced => {
                self.arrivals.flushed(None);
                self.holds.replaced();
                self.queues.mark_all(None);
                self.sessions.forget();
            }
            // A replica gets an event for each key that its primary changes.
            ServerEvent::LoadingEnded | ServerEvent::BecamePrimary => self.queues.mark_all(None),
            // The server itself ends the waits of a replica's clients, but for those that Valkey
            // would redirect (CLIENT CAPA redirect): it leaves them to the module.
            ServerEvent::BecameReplica => {
                self.queues.leave(|_| true, CommandError::Demoted);
                self.sessions.forget();
            }
            ServerEvent::Configured { .. } => self.holds.configured(),
            ServerEvent::Slots(SlotsMoved::Left(slots)) => {
                let left = |key: &[u8]| slots.contain(Slot::of(key).number());
                self.holds.forget(left);
                self.queues.leave(left, CommandError::LockMoved);
                self.sessions.leave(slots);
            }
            // Each key that arrives fires an event.
            ServerEvent::Slots(SlotsMoved::Arrived) => {}
            ServerEvent::FirstCron => {}
            // Deadlines and ends of leases follow the new clock; waits are spans of time.
            ServerEvent::ClockSetBack { .. } | ServerEvent::ClockSetForward { .. } => {}
            ServerEvent::Disconnected { connection } => self.sessions.closed(*connection),
        }
    }
}
