//! What a check asks and finds, and what it may answer by itself. Pure; the rules are those of
//! `domain::resolve` and `domain::repair`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::mem::discriminant;

use domain::book::{Reason, State};
use domain::conflicts::Conflicts;
use domain::repair::repaired;
use domain::resolve::agreed;
use domain::rows::Phase;
use domain::ruling::Word;
use domain::rulings::{Wanted, rule};
use domain::server_state::Server;
use serde::Serialize;

use crate::accounts::{Accounts, Order};
use crate::order_events::{Event, OrderKey};

/// What a question is about, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionKind {
    /// A lost shard, as a whole.
    Shard,
    /// A check with --repair answers it.
    Repair,
    /// A payment of several orders.
    Reference,
    Order,
    /// A payment that is to be refunded, and that the server has on record otherwise.
    Payment,
    /// A payment that waits for its order, on both sides.
    #[serde(rename = "payment")]
    Unmatched,
    /// A buyer of an unmanaged voucher without an order.
    Buyer,
    /// Sums that are not those of the orders.
    Sum,
    /// The provider's list has other units.
    Units,
    /// The provider's list has a payment that nobody here knows.
    Unlisted,
    /// The provider has refunded units that an order keeps.
    Refunded,
}

/// What identifies a question between two looks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct About {
    pub kind: QuestionKind,
    pub key: OrderKey,
    pub reference: String,
}

/// A question, with what both sides say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub rows: String,
    pub server: String,
    /// The options of `resolve` that answer it; none if another command does. `drop` is one of
    /// `seckill-shards`.
    pub answers: Vec<String>,
}

/// What is not a question: it is known, and remains to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// Units are to be refunded.
    Refund,
    /// An order is kept whose units the sale lacks.
    Oversold,
    /// The provider has refunded more than was due.
    RefundedBeyond,
    /// A lost shard, whose rows an operator has kept, is not on sale again.
    NotOnSale,
}

/// Why not all could be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Incomplete {
    /// Entries that no worker has read or acknowledged.
    Unread { voucher: String, entries: usize },
    /// The sale is over, and no check has found it consistent before.
    Dropped { voucher: String, sale: String },
    /// Units were sold while the books were read.
    Moving { voucher: String },
    /// Orders that another consumer had acknowledged before the tables began.
    Before { orders: usize },
    /// Server and tables are not paired.
    Unpaired(String),
}

/// What a look has found.
#[derive(Default)]
pub struct Findings {
    pub questions: BTreeMap<About, Question>,
    /// By reference or order, with units; None of a payment whose number of units nobody has said.
    pub results: BTreeMap<(ResultKind, OrderKey, String), Option<i64>>,
    pub incomplete: BTreeSet<Incomplete>,
    /// Orders to be repaired, with what the server says; agreed; lost.
    pub by_itself: ByItself,
    /// Sales that are over and consistent, with their units.
    pub closable: Vec<(String, String, i64)>,
    pub totals: Comparison,
    /// Orders that another consumer had acknowledged before the tables began.
    pub before: usize,
}

impl Findings {
    pub fn is_calm(&self) -> bool {
        self.questions.is_empty() && self.incomplete.is_empty()
    }

    /// Whether all questions were found before, too.
    pub fn is_confirmed_by(&self, before: &Self) -> bool {
        self.questions.keys().all(|about| before.questions.contains_key(about))
    }

    /// Leaves what was found before, too. What is new is no question, but leaves open what differs.
    pub fn confirm(&mut self, before: &Self) {
        self.questions.retain(|about, _| {
            let was_found = before.questions.contains_key(about);
            if !was_found {
                let voucher = about.key.voucher.clone();
                self.incomplete.insert(Incomplete::Moving { voucher });
            }
            was_found
        });
        self.by_itself.retain(&before.by_itself);
    }

    /// Asks about an order, or a payment of it, of which the database and the server say this.
    pub fn ask(
        &mut self,
        (kind, key, reference): (QuestionKind, &OrderKey, &str),
        [rows, server]: [&str; 2],
        answers: &[&str],
    ) {
        let about = About { kind, key: key.clone(), reference: reference.to_owned() };
        let [rows, server] = [rows, server].map(str::to_owned);
        let answers = answers.iter().map(|answer| (*answer).to_owned()).collect();
        self.questions.insert(about, Question { rows, server, answers });
    }
}

/// What a check answers by itself.
#[derive(Default)]
pub struct ByItself {
    /// All of one kind are written before those of the next.
    pub fixes: Vec<(OrderKey, Fix)>,
    /// Entries of an unmanaged voucher that the rows lack.
    pub events: Vec<Event>,
}

/// What a check writes of an order.
#[derive(Clone, Debug)]
pub enum Fix {
    /// The server's book has more of it.
    Repair(Repair),
    /// It is held, and the server has lost it.
    Lose,
    /// It is as both sides say, whatever contradicts in between.
    Agree(Server<String>),
}

impl ByItself {
    /// Leaves what another look has found, too.
    pub fn retain(&mut self, other: &Self) {
        let of = |(key, fix): &(OrderKey, Fix)| (key.clone(), discriminant(fix));
        let fixes: HashSet<_> = other.fixes.iter().map(of).collect();
        self.fixes.retain(|fix| fixes.contains(&of(fix)));
        let events: BTreeSet<_> = other.events.iter().map(|event| event.place).collect();
        self.events.retain(|event| events.contains(&event.place));
    }

    pub fn is_empty(&self) -> bool {
        self.fixes.is_empty() && self.events.is_empty()
    }
}

