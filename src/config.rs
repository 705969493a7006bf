//! What an operator can set: one static a configuration, and the table of all of them.

use crate::server::{
    ArgKind, ArgSpec, Choice, CommandSpec, MainThread, Number, Setting, Text, is_cluster_node,
};
use domain::info::Names;
use domain::key_names::BadLockName;
use domain::lock::bounds::Bounds;
use domain::order_id::Calendar;
use domain::sale::Policy;
use domain::scripts::{Argument, BadEntry, Callable, Scripts, WordPattern};
use domain::{fields, key_names};
use lazy_static::lazy_static;
use std::ffi::CStr;

/// What comes before the voucher in the name of its stock key.
pub(crate) static STOCK_PREFIX: Text =
    Text::among_others(c"stock-prefix", key_names::STOCK_PREFIX, any_text, renames, kinds_differ);

/// What comes before the voucher in the name of its buyers key.
pub(crate) static BUYERS_PREFIX: Text =
    Text::among_others(c"buyers-prefix", key_names::BUYERS_PREFIX, any_text, renames, kinds_differ);

/// The stream of accepted orders. Empty: none is kept.
pub(crate) static ORDER_STREAM: Text =
    Text::among_others(c"order-stream", key_names::ORDER_STREAM, any_text, renames, streams_differ);

static CONFIRMED_STREAM: Choice = Choice::new(c"confirmed-stream", &[c"yes", c"no"], renames);

/// The names of the three fields of an order: user, voucher, order id.
pub(crate) static ORDER_FIELDS: Text =
    Text::new(c"order-fields", fields::ORDER_FIELDS, order_fields, renames);

/// The stream of draws. Empty: none is kept.
pub(crate) static DRAW_STREAM: Text =
    Text::among_others(c"draw-stream", key_names::DRAW_STREAM, any_text, renames, streams_differ);

static HASH_TAGS: Choice =
    Choice::among_others(c"hash-tags", &[c"auto", c"yes"], renames, kinds_differ);

static MISSING_STOCK: Choice =
    Choice::new(c"missing-stock", &[c"error", c"sold-out"], nothing_made);

static UNLIMITED_STOCK: Choice = Choice::new(c"unlimited-stock", &[c"no", c"yes"], nothing_made);

/// What generated ids of orders are counted under.
pub(crate) static ID_PREFIX: Text = Text::new(c"id-prefix", "order", any_text, nothing_made);

/// The unix second that ids count from; 2022-01-01 is where the usual Java generator starts.
static ID_EPOCH: Number = Number::new(c"id-epoch", 1_640_995_200, 0..=4_294_967_295, nothing_made);

static ID_UTC_OFFSET: Number = Number::new(c"id-utc-offset", 0, -86_400..=86_400, nothing_made);

/// How long a voucher, user, order id, pool, token or prefix may be, in bytes.
static NAME_BYTES_MAX: Number = Number::new(c"name-bytes-max", 512, 16..=65_536, nothing_made);

/// Are tries refused whose user or order id no database can store?
static STORABLE_NAMES: Choice = Choice::new(c"storable-names", &[c"no", c"yes"], nothing_made);

/// How long the timer that releases expired holds sleeps at most, in ms.
static HOLD_SWEEP_MS: Number = Number::new(c"hold-sweep-ms", 50, 1..=100, nothing_made);

/// How many orders of a voucher may wait for units.
static WAITLIST_MAX: Number = Number::new(c"waitlist-max", 100_000, 0..=10_000_000, nothing_made);

/// Ten years: what is added to any time of day without leaving 64 bits.
const MS_MAX: i64 = 315_360_000_000;

static LOCK_LEASE_MS_MAX: Number =
    Number::new(c"lock-lease-ms-max", 86_400_000, 1..=MS_MAX, nothing_made);

static LOCK_WAIT_MS_MAX: Number =
    Number::new(c"lock-wait-ms-max", 3_600_000, 0..=MS_MAX, nothing_made);

/// How many clients may wait for one lock, by one user and in all; the latter two also bound locks
/// with SESSION.
static LOCK_WAITERS_MAX: Text =
    Text::new(c"lock-waiters-max", "1000 5000 5000", lock_waiters, nothing_made);

/// The scripts that commands answer in Lua's place. Empty: none.
pub(crate) static SCRIPTS: Text = Text::new(c"scripts", "", scripts, nothing_made);

