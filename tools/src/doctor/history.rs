//! The histories in which a script and what replaces it are compared: ids as shops have them,
//! amounts, leases and the constants of the script; what is in the keys, and which calls follow.

use domain::integer;
use fastrand::Rng;
use itertools::Itertools;

use crate::call::{Call, Role, Values};
use crate::learn::{Act, Deed};
use crate::lua::Lua;
use crate::reply::Words;
use crate::template::Template;

/// What other clients do before a call, and its values.
#[derive(Clone)]
pub struct Step {
    pub before: Vec<Words>,
    pub values: Values,
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
        self.rigor == Rigor::Same && !self.about.contains("constant")
    }
}

const STOCKS: [i64; 15] = [0, 1, 2, 3, 4, 5, 9, 10, 11, 15, 20, 99, 100, 101, 1000];

const UNITS: [i64; 9] = [1, 2, 3, 5, 9, 10, 11, 20, 300];

/// Leases in ms, from some seconds on, so that none ends meanwhile, up to a day.
const LEASES: [i64; 7] = [20_000, 30_000, 45_000, 80_000, 800_000, 5_000_000, 80_000_000];

/// Numbers, and times, that an argument of unknown meaning may be.
const USUAL: [i64; 9] = [1, 2, 3, 5, 60, 300, 86_400, 1_750_000_000, 1_750_000_000_000];

/// Ids as shops have them.
#[derive(Clone, Copy)]
enum Ids {
    Small,
    Snowflake,
    Uuid,
    Odd,
}

const IDS: [Ids; 4] = [Ids::Small, Ids::Snowflake, Ids::Uuid, Ids::Odd];

fn id(ids: Ids, kind: u64, number: u64) -> Vec<u8> {
    match ids {
        Ids::Small => (kind * 1000 + number + 1).to_string().into_bytes(),
        // Neighbours beyond 2^53: as numbers they would be one.
        Ids::Snowflake => {
            (1_782_938_471_625_347_073 + kind * 1_000_000 + number).to_string().into()
        }
        Ids::Uuid => format!("{kind:08x}-9b1d-4e2f-a5c6-{number:012x}").into_bytes(),
        // Long, with what texts are split at. Two neighbours differ by the case of a letter.
        Ids::Odd => {
            let letter = if number.is_multiple_of(2) { 'a' } else { 'A' };
            let text = format!("{letter}{kind}\u{e9} \"'\\,:;|/{:0>70}", number / 2);
            [text.as_bytes(), b"\xff\n%s"].concat()
        }
    }
}

/// All histories of one call.
pub fn histories(call: &Call, lua: &Lua, act: &Act) -> Vec<History> {
    let small = lua.numbers.iter().filter(|n| n.abs() < 1 << 40);
    let near = small.flat_map(|n| [n - 1, *n, n + 1]).filter(|n| *n >= 0);
    let numbers = near.dedup().take(40).collect();
    let mut writer = Writer { call, lua, act, numbers, all: Vec::new() };
    writer.random();
    writer.constants();
    writer.odd();
    writer.damaged();
    writer.all
}

struct Writer<'a> {
    call: &'a Call,
    lua: &'a Lua,
    act: &'a Act,
    /// Constants of the script, and their neighbours.
    numbers: Vec<i64>,
    all: Vec<History>,
}

fn command<const N: usize>(words: [&[u8]; N]) -> Words {
    words.map(<[u8]>::to_vec).to_vec()
}

