//! The histories in which a script and what replaces it are compared: what is in the keys, and
//! which calls follow.

mod locks;
mod odd;

use crate::bench::Entry;
use crate::call::{Call, Role, Values};
use crate::keyspace::{Cell, planted};
use crate::learn::Sale;
use crate::lua::Lua;
use crate::template::Template;
use crate::wire::Words;

/// One call, and what other clients do before it.
#[derive(Clone, Debug)]
pub struct Step {
    pub before: Vec<Words>,
    pub values: Values,
    /// How many of KEYS and ARGV the caller forgets, from the last one on.
    pub forgets: (usize, usize),
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
    fn new(about: &'static str, rigor: Rigor, steps: Vec<Step>) -> Self {
        Self { about, rigor, steps }
    }

    fn same(about: &'static str, steps: Vec<Step>) -> Self {
        Self::new(about, Rigor::Same, steps)
    }

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

/// Makes the histories of one call.
pub struct Writer<'a> {
    pub call: &'a Call,
    pub lua: &'a Lua,
    /// Whether the keys of a voucher have one hash tag.
    pub is_tagged: bool,
    rng: fastrand::Rng,
}

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

impl<'a> Writer<'a> {
    pub fn new(call: &'a Call, lua: &'a Lua) -> Self {
        Self { call, lua, is_tagged: false, rng: fastrand::Rng::with_seed(44) }
    }

    /// The first histories that `write` makes, for nodes of clusters.
    pub fn for_nodes(mut self, write: impl Fn(&mut Self) -> Vec<History>) -> Vec<History> {
        self.is_tagged = true;
        let mut all = write(&mut self);
        all.retain(|history| history.rigor == Rigor::Same);
        all.truncate(6);
        all
    }

