//! The rows of orders and of payments: which columns they have, and how an account becomes a row
//! and is read from one.

use std::borrow::Cow;

use domain::account::Shop;
use domain::book::{Reason, State};
use domain::entry_id::EntryId;
use domain::homes::Stated;
use domain::rows::{Phase, Row, Times, Unmanaged};
use domain::unit_set::UnitSet;

use crate::accounts::{Order, Payment, View};
use crate::order_events::OrderKey;
use crate::sql::{Arg, Values, number, odd};

pub const ORDER_COLUMNS: &str = "voucher_id, sale_id, order_id, user_id, units, state, \
                                 deadline_ms, ref, conflict, joined, ruling, created_ms, \
                                 updated_ms";
pub const PAYMENT_COLUMNS: &str = "ref, voucher_id, sale_id, order_id, user_id, units, confirmed, \
                                   flags, had, stated, released, elsewhere, ruled_elsewhere, \
                                   refunded, updated_ms";

/// What is read of an order and of a payment, as texts. Numbers and words of the worker's own are
/// one, by CONCAT: CONCAT_WS of SQLite 3.46 drops empty texts.
pub const ORDER_VALUES: &str = "voucher_id, sale_id, order_id, user_id, joined, ruling, \
     CONCAT(created_ms, ' ', COALESCE([deadline_ms], ''), ' ', COALESCE(conflict, ''), ' ', units)";
pub const PAYMENT_VALUES: &str = "ref, voucher_id, sale_id, order_id, user_id, \
     CONCAT(confirmed, ' ', flags, ' ', had, ' ', COALESCE([stated], ''), ' ', released, ' ', \
     elsewhere, ' ', ruled_elsewhere, ' ', refunded)";

const IS_AT_ONCE: i64 = 1;
const IS_NORESTOCK: i64 = 2;

const PAYS: i64 = 1;
const LATE: i64 = 2;
const DUPLICATE: i64 = 4;
const UNMATCHED: i64 = 8;
const OF_RELEASED: i64 = 16;
const NOTHING: i64 = 32;
const SEVERAL: i64 = 64;
const RULED: i64 = 128;

/// The word in the column of an order of which only payments are known.
const UNKNOWN: &str = "unknown";

/// The join itself, as an array in JSON: each column costs a database as much as a value. What was
/// asked and sold, held to, sold to, the least asked and confirmed; the entries that accepted,
/// confirmed and released it; flags and the reason; what the shop's tables have; how many rulings.
type Joined<'t> = (
    (i64, i64),
    [Option<i64>; 4],
    [Cow<'t, str>; 3],
    (i64, Option<Reason>),
    (Option<Phase>, i64),
    u64,
);

impl OrderKey {
    /// The columns of the key.
    pub fn args(&self) -> [Arg<'_>; 4] {
        [&self.voucher, &self.sale, &self.order, &self.user].map(|text| Arg::Text(text))
    }
}

/// A row with the texts of its columns.
pub struct OrderRow<'o> {
    key: &'o OrderKey,
    order: &'o Order,
    view: &'o View,
    joined: String,
    conflict: Option<String>,
    ruling: Option<String>,
}

fn times(times: Times<EntryId>) -> String {
    match times {
        Times::Never => String::new(),
        Times::Book => "-".to_owned(),
        Times::Once(id) => id.to_string(),
        Times::More => "+".to_owned(),
    }
}

fn times_of(text: &str) -> sqlx::Result<Times<EntryId>> {
    Ok(match text {
        "" => Times::Never,
        "-" => Times::Book,
        "+" => Times::More,
        id => Times::Once(EntryId::parse(id.as_bytes()).ok_or_else(|| odd("the id of an entry"))?),
    })
}

