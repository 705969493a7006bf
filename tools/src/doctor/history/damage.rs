//! Damaged keys, odd arguments, and calls that forget some.

use super::{History, Ids, Rigor, Step, Writer};
use crate::call::Values;
use crate::wire::Words;

impl Writer<'_> {
    /// Each key of every type, with the arguments as its members.
    pub(super) fn wrong_types(
        &self,
        keys: &Words,
        stock: &[Words],
        values: &Values,
    ) -> Vec<History> {
        let members: Words = self.call.args.iter().map(|word| word.value(values)).collect();
        let mut all = Vec::new();
        for key in keys {
            for (command, pairs) in
                [("SET", 0), ("HSET", 2), ("SADD", 1), ("ZADD", 2), ("RPUSH", 1), ("XADD", 3)]
            {
                let mut words: Words = vec![command.into(), key.clone()];
                match pairs {
                    0 => words.push(b"5".to_vec()),
                    3 => words.extend(["*", "a", "b"].map(Into::into)),
                    _ => {
                        for member in members.iter().filter(|member| !member.is_empty()) {
                            let score = b"1".to_vec();
                            let (first, second) = match command {
                                "ZADD" => (score, Some(member.clone())),
                                "HSET" => (member.clone(), Some(score)),
                                _ => (member.clone(), None),
                            };
                            words.push(first);
                            words.extend(second);
                        }
                        if words.len() == 2 {
                            words.extend((0..pairs).map(|_| b"1".to_vec()));
                        }
                    }
                }
                let delete = vec![b"DEL".to_vec(), key.clone()];
                let before = [stock, &[delete, words]].concat();
                let steps = vec![Step::new(before, values.clone())];
                all.push(History { about: "keys of other types", rigor: Rigor::MayRefuse, steps });
            }
        }
        all
    }

    /// Each argument empty, negative, fractional or a text.
    pub(super) fn odd_arguments(
        &self,
        before: impl Fn(&Self, &Values) -> Vec<Words>,
    ) -> Vec<History> {
        let mut all = Vec::new();
        for role in self.call.roles() {
            for odd in ["", "0", "-1", "1.5", "abc", "1e2", " 1", "99999999999999999999"] {
                let mut values = self.values(Ids::Small, 1, 1, 1);
                values.insert(role, odd.into());
                let steps = vec![Step::new(before(self, &values), values)];
                all.push(History { about: "odd arguments", rigor: Rigor::Odd, steps });
            }
        }
        let (keys, args) = (self.call.keys.len(), self.call.args.len());
        let forgets = (1..=args).map(|args| (0, args)).chain((1..=keys).map(|keys| (keys, 0)));
        for forgets in forgets {
            let values = self.values(Ids::Small, 1, 1, 1);
            let steps = vec![Step { before: before(self, &values), values, forgets }];
            let about = "calls with fewer keys or arguments";
            all.push(History { about, rigor: Rigor::Odd, steps });
        }
        all
    }
}
