//! The ways to call a script that sells: unknown arguments are tried with one meaning after
//! another.

use std::collections::BTreeMap;

use crate::explore::{ONE, Run};
use crate::reading::{Means, Reading};
use crate::roles::Roles;
use crate::sale::Sale;
use crate::template::Slot;
use crate::world::Kind;

/// The slots of unknown meaning: each may be the user, a request or something else.
struct Open {
    people: Vec<Slot>,
    /// KEYS that contain a plain string, or whose content was never seen.
    keys: Vec<Slot>,
    rest: Vec<Slot>,
}

impl Sale {
    fn open(&self, roles: &Roles) -> Open {
        let said = |slot: &Slot| roles.word(*slot).is_some();
        let of_stock: Vec<Slot> = self.stock.slots().collect();
        let people = self.people();
        // A set, a hash, a list or a stream is shared by all users; a string may belong to one.
        let shared = |slot: &Slot| {
            let places = self.marks.iter().chain(&self.looks);
            let mut of_it = places.filter(|place| place.key.slot() == Some(*slot));
            of_it.any(|place| place.kind != Kind::Text)
                || self.orders.as_ref().is_some_and(|(stream, _)| stream.slot() == Some(*slot))
        };
        let open = |slot: &&Slot| !of_stock.contains(slot) && Some(**slot) != self.units;
        let open: Vec<Slot> = self.slots.iter().filter(open).copied().collect();
        let is_key = |slot: &Slot| slot.is_key();
        let known = [self.voucher, self.order];
        Open {
            keys: open.iter().copied().filter(|s| is_key(s) && !shared(s) && !said(s)).collect(),
            rest: open
                .iter()
                .copied()
                .filter(|slot| !is_key(slot) && !people.contains(slot) && !said(slot))
                .filter(|slot| !known.contains(&Some(*slot)))
                .collect(),
            people: people.into_iter().filter(|slot| !said(slot)).collect(),
        }
    }

    /// The ways to call the script, the likeliest first.
    pub fn readings(&self, run: &Run, roles: &Roles) -> Vec<Reading> {
        let open = self.open(roles);
        let mut means = BTreeMap::new();
        for slot in &self.slots {
            let always = run.plan.slots.get(slot);
            let said = match roles.word(*slot) {
                Some("user" | "counter") => Some(Means::User),
                Some("order" | "request" | "changes" | "token") => Some(Means::Changes),
                Some(word) => word.strip_prefix('=').map(|text| Means::Said(text.into())),
                None if Some(*slot) == self.units => None,
                None => always.map(|text| Means::Always(text.clone())),
            };
            let seen = match slot {
                _ if Some(*slot) == self.units => Means::Units,
                _ if Some(*slot) == self.order => Means::Changes,
                _ if open.people.contains(slot) => Means::User,
                _ if open.keys.contains(slot) => Means::User,
                _ if !slot.is_key() && open.rest.contains(slot) => {
                    if self.is_written(*slot) {
                        Means::Changes
                    } else {
                        Means::Always(slot.mark())
                    }
                }
                _ => Means::Voucher,
            };
            means.insert(*slot, said.unwrap_or(seen));
        }
        let first = Reading { means };
        let with = |changes: &[(&[Slot], Means)]| {
            let mut other = first.clone();
            for (slots, means) in changes {
                other.means.extend(slots.iter().map(|slot| (*slot, means.clone())));
            }
            other
        };
        let (keys, rest) = (open.keys.as_slice(), open.rest.as_slice());
        let one = Means::Always(ONE.to_vec());
        let mut all = vec![
            first.clone(),
            with(&[(keys, Means::Changes), (rest, Means::Changes)]),
            with(&[(keys, Means::Changes), (rest, one.clone())]),
        ];
        // Each of them may be the user, while the others change with each try.
        for slot in &open.people {
            all.push(with(&[(&open.people, Means::Changes), (&[*slot], Means::User)]));
        }
        all.push(with(&[(rest, one)]));
        let mut different: Vec<Reading> = Vec::new();
        for reading in all {
            if !different.contains(&reading) {
                different.push(reading);
            }
        }
        different
    }

    /// Whether a slot's value is written into an entry or is a word of another writing call.
    fn is_written(&self, slot: Slot) -> bool {
        let fields = self.orders.iter().flat_map(|(_, fields)| fields);
        fields.flat_map(|(_, value)| value.slots()).any(|other| other == slot)
            || self.extras.iter().flat_map(|call| &call[1..]).any(|word| word.slot() == Some(slot))
    }
}
