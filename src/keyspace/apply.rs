//! Applies plans: the one place where a sale's keys are written, and where that becomes effects.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::book::read_extra;
use crate::keyspace::buyers::{self, Buyer};
use crate::keyspace::fields::EntryValues;
use crate::keyspace::names::Name;
use crate::keyspace::orders::Added;
use crate::keyspace::sale::Sale;
use crate::keyspace::{rules, stock};
use crate::server::{Call, Kind, OwnedStr, Str};
use crate::typed::User;
use domain::facts::Stream;
use domain::integer::Decimal;
use domain::plan::{Admission, Append, Change, Hold, Plan, SalePlan};
use domain::rules::Millis;
use domain::sale::Units;

/// What came of plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    All,
    /// Nothing: the user of the only plan has bought before, which was not known until now.
    HasBought,
    /// So many of the first, and nothing of the next, for this reason.
    First(usize, CommandError),
}

/// An entry that was appended, with the texts that its fields are made of.
#[derive(Default)]
struct Entered<'a> {
    added: Option<Added<'a>>,
    units: Option<OwnedStr>,
    deadline: Option<OwnedStr>,
    reason: Option<OwnedStr>,
    was: Option<OwnedStr>,
    /// Of a dead letter, all that it says beside the entry.
    letter: Vec<OwnedStr>,
}

/// The texts that the entries of all plans share.
struct Shared<'a> {
    voucher: Str<'a>,
    sale: Option<OwnedStr>,
    deadline: Option<(Millis, OwnedStr)>,
}

fn decimal(number: i64) -> OwnedStr {
    OwnedStr::new(Decimal::new(number).bytes())
}

fn text(text: &Option<OwnedStr>) -> Option<Str<'_>> {
    text.as_ref().map(OwnedStr::as_str)
}