    /// The values of a call: of user `user`, with the order `order`.
    fn values(&self, ids: Ids, voucher: u64, user: u64, order: u64) -> Values {
        let tagged = |id: Vec<u8>| match self.is_tagged {
            true => [b"{", id.as_slice(), b"}"].concat(),
            false => id,
        };
        let value = |role: Role| match role {
            Role::Voucher => tagged(id(ids, 0, voucher + 6)),
            Role::User => id(ids, 1, user),
            Role::Order => id(ids, 2, order),
            Role::Token => id(ids, 3, user),
            Role::Request => id(ids, 4, order),
            Role::Lock => [b"lock:".to_vec(), tagged(id(ids, 5, voucher))].concat(),
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

    fn has(&self, role: Role) -> bool {
        self.call.roles().contains(&role)
    }

    /// Roles whose values may be any text.
    fn others(&self) -> Vec<Role> {
        self.call.roles().into_iter().filter(|role| matches!(role, Role::Other(_))).collect()
    }

    fn planted(&self, sale: &Sale, values: &Values, stock: &[u8]) -> Words {
        let (key, item) = (self.text(&sale.stock, values), self.text(&sale.item, values));
        planted(&Cell { key, kind: sale.kind, item }, stock)
    }

    pub fn of_sale(&mut self, sale: &Sale) -> Vec<History> {
        let values = self.values(Ids::Small, 1, 1, 1);
        let keys = sale.keys().take(KEYS_MAX);
        let keys: Words = keys.map(|key| self.text(key, &values)).collect();
        let mut all = self.missing(sale);
        all.extend(self.sold_out(sale));
        all.extend(self.amounts(sale));
        all.extend(self.expiring(sale, &keys));
        all.extend(self.constants(sale));
        all.extend(self.odd_stocks(sale));
        all.extend(self.damaged(&keys, |writer, values| writer.planted(sale, values, b"5")));
        all.extend(IDS.map(|ids| self.random_sales(sale, ids)));
        all
    }

    fn sold_out(&self, sale: &Sale) -> Vec<History> {
        let history = |(at, stock): (usize, i64)| {
            let tries = stock.min(11).unsigned_abs() + 2;
            let calls = (0..tries).flat_map(|user| [(user, user), (user / 2, 100 + user)]);
            let mut steps = self.steps(IDS[at % 3], calls);
            let stock = self.planted(sale, &steps[0].values, stock.to_string().as_bytes());
            steps[0].before.push(stock);
            History::same("buyers, repeats and a sold-out stock", steps)
        };
        // A small stock first, to show the first difference by a short history.
        let mut all: Vec<_> = STOCKS.into_iter().enumerate().map(history).collect();
        all.sort_by_key(|history| history.steps.len());
        all
    }

    /// Calls of users, each with the number of its order, for one voucher.
    fn steps(&self, ids: Ids, calls: impl IntoIterator<Item = (u64, u64)>) -> Vec<Step> {
        let values = |(user, order)| self.values(ids, 1, user, order);
        calls.into_iter().map(|call| Step::new(Vec::new(), values(call))).collect()
    }

    fn amounts(&self, sale: &Sale) -> Vec<History> {
        if !self.has(Role::Units) {
            return Vec::new();
        }
        let mut units = UNITS.to_vec();
        units.extend(self.numbers().into_iter().filter(|n| *n > 0));
        let mut steps = Vec::new();
        for (at, stock) in STOCKS.into_iter().enumerate() {
            for (number, units) in units.iter().enumerate() {
                let place = (at * 100 + number) as u64;
                let mut values = self.values(IDS[number % 3], 1, place, place);
                values.insert(Role::Units, units.to_string().into_bytes());
                let stock = self.planted(sale, &values, stock.to_string().as_bytes());
                steps.push(Step::new(vec![stock], values));
            }
        }
        in_pieces("units 1 to 20 of stocks with one to four digits", &steps)
    }

    fn missing(&self, sale: &Sale) -> Vec<History> {
        let about = "a missing stock";
        let values = |n: u64| self.values(IDS[n as usize % 3], n, n / 2, n);
        let bare: Vec<Step> = (0..4).map(|n| Step::new(Vec::new(), values(n))).collect();
        let mut steps = bare.clone();
        for step in &mut steps {
            // Those who have bought, of a stock that has gone.
            let key = self.text(&sale.stock, &step.values);
            let buyers = sale.buyers.as_ref().map(|(buyers, user)| {
                let user = Template::place(*user);
                [b"SADD".to_vec(), self.text(buyers, &step.values), self.text(&user, &step.values)]
            });
            step.before = vec![self.planted(sale, &step.values, b"3"), vec![b"DEL".to_vec(), key]];
            step.before.extend(buyers.map(Vec::from));
        }
        vec![History::same(about, bare), History::same(about, steps)]
    }

    /// Each key with a time to live, alone and together with the others.
    fn expiring(&self, sale: &Sale, keys: &Words) -> Vec<History> {
        let history = |choice: u32| {
            let chosen = keys.iter().enumerate().filter(|(at, _)| choice >> at & 1 == 1);
            let expire = chosen.map(|(at, key)| {
                let ms = (600_000 + at * 100_000).to_string();
                vec![b"PEXPIRE".to_vec(), key.clone(), ms.into_bytes()]
            });
            let expire: Vec<Words> = expire.collect();
            let mut steps = self.steps(Ids::Small, [(1, 1), (2, 2), (1, 3), (3, 4), (4, 5)]);
            let stock = self.planted(sale, &steps[0].values, b"3");
            steps[0].before = [vec![stock], expire.clone()].concat();
            steps[1].before = expire;
            History::same("a time to live on each key", steps)
        };
        (1..1 << keys.len()).map(history).collect()
    }

    fn odd_stocks(&self, sale: &Sale) -> Vec<History> {
        const KINDS: [(&str, Rigor, &[&str]); 3] = [
            ("stocks beyond 2^53", Rigor::Same, &["9007199254740993", "9223372036854775807"]),
            ("negative stocks", Rigor::Same, &["-1", "-5"]),
            (
                "stocks that are no integers",
                Rigor::MayRefuse,
                &["", "abc", "1.5", "5.0", " 5", "1e3", "99999999999999999999"],
            ),
        ];
        let kinds = KINDS.into_iter().filter(|(about, ..)| {
            // Of a bare stock, -1 is unlimited.
            sale.buyers.is_some() || *about != "negative stocks"
        });
        let history = |about, rigor, stock: &&str| {
            let values = self.values(Ids::Small, 1, 1, 1);
            let before = vec![self.planted(sale, &values, stock.as_bytes())];
            History::new(about, rigor, vec![Step::new(before, values)])
        };
        let all = kinds.flat_map(|(about, rigor, stocks)| {
            stocks.iter().map(move |stock| history(about, rigor, stock))
        });
        all.collect()
    }

    fn random_sales(&mut self, sale: &Sale, ids: Ids) -> History {
        let numbers = self.numbers();
        let others = self.others();
        let mut steps = Vec::new();
        for order in 0..40 {
            let (voucher, user) = (self.rng.u64(..2), self.rng.u64(..6));
            let mut values = self.values(ids, voucher, user, order);
            if self.has(Role::Units) {
                let units = UNITS[self.rng.usize(..UNITS.len())];
                values.insert(Role::Units, units.to_string().into_bytes());
            }
            for role in &others {
                const USUAL: [&str; 9] =
                    ["1", "2", "3", "5", "60", "300", "86400", "1750000000", "1750000000000"];
                let usual = self.rng.usize(..USUAL.len() + numbers.len());
                let number = usual.checked_sub(USUAL.len()).map(|at| numbers[at].to_string());
                let value = number.unwrap_or_else(|| USUAL[usual].to_owned());
                values.insert(*role, value.into_bytes());
            }
            let mut before = Vec::new();
            match self.rng.u32(..8) {
                0 | 1 => {
                    let stock = STOCKS[self.rng.usize(..STOCKS.len())].to_string();
                    before.push(self.planted(sale, &values, stock.as_bytes()));
                }
                2 => before.push(vec![b"DEL".to_vec(), self.text(&sale.stock, &values)]),
                _ => {}
            }
            steps.push(Step::new(before, values));
        }
        History::same("random calls on two vouchers", steps)
    }
}

/// Histories of a few steps each, of steps that do not depend on each other.
fn in_pieces(about: &'static str, steps: &[Step]) -> Vec<History> {
    steps.chunks(10).map(|steps| History::same(about, steps.to_vec())).collect()
}
