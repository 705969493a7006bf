//! The histories in which a script and what replaces it are compared: what is in the keys, and
//! which calls follow. `odd` are those that are no usual ones.

mod odd;

use domain::integer;
use itertools::Itertools;

use crate::bench::Entry;
use crate::call::{Call, Role, Values};
use crate::keyspace::{Cell, planted};
use crate::learn::{Act, Deed};
use crate::lua::Lua;
use crate::template::Template;
use crate::wire::Words;

/// One call, and what other clients do before it.
#[derive(Clone, Debug)]
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
    pub fn words(&self, entry: &Entry, call: &Call) -> Words {
        let mut words = entry.words(call, &self.values);
        let keys = call.keys.len().saturating_sub(self.forgets.0);
        words.truncate(words.len().saturating_sub(self.forgets.1));
        words.drain(3 + keys..3 + call.keys.len());
        words[2] = keys.to_string().into_bytes();
        words
    }
}

/// How strictly a history is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

#[derive(Clone, Debug)]
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

const UNITS: [i64; 8] = [1, 2, 3, 5, 9, 10, 11, 20];

/// Leases in ms, from some seconds on, so that none ends meanwhile, up to a day.
const LEASES: [i64; 7] = [20_000, 30_000, 45_000, 80_000, 800_000, 5_000_000, 80_000_000];

/// Numbers, and times, that an argument of unknown meaning may be.
const USUAL: [i64; 9] = [1, 2, 3, 5, 60, 300, 86_400, 1_750_000_000, 1_750_000_000_000];

/// Ids as shops have them.
#[derive(Clone, Copy, PartialEq, Eq)]
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
        // Two neighbours differ by the case of a letter.
        Ids::Odd => {
            let letter = if number.is_multiple_of(2) { 'a' } else { 'A' };
            let text = format!("{letter}{kind}\u{e9} \"{}'\\", number / 2);
            [text.as_bytes(), b"\xff\n%s"].concat()
        }
    }
}

/// All histories of one call.
pub fn histories(call: &Call, lua: &Lua, act: &Act) -> Vec<History> {
    Writer { call, lua, act, rng: fastrand::Rng::with_seed(44) }.all()
}

struct Writer<'a> {
    call: &'a Call,
    lua: &'a Lua,
    act: &'a Act,
    rng: fastrand::Rng,
}

