//! The shop's database and the provider beside a server: accounts of the orders, what was paid, and
//! what a check asks.

use crate::planted::Planted;
use crate::server::{REFERENCES, Said, Voucher, Who};
use domain::account::{Account, Event};
use domain::conflicts::Conflicts;
use domain::homes::{PaymentRow, Stated};
use domain::references::{self, Balance, Others, Owner, Use};
use domain::resolve;
use domain::rows::Report;
use domain::rules::{Meant, SaleId};
use domain::rulings::rule_units;
use domain::server_state::Server;
use domain::unit_set::UnitSet;
use domain::unmatched::PaymentQuestion;

pub type Order = Account<u8, u8>;

pub const UNKNOWN: &str = "a payment is unknown to both";

/// Which orders there are: voucher, order id and user of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One order.
    One,
    /// Two orders of one voucher: a reference at both is misuse, or a loss.
    Two,
    /// One order id at two vouchers.
    Cart,
    /// One order id of two users: by a loss, after which the id is given again.
    Users,
    /// One order id in two sales of one voucher: a reference at both is misuse.
    Sales,
}

impl Kind {
    pub fn slots(self) -> &'static [(usize, u8, u8)] {
        match self {
            Self::One => &[(0, 0, 0)],
            Self::Two => &[(0, 0, 0), (0, 1, 0)],
            Self::Cart => &[(0, 0, 0), (1, 0, 0)],
            Self::Users => &[(0, 0, 0), (0, 0, 1)],
            Self::Sales => &[(0, 0, 0), (0, 0, 0)],
        }
    }

    pub fn sale(self, slot: usize) -> SaleId {
        let number = if self == Self::Sales { 1 + slot as i64 } else { 1 };
        SaleId::created_at(number)
    }

    /// Whom a command is about that names the sale.
    pub fn who(self, slot: usize) -> Who {
        let (_, id, user) = self.slots()[slot];
        (user, id, Meant::Sale(self.sale(slot)))
    }
}

/// A question of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    Whose(u8),
    /// Of how many units an order's payment is.
    Stated(usize, u8),
    Order(usize, resolve::Question),
    Payment(usize, u8, PaymentQuestion),
    /// The provider's list has the reference with other units than the rows, or not at all.
    Units(u8),
    /// The provider has refunded so many units more than lines and rows say.
    Refunded(u8, i64),
}

#[derive(Clone, Copy)]
struct Slot {
    voucher: usize,
    order: u8,
    user: u8,
}

