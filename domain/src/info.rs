//! The fields of `INFO seckill`: their names, which never change, and their meaning.
//!
//! seckill-top uses these descriptions in its metrics, and the documentation in its table.

mod names;

pub use names::Names;

use std::ffi::CStr;

/// What the value of a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number that only grows, from 0 at each load.
    Counter,
    /// A number that can also decrease.
    Gauge,
    /// A setting in force that names of keys depend on.
    Name,
}

/// One field. The server puts `seckill_` before its name.
pub struct Field {
    pub name: &'static CStr,
    pub meaning: &'static str,
    pub kind: Kind,
}

const fn counter(name: &'static CStr, meaning: &'static str) -> Field {
    Field { name, meaning, kind: Kind::Counter }
}

const fn gauge(name: &'static CStr, meaning: &'static str) -> Field {
    Field { name, meaning, kind: Kind::Gauge }
}

const fn name(name: &'static CStr, meaning: &'static str) -> Field {
    Field { name, meaning, kind: Kind::Name }
}

pub static TRIES_ACCEPTED: Field = counter(c"tries_accepted", "Tries answered 0");
pub static TRIES_SOLD_OUT: Field = counter(c"tries_sold_out", "Tries answered 1");
pub static TRIES_AT_LIMIT: Field = counter(c"tries_at_limit", "Tries answered 2");
pub static TRIES_NOT_STARTED: Field = counter(c"tries_not_started", "Tries answered 3");
pub static TRIES_ENDED: Field = counter(c"tries_ended", "Tries answered 4");
pub static TRIES_WAITING: Field = counter(c"tries_waiting", "Tries answered 6");
pub static TRIES_REPEATED: Field =
    counter(c"tries_repeated", "Tries with a known order id, answered 0, 5 or 6 again");
pub static CARTS_ACCEPTED: Field = counter(c"carts_accepted", "Carts answered 0 for each article");
pub static CARTS_REFUSED: Field =
    counter(c"carts_refused", "Carts of which an article could not be had, so none was sold");
pub static ORDERS_PROMOTED: Field =
    counter(c"orders_promoted", "Orders that waited, and got their units");
pub static ORDERS_CONFIRMED: Field = counter(c"orders_confirmed", "Orders that were confirmed");
pub static ORDERS_CANCELLED: Field = counter(c"orders_cancelled", "Orders that were cancelled");
pub static ORDERS_EXPIRED: Field =
    counter(c"orders_expired", "Held orders that were released at their deadline");
pub static ORDERS_REJECTED: Field =
    counter(c"orders_rejected", "Orders that SECKILL.REJECT released");
pub static PAYMENTS_TO_REFUND: Field =
    counter(c"payments_to_refund", "Payments that were announced as late, duplicate or unmatched");
pub static LOCKS_ACQUIRED: Field =
    counter(c"locks_acquired", "Locks acquired, including those granted to waiters");
pub static LOCKS_REFUSED: Field = counter(c"locks_refused", "Calls of LOCK.ACQUIRE answered 0");
pub static LOCKS_RELEASED: Field = counter(
    c"locks_released",
    "Locks released by LOCK.RELEASE, or with SESSION by the end of their connection",
);
pub static LOCKS_WAITING: Field = gauge(c"locks_waiting", "Clients in the queue for locks now");
pub static LOCKS_WAITED_MS: Field = counter(
    c"locks_waited_ms_total",
    "Milliseconds that clients waited in the queue, counted when they leave it",
);
pub static PRIZES_DRAWN: Field = counter(c"prizes_drawn", "Draws answered 0");
pub static SCRIPTS_REPLACED: Field =
    counter(c"scripts_replaced", "Script calls that commands answered, as seckill.scripts says");
pub static HOLDS_OPEN: Field = gauge(
    c"holds_open",
    "Orders held now, in all databases, as far as their keys have been looked at",
);

pub static STOCK_PREFIX: Field = name(c"stock_prefix", "What precedes the voucher in stock keys");
pub static BUYERS_PREFIX: Field =
    name(c"buyers_prefix", "What precedes the voucher in the keys of buyers");
pub static ORDER_STREAM: Field = name(c"order_stream", "The stream of orders; empty: none");
pub static ORDER_FIELDS: Field =
    name(c"order_fields", "The fields of user, voucher and order id in its entries");
pub static CONFIRMED_STREAM: Field =
    name(c"confirmed_stream", "yes if confirmed orders have a stream, too");
pub static DRAW_STREAM: Field = name(c"draw_stream", "The stream of draws; empty: none");
pub static HASH_TAGS: Field =
    name(c"hash_tags", "yes if keys have hash tags, as they always do in a cluster");

/// Every field, in the order shown.
pub static FIELDS: [&Field; 30] = [
    &TRIES_ACCEPTED, &TRIES_SOLD_OUT, &TRIES_AT_LIMIT, &TRIES_NOT_STARTED, &TRIES_ENDED,
    &TRIES_WAITING, &TRIES_REPEATED, &CARTS_ACCEPTED, &CARTS_REFUSED, &ORDERS_PROMOTED,
    &ORDERS_CONFIRMED, &ORDERS_CANCELLED, &ORDERS_EXPIRED, &ORDERS_REJECTED, &PAYMENTS_TO_REFUND,
    &LOCKS_ACQUIRED, &LOCKS_REFUSED, &LOCKS_RELEASED, &LOCKS_WAITING, &LOCKS_WAITED_MS,
    &PRIZES_DRAWN, &SCRIPTS_REPLACED, &HOLDS_OPEN, &STOCK_PREFIX, &BUYERS_PREFIX, &ORDER_STREAM,
    &ORDER_FIELDS, &CONFIRMED_STREAM, &DRAW_STREAM, &HASH_TAGS,
];

/// The field with this name, given without `seckill_`.
pub fn field(name: &str) -> Option<&'static Field> {
    FIELDS.into_iter().find(|field| field.name.to_bytes() == name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name() {
        assert!(field("holds_open").is_some_and(|field| field.kind == Kind::Gauge));
        assert!(field("tries_ended").is_some_and(|field| field.kind == Kind::Counter));
        assert!(field("tries").is_none());
        let mut names = FIELDS.map(|field| field.name);
        names.sort();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