impl Writer<'_> {
    fn all(&mut self) -> Vec<History> {
        let mut all = Vec::new();
        if self.act.deed == Deed::Sell {
            all.extend(self.missing());
            all.extend(self.sold_out());
            all.extend(self.amounts());
            all.extend(self.expiring());
        }
        let random = [
            "locks that are free, held, and held by others, with and without an end",
            "random calls on two vouchers",
        ];
        let random = random[usize::from(self.act.is_of_stock())];
        let at_random = IDS.map(|ids| same(random, self.random(ids)));
        if self.act.is_of_stock() {
            all.extend(self.constants());
            all.extend(at_random);
        } else {
            all.extend(at_random);
            all.extend(self.constants());
        }
        all.extend(self.odd());
        all.extend(self.damaged());
        all
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

    fn text(&self, template: &Template, values: &Values) -> Vec<u8> {
        template.text(self.call, values)
    }

    /// Constants of the script, and their neighbours.
    fn numbers(&self) -> Vec<i64> {
        let near = |n: &i64| [n.saturating_sub(1), *n, n.saturating_add(1)];
        let near = self.lua.numbers.iter().filter(|n| n.abs() < 1 << 40).flat_map(near);
        let mut numbers: Vec<i64> = near.filter(|n| *n >= 0).collect();
        numbers.dedup();
        numbers.truncate(40);
        numbers
    }

    /// Constants of the script, as arguments.
    fn words(&self) -> Words {
        // An order id of * is one that the module makes.
        let is_word = |text: &&String| {
            let is_command = self.lua.commands.contains(&text.to_uppercase());
            (1..40).contains(&text.len()) && *text != "*" && !is_command
        };
        let texts = self.lua.texts.iter().filter(is_word).take(30);
        let texts = texts.map(|text| text.clone().into_bytes());
        self.numbers().into_iter().map(|n| n.to_string().into_bytes()).chain(texts).collect()
    }

    fn has(&self, role: Role) -> bool {
        self.call.roles().contains(&role)
    }

    /// Other amounts, leases and numbers for the roles that are no ids.
    fn vary(&mut self, values: &mut Values) {
        let (in_seconds, numbers) =
            (self.act.lease.as_ref().is_some_and(|own| own.1), self.numbers());
        let unit = if in_seconds { 1000 } else { 1 };
        let leases = LEASES.map(|lease| lease / unit).to_vec();
        let range = 10_000 / unit..80_000_000 / unit;
        let near = numbers.iter().copied().filter(|number| range.contains(number));
        let leases = [leases, near.collect()].concat();
        let units = UNITS[self.rng.usize(..UNITS.len())];
        let lease = leases[self.rng.usize(..leases.len())];
        let usual = [&USUAL[..], &numbers].concat();
        for (role, value) in values {
            let number = match role {
                Role::Units => units,
                Role::Lease => lease,
                Role::Other(_) if self.act.deed == Deed::Return => units,
                Role::Other(_) if !self.act.is_of_stock() => lease,
                Role::Other(_) => usual[self.rng.usize(..usual.len())],
                _ => continue,
            };
            *value = number.to_string().into_bytes();
        }
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

    fn random(&mut self, ids: Ids) -> Vec<Step> {
        let is_of_stock = self.act.is_of_stock();
        let step = |order| {
            let users = if is_of_stock { 6 } else { 3 };
            let (voucher, user) = (self.rng.u64(..2), self.rng.u64(..users));
            let mut values = self.values(ids, voucher, user, order);
            self.vary(&mut values);
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
        (0..40).map(step).collect()
    }

    /// Calls of users, each with the number of its order, for one voucher.
    fn steps(&self, ids: Ids, calls: impl IntoIterator<Item = (u64, u64)>) -> Vec<Step> {
        let values = |(user, order)| self.values(ids, 1, user, order);
        calls.into_iter().map(|call| Step::new(Vec::new(), values(call))).collect()
    }

    fn sold_out(&self) -> Vec<History> {
        let history = |(at, stock): (usize, i64)| {
            let tries = stock.min(11).unsigned_abs() + 2;
            let calls = (0..tries).flat_map(|user| [(user, user), (user / 2, 100 + user)]);
            let mut steps = self.steps(IDS[at % 3], calls);
            let stock = self.stock(&steps[0].values, stock);
            steps[0].before.push(stock);
            same("buyers, repeats and a sold-out stock", steps)
        };
        // A small stock first, to show the first difference by a short history.
        let mut all: Vec<_> = STOCKS.into_iter().enumerate().map(history).collect();
        all.sort_by_key(|history| history.steps.len());
        all
    }

    fn amounts(&self) -> Vec<History> {
        let numbers = self.numbers().into_iter().filter(|n| *n > 0);
        let units = UNITS.into_iter().chain(numbers).filter(|_| self.has(Role::Units));
        let pairs = STOCKS.into_iter().cartesian_product(units);
        let step = |(place, (stock, units)): (usize, (i64, i64))| {
            let mut values = self.values(IDS[place % 3], 1, place as u64, place as u64);
            values.insert(Role::Units, units.to_string().into_bytes());
            Step::new(vec![self.stock(&values, stock)], values)
        };
        let steps: Vec<Step> = pairs.enumerate().map(step).collect();
        in_pieces("units 1 to 20 of stocks with one to four digits", &steps)
    }

    fn missing(&self) -> [History; 2] {
        let values = |n: u64| self.values(IDS[n as usize % 3], n, n / 2, n);
        let bare: Vec<Step> = (0..4).map(|n| Step::new(Vec::new(), values(n))).collect();
        let mut steps = bare.clone();
        for step in &mut steps {
            // Those who have bought, of a stock that has gone.
            let key = self.text(&self.act.key, &step.values);
            let buyers = self.act.buyers.as_ref().map(|(buyers, user)| {
                let user = Template::place(*user);
                [b"SADD".to_vec(), self.text(buyers, &step.values), self.text(&user, &step.values)]
            });
            step.before = vec![self.stock(&step.values, 3), vec![b"DEL".to_vec(), key]];
            step.before.extend(buyers.map(Vec::from));
        }
        [bare, steps].map(|steps| same("a missing stock", steps))
    }

    fn keys(&self, values: &Values) -> Words {
        self.act.keys().take(KEYS_MAX).map(|key| self.text(key, values)).collect()
    }

    /// Each key with a time to live, alone and together with the others.
    fn expiring(&self) -> Vec<History> {
        let keys = self.keys(&self.values(Ids::Small, 1, 1, 1));
        let history = |choice: u32| {
            let chosen = keys.iter().enumerate().filter(|(at, _)| choice >> at & 1 == 1);
            let expire = chosen.map(|(at, key)| {
                let ms = (600_000 + at * 100_000).to_string();
                vec![b"PEXPIRE".to_vec(), key.clone(), ms.into_bytes()]
            });
            let expire: Vec<Words> = expire.collect();
            let mut steps = self.steps(Ids::Small, [(1, 1), (2, 2), (1, 3), (3, 4), (4, 5)]);
            steps[0].before = [vec![self.stock(&steps[0].values, 3)], expire.clone()].concat();
            steps[1].before = expire;
            same("a time to live on each key", steps)
        };
        (1..1 << keys.len()).map(history).collect()
    }

    /// Constants of the script as the stock and as each argument, and calls two of whose arguments
    /// are the same.
    fn constants(&self) -> Vec<History> {
        let mut steps = Vec::new();
        for (at, number) in
            self.numbers().into_iter().enumerate().filter(|_| self.act.token.is_none())
        {
            let values = self.values(Ids::Small, 1, 2_000 + at as u64, at as u64);
            steps.push(Step::new(vec![self.stock(&values, number)], values));
        }
        let is_amount = |role: &Role| matches!(role, Role::Units | Role::Lease);
        let roles = self.call.roles().into_iter().filter(|role| !is_amount(role)).collect_vec();
        let words = self.words();
        for (role, (at, word)) in roles.iter().cartesian_product(words.iter().enumerate()) {
            let mut values = self.values(Ids::Small, 1, 3_000 + at as u64, at as u64);
            values.insert(*role, word.clone());
            let states = self.states(&values);
            // A word of the text may let a buyer in again, or without a stock.
            let is_own = integer::parse(word).is_none_or(|n| self.lua.numbers.contains(&n));
            let is_many = self.act.token.is_some() || matches!(role, Role::Other(_)) && is_own;
            let states = states.into_iter().take(if is_many { 3 } else { 1 });
            steps.extend(states.map(|before| Step::new(before, values.clone())));
        }
        for (number, (one, other)) in roles.into_iter().tuple_combinations().enumerate() {
            let mut values = self.values(Ids::Small, 1, 5_000 + number as u64, number as u64);
            values.insert(other, values.get(&one).cloned().unwrap_or_default());
            let [first, ..] = self.states(&values);
            steps.push(Step::new(first, values));
        }
        in_pieces("each constant of the script as stock and as argument", &steps)
    }
}

fn same(about: &'static str, steps: Vec<Step>) -> History {
    History { about, rigor: Rigor::Same, steps }
}

/// Histories of a few steps each, of steps that do not depend on each other.
fn in_pieces(about: &'static str, steps: &[Step]) -> Vec<History> {
    steps.chunks(10).map(|steps| same(about, steps.to_vec())).collect()
}
