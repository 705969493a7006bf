//! Applies plans by which orders get their units: of a try, of the first in the queue, and of the
//! tries of one command.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::apply::Applied;
use crate::keyspace::book::Extra;
use crate::keyspace::buyers::{self, Buyer};
use crate::keyspace::entries::{Entries, EntryText};
use crate::keyspace::names::Name;
use crate::keyspace::opened::Opened;
use crate::keyspace::orders::Added;
use crate::keyspace::sale::Sale;
use crate::server::{Call, OwnedStr, Str};
use crate::typed::User;
use domain::facts::Stream;
use domain::plan::{Admission, Change, Take};
use domain::rules::Millis;
use std::slice;

impl<'a> Sale<'a> {
    /// Asks at once which of these users of a batch are among the buyers.
    pub(crate) fn find_buyers(
        &self,
        users: impl Iterator<Item = Str<'a>> + Clone,
    ) -> Result<(), CommandError> {
        let key = self.sale_keys()?.buyers;
        let words: Vec<Str<'a>> = [key].into_iter().chain(users.clone()).collect();
        let have = Call::read(self.ctx, c"SMISMEMBER", &words)
            .map_err(|error| CommandError::of_call(error, "SMISMEMBER"))?;
        let bought = users.zip(have.integers()).filter(|(_, is_there)| *is_there == 1);
        let bought = bought.map(|(user, _)| Name::Given(user)).collect();
        *self.more().bought.borrow_mut() = Some(bought);
        Ok(())
    }

    /// Gives an order its units, after it has waited in the queue for so long.
    pub(super) fn take(
        &self,
        take: &Take<Name<'a>>,
        waited: Option<Millis>,
    ) -> Result<Applied, CommandError> {
        // Compiled by itself, without loops.
        self.take_each(slice::from_ref(take), waited)
    }

