//! What a question about an order asks, and what an answer does: steps on the server, then the
//! ruling.
//!
//! A check judges by [`question`] and [`payment_question`](crate::unmatched::payment_question);
//! `resolve`, and the check that asks, plan by [`plan`]. Each step may be repeated, and a kill
//! after any is ended by asking and answering again.

use crate::account::Account;
use crate::conflicts::Conflicts;
use crate::homes::{PaymentRow, Stated};
use crate::payments::Outcome;
use crate::references::Others;
use crate::repair::payment_words;
use crate::rows::{Paid, Phase, Release, Report};
use crate::ruling::Word;
use crate::rulings::Wanted;
use crate::server_state::{Booked, Server};
use crate::unit_set::UnitSet;

/// Why an order is a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Question {
    /// What no ruling has answered.
    pub conflicts: Conflicts,
    /// Row and server say different things of the order.
    pub differs: bool,
    /// Units are off the sale for an order that does not lack them.
    pub is_outside: bool,
    /// The order is to live again in the shop's tables.
    pub is_restored: bool,
    /// Units of its payment have no home.
    pub is_open: bool,
    /// Units are kept that have another home.
    pub is_kept_twice: bool,
    /// Row and the server's record say different things of a payment.
    pub has_other_record: bool,
}

impl Question {
    pub fn is_asked(&self) -> bool {
        *self != Self::default()
    }

    /// Is it one that a check answers by itself, since server and row agree on the order?
    fn is_agreed(&self) -> bool {
        let soft = Self { conflicts: Conflicts::NONE, is_restored: self.is_restored, ..*self };
        let is_only = soft == Self { is_restored: self.is_restored, ..Self::default() };
        let may = Conflicts::SOLD_BEYOND_HOLD
            .with(Conflicts::ACCEPTED_AGAIN, true)
            .with(Conflicts::PAID_AGAIN, true)
            .with(Conflicts::ASKED_OTHERWISE, true);
        !self.conflicts.is_none() && is_only && self.conflicts.without(may).is_none()
    }
}

/// What is asked about an order, by its account and the server.
pub fn question<R: Ord + Clone, I: Copy + Eq>(
    account: &Account<R, I>,
    server: &Server<R>,
    others: impl Fn(&R) -> Others,
) -> Question {
    let conflicts = account.conflicts(&others);
    let mut asked =
        Question { is_restored: account.is_to_be_restored(conflicts), ..Question::default() };
    let ruling = account.standing(conflicts);
    if let Some(ruling) = ruling {
        // By units alone.
        let has = server.sold().saturating_add(server.outside);
        // Of what is oversold the server has less, or nothing.
        let is_oversold = ruling.is_without_units && has <= ruling.kept;
        let is_right = server.is_over || is_oversold || has == ruling.kept;
        asked.differs = server.is_held() && !server.is_over || !is_right;
    } else {
        asked.conflicts = conflicts;
        asked.differs = !server.is_over && !agrees(account, server, conflicts);
        asked.is_outside = server.outside != 0;
    }
    for (reference, payment) in account.payments.iter().filter(|(_, it)| it.pays) {
        let kept = account.kept_with(reference, conflicts);
        let homes = payment.homes(kept, &others(reference).gone);
        asked.is_open |= !homes.open.is_empty();
        asked.is_kept_twice |= homes.kept.count() != kept;
    }
    if ruling.is_none() {
        let is_other = |(reference, payment): (&R, &PaymentRow<I>)| {
            let record = server.records.get(reference).filter(|record| record.is_its);
            let pays = payment.pays && !payment.is_nothing;
            match record.map(|record| record.outcome) {
                // Whoever has closed the accounts of a sale that is over deletes its records.
                None | Some(Outcome::Unmatched) => pays && !server.is_over,
                Some(Outcome::First) => !pays,
                Some(Outcome::Released) => !pays || account.kept_with(reference, conflicts) > 0,
                Some(Outcome::Late) => pays && !payment.is_late,
                Some(Outcome::Duplicate) => pays && !payment.is_duplicate,
            }
        };
        asked.has_other_record = account.payments.iter().any(is_other);
    }
    asked
}

/// Does the server say of the order what its row says?
fn agrees<R: Ord + Clone, I: Copy + Eq>(
    account: &Account<R, I>,
    server: &Server<R>,
    conflicts: Conflicts,
) -> bool {
    let row = &account.row;
    let Some(order) = &server.order else { return row.live() == 0 };
    let (_, reference) = account.kept(conflicts);
    let has_paid = || {
        let Some(reference) = reference else { return order.reference.is_none() };
        let payment = account.payments.get(reference);
        let units = payment.and_then(|payment| payment.units());
        let is_ruled = payment.is_some_and(|it| matches!(it.stated, Stated::Ruled(_)));
        order.reference.as_ref() == Some(reference)
            && order.paid.is_none_or(|paid| units == Some(paid) || is_ruled)
            && payment.is_some_and(|payment| payment.elsewhere == order.refunded)
    };
    match order.phase {
        Phase::Held => row.phase() == Phase::Held && row.live() == order.units,
        Phase::Sold => row.phase() == Phase::Sold && row.live() == order.units && has_paid(),
        Phase::Released => row.phase() == Phase::Released,
        Phase::ReleasedSold => row.phase() == Phase::ReleasedSold && has_paid(),
    }
}