/// Every configuration, in the order of redis.conf.
pub(crate) static SETTINGS: [&dyn Setting; 20] = [
    &STOCK_PREFIX, &BUYERS_PREFIX, &ORDER_STREAM, &CONFIRMED_STREAM, &ORDER_FIELDS, &DRAW_STREAM,
    &HASH_TAGS, &MISSING_STOCK, &UNLIMITED_STOCK, &ID_PREFIX, &ID_EPOCH, &ID_UTC_OFFSET,
    &NAME_BYTES_MAX, &STORABLE_NAMES, &HOLD_SWEEP_MS, &WAITLIST_MAX, &LOCK_LEASE_MS_MAX,
    &LOCK_WAIT_MS_MAX, &LOCK_WAITERS_MAX, &SCRIPTS,
];

/// Counts the changes of settings about names, so that names made before are known to be stale.
static NAMING_GENERATION: MainThread<u64> = MainThread::new(0);

/// A setting that names of keys or of fields are made of was set.
fn renames() {
    NAMING_GENERATION.set(naming_generation().wrapping_add(1));
}

/// A setting was set that is read each time it is needed.
fn nothing_made() {}

/// Differs from an earlier answer when a setting about names was set in between.
pub(crate) fn naming_generation() -> u64 {
    NAMING_GENERATION.get()
}

lazy_static! {
    /// Is the server a node of a cluster? That never changes while it runs.
    static ref IS_CLUSTER: bool = is_cluster_node();
}

pub(crate) fn is_cluster() -> bool {
    *IS_CLUSTER
}

/// Do names of keys carry hash tags? In a cluster always: without them a voucher's keys would be
/// in slots of different nodes.
pub(crate) fn hash_tags() -> bool {
    is_cluster() || HASH_TAGS.index() == 1
}

/// Is there a stream of confirmed orders beside that of orders?
pub(crate) fn keeps_confirmed() -> bool {
    CONFIRMED_STREAM.index() == 0
}

/// The names in force, for INFO.
pub(crate) fn names() -> Names {
    Names {
        stock_prefix: STOCK_PREFIX.with(<[u8]>::to_vec),
        buyers_prefix: BUYERS_PREFIX.with(<[u8]>::to_vec),
        order_stream: ORDER_STREAM.with(<[u8]>::to_vec),
        order_fields: ORDER_FIELDS.with(<[u8]>::to_vec),
        keeps_confirmed: keeps_confirmed(),
        draw_stream: DRAW_STREAM.with(<[u8]>::to_vec),
        hash_tags: hash_tags(),
    }
}

/// How long a voucher, user, order id, pool, token or prefix may be, in bytes.
#[inline]
pub(crate) fn name_bytes_max() -> usize {
    usize::try_from(NAME_BYTES_MAX.get()).unwrap_or(usize::MAX)
}

/// The longest lease that may be asked for.
pub(crate) fn lock_lease_ms_max() -> i64 {
    LOCK_LEASE_MS_MAX.get()
}

/// The longest wait that may be asked for.
pub(crate) fn lock_wait_ms_max() -> i64 {
    LOCK_WAIT_MS_MAX.get()
}

/// Are tries refused whose user or order id no database can store?
#[inline]
pub(crate) fn wants_storable_names() -> bool {
    STORABLE_NAMES.index() == 1
}

/// How long the timer of holds sleeps at most, in ms.
pub(crate) fn hold_sweep_ms() -> u64 {
    u64::try_from(HOLD_SWEEP_MS.get()).unwrap_or(1)
}

/// How many orders of a voucher may wait for units.
pub(crate) fn waitlist_max() -> u64 {
    u64::try_from(WAITLIST_MAX.get()).unwrap_or(0)
}

/// How many clients may wait for locks. None would be a value that was never accepted.
pub(crate) fn lock_waiters_max() -> Option<Bounds> {
    LOCK_WAITERS_MAX.with(|text| Bounds::parse(text).ok())
}

/// How odd stocks are to be understood.
pub(crate) fn policy() -> Policy {
    Policy {
        missing_is_sold_out: MISSING_STOCK.index() == 1,
        minus_one_is_unlimited: UNLIMITED_STOCK.index() == 1,
    }
}

/// How ids count seconds and days.
pub(crate) fn calendar() -> Calendar {
    Calendar { epoch_s: ID_EPOCH.get(), utc_offset_s: ID_UTC_OFFSET.get() }
}

