//! Slots of a cluster that move whole: Redis 8.4 and later by CLUSTER MIGRATION, Valkey 9 and later
//! by CLUSTER MIGRATESLOTS. Either has events of its own, under numbers that mean something else in
//! the other.

use super::ctx::Ctx;
use super::settings::is_valkey;
use redis_module::raw;
use std::ffi::{c_char, c_int, c_void};
use std::ops::RangeInclusive;

/// Slots of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlotRanges(Vec<RangeInclusive<u16>>);

impl SlotRanges {
    pub(crate) fn contain(&self, slot: u16) -> bool {
        self.0.iter().any(|range| range.contains(&slot))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = RangeInclusive<u16>> {
        self.0.iter().cloned()
    }
}

/// What happened to slots that move whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SlotsMoved {
    /// Their keys are gone or about to go, without an event: the slots are another node's now, or
    /// they were to come here and the move has failed.
    Left(SlotRanges),
    /// Their keys have come, or begin to come.
    Arrived,
}

/// Which events a server has for slots that move whole.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotEvents {
    Redis,
    Valkey,
}

/// The event of Valkey, and its parts: not in the header of Redis, where the number means another.
const VALKEY_EVENT: u64 = 19;
const VALKEY_IMPORT_STARTED: u64 = 0;
const VALKEY_IMPORT_ABORTED: u64 = 2;
const VALKEY_IMPORT_COMPLETED: u64 = 4;
const VALKEY_EXPORT_COMPLETED: u64 = 5;

/// Says to Valkey that the module knows that keys may be here before their slot is. Without it
/// CLUSTER MIGRATESLOTS is refused. Redis has no such option.
const VALKEY_HANDLE_ATOMIC_SLOT_MIGRATION: u32 = 1 << 5;

/// What Valkey passes with its event, at version 1.
#[repr(C)]
struct ValkeySlotMigrationInfo {
    version: u64,
    job_name: [c_char; 41],
    slot_ranges: *const ValkeySlotRange,
    num_slot_ranges: u32,
}

#[repr(C)]
struct ValkeySlotRange {
    start: c_int,
    end: c_int,
}

impl SlotEvents {
    /// Those that this server may have.
    pub(super) fn of_server(ctx: Ctx<'_>) -> Option<Self> {
        // SAFETY: the pointer is written before our load function runs and never again.
        if unsafe { raw::RedisModule_ClusterCanAccessKeysInSlot }.is_some() {
            // Redis 8.4 and later alone have this function.
            return Some(Self::Redis);
        }
        // Valkey before 9 refuses the subscription.
        is_valkey(ctx).then_some(Self::Valkey)
    }

    /// The number to subscribe to.
    pub(super) fn id(self) -> u64 {
        match self {
            Self::Redis => raw::REDISMODULE_EVENT_CLUSTER_SLOT_MIGRATION,
            Self::Valkey => VALKEY_EVENT,
        }
    }

    /// Those with this number, among the events that this module subscribes to.
    pub(super) fn with_id(id: u64) -> Option<Self> {
        [Self::Redis, Self::Valkey].into_iter().find(|events| events.id() == id)
    }

    /// The module options that the server requires of a module that subscribes to slot events.
    pub(super) fn options(self) -> u32 {
        match self {
            Self::Redis => 0,
            Self::Valkey => VALKEY_HANDLE_ATOMIC_SLOT_MIGRATION,
        }
    }

    /// What an event says; none for what changes nothing here.
    ///
    /// # Safety
    /// `data` must be what this server passes with this part of the event, at data version 1.
    pub(super) unsafe fn read(self, part: u64, data: *const c_void) -> Option<SlotsMoved> {
        Some(match (self, part) {
            (
                Self::Redis,
                raw::REDISMODULE_SUBEVENT_CLUSTER_SLOT_MIGRATION_MIGRATE_COMPLETED
                | raw::REDISMODULE_SUBEVENT_CLUSTER_SLOT_MIGRATION_IMPORT_FAILED,
            ) => {
                // SAFETY: by the caller.
                SlotsMoved::Left(unsafe { redis_ranges(data) }?)
            }
            (Self::Valkey, VALKEY_EXPORT_COMPLETED | VALKEY_IMPORT_ABORTED) => {
                // SAFETY: by the caller.
                SlotsMoved::Left(unsafe { valkey_ranges(data) }?)
            }
            (
                Self::Redis,
                raw::REDISMODULE_SUBEVENT_CLUSTER_SLOT_MIGRATION_IMPORT_STARTED
                | raw::REDISMODULE_SUBEVENT_CLUSTER_SLOT_MIGRATION_IMPORT_COMPLETED,
            )
            | (Self::Valkey, VALKEY_IMPORT_STARTED | VALKEY_IMPORT_COMPLETED) => {
                SlotsMoved::Arrived
            }
            _ => return None,
        })
    }
}

/// # Safety
/// `data` must be what Redis passes with its event.
unsafe fn redis_ranges(data: *const c_void) -> Option<SlotRanges> {
    // SAFETY: by the caller; the info and its ranges are the server's and live for this call.
    let array =
        unsafe { data.cast::<raw::RedisModuleClusterSlotMigrationInfoV1>().as_ref() }?.slots;
    // SAFETY: as above.
    let count = unsafe { array.as_ref() }?.num_ranges;
    // SAFETY: as above; so many ranges follow the number.
    let ranges = unsafe {
        let first = (&raw const (*array).ranges).cast::<raw::RedisModuleSlotRange>();
        std::slice::from_raw_parts(first, usize::try_from(count).ok()?)
    };
    Some(SlotRanges(ranges.iter().map(|range| range.start..=range.end).collect()))
}

/// # Safety
/// `data` must be what Valkey passes with its event.
unsafe fn valkey_ranges(data: *const c_void) -> Option<SlotRanges> {
    // SAFETY: by the caller; the info and its ranges are the server's and live for this call.
    let info = unsafe { data.cast::<ValkeySlotMigrationInfo>().as_ref() }?;
    let count = usize::try_from(info.num_slot_ranges).ok()?;
    if info.slot_ranges.is_null() {
        return None;
    }
    // SAFETY: as above.
    let ranges = unsafe { std::slice::from_raw_parts(info.slot_ranges, count) };
    let slot = |number: c_int| u16::try_from(number).ok();
    let range = |range: &ValkeySlotRange| Some(slot(range.start)?..=slot(range.end)?);
    Some(SlotRanges(ranges.iter().filter_map(range).collect()))
}
