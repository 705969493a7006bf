//! A try on a managed voucher, and what becomes of its order afterwards.

use super::give_back::{Booked, GiveBack, Places, Rest};
use super::unmanaged::{Grant, Order, Sale, take};
use crate::args::{Args, OrderId, User, Voucher as VoucherName};
use crate::config;
use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::book::{self, OpenBook};
use crate::keyspace::buyers::Buyer;
use crate::keyspace::fields::OrderFields;
use crate::keyspace::names::{ManagedKeys, Reach, VoucherKeys};
use crate::keyspace::orders::Orders;
use crate::keyspace::stock;
use crate::keyspace::terms;
use crate::metrics;
use crate::reply::Reply;
use domain::book::{Entry, Holding, State};
use domain::integer::Decimal;
use domain::managed::{Known, accepted, known, refuse, stock_after_return};
use domain::sale::{Outcome, Stock, Units};
use domain::terms::{MILLIS_MAX, Millis, Terms};
use crate::server::{Access, Ctx, KeySpec, OwnedStr, Str};
use std::ffi::CStr;

/// How many due holds a try gives back before it says that all is sold out. Bounds its time; the
/// timer takes the rest.
const REAPED_BY_A_TRY_MAX: usize = 100;

/// How long tries leave holds alone that could not be given back.
const REAPING_RESTS_MS: Millis = 100;

/// A managed voucher, as found in one command.
#[derive(Clone, Copy)]
pub(crate) struct Voucher<'a> {
    source: &'a VoucherKeys,
    pub(super) ctx: Ctx<'a>,
    pub(crate) keys: ManagedKeys<'a>,
    pub(super) names: &'a OrderFields,
    pub(super) terms: Terms,
    pub(super) now: Millis,
    /// The voucher's own name, for the entries of streams.
    pub(super) voucher: Str<'a>,
    reach: Reach,
}

impl<'a> Voucher<'a> {
    pub(crate) fn new(
        ctx: Ctx<'a>,
        keys: &'a VoucherKeys,
        voucher: VoucherName<'a>,
        terms: Terms,
    ) -> Result<Self, CommandError> {
        Ok(Self {
            source: keys,
            ctx,
            keys: keys.managed()?,
            names: keys.fields(),
            terms,
            now: ctx.now_ms(),
            voucher: voucher.0,
            reach: Reach::Whole,
        })
    }

