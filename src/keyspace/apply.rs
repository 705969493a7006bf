//! Applies plans: the one place where a sale's keys are written, and where that becomes effects.

mod whole;

use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::book::read_extra;
use crate::keyspace::buyers::{self, Buyer};
use crate::keyspace::entries::{Entries, decimal};
use crate::keyspace::names::Name;
use crate::keyspace::orders::Added;
use crate::keyspace::sale::Sale;
use crate::keyspace::{rules, stock};
use crate::server::{Call, Kind, OwnedStr, Str};
use crate::typed::User;
use domain::plan::{Admission, Append, Change, Hold, Place, Plan};
use std::slice;

/// What came of plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    All,
    /// Nothing: the user of the only plan has bought before, which was not known until now.
    HasBought,
    /// So many of the first, and nothing of the next, for this reason.
    First(usize, CommandError),
}

/// The entries that were appended for a plan.
type Appended<'a> = [Option<Added<'a>>; 2];

impl<'a> Sale<'a> {
    /// Applies plans, each of which was decided as if those before it were applied. All of it, or,
    /// if a stream takes no more, the first of them. On an error nothing has been changed.
    ///
    /// Several plans are written by as few plain commands as possible, in the order of a plan's
    /// fields.
    pub(crate) fn apply(&self, plans: &[Plan<Name<'a>>]) -> Result<Applied, CommandError> {
        match plans {
            // Compiled by itself, without loops.
            [plan] => self.apply_each(slice::from_ref(plan)),
            plans => self.apply_each(plans),
        }
    }

    #[inline(always)]
    fn apply_each(&self, plans: &[Plan<Name<'a>>]) -> Result<Applied, CommandError> {
        let Some(first) = plans.first() else { return Ok(Applied::All) };
        // Tries of one command have no payments.
        if first.payment.is_some() && !first.again {
            let payments = self.managed_keys()?.payments;
            self.opened().payments.open(self.ctx, payments, Kind::Hash)?;
        }
        let texts = self.texts(first);
        let mut entries = self.entries(first, &texts)?;
        let is_new = self.admit(plans)?;
        if !is_new && first.admit == Some(Admission::Ask) {
            return Ok(Applied::HasBought);
        }
        let (mut one, mut many) = ([[None; 2]], Vec::new());
        let appended = if plans.len() == 1 {
            one.as_mut_slice()
        } else {
            many.resize(plans.len(), [None; 2]);
            many.as_mut_slice()
        };
        let refused = self.append_all(plans, appended, &mut entries);
        let (written, rest) = plans.split_at(refused.map_or(plans.len(), |(count, _)| count));
        if refused.is_some() {
            if is_new {
                let admitted = rest.iter().filter(|plan| plan.admit.is_some());
                admitted.for_each(|plan| self.dismiss(&plan.order.user));
            }
            // More tries follow these, which must not buy again.
            if let Some(bought) = &mut *self.more().bought.borrow_mut() {
                bought.extend(written.iter().map(|plan| plan.order.user.clone()));
            }
        }
        if !written.is_empty() {
            self.write(written, appended, &mut entries);
        }
        match refused {
            None => Ok(Applied::All),
            Some((0, error)) => Err(error),
            Some((count, error)) => Ok(Applied::First(count, error)),
        }
    }

    /// Adds the users who are to be buyers: the first write, and a question too. False if the only
    /// one is there already.
    #[inline(always)]
    fn admit(&self, plans: &[Plan<Name<'a>>]) -> Result<bool, CommandError> {
        let ctx = self.ctx;
        match plans {
            [plan] if plan.admit.is_none() => Ok(true),
            [plan] => {
                Buyer::new(self.sale_keys()?.buyers, User(plan.order.user.as_str())).admit(ctx)
            }
            plans => {
                let mut words = Vec::with_capacity(plans.len().saturating_add(1));
                words.push(self.sale_keys()?.buyers);
                let admitted = plans.iter().filter(|plan| plan.admit.is_some());
                words.extend(admitted.map(|plan| plan.order.user.as_str()));
                if words.len() > 1 {
                    buyers::admit_all(ctx, &words).map(|()| true)
                } else {
                    Ok(true)
                }
            }
        }
    }

    fn dismiss(&self, user: &Name<'a>) {
        if let Ok(keys) = self.sale_keys() {
            Buyer::new(keys.buyers, User(user.as_str())).dismiss(self.ctx);
        }
    }

    /// Appends the entries, and acknowledges the one that is rejected: what can be refused, plan by
    /// plan. If it is, says for which plan and why, of which nothing stays.
    #[inline(always)]
    fn append_all<'t>(
        &self,
        plans: &'t [Plan<Name<'a>>],
        appended: &mut [Appended<'a>],
        entries: &mut Entries<'t>,
    ) -> Option<(usize, CommandError)> {
        for (number, (plan, appended)) in plans.iter().zip(appended).enumerate() {
            if let Err(error) = self.append(plan, appended, entries) {
                self.close_streams();
                for (number, added) in appended.iter_mut().enumerate() {
                    if let Some(added) = added.take() {
                        added.take_back(self.ctx, entries.of(plan, number));
                    }
                }
                return Some((number, error));
            }
        }
        None
    }

    #[inline(always)]
    fn append<'t>(
        &self,
        plan: &'t Plan<Name<'a>>,
        appended: &mut Appended<'a>,
        entries: &mut Entries<'t>,
    ) -> Result<(), CommandError> {
        for (number, (append, added)) in plan.appends.iter().zip(appended).enumerate() {
            let Some(append) = append.map(Append::stream) else { continue };
            let mut streams = self.more().streams.borrow_mut();
            let stream = streams.iter_mut().flatten().find(|(stream, _)| *stream == append);
            if let Some((_, stream)) = stream {
                *added = Some(stream.add(entries.of(plan, number))?);
            }
        }
        match self.rejected.filter(|_| plan.acknowledge) {
            None => Ok(()),
            Some(rejected) => {
                self.close_streams();
                rejected.delivery.acknowledge(self.ctx)
            }
        }
    }

    /// Writes what can't be refused any more, closes the keys, and publishes.
    #[inline(always)]
    fn write<'t>(
        &self,
        plans: &'t [Plan<Name<'a>>],
        appended: &[Appended<'a>],
        entries: &mut Entries<'t>,
    ) {
        let ctx = self.ctx;
        let mut stocks = plans.iter().filter_map(|plan| plan.stock);
        let stocks = stocks.next().map(|first| Change {
            before: first.before,
            after: stocks.next_back().unwrap_or(first).after,
        });
        let stock = self.sale_keys().ok().zip(stocks);
        let stock = stock.and_then(|(keys, change)| stock::change(ctx, keys.stock, change));
        let is_managed = plans.first().is_some_and(|plan| plan.sale.is_some());
        let book = is_managed.then(|| self.write_book(plans));
        self.close();
        if let Some(stock) = stock {
            stock.publish(ctx);
        }
        for (plan, appended) in plans.iter().zip(appended) {
            for (number, added) in appended.iter().enumerate() {
                if let Some(added) = added {
                    added.effect(entries.of(plan, number)).publish(ctx);
                }
            }
        }
        let mut is_none_held = false;
        if let Some(effects) = book {
            let [_, _, holds, ..] = &effects;
            is_none_held = matches!(holds, Some(Effect::Unscored { was_last: true, .. }));
            effects.into_iter().flatten().for_each(|effect| effect.publish(ctx));
        }
        for plan in plans {
            if plan.dismiss {
                self.dismiss(&plan.order.user);
            }
            if plan.extra != 0 || is_none_held {
                self.count_extra(plan.extra, is_none_held);
            }
        }
    }

