//! What happens to a state: commands, what is read, steps of a resolve, answers.

use crate::model::{Action, Bounds, Server, State};
use crate::operator::Resolve;
use crate::planted::Planted;
use crate::server::Said;
use crate::shop::{Asked, Kind, slot_of};
use domain::book::State as OrderState;
use domain::resolve::{Answer, agreed};
use domain::rows::Times;
use domain::rules::Meant;
use domain::rulings::rule;
use domain::unmatched::PaymentQuestion;

impl State {
    /// In a few lines, for who reads a failure.
    pub fn brief(&self) -> String {
        let mut text = String::new();
        for (slot, order) in self.shop.orders.iter().enumerate() {
            let conflicts = self.shop.conflicts(slot, Planted::Nothing).letters();
            let row = &order.row;
            text += &format!(
                "row {slot} asked {} sold {} held_to {:?} sold_to {:?} {conflicts} tables {:?}; ",
                row.asked, row.sold, row.held_to, row.sold_to, self.shop.tables[slot],
            );
            if let Some(it) = &order.ruling {
                let (word, by) = (it.word.word(), it.reference);
                text += &format!("ruled {word} {} {by:?} {}; ", it.kept, it.is_without_units);
            }
            for (reference, it) in order.payments.iter() {
                text += &format!(
                    "payment {reference}: {:?} pays {} late {} dup {} unmatched {} released {} \
                     elsewhere {} ruled {} lines {} nothing {}; ",
                    it.units(),
                    it.pays,
                    it.is_late,
                    it.is_duplicate,
                    it.is_unmatched,
                    it.released.write(),
                    it.elsewhere.write(),
                    it.ruled_elsewhere.write(),
                    it.lines.write(),
                    it.is_nothing,
                );
            }
            let there = self.shop.seen(&self.server.vouchers, slot);
            text += &format!("\n    server {there:?}\n    ");
        }
        let paid = &self.provider;
        text += &format!("unread {:?} paid {:?} own {:?}", self.server.unread, paid.paid, paid.own);
        text + &format!(" acknowledged {:?}", paid.acknowledged)
    }

    pub fn slot(&self, slot: usize) -> (usize, u8, u8) {
        self.shop.kind.slots()[slot]
    }

    /// The least number that no entry has.
    fn number(&self) -> u8 {
        let of = |server: &Server| server.unread.iter().map(|it| it.0).collect::<Vec<_>>();
        let mut used = of(&self.server);
        used.extend(self.replica.iter().flat_map(|it| of(it)));
        for order in
            self.backup.iter().map(|it| &**it).chain([&self.shop]).flat_map(|it| &it.orders)
        {
            let times = [order.row.accepted, order.row.confirmed];
            let payments = order.payments.values().map(|it| it.confirmed);
            used.extend(times.into_iter().chain(payments).filter_map(|it| match it {
                Times::Once(entry) => Some(entry),
                _ => None,
            }));
        }
        (0..).find(|number| !used.contains(number)).unwrap_or(u8::MAX)
    }

    /// Nobody reads it again.
    pub fn forget(&mut self, number: u8) {
        if let Some(replica) = &mut self.replica {
            replica.unread.retain(|unread| unread.0 != number);
        }
    }

    fn append(&mut self, voucher: usize, said: Vec<Said>) {
        for said in said {
            if let Some(slot) = slot_of(self.shop.kind, voucher, &said) {
                let number = self.number();
                self.server.unread.push((number, slot, said.1));
            }
        }
        self.server.unread.sort_unstable();
    }