static COMMANDS: MainThread<&[&CommandSpec]> = MainThread::new(&[]);

/// Says which commands there are. To be called before the settings are registered.
pub(crate) fn set_commands(commands: &'static [&'static CommandSpec]) {
    COMMANDS.set(commands);
}

/// The scripts of a value of `seckill.scripts`, or the entry that is refused.
pub(crate) fn parse_scripts(text: &[u8]) -> Result<Scripts, BadEntry> {
    let commands: Vec<Callable> = COMMANDS.get().iter().map(|spec| callable(spec)).collect();
    Scripts::parse(text, &commands)
}

/// What an entry may say of a command.
fn callable(spec: &CommandSpec) -> Callable {
    let text = |text: &CStr| text.to_string_lossy().into_owned();
    let any = |arg: &ArgSpec| WordPattern::Any(text(arg.name));
    let said = |arg: &ArgSpec| arg.word.map(text);
    let argument = |arg: &ArgSpec| {
        let values = match arg.kind {
            ArgKind::Word => Vec::new(),
            ArgKind::Block(parts) | ArgKind::Repeated { parts, .. } => {
                parts.iter().map(any).collect()
            }
            ArgKind::OneOf(ways) if ways.iter().all(|way| matches!(way.kind, ArgKind::Word)) => {
                vec![WordPattern::OneOf(ways.iter().filter_map(said).collect())]
            }
            _ => vec![any(arg)],
        };
        let word = said(arg).map(|word| WordPattern::OneOf(vec![word]));
        let words = word.into_iter().chain(values).collect();
        match arg.kind {
            ArgKind::Repeated { max, .. } => Argument::Repeated(words, max),
            _ if arg.is_optional => Argument::Optional(words),
            _ => Argument::Required(any(arg)),
        }
    };
    Callable {
        name: text(spec.name).to_ascii_uppercase(),
        words_min: spec.args.words_min(),
        arguments: spec.args.args.iter().map(argument).collect(),
    }
}

fn any_text(_: &[u8]) -> Result<(), String> {
    Ok(())
}

/// May the streams have these names, whichever was set first?
fn streams_differ() -> Result<(), String> {
    with_streams(|[orders, draws]| key_names::check_streams(orders, draws))
        .map_err(str::to_owned)
        .and_then(|()| kinds_differ())
}

/// Is each kind of keys of a voucher named otherwise than the others, whichever was set first?
fn kinds_differ() -> Result<(), String> {
    with_prefixes(|prefixes| {
        with_streams(|streams| key_names::check_kinds(prefixes, streams, hash_tags()))
    })
    .map_err(str::to_owned)
}

/// May a lock have this name?
pub(crate) fn check_lock_name(key: &[u8]) -> Result<(), BadLockName> {
    with_prefixes(|prefixes| {
        with_streams(|streams| key_names::check_lock_name(key, hash_tags(), prefixes, streams))
    })
}

/// Has a stock or buyers key, which is made of a configured prefix and a voucher, the name of
/// another key of sales, prizes or ids, or of the fence key of a lock?
pub(crate) fn is_another_key(key: &[u8]) -> bool {
    let is_fence = || {
        let lock = key.strip_suffix(key_names::FENCE_SUFFIX);
        lock.is_some_and(|lock| check_lock_name(lock).is_ok())
    };
    with_streams(|streams| key_names::is_own_name(key, [b"", b""], streams)) || is_fence()
}

fn with_prefixes<T>(look: impl FnOnce([&[u8]; 2]) -> T) -> T {
    STOCK_PREFIX.with(|stock| BUYERS_PREFIX.with(|buyers| look([stock, buyers])))
}

fn with_streams<T>(look: impl FnOnce([&[u8]; 2]) -> T) -> T {
    ORDER_STREAM.with(|orders| DRAW_STREAM.with(|draws| look([orders, draws])))
}

fn order_fields(text: &[u8]) -> Result<(), String> {
    fields::parse_order_fields(text).map(drop).map_err(str::to_owned)
}

fn lock_waiters(text: &[u8]) -> Result<(), String> {
    Bounds::parse(text).map(drop).map_err(str::to_owned)
}

fn scripts(text: &[u8]) -> Result<(), String> {
    parse_scripts(text).map(drop).map_err(|bad| bad.to_string())
}
