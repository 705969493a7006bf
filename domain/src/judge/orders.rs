//! Compares the orders of a sale, by the projection that also writes their rows.

use super::{Doubt, Finding, Judgement, Kind, Live, Row, Sale, Server, Sums, count, sum};
use crate::book::State;
use crate::projection::{Book, Known, LOST, project};
use std::collections::{BTreeMap, BTreeSet};

/// What the server says of a row.
struct Said<'b> {
    /// The user of the order on the server, if it is another one.
    other: Option<&'b str>,
    book: Book<String>,
}

impl Said<'_> {
    /// In words, as in the row of a dispute.
    fn words(&self) -> String {
        self.other.map_or_else(|| self.book.words(), Book::<String>::words_of_user)
    }

    /// What the row becomes; None if the server contradicts it.
    fn next(&self, row: &Row<'_>) -> Option<Known<String>> {
        match (self.other, &self.book) {
            (Some(_), _) => None,
            (None, Book::Has(known)) if row.disputed == LOST => Some(known.clone()),
            (None, _) => project(Some(row.fact.known), None, &self.book).ok().flatten(),
        }
    }
}

pub fn judge(sale: &Sale<'_>, found: &mut Judgement, sums: &mut Sums) {
    found.disputed =
        found.disputed.saturating_add(count(sale.rows.values().filter(|row| row.is_disputed())));
    found.orders = found.orders.saturating_add(sale.rows.len());
    match &sale.server {
        Server::On(live) => of_sale(sale, live, found, sums),
        Server::Older | Server::Over => without_book(sale, found, sums),
    }
}

impl Row<'_> {
    fn is_disputed(&self) -> bool {
        !self.disputed.is_empty() && !self.is_settled
    }
}

/// A sale of which the rows alone know.
fn without_book(sale: &Sale<'_>, found: &mut Judgement, sums: &mut Sums) {
    let is_older = matches!(sale.server, Server::Older);
    let book = || if is_older { Book::Older } else { Book::Over };
    for (order, row) in &sale.rows {
        compare(sale, order, row, &Said { other: None, book: book() }, found);
    }
    if !is_older && !sale.is_closed && !sale.rows.is_empty() {
        let [voucher, name] = [sale.voucher, sale.sale].map(str::to_owned);
        found.doubts.insert(Doubt::NoBook { voucher, sale: name, orders: sale.rows.len() });
    }
    let units = sum(sale.rows.values().map(Row::live_units));
    sums.in_sums.0 = sums.in_sums.0.saturating_add(units);
    sums.in_sums.1 = sums.in_sums.1.saturating_add(sale.sum);
}

fn of_sale(sale: &Sale<'_>, live: &Live<'_>, found: &mut Judgement, sums: &mut Sums) {
    let known = live.orders.keys().filter(|order| !sale.rows.contains_key(*order));
    found.orders = found.orders.saturating_add(known.count());
    missing(sale, live, found);
    let mut agreed = Agreed::of(live);
    if live.is_managed {
        // A note without its order is all that is left of one that the server has lost.
        let is_whole =
            |order: &str, row: &Row<'_>| !row.is_note || !live.orders.contains_key(order);
        for (order, row) in sale.rows.iter().filter(|(order, row)| is_whole(order, row)) {
            let fact = live.orders.get(order);
            let said = Said {
                other: fact.map(|fact| fact.user).filter(|user| *user != row.fact.user),
                book: fact.map_or(Book::Lacks, |fact| Book::Has(fact.known.clone())),
            };
            if compare(sale, order, row, &said, found) {
                agreed.settle(sale, live, order, row, found);
            }
        }
        outside(sale, live, found);
    } else {
        of_users(sale, live, found);
    }
    if !live.is_steady {
        found.doubts.insert(Doubt::Changing { voucher: sale.voucher.to_owned() });
        return;
    }
    agreed.add(sale, live, found, sums);
}

/// Units are off the sale for orders that the rows keep, as many as the server lacks of them.
fn outside(sale: &Sale<'_>, live: &Live<'_>, found: &mut Judgement) {
    for (order, outside) in &live.outside {
        let row = sale.rows.get(order);
        let on_server = live.orders.get(order).filter(|fact| {
            fact.known.state.is_live() && row.is_some_and(|row| row.fact.user == fact.user)
        });
        let on_server = on_server.map_or(0, |fact| fact.known.units);
        let lacking = row.map_or(0, Row::live_units).saturating_sub(on_server).max(0);
        // The server puts all of them on sale again, or none.
        if *outside > lacking {
            let server = format!("{outside} units of it are off the sale");
            let its = row.map_or("missing", |row| row.fact.known.state.word());
            let its = match lacking {
                0 => its.to_owned(),
                _ => format!("{its}, with {lacking} units that the server lacks"),
            };
            found.findings.insert(sale.finding(order, "", server, its, Kind::Outside(*outside)));
        }
    }
}

