//! Faults about payments and what outlives a sale: the model must find each.

use crate::actions::Action;
use crate::planted::{Planted, seen, written};
use crate::world::World;
use domain::payments::{Outcome, Payment};
use domain::plan::Append;
use domain::rules::SaleId;
use domain::sale::Units;
use domain::sales::Restock;

/// Changes the payments that a confirmation sees.
fn each_payment(world: &mut World, action: &Action, change: impl Fn(&mut Payment<u8>)) {
    if action.pays().is_some() || matches!(action, Action::Refund(..)) {
        world.payments.iter_mut().flatten().for_each(change);
    }
}

fn is_unmatched(payment: &Payment<u8>) -> bool {
    payment.outcome == Outcome::Unmatched
}

pub const PLANTED_PAID: &[Planted] = &[
    seen("a payment is answered to another user", |world, action| {
        if let Action::Confirm(named, _) = action {
            each_payment(world, action, |it| {
                if !is_unmatched(it) {
                    it.user = Some(named.user);
                }
            });
        }
    }),
    seen("an unmatched payment is final", |world, action| {
        each_payment(world, action, |it| {
            if is_unmatched(it) {
                it.outcome = Outcome::Late;
            }
        });
    }),
    seen("an unmatched payment binds its reference", |world, action| {
        each_payment(world, action, |it| {
            if is_unmatched(it) {
                it.outcome = Outcome::First;
            }
        });
    }),
    seen("an unmatched payment of an earlier sale pays", |world, action| {
        if let Some(sale) = world.sale() {
            each_payment(world, action, |it| {
                if is_unmatched(it) {
                    it.sale = sale;
                }
            });
        }
    }),
    seen("a repeat of an unmatched payment is announced again", |world, action| {
        each_payment(world, action, |it| {
            if is_unmatched(it) {
                it.user = None;
            }
        });
    }),
    seen("a payment is kept though memory is full", |world, _| world.is_full = false),
    seen("a voucher that never was managed keeps payments", |world, action| {
        if matches!(action, Action::Confirm(..)) {
            world.last = world.last.or(SaleId::new(1));
        }
    }),
    seen("a voucher that was managed once keeps none", |world, action| {
        if matches!(action, Action::Confirm(..)) {
            world.last = None;
        }
    }),
    seen("ids of sales follow the clock", |world, action| {
        if *action == Action::Create {
            world.last = None;
        }
    }),
    seen("units leave a sale twice for one order", |world, action| {
        if let Action::Restock(Restock::For { delta: ..0, .. }) = action {
            world.outside = [None; 3];
        }
    }),
    seen("units return that never left", |world, action| {
        if let Action::Restock(Restock::For { delta: 1.., .. }) = action {
            world.outside = [Some(Units::ONE); 3];
        }
    }),
    written("a refund is recorded as the first payment", |plan, action| {
        if let (Action::Refund(..), Some((_, payment))) = (action, &mut plan.payment) {
            payment.outcome = Outcome::First;
        }
        true
    }),
    written("a refund is not announced", |plan, action| {
        if matches!(action, Action::Refund(..)) {
            plan.appends = plan.appends.map(|it| it.filter(|it| !matches!(it, Append::Payment(_))));
        }
        true
    }),
];
