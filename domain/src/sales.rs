//! Decides about a sale as a whole: creation, changes of its rules and its stock, its end.

use crate::facts::{Facts, Needed, Refusal};
use crate::plan::{Change, SalePlan};
use crate::rules::{Meant, Millis, Rules, Window};
use crate::sale::{Stock, Units};

/// Makes an unmanaged voucher managed: with a new stock of the rules' total, or, `adopted`, with
/// the existing one, which becomes the total. The sale's id is that of the rules, or the next one
/// that the voucher has not had.
pub fn create<F: Facts>(
    facts: &F,
    rules: Rules,
    adopted: bool,
) -> Result<SalePlan<F::Name>, F::Error> {
    let (total, new_stock) = if adopted {
        match facts.stock()? {
            Stock::Missing => return Err(Refusal::NoVoucher.into()),
            // Also -1, which means no limit on an unmanaged voucher: a total is a number.
            Stock::Left(..0) => return Err(Refusal::NotAdoptable.into()),
            Stock::Left(total) => (total, None),
        }
    } else {
        (rules.total, Some(rules.total))
    };
    if facts.has_own_keys(!adopted)? {
        return Err(Refusal::Exists.into());
    }
    let sale = rules.sale.after(facts.last_sale()?).ok_or(Refusal::LastSale)?;
    let rules = Some(Rules { total, sale, ..rules });
    Ok(SalePlan { rules, new_stock, last: Some(sale), ..SalePlan::NONE })
}

/// How the total changes, and the stock with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restock<N> {
    By(i64),
    /// To this total. Asked again it changes nothing.
    To(i64),
    /// By so many units, which an order has without being in the book; or had. Noted by the order's
    /// [name](crate::key_names::outside_field), and asked again it changes nothing.
    For {
        delta: i64,
        order: N,
    },
}

/// The rules of the sale that is meant.
fn meant<F: Facts>(facts: &F, sale: Meant) -> Result<Rules, F::Error> {
    let rules = facts.rules()?.ok_or(Refusal::NotManaged)?;
    if sale.is(Some(rules.sale)) { Ok(rules) } else { Err(Refusal::Sale.into()) }
}

/// Changes the rules as the request says. Refused while somebody waits who could then not be
/// promoted, or whose wait ended with the sale: to be recorded first, by
/// [`crate::waitlist::promote`].
pub fn alter<F: Facts>(
    facts: &F,
    sale: Meant,
    change: impl FnOnce(Rules) -> Result<Rules, F::Error>,
) -> Result<SalePlan<F::Name>, F::Error> {
    let before = meant(facts, sale)?;
    let (rules, now) = (change(before)?, facts.now());
    let had_ended = before.window(now) == Window::Ended;
    let reopens = had_ended && rules.window(now) != Window::Ended;
    let loses_holds = !had_ended && before.hold.is_some() && rules.hold.is_none();
    if (reopens || loses_holds) && facts.is_waited_for()? {
        return Err(if reopens { Refusal::EndingWaits } else { Refusal::Waiting }.into());
    }
    Ok(SalePlan { rules: Some(rules), ..SalePlan::NONE })
}

/// Adds units to stock and total, or removes some. Returns the stock after it.
pub fn restock<F: Facts>(
    facts: &F,
    sale: Meant,
    restock: Restock<F::Name>,
) -> Result<(i64, SalePlan<F::Name>), F::Error> {
    let rules = meant(facts, sale)?;
    let Stock::Left(before) = facts.stock()? else { return Err(Refusal::NoVoucher.into()) };
    let (delta, outside) = match restock {
        Restock::By(0) => return Ok((before, SalePlan::NONE)),
        Restock::By(delta) => (delta, None),
        Restock::To(total) => (total.checked_sub(rules.total).ok_or(Refusal::Overflow)?, None),
        Restock::For { delta, order } => match noted(facts, delta, &order)? {
            Some(units) => (delta, Some((order, units))),
            None => (0, None),
        },
    };
    let grown = |number: i64| number.checked_add(delta).ok_or(Refusal::Overflow);
    let (after, total) = (grown(before)?, grown(rules.total)?);
    // Of a stock that another client has written, no units are taken that are held or sold.
    if after < 0 || total < 0 || delta < 0 && total < facts.taken()? {
        return Err(Refusal::TooFew.into());
    }
    // Rules that stay are replicated again, for the client of a repeat to wait for.
    let stock = (delta != 0).then_some(Change { before, after });
    let rules = Some(Rules { total, ..rules });
    Ok((after, SalePlan { rules, stock, outside, ..SalePlan::NONE }))
}

