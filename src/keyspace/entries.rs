//! The entries of streams that plans append.

use crate::error::CommandError;
use crate::keyspace::fields::{decimal, owned};
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::server::{OwnedStr, Str};
use domain::book::Reason;
use domain::entry_id::EntryId;
use domain::facts::Stream;
use domain::fields::CART;
use domain::payments::Outcome;
use domain::plan::{Amend, Append, BookWrite, Order, Take};
use domain::rules::{Millis, SaleId};
use domain::sale::Units;
use domain::stream_entry::{EventEntry, OrderEntry, ReleaseEntry, Says};

/// How many fields an entry of an order can have beside user, voucher and order id.
const MORE_MAX: usize = 8;

/// What the entry of a plan says beside the names of its order.
pub(super) enum EntryText<'a> {
    /// Names and values.
    More([Option<(Str<'a>, OwnedStr)>; MORE_MAX]),
    /// Beside the entry that is rejected.
    Letter(Vec<OwnedStr>),
}

impl EntryText<'_> {
    const NOTHING: Self = Self::More([const { None }; MORE_MAX]);
}

/// The fields of the entries of plans, names and values in turn.
pub(super) struct Entries<'t> {
    /// Of an order; as many as the entry has.
    words: [Str<'t>; 6 + 2 * MORE_MAX],
    letter: Vec<Str<'t>>,
}

impl<'t> Entries<'t> {
    /// The entry of an order with this text.
    #[inline]
    pub(super) fn of(&mut self, order: &'t Order<Name<'_>>, text: &'t EntryText<'_>) -> &[Str<'t>] {
        let EntryText::More(more) = text else { return &self.letter };
        let [_, user, _, _, _, id, places @ ..] = &mut self.words;
        (*user, *id) = (order.user.as_str(), order.id.as_str());
        let mut len: usize = 6;
        for (place, (name, value)) in places.as_chunks_mut().0.iter_mut().zip(more.iter().flatten())
        {
            *place = [*name, value.as_str()];
            len = len.saturating_add(2);
        }
        self.words.get(..len).unwrap_or(&self.words)
    }
}

/// What an entry says of a plan's order, that an entry was rejected for, or not; nothing by a dead
/// letter.
fn says<'p>(
    append: Append,
    plan: &'p Amend<Name<'_>>,
    rejected: Option<EntryId>,
) -> Option<Says<&'p [u8]>> {
    let reference = plan.payment.as_ref().map(|(reference, _)| reference.as_ref());
    let paid = plan.payment.as_ref().and_then(|(_, payment)| payment.paid);
    Some(match append {
        Append::Confirmation => Says::Confirmed { reference: None, paid: None },
        Append::Payment(Outcome::First) => Says::Confirmed { reference, paid },
        Append::Payment(outcome) => Says::Payment { outcome, reference, paid },
        Append::Release { reason, was, kept, norestock, refunded } => {
            let reference = plan.entry.as_ref().and_then(|it| it.reference.as_ref());
            let reference = reference.map(Name::as_ref);
            let entry = rejected.filter(|_| reason == Reason::Rejected);
            Says::Released(ReleaseEntry {
                reason,
                was,
                kept,
                reference,
                norestock,
                refunded,
                entry,
            })
        }
        Append::DeadLetter { .. } => return None,
    })
}

impl<'a> Sale<'a> {
    /// The stream's key; none where none is kept.
    pub(super) fn stream_key(&self, stream: Stream) -> Result<Option<Str<'a>>, CommandError> {
        Ok(match stream {
            Stream::Orders => self.sale_keys()?.orders,
            Stream::Released => self.managed_keys()?.released,
            Stream::Confirmed => {
                let stream = self.managed_keys()?.confirmed;
                stream.map_or(Ok(()), |stream| self.check_one_here(stream))?;
                stream
            }
            Stream::DeadLetters => self.rejected.map(|rejected| rejected.letters),
        })
    }

    /// The text of the entry of an order that gets its units, after it has waited so long; of a
    /// cart of so many articles.
    pub(super) fn text_of_take(
        &self,
        take: &Take<Name<'a>>,
        waited: Option<Millis>,
        articles: usize,
    ) -> EntryText<'a> {
        let booked = take.booked.as_ref();
        if booked.is_none() && take.order.units == Units::ONE {
            // Most accepted tries: they say nothing more.
            return EntryText::NOTHING;
        }
        let says = Says::Accepted { deadline: booked.and_then(BookWrite::hold), waited };
        let mut text = self.text(&take.order, booked.map(|booked| booked.sale), says);
        if articles > 1
            && let EntryText::More(more) = &mut text
            && let Some(place) = more.iter_mut().find(|place| place.is_none())
            && let Some(name) = self.entry_names().own.own(CART)
        {
            *place = Some((name.as_str(), decimal(i64::try_from(articles).unwrap_or(i64::MAX))));
        }
        text
    }

    /// The text of an entry of this plan.
    pub(super) fn text_of(&self, append: Append, plan: &Amend<Name<'a>>) -> EntryText<'a> {
        let rejected = self.rejected.map(|rejected| rejected.delivery.id);
        match (append, self.rejected, says(append, plan, rejected)) {
            (Append::DeadLetter { fate, was }, Some(rejected), _) => {
                EntryText::Letter(rejected.letter(fate, was))
            }
            (_, _, Some(says)) => self.text(&plan.order, plan.sale, says),
            (_, _, None) => EntryText::NOTHING,
        }
    }

    fn text(
        &self,
        order: &Order<Name<'a>>,
        sale: Option<SaleId>,
        says: Says<&[u8]>,
    ) -> EntryText<'a> {
        let (user, id, units) = (order.user.as_ref(), order.id.as_ref(), order.units);
        let order = OrderEntry { user, voucher: &[][..], id, units, sale };
        let names = self.entry_names().own;
        let mut more = [const { None }; MORE_MAX];
        let mut places = more.iter_mut();
        EventEntry { order, says }.write(|name, value| {
            let Some(name) = names.own(name) else { return };
            let place = places.next();
            debug_assert!(place.is_some(), "an entry says more than there is room for");
            if let Some(place) = place {
                *place = Some((name.as_str(), owned(value)));
            }
        });
        EntryText::More(more)
    }

    /// Entries, to be asked for one by one; this is the first text.
    pub(super) fn entries<'t>(
        &self,
        is_managed: bool,
        text: Option<&'t EntryText<'a>>,
    ) -> Result<Entries<'t>, CommandError>
    where
        'a: 't,
    {
        let letter = match (self.rejected, text) {
            (Some(rejected), Some(EntryText::Letter(own))) => rejected.fields(own),
            _ => Vec::new(),
        };
        let voucher = self.entry_voucher(is_managed)?;
        let [user, voucher_name, id] = self.entry_names().three;
        let mut words = [user; 6 + 2 * MORE_MAX];
        let [_, _, of_voucher, its_voucher, of_id, ..] = &mut words;
        (*of_voucher, *its_voucher, *of_id) = (voucher_name, voucher, id);
        Ok(Entries { words, letter })
    }
}
