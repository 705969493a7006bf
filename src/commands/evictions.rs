//! What is said of a server that may evict keys of sales when memory is short.

use crate::keyspace::sale_keys::SaleKeys;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::server::{Ctx, Eviction, MainThread};

/// To be called when the module is loaded.
pub(crate) fn warn_at_load(ctx: Ctx<'_>) {
    match Eviction::of_server(ctx) {
        Some(Eviction { policy, spares_lasting: false }) => warn_of_any_key(ctx, &policy),
        Some(Eviction { policy, .. }) => ctx.warn(&format!(
            "this server may evict keys with a time to live when memory is short \
             (maxmemory-policy {policy}), so locks, and stocks that have one: set noeviction"
        )),
        None => {}
    }
}

/// To be called when a sale was created: of its policy once, and of each sale that has such a key.
pub(super) fn warn_at_create(ctx: Ctx<'_>, keys: &VoucherKeys) {
    static SAID: MainThread<Option<Eviction>> = MainThread::new(None);
    let now = Eviction::of_server(ctx);
    let is_new = SAID.cloned() != now;
    SAID.set(now.clone());
    match now {
        Some(Eviction { policy, spares_lasting: false }) if is_new => warn_of_any_key(ctx, &policy),
        Some(eviction) if eviction.spares_lasting && is_evictable(ctx, &eviction, keys) => {
            ctx.warn(&format!(
                "this server may evict a key of the new sale, its stock for example, that has a \
                 time to live (maxmemory-policy {}): PERSIST the key, or set noeviction",
                eviction.policy
            ));
        }
        _ => {}
    }
}

fn warn_of_any_key(ctx: Ctx<'_>, policy: &str) {
    ctx.warn(&format!(
        "this server may evict the keys of sales when memory is short (maxmemory-policy \
         {policy}): set noeviction"
    ));
}

/// The policy by which the server may evict a key of this voucher; none where it may not.
pub(super) fn eviction_of(ctx: Ctx<'_>, keys: &VoucherKeys) -> Option<String> {
    let eviction = Eviction::of_server(ctx)?;
    is_evictable(ctx, &eviction, keys).then_some(eviction.policy)
}

fn is_evictable(ctx: Ctx<'_>, eviction: &Eviction, keys: &VoucherKeys) -> bool {
    if let Ok(keys) = keys.managed() {
        return eviction.takes(ctx, keys.all().iter());
    }
    keys.sale().is_ok_and(|SaleKeys { stock, buyers, orders }| {
        eviction.takes(ctx, [stock, buyers].into_iter().chain(orders))
    })
}