    pub fn read_all(&mut self, planted: Planted) -> Result<(), &'static str> {
        for (number, slot, report) in std::mem::take(&mut self.server.unread) {
            self.forget(number);
            self.shop.read(slot, number, &report, planted)?;
        }
        Ok(())
    }

    pub fn command(&mut self, action: Action, bounds: &Bounds) {
        let slot = match action {
            Action::Buy(slot) | Action::Expire(slot) | Action::Cancel(slot, ..) => slot,
            Action::Confirm(_, slot, _) => slot,
            Action::SellOut(voucher) => {
                let left = self.server.vouchers[voucher].stock;
                self.server.vouchers[voucher].buy(1, 2, left);
                return;
            }
            Action::Pay(reference, slot, fewer) => return self.pay(reference, slot, fewer),
            Action::Alter => return self.server.vouchers[0].alter(),
            Action::Drop => {
                let said = self.server.vouchers[0].drop_sale();
                return self.append(0, said);
            }
            Action::Create => return self.create(bounds.total),
            _ => return,
        };
        let (voucher, id, user) = self.slot(slot);
        let is_over = self.shop.seen(&self.server.vouchers, slot).is_over;
        let server = &mut self.server.vouchers[voucher];
        let who = match action {
            Action::Confirm(..) if !bounds.named => (user, id, Meant::Any),
            Action::Confirm(..) => self.shop.kind.who(slot),
            _ if is_over => return,
            _ => self.shop.kind.who(slot),
        };
        let said = match action {
            Action::Buy(_) => server.buy(user, id, bounds.units),
            Action::Expire(_) => server.expire(id),
            Action::Cancel(_, kept, is_refunded, is_norestock) => {
                let reference = server.book[usize::from(id)].and_then(|it| it.reference);
                let refunded = server.refunded(id);
                if is_refunded && reference.is_none() {
                    return;
                }
                let how = (reference.filter(|_| is_refunded), is_norestock);
                let (_, said) = server.cancel(who, None, kept, how);
                let more = server.refunded(id).without(&refunded);
                if let Some(reference) = reference {
                    // The shop has refunded it at the provider.
                    self.provider.refund(reference, slot, &more);
                }
                said
            }
            Action::Confirm(reference, _, more) => {
                let units = self.provider.units_at(reference, slot) + more;
                let units = Some(units).filter(|_| bounds.is_stated);
                server.confirm(who, Some(reference), units).1
            }
            _ => Vec::new(),
        };
        self.append(voucher, said);
    }

    /// Another sale of the voucher, of which an order is explored.
    fn create(&mut self, total: i64) {
        if self.shop.kind == Kind::Sales && !self.has_created {
            self.has_created = true;
            self.server.vouchers[0].create(total);
        }
    }

    /// A check, after the end of the sale. False if it does not find it consistent.
    pub fn close(&mut self, planted: Planted) -> bool {
        let is_calm = self.server.unread.is_empty()
            && self.server.vouchers[0].end()
            && self.shop.check(&self.server.vouchers, None, planted).is_empty();
        for slot in (0..self.shop.orders.len()).filter(|_| is_calm) {
            if !self.shop.seen(&self.server.vouchers, slot).is_over {
                self.shop.closed[slot] = self.shop.sums(slot, planted);
            }
        }
        is_calm
    }

    /// Would the database go back behind what a sale did after a check had found it consistent?
    /// Once it is dropped, nobody but its entries knows.
    pub fn would_lose_of_a_closed_sale(&self) -> bool {
        let Some(backup) = &self.backup else { return false };
        let mut slots = 0..backup.orders.len();
        slots.any(|it| backup.closed[it].is_some() && backup.orders[it] != self.shop.orders[it])
    }

    /// The database is as it was; lines that it lacks now are worked off, or are not.
    pub fn restore(&mut self, are_paid: bool) {
        let Some(backup) = self.backup.take() else { return };
        let now = std::mem::replace(&mut self.shop, *backup);
        for (slot, order) in now.orders.iter().enumerate().filter(|_| are_paid) {
            for (reference, payment) in order.payments.iter() {
                let its = self.shop.orders[slot].payments.get(reference);
                let lost = its.map_or(payment.lines.clone(), |it| payment.lines.without(&it.lines));
                let paid = &mut self.provider.lines[usize::from(*reference)][slot];
                *paid = paid.union(&lost);
            }
        }
    }

    /// A customer pays for what the order has, or had until it was released unpaid.
    fn pay(&mut self, reference: u8, slot: usize, fewer: i64) {
        if self.provider.paid[usize::from(reference)].is_some() {
            return;
        }
        let mut paid = [0; 2];
        let all = if self.shop.kind == Kind::Cart { 0..2 } else { slot..slot + 1 };
        for slot in all {
            let (voucher, id, user) = self.slot(slot);
            if self.shop.seen(&self.server.vouchers, slot).is_over {
                return;
            }
            let entry = self.server.vouchers[voucher].book[usize::from(id)];
            let Some(entry) = entry.filter(|it| it.user == user) else { return };
            let is_payable = match entry.state {
                OrderState::Held => true,
                OrderState::Sold => entry.reference.is_none() || reference == 1,
                OrderState::Released(_) => entry.was == Some(OrderState::Held),
                OrderState::Waiting => false,
            };
            let units = entry.units.get() - fewer;
            if !is_payable || units < 1 {
                return;
            }
            paid[slot] = units;
        }
        self.provider.paid[usize::from(reference)] = Some(paid);
    }

    /// One step of a resolve. True if it goes on.
    pub fn step(&mut self, resolve: &mut Resolve, planted: Planted) -> Result<bool, &'static str> {
        let voucher = self.slot(resolve.slot()).0;
        let vouchers = &mut self.server.vouchers;
        let done = resolve.step(&mut self.shop, vouchers, &mut self.provider, planted)?;
        self.append(voucher, done.said);
        Ok(done.goes_on)
    }

    /// No unit of a sale is made or lost.
    pub fn sound(&self, bounds: &Bounds) -> Result<(), &'static str> {
        for voucher in self.server.vouchers.iter().filter(|it| !it.is_dropped) {
            let outside: i64 = voucher.outside.iter().flatten().map(|it| it.get()).sum();
            let is_right = voucher.stock >= 0
                && voucher.stock + voucher.live() == voucher.rules.total
                && voucher.rules.total + outside + voucher.gone == bounds.total;
            if !is_right {
                return Err("units of the sale are lost or made");
            }
        }
        Ok(())
    }

    /// Answers a question, to the end of what the answer does.
    pub fn answer(
        &mut self,
        asked: Asked,
        policy: Answer,
        round: usize,
        planted: Planted,
    ) -> Result<(), &'static str> {
        match asked {
            Asked::Whose(reference) => {
                let slot = if policy == Answer::Release { self.shop.orders.len() - 1 } else { 0 };
                self.shop.own(slot, reference);
                self.shop.tend(planted)
            }
            Asked::Stated(slot, reference) => {
                let units = self.provider.units_at(reference, slot);
                self.shop.state(slot, reference, units, planted);
                self.shop.tend(planted)
            }
            Asked::Order(slot, _) => {
                let server = self.shop.seen(&self.server.vouchers, slot);
                let others: Vec<_> = (0..2).map(|it| self.shop.others(slot, it, planted)).collect();
                let other = |reference: &u8| others[usize::from(*reference)].clone();
                let order = &mut self.shop.orders[slot];
                if let Some(wanted) = agreed(order, &server, other) {
                    let shown = order.clone();
                    if rule(order, &shown, &wanted, &[], other).is_ok() {
                        return self.shop.tend(planted);
                    }
                }
                self.resolve(slot, policy, false, planted)
            }
            Asked::Payment(slot, reference, question) => {
                let is_tried = question == PaymentQuestion::Unmatched
                    && matches!(policy, Answer::Keep(_))
                    && round.is_multiple_of(2);
                self.about_payment(slot, reference, !is_tried);
                Ok(())
            }
            Asked::Units(reference) => {
                let paid = self.provider.paid[usize::from(reference)].unwrap_or_default();
                let listed = |slot: usize| match self.shop.kind {
                    Kind::Cart => paid[slot],
                    _ => self.provider.units(reference),
                };
                let stated = (0..self.shop.orders.len()).find(|slot| {
                    let payment = self.shop.orders[*slot].payments.get(&reference);
                    let payment = payment.filter(|it| it.is_in_use() || it.is_unmatched);
                    payment.is_some_and(|it| it.units() != Some(listed(*slot)))
                });
                if let Some(slot) = stated.filter(|slot| listed(*slot) > 0) {
                    let units = listed(slot);
                    self.shop.state(slot, reference, units, planted);
                    return self.shop.tend(planted);
                }
                for slot in (0..self.shop.orders.len()).filter(|slot| paid[*slot] > 0) {
                    self.about_payment(slot, reference, false);
                }
                Ok(())
            }
            Asked::Refunded(reference, beyond) => {
                let keeps = (0..self.shop.orders.len()).find_map(|slot| {
                    let conflicts = self.shop.conflicts(slot, planted);
                    let kept = self.shop.orders[slot].kept_with(&reference, conflicts);
                    (kept > 0).then_some((slot, kept))
                });
                match keeps {
                    Some((slot, kept)) => {
                        let kept = (kept - beyond).max(0);
                        self.resolve(slot, Answer::Refunded { kept }, true, planted)
                    }
                    None => {
                        self.provider.acknowledged[usize::from(reference)] += beyond;
                        Ok(())
                    }
                }
            }
        }
    }

    fn resolve(
        &mut self,
        slot: usize,
        answer: Answer,
        is_noted: bool,
        planted: Planted,
    ) -> Result<(), &'static str> {
        let vouchers = &self.server.vouchers;
        let mut resolve = Resolve::start(&self.shop, vouchers, slot, answer, is_noted, planted);
        while self.step(&mut resolve, planted)? {}
        Ok(())
    }

    /// The payment's confirmation is sent again, or CONFIRM REFUND.
    fn about_payment(&mut self, slot: usize, reference: u8, refunds: bool) {
        let (voucher, who) = (self.slot(slot).0, self.shop.kind.who(slot));
        let units = self.provider.units_at(reference, slot);
        let units = Some(units).filter(|_| self.provider.is_stated);
        let server = &mut self.server.vouchers[voucher];
        let said = if refunds {
            server.refund(who, reference, units).1
        } else {
            server.confirm(who, Some(reference), units).1
        };
        self.append(voucher, said);
    }
}
