//! A try on a managed voucher, and the later states of its order.

use super::order::{ManagedValues, Order};
use super::release::{Booked, Release, Remaining, Targets};
use super::unmanaged::{Grant, Sale, take};
use crate::args::Args;
use crate::config;
use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::book::{self, OpenBook};
use crate::keyspace::buyers::Buyer;
use crate::keyspace::fields::{EntryNames, OrderFields};
use crate::keyspace::orders::Orders;
use crate::keyspace::presence::Reach;
use crate::keyspace::stock;
use crate::keyspace::voucher_keys::{ManagedKeys, VoucherKeys};
use crate::metrics;
use crate::reply::Reply;
use crate::server::{Access, Ctx, KeySpec, OwnedStr, Str};
use crate::typed::{OrderId, User, Voucher};
use domain::book::{Entry, Holding, State};
use domain::integer::Decimal;
use domain::managed::{Known, accepted, known, refuse, stock_after_return};
use domain::sale::{Outcome, Stock, Units};
use domain::terms::{MILLIS_MAX, Millis, SaleId, Terms, is_in_seconds};
use std::ffi::CStr;

/// The sale of a managed voucher, as found in one command.
#[derive(Clone, Copy)]
pub(crate) struct ManagedSale<'a> {
    pub(super) source: &'a VoucherKeys,
    pub(super) ctx: Ctx<'a>,
    pub(crate) keys: ManagedKeys<'a>,
    pub(super) names: &'a OrderFields,
    pub(super) terms: Terms,
    pub(super) now: Millis,
    reach: Reach,
}

impl<'a> ManagedSale<'a> {
    pub(crate) fn new(
        ctx: Ctx<'a>,
        keys: &'a VoucherKeys,
        terms: Terms,
    ) -> Result<Self, CommandError> {
        Ok(Self {
            source: keys,
            ctx,
            keys: keys.managed()?,
            names: keys.fields(),
            terms,
            now: ctx.now_ms(),
            reach: Reach::Whole,
        })
    }

    /// Is it the sale that a client names, if it names one?
    pub(super) fn is_meant(&self, sale: Option<SaleId>) -> bool {
        sale.is_none_or(|sale| self.terms.sale == Some(sale))
    }

    /// The sale's id as entries have it; None if the sale has none.
    pub(super) fn id_text(&self) -> Option<OwnedStr> {
        self.terms.sale.map(|sale| OwnedStr::new(Decimal::new(sale.get()).bytes()))
    }

    /// The sale, with the keys that are known to be on this node.
    pub(super) fn with_reach(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// Refuses an operation that touches keys which may be on another node.
    pub(super) fn check_whole(&self) -> Result<(), CommandError> {
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
            let mut again = Vec::new();
            let outcome = self.repeat(order, &mut again)?;
            self.replicate_again(again);
            return Ok(outcome);
        }
        let mut has = self.units_of(order.user)?;
        let mut refusal = refuse(&self.terms, self.now, has, order.units);
        if refusal == Some(Outcome::AlreadyBought) && self.settle(order.user)? {
            has = self.units_of(order.user)?;
            refusal = refuse(&self.terms, self.now, has, order.units);
        }
        if let Some(outcome) = refusal {
            return Ok(refused(outcome));
        }
        let left = match self.units_left(order.units)? {
            Some(left) => left,
            None => {
                self.check_whole()?;
                // Holds may be due. If they can't be released, the timer logs why.
                if !self.reap_if_due()? {
                    return Ok(sold_out());
                }
                let Some(left) = self.units_left(order.units)? else { return Ok(sold_out()) };
                // A released order may have been this user's.
                has = self.units_of(order.user)?;
                left
            }
        };
        self.accept(order, has, left)
    }

    /// Answers a try whose order id is in the book. If it is accepted again, its entry is put into
    /// `again`.
    pub(super) fn repeat<'o>(
        &self,
        order: &Order<'o>,
        again: &mut Vec<(Str<'o>, OwnedStr)>,
    ) -> Result<Outcome, CommandError> {
        let text = book::entry(self.ctx, self.keys, order.id)?.ok_or(CommandError::Garbled)?;
        let entry = Entry::parse(text.as_str().bytes())?;
        let outcome = match known(&entry, order.user.0.bytes(), order.units, self.now) {
            Known::Another => return Err(CommandError::OrderId),
            Known::Overdue => {
                self.check_whole()?;
                self.release(order.id, &entry, State::Expired)?;
                Outcome::Released
            }
            Known::Repeated(outcome) => outcome,
        };
        metrics::TRIES_REPEATED.count();
        if outcome == Outcome::Accepted {
            again.push((order.id.0, text));
        }
        Ok(outcome)
    }