/// What the rows should have, by order: the units and the user. It is what the server has, but for
/// what a person has settled.
struct Agreed<'b>(BTreeMap<&'b str, (i64, &'b str)>);

impl<'b> Agreed<'b> {
    fn of(live: &Live<'b>) -> Self {
        let orders = live.orders.iter().filter(|(_, fact)| fact.known.state.is_live());
        Self(orders.map(|(order, fact)| (*order, (fact.known.units, fact.user))).collect())
    }

    /// A row that a person has settled counts as it is. Its units must be off the sale.
    fn settle(
        &mut self,
        sale: &Sale<'b>,
        live: &Live<'b>,
        order: &'b str,
        row: &Row<'b>,
        found: &mut Judgement,
    ) {
        let on_server = self.0.remove(order).map_or(0, |(units, _)| units);
        if row.is_live() {
            self.0.insert(order, (row.fact.known.units, row.fact.user));
        }
        let outside = live.outside.get(order).copied().unwrap_or(0);
        let more = row.live_units().saturating_sub(on_server).saturating_sub(outside);
        if more > 0 {
            let server = format!("{more} units of it are on sale again");
            let its = "kept by a person".to_owned();
            let finding = sale.finding(order, row.fact.user, server, its, Kind::Oversold);
            found.findings.insert(finding);
        }
    }

    /// Units by user.
    fn bought(&self) -> BTreeMap<&'b str, i64> {
        let mut bought: BTreeMap<&str, i64> = BTreeMap::new();
        for (units, user) in self.0.values() {
            let of = bought.entry(user).or_default();
            *of = of.saturating_add(*units);
        }
        bought
    }

    fn add(&self, sale: &Sale<'_>, live: &Live<'_>, found: &mut Judgement, sums: &mut Sums) {
        let rows = || sale.rows.iter().filter(|(_, row)| row.is_live() && !row.is_note);
        let agreed = self.bought();
        let [units, orders, users] = match live.is_managed {
            true => [
                sum(self.0.values().map(|(units, _)| *units)),
                count(self.0.keys()),
                count(agreed.keys()),
            ],
            false => [
                live.total.map_or(live.buyers, |total| total.saturating_sub(live.left)),
                count(live.users.iter()),
                live.buyers,
            ],
        };
        let elsewhere = Elsewhere::of(live, sale);
        let plus = |pair: &mut (i64, i64), server: i64, elsewhere: i64, rows: i64| {
            let server = server.saturating_sub(elsewhere);
            *pair = (pair.0.saturating_add(server), pair.1.saturating_add(rows));
        };
        let mut bought: BTreeMap<&str, i64> = BTreeMap::new();
        for (_, row) in rows() {
            // An unmanaged voucher limits orders per user, a managed one units per user.
            let counted = if live.is_managed { row.fact.known.units } else { 1 };
            let units = bought.entry(row.fact.user).or_default();
            *units = units.saturating_add(counted);
        }
        let of_rows = sum(rows().map(|(_, row)| row.fact.known.units));
        plus(&mut sums.units, units, elsewhere.units, of_rows);
        plus(&mut sums.in_sums, units, elsewhere.units, sale.sum);
        plus(&mut sums.orders, orders, elsewhere.orders, count(rows()));
        plus(&mut sums.users, users, elsewhere.users, count(bought.keys()));
        // The limit may have been lowered since: then the server has sold the user as much.
        let is_sold = |user: &str, units: i64| {
            live.is_managed && agreed.get(user).is_some_and(|sold| *sold >= units)
        };
        let over: Vec<_> = bought.into_iter().filter(|(_, units)| *units > live.limit).collect();
        let above = count(over.iter().filter(|(user, units)| is_sold(user, *units)));
        found.above = found.above.saturating_add(above);
        sums.beyond = sums.beyond.saturating_add(count(over.iter()).saturating_sub(above));
        if let Some(total) = live.total.filter(|_| live.is_managed) {
            let sold = live.orders.values().filter(|fact| fact.known.state.is_live());
            let parts = sum(sold.map(|fact| fact.known.units)).saturating_add(live.left);
            let (before, sum) = sums.parts.unwrap_or_default();
            sums.parts = Some((before.saturating_add(total), sum.saturating_add(parts)));
        }
    }
}

/// What another consumer has stored, in figures.
struct Elsewhere {
    units: i64,
    orders: i64,
    /// Users who have no order in the rows.
    users: i64,
}

impl Elsewhere {
    fn of(live: &Live<'_>, sale: &Sale<'_>) -> Self {
        let has_row = |order: &str| sale.rows.get(order).is_some_and(|row| !row.is_note);
        let orders = live.elsewhere.iter().filter(|order| !has_row(order));
        let facts = orders.filter_map(|order| live.orders.get(order));
        let facts = facts.filter(|fact| fact.known.state.is_live());
        let with_row: BTreeSet<&str> = match live.elsewhere.is_empty() {
            true => BTreeSet::new(),
            false => sale.rows.values().map(|row| row.fact.user).collect(),
        };
        let users: BTreeSet<&str> = facts.clone().map(|fact| fact.user).collect();
        Self {
            units: sum(facts.clone().map(|fact| fact.known.units)),
            orders: count(facts),
            users: count(users.difference(&with_row)),
        }
    }
}

