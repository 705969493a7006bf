//! One voucher on the server: its keys as tables, the facts that the module's own decisions ask of
//! them, and their plans applied. What these append is what the worker reads.

use domain::book::{Entry, Reason, State, UserUnits};
use domain::confirm::{self, Confirmation, Given};
use domain::facts::{Facts, Refusal};
use domain::orders::{self, Cancel, Cancellation, OrderRequest};
use domain::payments::{Outcome, Payment};
use domain::plan::{Append, Decision, Hold, Left, Order, Plan};
use domain::rows::{Phase, Report};
use domain::rules::{Meant, Millis, Rules, SaleId};
use domain::sale::Units;
use domain::sales::{self, End, Restock};
use domain::stream_entry::{self, OrderEntry, ReleaseEntry, Says};
use domain::tries::{self, Wish};
use domain::unit_set::UnitSet;

pub const ORDERS: usize = 3;
pub const REFERENCES: usize = 2;
const USERS: usize = 2;

/// What a command has appended of an order of a sale.
pub type Said = (Order<u8>, Report<u8>, SaleId);

/// Whom a command is about: user, order id and sale.
pub type Who = (u8, u8, Meant);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Voucher {
    /// Those of the last sale.
    pub rules: Rules,
    /// There is no sale.
    pub is_dropped: bool,
    pub stock: i64,
    pub buyers: [bool; USERS],
    pub units: [Option<UserUnits<u8>>; USERS],
    pub book: [Option<Entry<u8>>; ORDERS],
    pub holds: [Option<Millis>; ORDERS],
    pub payments: [Option<Payment<u8>>; REFERENCES],
    /// By order, as [`Self::noted`] numbers it.
    pub outside: [Option<Units>; USERS * ORDERS],
    /// Units that left the total without being sold.
    pub gone: i64,
    /// Units outside are noted by order id alone: a planted fault.
    pub notes_ids: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    Refused(Refusal),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Voucher {
    pub fn new(total: i64, is_held: bool) -> Self {
        let hold = is_held.then_some(1000);
        let sale = SaleId::created_at(1);
        Self {
            rules: Rules { total, begin: None, end: None, limit: i64::MAX, hold, sale },
            is_dropped: false,
            stock: total,
            buyers: [false; USERS],
            units: [None; USERS],
            book: [None; ORDERS],
            holds: [None; ORDERS],
            payments: [None; REFERENCES],
            outside: [None; USERS * ORDERS],
            gone: 0,
            notes_ids: false,
        }
    }

    fn request((user, id, sale): Who) -> OrderRequest<u8> {
        OrderRequest { user, id, sale }
    }

    /// Units that are held or sold, and on which no sale ever counts twice.
    pub fn live(&self) -> i64 {
        let live = self.book.iter().flatten().filter(|it| it.state.is_live());
        live.map(|it| it.units.get()).sum()
    }

    pub fn buy(&mut self, user: u8, id: u8, units: i64) -> Vec<Said> {
        let Some(units) = Units::new(units) else { return Vec::new() };
        let order = Order { user, id, units };
        match tries::decide(self, &order, Wish::PLAIN, false) {
            Ok(Decision::Do(_, plan)) => self.apply(plan),
            _ => Vec::new(),
        }
    }

    /// The hold's deadline passes.
    pub fn expire(&mut self, id: u8) -> Vec<Said> {
        let held = self.book[usize::from(id)].filter(|it| it.state == State::Held);
        match held.map(|_| orders::end_hold(self, &id, Reason::Expired)) {
            Some(Ok(plan)) => self.apply(plan),
            _ => Vec::new(),
        }
    }

    /// CONFIRM, with UNITS or without.
    pub fn confirm(
        &mut self,
        who: Who,
        reference: Option<u8>,
        units: Option<i64>,
    ) -> (Option<Confirmation>, Vec<Said>) {
        let units = units.and_then(Units::new);
        let given = reference.map(|reference| Given { reference, is_refunded: false, units });
        match confirm::confirm(self, &Self::request(who), given) {
            Ok(Decision::Answer(answer)) => (Some(answer), Vec::new()),
            Ok(Decision::Do(answer, plan)) => (Some(answer), self.apply(plan)),
            Ok(Decision::ExpireFirst(_)) | Err(_) => (None, Vec::new()),
        }
    }

    /// CONFIRM REFUND: an operator refunds the payment.
    pub fn refund(&mut self, who: Who, reference: u8, units: Option<i64>) -> (bool, Vec<Said>) {
        let units = units.and_then(Units::new);
        let given = Some(Given { reference, is_refunded: true, units });
        match confirm::confirm(self, &Self::request(who), given) {
            Ok(Decision::Do(answer, plan)) => {
                let is_late =
                    matches!(answer, Confirmation::TooLate | Confirmation::DuplicatePayment);
                (is_late, self.apply(plan))
            }
            _ => (false, Vec::new()),
        }
    }

    /// CANCEL, with REFUNDED REF, and NORESTOCK.
    pub fn cancel(
        &mut self,
        who: Who,
        only: Option<State>,
        kept: i64,
        (refunded, norestock): (Option<u8>, bool),
    ) -> (Cancellation, Vec<Said>) {
        let only = if refunded.is_some() { Some(State::Sold) } else { only };
        let (reference, kept, refunded) = (refunded, Units::new(kept), refunded.is_some());
        let cancel = Cancel { only, kept, norestock, refunded, reference };
        match orders::cancel(self, &Self::request(who), cancel) {
            Ok(Decision::Do(answer, plan)) => (answer, self.apply(plan)),
            Ok(Decision::Answer(answer)) => (answer, Vec::new()),
            Ok(Decision::ExpireFirst(_)) | Err(_) => (Cancellation::NoSuchOrder, Vec::new()),
        }
    }

    /// Units of an order's payment that were refunded when they were released.
    pub fn refunded(&self, id: u8) -> UnitSet {
        let spans = self.book[usize::from(id)].map(|it| it.refunded).unwrap_or_default();
        let units = spans.all().map(|it| UnitSet::between(it.first.get(), it.last.get()));
        units.fold(UnitSet::EMPTY, |all, units| all.union(&units))
    }

    /// The name of an order among the units outside.
    fn noted(&self, user: u8, id: u8) -> u8 {
        if self.notes_ids { id } else { user * ORDERS as u8 + id }
    }

    /// RESTOCK delta FOR an order.
    pub fn restock_for(&mut self, (user, id, sale): Who, delta: i64) -> bool {
        let order = self.noted(user, id);
        let decided = sales::restock(self, sale, Restock::For { delta, order });
        let Ok((_, plan)) = decided else { return false };
        self.rules = plan.rules.unwrap_or(self.rules);
        self.stock = plan.stock.map_or(self.stock, |stock| stock.after);
        if let Some((order, units)) = plan.outside {
            self.outside[usize::from(order)] = units;
        }
        true
    }

    /// ALTER: HOLD 0, or HOLD again.
    pub fn alter(&mut self) {
        let hold = self.rules.hold.xor(Some(1000));
        let altered = sales::alter(self, Meant::Any, |rules| Ok(Rules { hold, ..rules }));
        self.rules = altered.ok().and_then(|plan| plan.rules).unwrap_or(self.rules);
    }

    /// ALTER END. False if orders are held, or there is no sale.
    pub fn end(&mut self) -> bool {
        let may = !self.is_dropped && self.holds.iter().all(Option::is_none);
        self.rules.end = self.rules.end.or(may.then(|| self.now()));
        may
    }

    /// DROP FORCE.
    pub fn drop_sale(&mut self) -> Vec<Said> {
        let mut said = Vec::new();
        let delete = match sales::drop(self, Meant::Any, true, ORDERS) {
            Ok(End::Delete(plan)) => Some(plan),
            Ok(End::Cancel { ids, delete, .. }) => {
                for id in ids {
                    let plan = orders::end_hold(self, &id, Reason::Cancelled);
                    said.extend(plan.map(|plan| self.apply(plan)).unwrap_or_default());
                }
                delete
            }
            Err(_) => None,
        };
        if delete.is_some() {
            let (rules, payments, notes_ids) = (self.rules, self.payments, self.notes_ids);
            let new = Self::new(0, false);
            *self = Self { rules, payments, notes_ids, is_dropped: true, ..new };
        }
        said
    }

    /// CREATE of another sale.
    pub fn create(&mut self, total: i64) {
        let rules = Rules { total, end: None, sale: SaleId::created_at(1), ..self.rules };
        if let Ok(plan) = sales::create(self, rules, false) {
            (self.rules, self.stock) = (plan.rules.unwrap_or(rules), total);
            self.is_dropped = false;
        }
    }

    /// Applies a plan; what it appends is read as the worker reads it.
    fn apply(&mut self, plan: Plan<u8>) -> Vec<Said> {
        match plan {
            Plan::Take(take) => {
                let order = take.order;
                let (user, id) = (usize::from(order.user), usize::from(order.id));
                self.stock = take.stock.map_or(self.stock, |stock| stock.after);
                self.buyers[user] = true;
                let Some(booked) = take.booked else { return Vec::new() };
                self.units[user] = Some(booked.has);
                self.holds[id] = booked.hold();
                self.book[id] = Some(booked.entry);
                let deadline = booked.hold();
                let says = Says::Accepted { deadline, waited: None };
                read(order, self.rules.sale, says).into_iter().collect()
            }
            Plan::Amend(amend) => {
                let (user, id) = (usize::from(amend.order.user), usize::from(amend.order.id));
                self.stock = amend.stock.map_or(self.stock, |stock| stock.after);
                self.book[id] = amend.entry.or(self.book[id]);
                match amend.units {
                    Some(Left::Units(units)) => self.units[user] = Some(units),
                    Some(Left::Nothing) => self.units[user] = None,
                    None => {}
                }
                match amend.hold {
                    Some(Hold::Move(until)) => self.holds[id] = Some(until),
                    Some(Hold::Lift) => self.holds[id] = None,
                    None => {}
                }
                self.buyers[user] &= !amend.dismiss;
                if let Some((reference, payment)) = amend.payment {
                    self.payments[usize::from(reference)] = Some(payment);
                }
                if let Some(rules) = amend.rules {
                    self.gone += self.rules.total - rules.total;
                    self.rules = rules;
                }
                let payment = amend.payment.map(|(reference, payment)| (reference, payment.paid));
                let (reference, paid) = (payment.map(|it| it.0), payment.and_then(|it| it.1));
                let of_order = self.book[id].and_then(|it| it.reference);
                let says = |append: &Append| match *append {
                    Append::Confirmation => Some(Says::Confirmed { reference: None, paid: None }),
                    Append::Payment(Outcome::First) => Some(Says::Confirmed { reference, paid }),
                    Append::Payment(outcome) => Some(Says::Payment { outcome, reference, paid }),
                    Append::Release { reason, was, kept, norestock, refunded } => {
                        let (reference, entry) = (of_order, None);
                        Some(Says::Released(ReleaseEntry {
                            reason,
                            was,
                            kept,
                            reference,
                            norestock,
                            refunded,
                            entry,
                        }))
                    }
                    Append::DeadLetter { .. } => None,
                };
                let all = amend.appends.all().iter().filter_map(says);
                let sale = amend.sale.unwrap_or(self.rules.sale);
                all.filter_map(|says| read(amend.order, sale, says)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What check and resolve see of an order.
    pub fn seen(&self, user: u8, id: u8, sale: SaleId) -> domain::server_state::Server<u8> {
        let (at, is_over) = (usize::from(id), self.is_dropped || self.rules.sale != sale);
        let entry = self.book[at].filter(|it| it.user == user && it.has_had_units() && !is_over);
        let outside = self.outside[usize::from(self.noted(user, id))].filter(|_| !is_over);
        let order = entry.map(|it| domain::server_state::Booked {
            phase: match it.state {
                State::Sold => Phase::Sold,
                State::Released(_) if it.was == Some(State::Sold) => Phase::ReleasedSold,
                State::Released(_) => Phase::Released,
                State::Held | State::Waiting => Phase::Held,
            },
            units: it.units.get(),
            asked: it.asked.get(),
            reference: it.reference,
            paid: it.paid.map(Units::get),
            refunded: self.refunded(id),
        });
        let record = |(reference, payment): (u8, &Option<Payment<u8>>)| {
            let payment = (*payment)?;
            let is_its = payment.id == id && payment.user.is_none_or(|it| it == user);
            let is_its = is_its && payment.sale == sale;
            let units = payment.paid.map(Units::get);
            Some((
                reference,
                domain::server_state::Record { outcome: payment.outcome, is_its, units },
            ))
        };
        domain::server_state::Server {
            order,
            outside: outside.map_or(0, Units::get),
            records: (0..).zip(&self.payments).filter_map(record).collect(),
            left: self.stock,
            is_over,
        }
    }
}

/// An entry as it is read from its stream.
fn read(order: Order<u8>, sale: SaleId, says: Says<u8>) -> Option<Said> {
    let Order { user, id, units } = order;
    let entry = OrderEntry { user, voucher: 7, id, units, sale: Some(sale) };
    Report::of(stream_entry::EventEntry { order: entry, says }, |it| it)
        .map(|report| (order, report, sale))
}
