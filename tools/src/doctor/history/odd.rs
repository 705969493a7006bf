//! Stocks, leases, keys and arguments that are no usual ones.

use super::*;

impl Writer<'_> {
    /// Stocks and leases that are no usual ones.
    pub(super) fn odd(&self) -> Vec<History> {
        // Of a bare stock, -1 is unlimited.
        let negative = if self.act.buyers.is_some() { Rigor::Same } else { Rigor::Known };
        let mut all = Vec::new();
        let mut add = |about, rigor, stocks: &[&str]| {
            all.extend(stocks.iter().map(|stock| {
                let values = self.values(Ids::Small, 1, 1, 1);
                let steps = vec![Step::new(vec![self.stock(&values, stock)], values)];
                History { about, rigor, steps }
            }));
        };
        if self.act.is_of_stock() {
            add("stocks beyond 2^53", Rigor::Same, &["9007199254740993", "9223372036854775807"]);
            add("a stock of -1, which is unlimited for a command", negative, &["-1"]);
            add("a negative stock, which a command refuses", negative, &["-5"]);
            let texts = ["", "abc", "1.5", "5.0", " 5", "1e3", "99999999999999999999"];
            add("stocks that are no integers", Rigor::MayRefuse, &texts);
        } else if self.has(Role::Lease) {
            let mut values = self.values(Ids::Small, 1, 1, 1);
            values.insert(Role::Lease, b"90000000".to_vec());
            let about = "a lease of more than a day, which a command refuses";
            for before in self.states(&values) {
                let steps = vec![Step::new(before, values.clone())];
                all.push(History { about, rigor: Rigor::Known, steps });
            }
        }
        all
    }

    /// Each key of every type, and each argument empty, negative, fractional, a text or missing,
    /// where a usual call finds what it looks for.
    pub(super) fn damaged(&self) -> Vec<History> {
        let usual = self.values(Ids::Small, 1, 1, 1);
        let mut all = Vec::new();
        let mut add = |about, rigor, step| all.push(History { about, rigor, steps: vec![step] });
        for key in self.keys(&usual) {
            for words in self.of_every_type(&key, &usual) {
                let usual_key = Some(self.usual(&usual)).filter(|words| words[1] != *key);
                let before = usual_key.into_iter().chain([words]).collect();
                add("keys of other types", Rigor::MayRefuse, Step::new(before, usual.clone()));
            }
        }
        for role in self.call.roles() {
            for odd in ["", "0", "-1", "1.5", "abc", "1e2", " 1", "99999999999999999999"] {
                let mut values = usual.clone();
                values.insert(role, odd.into());
                let step = Step::new(vec![self.usual(&values)], values);
                add("odd arguments", Rigor::Odd, step);
            }
        }
        let (keys, args) = (self.call.keys.len(), self.call.args.len());
        for forgets in (1..=args).map(|args| (0, args)).chain((1..=keys).map(|keys| (keys, 0))) {
            let (before, values) = (vec![self.usual(&usual)], usual.clone());
            let step = Step { before, values, forgets };
            add("calls with fewer keys or arguments", Rigor::Odd, step);
        }
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
