//! The server as this module sees it: safe types over the module API of Redis and Valkey.
//!
//! Everything unsafe lives below here. Nothing here knows what is being sold or locked; it only
//! knows contexts, strings, keys, calls, replies and the server's registries.

mod acl;
mod api;
mod arguments;
mod blocking;
mod call;
mod collections;
mod command;
mod config;
mod ctx;
mod events;
mod eviction;
mod filter;
mod info;
mod key;
mod loading;
mod main_thread;
mod panics;
mod reply;
mod settings;
mod slots;
mod stream;
mod string;
mod timer;

pub(crate) use acl::may_run;
pub(crate) use api::{is_memory_aligned, missing as missing_api};
pub(crate) use arguments::{Access, ArgKind, ArgSpec, Declared, Max};
pub(crate) use blocking::{BlockedClient, Blocking, ClientId, block};
pub(crate) use call::{Call, CallError, is_known};
pub(crate) use collections::NotThatKind;
pub(crate) use command::{CommandSpec, Run, add_category, handler, register as register_command};
pub(crate) use config::{Choice, Number, Setting, Text};
pub(crate) use ctx::{Ctx, EventClass, is_cluster_node};
pub(crate) use events::{
    Listener, ServerEvent, are_events_known, is_turn_over, subscribe, subscribe_to_connections,
    subscribe_to_turns, turn_again,
};
pub(crate) use eviction::Eviction;
pub(crate) use filter::{CommandFilter, Filter, FilteredCall, take_replaced};
pub(crate) use info::{FillInfo, InfoSection, register as register_info};
pub(crate) use key::{Kind, NotAString, ReadKey, WriteKey, databases_with};
pub(crate) use loading::{may_unload, note_first_cron, on_load, on_unload};
pub(crate) use main_thread::MainThread;
pub(crate) use panics::{install as install_panic_hook, remove as remove_panic_hook};
pub(crate) use reply::Reply;
pub(crate) use settings::notice_import_mode;
pub(crate) use slots::{SlotRanges, SlotsMoved};
pub(crate) use string::{OwnedStr, Str};
pub(crate) use timer::Timer;