    /// Replicates entries of the book as they are. The client that repeats a try may not know that
    /// the order was changed, and the replicas may not either: a `WAIT` after the repeat waits for
    /// these entries, and so for everything that was replicated before them.
    pub(super) fn replicate_again(&self, entries: Vec<(Str<'_>, OwnedStr)>) {
        if !entries.is_empty() {
            Effect::FieldsAgain { key: self.keys.book, fields: entries }.publish(self.ctx);
        }
    }

    /// The same for one order, by what the book says of it.
    pub(super) fn replicate_entry_again(&self, id: OrderId<'_>, text: Option<OwnedStr>) {
        self.replicate_again(text.into_iter().map(|text| (id.0, text)).collect());
    }

    /// How many units the user has.
    pub(super) fn units_of(&self, user: User<'_>) -> Result<i64, CommandError> {
        if !book::has_holding(self.ctx, self.keys, user)? {
            return Ok(0);
        }
        let text = book::holding(self.ctx, self.keys, user)?.ok_or(CommandError::Garbled)?;
        Ok(Holding::parse(text.as_str().bytes())?.units.get())
    }

    /// The stock after `units` are taken; None if it has fewer.
    fn units_left(&self, units: Units) -> Result<Option<i64>, CommandError> {
        let left = self.left()?.and_then(|left| left.checked_sub(units.get()));
        Ok(left.filter(|left| *left >= 0))
    }

    /// The stock; None if it is missing and a missing stock counts as sold out.
    pub(super) fn left(&self) -> Result<Option<i64>, CommandError> {
        match self.source.read_stock(self.ctx)? {
            Stock::Missing if config::policy().missing_is_sold_out => Ok(None),
            Stock::Missing => Err(CommandError::NoVoucher),
            Stock::Left(left) => Ok(Some(left)),
        }
    }

    fn accept(&self, order: &Order<'_>, has: i64, left: i64) -> Result<Outcome, CommandError> {
        let Self { ctx, keys, .. } = *self;
        let order = &Order { voucher: Voucher(keys.voucher), ..*order };
        let (state, deadline) = accepted(&self.terms, self.now);
        let held = if state == State::Held { order.units } else { Units::ONE };
        let mut book = OpenBook::open(ctx, keys, held)?;
        let stream = Orders::open_with_room(ctx, keys.sale.orders)?;
        let deadline_text = OwnedStr::new(Decimal::new(deadline).bytes());
        let id = self.id_text();
        let managed = ManagedValues {
            deadline: (state == State::Held).then(|| deadline_text.as_str()),
            sale: id.as_ref().map(OwnedStr::as_str),
        };
        // The first writes, as for an unmanaged voucher: the buyer, the entry, the stock. A user
        // who has units is among the buyers already.
        let buyer = Buyer::new(keys.sale.buyers, order.user);
        let is_new = has == 0 && buyer.admit(ctx)?;
        let sale = Sale { stock: keys.sale.stock, grant: Grant::of(left), stream };
        let names = EntryNames::configured(self.names);
        take(ctx, sale, names, order, managed).inspect_err(|_| {
            if is_new {
                buyer.dismiss(ctx);
            }
        })?;
        let user = order.user.0.bytes();
        let entry = Entry { state, units: order.units, deadline, reference: None, user };
        // Both fit: the limit, which bounds the sum, is an i64.
        let units = Units::new(has.saturating_add(order.units.get())).unwrap_or(order.units);
        let holding = Holding { units, order: order.id.0.bytes() };
        let entered = book.enter(order.id, &entry);
        let has = book.set_holding(order.user, Some(holding));
        let placed = match state {
            State::Held => book.place_hold(order.id, deadline),
            _ => None,
        };
        drop(book);
        publish(ctx, [entered, has, placed]);
        Ok(Outcome::Accepted)
    }

    /// Releases a live order: its units, and its user's right to buy. On an error nothing has been
    /// changed.
    pub(super) fn release(
        &self,
        id: OrderId<'_>,
        entry: &Entry<'_>,
        reason: State,
    ) -> Result<(), CommandError> {
        let user = OwnedStr::new(entry.user);
        self.prepare_release(User(user.as_str()), id, entry, reason)?.write()
    }

    /// Checks everything that could refuse the release of a live order of this user.
    pub(super) fn prepare_release<'b>(
        &'b self,
        user: User<'b>,
        id: OrderId<'b>,
        entry: &Entry<'_>,
        reason: State,
    ) -> Result<Release<'b>, CommandError> {
        let Self { ctx, keys, .. } = *self;
        let held = if entry.state == State::Held { entry.units } else { Units::ONE };
        let book = OpenBook::open(ctx, keys, held)?;
        Buyer::new(keys.sale.buyers, user).check_kind(ctx)?;
        let left = match stock::read(ctx, keys.sale.stock)? {
            Stock::Missing => None,
            Stock::Left(left) => {
                Some((left, stock_after_return(left, entry.units, self.terms.total)))
            }
        };
        let remaining = match book::holding(ctx, keys, user)? {
            None => Remaining::Unwritten,
            Some(text) => {
                let Holding { units, order } = Holding::parse(text.as_str().bytes())?;
                match Units::new(units.get().saturating_sub(entry.units.get())) {
                    None => Remaining::Nothing,
                    Some(units) => Remaining::Units(units, order.to_vec()),
                }
            }
        };
        let released = Orders::open_with_room(ctx, keys.released)?;
        let reference = entry.reference.map(OwnedStr::new);
        let sale = self.id_text();
        let booked = Some(Booked { book, state: entry.state, remaining, reference, sale });
        let (buyers, stock) = (keys.sale.buyers, keys.sale.stock);
        let order = Order { voucher: Voucher(keys.voucher), user, id, units: entry.units };
        let targets = Targets { buyers, stock, left, released, booked };
        Ok(Release::new(ctx, self.names, order, reason, targets))
    }
}

