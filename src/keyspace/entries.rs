//! The entries of streams that plans append.

use crate::error::CommandError;
use crate::keyspace::names::Name;
use crate::keyspace::presence::check_confirmed_here;
use crate::keyspace::sale::Sale;
use crate::server::{OwnedStr, Str};
use domain::book::State;
use domain::facts::Stream;
use domain::integer::Decimal;
use domain::payments::Outcome;
use domain::plan::{Append, Plan};
use domain::sale::Units;
use domain::stream_entry::{Entry, OrderEntry, Says, Value};

/// How many fields an entry of an order can have beside user, voucher and order id.
const MORE_MAX: usize = 6;

/// What entries say beside user, voucher and order id, names and values.
type More<'a> = Vec<(Str<'a>, OwnedStr)>;

/// The texts that the entries of plans are made of. Several plans are tries of one command, whose
/// entries differ in the user and the order id only.
pub(super) struct Texts<'a> {
    /// Of each entry of a plan.
    more: [More<'a>; 2],
    /// What a dead letter says beside the entry.
    letter: Vec<OwnedStr>,
}

/// The fields of the entries of plans, names and values in turn.
pub(super) struct Entries<'t> {
    /// Of an order; as many as the entry has.
    words: [Str<'t>; 6 + 2 * MORE_MAX],
    texts: &'t Texts<'t>,
    letter: Vec<Str<'t>>,
}

impl<'t> Entries<'t> {
    /// The entry of a plan with this number.
    #[inline]
    pub(super) fn of(&mut self, plan: &'t Plan<Name<'_>>, number: usize) -> &[Str<'t>] {
        if let Some(Some(Append::DeadLetter { .. })) = plan.appends.get(number) {
            return &self.letter;
        }
        let [_, user, _, _, _, id, places @ ..] = &mut self.words;
        (*user, *id) = (plan.order.user.as_str(), plan.order.id.as_str());
        let more = self.texts.more.get(number).map_or(&[][..], Vec::as_slice);
        for (place, (name, value)) in places.as_chunks_mut().0.iter_mut().zip(more) {
            *place = [*name, value.as_str()];
        }
        let len = more.len().saturating_mul(2).saturating_add(6);
        self.words.get(..len).unwrap_or(&self.words)
    }
}

pub(super) fn decimal(number: i64) -> OwnedStr {
    OwnedStr::new(Decimal::new(number).bytes())
}

/// What is said of a plan's order; nothing by a dead letter.
fn says<'p>(append: Append, plan: &'p Plan<Name<'_>>) -> Option<Says<&'p [u8]>> {
    let entry = plan.entry.as_ref();
    let accepted = |waited| {
        let held = entry.filter(|entry| entry.state == State::Held);
        Says::Accepted { deadline: held.map(|entry| entry.deadline), waited }
    };
    let paid = plan.payment.as_ref().map(|(reference, _)| reference.as_ref());
    Some(match append {
        Append::Order => accepted(None),
        Append::Served { waited } => accepted(Some(waited)),
        Append::Confirmation => Says::Confirmed { reference: None },
        Append::Payment(Outcome::First) => Says::Confirmed { reference: paid },
        Append::Payment(outcome) => Says::Payment { outcome, reference: paid },
        Append::Release { reason, was, kept } => {
            let reference = entry.and_then(|it| it.reference.as_ref()).map(Name::as_ref);
            Says::Released { reason, was, kept, reference }
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
                let keys = self.managed_keys()?;
                check_confirmed_here(self.ctx, keys)?;
                keys.confirmed
            }
            Stream::DeadLetters => self.rejected.map(|rejected| rejected.letters),
        })
    }

    /// The texts for these entries.
    pub(super) fn texts(&self, plan: &Plan<Name<'a>>) -> Texts<'a> {
        let mut texts = Texts { more: [Vec::new(), Vec::new()], letter: Vec::new() };
        for (append, more) in plan.appends.iter().zip(&mut texts.more) {
            match (append, self.rejected) {
                (None, _) => {}
                // Most accepted tries: they say nothing more.
                (Some(Append::Order), _)
                    if plan.sale.is_none() && plan.order.units == Units::ONE => {}
                (Some(Append::DeadLetter { fate, was }), Some(rejected)) => {
                    texts.letter = rejected.letter(*fate, *was);
                }
                (Some(append), _) => *more = self.more_of(*append, plan),
            }
        }
        texts
    }

    /// What an entry says beside user, voucher and order id.
    fn more_of(&self, append: Append, plan: &Plan<Name<'a>>) -> More<'a> {
        let Some(says) = says(append, plan) else { return More::new() };
        let [user, id] = [&plan.order.user, &plan.order.id].map(Name::as_ref);
        let (units, sale) = (plan.order.units, plan.sale);
        let order = OrderEntry { user, voucher: &[][..], id, units, sale };
        let names = self.entry_names().own;
        let of = |(name, value)| {
            let value = match value {
                Value::Number(number) => decimal(number),
                Value::Word(word) => OwnedStr::new(word.as_bytes()),
                Value::Text(text) => OwnedStr::new(text),
            };
            names.own(name).map(|name| (name.as_str(), value))
        };
        Entry { order, says }.write().into_iter().filter_map(of).collect()
    }

    /// The entries, to be asked for plan by plan.
    pub(super) fn entries<'t>(
        &self,
        plan: &Plan<Name<'a>>,
        texts: &'t Texts<'a>,
    ) -> Result<Entries<'t>, CommandError>
    where
        'a: 't,
    {
        let letter = self.rejected.map_or_else(Vec::new, |rejected| {
            // What is ours is always the last.
            let own = texts.letter.iter().map(OwnedStr::as_str);
            rejected.entry.iter().copied().chain(own).collect()
        });
        let voucher = self.entry_voucher(plan.sale.is_some())?;
        let [user, voucher_name, id] = self.entry_names().three;
        let mut words = [user; 6 + 2 * MORE_MAX];
        let [_, _, of_voucher, its_voucher, of_id, ..] = &mut words;
        (*of_voucher, *its_voucher, *of_id) = (voucher_name, voucher, id);
        Ok(Entries { words, texts, letter })
    }
}
