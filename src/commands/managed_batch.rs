//! Tries of one command on a managed voucher.
//!
//! Accepted orders are written when the command ends, or before an overdue hold is released, since
//! a release reads the keys.

use super::batch::{Accepted, Answer, Batch};
use super::managed::{ManagedSale, publish, refused, sold_out};
use super::order::{ManagedValues, Order};
use super::overdue::DueOrder;
use crate::error::CommandError;
use crate::keyspace::book::{self, OpenBook, ReadBook};
use crate::keyspace::buyers::Buyer;
use crate::metrics;
use crate::server::{OwnedStr, Str};
use crate::typed::{User, Voucher};
use domain::batch::Pending;
use domain::book::{Entry, Holding, State};
use domain::integer::Decimal;
use domain::managed::{Known, accepted, known, refuse};
use domain::sale::{Outcome, Units};
use domain::terms::Millis;

/// How many overdue orders one batch releases before it leaves them to the timer. Bounds its time.
const RELEASES_MAX: usize = 100;

/// The tries of one command so far.
struct Tries<'a> {
    sale: ManagedSale<'a>,
    state: State,
    deadline: Millis,
    managed: ManagedValues<'a>,
    answers: Vec<Answer>,
    /// What the keys hold: opened and read when first needed, and again after a write.
    book: Option<ReadBook<'a>>,
    left: Option<Option<i64>>,
    /// What is accepted but not yet written to the keys.
    pending: Pending<'a>,
    writes: Option<Writes<'a>>,
    /// Entries of the book that were requested again.
    again: Vec<(Str<'a>, OwnedStr)>,
    /// Orders that are due, once they were looked up.
    due: Option<Vec<DueOrder>>,
    has_written: bool,
    has_reaped: bool,
    releases_left: usize,
}

/// The keys that accepted orders are written to.
struct Writes<'a> {
    book: OpenBook<'a>,
    accepted: Accepted<'a>,
    /// Whether the buyers are known to accept another member.
    takes_buyers: bool,
}

/// Sells one unit to each of many users, or says why not. On an error nothing has been changed.
pub(super) fn sell<'a>(
    sale: ManagedSale<'a>,
    batch: &'a Batch<'a>,
) -> Result<Vec<Answer>, CommandError> {
    let (state, deadline) = accepted(&sale.terms, sale.now);
    let text = OwnedStr::new(Decimal::new(deadline).bytes());
    let sale_text = sale.id_text();
    let mut tries = Tries {
        sale,
        state,
        deadline,
        managed: ManagedValues {
            deadline: (state == State::Held).then(|| text.as_str()),
            sale: sale_text.as_ref().map(OwnedStr::as_str),
        },
        answers: Vec::with_capacity(batch.len()),
        book: None,
        left: None,
        pending: Pending::of(batch.len()),
        writes: None,
        again: Vec::new(),
        due: None,
        has_written: false,
        has_reaped: false,
        releases_left: RELEASES_MAX,
    };
    for (number, order) in batch.orders().enumerate() {
        let answer = match tries.decide(order) {
            Ok(answer) => answer,
            Err(error) if tries.has_changed() => Err(error),
            Err(error) => return Err(error),
        };
        batch.answered(number, answer);
        tries.answers.push(answer);
    }
    tries.write()?;
    sale.replicate_again(tries.again);
    Ok(tries.answers)
}

impl<'a> Tries<'a> {
    /// Was anything changed, even if only by an entry that is not published yet?
    fn has_changed(&self) -> bool {
        self.has_written || self.writes.as_ref().is_some_and(|writes| !writes.accepted.is_empty())
    }

