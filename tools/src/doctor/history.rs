//! The histories in which a script and what replaces it are compared: what is in the keys, and
//! which calls follow.

use domain::integer;
use itertools::Itertools;

use crate::act::{Act, Deed};
use crate::call::{Call, Role, Values};
use crate::keyspace::{Cell, planted};
use crate::lua::Lua;
use crate::passed::{IDS, Ids, UNITS, numbers, values, vary, words};
use crate::reply::Words;
use crate::template::Template;

/// One call, and what other clients do before it.
#[derive(Clone)]
pub struct Step {
    pub before: Vec<Words>,
    pub values: Values,
    /// How many of KEYS and ARGV the caller forgets, from the last one on.
    forgets: (usize, usize),
}

impl Step {
    fn new(before: Vec<Words>, values: Values) -> Self {
        Self { before, values, forgets: (0, 0) }
    }

    /// The call, as one of the servers gets it.
    pub fn words(&self, sha: &str, call: &Call) -> Words {
        let mut words = call.words(sha, &self.values);
        let keys = call.keys.len().saturating_sub(self.forgets.0);
        words.truncate(words.len().saturating_sub(self.forgets.1));
        words.drain(3 + keys..3 + call.keys.len());
        words[2] = keys.to_string().into_bytes();
        words
    }
}

/// How strictly a history is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rigor {
    /// Replies and keys are the same.
    Same,
    /// The command is known to do something else.
    Known,
    /// A key or an argument is damaged: the module may refuse, and change nothing, if the script
    /// fails or changes nothing.
    MayRefuse,
    /// The module may refuse an argument that it does not take, whatever the script does.
    Odd,
}

#[derive(Clone)]
pub struct History {
    /// What is compared, for people.
    pub about: &'static str,
    pub rigor: Rigor,
    pub steps: Vec<Step>,
}

impl History {
    /// Whether it is one of those that show how replies follow from outcomes.
    pub fn is_probe(&self) -> bool {
        let is_long = ["constant", "1 to 20", "2^53"].iter().any(|word| self.about.contains(word));
        self.rigor == Rigor::Same && !is_long
    }
}

const STOCKS: [i64; 15] = [0, 1, 2, 3, 4, 5, 9, 10, 11, 15, 20, 99, 100, 101, 1000];

/// Of how many keys each combination gets a time to live.
const KEYS_MAX: usize = 4;

/// All histories of one call.
pub fn histories(call: &Call, lua: &Lua, act: &Act) -> Vec<History> {
    let mut writer = Writer { call, lua, act, rng: fastrand::Rng::with_seed(44), all: Vec::new() };
    if act.deed == Deed::Sell {
        writer.missing();
        writer.sold_out();
        writer.amounts();
        writer.expiring();
        writer.constants();
    } else if act.is_of_stock() {
        writer.constants();
    }
    IDS.into_iter().for_each(|ids| writer.random(ids));
    if !act.is_of_stock() {
        writer.constants();
    }
    writer.odd();
    writer.damaged();
    writer.all
}

struct Writer<'a> {
    call: &'a Call,
    lua: &'a Lua,
    act: &'a Act,
    rng: fastrand::Rng,
    all: Vec<History>,
}