    /// Gives the tries of one command their units, each of which was decided as if those before it
    /// were applied. All of it, or, if the stream takes no more, the first of them. On an error
    /// nothing has been changed.
    ///
    /// They are written by as few plain commands as possible. Their entries differ in the user and
    /// the order id only.
    pub(crate) fn take_all(&self, takes: &[Take<Name<'a>>]) -> Result<Applied, CommandError> {
        self.take_each(takes, None)
    }

    #[inline(always)]
    fn take_each(
        &self,
        takes: &[Take<Name<'a>>],
        waited: Option<Millis>,
    ) -> Result<Applied, CommandError> {
        let Some(first) = takes.first() else { return Ok(Applied::All) };
        debug_assert!(takes.iter().all(|it| it.order.units == first.order.units));
        self.check_takes(takes, waited.is_some())?;
        let text = [self.text_of_take(first, waited, 1)];
        let mut entries = self.entries(first.booked.is_some(), text.first())?;
        let [text] = &text;
        let is_new = self.admit(takes)?;
        if !is_new && first.admit == Some(Admission::Ask) {
            return Ok(Applied::HasBought);
        }
        let (mut one, mut many) = ([None], Vec::new());
        let appended = if takes.len() == 1 {
            one.as_mut_slice()
        } else {
            many.resize(takes.len(), None);
            many.as_mut_slice()
        };
        let mut refused = None;
        for (number, (take, added)) in takes.iter().zip(&mut *appended).enumerate() {
            match self.add(Stream::Orders, entries.of(&take.order, text)) {
                Ok(entry) => *added = entry,
                Err(error) => {
                    self.close_streams();
                    refused = Some((number, error));
                    break;
                }
            }
        }
        let (written, rest) = takes.split_at(refused.map_or(takes.len(), |(count, _)| count));
        if refused.is_some() {
            if is_new {
                let admitted = rest.iter().filter(|take| take.admit.is_some());
                admitted.for_each(|take| self.dismiss(&take.order.user));
            }
            // More tries follow these, which must not buy again.
            if let Some(bought) = &mut *self.more().bought.borrow_mut() {
                bought.extend(written.iter().map(|take| take.order.user.clone()));
            }
        }
        if !written.is_empty() {
            let effects = self.write_takes(written, waited.is_some());
            self.publish_takes(written, effects, appended, &mut entries, text);
        }
        match refused {
            None => Ok(Applied::All),
            Some((0, error)) => Err(error),
            Some((count, error)) => Ok(Applied::First(count, error)),
        }
    }

    /// Refuses half of these: what they write must be open.
    #[inline(always)]
    pub(super) fn check_takes(
        &self,
        takes: &[Take<Name<'a>>],
        leaves_queue: bool,
    ) -> Result<(), CommandError> {
        let Some(booked) = takes.first().and_then(|take| take.booked.as_ref()) else {
            return Ok(());
        };
        self.check_open([true, true, booked.hold().is_some(), leaves_queue])
    }

    /// Adds the users who are to be buyers: the first write, and a question too. False if the only
    /// one is there already.
    #[inline(always)]
    pub(super) fn admit(&self, takes: &[Take<Name<'a>>]) -> Result<bool, CommandError> {
        let ctx = self.ctx;
        match takes {
            [take] if take.admit.is_none() => Ok(true),
            [take] => {
                Buyer::new(self.sale_keys()?.buyers, User(take.order.user.as_str())).admit(ctx)
            }
            takes => {
                let mut words = Vec::with_capacity(takes.len().saturating_add(1));
                words.push(self.sale_keys()?.buyers);
                let admitted = takes.iter().filter(|take| take.admit.is_some());
                words.extend(admitted.map(|take| take.order.user.as_str()));
                if words.len() > 1 {
                    buyers::admit_all(ctx, &words).map(|()| true)
                } else {
                    Ok(true)
                }
            }
        }
    }

    /// Writes what can't be refused any more, and closes the keys.
    #[inline(always)]
    pub(super) fn write_takes<'t>(
        &self,
        takes: &'t [Take<Name<'a>>],
        leaves_queue: bool,
    ) -> Written<'t>
    where
        'a: 't,
    {
        let mut stocks = takes.iter().filter_map(|take| take.stock);
        let stocks = stocks.next().map(|first| Change {
            before: first.before,
            after: stocks.next_back().unwrap_or(first).after,
        });
        let stock = self.change_stock(stocks);
        let is_managed = takes.first().is_some_and(|take| take.booked.is_some());
        let book = is_managed.then(|| {
            let (opened, keys) = (self.opened(), self.managed_keys().ok());
            let orders = keys.and_then(|keys| {
                set_fields(&opened.book, keys.book, takes, |take| {
                    Some((take.order.id.as_str(), take.booked.as_ref()?.entry.write()))
                })
            });
            let units = keys.and_then(|keys| {
                set_fields(&opened.units, keys.units, takes, |take| {
                    Some((take.order.user.as_str(), take.booked.as_ref()?.has.write()))
                })
            });
            let place = takes.first().filter(|_| leaves_queue);
            let place = place.and_then(|take| self.leave_queue(take.order.id.as_str()));
            [orders, units, self.place_holds(takes), place]
        });
        self.close();
        Written { stock, book }
    }

    /// Publishes what was written, and the entries that were appended before.
    #[inline(always)]
    pub(super) fn publish_takes<'t>(
        &self,
        takes: &'t [Take<Name<'a>>],
        written: Written<'_>,
        appended: &[Option<Added<'a>>],
        entries: &mut Entries<'t>,
        text: &'t EntryText<'_>,
    ) {
        let ctx = self.ctx;
        if let Some(stock) = written.stock {
            stock.publish(ctx);
        }
        for (take, added) in takes.iter().zip(appended) {
            if let Some(added) = added {
                added.effect(entries.of(&take.order, text)).publish(ctx);
            }
        }
        if let Some(effects) = written.book {
            for effect in effects.into_iter().flatten() {
                effect.publish(ctx);
            }
        }
        let booked = takes.iter().filter_map(|take| take.booked.as_ref());
        let more = booked.fold(Extra::default(), |more, booked| Extra {
            orders: more.orders.saturating_add(booked.extra()),
            users: more.users.saturating_add(booked.beyond_one),
        });
        self.count_extra(more, false);
    }

    /// Tries of one command are held until the same moment. Deadlines are below 2^53, which a
    /// double holds exactly.
    fn place_holds<'p>(&self, takes: &'p [Take<Name<'a>>]) -> Option<Effect<'p>>
    where
        'a: 'p,
    {
        let score = takes.first()?.booked.as_ref()?.hold()?;
        let mut holds = self.opened().holds.writing()?;
        let key = self.managed_keys().ok()?.holds;
        let mut placed = takes.iter().filter_map(|take| {
            let member = take.order.id.as_str();
            holds.zset_add(score as f64, member).ok().map(|()| member)
        });
        if takes.len() == 1 {
            return placed.next().map(|member| Effect::Scored { key, score, member });
        }
        let members: Vec<Str<'p>> = placed.collect();
        (!members.is_empty()).then_some(Effect::AllScored { key, score, members })
    }
}

/// What was written of tries, to be published.
#[must_use]
pub(super) struct Written<'t> {
    stock: Option<Effect<'t>>,
    /// Orders, units, holds and the place in the queue.
    book: Option<[Option<Effect<'t>>; 4]>,
}

/// Sets a field of a hash for each try. If one is named twice, the last counts. The effect of a
/// single one is in the shortest form.
#[inline(always)]
fn set_fields<'p, 'a: 'p>(
    hash: &Opened<'_>,
    key: Str<'p>,
    takes: &'p [Take<Name<'a>>],
    field_of: impl Fn(&'p Take<Name<'a>>) -> Option<(Str<'p>, Vec<u8>)>,
) -> Option<Effect<'p>> {
    let mut hash = hash.writing()?;
    let mut written = takes.iter().filter_map(|take| {
        let (field, value) = field_of(take)?;
        let value = OwnedStr::new(&value);
        hash.hash_set(field, value.as_str()).ok()?;
        Some((field, value))
    });
    if takes.len() == 1 {
        return written.next().map(|(field, value)| Effect::FieldSet { key, field, value });
    }
    let fields: Vec<_> = written.collect();
    (!fields.is_empty()).then_some(Effect::FieldsSet { key, fields })
}
