//! Releasing an order: its units go back on sale, and its user may buy again. This is what is
//! written once every possible refusal has been checked.

use super::order::Order;
use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::book::OpenBook;
use crate::keyspace::buyers::Buyer;
use crate::keyspace::fields::{EntryFields, EntryNames, EntryValues, OrderFields};
use crate::keyspace::orders::{Added, Orders};
use crate::keyspace::stock;
use crate::metrics;
use crate::server::{Ctx, OwnedStr, Str};
use domain::book::{Entry, Holding, State};
use domain::sale::Units;

/// An order to be released. Only the entry in the stream can still be refused.
pub(super) struct Release<'a> {
    ctx: Ctx<'a>,
    names: &'a OrderFields,
    order: Order<'a>,
    reason: State,
    units: Option<OwnedStr>,
    reason_word: OwnedStr,
    /// The state that the order is in, where the book says it.
    was: Option<OwnedStr>,
    reference: Option<OwnedStr>,
    sale: Option<OwnedStr>,
    targets: Targets<'a>,
    added: Option<Added<'a>>,
}

/// Where an order is released to.
pub(super) struct Targets<'a> {
    pub(super) buyers: Str<'a>,
    pub(super) stock: Str<'a>,
    /// The units left before and after; None if the stock stays as it is.
    pub(super) left: Option<(i64, i64)>,
    /// The stream of releases, known to have room.
    pub(super) released: Option<Orders<'a>>,
    /// The book of a managed voucher.
    pub(super) booked: Option<Booked<'a>>,
}

/// What the book of a managed voucher has of an order.
pub(super) struct Booked<'a> {
    pub(super) book: OpenBook<'a>,
    pub(super) state: State,
    pub(super) remaining: Remaining,
    /// The payment's reference.
    pub(super) reference: Option<OwnedStr>,
    /// The id of the sale.
    pub(super) sale: Option<OwnedStr>,
}

/// What a user has left once an order is released.
pub(super) enum Remaining {
    /// The book has no units of the user.
    Unwritten,
    Nothing,
    /// Units of other orders, and the id of the latest one.
    Units(Units, Vec<u8>),
}

impl<'a> Release<'a> {
    pub(super) fn new(
        ctx: Ctx<'a>,
        names: &'a OrderFields,
        order: Order<'a>,
        reason: State,
        mut targets: Targets<'a>,
    ) -> Self {
        let units = order.units_text();
        let reason_word = OwnedStr::new(reason.word().as_bytes());
        let was = targets.booked.as_ref().map(|booked| booked.state);
        let was = was.map(|state| OwnedStr::new(state.word().as_bytes()));
        let (reference, sale) = match &mut targets.booked {
            Some(booked) => (booked.reference.take(), booked.sale.take()),
            None => (None, None),
        };
        let added = None;
        Self { ctx, names, order, reason, units, reason_word, was, reference, sale, targets, added }
    }

    /// Releases the order. On an error nothing has been changed.
    pub(super) fn write(mut self) -> Result<(), CommandError> {
        self.append()?;
        self.finish();
        Ok(())
    }

    /// The state that the order is in; none where no book says it.
    pub(super) fn was(&self) -> Option<State> {
        self.targets.booked.as_ref().map(|booked| booked.state)
    }

    /// Appends the entry to the stream of releases: the one step that can fail, and the first.
    /// Must be followed by [`Release::finish`] or [`Release::take_back`].
    pub(super) fn append(&mut self) -> Result<(), CommandError> {
        if let Some(released) = self.targets.released.take() {
            self.added = Some(released.add(self.fields().as_slice())?);
        }
        Ok(())
    }

    /// Deletes the entry again, if it was appended, because another step of the command was
    /// refused.
    pub(super) fn take_back(mut self) {
        if let Some(added) = self.added.take() {
            added.take_back(self.ctx, self.fields().as_slice());
        }
    }

    /// All other writes; after this the release can't be undone.
    pub(super) fn finish(mut self) {
        let (ctx, user, id) = (self.ctx, self.order.user, self.order.id);
        let (added, booked) = (self.added.take(), self.targets.booked.take());
        let fields = self.fields();
        let stock = self.targets.stock;
        let returned = self.targets.left;
        let returned = returned.and_then(|(left, after)| stock::change(ctx, stock, left, after));
        let mut written: [Option<Effect<'_>>; 3] = [None, None, None];
        let mut has_more = false;
        if let Some(Booked { mut book, state, remaining, .. }) = booked {
            let (units, deadline, bytes) = (self.order.units, 0, user.0.bytes());
            let reference = self.reference.as_ref().map(|reference| reference.as_str().bytes());
            let entry = Entry { state: self.reason, units, deadline, reference, user: bytes };
            let entered = book.enter(id, &entry);
            let held = match &remaining {
                Remaining::Unwritten => None,
                Remaining::Nothing => book.set_holding(user, None),
                Remaining::Units(units, order) => {
                    has_more = true;
                    book.set_holding(user, Some(Holding { units: *units, order }))
                }
            };
            let lifted = match state {
                State::Held => book.lift_hold(id),
                _ => None,
            };
            written = [entered, held, lifted];
        }
        if !has_more {
            Buyer::new(self.targets.buyers, user).dismiss(ctx);
        }
        let appended = added.map(|added| added.effect(fields.as_slice()));
        let effects = written.into_iter().chain([appended, returned]);
        effects.flatten().for_each(|effect| effect.publish(ctx));
        match self.reason {
            State::Expired => metrics::ORDERS_EXPIRED.count(),
            State::Rejected => metrics::ORDERS_REJECTED.count(),
            _ => metrics::ORDERS_CANCELLED.count(),
        }
    }

    /// The fields of the entry: those of the order, the reason, and the state before.
    fn fields(&self) -> EntryFields<'_> {
        fn text(text: &Option<OwnedStr>) -> Option<Str<'_>> {
            text.as_ref().map(OwnedStr::as_str)
        }
        EntryNames::configured(self.names).entry(&EntryValues {
            sale: text(&self.sale),
            reference: text(&self.reference),
            reason: Some(self.reason_word.as_str()),
            was: text(&self.was),
            ..self.order.values(text(&self.units))
        })
    }
}