impl Owner for Slot {
    fn is_of_cart(&self, other: &Self) -> bool {
        (self.order, self.user) == (other.order, other.user) && self.voucher != other.voucher
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shop {
    pub kind: Kind,
    pub orders: Vec<Order>,
    /// Units in the shop's own tables, by its statements; None before the order was inserted.
    pub tables: Vec<Option<i64>>,
    /// With these units, and without a conflict, a check has found the sale consistent after its
    /// end.
    pub closed: Vec<Option<i64>>,
}

impl Shop {
    pub fn new(kind: Kind) -> Self {
        let slots = kind.slots().len();
        let (orders, tables) = (vec![Account::default(); slots], vec![None; slots]);
        Self { kind, orders, tables, closed: vec![None; slots] }
    }

    /// What the server says of an order.
    pub fn seen(&self, vouchers: &[Voucher], slot: usize) -> Server<u8> {
        let (voucher, id, user) = self.kind.slots()[slot];
        vouchers[voucher].seen(user, id, self.kind.sale(slot))
    }

    fn owner(&self, slot: usize) -> Slot {
        let (voucher, order, user) = self.kind.slots()[slot];
        Slot { voucher, order, user }
    }

    fn with_uses<T>(
        &self,
        reference: u8,
        kept: impl Fn(usize) -> i64,
        then: impl FnOnce(&[Use<'_, Slot, u8>], &[usize]) -> T,
    ) -> T {
        let slots: Vec<_> = (0..self.orders.len())
            .filter(|slot| self.orders[*slot].payments.get(&reference).is_some())
            .collect();
        let owners: Vec<_> = slots.iter().map(|slot| self.owner(*slot)).collect();
        let of = |(owner, slot): (_, usize)| Use {
            owner,
            payment: self.orders[slot].payments.get(&reference).expect("its payment"),
            kept: kept(slot),
        };
        let uses: Vec<_> = owners.iter().zip(slots.iter().copied()).map(of).collect();
        then(&uses, &slots)
    }

    pub fn others(&self, slot: usize, reference: u8, planted: Planted) -> Others {
        if planted == Planted::NoOthers || self.orders.len() < 2 {
            return Others::default();
        }
        let owner = self.owner(slot);
        // Of a payment that is yet to be read, too.
        let new = PaymentRow { pays: true, ..PaymentRow::default() };
        self.with_uses(
            reference,
            |_| 0,
            |uses, slots| {
                let mut uses = uses.to_vec();
                let me = slots.iter().position(|it| *it == slot).unwrap_or(uses.len());
                if me == uses.len() {
                    uses.push(Use { owner: &owner, payment: &new, kept: 0 });
                }
                references::others(&uses, me)
            },
        )
    }

    pub fn conflicts(&self, slot: usize, planted: Planted) -> Conflicts {
        self.orders[slot].conflicts(|reference| self.others(slot, *reference, planted))
    }

    pub fn balance(&self, reference: u8, planted: Planted) -> Balance {
        let kept = |slot| {
            let conflicts = self.conflicts(slot, planted);
            self.orders[slot].kept_with(&reference, conflicts)
        };
        self.with_uses(reference, kept, |uses, _| references::balance(uses))
    }

    /// A worker reads an entry, in one transaction.
    pub fn read(
        &mut self,
        slot: usize,
        entry: u8,
        report: &Report<u8>,
        planted: Planted,
    ) -> Result<(), &'static str> {
        let report = planted.report(report);
        if planted == Planted::DeafRuling {
            self.orders[slot].join(Some(entry), &report);
        } else {
            self.orders[slot].read(Some(entry), &report);
        }
        planted.row(&mut self.orders[slot], &report);
        self.tend(planted)?;
        let keeps = self.orders[slot].kept(self.conflicts(slot, planted)).0;
        match report {
            Report::Released(it) if it.was_sold && keeps > it.kept => {
                Err("a release is read, and the row does not follow")
            }
            _ => Ok(()),
        }
    }

    /// Lines and statements that follow.
    pub fn tend(&mut self, planted: Planted) -> Result<(), &'static str> {
        for slot in 0..self.orders.len() {
            let others: Vec<_> =
                (0..REFERENCES as u8).map(|it| self.others(slot, it, planted)).collect();
            let other = |reference: &u8| others[usize::from(*reference)].clone();
            let conflicts = self.orders[slot].conflicts(other);
            let before = self.orders[slot].clone();
            if planted == Planted::LinesInConflict {
                planted.lines(&mut self.orders[slot]);
            } else {
                self.orders[slot].write_lines(other);
            }
            for (reference, payment) in before.payments.iter() {
                let now = &self.orders[slot].payments.get(reference).expect("it stays").lines;
                if !payment.lines.without(now).is_empty() {
                    return Err("a line is taken back");
                }
                let kept = UnitSet::lowest(before.row.kept());
                let is_kept = !now.without(&payment.lines).common(&kept).is_empty();
                if is_kept && before.ruling.is_none() && payment.pays {
                    return Err("a line for a unit that the order keeps, which nobody has ruled");
                }
            }
            for step in self.orders[slot].step(conflicts) {
                let table = &mut self.tables[slot];
                *table = match (step.event, *table) {
                    (Event::Held | Event::Sold, None) => Some(step.units),
                    (Event::Held | Event::Sold, Some(_)) => return Err("inserted twice"),
                    (_, None) => return Err("a statement before the order is inserted"),
                    (Event::Confirmed, Some(units)) if units == step.units => Some(units),
                    (Event::Confirmed, Some(_)) => return Err("other units are confirmed"),
                    (Event::Reduced | Event::Released, Some(units)) => Some(units - step.units),
                    (Event::Restored, Some(units)) => Some(units + step.units),
                };
                if *table != Some(step.kept) {
                    return Err("kept is not what the shop's tables have");
                }
            }
        }
        for slot in 0..self.orders.len() {
            let now = self.sums(slot, planted);
            self.closed[slot] = self.closed[slot].filter(|_| now == self.closed[slot]);
        }
        self.sound(planted)
    }

    /// The units of an order, as far as nothing contradicts: what the sums of its sale have.
    pub fn sums(&self, slot: usize, planted: Planted) -> Option<i64> {
        let (order, conflicts) = (&self.orders[slot], self.conflicts(slot, planted));
        let is_calm = conflicts.is_none() || order.standing(conflicts).is_some();
        is_calm.then(|| order.target(conflicts).1)
    }

    /// Each unit has one home, in every state.
    fn sound(&self, planted: Planted) -> Result<(), &'static str> {
        for slot in 0..self.orders.len() {
            let (order, conflicts) = (&self.orders[slot], self.conflicts(slot, planted));
            let has_ruling = order.standing(conflicts).is_some();
            for (reference, payment) in order.payments.iter() {
                let kept = order.kept_with(reference, conflicts);
                let others = self.others(slot, *reference, planted);
                let homes = payment.homes(kept, &others.gone);
                let count = homes.kept.count() + homes.lines.count() + homes.elsewhere.count();
                let all = payment.all();
                let is_all = payment.units().is_none()
                    || !payment.is_in_use()
                    || count + homes.open.count() == all.without(&others.gone).count();
                if !is_all {
                    return Err("paid is not kept, lines, elsewhere and open");
                }
                let is_calm = order.ruling.is_none() && !conflicts.has(Conflicts::HARD);
                let is_calm =
                    (has_ruling || is_calm) && !payment.is_nothing && others.gone.is_empty();
                // Without UNITS a release that is not read yet tells how many there are.
                let is_told = payment.stated != Stated::Never;
                if is_calm && payment.pays && is_told && homes.kept.count() != kept {
                    return Err("a unit is kept that has another home");
                }
                let is_shared = others.is_conflict;
                if has_ruling && !is_shared && payment.pays && !homes.open.is_empty() {
                    return Err("a unit is open after a ruling");
                }
            }
        }
        Ok(())
    }

    /// The reference is this order's, and of the others nothing.
    pub fn own(&mut self, slot: usize, reference: u8) {
        for (_, order) in self.orders.iter_mut().enumerate().filter(|(at, _)| *at != slot) {
            if let Some(payment) = order.payments.get_mut(&reference) {
                payment.is_nothing = true;
            }
        }
    }

    /// What the provider says of a payment's units.
    pub fn state(&mut self, slot: usize, reference: u8, units: i64, planted: Planted) {
        let others: Vec<_> = (0..2).map(|it| self.others(slot, it, planted)).collect();
        let other = |reference: &u8| others[usize::from(*reference)].clone();
        rule_units(&mut self.orders[slot], &reference, units, other);
        let payment = self.orders[slot].payments.get_mut(&reference);
        if let (Planted::JoinsRuledUnits, Some(payment)) = (planted, payment) {
            payment.stated = Stated::Once(units);
        }
    }
}

/// The slot of what a voucher has said.
pub fn slot_of(kind: Kind, voucher: usize, said: &Said) -> Option<usize> {
    let order = (voucher, said.0.id, said.0.user);
    let mut slots = (0..).zip(kind.slots());
    slots.find(|(at, slot)| **slot == order && kind.sale(*at) == said.2).map(|(at, _)| at)
}
