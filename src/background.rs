//! What happens without a command: events arrive, holds expire, locks are granted. Each step is
//! bounded in time and in work, so that clients never wait long.

pub(crate) mod expiry;
mod grants;
mod scripts;

use crate::memory::Memory;
use crate::server::{
    Ctx, EventClass, Listener, ServerEvent, Str, databases_with, note_first_cron,
    notice_import_mode, subscribe, subscribe_to_connections, subscribe_to_turns,
};
use domain::key_names::is_sale_name;
use std::ffi::CStr;
use std::time::{Duration, Instant};

/// The classes of events that can change a sorted set or make a key appear or disappear. String
/// events are left out: otherwise every SET of every application would pay for them.
const CLASSES: [EventClass; 6] = [
    EventClass::Generic,
    EventClass::SortedSet,
    EventClass::Expired,
    EventClass::Evicted,
    EventClass::Loaded,
    EventClass::New,
];

/// Starts memory, listener and timers. To be called when the load can no longer fail.
pub(crate) fn begin(ctx: Ctx<'_>) {
    let memory = Memory::begin(
        ctx.databases_with_keys(),
        subscribe_to_turns::<Ear>,
        subscribe_to_connections::<Ear>,
    );
    subscribe::<Ear>(ctx, &CLASSES);
    notice_import_mode(ctx);
    scripts::configure(ctx, &memory);
}

/// May the event name the database that the key came from? In a transaction Valkey 9.1 tells a
/// module so of MOVE and of COPY with DB.
fn comes_to_another_database(event: &CStr) -> bool {
    event == c"move_to" || event == c"copy_to"
}

/// The one listener: first the memory takes note of the event, then work that is due soon is
/// scheduled.
struct Ear;

impl Listener for Ear {
    fn on_key(ctx: Ctx<'_>, event: &CStr, key: Str<'_>) {
        let Some(memory) = Memory::current() else { return };
        let heard = |db| memory.on_key(event, db, key.bytes());
        let is_due = if comes_to_another_database(event) && is_sale_name(key.bytes()) {
            databases_with(ctx, key).into_iter().filter(|db| heard(*db)).count() > 0
        } else {
            heard(ctx.selected_db())
        };
        if is_due {
            expiry::wake(ctx);
        }
        grants::wake(ctx, &memory);
    }

    fn on_server(ctx: Ctx<'_>, event: ServerEvent) {
        let Some(memory) = Memory::current() else { return };
        memory.on_server(&event);
        use ServerEvent::{BecamePrimary, BecameReplica, Configured, FirstCron};
        match event {
            Configured { import_mode: true } => notice_import_mode(ctx),
            FirstCron => note_first_cron(ctx),
            _ => {}
        }
        if matches!(event, Configured { .. } | BecamePrimary | BecameReplica) {
            scripts::configure(ctx, &memory);
        }
        let step = match event {
            ServerEvent::ClockSetBack { ms } => Some(("back", ms)),
            ServerEvent::ClockSetForward { ms } => Some(("forward", ms)),
            _ => None,
        };
        if let Some((where_to, ms)) = step {
            // The timer that is armed goes by the clock as it was before. One step forward may
            // consist of several, some of them backward.
            expiry::stop(ctx);
            ctx.warn(&format!(
                "the clock was set {where_to} by {ms} ms; holds and locks expire by the new clock"
            ));
        }
        expiry::wake_if_needed(ctx, &memory);
        grants::wake(ctx, &memory);
    }

    fn on_turn_end(ctx: Ctx<'_>) {
        if let Some(memory) = Memory::current() {
            grants::end_turn(ctx, &memory);
        }
    }
}

/// How long one step of background work may take before its writes are replicated.
struct Budget(Instant);

impl Budget {
    const DURATION: Duration = Duration::from_micros(800);
    const HALF: Duration = Duration::from_micros(400);

    fn begin() -> Self {
        Self(Instant::now())
    }

    fn is_left(&self) -> bool {
        self.0.elapsed() < Self::DURATION
    }

    /// For work that is not urgent.
    fn is_half_left(&self) -> bool {
        self.0.elapsed() < Self::HALF
    }
}
