//! Constants of the script, arguments that are the same or odd, damaged keys, and calls that forget
//! some of their arguments.

use domain::integer;
use itertools::Itertools;

use super::{History, Ids, Rigor, Step, Writer, in_pieces};
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
        let is_id =
            |role: &Role| !matches!(role, Role::Units | Role::Token | Role::Lock | Role::Lease);
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
        let pairs = self.call.roles().into_iter().tuple_combinations();
        let call = |(number, (one, other)): (usize, (Role, Role))| {
            let mut values = self.values(Ids::Small, 1, 5_000 + number as u64, number as u64);
            values.insert(other, values.get(&one).cloned().unwrap_or_default());
            values
        };
        pairs.enumerate().map(call).collect()
    }

    /// Each key of every type, and each argument empty, negative, fractional, a text or missing,
    /// where a usual call finds what `plant` makes.
    pub(super) fn damaged(
        &self,
        keys: &Words,
        plant: impl Fn(&Self, &Values) -> Words,
    ) -> Vec<History> {
        let usual = self.values(Ids::Small, 1, 1, 1);
        let mut all = Vec::new();
        for key in keys {
            for words in self.of_every_type(key, &usual) {
                let usual_key = Some(plant(self, &usual)).filter(|words| words[1] != *key);
                let before = usual_key.into_iter().chain([words]).collect();
                let steps = vec![Step::new(before, usual.clone())];
                all.push(History::new("keys of other types", Rigor::MayRefuse, steps));
            }
        }
        for role in self.call.roles() {
            for odd in ["", "0", "-1", "1.5", "abc", "1e2", " 1", "99999999999999999999"] {
                let mut values = usual.clone();
                values.insert(role, odd.into());
                let steps = vec![Step::new(vec![plant(self, &values)], values)];
                all.push(History::new("odd arguments", Rigor::Odd, steps));
            }
        }
        let (keys, args) = (self.call.keys.len(), self.call.args.len());
        let forgets = (1..=args).map(|args| (0, args)).chain((1..=keys).map(|keys| (keys, 0)));
        all.extend(forgets.map(|forgets| {
            let (before, values) = (vec![plant(self, &usual)], usual.clone());
            let steps = vec![Step { before, values, forgets }];
            History::new("calls with fewer keys or arguments", Rigor::Odd, steps)
        }));
        all
    }

    /// Commands that make a key of every type, with the arguments as its members.
    fn of_every_type(&self, key: &[u8], values: &Values) -> Vec<Words> {
        let members = self.call.args.iter().map(|word| word.value(values));
        let mut members: Words = members.filter(|member| !member.is_empty()).collect();
        if members.is_empty() {
            members.push(b"1".to_vec());
        }
        let one = b"1".to_vec();
        let items = |of: &dyn Fn(&Vec<u8>) -> Words| members.iter().flat_map(of).collect::<Words>();
        let types: [(&str, Words); 6] = [
            ("SET", vec![b"5".to_vec()]),
            ("HSET", items(&|member| vec![member.clone(), one.clone()])),
            ("SADD", members.clone()),
            ("ZADD", items(&|member| vec![one.clone(), member.clone()])),
            ("RPUSH", members.clone()),
            ("XADD", ["*", "a", "b"].map(Into::into).to_vec()),
        ];
        let command =
            |(name, items): (&str, Words)| [vec![name.into(), key.to_vec()], items].concat();
        types.map(command).to_vec()
    }
}
