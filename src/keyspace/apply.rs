//! Applies plans: the one place where a sale's keys are written, and where that becomes effects.

pub(crate) mod cart;
mod take;
mod whole;

use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::book::{Extra, read_extra, write_extra};
use crate::keyspace::buyers::Buyer;
use crate::keyspace::names::Name;
use crate::keyspace::opened::Opened;
use crate::keyspace::orders::Added;
use crate::keyspace::sale::Sale;
use crate::keyspace::{rules, stock};
use crate::server::{Call, Kind, OwnedStr, Str};
use crate::typed::User;
use domain::facts::Stream;
use domain::plan::{Amend, Append, Change, Hold, Left, Place, Plan, Recorded};
use domain::rules::Rules;

/// What came of a plan, or of the tries of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    All,
    /// Nothing: the user of the only try has bought before, which was not known until now.
    HasBought,
    /// So many of the first, and nothing of the next, for this reason.
    First(usize, CommandError),
}

impl<'a> Sale<'a> {
    /// Applies a plan, all of it. On an error nothing has been changed.
    #[inline]
    pub(crate) fn apply(&self, plan: &Plan<Name<'a>>) -> Result<Applied, CommandError> {
        match plan {
            Plan::Take(take) => self.take(take, None),
            Plan::Promote(take, waited) => self.take(take, Some(*waited)),
            plan => self.apply_other(plan).map(|()| Applied::All),
        }
    }

    fn apply_other(&self, plan: &Plan<Name<'a>>) -> Result<(), CommandError> {
        match plan {
            Plan::Take(_) | Plan::Promote(..) => {}
            Plan::Amend(amend) => self.amend(amend)?,
            Plan::Repeat(record) => self.publish(self.record_again(record)),
            Plan::DeadLetter(fate) => {
                self.close();
                self.rejected.map_or(Ok(()), |rejected| rejected.bury(self.ctx, *fate))?;
            }
            Plan::StrayHold(id) => {
                let lifted = self.lift_hold(id.as_str());
                let is_none_held = is_last(&lifted);
                self.publish(lifted);
                self.count_extra(Extra::default(), is_none_held);
            }
            Plan::StrayPlace(id) => self.publish(self.leave_queue(id.as_str())),
        }
        Ok(())
    }

    /// Closes the keys, and publishes.
    fn publish(&self, effect: Option<Effect<'_>>) {
        self.close();
        if let Some(effect) = effect {
            effect.publish(self.ctx);
        }
    }

    /// Refuses half of a plan. A key that is closed would be passed over in silence, so before the
    /// first write all that are written must be open: orders, units, holds, the queue.
    #[inline(always)]
    fn check_open(&self, [orders, units, holds, queue]: [bool; 4]) -> Result<(), CommandError> {
        let keys = self.opened();
        let is_open = (!orders || keys.book.is_writing())
            && (!units || keys.units.is_writing())
            && (!holds || keys.holds.is_writing())
            && (!queue || keys.wait.is_writing());
        if is_open { Ok(()) } else { Err(CommandError::Closed) }
    }

    fn amend(&self, plan: &Amend<Name<'a>>) -> Result<(), CommandError> {
        let (ctx, order) = (self.ctx, &plan.order);
        if plan.sale.is_some() {
            let Amend { entry, units, hold, place, .. } = plan;
            self.check_open([entry.is_some(), units.is_some(), hold.is_some(), place.is_some()])?;
        }
        if plan.payment.is_some() {
            let payments = self.managed_keys()?.payments;
            self.opened().payments.open(ctx, payments, Kind::Hash)?;
        }
        let appends = plan.appends.all();
        let texts = [0, 1].map(|number| Some(self.text_of(*appends.get(number)?, plan)));
        let mut entries = self.entries(plan.sale.is_some(), texts[0].as_ref())?;
        let mut added = [None; 2];
        let mut append = || {
            for ((append, text), added) in
                appends.iter().zip(texts.iter().flatten()).zip(&mut added)
            {
                *added = self.add(append.stream(), entries.of(order, text))?;
            }
            let is_letter = |it: &Append| matches!(it, Append::DeadLetter { .. });
            if appends.iter().any(is_letter) {
                self.acknowledge()?;
            }
            plan.rules.map_or(Ok(()), |rules| self.write_rules(&rules))
        };
        let appended = append();
        let added =
            || added.iter().zip(&texts).filter_map(|(it, text)| Some(((*it)?, text.as_ref()?)));
        if let Err(error) = appended {
            self.close_streams();
            added().for_each(|(it, text)| it.take_back(ctx, entries.of(order, text)));
            return Err(error);
        }
        let stock = self.change_stock(plan.stock);
        let book = plan.sale.is_some().then(|| self.write_book(plan));
        self.close();
        if let Some(stock) = stock {
            stock.publish(ctx);
        }
        added().for_each(|(it, text)| it.effect(entries.of(order, text)).publish(ctx));
        let is_none_held = book.as_ref().is_some_and(|[_, _, hold, ..]| is_last(hold));
        book.into_iter().flatten().flatten().for_each(|effect| effect.publish(ctx));
        if plan.dismiss {
            self.dismiss(&order.user);
        }
        let more = Extra { orders: plan.extra, users: plan.beyond_one };
        self.count_extra(more, is_none_held);
        Ok(())
    }