fn list<'i>(ids: impl Iterator<Item = &'i EntryId>) -> String {
    ids.map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn list_of(text: &str) -> sqlx::Result<Vec<EntryId>> {
    let id = |id: &str| EntryId::parse(id.as_bytes()).ok_or_else(|| odd("a list of entries"));
    text.split(' ').filter(|id| !id.is_empty()).map(id).collect()
}

fn units_of(text: &str) -> sqlx::Result<UnitSet> {
    UnitSet::parse(text.as_bytes()).map_err(|_| odd("a set of units"))
}

impl<'o> OrderRow<'o> {
    pub fn new(key: &'o OrderKey, order: &'o Order, view: &'o View) -> Self {
        let (row, account) = (&order.account.row, &order.account);
        let (accepted, released) = match &order.unmanaged {
            Some(known) => (list(known.accepted()), list(known.released())),
            None => (times(row.accepted), String::new()),
        };
        let flags = i64::from(row.is_at_once) * IS_AT_ONCE;
        let joined: Joined<'_> = (
            (row.asked, row.sold),
            [row.held_to, row.sold_to, row.asked_least, row.confirmed_least],
            [accepted.into(), times(row.confirmed).into(), released.into()],
            (flags | (i64::from(row.is_norestock) * IS_NORESTOCK), order.reason),
            (account.shop.phase, account.shop.units),
            account.rulings,
        );
        let conflicts = view.conflicts;
        Self {
            key,
            order,
            joined: json(&joined),
            conflict: (!conflicts.is_none()).then(|| conflicts.letters()),
            ruling: account.ruling.as_ref().map(json),
            view,
        }
    }

    /// In the order of the columns.
    pub fn args(&self, now_ms: i64) -> Vec<Arg<'_>> {
        let order = self.order;
        let created = if order.created_ms > 0 { order.created_ms } else { now_ms };
        let rest = [
            Arg::Int(self.view.units),
            Arg::Word(self.view.state.map_or(UNKNOWN, State::word)),
            Arg::MaybeInt(order.deadline_ms),
            Arg::MaybeText(self.view.reference.as_deref()),
            Arg::MaybeText(self.conflict.as_deref()),
            Arg::Text(&self.joined),
            Arg::MaybeText(self.ruling.as_deref()),
            Arg::Int(created),
            Arg::Int(now_ms),
        ];
        self.key.args().into_iter().chain(rest).collect()
    }
}

fn maybe_number(word: &str) -> sqlx::Result<Option<i64>> {
    if word.is_empty() { Ok(None) } else { number(word).map(Some) }
}

fn read_key(values: &mut Values<'_>) -> sqlx::Result<OrderKey> {
    let mut text = || values.text().map(str::to_owned);
    Ok(OrderKey { voucher: text()?, sale: text()?, order: text()?, user: text()? })
}

/// An order from its row, without its payments.
pub fn read_order(values: &mut Values<'_>) -> sqlx::Result<(OrderKey, Order)> {
    let key = read_key(values)?;
    let joined: Joined<'_> = read_json("a join", values.text()?)?;
    let ((asked, sold), bounds, entries, (flags, reason), (phase, units), rulings) = joined;
    let [held_to, sold_to, asked_least, confirmed_least] = bounds;
    let [accepted, confirmed, released] = entries;
    let shop = Shop { phase, units };
    let ruling = values.maybe_text()?.map(|text| read_json("a ruling", text)).transpose()?;
    let mut words = values.text()?.split(' ');
    let mut word = || words.next().ok_or_else(|| odd("words"));
    let (created_ms, deadline_ms) = (number(word()?)?, maybe_number(word()?)?);
    let (has_conflict, row_units) = (!word()?.is_empty(), number(word()?)?);
    let mut order = Order { reason, deadline_ms, created_ms, ..Order::default() };
    (order.row_units, order.has_conflict) = (row_units, has_conflict);
    order.account.shop = shop;
    (order.account.rulings, order.account.ruling) = (rulings, ruling);
    if key.is_managed() {
        order.account.row = Row {
            asked,
            sold,
            held_to,
            sold_to,
            accepted: times_of(&accepted)?,
            confirmed: times_of(&confirmed)?,
            is_at_once: flags & IS_AT_ONCE != 0,
            asked_least,
            confirmed_least,
            is_norestock: flags & IS_NORESTOCK != 0,
        };
    } else {
        let mut known = Unmanaged::default();
        list_of(&accepted)?.into_iter().for_each(|id| known.accept(id, asked));
        list_of(&released)?.into_iter().for_each(|id| known.release(id, None, asked));
        order.unmanaged = Some(known);
        order.follow_unmanaged();
    }
    Ok((key, order))
}