/// An answer to the question about an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// As many units as can be, or at most these.
    Keep(Option<i64>),
    Release,
    /// So many units are kept at most, 0 for none, and the shop has refunded all others of its
    /// payment that are on no line.
    Refunded {
        kept: i64,
    },
}

/// A command to the server. A reply that is none of those expected ends the resolve: what was shown
/// has changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ServerStep<R> {
    /// `CANCEL .. IF held` or `IF sold`, of an order shown with these units; with `REFUNDED REF` of
    /// this payment: 1 is expected.
    Cancel { was_sold: bool, units: i64, kept: i64, refunded: Option<R>, is_norestock: bool },
    /// `CONFIRM .. REF reference UNITS units`: 1 or 2 is expected.
    Confirm { payment: Option<Paid<R>> },
    /// `RESTOCK units FOR`: the units outside return.
    Return { units: i64 },
    /// `RESTOCK -units FOR`: the order lacks them. Refused, they are oversold.
    Take { units: i64 },
}

impl<R: Clone> ServerStep<R> {
    /// What it says of the order once it is done; the resolve keeps so many units on the server.
    pub fn says(&self, units_kept: i64) -> Option<Report<R>> {
        match self {
            Self::Cancel { was_sold, units, kept, refunded, is_norestock } => {
                Some(Report::Released(Release {
                    units: units.saturating_sub(*kept),
                    kept: *kept,
                    was_sold: *was_sold,
                    reference: None,
                    is_refunded: refunded.is_some(),
                    is_norestock: *is_norestock,
                }))
            }
            Self::Confirm { payment } => {
                Some(Report::Confirmed { units: units_kept, payment: payment.clone() })
            }
            Self::Return { .. } | Self::Take { .. } => None,
        }
    }
}

/// What an answer does, in this order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Resolution<R> {
    pub before: Vec<ServerStep<R>>,
    pub ruling: Wanted<R>,
    /// What the server says of the order's payment already, to be joined by the ruling.
    pub said: Vec<Report<R>>,
    /// After the ruling, of which the entry of the step must not be ahead.
    pub after: Option<ServerStep<R>>,
}

impl<R: Ord> Resolution<R> {
    /// Whether the server has of the order what the steps before the ruling make of what was
    /// shown. Not so if somebody else has released or refunded units of it meanwhile: the ruling
    /// would give these another home.
    pub fn is_as_shown(&self, shown: &Server<R>, now: &Server<R>) -> bool {
        let kept = self.before.iter().rev().find_map(|step| match step {
            ServerStep::Cancel { kept, .. } if *kept > 0 => Some(*kept),
            _ => None,
        });
        match (&shown.order, &now.order) {
            (Some(shown), Some(now)) => {
                now.units == kept.unwrap_or(shown.units) && now.refunded == shown.refunded
            }
            (shown, now) => shown == now,
        }
    }
}

/// How many of the order's units can be kept with a reference: the lowest without another home.
fn most<R: Ord + Clone, I: Copy + Eq>(
    account: &Account<R, I>,
    server: &Server<R>,
    reference: Option<&R>,
    others: &Others,
) -> i64 {
    let order = server.order.as_ref();
    let units = order.map_or(0, |order| order.units);
    let most = if account.row.sold > 0 { account.row.sold } else { units };
    let payment = reference.and_then(|reference| account.payments.get(reference));
    let Some(payment) = payment else { return most };
    // Without a book it is the payment that tells that the order was more than held.
    let is_all_known = server.is_over && payment.pays;
    let most = if is_all_known { most.max(account.row.live()) } else { most };
    if others.is_conflict {
        // Whose it is, is another question.
        return 0;
    }
    let gone = payment.gone().union(&others.gone);
    let paid = if payment.pays { payment.units() } else { None };
    most.min(gone.lowest_without()).min(paid.unwrap_or(most))
}

/// The reference that an order is kept with: the server's, a ruling's, or the row's; one that is
/// not late or a duplicate, if there is one.
fn reference<'a, R: Ord + Clone, I: Copy + Eq>(
    account: &'a Account<R, I>,
    server: &'a Server<R>,
) -> Option<&'a R> {
    let there = server.order.as_ref().filter(|order| order.phase == Phase::Sold);
    let there = there.and_then(|order| order.reference.as_ref());
    let ruled = || account.ruling.as_ref().and_then(|ruling| ruling.reference.as_ref());
    let first = there.or_else(ruled).or_else(|| account.paying().next());
    let is_sound = |reference: &R| {
        let payment = account.payments.get(reference);
        !payment.is_some_and(|it| it.is_late || it.is_duplicate || it.is_nothing)
    };
    let sound = account.paying().find(|reference| is_sound(reference));
    first.filter(|reference| is_sound(reference)).or(sound).or(first)
}