impl<'a> Sale<'a> {
    /// Applies plans, each of which was decided as if those before it were applied. All of it, or,
    /// if a stream takes no more, the first of them. On an error nothing has been changed.
    ///
    /// Several plans are written by as few plain commands as possible, in the order of a plan's
    /// fields.
    pub(crate) fn apply(&self, plans: &[Plan<Name<'a>>]) -> Result<Applied, CommandError> {
        let Some(first) = plans.first() else { return Ok(Applied::All) };
        let (mut one, mut many);
        let entered: &mut [[Entered<'a>; 2]] = if plans.len() == 1 {
            one = [Default::default()];
            &mut one
        } else {
            many = plans.iter().map(|_| Default::default()).collect::<Vec<_>>();
            &mut many
        };
        let shared = self.shared(first)?;
        let is_new = self.admit(plans)?;
        if !is_new && first.admit == Some(Admission::Ask) {
            return Ok(Applied::HasBought);
        }
        let refused = self.append_all(plans, entered, &shared);
        self.more().streams.replace([None, None]);
        let (written, rest) = plans.split_at(refused.map_or(plans.len(), |(count, _)| count));
        if is_new {
            let admitted = rest.iter().filter(|plan| plan.admit.is_some());
            admitted.for_each(|plan| self.dismiss(&plan.order.user));
        }
        if refused.is_some() {
            // More tries follow these.
            self.note_bought(written);
        }
        if !written.is_empty() {
            self.write(written, entered, &shared);
        }
        match refused {
            None => Ok(Applied::All),
            Some((0, error)) => Err(error),
            Some((count, error)) => Ok(Applied::First(count, error)),
        }
    }

    fn shared(&self, first: &Plan<Name<'a>>) -> Result<Shared<'a>, CommandError> {
        let deadline = first.appends.iter().flatten().find_map(|append| append.deadline);
        Ok(Shared {
            voucher: self.entry_voucher(first.sale.is_some())?,
            sale: first.sale.map(|sale| decimal(sale.get())),
            deadline: deadline.map(|deadline| (deadline, decimal(deadline))),
        })
    }

    /// Adds the users who are to be buyers: the first write, and a question too. False if the only
    /// one is there already.
    fn admit(&self, plans: &[Plan<Name<'a>>]) -> Result<bool, CommandError> {
        let ctx = self.ctx;
        match plans {
            [plan] if plan.admit.is_none() => Ok(true),
            [plan] => {
                Buyer::new(self.sale_keys()?.buyers, User(plan.order.user.as_str())).admit(ctx)
            }
            plans => {
                let admitted = plans.iter().filter(|plan| plan.admit.is_some());
                let mut users = admitted.map(|plan| plan.order.user.as_str()).peekable();
                if users.peek().is_some() {
                    buyers::admit_all(ctx, self.sale_keys()?.buyers, users)?;
                }
                Ok(true)
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
    fn append_all(
        &self,
        plans: &[Plan<Name<'a>>],
        entered: &mut [[Entered<'a>; 2]],
        shared: &Shared<'a>,
    ) -> Option<(usize, CommandError)> {
        for (number, (plan, entered)) in plans.iter().zip(entered).enumerate() {
            let mut appended = Ok(());
            for (append, entered) in plan.appends.iter().flatten().zip(entered.iter_mut()) {
                appended = appended.and_then(|()| self.append(plan, append, entered, shared));
            }
            if plan.acknowledge
                && let Some(rejected) = self.rejected
            {
                self.more().streams.replace([None, None]);
                appended = appended.and_then(|()| rejected.delivery.acknowledge(self.ctx));
            }
            if let Err(error) = appended {
                self.more().streams.replace([None, None]);
                self.take_back(plan, entered, shared);
                return Some((number, error));
            }
        }
        None
    }

    fn append(
        &self,
        plan: &Plan<Name<'a>>,
        append: &Append<Name<'a>>,
        entered: &mut Entered<'a>,
        shared: &Shared<'a>,
    ) -> Result<(), CommandError> {
        let units = plan.order.units;
        let word = |word: &str| OwnedStr::new(word.as_bytes());
        let is_shared = shared.deadline.as_ref().map(|(deadline, _)| *deadline) == append.deadline;
        let own_deadline = append.deadline.filter(|_| !is_shared);
        *entered = Entered {
            added: None,
            units: (units != Units::ONE).then(|| decimal(units.get())),
            deadline: own_deadline.map(decimal),
            reason: append.reason.map(|reason| word(reason.word())),
            was: append.was.map(|was| word(was.word())),
            letter: match (append.fate, self.rejected) {
                (Some(fate), Some(rejected)) => rejected.letter(fate, append.was),
                _ => Vec::new(),
            },
        };
        let mut streams = self.more().streams.borrow_mut();
        let stream = streams.iter_mut().flatten().find(|(stream, _)| *stream == append.stream);
        if let Some((_, stream)) = stream {
            let added =
                self.with_fields(plan, append, entered, shared, |fields| stream.add(fields));
            entered.added = Some(added?);
        }
        Ok(())
    }

    /// Works with the fields of an entry, names and values in turn.
    fn with_fields<R>(
        &self,
        plan: &Plan<Name<'a>>,
        append: &Append<Name<'a>>,
        entered: &Entered<'a>,
        shared: &Shared<'a>,
        work: impl FnOnce(&[Str<'_>]) -> R,
    ) -> R {
        if let (Stream::DeadLetters, Some(rejected)) = (append.stream, self.rejected) {
            // Ours are always the last.
            let own = entered.letter.iter().map(OwnedStr::as_str);
            return work(&rejected.entry.iter().copied().chain(own).collect::<Vec<_>>());
        }
        let (names, order) = (self.entry_names(), &plan.order);
        let (user, voucher, id) = (order.user.as_str(), shared.voucher, order.id.as_str());
        if shared.sale.is_none() && entered.units.is_none() && entered.reason.is_none() {
            // As most orders of unmanaged vouchers.
            return work(&names.plain_entry([user, voucher, id]));
        }
        let shared_deadline = shared.deadline.as_ref().filter(|_| append.deadline.is_some());
        let deadline = text(&entered.deadline);
        let values = EntryValues {
            user,
            voucher,
            id,
            units: text(&entered.units),
            deadline: deadline.or(shared_deadline.map(|(_, text)| text.as_str())),
            sale: text(&shared.sale),
            reference: append.reference.as_ref().map(Name::as_str),
            reason: text(&entered.reason),
            was: text(&entered.was),
        };
        work(names.entry(&values).as_slice())
    }

    /// Deletes the entries of a plan again, because a later step was refused.
    fn take_back(
        &self,
        plan: &Plan<Name<'a>>,
        entered: &mut [Entered<'a>; 2],
        shared: &Shared<'a>,
    ) {
        for (append, entered) in plan.appends.iter().flatten().zip(entered) {
            if let Some(added) = entered.added.take() {
                let back = |fields: &[Str<'_>]| added.take_back(self.ctx, fields);
                self.with_fields(plan, append, entered, shared, back);
            }
        }
    }

    /// Writes what can't be refused any more, closes the keys, and publishes.
    fn write(&self, plans: &[Plan<Name<'a>>], entered: &[[Entered<'a>; 2]], shared: &Shared<'a>) {
        let ctx = self.ctx;
        let mut stocks = plans.iter().filter_map(|plan| plan.stock);
        let stocks = stocks.next().map(|first| Change {
            before: first.before,
            after: stocks.next_back().unwrap_or(first).after,
        });
        let stock = self.sale_keys().ok().zip(stocks);
        let stock = stock.and_then(|(keys, change)| stock::change(ctx, keys.stock, change));
        let orders = self.write_orders(plans);
        let units = self.write_units(plans);
        let holds = self.write_holds(plans);
        let again = self.read_again(plans);
        let is_none_held = matches!(holds, Some(Effect::Unscored { was_last: true, .. }));
        self.close();
        if let Some(stock) = stock {
            stock.publish(ctx);
        }
        for (plan, entered) in plans.iter().zip(entered) {
            for (append, entered) in plan.appends.iter().flatten().zip(entered) {
                if let Some(added) = entered.added {
                    self.with_fields(plan, append, entered, shared, |fields| {
                        added.effect(fields).publish(ctx);
                    });
                }
            }
        }
        for effect in [orders, units, holds, again].into_iter().flatten() {
            effect.publish(ctx);
        }
        for plan in plans {
            if plan.dismiss {
                self.dismiss(&plan.order.user);
            }
            self.count_extra(plan, is_none_held);
        }
    }

    fn write_orders<'p>(&self, plans: &'p [Plan<Name<'a>>]) -> Option<Effect<'p>>
    where
        'a: 'p,
    {
        let mut book = self.more().book.writing()?;
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
        let mut units = self.more().units.writing()?;
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

    /// Deadlines are below 2^53, which a double holds exactly.
    fn write_holds<'p>(&self, plans: &'p [Plan<Name<'a>>]) -> Option<Effect<'p>>
    where
        'a: 'p,
    {
        let mut holds = self.more().holds.writing()?;
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

    /// The orders that are only replicated once more, with their texts.
    fn read_again<'p>(&self, plans: &'p [Plan<Name<'a>>]) -> Option<Effect<'p>>
    where
        'a: 'p,
    {
        let again = plans.iter().filter(|plan| plan.again);
        let texts = again.filter_map(|plan| {
            let text = self.entry_text(&plan.order.id).ok().flatten()?;
            Some((plan.order.id.as_str(), text))
        });
        let fields: Vec<_> = texts.collect();
        let key = self.managed_keys().ok().filter(|_| !fields.is_empty())?.book;
        Some(Effect::FieldsAgain { key, fields })
    }

    /// Counts the units of an order beyond the first as held, or as no longer held. Replicated by
    /// the server.
    ///
    /// The key was seen to be an integer before, and is deleted when it would be 0. A sum that does
    /// not fit, of a key that somebody has edited, is left for SECKILL.AUDIT.
    fn count_extra(&self, plan: &Plan<Name<'a>>, is_none_held: bool) {
        let more = plan.order.units.get().saturating_sub(1);
        let by = match plan.hold {
            Some(Hold::Place(_)) => more,
            Some(Hold::Lift) => more.saturating_neg(),
            _ => return,
        };
        let Ok(keys) = self.managed_keys() else { return };
        let extra = || read_extra(self.ctx, keys).unwrap_or(0).saturating_add(by);
        if is_none_held || by != 0 && extra() <= 0 {
            // No order of several units is held.
            if rules::exists(self.ctx, keys.extra) {
                drop(Call::write_all(self.ctx, c"DEL", &[keys.extra]));
            }
        } else if by != 0 {
            drop(Call::write(self.ctx, c"INCRBY", keys.extra, decimal(by).as_str()));
        }
    }

    /// Writes what is decided about the sale as a whole. True if keys were deleted. On an error
    /// nothing has been changed.
    pub(crate) fn apply_to_all(&self, plan: &SalePlan) -> Result<bool, CommandError> {
        let (ctx, keys) = (self.ctx, self.managed_keys()?);
        self.close();
        if let Some(rules) = &plan.rules {
            rules::write(ctx, keys.rules, rules)?;
        }
        if let Some(units) = plan.new_stock {
            // A plain SET of a missing key: it succeeds as the first has.
            stock::create(ctx, keys.sale.stock, units)?;
        }
        if let Some(effect) =
            plan.stock.and_then(|change| stock::change(ctx, keys.sale.stock, change))
        {
            effect.publish(ctx);
        }
        if !plan.delete {
            return Ok(false);
        }
        rules::check_primary(ctx)?;
        match Call::write_all(ctx, c"UNLINK", &keys.own()) {
            Ok(unlinked) => Ok(unlinked.integer() > 0),
            Err(error) => Err(CommandError::of_call(error, "UNLINK")),
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