fn missing(sale: &Sale<'_>, live: &Live<'_>, found: &mut Judgement) {
    let has_row = |order: &str| sale.rows.get(order).is_some_and(|row| !row.is_note);
    let lacking =
        live.orders.iter().filter(|(order, fact)| fact.known.state.is_live() && !has_row(order));
    let mut elsewhere = 0_usize;
    for (order, fact) in lacking {
        if live.elsewhere.contains(order) {
            elsewhere = elsewhere.saturating_add(1);
            continue;
        }
        let word = fact.known.state.word().to_owned();
        let missing = "missing".to_owned();
        found.findings.insert(sale.finding(order, fact.user, word, missing, Kind::Missing));
    }
    if elsewhere > 0 {
        let voucher = sale.voucher.to_owned();
        found.doubts.insert(Doubt::Elsewhere { voucher, orders: elsewhere });
    }
}

/// Compares a row with what the server says. True if they contradict each other and a person has
/// settled that.
fn compare(
    sale: &Sale<'_>,
    order: &str,
    row: &Row<'_>,
    said: &Said<'_>,
    found: &mut Judgement,
) -> bool {
    let next = said.next(row);
    let user = said.other.unwrap_or(row.fact.user);
    let known = row.fact.known;
    let word = |known: &Known<String>| known.state.word().to_owned();
    // A held order that the server has lost is not disputed, but told.
    let is_lost = match said.book {
        Book::Has(_) => false,
        // Nobody can confirm or release it any more.
        Book::Over => known.state == State::Held && !sale.sale.is_empty(),
        Book::Lacks | Book::Older => row.is_live(),
    };
    let shown = |known: &Known<String>| (known.state, known.units, known.reference.clone());
    let agrees = !is_lost && next.as_ref().is_some_and(|next| shown(next) == shown(known));
    if agrees {
        if row.is_disputed() && !matches!(said.book, Book::Over) {
            let [voucher, order] = [sale.voucher, order].map(str::to_owned);
            found.doubts.insert(Doubt::Healed { voucher, order });
        } else if row.is_disputed() {
            let said = format!("no sale; it said: {}", row.disputed);
            let finding = sale.finding(order, user, said, word(known), Kind::Contradicts);
            found.findings.insert(finding);
        }
        return false;
    }
    if row.is_settled && row.disputed != LOST && row.disputed == said.words() {
        found.settled = found.settled.saturating_add(1);
        return true;
    }
    let kind = match (is_lost, &next) {
        (false, Some(_)) => Kind::Behind,
        (true, _) if known.state == State::Held => Kind::Unheld,
        _ => Kind::Contradicts,
    };
    let (server, its) = match (&said.book, said.other) {
        (Book::Has(server), Some(_)) => (word(server), format!("of user {}", row.fact.user)),
        (Book::Has(server), None) if server.state != known.state => (word(server), word(known)),
        (Book::Has(server), None) if server.units != known.units => {
            let units = |known: &Known<String>| format!("{} units", known.units);
            (units(server), units(known))
        }
        (Book::Has(_), None) => (said.words(), Book::Has(known.clone()).words()),
        _ => ("unknown".to_owned(), word(known)),
    };
    found.findings.insert(sale.finding(order, user, server, its, kind));
    false
}

/// The streams may be trimmed; the set of buyers is complete.
fn of_users(sale: &Sale<'_>, live: &Live<'_>, found: &mut Judgement) {
    let mut tell = |order: &str, user: &str, server: &str, row: String| {
        let finding = sale.finding(order, user, server.to_owned(), row, Kind::Contradicts);
        found.findings.insert(finding);
    };
    let rows = || sale.rows.iter().filter(|(_, row)| row.is_live() && !row.is_note);
    for (order, row) in rows() {
        // What the streams no longer have is compared by its user, below.
        let Some(fact) = live.orders.get(order) else { continue };
        let (server, its) = (fact.known.state.word(), row.fact.known.state.word());
        if fact.user != row.fact.user {
            tell(order, fact.user, server, format!("of user {}", row.fact.user));
        } else if !fact.known.state.is_live() {
            tell(order, row.fact.user, server, its.to_owned());
        }
    }
    let with_row: BTreeSet<&str> = rows().map(|(_, row)| row.fact.user).collect();
    let named: BTreeSet<&str> = live.orders.values().map(|fact| fact.user).collect();
    for user in live.users.iter().filter(|user| !with_row.contains(*user)) {
        if !named.contains(user) {
            tell("", user, "sold", "missing".to_owned());
        }
    }
    for (order, row) in rows().filter(|(_, row)| !live.users.contains(row.fact.user)) {
        if !live.orders.contains_key(order) {
            tell(order, row.fact.user, "no buyer", row.fact.known.state.word().to_owned());
        }
    }
}

impl Sale<'_> {
    pub(super) fn finding(
        &self,
        order: &str,
        user: &str,
        server: String,
        row: String,
        kind: Kind,
    ) -> Finding {
        let [voucher, sale] = [self.voucher, self.sale].map(str::to_owned);
        let [order, user] = [order, user].map(str::to_owned);
        Finding { voucher, sale, order, user, server, row, reference: String::new(), kind }
    }
}