    /// Answers the next try. The outer error is that of the keys, which all tries share.
    ///
    /// Outcomes by precedence, as for one try: a known order id, the window, the limit, the stock.
    fn decide(&mut self, order: Order<'a>) -> Result<Answer, CommandError> {
        if let Err(error) = order.check_lens() {
            return Ok(Err(error));
        }
        let (user, id) = (order.user.0.bytes(), order.id.0.bytes());
        match self.pending.known(id, user) {
            Some(Known::Another) => return Ok(Err(CommandError::OrderId)),
            Some(_) => {
                metrics::TRIES_REPEATED.count();
                return Ok(Ok(Outcome::Accepted));
            }
            None => {}
        }
        if self.book().has_entry(order.id)? {
            return self.repeat(&order);
        }
        let mut has = match self.units_of(&order) {
            Err(CommandError::Garbled) => return Ok(Err(CommandError::Garbled)),
            has => has?,
        };
        let mut refusal = refuse(&self.sale.terms, self.sale.now, has, order.units);
        if refusal == Some(Outcome::AlreadyBought) {
            match self.settle(order.user)? {
                Err(error) => return Ok(Err(error)),
                Ok(true) => has = self.units_of(&order)?,
                Ok(false) => {}
            }
            refusal = refuse(&self.sale.terms, self.sale.now, has, order.units);
        }
        if let Some(outcome) = refusal {
            return Ok(Ok(refused(outcome)));
        }
        if self.after_next()?.is_none() {
            if let Err(error) = self.sale.check_whole() {
                return Ok(Err(error));
            }
            // What is held may be due.
            if !self.reap()? || self.after_next()?.is_none() {
                return Ok(Ok(sold_out()));
            }
            // What was released may have been this user's.
            has = match self.units_of(&order) {
                Err(CommandError::Garbled) => return Ok(Err(CommandError::Garbled)),
                has => has?,
            };
        }
        self.accept(order, has)
    }

    /// Answers a try whose order id is in the book.
    fn repeat(&mut self, order: &Order<'a>) -> Result<Answer, CommandError> {
        let ManagedSale { ctx, keys, now, .. } = self.sale;
        let text = book::entry(ctx, keys, order.id)?;
        let entry = text.as_ref().map(|text| Entry::parse(text.as_str().bytes()));
        let Some(Ok(entry)) = entry else { return Ok(Err(CommandError::Garbled)) };
        if known(&entry, order.user.0.bytes(), order.units, now) != Known::Overdue {
            return Ok(self.sale.repeat(order, &mut self.again));
        }
        let Some(releases_left) = self.releases_left.checked_sub(1) else {
            // The order can change no more, except by its release.
            metrics::TRIES_REPEATED.count();
            return Ok(Ok(Outcome::Released));
        };
        self.releases_left = releases_left;
        self.write()?;
        self.look_again();
        let answer = self.sale.repeat(order, &mut self.again);
        self.has_written |= answer.is_ok();
        Ok(answer)
    }

    /// As for one try: releases the overdue orders of a user. False if their units did not change.
    /// The inner error concerns this try only.
    fn settle(&mut self, user: User<'a>) -> Result<Result<bool, CommandError>, CommandError> {
        let mut ids = match self.sale.overdue_of(user, &mut self.due) {
            Err(error) => return Ok(Err(error)),
            Ok(ids) => ids,
        };
        ids.truncate(self.releases_left);
        if ids.is_empty() {
            return Ok(Ok(false));
        }
        if let Err(error) = self.sale.check_whole() {
            return Ok(Err(error));
        }
        self.releases_left = self.releases_left.saturating_sub(ids.len());
        self.write()?;
        self.look_again();
        let has_released = self.sale.expire(&ids) > 0;
        self.has_written |= has_released;
        Ok(Ok(has_released))
    }

    /// Releases what is due, if anything may be; once per command.
    fn reap(&mut self) -> Result<bool, CommandError> {
        if self.has_reaped {
            return Ok(false);
        }
        self.has_reaped = true;
        self.write()?;
        self.look_again();
        let has_released = self.sale.reap_if_due()?;
        self.has_written |= has_released;
        Ok(has_released)
    }

