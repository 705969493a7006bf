//! The books of a voucher, read whole, and given to the judge.

use std::collections::{BTreeMap, BTreeSet};

use domain::entry_id::EntryId;
use domain::judge::{self, Doubt, Finding, Judgement, Kind, Live, Payment, Sale, Server};
use domain::payments::Outcome;

use super::facts::{Paid, Sold};
use super::undone::Undone;
use crate::batch::{Fact, Row};
use crate::order_events::{OrderKey, Which};
use crate::store::{Closed, Ledger, MoneyLine, Sum, Use};

/// What was read of some vouchers: those of a sale's shards, or one.
#[derive(Default)]
pub struct Books {
    /// The sales that are on.
    pub sold: Vec<Sold>,
    pub payments: Vec<Paid>,
    pub ledger: Ledger,
    /// What any sale has of the payments of unknown orders.
    pub uses: Vec<Use>,
    /// By voucher: entries that are not done.
    pub undone: BTreeMap<String, Undone>,
    /// By voucher: the last entry that the group had read before the rows began.
    pub began: BTreeMap<String, EntryId>,
    /// What the marks say if they don't agree.
    pub marks: BTreeSet<String>,
    /// The units on sale at the beginning, of an unmanaged voucher.
    pub stock: Option<i64>,
    /// Only this sale is looked at.
    pub sale: Option<String>,
    /// The shop has statements.
    pub with_statements: bool,
}