    /// Writes the keys of a managed sale.
    fn write_book<'p>(&self, plans: &'p [Plan<Name<'a>>]) -> [Option<Effect<'p>>; 6]
    where
        'a: 'p,
    {
        let [orders, units] = [self.write_orders(plans), self.write_units(plans)];
        let payment = plans.first().and_then(|plan| self.write_payment(plan));
        let (again, place) = (self.read_again(plans), self.write_place(plans));
        [orders, units, self.write_holds(plans), payment, again, place]
    }

    /// Tries of one command have no places in line.
    fn write_place<'p>(&self, plans: &'p [Plan<Name<'a>>]) -> Option<Effect<'p>>
    where
        'a: 'p,
    {
        let [plan] = plans else { return None };
        let (place, member) = (plan.place?, plan.order.id.as_str());
        let mut line = self.opened().wait.writing()?;
        let key = self.managed_keys().ok()?.wait;
        match place {
            Place::Join(score) => {
                line.zset_add(score as f64, member).ok()?;
                Some(Effect::Scored { key, score, member })
            }
            Place::Leave => line.zset_rem(member).then(|| {
                let was_last = line.kind() == Kind::Empty;
                Effect::Unscored { key, member, was_last }
            }),
        }
    }

    fn write_orders<'p>(&self, plans: &'p [Plan<Name<'a>>]) -> Option<Effect<'p>>
    where
        'a: 'p,
    {
        let mut book = self.opened().book.writing()?;
        let key = self.managed_keys().ok()?.book;
        let written = plans.iter().filter_map(|plan| {
            let (id, value) =
                (plan.order.id.as_str(), OwnedStr::new(&plan.entry.as_ref()?.write()));
            book.hash_set(id, value.as_str()).ok()?;
            Some((id, value))
        });
        fields_set(key, plans, written)
    }

    fn write_units<'p>(&self, plans: &'p [Plan<Name<'a>>]) -> Option<Effect<'p>>
    where
        'a: 'p,
    {
        let mut units = self.opened().units.writing()?;
        let key = self.managed_keys().ok()?.units;
        if let [Plan { units: Some(None), order, .. }] = plans {
            let field = order.user.as_str();
            units.hash_del(field).ok()?;
            let was_last = units.kind() == Kind::Empty;
            return Some(Effect::FieldDeleted { key, field, was_last });
        }
        // If a user is named twice, the last counts.
        let written = plans.iter().filter_map(|plan| {
            let has = plan.units.as_ref()?.as_ref()?;
            let (user, value) = (plan.order.user.as_str(), OwnedStr::new(&has.write()));
            units.hash_set(user, value.as_str()).ok()?;
            Some((user, value))
        });
        fields_set(key, plans, written)
    }

    fn write_payment<'p>(&self, plan: &'p Plan<Name<'a>>) -> Option<Effect<'p>>
    where
        'a: 'p,
    {
        let (reference, payment) = plan.payment.as_ref()?;
        let key = self.managed_keys().ok()?.payments;
        let (field, value) = (reference.as_str(), OwnedStr::new(&payment.write()));
        if plan.again {
            return Some(Effect::FieldAgain { key, field, value });
        }
        let mut payments = self.opened().payments.writing()?;
        payments.hash_set(field, value.as_str()).ok()?;
        Some(Effect::FieldSet { key, field, value })
    }

    /// Deadlines are below 2^53, which a double holds exactly.
    fn write_holds<'p>(&self, plans: &'p [Plan<Name<'a>>]) -> Option<Effect<'p>>
    where
        'a: 'p,
    {
        let mut holds = self.opened().holds.writing()?;
        let key = self.managed_keys().ok()?.holds;
        if let [plan] = plans {
            let member = plan.order.id.as_str();
            return match plan.hold? {
                Hold::Place(score) | Hold::Move(score) => {
                    holds.zset_add(score as f64, member).ok()?;
                    Some(Effect::Scored { key, score, member })
                }
                Hold::Lift => holds.zset_rem(member).then(|| {
                    let was_last = holds.kind() == Kind::Empty;
                    Effect::Unscored { key, member, was_last }
                }),
            };
        }
        // Tries of one command, whose orders are held until the same moment.
        let mut until = None;
        let placed = plans.iter().filter_map(|plan| {
            let (Some(Hold::Place(score)), member) = (plan.hold, plan.order.id.as_str()) else {
                return None;
            };
            holds.zset_add(score as f64, member).ok()?;
            until = Some(score);
            Some(member)
        });
        let members: Vec<Str<'p>> = placed.collect();
        until.map(|score| Effect::AllScored { key, score, members })
    }

    /// An order that is only replicated once more, with its text. One is enough for all of them: a
    /// `WAIT` waits for whatever comes before it.
    fn read_again<'p>(&self, plans: &'p [Plan<Name<'a>>]) -> Option<Effect<'p>>
    where
        'a: 'p,
    {
        let key = self.managed_keys().ok()?.book;
        let mut again = plans.iter().filter(|plan| plan.again && plan.payment.is_none());
        again.find_map(|plan| {
            let value = self.entry_text(&plan.order.id).ok().flatten()?;
            Some(Effect::FieldAgain { key, field: plan.order.id.as_str(), value })
        })
    }

    /// Counts the units of an order beyond the first as held, or as no longer held. Replicated by
    /// the server.
    ///
    /// The key was seen to be an integer before, and is deleted when it would be 0. A sum that does
    /// not fit, of a key that somebody has edited, is left for SECKILL.AUDIT.
    fn count_extra(&self, by: i64, is_none_held: bool) {
        let Ok(keys) = self.managed_keys() else { return };
        let extra = || read_extra(self.ctx, keys).unwrap_or(0).saturating_add(by);
        if is_none_held || extra() <= 0 {
            // No order of several units is held.
            if rules::exists(self.ctx, keys.extra) {
                drop(Call::write_all(self.ctx, c"DEL", &[keys.extra]));
            }
        } else {
            drop(Call::write(self.ctx, c"INCRBY", keys.extra, decimal(by).as_str()));
        }
    }
}

/// The effect of fields that were set in a hash; of one plan in the shortest form.
fn fields_set<'p, N>(
    key: Str<'p>,
    plans: &[Plan<N>],
    mut written: impl Iterator<Item = (Str<'p>, OwnedStr)>,
) -> Option<Effect<'p>> {
    if plans.len() == 1 {
        return written.next().map(|(field, value)| Effect::FieldSet { key, field, value });
    }
    let fields: Vec<_> = written.collect();
    (!fields.is_empty()).then_some(Effect::FieldsSet { key, fields })
}