impl Fix {
    /// Writes it into accounts. False if it changes nothing, or may not be written any more. What
    /// follows from it is the caller's.
    pub fn apply(&self, accounts: &mut Accounts, key: &OrderKey) -> bool {
        match self {
            Self::Repair(repair) => repair.apply(accounts, key),
            Self::Lose => lose(accounts, key),
            Self::Agree(server) => {
                let wanted = accounts.get(key).and_then(|it| agreement(accounts, key, it, server));
                wanted.is_some_and(|wanted| ruled(accounts, key, &wanted))
            }
        }
    }

    /// What the server says of the order.
    pub fn server(&self) -> Option<&Server<String>> {
        match self {
            Self::Repair(Repair { server, .. }) | Self::Agree(server) => Some(server),
            Self::Lose => None,
        }
    }

    /// The payments that the server names.
    pub fn references(&self) -> impl Iterator<Item = &String> {
        let booked = self.server().and_then(|server| server.order.as_ref()?.reference.as_ref());
        let records = self.server().into_iter().flat_map(|server| server.records.keys());
        records.chain(booked)
    }
}

/// What the server says of an order that is to be repaired.
#[derive(Clone, Debug)]
pub struct Repair {
    pub server: Server<String>,
    /// Its sale holds orders until they are paid.
    pub is_held: bool,
    pub reason: Option<Reason>,
    pub deadline_ms: Option<i64>,
}

/// What was compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    pub orders: [i64; 2],
    pub held: [i64; 2],
    pub sold: [i64; 2],
    /// Buyers of unmanaged vouchers, and units of their orders.
    pub buyers: [i64; 2],
    pub unmanaged: i64,
    /// Those of the list that orders have; None without a list.
    pub references: Option<usize>,
    pub units: bool,
    pub refunds: bool,
    /// Payments whose number of units nobody has said.
    pub unsaid: usize,
    /// Rulings that stand.
    pub ruled: usize,
    /// References of the list that are no business of this shop.
    pub foreign: usize,
    /// Lines of the list without a reference.
    pub without_ref: usize,
}

impl Repair {
    /// The order with what the book says, if that changes it and contradicts nothing but what is
    /// asked by name.
    pub fn joined(
        &self,
        accounts: &Accounts,
        key: &OrderKey,
        order: Option<&Order>,
    ) -> Option<Order> {
        let new = Order::new(key);
        let order = order.unwrap_or(&new);
        let its = |reference: &String| accounts.others(key, reference);
        let account = repaired(&order.account, &self.server, self.is_held, its)?;
        Some(Order { account, ..order.clone() })
    }

    /// Joins what the book says. True if it changes anything.
    pub fn apply(&self, accounts: &mut Accounts, key: &OrderKey) -> bool {
        let order = accounts.get(key);
        let Some(mut order) = self.joined(accounts, key, order) else { return false };
        order.join_reason(self.reason);
        order.deadline_ms = order.deadline_ms.max(self.deadline_ms);
        accounts.insert(key.clone(), order);
        true
    }
}

/// The ruling that an order is as both sides say.
pub fn agreement(
    accounts: &Accounts,
    key: &OrderKey,
    order: &Order,
    server: &Server<String>,
) -> Option<Wanted<String>> {
    let its = |reference: &String| accounts.others(key, reference);
    agreed(&order.account, server, its)
}

/// Rules that a held order was lost by the server.
pub fn lose(accounts: &mut Accounts, key: &OrderKey) -> bool {
    let wanted = Wanted { word: Word::Lost, kept: 0, reference: None, is_without_units: false };
    let is_ruled = ruled(accounts, key, &wanted);
    if let Some(order) = accounts.get_mut(key).filter(|_| is_ruled) {
        order.join_reason(Some(Reason::Expired));
    }
    is_ruled
}

/// Writes a ruling on what is there. What follows from it is the caller's.
pub fn ruled(accounts: &mut Accounts, key: &OrderKey, wanted: &Wanted<String>) -> bool {
    let Some(order) = accounts.get(key) else { return false };
    let mut next = order.clone();
    let its = |reference: &String| accounts.others(key, reference);
    let is_ruled = rule(&mut next.account, &order.account, wanted, &[], its).is_ok();
    if is_ruled {
        accounts.insert(key.clone(), next);
    }
    is_ruled
}

/// An order as the database has it, in words.
pub fn said_by_row(order: &Order, conflicts: Conflicts) -> String {
    let view = order.view(conflicts);
    let state = view.state.map_or("unknown", State::word);
    let reference = view.reference.map(|it| format!(", payment {it}")).unwrap_or_default();
    let ruling = order.account.standing(conflicts);
    let ruling = ruling.map(|it| format!(", ruled {}", it.word.word())).unwrap_or_default();
    format!("{state}, {} units{reference}{ruling}", view.units)
}

/// An order as the server has it, in words.
pub fn said_by_server(server: &Server<String>) -> String {
    let outside = match server.outside {
        0 => String::new(),
        units => format!(", {units} units off the sale"),
    };
    let Some(order) = &server.order else {
        let what = if server.is_over { "its sale is over" } else { "no such order" };
        return format!("{what}{outside}");
    };
    let state = match order.phase {
        Phase::Held => "held",
        Phase::Sold => "sold",
        Phase::Released => "released",
        Phase::ReleasedSold => "released after it was sold",
    };
    let payment = order.reference.as_ref().map(|it| format!(", payment {it}")).unwrap_or_default();
    format!("{state}, {} units{payment}{outside}", order.units)
}
