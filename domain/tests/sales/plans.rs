//! What every plan must be, before it is applied.

use crate::flat::{Flat, Hold};
use crate::queue::place_is_sound;
use crate::world::{USERS, World};
use domain::book::{Entry, Reason, Span, State};
use domain::plan::{Admission, Append};

/// Does a plan fit the keys that it is written to, and do its entries say what it does?
pub fn plan_is_sound(world: &World, plan: &Flat) -> Result<(), &'static str> {
    let (id, user) = (usize::from(plan.order.id), usize::from(plan.order.user).min(USERS - 1));
    let known = world.book[id];
    let wrong = |is_wrong: bool, word| if is_wrong { Err(word) } else { Ok(()) };
    let is_changed = plan.stock.is_some() || plan.entry.is_some() || plan.units.is_some();
    let is_moved = plan.hold.is_some() || plan.dismiss || plan.admit.is_some();
    let is_moved = is_moved || plan.place.is_some() || plan.rules.is_some();
    let is_written = is_changed || is_moved || plan.appends != [None; 2] || plan.taken.is_some();
    wrong(!is_written && plan.payment.is_none() && !plan.again, "a plan of nothing")?;
    wrong(plan.again && is_written, "a plan that writes, again")?;
    wrong(!plan.entry.is_none_or(reads_back), "an order that is not read as it was written")?;
    wrong(plan.stock.is_some_and(|it| world.stock != Some(it.before)), "another stock before")?;
    wrong(plan.stock.is_some_and(|it| it.before == it.after), "a stock that stays")?;
    let is_of_sale = plan.sale.is_some_and(|sale| world.sale() != Some(sale));
    wrong(is_of_sale && (is_changed || is_moved), "another sale")?;
    wrong(plan.admit == Some(Admission::Add) && world.buyers[user], "a buyer added again")?;
    wrong(plan.dismiss && !world.buyers[user], "no buyer to be dismissed")?;
    let is_there = world.holds[id].is_some();
    wrong(matches!(plan.hold, Some(Hold::Place(_))) && is_there, "a hold placed twice")?;
    wrong(matches!(plan.hold, Some(Hold::Move(_))) && !is_there, "no hold to be moved")?;
    wrong(matches!(plan.hold, Some(Hold::Lift)) && !is_there, "no hold to be lifted")?;
    place_is_sound(world, plan)?;
    if world.rules.is_none() {
        let moved = plan.stock.map_or(0, |stock| stock.after - stock.before);
        let taken = if plan.admit.is_some() { -plan.order.units.get() } else { 0 };
        let returned = if plan.dismiss { plan.order.units.get() } else { 0 };
        wrong(moved != taken + returned, "the stock moved by other units")?;
    }
    if let Some(waited) = plan.taken {
        let was = known.map(|known| known.state);
        let is_held = plan.entry.map(|entry| entry.state) == Some(State::Held);
        let is_right = match waited {
            None => was.is_none(),
            // The present is always the same.
            Some(waited) => was == Some(State::Waiting) && is_held && waited == 0,
        };
        wrong(!is_right, "an entry that says something else")?;
    }
    plan.appends.iter().flatten().try_for_each(|append| entry_is_sound(*append, plan, known))?;
    plan.appends.iter().flatten().try_for_each(|append| words_are_sound(*append, plan, known))
}

/// Does a release say of its units what becomes of the total, and of the payment in the book?
fn words_are_sound(
    append: Append,
    plan: &Flat,
    known: Option<Entry<u8>>,
) -> Result<(), &'static str> {
    let Append::Release { kept, norestock, refunded, .. } = append else { return Ok(()) };
    let is_less = plan.rules.is_some() && plan.stock.is_none();
    let (Some(before), Some(after)) = (known, plan.entry) else {
        let is_said = norestock || refunded;
        return if is_said { Err("an entry that says something else") } else { Ok(()) };
    };
    let span = Span::behind(kept, before.units).filter(|_| refunded);
    let wanted = span.map_or(Some(before.refunded), |span| before.refunded.before(span));
    let is_paid = before.state == State::Sold && before.reference.is_some();
    let is_right = norestock == is_less && wanted == Some(after.refunded) && (is_paid || !refunded);
    if is_right { Ok(()) } else { Err("an entry that says something else") }
}

fn reads_back(entry: Entry<u8>) -> bool {
    let text = entry.map(|name| [b'a' + name]).write();
    Entry::parse(&text).map(|read| read.map(|name| name[0] - b'a')) == Ok(entry)
}

fn entry_is_sound(
    append: Append,
    plan: &Flat,
    known: Option<Entry<u8>>,
) -> Result<(), &'static str> {
    let is_sound = match append {
        Append::Confirmation => plan.entry.is_some_and(|entry| entry.state == State::Sold),
        Append::Payment(outcome) => plan.payment.is_some_and(|(_, it)| it.outcome == outcome),
        Append::Release { was, kept, .. } if plan.sale.is_none() => was.is_none() && kept.is_none(),
        Append::Release { reason, was, kept: None, .. } => {
            plan.entry.map(|entry| entry.state) == Some(State::Released(reason))
                && was == known.map(|known| known.state)
                && plan.entry.and_then(|entry| entry.was) == was
        }
        Append::Release { reason, was, kept, .. } => {
            reason == Reason::Cancelled
                && was == known.map(|known| known.state)
                && plan.entry.map(|entry| entry.units) == kept
        }
        Append::DeadLetter { .. } => true,
    };
    if is_sound { Ok(()) } else { Err("an entry that says something else") }
}
