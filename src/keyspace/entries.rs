//! The entries of streams that plans append.

use crate::error::CommandError;
use crate::keyspace::fields::{EntryFields, EntryValues};
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::server::{OwnedStr, Str};
use domain::book::State;
use domain::integer::Decimal;
use domain::plan::{Append, Order, Plan};
use domain::sale::Units;

/// The texts that the entries of plans are made of. Several plans are tries of one command, whose
/// entries differ in the user and the order id only.
pub(super) struct Texts<'a> {
    voucher: Str<'a>,
    sale: Option<OwnedStr>,
    units: Option<OwnedStr>,
    appends: [Option<AppendTexts<'a>>; 2],
    /// What a dead letter says beside the entry.
    letter: Vec<OwnedStr>,
}

/// What one entry says beside the fields of every order.
#[derive(Default)]
struct AppendTexts<'a> {
    deadline: Option<OwnedStr>,
    reference: Option<Str<'a>>,
    payment: Option<OwnedStr>,
    reason: Option<OwnedStr>,
    was: Option<OwnedStr>,
    kept: Option<OwnedStr>,
}

/// The fields of the entries of a plan, names and values in turn.
pub(super) struct Entries<'t> {
    fields: [Option<EntryFields<'t>>; 2],
    letter: Vec<Str<'t>>,
}

impl<'t> Entries<'t> {
    /// The entry of a plan with this number, about an order.
    #[inline]
    pub(super) fn of(&mut self, number: usize, order: &'t Order<Name<'_>>) -> &[Str<'t>] {
        match self.fields.get_mut(number) {
            Some(Some(fields)) => {
                fields.set_order(order.user.as_str(), order.id.as_str());
                fields.as_slice()
            }
            _ => &self.letter,
        }
    }
}

pub(super) fn decimal(number: i64) -> OwnedStr {
    OwnedStr::new(Decimal::new(number).bytes())
}

fn word(word: &str) -> OwnedStr {
    OwnedStr::new(word.as_bytes())
}

impl<'t> AppendTexts<'t> {
    fn of(append: Append, plan: &'t Plan<Name<'_>>) -> Self {
        let entry = plan.entry.as_ref();
        match append {
            Append::Order => {
                let deadline = entry.filter(|entry| entry.state == State::Held);
                Self { deadline: deadline.map(|it| decimal(it.deadline)), ..Self::default() }
            }
            Append::Payment(outcome) => Self {
                reference: plan.payment.as_ref().map(|(reference, _)| reference.as_str()),
                payment: Some(word(outcome.word())),
                ..Self::default()
            },
            Append::Release { reason, was, kept } => Self {
                reference: entry.and_then(|it| it.reference.as_ref()).map(Name::as_str),
                reason: Some(word(reason.word())),
                was: was.map(|was| word(was.word())),
                kept: kept.map(|kept| decimal(kept.get())),
                ..Self::default()
            },
            Append::Confirmation | Append::DeadLetter { .. } => Self::default(),
        }
    }
}

impl<'a> Sale<'a> {
    /// The texts for these entries.
    pub(super) fn texts<'t>(&self, plan: &'t Plan<Name<'a>>) -> Result<Texts<'t>, CommandError>
    where
        'a: 't,
    {
        let units = plan.order.units;
        let mut letter = Vec::new();
        let appends = plan.appends.map(|append| {
            if let (Some(Append::DeadLetter { fate, was }), Some(rejected)) =
                (append, self.rejected)
            {
                letter = rejected.letter(fate, was);
            }
            append.map(|append| AppendTexts::of(append, plan))
        });
        Ok(Texts {
            voucher: self.entry_voucher(plan.sale.is_some())?,
            sale: plan.sale.map(|sale| decimal(sale.get())),
            units: (units != Units::ONE).then(|| decimal(units.get())),
            appends,
            letter,
        })
    }

    /// The entries, to be asked for order by order.
    pub(super) fn entries<'t>(&self, plan: &'t Plan<Name<'a>>, texts: &'t Texts<'_>) -> Entries<'t>
    where
        'a: 't,
    {
        let text = |text: &'t Option<OwnedStr>| text.as_ref().map(OwnedStr::as_str);
        let Texts { voucher, sale, units, .. } = texts;
        let fields = |append: Option<Append>, texts: &'t Option<AppendTexts<'_>>| match append? {
            Append::DeadLetter { .. } => None,
            _ => texts.as_ref().map(|texts| {
                self.entry_names().entry(&EntryValues {
                    user: plan.order.user.as_str(),
                    voucher: *voucher,
                    id: plan.order.id.as_str(),
                    units: text(units),
                    deadline: text(&texts.deadline),
                    sale: text(sale),
                    reference: texts.reference,
                    reason: text(&texts.reason),
                    was: text(&texts.was),
                    payment: text(&texts.payment),
                    kept: text(&texts.kept),
                })
            }),
        };
        let letter = self.rejected.map_or_else(Vec::new, |rejected| {
            // What is ours is always the last.
            let own = texts.letter.iter().map(OwnedStr::as_str);
            rejected.entry.iter().copied().chain(own).collect()
        });
        let ([first, second], [one, two]) = (plan.appends, &texts.appends);
        Entries { fields: [fields(first, one), fields(second, two)], letter }
    }
}
