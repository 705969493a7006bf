//! The histories in which a script and what replaces it are compared: what is in the keys, and
//! which calls follow.

mod constants;
mod damage;
mod locks;

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
        let value = |role: Role| match role {
            Role::Voucher if self.is_tagged => {
                [b"{", id(ids, 0, voucher + 6).as_slice(), b"}"].concat()
            }
            Role::Lock if self.is_tagged => {
                [b"lock:{", id(ids, 5, voucher).as_slice(), b"}"].concat()
            }
            Role::Voucher => id(ids, 0, voucher + 6),
            Role::User => id(ids, 1, user),
            Role::Order => id(ids, 2, order),
            Role::Token => id(ids, 3, user),
            Role::Request => id(ids, 4, order),
            Role::Lock => [b"lock:", id(ids, 5, voucher).as_slice()].concat(),
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

    /// The keys of a sale, with the member that would be theirs.
    fn keys(&self, sale: &Sale, values: &Values) -> Words {
        let stream = sale.orders.as_ref().map(|orders| &orders.stream);
        let buyers = sale.buyers.as_ref().map(|(buyers, _)| buyers);
        let keys = [Some(&sale.stock), buyers, stream].into_iter().flatten();
        let keys = keys.chain(&sale.extra_keys).take(KEYS_MAX);
        keys.map(|key| self.text(key, values)).collect()
    }

    pub fn of_sale(&mut self, sale: &Sale) -> Vec<History> {
        let mut all = self.missing(sale);
        all.extend(self.sold_out(sale));
        all.extend(self.amounts(sale));
        all.extend(self.expiring(sale));
        all.extend(self.constants(sale));
        all.extend(self.damaged_stock(sale));
        let values = self.values(Ids::Small, 1, 1, 1);
        let keys = self.keys(sale, &values);
        let stock = self.planted(sale, &values, b"5");
        all.extend(self.wrong_types(&keys, &[stock], &values));
        all.extend(self.odd_arguments(|writer, values| vec![writer.planted(sale, values, b"5")]));
        for ids in IDS {
            all.push(self.random_sales(sale, ids));
        }
        all
    }

    fn sold_out(&mut self, sale: &Sale) -> Vec<History> {
        let mut all = Vec::new();
        for (at, stock) in STOCKS.into_iter().enumerate() {
            let ids = IDS[at % 3];
            let tries = usize::try_from(stock.min(11)).unwrap_or(11) + 2;
            let mut steps: Vec<Step> = (0..tries as u64)
                .flat_map(|user| [(user, user), (user / 2, 100 + user)])
                .map(|(user, order)| Step::new(Vec::new(), self.values(ids, 1, user, order)))
                .collect();
            let stock = self.planted(sale, &steps[0].values, stock.to_string().as_bytes());
            steps[0].before.push(stock);
            all.push(History {
                about: "buyers, repeats and a sold-out stock",
                rigor: Rigor::Same,
                steps,
            });
        }
        // A small stock, to show the first difference by a short history.
        all.sort_by_key(|history| history.steps.len());
        all
    }

    fn amounts(&mut self, sale: &Sale) -> Vec<History> {
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

    fn missing(&mut self, sale: &Sale) -> Vec<History> {
        let mut steps: Vec<Step> = (0..4)
            .map(|n| Step::new(Vec::new(), self.values(IDS[n as usize % 3], n, n / 2, n)))
            .collect();
        let mut all = Vec::new();
        let about = "a missing stock";
        all.push(History { about, rigor: Rigor::Same, steps: steps.clone() });
        for step in &mut steps {
            // Those who have bought, of a stock that has gone.
            let stock = self.planted(sale, &step.values, b"3");
            let key = self.text(&sale.stock, &step.values);
            let buyers = sale.buyers.as_ref().map(|(buyers, user)| {
                let user = self.call.word(*user).map(|word| word.value(&step.values));
                vec![b"SADD".to_vec(), self.text(buyers, &step.values), user.unwrap_or_default()]
            });
            step.before = vec![stock, vec![b"DEL".to_vec(), key]];
            step.before.extend(buyers);
        }
        all.push(History { about, rigor: Rigor::Same, steps });
        all
    }

    /// Each key with a time to live, alone and together with the others.
    fn expiring(&mut self, sale: &Sale) -> Vec<History> {
        let first = self.values(Ids::Small, 1, 1, 1);
        let keys = self.keys(sale, &first);
        let mut all = Vec::new();
        for choice in 1..1_u32 << keys.len() {
            let mut steps: Vec<Step> = [(1, 1), (2, 2), (1, 3), (3, 4), (4, 5)]
                .into_iter()
                .map(|(user, order)| Step::new(Vec::new(), self.values(Ids::Small, 1, user, order)))
                .collect();
            steps[0].before.push(self.planted(sale, &first, b"3"));
            let expire: Vec<Words> = keys
                .iter()
                .enumerate()
                .filter(|(at, _)| choice >> at & 1 == 1)
                .map(|(at, key)| {
                    let ms = (600_000 + at * 100_000).to_string();
                    vec![b"PEXPIRE".to_vec(), key.clone(), ms.into_bytes()]
                })
                .collect();
            steps[0].before.extend(expire.clone());
            steps[1].before = expire;
            let about = "a time to live on each key";
            all.push(History { about, rigor: Rigor::Same, steps });
        }
        all
    }

    fn damaged_stock(&mut self, sale: &Sale) -> Vec<History> {
        let bare = sale.buyers.is_none();
        let with = |stock: &str, rigor, about| {
            let values = self.values(Ids::Small, 1, 1, 1);
            let before = vec![self.planted(sale, &values, stock.as_bytes())];
            History { about, rigor, steps: vec![Step::new(before, values)] }
        };
        let large = ["9007199254740993", "9223372036854775807"];
        let mut all: Vec<History> =
            large.iter().map(|n| with(n, Rigor::Same, "stocks beyond 2^53")).collect();
        if !bare {
            all.extend(["-1", "-5"].map(|n| with(n, Rigor::Same, "negative stocks")));
        }
        let damaged = ["", "abc", "1.5", "5.0", " 5", "1e3", "99999999999999999999"];
        let about = "stocks that are no integers";
        all.extend(damaged.iter().map(|text| with(text, Rigor::MayRefuse, about)));
        all
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
        History { about: "random calls on two vouchers", rigor: Rigor::Same, steps }
    }
}

/// Histories of a few steps each, of steps that do not depend on each other.
fn in_pieces(about: &'static str, steps: &[Step]) -> Vec<History> {
    let piece = |steps: &[Step]| History { about, rigor: Rigor::Same, steps: steps.to_vec() };
    steps.chunks(10).map(piece).collect()
}