impl Writer<'_> {
    fn add(&mut self, about: &'static str, rigor: Rigor, steps: Vec<Step>) {
        self.all.push(History { about, rigor, steps });
    }

    /// Histories of a few steps each, of steps that do not depend on each other.
    fn add_pieces(&mut self, about: &'static str, steps: &[Step]) {
        steps.chunks(10).for_each(|steps| self.add(about, Rigor::Same, steps.to_vec()));
    }

    fn text(&self, template: &Template, values: &Values) -> Vec<u8> {
        template.text(self.call, values)
    }

    fn has(&self, role: Role) -> bool {
        self.call.roles().contains(&role)
    }

    fn stock(&self, values: &Values, number: impl ToString) -> Words {
        let (key, item) = (self.text(&self.act.key, values), self.text(&self.act.item, values));
        planted(&Cell { key, kind: self.act.kind, item }, number.to_string().as_bytes())
    }

    fn held(&self, values: &Values, holder: &[u8], ends: bool) -> Words {
        let mut words = vec![b"SET".to_vec(), self.text(&self.act.key, values), holder.to_vec()];
        if ends {
            words.extend([b"PX".to_vec(), b"500000".to_vec()]);
        }
        words
    }

    /// What the call usually finds: units, or its own lock.
    fn usual(&self, values: &Values) -> Words {
        match &self.act.token {
            Some(token) => self.held(values, &self.text(token, values), true),
            None => self.stock(values, 5),
        }
    }

    /// Units, the same again, and none; or a lock of another, its own, and none.
    fn states(&self, values: &Values) -> [Vec<Words>; 3] {
        match self.act.token {
            Some(_) => {
                let gone = vec![b"DEL".to_vec(), self.text(&self.act.key, values)];
                [vec![self.held(values, b"another", true)], vec![self.usual(values)], vec![gone]]
            }
            None => [vec![self.stock(values, 7)], Vec::new(), vec![self.stock(values, 0)]],
        }
    }

    fn random(&mut self, ids: Ids) {
        let is_of_stock = self.act.is_of_stock();
        let (users, about) = match is_of_stock {
            true => (6, "random calls on two vouchers"),
            false => (3, "locks that are free, held, and held by others, with and without an end"),
        };
        let step = |order| {
            let (voucher, user) = (self.rng.u64(..2), self.rng.u64(..users));
            let mut values = values(self.call, ids, voucher, user, order);
            vary(&mut values, self.act, &numbers(self.lua), &mut self.rng);
            let key = self.text(&self.act.key, &values);
            let own = self.act.token.as_ref().map(|token| self.text(token, &values));
            let own = own.unwrap_or_default();
            let before = match (self.rng.u32(..8), is_of_stock) {
                (0, _) => vec![vec![b"DEL".to_vec(), key]],
                (1 | 2, true) => {
                    let stock = STOCKS[self.rng.usize(..STOCKS.len())];
                    vec![self.stock(&values, stock)]
                }
                (3, true) if self.act.deed == Deed::Return => {
                    vec![vec![b"PEXPIRE".to_vec(), key, b"600000".to_vec()]]
                }
                (1, false) => vec![self.held(&values, &own, true)],
                (2, false) => vec![self.held(&values, &own, false)],
                (3, false) => vec![self.held(&values, &[&*own, b"0"].concat(), true)],
                (4, false) => vec![self.held(&values, &[b"0", &*own].concat(), false)],
                (5, false) => vec![self.held(&values, b"", false)],
                (6, false) => vec![self.held(&values, &own.to_ascii_uppercase(), true)],
                _ => Vec::new(),
            };
            Step::new(before, values)
        };
        let steps = (0..40).map(step).collect();
        self.add(about, Rigor::Same, steps);
    }

    /// Calls of users, each with the number of its order, for one voucher.
    fn steps(&self, ids: Ids, calls: impl IntoIterator<Item = (u64, u64)>) -> Vec<Step> {
        let values = |(user, order)| values(self.call, ids, 1, user, order);
        calls.into_iter().map(|call| Step::new(Vec::new(), values(call))).collect()
    }

    fn sold_out(&mut self) {
        // A small stock first, to show the first difference by a short history.
        for (at, stock) in
            STOCKS.into_iter().enumerate().sorted_by_key(|(_, stock)| (*stock).min(11))
        {
            let tries = stock.min(11).unsigned_abs() + 2;
            let calls = (0..tries).flat_map(|user| [(user, user), (user / 2, 100 + user)]);
            let mut steps = self.steps(IDS[at % 3], calls);
            steps[0].before = vec![self.stock(&steps[0].values, stock)];
            self.add("buyers, repeats and a sold-out stock", Rigor::Same, steps);
        }
    }

    fn amounts(&mut self) {
        let numbers = numbers(self.lua).into_iter().filter(|n| *n > 0);
        let units = UNITS.into_iter().chain(numbers).filter(|_| self.has(Role::Units));
        let pairs = STOCKS.into_iter().cartesian_product(units.collect_vec());
        let step = |(place, (stock, units)): (usize, (i64, i64))| {
            let mut values = values(self.call, IDS[place % 3], 1, place as u64, place as u64);
            values.insert(Role::Units, units.to_string().into_bytes());
            Step::new(vec![self.stock(&values, stock)], values)
        };
        let steps = pairs.enumerate().map(step).collect_vec();
        self.add_pieces("units 1 to 20 of stocks with one to four digits", &steps);
    }

    fn missing(&mut self) {
        let values = |n: u64| values(self.call, IDS[n as usize % 3], n, n / 2, n);
        let bare: Vec<Step> = (0..4).map(|n| Step::new(Vec::new(), values(n))).collect();
        let mut steps = bare.clone();
        for step in &mut steps {
            // Those who have bought, of a stock that has gone.
            let key = self.text(&self.act.key, &step.values);
            let buyers = self.act.buyers.as_ref().map(|(buyers, user)| {
                let user = Template::place(*user);
                vec![
                    b"SADD".to_vec(),
                    self.text(buyers, &step.values),
                    self.text(&user, &step.values),
                ]
            });
            step.before = vec![self.stock(&step.values, 3), vec![b"DEL".to_vec(), key]];
            step.before.extend(buyers);
        }
        [bare, steps].into_iter().for_each(|steps| self.add("a missing stock", Rigor::Same, steps));
    }

    fn keys(&self, values: &Values) -> Words {
        self.act.keys().take(KEYS_MAX).map(|key| self.text(key, values)).collect()
    }

    /// Each key with a time to live, alone and together with the others.
    fn expiring(&mut self) {
        let keys = self.keys(&values(self.call, Ids::Small, 1, 1, 1));
        for choice in 1..1 << keys.len() {
            let chosen = keys.iter().enumerate().filter(|(at, _)| choice >> at & 1 == 1);
            let expire = chosen.map(|(at, key)| {
                let ms = (600_000 + at * 100_000).to_string();
                vec![b"PEXPIRE".to_vec(), key.clone(), ms.into_bytes()]
            });
            let expire: Vec<Words> = expire.collect();
            let mut steps = self.steps(Ids::Small, [(1, 1), (2, 2), (1, 3), (3, 4), (4, 5)]);
            steps[0].before = [vec![self.stock(&steps[0].values, 3)], expire.clone()].concat();
            steps[1].before = expire;
            self.add("a time to live on each key", Rigor::Same, steps);
        }
    }

    /// Constants of the script as the stock and as each argument, and calls two of whose arguments
    /// are the same.
    fn constants(&mut self) {
        let mut steps = Vec::new();
        let of_stock = numbers(self.lua).into_iter().filter(|_| self.act.token.is_none());
        for (at, number) in (0..).zip(of_stock) {
            let values = values(self.call, Ids::Small, 1, 2_000 + at, at);
            steps.push(Step::new(vec![self.stock(&values, number)], values));
        }
        let is_amount = |role: &Role| matches!(role, Role::Units | Role::Lease);
        let roles = self.call.roles().into_iter().filter(|role| !is_amount(role)).collect_vec();
        let words = words(self.lua);
        for (role, (word, at)) in roles.iter().cartesian_product(words.iter().zip(0..)) {
            let mut values = values(self.call, Ids::Small, 1, 3_000 + at, at);
            values.insert(*role, word.clone());
            // A word of the text may let a buyer in again, or without a stock.
            let is_own = integer::parse(word).is_none_or(|n| self.lua.numbers.contains(&n));
            let is_many = self.act.token.is_some() || matches!(role, Role::Other(_)) && is_own;
            let states = self.states(&values).into_iter().take(if is_many { 3 } else { 1 });
            steps.extend(states.map(|before| Step::new(before, values.clone())));
        }
        for ((one, other), number) in roles.into_iter().tuple_combinations().zip(0..) {
            let mut values = values(self.call, Ids::Small, 1, 5_000 + number, number);
            values.insert(other, values.get(&one).cloned().unwrap_or_default());
            let [first, ..] = self.states(&values);
            steps.push(Step::new(first, values));
        }
        self.add_pieces("each constant of the script as stock and as argument", &steps);
    }

    /// Stocks and leases that are no usual ones.
    fn odd(&mut self) {
        let mut values = values(self.call, Ids::Small, 1, 1, 1);
        if self.act.is_of_stock() {
            // Of a bare stock, -1 is unlimited.
            let negative = if self.act.buyers.is_some() { Rigor::Same } else { Rigor::Known };
            let texts = ["", "abc", "1.5", "5.0", " 5", "1e3", "99999999999999999999"];
            let large = ["9007199254740993", "9223372036854775807"];
            for (about, rigor, stocks) in [
                ("stocks beyond 2^53", Rigor::Same, &large[..]),
                ("a stock of -1, which is unlimited for a command", negative, &["-1"]),
                ("a negative stock, which a command refuses", negative, &["-5"]),
                ("stocks that are no integers", Rigor::MayRefuse, &texts),
            ] {
                for stock in stocks {
                    let step = Step::new(vec![self.stock(&values, stock)], values.clone());
                    self.add(about, rigor, vec![step]);
                }
            }
        } else if self.has(Role::Lease) {
            values.insert(Role::Lease, b"90000000".to_vec());
            for before in self.states(&values) {
                let about = "a lease of more than a day, which a command refuses";
                self.add(about, Rigor::Known, vec![Step::new(before, values.clone())]);
            }
        }
    }

    /// Each key of every type, and each argument empty, negative, fractional, a text or missing,
    /// where a usual call finds what it looks for.
    fn damaged(&mut self) {
        let usual = values(self.call, Ids::Small, 1, 1, 1);
        let before = self.usual(&usual);
        for key in self.keys(&usual) {
            for words in self.of_every_type(&key, &usual) {
                let others = Some(before.clone()).filter(|words| words[1] != key);
                let step = Step::new(others.into_iter().chain([words]).collect(), usual.clone());
                self.add("keys of other types", Rigor::MayRefuse, vec![step]);
            }
        }
        for role in self.call.roles() {
            for odd in ["", "0", "-1", "1.5", "abc", "1e2", " 1", "99999999999999999999"] {
                let mut values = usual.clone();
                values.insert(role, odd.into());
                let step = Step::new(vec![self.usual(&values)], values);
                self.add("odd arguments", Rigor::Odd, vec![step]);
            }
        }
        let (keys, args) = (self.call.keys.len(), self.call.args.len());
        for forgets in (1..=args).map(|args| (0, args)).chain((1..=keys).map(|keys| (keys, 0))) {
            let step = Step { before: vec![before.clone()], values: usual.clone(), forgets };
            self.add("calls with fewer keys or arguments", Rigor::Odd, vec![step]);
        }
    }

    /// Commands that make a key of every type, with the first argument as its member.
    fn of_every_type(&self, key: &[u8], values: &Values) -> [Words; 6] {
        let member = self.call.args.first().map_or(b"1".to_vec(), |word| word.value(values));
        let one: &[u8] = b"1";
        let types: [(&str, &[&[u8]]); 6] = [
            ("SET", &[b"5"]),
            ("HSET", &[&member, one]),
            ("SADD", &[&member]),
            ("ZADD", &[one, &member]),
            ("RPUSH", &[&member]),
            ("XADD", &[b"*", b"a", b"b"]),
        ];
        types.map(|(name, items)| {
            let words = [name.as_bytes(), key].into_iter().chain(items.iter().copied());
            words.map(<[u8]>::to_vec).collect()
        })
    }
}
