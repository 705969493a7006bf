//! A way to call a script that sells: what each of its arguments means.

use std::collections::BTreeMap;

use crate::explore::ONE;
use crate::template::Slot;

/// One try of a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Try {
    pub voucher: &'static str,
    pub user: Vec<u8>,
    pub order: String,
    /// How many units are asked for, if the script takes a number of them.
    pub units: &'static str,
    /// What the stock is set to before the try.
    pub stock: Option<&'static str>,
}

/// What a slot contains in each try.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Means {
    Voucher,
    User,
    Units,
    /// A new value each time: an order id, a request, a time.
    Changes,
    Always(Vec<u8>),
    /// The user says that it always has this value.
    Said(Vec<u8>),
}

/// A way to call the script. The meaning of its arguments is not given, so a fault only counts if
/// it occurs in each way in which the script sells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    pub means: BTreeMap<Slot, Means>,
}

impl Reading {
    /// The value of a slot in a try. With `tag`, keys that the caller names are in one slot of a
    /// cluster.
    pub fn value(&self, slot: Slot, a_try: &Try, tag: bool) -> Vec<u8> {
        let text = match self.means.get(&slot) {
            Some(Means::Voucher) => a_try.voucher.into(),
            Some(Means::User) => a_try.user.clone(),
            Some(Means::Units) => a_try.units.into(),
            Some(Means::Changes) => a_try.order.clone().into_bytes(),
            Some(Means::Always(text) | Means::Said(text)) => return text.clone(),
            None => ONE.to_vec(),
        };
        match slot {
            Slot::Arg(_) | Slot::Field(_) => text,
            Slot::Key(number) if tag => [format!("{{t}}key{number}:").into_bytes(), text].concat(),
            Slot::Key(number) => [format!("key{number}:").into_bytes(), text].concat(),
        }
    }
}