    /// Writes the keys of a managed sale.
    fn write_book<'p>(&self, plan: &'p Amend<Name<'a>>) -> [Option<Effect<'p>>; 5]
    where
        'a: 'p,
    {
        let Ok(keys) = self.managed_keys() else { return [const { None }; 5] };
        let (opened, id) = (self.opened(), plan.order.id.as_str());
        let order = plan.entry.as_ref();
        let order = order.and_then(|it| set_field(&opened.book, keys.book, id, &it.write()));
        let units = plan.units.as_ref().and_then(|left| {
            let (key, field) = (keys.units, plan.order.user.as_str());
            let Left::Units(has) = left else {
                let mut units = opened.units.writing()?;
                units.hash_del(field).ok()?;
                let was_last = units.kind() == Kind::Empty;
                return Some(Effect::FieldDeleted { key, field, was_last });
            };
            set_field(&opened.units, key, field, &has.write())
        });
        let hold = plan.hold.and_then(|hold| match hold {
            Hold::Move(deadline) => score(&opened.holds, keys.holds, deadline, id),
            Hold::Lift => self.lift_hold(id),
        });
        let payment = plan.payment.as_ref().and_then(|(reference, payment)| {
            set_field(&opened.payments, keys.payments, reference.as_str(), &payment.write())
        });
        let place = plan.place.and_then(|place| match place {
            Place::Join(ticket) => score(&opened.wait, keys.wait, ticket, id),
            Place::Leave => self.leave_queue(id),
        });
        [order, units, hold, payment, place]
    }

    fn lift_hold<'p>(&self, id: Str<'p>) -> Option<Effect<'p>>
    where
        'a: 'p,
    {
        unscore(&self.opened().holds, self.managed_keys().ok()?.holds, id)
    }

    fn leave_queue<'p>(&self, id: Str<'p>) -> Option<Effect<'p>>
    where
        'a: 'p,
    {
        unscore(&self.opened().wait, self.managed_keys().ok()?.wait, id)
    }

    fn change_stock(&self, change: Option<Change>) -> Option<Effect<'a>> {
        stock::change(self.ctx, self.sale_keys().ok()?.stock, change?)
    }

    /// Appends an entry, to be published or taken back; none where no such stream is kept.
    #[inline(always)]
    fn add(&self, to: Stream, fields: &[Str<'_>]) -> Result<Option<Added<'a>>, CommandError> {
        let mut streams = self.more().streams.borrow_mut();
        match streams.iter_mut().flatten().find(|(stream, _)| *stream == to) {
            Some((_, stream)) => stream.add(fields).map(Some),
            None if self.stream_key(to)?.is_some() => Err(CommandError::Closed),
            None => Ok(None),
        }
    }

    /// Writes the rules with another total. Replicated by the server.
    fn write_rules(&self, rules: &Rules) -> Result<(), CommandError> {
        self.close_streams();
        rules::write(self.ctx, self.managed_keys()?.rules, rules)?;
        self.forget_rules();
        Ok(())
    }

    /// Acknowledges the entry that is rejected.
    fn acknowledge(&self) -> Result<(), CommandError> {
        self.close_streams();
        self.rejected.map_or(Ok(()), |rejected| rejected.delivery.acknowledge(self.ctx))
    }

    fn dismiss(&self, user: &Name<'a>) {
        if let Ok(keys) = self.sale_keys() {
            Buyer::new(keys.buyers, User(user.as_str())).dismiss(self.ctx);
        }
    }

    /// What is on record is only replicated once more.
    fn record_again<'p>(&self, record: &'p Recorded<Name<'a>>) -> Option<Effect<'p>>
    where
        'a: 'p,
    {
        let keys = self.managed_keys().ok()?;
        Some(match record {
            Recorded::Order(id) => {
                let value = self.entry_text(id).ok().flatten()?;
                Effect::FieldAgain { key: keys.book, field: id.as_str(), value }
            }
            Recorded::Payment((reference, payment)) => {
                let value = OwnedStr::new(&payment.write());
                Effect::FieldAgain { key: keys.payments, field: reference.as_str(), value }
            }
        })
    }

    /// Counts more extra units, or less. The key is deleted when there are none. It was seen to be
    /// readable before, unless only the last hold ends: a key that can't be read then stays.
    fn count_extra(&self, more: Extra, is_none_held: bool) {
        let Ok(keys) = self.managed_keys() else { return };
        let exists = || rules::exists(self.ctx, keys.extra);
        if more == Extra::default() && !(is_none_held && exists()) {
            return;
        }
        let Ok(had) = read_extra(self.ctx, keys) else { return self.warn_of_extra() };
        let orders = if is_none_held { 0 } else { had.orders.saturating_add(more.orders).max(0) };
        let extra = Extra { orders, users: had.users.saturating_add(more.users) };
        if extra != Extra::default() {
            write_extra(self.ctx, keys.extra, extra);
        } else if exists() {
            drop(Call::write(self.ctx, c"DEL", &[keys.extra]));
        }
    }
}

fn set_field<'p>(
    hash: &Opened<'_>,
    key: Str<'p>,
    field: Str<'p>,
    value: &[u8],
) -> Option<Effect<'p>> {
    let value = OwnedStr::new(value);
    hash.writing()?.hash_set(field, value.as_str()).ok()?;
    Some(Effect::FieldSet { key, field, value })
}

/// Deadlines and tickets are below 2^53, which a double holds exactly.
fn score<'p>(set: &Opened<'_>, key: Str<'p>, score: i64, member: Str<'p>) -> Option<Effect<'p>> {
    set.writing()?.zset_add(score as f64, member).ok()?;
    Some(Effect::Scored { key, score, member })
}

fn unscore<'p>(set: &Opened<'_>, key: Str<'p>, member: Str<'p>) -> Option<Effect<'p>> {
    let mut set = set.writing()?;
    let is_there = set.zset_rem(member);
    is_there.then(|| Effect::Unscored { key, member, was_last: set.kind() == Kind::Empty })
}

/// Was this the last member?
fn is_last(removed: &Option<Effect<'_>>) -> bool {
    matches!(removed, Some(Effect::Unscored { was_last: true, .. }))
}
