//! Constants of the script, and arguments that are the same.

use domain::integer;

use super::{History, Ids, Step, Writer, in_pieces};
use crate::call::{Role, Values};
use crate::learn::Sale;
use crate::wire::Words;

impl Writer<'_> {
    /// Constants of the script, as the stock and as each argument.
    pub(super) fn constants(&mut self, sale: &Sale) -> Vec<History> {
        let mut steps = Vec::new();
        for (at, number) in self.numbers().into_iter().enumerate() {
            let values = self.values(Ids::Small, 1, 2_000 + at as u64, at as u64);
            let stock = self.planted(sale, &values, number.to_string().as_bytes());
            steps.push(Step::new(vec![stock], values));
        }
        let constants = self.words();
        let is_id = |role: &Role| {
            matches!(
                role,
                Role::User | Role::Order | Role::Voucher | Role::Other(_) | Role::Request
            )
        };
        for role in self.call.roles().into_iter().filter(is_id) {
            for (at, constant) in constants.iter().enumerate() {
                let mut values = self.values(Ids::Small, 1, 3_000 + at as u64, at as u64);
                values.insert(role, constant.clone());
                let stock = self.planted(sale, &values, b"7");
                steps.push(Step::new(vec![stock], values.clone()));
                // A word may let a buyer in again, or without a stock.
                if matches!(role, Role::Other(_)) && self.is_own(constant) {
                    let none = self.planted(sale, &values, b"0");
                    steps.push(Step::new(Vec::new(), values.clone()));
                    steps.push(Step::new(vec![none], values));
                }
            }
        }
        steps.extend(self.equals().into_iter().map(|values| {
            let stock = self.planted(sale, &values, b"7");
            Step::new(vec![stock], values)
        }));
        in_pieces("each constant of the script as stock and as argument", &steps)
    }

    /// Constants of the script, as arguments.
    pub(super) fn words(&self) -> Words {
        // An order id of * is one that the module makes.
        let is_word = |text: &&String| {
            let is_command = self.lua.commands.contains(&text.to_uppercase());
            (1..40).contains(&text.len()) && *text != "*" && !is_command
        };
        let texts = self.lua.texts.iter().filter(is_word).take(30);
        let texts = texts.map(|text| text.clone().into_bytes());
        self.numbers().into_iter().map(|n| n.to_string().into_bytes()).chain(texts).collect()
    }

    /// Whether a constant is in the text, not the neighbour of one.
    fn is_own(&self, constant: &[u8]) -> bool {
        integer::parse(constant).is_none_or(|number| self.lua.numbers.contains(&number))
    }

    /// Calls two of whose arguments are the same.
    pub(super) fn equals(&self) -> Vec<Values> {
        let roles = self.call.roles();
        let pairs = roles.iter().enumerate().flat_map(|(at, one)| {
            let others = roles.iter().skip(at + 1);
            others.map(move |other| (*one, *other))
        });
        let call = |(number, (one, other)): (usize, (Role, Role))| {
            let mut values = self.values(Ids::Small, 1, 5_000 + number as u64, number as u64);
            values.insert(other, values.get(&one).cloned().unwrap_or_default());
            values
        };
        pairs.enumerate().map(call).collect()
    }
}
