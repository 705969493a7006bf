//! What differs between a server's books and the accounts in the database. Pure; the rules are
//! those of `domain::resolve` and `domain::unmatched`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use domain::book::State;
use domain::entry_id::EntryId;
use domain::rows::{Phase, Times};

use super::ask::{Compared, ask};
use super::books::{Books, Paid, names};
use super::lost_shard::LostShard;
use super::questions::{
    Findings, Fix, Incomplete, QuestionKind, Repair, agreement, said_by_row, said_by_server,
};
use super::references::List;
use super::undone::{Progress, Undone};
use crate::accounts::{Accounts, Order};
use crate::order_events::OrderKey;
use crate::store::Ledger;

/// More lost holds of one sale than this wait for an operator; nor more than a hundredth of its
/// orders.
const LOST_MAX: usize = 100;

/// An order that either side knows, as the database has it.
type Known<'a> = (Cow<'a, OrderKey>, Option<&'a Order>);

/// Records of payments with their references, by order id.
type Records<'b> = HashMap<&'b str, Vec<(&'b str, &'b Paid)>>;

/// What an operator has said.
#[derive(Clone, Default)]
pub struct Given {
    /// The units on sale at the beginning, of an unmanaged voucher.
    pub stock: Option<i64>,
    pub list: Option<List>,
    pub list_prefix: Option<String>,
}

/// What was read of some vouchers.
#[derive(Default)]
pub struct Look {
    pub ledger: Ledger,
    pub books: Vec<Books>,
    /// By voucher.
    pub undone: BTreeMap<String, Undone>,
    /// By voucher, that of its stream.
    pub progress: BTreeMap<String, Rc<Progress>>,
    /// The server's clock.
    pub now_ms: i64,
    pub given: Given,
    /// References of the list that other vouchers have, or entries that are not read yet.
    pub others: BTreeSet<String>,
    /// Shards that are lost.
    pub lost_shards: Vec<LostShard>,
    /// Why server and tables are not paired.
    pub unpaired: BTreeSet<String>,
}

impl Look {
    pub fn find(&self) -> Findings {
        let mut found = Findings::default();
        found.incomplete.extend(self.unpaired.iter().cloned().map(Incomplete::Unpaired));
        // Copied for the first change: mostly there is none.
        let mut accounts = Cow::Borrowed(&self.ledger.accounts);
        let mut compared = Vec::new();
        for books in &self.books {
            self.incomplete(books, &mut found);
            let (keys, records) = self.keys(books);
            for (key, order) in keys {
                if !key.is_managed() || self.is_undone(&key) {
                    continue;
                }
                if let Some(one) = self.compare(books, &records, key, order, &mut found) {
                    compared.push(one);
                }
            }
        }
        for one in &compared {
            if one.repair.joined(&accounts, &one.key, one.order(&accounts)).is_some() {
                fix(&one.key, Fix::Repair(one.repair.clone()), &mut accounts, &mut found);
            }
        }
        self.lost(&compared, &mut accounts, &mut found);
        for one in &compared {
            let server = &one.repair.server;
            if let Some(order) = one.order(&accounts)
                && agreement(&accounts, &one.key, order, server).is_some()
            {
                fix(&one.key, Fix::Agree(server.clone()), &mut accounts, &mut found);
            }
        }
        for books in &self.books {
            self.unmanaged(books, &mut accounts, &mut found);
        }
        if found.before > 0 {
            found.incomplete.insert(Incomplete::Before { orders: found.before });
        }
        self.repairs(&mut found);
        for one in &compared {
            ask(&accounts, one, &mut found);
        }
        self.lost_shards(&mut found);
        self.references(&accounts, &mut found);
        for books in &self.books {
            self.sums(books, &accounts, &mut found);
        }
        if found.questions.is_empty() {
            self.listed(&accounts, &mut found);
        }
        if found.questions.is_empty() {
            self.closable(&accounts, &mut found);
        }
        found
    }