/// Plans an answer to the question about an order.
pub fn plan<R: Ord + Clone, I: Copy + Eq>(
    account: &Account<R, I>,
    server: &Server<R>,
    answer: Answer,
    others: impl Fn(&R) -> Others,
) -> Resolution<R> {
    let said = payment_words(account, server);
    // The ruling will be about these, too.
    let mut account = account.clone();
    said.iter().for_each(|report| account.join(None, report));
    let account = &account;
    let reference = reference(account, server);
    let its_others = reference.map(&others).unwrap_or_default();
    let most = most(account, server, reference, &its_others);
    let (now, _) = account.kept(account.conflicts(&others));
    let wanted = match answer {
        Answer::Keep(Some(units)) => units.min(most).max(0),
        Answer::Keep(None) if now > 0 => now.min(most),
        Answer::Keep(None) => most,
        Answer::Refunded { kept } => kept.min(most).max(0),
        Answer::Release => 0,
    };
    let word = match answer {
        Answer::Keep(_) if wanted > 0 => Word::Keep,
        Answer::Refunded { .. } => Word::Refunded,
        Answer::Keep(_) | Answer::Release => Word::Release,
    };
    let ruling = Wanted {
        word,
        kept: wanted,
        reference: reference.cloned(),
        is_without_units: server.is_over,
    };
    let mut plan = Resolution { before: Vec::new(), ruling, said, after: None };
    if server.is_over {
        return plan;
    }
    let payment = reference.and_then(|reference| account.payments.get(reference));
    let is_norestock = account.row.is_norestock && wanted == 0;
    let cancel = |order: &Booked<R>, kept: i64, refunded| ServerStep::Cancel {
        was_sold: order.phase == Phase::Sold,
        units: order.units,
        kept,
        refunded,
        is_norestock,
    };
    let confirm = || {
        let units = payment.and_then(|payment| payment.stated.units());
        let paid = |reference: &R| Paid { reference: reference.clone(), units };
        ServerStep::Confirm { payment: reference.map(paid) }
    };
    let mut has = 0;
    if let Some(order) = &server.order {
        let is_refused = reference.is_some_and(|reference| {
            let record = server.records.get(reference);
            record.is_some_and(|it| match it.outcome {
                Outcome::Unmatched => false,
                // The last two are on record although the book's order has not this payment.
                Outcome::Late | Outcome::Duplicate | Outcome::First | Outcome::Released => true,
            })
        });
        match order.phase {
            Phase::Held if wanted == 0 || is_refused => {
                plan.before.push(cancel(order, 0, None));
            }
            Phase::Held => {
                has = order.units.min(wanted);
                plan.before.extend((order.units > wanted).then(|| cancel(order, wanted, None)));
                plan.before.push(confirm());
            }
            Phase::Sold if word == Word::Refunded => {
                has = order.units.min(wanted);
                // Of what has a line, here or for another order, nothing is said to be refunded.
                let units = UnitSet::between(wanted.saturating_add(1), order.units);
                let is_free = payment.is_some_and(|it| {
                    let lines = it.lines.union(&its_others.gone);
                    !it.is_nothing && lines.common(&units).is_empty()
                });
                let its = order.reference.clone();
                let refunded = its.filter(|its| is_free && reference == Some(its));
                plan.after = (order.units > wanted).then(|| cancel(order, wanted, refunded));
            }
            Phase::Sold if wanted > 0 => {
                has = order.units.min(wanted);
                plan.before.extend((order.units > wanted).then(|| cancel(order, wanted, None)));
                // A reference that the server has for another order stays in the database alone.
                let is_unpaid = order.reference.is_none() && reference.is_some() && !is_refused;
                plan.before.extend(is_unpaid.then(confirm));
            }
            Phase::Sold => plan.before.push(cancel(order, 0, None)),
            Phase::Released | Phase::ReleasedSold => {}
        }
    }
    let lacks = wanted.saturating_sub(has);
    if server.outside > 0 && server.outside != lacks {
        plan.before.push(ServerStep::Return { units: server.outside });
    }
    if lacks > 0 && server.outside != lacks {
        plan.before.push(ServerStep::Take { units: lacks });
        plan.ruling.is_without_units = server.left.saturating_add(server.outside) < lacks;
    }
    plan
}

/// What a check rules by itself: server and row agree on the order, all that contradicts is in
/// between, and the units of all its payments are said. None if it is to be asked.
pub fn agreed<R: Ord + Clone, I: Copy + Eq>(
    account: &Account<R, I>,
    server: &Server<R>,
    others: impl Fn(&R) -> Others,
) -> Option<Wanted<R>> {
    if account.conflicts(&others).is_none() {
        return None;
    }
    let asked = question(account, server, &others);
    let phase = account.row.phase();
    let is_said = account.payments.values().all(|it| it.stated != Stated::Never);
    if !asked.is_agreed() || !is_said || phase == Phase::Held || server.order.is_none() {
        return None;
    }
    let (kept, reference) = account.kept(account.conflicts(&others));
    Some(Wanted {
        word: Word::Agreed,
        kept,
        reference: reference.cloned(),
        is_without_units: false,
    })
}
