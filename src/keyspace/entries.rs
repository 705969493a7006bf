//! The entries of streams that plans append.

use crate::error::CommandError;
use crate::keyspace::fields::{EntryFields, EntryValues};
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::server::{OwnedStr, Str};
use domain::facts::Stream;
use domain::integer::Decimal;
use domain::plan::{Order, Plan};
use domain::sale::Units;

/// The texts that the entries of plans are made of. Several plans are tries of one command, whose
/// entries differ in the user and the order id only.
pub(super) struct Texts<'a> {
    voucher: Str<'a>,
    sale: Option<OwnedStr>,
    units: Option<OwnedStr>,
    deadline: Option<OwnedStr>,
    reference: Option<Str<'a>>,
    reason: Option<OwnedStr>,
    was: Option<OwnedStr>,
    /// What a dead letter says beside the entry.
    letter: Vec<OwnedStr>,
}

/// The fields of entries, names and values in turn.
pub(super) struct Entries<'t> {
    order: EntryFields<'t>,
    letter: Vec<Str<'t>>,
}

impl<'t> Entries<'t> {
    /// The entry about an order.
    #[inline]
    pub(super) fn of(&mut self, stream: Stream, order: &'t Order<Name<'_>>) -> &[Str<'t>] {
        if stream == Stream::DeadLetters {
            return &self.letter;
        }
        self.order.set_order(order.user.as_str(), order.id.as_str());
        self.order.as_slice()
    }
}

pub(super) fn decimal(number: i64) -> OwnedStr {
    OwnedStr::new(Decimal::new(number).bytes())
}

impl<'a> Sale<'a> {
    /// The texts for these entries.
    pub(super) fn texts<'t>(&self, plan: &'t Plan<Name<'a>>) -> Result<Texts<'t>, CommandError>
    where
        'a: 't,
    {
        let word = |word: &str| OwnedStr::new(word.as_bytes());
        let units = plan.order.units;
        let mut texts = Texts {
            voucher: self.entry_voucher(plan.sale.is_some())?,
            sale: plan.sale.map(|sale| decimal(sale.get())),
            units: (units != Units::ONE).then(|| decimal(units.get())),
            deadline: None,
            reference: None,
            reason: None,
            was: None,
            letter: Vec::new(),
        };
        for append in &plan.appends {
            let Some(append) = append else { continue };
            if let (Some(fate), Some(rejected)) = (append.fate, self.rejected) {
                texts.letter = rejected.letter(fate, append.was);
            } else {
                texts.deadline = append.deadline.map(decimal);
                texts.reference = append.reference.as_ref().map(Name::as_str);
                texts.reason = append.reason.map(|reason| word(reason.word()));
                texts.was = append.was.map(|was| word(was.word()));
            }
        }
        Ok(texts)
    }

    /// The entries, to be asked for order by order.
    pub(super) fn entries<'t>(&self, plan: &'t Plan<Name<'a>>, texts: &'t Texts<'_>) -> Entries<'t>
    where
        'a: 't,
    {
        let text = |text: &'t Option<OwnedStr>| text.as_ref().map(OwnedStr::as_str);
        let order = self.entry_names().entry(&EntryValues {
            user: plan.order.user.as_str(),
            voucher: texts.voucher,
            id: plan.order.id.as_str(),
            units: text(&texts.units),
            deadline: text(&texts.deadline),
            sale: text(&texts.sale),
            reference: texts.reference,
            reason: text(&texts.reason),
            was: text(&texts.was),
        });
        let letter = self.rejected.map_or_else(Vec::new, |rejected| {
            // What is ours is always the last.
            let own = texts.letter.iter().map(OwnedStr::as_str);
            rejected.entry.iter().copied().chain(own).collect()
        });
        Entries { order, letter }
    }
}