/// What is to be noted of an order for which `delta` units come or go; None if that is done.
fn noted<F: Facts>(
    facts: &F,
    delta: i64,
    order: &F::Name,
) -> Result<Option<Option<Units>>, F::Error> {
    let units = delta.checked_abs().and_then(Units::new);
    match facts.outside(order)? {
        Some(known) if Some(known) != units => Err(Refusal::OrderId.into()),
        Some(_) => Ok((delta > 0).then_some(None)),
        None if delta < 0 => Ok(Some(Some(units.ok_or(Refusal::TooFew)?))),
        None => Ok(None),
    }
}

/// How long the id of a sale is kept after its end: 400 days. Payments are corrected and refunded
/// for a year at most, and one that comes after the sale is recorded only beside this id.
pub const LAST_KEPT_MS: Millis = 400 * 86_400_000;

/// The end of a sale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End<N> {
    /// Nothing is held, or nothing is known of it.
    Delete(SalePlan<N>),
    /// These orders are to be cancelled first. If all of them are, and no others are held, the sale
    /// is deleted; else it is ended, so that the released units are not sold and held again.
    Cancel { ids: Vec<N>, delete: Option<SalePlan<N>>, end: SalePlan<N> },
}

/// Decides the end of a sale, of which `most` orders are released at once at the most. Rules that
/// can't be read don't prevent an end, but without rules no order can be released.
pub fn drop<F: Facts>(
    facts: &F,
    sale: Meant,
    forced: bool,
    most: usize,
) -> Result<End<F::Name>, F::Error> {
    if sale != Meant::Any {
        let now = facts.rules()?.map(|rules| rules.sale);
        // The sale that is meant may have been dropped by this very request.
        let is_gone = now.is_none() && !facts.has_own_keys(true)?;
        if !is_gone && !sale.is(now) {
            let why = if now.is_none() { Refusal::NotManaged } else { Refusal::Sale };
            return Err(why.into());
        }
    }
    let (ids, held) = facts.held(most)?;
    let rules = facts.rules();
    // The clock may be behind that of the sale's beginning.
    let began = rules.as_ref().ok().and_then(Option::as_ref).map_or(0, |it| it.sale.began_ms());
    let last_until = facts.now().max(began).saturating_add(LAST_KEPT_MS);
    let delete = SalePlan { delete: Some(last_until), ..SalePlan::NONE };
    let is_over = match &rules {
        Ok(None) => return Ok(End::Delete(delete)),
        Ok(Some(rules)) => rules.window(facts.now()) == Window::Ended,
        Err(_) => false,
    };
    // Orders that wait have nothing to be released, and no entry says that they end.
    if !forced && (held > 0 || !is_over && facts.queue()?.waiting > 0) {
        return Err(Refusal::Held.into());
    }
    let Ok(Some(rules)) = rules else { return Ok(End::Delete(delete)) };
    if held == 0 || facts.is_missing(Needed::Book)? {
        return Ok(End::Delete(delete));
    }
    let is_all = u64::try_from(ids.len()).is_ok_and(|count| count == held);
    let end = SalePlan { rules: rules.ended(facts.now()), ..SalePlan::NONE };
    Ok(End::Cancel { ids, delete: is_all.then_some(delete), end })
}