    /// The voucher, of which only so much is known to be here.
    pub(super) fn within(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// Refuses to give back what may touch keys that are not here.
    fn check_whole(&self) -> Result<(), CommandError> {
        match self.reach {
            Reach::Whole => Ok(()),
            Reach::Sale => Err(CommandError::TryAgain),
        }
    }

    /// Sells to the order's user, or says why not. On an error nothing has been changed.
    ///
    /// Outcomes by precedence: a known order id, the window, the limit, the stock.
    pub(super) fn sell(&self, order: &Order<'_>) -> Result<Outcome, CommandError> {
        if book::has_entry(self.ctx, self.keys, order.id)? {
            return self.repeat(order);
        }
        let mut has = self.units_of(order.user)?;
        if let Some(outcome) = refuse(&self.terms, self.now, has, order.units) {
            match outcome {
                Outcome::NotStarted => metrics::TRIES_NOT_STARTED.count(),
                Outcome::Ended => metrics::TRIES_ENDED.count(),
                _ => metrics::TRIES_ALREADY_BOUGHT.count(),
            }
            return Ok(outcome);
        }
        let left = match self.units_left(order.units)? {
            Some(left) => left,
            None => {
                self.check_whole()?;
                // What is only held may be due to come back. If it can't, the timer complains.
                if !self.reap_if_due() {
                    return Ok(sold_out());
                }
                let Some(left) = self.units_left(order.units)? else { return Ok(sold_out()) };
                // What came back may have been this user's.
                has = self.units_of(order.user)?;
                left
            }
        };
        self.accept(order, has, left)
    }

    /// Answers a try whose order id is in the book.
    fn repeat(&self, order: &Order<'_>) -> Result<Outcome, CommandError> {
        let text = book::entry(self.ctx, self.keys, order.id)?.ok_or(CommandError::Garbled)?;
        let entry = Entry::parse(text.as_str().bytes())?;
        match known(&entry, order.user.0.bytes(), self.now) {
            Known::NotYours => Err(CommandError::OrderId),
            Known::Overdue => {
                self.check_whole()?;
                self.give_back(order.id, &entry, State::Expired)?;
                metrics::TRIES_REPEATED.count();
                Ok(Outcome::Released)
            }
            Known::Repeated(outcome) => {
                metrics::TRIES_REPEATED.count();
                Ok(outcome)
            }
        }
    }

    /// How many units the user has.
    fn units_of(&self, user: User<'_>) -> Result<i64, CommandError> {
        if !book::has_holding(self.ctx, self.keys, user)? {
            return Ok(0);
        }
        let text = book::holding(self.ctx, self.keys, user)?.ok_or(CommandError::Garbled)?;
        Ok(Holding::parse(text.as_str().bytes())?.units.get())
    }

    /// What the stock would be after `units` are taken; none when there are not so many.
    fn units_left(&self, units: Units) -> Result<Option<i64>, CommandError> {
        match stock::read(self.ctx, self.keys.sale.stock)? {
            Stock::Missing if config::policy().missing_is_sold_out => Ok(None),
            Stock::Missing => Err(CommandError::NoVoucher),
            Stock::Left(left) => Ok(left.checked_sub(units.get()).filter(|left| *left >= 0)),
        }
    }

    fn accept(&self, order: &Order<'_>, has: i64, left: i64) -> Result<Outcome, CommandError> {
        let Self { ctx, keys, .. } = *self;
        order.check_fits()?;
        let mut book = OpenBook::open(ctx, keys)?;
        let stream = keys.sale.orders.map(|key| Orders::open(ctx, key)).transpose()?;
        if let Some(stream) = &stream {
            stream.check_room(ctx)?;
        }
        let (state, deadline) = accepted(&self.terms, self.now);
        let deadline_text = OwnedStr::new(Decimal::new(deadline).bytes());
        let deadline_text = (state == State::Held).then(|| deadline_text.as_str());
        // The first writes, as for an unmanaged voucher: who buys, the entry, the stock. A user
        // who has units is among the buyers already.
        let buyer = Buyer::new(keys.sale.buyers, order.user);
        let is_new = has == 0 && buyer.admit(ctx)?;
        let sale = Sale { stock: keys.sale.stock, grant: Grant::of(left), stream };
        take(ctx, sale, self.names, order, deadline_text).inspect_err(|_| {
            if is_new {
                buyer.dismiss(ctx);
            }
        })?;
        let entry = Entry { state, units: order.units, deadline, user: order.user.0.bytes() };
        // Both fit: the limit, which bounds the sum, is an i64.
        let units = Units::new(has.saturating_add(order.units.get())).unwrap_or(order.units);
        let holding = Holding { units, order: order.id.0.bytes() };
        let entered = book.enter(order.id, &entry);
        let held = book.set_holding(order.user, Some(holding));
        let placed = match state {
            State::Held => book.place_hold(order.id, deadline),
            _ => None,
        };
        drop(book);
        publish(ctx, [entered, held, placed]);
        Ok(Outcome::Accepted)
    }

    /// Makes a held order sold.
    pub(super) fn confirm(&self, id: OrderId<'_>, entry: &Entry<'_>) -> Result<(), CommandError> {
        let Self { ctx, keys, .. } = *self;
        let mut book = OpenBook::open(ctx, keys)?;
        let sold = Entry { state: State::Sold, deadline: 0, ..*entry };
        let entered = book.enter(id, &sold);
        let lifted = book.lift_hold(id);
        drop(book);
        publish(ctx, [entered, lifted]);
        metrics::ORDERS_CONFIRMED.count();
        Ok(())
    }

    /// Gives a live order's units and its user's right to buy back. On an error nothing has been
    /// changed.
    pub(super) fn give_back(
        &self,
        id: OrderId<'_>,
        entry: &Entry<'_>,
        reason: State,
    ) -> Result<(), CommandError> {
        let user = OwnedStr::new(entry.user);
        self.look(User(user.as_str()), id, entry, reason)?.write()
    }

    /// Looks at everything that could refuse to give a live order of this user back.
    pub(super) fn look<'b>(
        &'b self,
        user: User<'b>,
        id: OrderId<'b>,
        entry: &Entry<'_>,
        reason: State,
    ) -> Result<GiveBack<'b>, CommandError> {
        let Self { ctx, keys, .. } = *self;
        let book = OpenBook::open(ctx, keys)?;
        Buyer::new(keys.sale.buyers, user).check_kind(ctx)?;
        let left = match stock::read(ctx, keys.sale.stock)? {
            Stock::Missing => None,
            Stock::Left(left) => {
                Some((left, stock_after_return(left, entry.units, self.terms.total)))
            }
        };
        let rest = match book::holding(ctx, keys, user)? {
            None => Rest::Unwritten,
            Some(text) => {
                let Holding { units, order } = Holding::parse(text.as_str().bytes())?;
                match Units::new(units.get().saturating_sub(entry.units.get())) {
                    None => Rest::Nothing,
                    Some(units) => Rest::Units(units, order.to_vec()),
                }
            }
        };
        let released = keys.released.map(|key| Orders::open(ctx, key)).transpose()?;
        if let Some(released) = &released {
            released.check_room(ctx)?;
        }
        let booked = Some(Booked { book, state: entry.state, rest });
        let (buyers, stock) = (keys.sale.buyers, keys.sale.stock);
        let order = Order { voucher: VoucherName(self.voucher), user, id, units: entry.units };
        let places = Places { buyers, stock, left, released, booked };
        Ok(GiveBack::new(ctx, self.names, order, reason, places))
    }

    /// Gives back what is due, if anything may be. False when the stock is what it was.
    fn reap_if_due(&self) -> bool {
        let db = self.ctx.selected_db();
        if self.source.is_none_due(db, self.now) {
            return false;
        }
        let none_before = match self.reap(REAPED_BY_A_TRY_MAX) {
            Ok(0) => {
                let first = book::first_hold(self.ctx, self.keys.holds);
                first.map_or(Millis::MAX, |(deadline, _)| deadline)
            }
            Ok(_) => return true,
            // Not every loser shall find out again that nothing can be given back.
            Err(_) => self.now.saturating_add(REAPING_RESTS_MS),
        };
        self.source.set_none_due(db, none_before);
        false
    }

    /// Gives back at most `most` held orders whose deadline has passed, the earliest first. How
    /// many it took from the holds.
    ///
    /// An order that can't be given back stays and does not stop those behind it. The error is that
    /// of the first, when none could be.
    pub(crate) fn reap(&self, most: usize) -> Result<usize, CommandError> {
        let due = book::due(self.ctx, self.keys, self.now, most)?;
        let (mut taken, mut refused) = (0usize, None);
        for id in &due {
            match self.reap_one(OrderId(id.as_str())) {
                Ok(()) => taken = taken.saturating_add(1),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        match refused {
            Some(error) if taken == 0 => Err(error),
            _ => Ok(taken),
        }
    }

    fn reap_one(&self, id: OrderId<'_>) -> Result<(), CommandError> {
        let Self { ctx, keys, .. } = *self;
        let text = book::entry(ctx, keys, id)?;
        match text.as_ref().map(|text| Entry::parse(text.as_str().bytes())) {
            Some(Ok(entry)) if entry.state == State::Held => {
                self.give_back(id, &entry, State::Expired)
            }
            // The whole book is away, and may come back: RENAME, or RESTORE of key after key.
            None if !terms::exists(ctx, keys.book) => Err(CommandError::Garbled),
            // Somebody wrote the holds by hand. What is no held order has no units to return.
            _ => {
                let lifted = OpenBook::open(ctx, keys)?.lift_hold(id);
                publish(ctx, [lifted]);
                Ok(())
            }
        }
    }
}

/// What the commands that change a voucher declare: its name, as the key to route and check by.
pub(super) const UPDATES_VOUCHER: &[KeySpec] =
    &[KeySpec { position: 1, access: Access::Update, notes: VOUCHER_NOTES }];

/// What the commands that read a voucher declare.
pub(super) const READS_VOUCHER: &[KeySpec] =
    &[KeySpec { position: 1, access: Access::Look, notes: VOUCHER_NOTES }];

const VOUCHER_NOTES: &CStr = c"The voucher. Its keys are derived from it";

/// Reads `[BEGIN ms] [END ms] [LIMIT n] [HOLD ms]`, each at most once and in any order, over
/// `terms`. A moment or a span of 0 is none.
pub(super) fn terms_from(mut args: Args<'_>, mut terms: Terms) -> Result<Terms, CommandError> {
    let mut seen = Vec::new();
    while !args.is_empty() {
        let word = args.next_word(&["BEGIN", "END", "LIMIT", "HOLD"])?;
        if seen.contains(&word) {
            return Err(CommandError::Syntax);
        }
        seen.push(word);
        let bound = |value: i64| (value != 0).then_some(value);
        match word {
            "BEGIN" => terms.begin = bound(args.next_integer("begin", 0..=MILLIS_MAX)?),
            "END" => terms.end = bound(args.next_integer("end", 0..=MILLIS_MAX)?),
            "HOLD" => terms.hold = bound(args.next_integer("hold", 0..=MILLIS_MAX)?),
            _ => terms.limit = args.next_integer("limit", 1..=i64::MAX)?,
        }
    }
    Ok(terms.checked()?)
}

/// The deadline of a held order.
pub(super) fn deadline_of(entry: &Entry<'_>) -> Reply {
    Reply::integer_or_null((entry.state == State::Held).then_some(entry.deadline))
}

fn sold_out() -> Outcome {
    metrics::TRIES_SOLD_OUT.count();
    Outcome::SoldOut
}

fn publish<const N: usize>(ctx: Ctx<'_>, effects: [Option<Effect<'_>>; N]) {
    effects.into_iter().flatten().for_each(|effect| effect.publish(ctx));
}