impl Writer<'_> {
    fn add(&mut self, about: &'static str, steps: Vec<Step>) {
        self.all.push(History { about, rigor: Rigor::Same, steps });
    }

    /// A history of one step.
    fn add_one(&mut self, about: &'static str, rigor: Rigor, before: Vec<Words>, values: &Values) {
        let steps = vec![Step { before, values: values.clone() }];
        self.all.push(History { about, rigor, steps });
    }

    /// The values of a call: of user `user`, with the order `order`.
    fn values(&self, ids: Ids, voucher: u64, user: u64, order: u64) -> Values {
        let value = |role: Role| match role {
            Role::Voucher => id(ids, 0, voucher + 6),
            Role::User => id(ids, 1, user),
            Role::Order => id(ids, 2, order),
            Role::Token => id(ids, 3, user),
            Role::Request => id(ids, 4, order),
            Role::Lock => [b"lock:".to_vec(), id(ids, 5, voucher)].concat(),
            Role::Units => b"1".to_vec(),
            Role::Lease => b"40000".to_vec(),
            Role::Other(_) => b"90000".to_vec(),
        };
        self.call.roles().into_iter().map(|role| (role, value(role))).collect()
    }

    /// Other amounts, leases and numbers for the roles that are no ids.
    fn vary(&self, values: &mut Values, rng: &mut Rng) {
        let in_seconds = self.act.lease.as_ref().is_some_and(|own| own.1);
        let unit = if in_seconds { 1000 } else { 1 };
        let range = 10_000 / unit..80_000_000 / unit;
        let near = self.numbers.iter().copied().filter(|number| range.contains(number));
        let leases = LEASES.into_iter().map(|lease| lease / unit).chain(near).collect_vec();
        let numbers = self.numbers.iter().copied().filter(|number| *number > 0);
        let units = UNITS.into_iter().chain(numbers).collect_vec();
        let units = units[rng.usize(..units.len())];
        let lease = leases[rng.usize(..leases.len())];
        let usual = [&USUAL[..], &self.numbers].concat();
        for (role, value) in values {
            let number = match role {
                Role::Units => units,
                Role::Lease => lease,
                Role::Other(_) if self.act.deed != Deed::Sell => lease,
                Role::Other(_) => usual[rng.usize(..usual.len())],
                _ => continue,
            };
            *value = number.to_string().into_bytes();
        }
    }

    fn text(&self, template: &Template, values: &Values) -> Vec<u8> {
        template.text(self.call, values)
    }

    fn keys(&self, values: &Values) -> Words {
        self.act.keys().take(4).map(|key| self.text(key, values)).collect()
    }

    fn stock(&self, values: &Values, number: impl ToString) -> Words {
        command([b"SET", &self.text(&self.act.key, values), number.to_string().as_bytes()])
    }

    fn gone(&self, values: &Values) -> Words {
        command([b"DEL", &self.text(&self.act.key, values)])
    }

    fn held(&self, values: &Values, holder: &[u8], ends: bool) -> Words {
        let mut words = command([b"SET", &self.text(&self.act.key, values), holder]);
        words.extend(ends.then(|| command([b"PX", b"500000"])).into_iter().flatten());
        words
    }

    /// Units, the same again, and none; or its own lock, that of another, and none.
    fn states(&self, values: &Values) -> [Vec<Words>; 3] {
        match &self.act.token {
            Some(token) => {
                let own = self.held(values, &self.text(token, values), true);
                let other = self.held(values, b"another", true);
                [vec![own], vec![other], vec![self.gone(values)]]
            }
            None => [vec![self.stock(values, 7)], Vec::new(), vec![self.stock(values, 0)]],
        }
    }

    fn random(&mut self) {
        let (users, about) = match self.act.token {
            None => (14, "buyers, repeats and sold-out stocks, of keys that may be gone or expire"),
            _ => (3, "locks that are free, held, and held by others, with and without an end"),
        };
        let mut rng = Rng::with_seed(44);
        for ids in [IDS, IDS].concat() {
            let mut steps = Vec::new();
            for order in 0..40 {
                let mut values = self.values(ids, rng.u64(..2), rng.u64(..users), order);
                self.vary(&mut values, &mut rng);
                let own = self.act.token.as_ref().map(|token| self.text(token, &values));
                let held = |own: &[u8], ends| self.held(&values, own, ends);
                let others = match own {
                    Some(own) => vec![
                        held(&own, true),
                        held(&own, false),
                        held(&[&own[..], b"0"].concat(), true),
                        held(&[b"0", &own[..]].concat(), false),
                        held(b"", false),
                        held(&own.to_ascii_uppercase(), true),
                    ],
                    None => {
                        let stock = STOCKS[rng.usize(..STOCKS.len())];
                        let keys = self.keys(&values);
                        let key = &keys[rng.usize(..keys.len())];
                        let end = rng.u64(600_000..900_000).to_string();
                        let stock = self.stock(&values, stock);
                        vec![stock.clone(), stock, command([b"PEXPIRE", key, end.as_bytes()])]
                    }
                };
                let others = [&others[..], &[self.gone(&values)]].concat();
                // The first call finds what it looks for.
                let choice = if order == 0 { 0 } else { rng.usize(..8) };
                let before = others.get(choice).cloned().into_iter().collect();
                steps.push(Step { before, values });
            }
            self.add(about, steps);
        }
    }

    /// Constants of the script as the stock and as each argument, and calls two of whose arguments
    /// are the same.
    fn constants(&mut self) {
        const ABOUT: &str = "each constant of the script as stock and as argument";
        let usual = self.values(Ids::Small, 1, 1, 1);
        let of_stock = self.numbers.clone().into_iter().filter(|_| self.act.token.is_none());
        for number in of_stock {
            self.add_one(ABOUT, Rigor::Same, vec![self.stock(&usual, number)], &usual);
        }
        let is_amount = |role: &Role| matches!(role, Role::Units | Role::Lease);
        let roles = self.call.roles().into_iter().filter(|role| !is_amount(role)).collect_vec();
        // An order id of * is one that the module makes.
        let is_word = |text: &&String| {
            let is_command = self.lua.commands.contains(&text.to_uppercase());
            (1..40).contains(&text.len()) && *text != "*" && !is_command
        };
        let texts = self.lua.texts.iter().filter(is_word).take(30).cloned();
        let words = self.numbers.iter().map(ToString::to_string).chain(texts);
        let words = words.map(String::into_bytes).collect_vec();
        for role in &roles {
            let same = roles.iter().filter(|own| *own != role).map(|own| usual[own].clone());
            for word in words.iter().cloned().chain(same) {
                // A word of the text may let a buyer in again, or without a stock.
                let is_own = integer::parse(&word).is_none_or(|n| self.lua.numbers.contains(&n));
                let is_many = self.act.token.is_some() || matches!(role, Role::Other(_)) && is_own;
                let mut values = usual.clone();
                values.insert(*role, word);
                for before in self.states(&values).into_iter().take(if is_many { 3 } else { 1 }) {
                    self.add_one(ABOUT, Rigor::Same, before, &values);
                }
            }
        }
    }

    /// Stocks that are no usual ones.
    fn odd(&mut self) {
        // Of a bare stock, -1 is unlimited.
        let negative = if self.act.buyers.is_some() { Rigor::Same } else { Rigor::Known };
        let texts = ["", "abc", "1.5", "5.0", " 5", "1e3", "99999999999999999999"];
        let values = self.values(Ids::Small, 1, 1, 1);
        for (about, rigor, stocks) in [
            ("a stock of -1, which is unlimited for a command", negative, &["-1"][..]),
            ("a negative stock, which a command refuses", negative, &["-5"]),
            ("stocks that are no integers", Rigor::MayRefuse, &texts),
        ] {
            for stock in stocks.iter().filter(|_| self.act.deed == Deed::Sell) {
                self.add_one(about, rigor, vec![self.stock(&values, stock)], &values);
            }
        }
    }

    /// Each key of every type, and each argument empty, negative, fractional or a text, where a
    /// usual call finds what it looks for.
    fn damaged(&mut self) {
        let usual = self.values(Ids::Small, 1, 1, 1);
        let [before, ..] = self.states(&usual);
        let member = self.call.args.first().map_or(b"1".to_vec(), |word| word.value(&usual));
        for key in &self.keys(&usual) {
            for words in [
                command([b"SET", key, b"5"]),
                command([b"HSET", key, &member, b"1"]),
                command([b"SADD", key, &member]),
                command([b"ZADD", key, b"1", &member]),
                command([b"RPUSH", key, &member]),
                command([b"XADD", key, b"*", b"a", b"b"]),
            ] {
                let others = before.iter().filter(|words| words[1] != *key).cloned();
                let before = others.chain([words]).collect();
                self.add_one("keys of other types", Rigor::MayRefuse, before, &usual);
            }
        }
        for role in self.call.roles() {
            for odd in ["", "0", "-1", "1.5", "abc", "1e2", " 1", "99999999999999999999"] {
                let mut values = usual.clone();
                values.insert(role, odd.into());
                let [before, ..] = self.states(&values);
                self.add_one("odd arguments", Rigor::Odd, before, &values);
            }
        }
    }
}