    pub(super) fn is_undone(&self, key: &OrderKey) -> bool {
        self.undone.get(&key.voucher).is_some_and(|it| it.orders.contains(&key.order))
    }

    /// All orders of a voucher that either side knows, and the records of payments that the
    /// database may not have of their orders.
    fn keys<'a>(&'a self, books: &'a Books) -> (Vec<Known<'a>>, Records<'a>) {
        let of_rows = self.ledger.accounts.of_voucher(&books.voucher);
        let mut keys: Vec<Known<'_>> =
            of_rows.map(|(key, order)| (Cow::Borrowed(key), Some(order))).collect();
        let booked = books.orders.iter().filter(|(_, order)| order.booked.is_some());
        let mut booked: HashMap<&str, &str> =
            booked.map(|(id, order)| (&**id, &*order.user)).collect();
        let mut payments: HashMap<&str, &Paid> =
            books.payments.iter().map(|(reference, paid)| (&**reference, paid)).collect();
        let on = books.sale();
        for (key, order) in &keys {
            if booked.get(&*key.order) == Some(&&*key.user) && Some(&key.sale) == on.as_ref() {
                booked.remove(&*key.order);
            }
            for reference in order.iter().flat_map(|order| order.account.payments.keys()) {
                let is_its = |paid: &&Paid| paid.user.is_some() && names(paid, key);
                if payments.get(&**reference).is_some_and(is_its) {
                    payments.remove(&**reference);
                }
            }
        }
        let (mut new, sale) = (BTreeSet::new(), on.unwrap_or_default());
        for (order, user) in booked {
            let [order, user] = [order, user].map(str::to_owned);
            new.insert(OrderKey { order, user, ..OrderKey::of_sale(&books.voucher, &sale) });
        }
        // Payments of orders that nobody knows. Records of earlier versions name no user.
        let mut records = Records::new();
        for (reference, paid) in payments {
            let user = paid.user.clone().unwrap_or_else(|| self.user_of(books, paid));
            let (order, sale) = (paid.id.clone(), paid.sale.get().to_string());
            let key = OrderKey { order, user, ..OrderKey::of_sale(&books.voucher, &sale) };
            if self.ledger.accounts.get(&key).is_none() {
                new.insert(key);
            }
            records.entry(&paid.id).or_default().push((reference, paid));
        }
        keys.extend(new.into_iter().map(|key| (Cow::Owned(key), None)));
        (keys, records)
    }

    /// Whose order a payment names that names no user; empty of an order that nobody knows.
    fn user_of(&self, books: &Books, paid: &Paid) -> String {
        let sale = paid.sale.get().to_string();
        let mut none = OrderKey::of_sale(&books.voucher, &sale);
        none.order.clone_from(&paid.id);
        let known = self.ledger.accounts.of_order(&none).map(|key| &key.user);
        let is_on = books.sale() == Some(sale);
        let booked = books.orders.get(&paid.id).filter(|it| is_on && it.booked.is_some());
        let booked = booked.map(|it| &it.user);
        known.into_iter().chain(booked).min().cloned().unwrap_or_default()
    }

    fn incomplete(&self, books: &Books, found: &mut Findings) {
        let voucher = books.voucher.clone();
        let entries = self.undone.get(&voucher).map_or(0, |it| it.entries);
        if entries > 0 {
            found.incomplete.insert(Incomplete::Unread { voucher: voucher.clone(), entries });
        }
        let on = books.sale();
        for ((of, sale), (_, is_closed)) in &self.ledger.sales {
            let is_gone = *of == voucher && on.as_ref() != Some(sale) && !is_closed;
            if is_gone && !self.is_of_lost_shard(of, sale) {
                let (voucher, sale) = (of.clone(), sale.clone());
                found.incomplete.insert(Incomplete::Dropped { voucher, sale });
            }
        }
        if !books.is_steady {
            found.incomplete.insert(Incomplete::Moving { voucher });
        }
    }

    /// None of an order that is not looked at: another consumer had it before the tables began.
    fn compare<'a>(
        &'a self,
        books: &Books,
        records: &Records<'_>,
        key: Cow<'a, OrderKey>,
        order: Option<&'a Order>,
        found: &mut Findings,
    ) -> Option<Compared<'a>> {
        let own = order.into_iter().flat_map(|order| order.account.payments.keys());
        let own = own.map(String::as_str);
        let named = records.get(&*key.order).into_iter().flatten();
        let named = named.filter(|(_, paid)| names(paid, &key)).map(|(reference, _)| *reference);
        let server = books.server(&key, own.chain(named));
        // Payments on record are all that is left of it.
        if server.is_over && !self.ledger.accounts.has_sale(&key.voucher, &key.sale) {
            let (voucher, sale) = (key.voucher.clone(), key.sale.clone());
            found.incomplete.insert(Incomplete::Dropped { voucher, sale });
            return None;
        }
        let booked = books.orders.get(&key.order).filter(|its| its.user == key.user);
        let accepted = order.map_or(Times::Never, |order| order.account.row.accepted);
        let is_new = accepted == Times::Never;
        if let Some(progress) = self.progress.get(&key.voucher)
            && is_new
            && server.order.is_some()
            && progress.began != EntryId::default()
            && !progress.after.contains(&(key.voucher.clone(), key.order.clone()))
        {
            found.before += 1;
            return None;
        }
        let reason = booked.and_then(|booked| match booked.state {
            State::Released(reason) => Some(reason),
            State::Waiting | State::Held | State::Sold => None,
        });
        let repair = Repair {
            server,
            is_held: books.info.as_ref().is_some_and(|info| info.hold.is_some()),
            reason,
            deadline_ms: booked.and_then(|booked| booked.deadline_ms),
        };
        Some(Compared { key, read: (&self.ledger.accounts, order), repair })
    }

    /// Held orders that the server has lost, and that nobody can pay any more.
    fn lost(
        &self,
        compared: &[Compared<'_>],
        accounts: &mut Cow<'_, Accounts>,
        found: &mut Findings,
    ) {
        let mut of_sales: BTreeMap<(&str, &str), (usize, Vec<&Compared<'_>>)> = BTreeMap::new();
        for one in compared {
            let key = &one.key;
            let Some(order) = one.order(accounts) else { continue };
            let (all, lost) = of_sales.entry((&key.voucher, &key.sale)).or_default();
            *all += 1;
            let last = self.progress.get(&key.voucher).map_or(EntryId::default(), |it| it.last);
            let has_gone_on = match order.account.row.accepted {
                Times::Once(id) => last > id,
                Times::Never | Times::Book | Times::More => false,
            };
            let is_lost = order.account.row.phase() == Phase::Held
                && order.account.row.live() > 0
                && order.account.ruling.is_none()
                && one.repair.server.order.is_none()
                && one.repair.server.outside == 0
                && !one.repair.server.is_over
                && order.deadline_ms.is_some_and(|deadline| deadline < self.now_ms)
                && has_gone_on;
            if is_lost {
                lost.push(one);
            }
        }
        for (all, lost) in of_sales.into_values() {
            if lost.len() > (all / 100).clamp(1, LOST_MAX) {
                continue;
            }
            for one in lost {
                fix(&one.key, Fix::Lose, accounts, found);
            }
        }
    }

    /// What a check would answer by itself.
    fn repairs(&self, found: &mut Findings) {
        let by = &found.by_itself;
        let mut keys: BTreeMap<OrderKey, Option<String>> =
            by.events.iter().map(|event| (event.key.clone(), None)).collect();
        for (key, fix) in &by.fixes {
            let server = keys.entry(key.clone()).or_default();
            *server = server.take().or(fix.server().map(said_by_server));
        }
        for (key, server) in keys {
            let (rows, server) = (self.said_by_rows(&key), server.as_deref());
            let server = server.unwrap_or("see its stream");
            found.ask((QuestionKind::Repair, &key, ""), [&rows, server], &[]);
        }
    }

    fn said_by_rows(&self, key: &OrderKey) -> String {
        let accounts = &self.ledger.accounts;
        accounts.get(key).map_or_else(
            || "missing".to_owned(),
            |order| said_by_row(order, accounts.conflicts(key)),
        )
    }

    /// Payments of several orders: whose is it?
    fn references(&self, accounts: &Accounts, found: &mut Findings) {
        let own: BTreeSet<&str> = self.books.iter().map(|books| &*books.voucher).collect();
        for reference in accounts.references() {
            let users: Vec<&OrderKey> = accounts.users_of(reference).collect();
            let is_own = users.iter().any(|key| own.contains(&*key.voucher));
            if users.len() < 2 || !is_own || !accounts.balance(reference).is_conflict {
                continue;
            }
            let Some(first) = users.first() else { continue };
            let rows: Vec<String> = users
                .iter()
                .map(|key| format!("order {} of {} for {}", key.order, key.user, key.voucher))
                .collect();
            let about = (QuestionKind::Reference, *first, reference);
            found.ask(about, [&rows.join("; "), ""], &["payment"]);
        }
    }

    /// The sums that the worker and the server keep.
    fn sums(&self, books: &Books, accounts: &Accounts, found: &mut Findings) {
        let mut differs = |sale: &str, rows: String, server: String| {
            let key = OrderKey::of_sale(&books.voucher, sale);
            found.ask((QuestionKind::Sum, &key, &rows), [&rows, &server], &[]);
        };
        for ((voucher, sale), (units, _)) in &self.ledger.sales {
            if *voucher != books.voucher {
                continue;
            }
            let sum = self.ledger.accounts.row_units_of(voucher, sale);
            if *units != sum {
                differs(sale, format!("{sum} units of orders, {units} in the sum"), String::new());
            }
        }
        let Some(info) = &books.info else { return };
        if !books.is_steady {
            return;
        }
        let sale = books.sale().unwrap_or_default();
        let left = info.left.unwrap_or(0);
        if let Some(total) = info.total.filter(|_| info.managed) {
            let live = books.orders.values().filter_map(|order| order.booked.as_ref());
            let live = live.filter(|it| matches!(it.phase, Phase::Held | Phase::Sold));
            let live = live.map(|it| it.units).fold(0, i64::saturating_add);
            if left.saturating_add(live) != total {
                let server = format!("{left} left and {live} held or sold of {total}");
                differs(&sale, "SECKILL.AUDIT tells more".to_owned(), server);
            }
        } else if let Some(stock) = self.given.stock {
            let sold = accounts.units_of(&books.voucher, &sale);
            if stock.saturating_sub(left) != sold {
                differs(&sale, format!("{sold} units"), format!("{left} left of {stock}"));
            }
        }
    }

    /// Sales that are over, with all orders looked at.
    fn closable(&self, accounts: &Accounts, found: &mut Findings) {
        for books in self.books.iter().filter(|books| books.is_managed() && books.is_steady) {
            let (Some(info), Some(sale)) = (&books.info, books.sale()) else { continue };
            let is_over = info.state == "ended"
                && (info.held.unwrap_or(0), info.waiting.unwrap_or(0)) == (0, 0);
            let is_whole = found.incomplete.iter().all(|it| match it {
                Incomplete::Dropped { .. } => true,
                Incomplete::Unread { voucher, .. } | Incomplete::Moving { voucher } => {
                    *voucher != books.voucher
                }
                Incomplete::Before { .. } | Incomplete::Unpaired(_) => false,
            });
            if is_over && is_whole {
                let units = accounts.units_of(&books.voucher, &sale);
                found.closable.push((books.voucher.clone(), sale, units));
            }
        }
    }
}

/// Writes what a check answers by itself, with what follows, into the accounts of this look.
fn fix(key: &OrderKey, fix: Fix, accounts: &mut Cow<'_, Accounts>, found: &mut Findings) {
    if fix.apply(accounts.to_mut(), key) {
        accounts.to_mut().follow(key);
        found.by_itself.fixes.push((key.clone(), fix));
    }
}