    fn accept(&mut self, order: Order<'a>, has: i64) -> Result<Answer, CommandError> {
        let writes = match &mut self.writes {
            Some(writes) => writes,
            None => {
                let writes = self.open()?;
                self.writes.insert(writes)
            }
        };
        // A user without units is added to the buyers after the entries. Whatever would refuse that
        // write also refuses this read, and only tries that need it make it.
        if has == 0 && !writes.takes_buyers {
            let ManagedSale { ctx, keys, .. } = self.sale;
            if let Err(error) = Buyer::new(keys.sale.buyers, order.user).has_bought(ctx) {
                // One try asks the stream first, and those before this one may have filled it.
                return Ok(Err(writes.accepted.check_room().err().unwrap_or(error)));
            }
            writes.takes_buyers = true;
        }
        let order = Order { voucher: Voucher(self.sale.keys.voucher), ..order };
        writes.accepted.add(order, self.answers.len(), has)?;
        self.pending.enter(order.user.0.bytes(), order.id.0.bytes());
        Ok(Ok(Outcome::Accepted))
    }

    /// Opens everything that accepted orders are written to; an error when it can't be.
    fn open(&self) -> Result<Writes<'a>, CommandError> {
        let ManagedSale { ctx, keys, names, .. } = self.sale;
        let book = OpenBook::open(ctx, keys, Units::ONE)?;
        let accepted = Accepted::open(ctx, keys.sale, names, self.managed)?;
        Ok(Writes { book, accepted, takes_buyers: false })
    }

    /// Writes what is accepted so far. On an error nothing has been changed by this command.
    fn write(&mut self) -> Result<(), CommandError> {
        let Some(Writes { mut book, accepted, .. }) = self.writes.take() else { return Ok(()) };
        let left = self.left.flatten().and_then(|left| self.pending.after_all(left));
        self.look_again();
        self.pending.clear();
        let orders = match accepted.write(left) {
            Ok(orders) => orders,
            Err(refused) if !self.has_written => return Err(refused.error),
            Err(refused) => {
                for number in refused.numbers {
                    if let Some(answer) = self.answers.get_mut(number) {
                        *answer = Err(refused.error);
                    }
                }
                return Ok(());
            }
        };
        self.has_written |= !orders.is_empty();
        let (state, deadline) = (self.state, self.deadline);
        let entered = book.enter_all(orders.iter().map(|made| {
            let user = made.order.user.0.bytes();
            (made.order.id, Entry { state, units: Units::ONE, deadline, reference: None, user })
        }));
        let held = book.set_holdings(orders.iter().map(|made| {
            // It fits: the limit, which bounds the sum, is an i64.
            let units = Units::new(made.has.saturating_add(1)).unwrap_or(Units::ONE);
            (made.order.user, Holding { units, order: made.order.id.0.bytes() })
        }));
        let placed = match state {
            State::Held => book.place_holds(orders.iter().map(|made| made.order.id), deadline),
            _ => None,
        };
        drop(book);
        publish(self.sale.ctx, [entered, held, placed]);
        Ok(())
    }

    /// What was read from the keys is outdated.
    fn look_again(&mut self) {
        self.book = None;
        self.left = None;
    }

    fn book(&mut self) -> &ReadBook<'a> {
        let ManagedSale { ctx, keys, .. } = self.sale;
        self.book.get_or_insert_with(|| ReadBook::open(ctx, keys))
    }

    /// How many units the user has.
    fn units_of(&mut self, order: &Order<'a>) -> Result<i64, CommandError> {
        let written = match self.book().has_holding(order.user)? {
            false => 0,
            true => self.sale.units_of(order.user)?,
        };
        Ok(written.saturating_add(self.pending.units_of(order.user.0.bytes())))
    }

    /// The stock after the next try; none when nothing is left for it.
    fn after_next(&mut self) -> Result<Option<i64>, CommandError> {
        let left = match self.left {
            Some(left) => left,
            None => *self.left.insert(self.sale.left()?),
        };
        Ok(left.and_then(|left| self.pending.after_next(left)))
    }
}
