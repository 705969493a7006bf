//! The transaction that writes a ruling, and what may be ruled.

use crate::account::{Account, Unclear};
use crate::homes::Stated;
use crate::references::Others;
use crate::rows::Report;
use crate::ruling::{Ruling, Word};
use crate::unit_set::UnitSet;

/// What an operator has asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wanted<R> {
    pub word: Word,
    pub kept: i64,
    pub reference: Option<R>,
    pub is_without_units: bool,
}

/// Why a ruling is refused: what it was made on is not so any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed;

/// What the server says of the payment, and what a ruling's own step there has said. Of its own
/// release, which is without a reference, the units get their homes by the ruling.
fn join_own<R: Ord + Clone, I: Copy + Eq>(account: &mut Account<R, I>, said: &[Report<R>]) {
    for report in said {
        match report {
            Report::Released(it) if it.reference.is_none() => account.row.join(None, report),
            _ => account.join(None, report),
        }
    }
}

/// Writes a ruling, under the lock of the order and of all payment rows of its references, and
/// joins what its own steps on the server have said. Every unit of the order's payments gets a
/// home: kept, or where it had one, else due or, for [`Word::Refunded`], elsewhere.
///
/// `shown` is the account as the operator saw it. Refused if a ruling came in between, if the
/// numbers are others, if a unit to keep has another home, or if one of its payments is unclear:
/// whose it is, or of how many units, is said first.
pub fn rule<R: Ord + Clone, I: Copy + Eq>(
    account: &mut Account<R, I>,
    shown: &Account<R, I>,
    wanted: &Wanted<R>,
    said: &[Report<R>],
    others: impl Fn(&R) -> Others,
) -> Result<(), Changed> {
    let (mut next, mut expected) = (account.clone(), shown.clone());
    join_own(&mut next, said);
    join_own(&mut expected, said);
    let has_changed = account.rulings != shown.rulings || next.basis() != expected.basis();
    if has_changed || next.unclear(&others).is_some() || !can_keep(&next, wanted, &others) {
        return Err(Changed);
    }
    give_homes(&mut next, wanted, &others);
    next.rulings = next.rulings.saturating_add(1);
    next.ruling = Some(Ruling {
        word: wanted.word,
        kept: wanted.kept,
        reference: wanted.reference.clone(),
        is_without_units: wanted.is_without_units,
        conflicts: next.conflicts(&others),
        basis: next.basis(),
    });
    *account = next;
    Ok(())
}

/// A home for every unit that has none and is not kept.
fn give_homes<R: Ord + Clone, I: Copy + Eq>(
    account: &mut Account<R, I>,
    wanted: &Wanted<R>,
    others: impl Fn(&R) -> Others,
) {
    let kept = UnitSet::lowest(wanted.kept);
    for (reference, payment) in account.payments.iter_mut().filter(|(_, it)| it.pays) {
        let is_its = wanted.reference.as_ref() == Some(reference);
        let gone = payment.gone().union(&others(reference).gone);
        let gone = if is_its { gone.union(&kept) } else { gone };
        let rest = payment.all().without(&gone);
        let is_elsewhere = wanted.word == Word::Refunded && is_its;
        let home = if is_elsewhere { &mut payment.ruled_elsewhere } else { &mut payment.lines };
        *home = home.union(&rest);
    }
}

/// Rules that a payment of an order is for so many units, 0 or more, as the provider says. A ruling
/// that stands keeps what it keeps, if that is paid and no other order's: all other units are due.
/// No entry and no record says otherwise later.
pub fn rule_units<R: Ord + Clone, I: Copy + Eq>(
    account: &mut Account<R, I>,
    reference: &R,
    units: i64,
    others: impl Fn(&R) -> Others,
) {
    let is_shared = matches!(account.unclear(&others), Some((_, Unclear::Whose)));
    let stands = account.standing(account.conflicts(&others)).is_some() && !is_shared;
    let Some(payment) = account.payments.get_mut(reference) else { return };
    payment.stated = Stated::Ruled(units);
    account.rulings = account.rulings.saturating_add(1);
    let is_paid =
        |ruling: &Ruling<R>| ruling.reference.as_ref() != Some(reference) || ruling.kept <= units;
    let ruling = account.ruling.take().filter(|ruling| stands && is_paid(ruling));
    let Some(mut ruling) = ruling else { return };
    let Ruling { kept, reference, is_without_units, .. } = ruling.clone();
    let wanted = Wanted { word: Word::Release, kept, reference, is_without_units };
    give_homes(account, &wanted, &others);
    ruling.conflicts = account.conflicts(&others);
    ruling.basis = account.basis();
    account.ruling = Some(ruling);
}

/// Is every unit that is to be kept paid for, and has none another home?
fn can_keep<R: Ord + Clone, I: Copy + Eq>(
    account: &Account<R, I>,
    wanted: &Wanted<R>,
    others: impl Fn(&R) -> Others,
) -> bool {
    let Some(reference) = &wanted.reference else { return true };
    let Some(payment) = account.payments.get(reference) else { return true };
    let others = others(reference);
    let gone = payment.gone().union(&others.gone);
    let is_paid = payment.units().is_none_or(|units| wanted.kept <= units);
    is_paid && UnitSet::lowest(wanted.kept).common(&gone).is_empty()
}