/// As JSON, for a column.
pub fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| unreachable!("numbers and texts: {error}"))
}

fn read_json<'t, T: serde::Deserialize<'t>>(what: &str, text: &'t str) -> sqlx::Result<T> {
    serde_json::from_str(text).map_err(|error| odd(&format!("{what}: {error}")))
}

/// A payment's row with the texts of its columns.
pub struct PaymentRow<'p> {
    key: &'p OrderKey,
    reference: &'p str,
    payment: &'p Payment,
    confirmed: String,
    units: [String; 4],
}

impl<'p> PaymentRow<'p> {
    pub fn new(key: &'p OrderKey, reference: &'p str, payment: &'p Payment) -> Self {
        let Payment { released, elsewhere, ruled_elsewhere, lines, .. } = payment;
        let units = [released, elsewhere, ruled_elsewhere, lines].map(UnitSet::write);
        Self { key, reference, payment, confirmed: times(payment.confirmed), units }
    }

    /// In the order of the columns.
    pub fn args(&self, now_ms: i64) -> Vec<Arg<'_>> {
        let it = self.payment;
        let flags = [
            (it.pays, PAYS),
            (it.is_late, LATE),
            (it.is_duplicate, DUPLICATE),
            (it.is_unmatched, UNMATCHED),
            (it.is_of_released, OF_RELEASED),
            (it.is_nothing, NOTHING),
            (matches!(it.stated, Stated::Several(_)), SEVERAL),
            (matches!(it.stated, Stated::Ruled(_)), RULED),
        ];
        let flags = flags.into_iter().filter(|(is_so, _)| *is_so).map(|(_, flag)| flag).sum();
        let [released, elsewhere, ruled_elsewhere, lines] = &self.units;
        let rest = [
            Arg::MaybeInt(it.units()),
            Arg::Text(&self.confirmed),
            Arg::Int(flags),
            Arg::Int(it.had),
            Arg::MaybeInt(it.stated.units()),
            Arg::Text(released),
            Arg::Text(elsewhere),
            Arg::Text(ruled_elsewhere),
            Arg::Text(lines),
            Arg::Int(now_ms),
        ];
        [Arg::Text(self.reference)].into_iter().chain(self.key.args()).chain(rest).collect()
    }
}

/// A payment from its row.
pub fn read_payment(values: &mut Values<'_>) -> sqlx::Result<(OrderKey, String, Payment)> {
    let reference = values.text()?.to_owned();
    let key = read_key(values)?;
    let mut words = values.text()?.split(' ');
    let mut word = || words.next().ok_or_else(|| odd("words"));
    let confirmed = times_of(word()?)?;
    let (flags, had, stated) = (number(word()?)?, number(word()?)?, maybe_number(word()?)?);
    let mut set = || units_of(word()?);
    let [released, elsewhere, ruled_elsewhere, lines] = [set()?, set()?, set()?, set()?];
    let has = |flag| flags & flag != 0;
    let payment = Payment {
        confirmed,
        pays: has(PAYS),
        is_late: has(LATE),
        is_duplicate: has(DUPLICATE),
        is_unmatched: has(UNMATCHED),
        is_of_released: has(OF_RELEASED),
        had,
        stated: match stated {
            None => Stated::Never,
            Some(units) if has(RULED) => Stated::Ruled(units),
            Some(units) if has(SEVERAL) => Stated::Several(units),
            Some(units) => Stated::Once(units),
        },
        released,
        elsewhere,
        ruled_elsewhere,
        lines,
        is_nothing: has(NOTHING),
    };
    Ok((key, reference, payment))
}