/// The key argument of commands that change a voucher: its name, for routing and access rules.
pub(super) const UPDATES_VOUCHER: &[KeySpec] =
    &[KeySpec { position: 1, access: Access::Update, notes: VOUCHER_NOTES }];

/// The key argument of commands that read a voucher.
pub(super) const READS_VOUCHER: &[KeySpec] =
    &[KeySpec { position: 1, access: Access::Look, notes: VOUCHER_NOTES }];

const VOUCHER_NOTES: &CStr = c"The voucher. Its keys are derived from it";

/// Reads `[BEGIN ms] [END ms] [LIMIT n] [HOLD ms]`, each at most once and in any order, and applies
/// them to `terms`. A value of 0 means none.
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
            "BEGIN" => terms.begin = bound(next_moment(&mut args, "begin")?),
            "END" => terms.end = bound(next_moment(&mut args, "end")?),
            "HOLD" => terms.hold = bound(args.next_integer("hold", 0..=MILLIS_MAX)?),
            _ => terms.limit = args.next_integer("limit", 1..=i64::MAX)?,
        }
    }
    Ok(terms.checked()?)
}

fn next_moment(args: &mut Args<'_>, argument: &'static str) -> Result<Millis, CommandError> {
    let moment = args.next_integer(argument, 0..=MILLIS_MAX)?;
    if is_in_seconds(moment) { Err(CommandError::Seconds { argument }) } else { Ok(moment) }
}

/// The deadline of a held order.
pub(super) fn deadline_of(entry: &Entry<'_>) -> Reply {
    Reply::integer_or_null((entry.state == State::Held).then_some(entry.deadline))
}

/// Counts a try that loses before the stock is looked at.
pub(super) fn refused(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::NotStarted => metrics::TRIES_NOT_STARTED.count(),
        Outcome::Ended => metrics::TRIES_ENDED.count(),
        _ => metrics::TRIES_ALREADY_BOUGHT.count(),
    }
    outcome
}

pub(super) fn sold_out() -> Outcome {
    metrics::TRIES_SOLD_OUT.count();
    Outcome::SoldOut
}

pub(super) fn publish<const N: usize>(ctx: Ctx<'_>, effects: [Option<Effect<'_>>; N]) {
    effects.into_iter().flatten().for_each(|effect| effect.publish(ctx));
}
