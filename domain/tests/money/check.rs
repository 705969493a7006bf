//! What a check sees of the shop's database beside a server, and what it writes by itself.

use crate::planted::Planted;
use crate::provider::Provider;
use crate::server::{REFERENCES, Voucher};
use crate::shop::{Asked, Kind, Order, Shop, UNKNOWN};
use domain::account::Unclear;
use domain::repair::repaired;
use domain::resolve;
use domain::server_state::Server;
use domain::unit_set::UnitSet;
use domain::unmatched::payment_question;

impl Shop {
    /// Nothing of its sale is left but maybe payments on record: it is not compared.
    fn is_unknown(&self, server: &Server<u8>, slot: usize) -> bool {
        let is_its = |at: &usize| self.kind.sale(*at) == self.kind.sale(slot);
        let mut its = (0..self.orders.len()).filter(is_its);
        server.is_over && its.all(|at| self.orders[at] == Order::default())
    }

    /// Are payments on record all that is left of a sale?
    pub fn lacks_sale(&self, vouchers: &[Voucher]) -> bool {
        (0..self.orders.len()).any(|slot| {
            let server = self.seen(vouchers, slot);
            self.is_unknown(&server, slot) && server.records.values().any(|it| it.is_its)
        })
    }

    /// Is a sale over that no check has found consistent before?
    pub fn is_incomplete(&self, vouchers: &[Voucher], planted: Planted) -> bool {
        let is_dropped = (0..self.orders.len()).any(|slot| {
            let server = self.seen(vouchers, slot);
            let is_known = !self.is_unknown(&server, slot);
            server.is_over && is_known && self.closed[slot].is_none()
        });
        planted != Planted::DroppedIsWhole && is_dropped || self.lacks_sale(vouchers)
    }

    pub fn repair(&mut self, vouchers: &[Voucher], planted: Planted) -> Result<(), &'static str> {
        for slot in 0..self.orders.len() {
            let server = self.seen(vouchers, slot);
            if self.is_unknown(&server, slot) {
                continue;
            }
            let is_held = vouchers[self.kind.slots()[slot].0].rules.hold.is_some();
            let others = |it: &u8| self.others(slot, *it, planted);
            let before = &self.orders[slot];
            let repaired = repaired(&planted.known(before), &server, is_held, others);
            if let Some(order) = repaired.and_then(|order| planted.repaired(before, order)) {
                self.orders[slot] = order;
            }
        }
        self.tend(planted)
    }

    /// The units of a reference that the provider has paid back, once every line is worked off.
    pub fn paid_back(&self, provider: &Provider, reference: u8) -> i64 {
        let paid = provider.units(reference);
        let at = usize::from(reference);
        let on_lines = |(order, lost): (&Order, &UnitSet)| {
            let lines = order.payments.get(&reference).map(|it| it.lines.clone());
            let lines = lines.unwrap_or_default().union(lost);
            if lines == UnitSet::whole() { paid } else { lines.count() }
        };
        let lines: i64 = self.orders.iter().zip(&provider.lines[at]).map(on_lines).sum();
        let own: i64 = provider.own[at].iter().map(UnitSet::count).sum();
        lines + own - provider.acknowledged[at]
    }

    /// Everything that a check asks; with the provider's list, if there is one.
    pub fn check(
        &self,
        vouchers: &[Voucher],
        list: Option<&Provider>,
        planted: Planted,
    ) -> Vec<Asked> {
        let mut asked = Vec::new();
        for reference in 0..REFERENCES as u8 {
            if self.balance(reference, planted).is_conflict {
                asked.push(Asked::Whose(reference));
            }
        }
        for slot in 0..self.orders.len() {
            let server = self.seen(vouchers, slot);
            if self.is_unknown(&server, slot) {
                continue;
            }
            let others = |reference: &u8| self.others(slot, *reference, planted);
            let question = planted.question(resolve::question(&self.orders[slot], &server, others));
            let unclear = self.orders[slot].unclear(others).map(|it| it.1);
            if question.is_asked() && unclear.is_none() {
                asked.push(Asked::Order(slot, question));
            }
            for (reference, payment) in self.orders[slot].payments.iter() {
                if unclear == Some(Unclear::Units) && payment.has_unclear_units() {
                    asked.push(Asked::Stated(slot, *reference));
                }
                let server = planted.server(server.clone());
                let question = payment_question(&self.orders[slot], &server, reference, others);
                let question = question.filter(|_| planted != Planted::NoUnmatched);
                asked.extend(question.map(|it| Asked::Payment(slot, *reference, it)));
            }
        }
        let is_all = asked.is_empty() && !self.lacks_sale(vouchers);
        if let Some(provider) = list.filter(|_| is_all) {
            self.check_list(provider, &mut asked, planted);
        }
        asked
    }

    fn check_list(&self, provider: &Provider, asked: &mut Vec<Asked>, planted: Planted) {
        for reference in 0..REFERENCES as u8 {
            let listed = provider.units(reference);
            if listed == 0 {
                continue;
            }
            let balance = self.balance(reference, planted);
            let back = self.paid_back(provider, reference);
            let is_known = balance.paid.is_none_or(|paid| paid > 0);
            let beyond = match balance.paid {
                Some(_) => back - balance.refunded,
                None => back - listed,
            };
            let is_other = balance.paid.is_some_and(|paid| paid != listed);
            if !is_known || is_other && planted != Planted::UnitsNotListed {
                asked.push(Asked::Units(reference));
            } else if beyond > 0 {
                asked.push(Asked::Refunded(reference, beyond));
            }
        }
    }

    /// What is wrong with somebody's money or goods by the provider's books, kept apart.
    pub fn wrong(&self, provider: &Provider, planted: Planted) -> Option<&'static str> {
        for reference in 0..REFERENCES as u8 {
            let paid = provider.units(reference);
            if paid == 0 {
                continue;
            }
            let is_known = |slot: usize| {
                let payment = self.orders[slot].payments.get(&reference);
                payment
                    .is_some_and(|it| it.pays || it.is_late || it.is_duplicate || it.is_unmatched)
            };
            let parts = provider.paid[usize::from(reference)].unwrap_or_default();
            let is_part = |slot: &usize| parts[*slot] > 0 && self.kind == Kind::Cart;
            let lacks_part = (0..self.orders.len()).filter(is_part).any(|slot| !is_known(slot));
            // Of a payment that is refunded as a whole no part lacks anything.
            let is_whole = |order: &Order| {
                let payment = order.payments.get(&reference);
                payment.is_some_and(|it| it.lines == UnitSet::whole())
            };
            let lacks_part = lacks_part && !self.orders.iter().any(is_whole);
            if lacks_part || !(0..self.orders.len()).any(is_known) {
                return Some(UNKNOWN);
            }
            let keeps = |slot| {
                let conflicts = self.conflicts(slot, planted);
                self.orders[slot].kept_with(&reference, conflicts)
            };
            let kept: i64 = (0..self.orders.len()).map(keeps).sum();
            let back = self.paid_back(provider, reference);
            if kept + back < paid {
                return Some("a customer has neither goods nor money");
            }
            if kept + back > paid {
                return Some("a customer has goods and money, or money twice");
            }
        }
        for slot in 0..self.orders.len() {
            let (_, units) = self.orders[slot].target(self.conflicts(slot, planted));
            if self.tables[slot].unwrap_or(0) != units {
                return Some("the shop's tables are not the rows");
            }
        }
        None
    }
}