impl Books {
    /// What these books say, without what an earlier look has not found.
    pub fn judge(&self, earlier: Option<&(Judgement, BTreeMap<String, Undone>)>) -> Judgement {
        let sales = self.sales();
        let mut found = judge::judge(&sales);
        for text in &self.marks {
            found.doubts.insert(Doubt::Mark(text.clone()));
        }
        for (voucher, undone) in &self.undone {
            let before = earlier.and_then(|(_, before)| before.get(voucher));
            let may_matter = |(one, orders): &(&(Which, EntryId), &Vec<Vec<u8>>)| {
                before.is_none_or(|before| before.contains_key(*one))
                    && !(one.0 == Which::Released && self.has_settled(voucher, orders))
            };
            let entries = undone.iter().filter(may_matter).count();
            if entries > 0 {
                found.doubts.insert(Doubt::Unread { voucher: voucher.clone(), entries });
            }
        }
        for (key, sum) in &self.ledger.sums {
            if self.with_statements && sum.is_partly_without && self.is_wanted(&key.1) {
                let (voucher, sale) = key.clone();
                found.doubts.insert(Doubt::WithoutStatements { voucher, sale });
            }
        }
        // The book of a managed voucher has all orders, whatever became of their entries.
        let is_covered = |sale: &Sale<'_>| match &sale.server {
            Server::On(live) => live.is_managed,
            _ => sale.is_closed,
        };
        if !sales.iter().all(is_covered) {
            for [stream, entry, cause] in self.ledger.lost.iter().cloned() {
                found.doubts.insert(Doubt::Lost { stream, entry, cause });
            }
        }
        for shared in self.ledger.shared.iter().filter(|one| self.is_wanted(&one.key.sale)) {
            let OrderKey { voucher, sale, order } = shared.key.clone();
            let reference = shared.reference.clone();
            // Whose the payment is, a person says first.
            found.findings.retain(|one| {
                (&one.voucher, &one.sale, &one.order, one.kind)
                    != (&voucher, &sale, &order, Kind::Owed)
            });
            found.findings.insert(Finding {
                voucher,
                sale,
                order,
                user: String::new(),
                server: format!("payment {reference}"),
                row: format!("also paid {}", shared.other),
                reference,
                kind: Kind::Shared,
            });
        }
        match earlier {
            Some((earlier, _)) => found.and(earlier),
            None => found,
        }
    }

    fn is_wanted(&self, sale: &str) -> bool {
        self.sale.as_deref().is_none_or(|wanted| wanted == sale)
    }

    /// All sales that the server or the rows know.
    fn sales(&self) -> Vec<Sale<'_>> {
        let mut rows: BTreeMap<(&str, &str), Vec<&Row>> = BTreeMap::new();
        for row in &self.ledger.rows {
            rows.entry((&row.key.voucher, &row.key.sale)).or_default().push(row);
        }
        let mut keys: BTreeSet<(&str, &str)> = rows.keys().copied().collect();
        keys.extend(self.sold.iter().map(|sold| (&*sold.voucher, &*sold.sale)));
        keys.extend(self.payments.iter().map(|paid| (&*paid.voucher, &*paid.sale)));
        keys.extend(self.ledger.lines.iter().map(|line| (&*line.voucher, &*line.sale)));
        let sales = keys.into_iter().filter(|(_, sale)| self.is_wanted(sale));
        sales
            .map(|(voucher, sale)| {
                let rows = rows.get(&(voucher, sale)).map_or(&[][..], Vec::as_slice);
                self.sale(voucher, sale, rows)
            })
            .collect()
    }

    fn sale<'b>(&'b self, voucher: &'b str, sale: &'b str, rows: &[&'b Row]) -> Sale<'b> {
        let key = (voucher.to_owned(), sale.to_owned());
        let sum = self.ledger.sums.get(&key).map_or(0, |sum: &Sum| sum.units);
        let its = |row: &&'b Row| {
            let fact = judge::Fact { user: &row.user, known: &row.known };
            let (is_note, is_settled, is_untold) = (row.is_note(), row.is_settled, row.is_untold());
            let disputed = &*row.disputed;
            (&*row.key.order, judge::Row { fact, is_note, disputed, is_settled, is_untold })
        };
        let lines = self.ledger.lines.iter();
        let lines = lines.filter(|line| line.voucher == voucher && line.sale == sale);
        let payments = self.payments.iter();
        let payments = payments.filter(|paid| paid.voucher == voucher && paid.sale == sale);
        let closed = self.closing(voucher, sale);
        Sale {
            voucher,
            sale,
            server: self.server(voucher, sale),
            rows: rows.iter().map(its).collect(),
            sum,
            lines: lines.map(MoneyLine::told).collect(),
            payments: payments
                .map(|paid| Payment {
                    reference: &paid.reference,
                    outcome: paid.outcome,
                    order: &paid.order,
                    use_: self.use_of(paid),
                })
                .collect(),
            is_closed: self.ledger.closed.contains(&closed),
        }
    }

    fn server<'b>(&'b self, voucher: &str, sale: &str) -> Server<'b> {
        let Some(sold) = self.sold.iter().find(|sold| sold.voucher == voucher) else {
            return Server::Over;
        };
        let number = |sale: &str| sale.parse::<u64>().ok();
        if sold.sale != sale {
            let is_newer = number(&sold.sale).zip(number(sale)).is_some_and(|(its, of)| of > its);
            return if is_newer { Server::Older } else { Server::Over };
        }
        let fact = |fact: &'b Fact| judge::Fact { user: &fact.user, known: &fact.known };
        let paid = sold.orders.iter();
        let paid = paid.filter_map(|(order, its)| Some((&**order, its.paid?)));
        Server::On(Live {
            is_managed: sold.is_managed,
            orders: sold.orders.iter().map(|(order, its)| (&**order, fact(its))).collect(),
            users: sold.users.iter().map(String::as_str).collect(),
            total: sold.total.or(self.stock),
            left: sold.left,
            limit: sold.limit,
            buyers: sold.buyers,
            paid: paid.collect(),
            outside: sold.outside.iter().map(|(order, units)| (&**order, *units)).collect(),
            elsewhere: self.elsewhere(sold),
            is_steady: sold.is_steady && self.ledger.is_steady,
        })
    }

    /// Has a person released the order, in the rows too? Then its release says nothing new, and
    /// may be the entry of the person's own SECKILL.CANCEL.
    fn has_settled(&self, voucher: &str, orders: &[Vec<u8>]) -> bool {
        let [order] = orders else { return false };
        let mut its = self.ledger.rows.iter().filter(|row| {
            row.key.voucher == voucher && row.key.order.as_bytes() == order.as_slice()
        });
        // Of two sales it may be either's.
        let is_settled = |row: &Row| row.is_settled && !row.known.state.is_live();
        its.next().is_some_and(is_settled) && its.next().is_none()
    }

    /// Orders that the group had acknowledged before the rows began. Without its entry an order may
    /// be one of these.
    pub fn elsewhere<'b>(&self, sold: &'b Sold) -> BTreeSet<&'b str> {
        let began = self.began.get(&sold.voucher).copied().unwrap_or_default();
        if began == EntryId::default() {
            return BTreeSet::new();
        }
        let undone = self.undone.get(&sold.voucher);
        let is_before = |order: &&String| {
            sold.entries.get(*order).is_none_or(|id| {
                let is_undone = undone.is_some_and(|all| all.contains_key(&(Which::Orders, *id)));
                *id <= began && !is_undone
            })
        };
        sold.orders.keys().filter(is_before).map(String::as_str).collect()
    }

    /// What other sales and vouchers have of a payment whose order is unknown.
    fn use_of(&self, paid: &Paid) -> judge::Use<'_> {
        let is_own =
            |one: &Use| one.key.sale == paid.sale && paid.names(&one.key) && one.line != "second";
        let is_elsewhere = |one: &&Use| one.reference == paid.reference && !is_own(one);
        let mut its = self.uses.iter().filter(is_elsewhere).peekable();
        match its.peek().copied() {
            _ if paid.outcome != Outcome::Unknown => judge::Use::None,
            None => judge::Use::None,
            Some(_) if its.clone().any(|one| paid.names(&one.key)) => judge::Use::Itself,
            Some(one) => judge::Use::Other(&one.key.order),
        }
    }

    /// What closes a sale: its rows, and the lines about their money.
    pub fn closing(&self, voucher: &str, sale: &str) -> Closed {
        let rows = self.ledger.rows.iter();
        let rows: BTreeMap<&str, &Row> = rows
            .filter(|row| row.key.voucher == voucher && row.key.sale == sale)
            .map(|row| (&*row.key.order, row))
            .collect();
        let mut digest = Digest::new();
        for (order, row) in &rows {
            let known = &row.known;
            let reference = known.reference.as_deref().unwrap_or_default();
            let units = known.units.to_string();
            let settled = if row.is_settled { "settled" } else { "" };
            let words =
                [order, &*row.user, known.state.word(), &units, reference, &row.disputed, settled];
            words.iter().for_each(|word| digest.add(word));
        }
        let lines = self.ledger.lines.iter();
        let lines = lines.filter(|line| line.voucher == voucher && line.sale == sale);
        let lines: BTreeSet<_> =
            lines.map(|line| (&*line.order, &*line.to, line.units, &*line.reference)).collect();
        for (order, to, units, reference) in lines {
            let units = units.to_string();
            [order, to, &units, reference].iter().for_each(|word| digest.add(word));
        }
        Closed {
            voucher: voucher.to_owned(),
            sale: sale.to_owned(),
            units: rows.values().map(|row| row.live_units()).sum(),
            orders: i64::try_from(rows.len()).unwrap_or(i64::MAX),
            digest: digest.text(),
        }
    }
}

/// FNV-1a, whose result never changes: it is kept for as long as a sale's rows are.
struct Digest(u64);

/// Of one word.
pub fn digest(word: &str) -> u64 {
    let mut digest = Digest::new();
    digest.add(word);
    digest.0
}

impl Digest {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, word: &str) {
        let length = (word.len() as u64).to_le_bytes();
        for byte in word.bytes().chain(length) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}
