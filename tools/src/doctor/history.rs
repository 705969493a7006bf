//! The histories in which a script and what replaces it are compared: ids as shops have them,
//! amounts and leases, near the numbers of the script, too; what is in the keys, and which calls
//! follow.

use fastrand::Rng;
use itertools::Itertools;

use crate::call::{Call, Role, Values};
use crate::examination::Step;
use crate::learn::{Act, Deed};
use crate::lua::Lua;
use crate::reply::{Words, command};
use crate::template::Template;

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

pub struct History {
    /// What is compared, for people.
    pub about: &'static str,
    pub rigor: Rigor,
    pub steps: Vec<Step>,
}

const STOCKS: [i64; 15] = [0, 1, 2, 3, 4, 5, 9, 10, 11, 15, 20, 99, 100, 101, 1000];

const UNITS: [i64; 9] = [1, 2, 3, 5, 9, 10, 11, 20, 300];

/// Leases in ms, from some seconds on, so that none ends meanwhile, up to a day.
const LEASES: [i64; 7] = [20_000, 30_000, 45_000, 80_000, 800_000, 5_000_000, 80_000_000];

/// Numbers, and times, that an argument of unknown meaning may be.
const USUAL: [i64; 9] = [1, 2, 3, 5, 60, 300, 86_400, 1_750_000_000, 1_750_000_000_000];

/// An id of a kind, as shops have them.
type Ids = fn(kind: u64, number: u64) -> Vec<u8>;

const IDS: [Ids; 3] = [small, snowflake, odd];

fn small(kind: u64, number: u64) -> Vec<u8> {
    (kind * 1000 + number + 1).to_string().into_bytes()
}

/// Neighbours beyond 2^53: as numbers they would be one.
fn snowflake(kind: u64, number: u64) -> Vec<u8> {
    (1_782_938_471_625_347_073 + kind * 1_000_000 + number).to_string().into()
}

/// Long, with what texts are split at. Two neighbours differ by the case of a letter.
fn odd(kind: u64, number: u64) -> Vec<u8> {
    let letter = if number.is_multiple_of(2) { 'a' } else { 'A' };
    let text = format!("{letter}{kind}\u{e9} \"'\\,:;|/-_.@{:0>70}", number / 2);
    [text.as_bytes(), b"\xff\n%s"].concat()
}

/// All histories of one call.
pub fn histories(call: &Call, lua: &Lua, act: &Act) -> Vec<History> {
    let small = lua.numbers.iter().filter(|n| n.abs() < 1 << 40);
    let near = small.flat_map(|n| [n - 1, *n, n + 1]).filter(|n| *n >= 0);
    let numbers = near.dedup().take(40).collect();
    let writer = Writer { call, act, numbers };
    let single = writer.stocks().into_iter().chain(writer.arguments()).chain(writer.types());
    writer.random().into_iter().chain(single).collect()
}

struct Writer<'a> {
    call: &'a Call,
    act: &'a Act,
    /// Constants of the script, and their neighbours.
    numbers: Vec<i64>,
}

/// A history of one call.
fn one(about: &'static str, rigor: Rigor, before: Vec<Words>, values: &Values) -> History {
    History { about, rigor, steps: vec![Step { before, values: values.clone() }] }
}

impl Writer<'_> {
    /// The values of a call: of user `user`, with the order `order`.
    fn values(&self, ids: Ids, voucher: u64, user: u64, order: u64) -> Values {
        let value = |role: Role| match role {
            Role::Voucher => ids(0, voucher + 6),
            Role::User => ids(1, user),
            Role::Order => ids(2, order),
            Role::Token => ids(3, user),
            Role::Request => ids(4, order),
            Role::Lock => [b"lock:".to_vec(), ids(5, voucher)].concat(),
            Role::Units => b"1".to_vec(),
            Role::Lease => b"40000".to_vec(),
            Role::Other(_) => b"90000".to_vec(),
        };
        self.call.roles().into_iter().map(|role| (role, value(role))).collect()
    }

    fn usual(&self) -> Values {
        self.values(small, 1, 1, 1)
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
        let usual = [&USUAL[..], &self.numbers].concat();
        let [units, lease] = [units, leases].map(|all| all[rng.usize(..all.len())]);
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
        self.act.keys().map(|key| self.text(key, values)).unique().collect()
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

    /// Units, or its own lock.
    fn found(&self, values: &Values) -> Words {
        match &self.act.token {
            Some(token) => self.held(values, &self.text(token, values), true),
            None => self.stock(values, 7),
        }
    }

    fn random(&self) -> Vec<History> {
        let (users, about) = match self.act.token {
            None => (14, "buyers, repeats and sold-out stocks, of keys that may be gone or expire"),
            _ => (3, "locks that are free, held, and held by others, with and without an end"),
        };
        let mut rng = Rng::with_seed(44);
        let mut step = |ids, order| {
            let mut values = self.values(ids, rng.u64(..2), rng.u64(..users), order);
            self.vary(&mut values, &mut rng);
            let mut others = self.others(&values, &mut rng);
            others.push(self.gone(&values));
            // The first call finds what it looks for.
            let choice = if order == 0 { 0 } else { rng.usize(..8) };
            Step { before: others.get(choice).cloned().into_iter().collect(), values }
        };
        let mut history = |ids| {
            let steps = (0..40).map(|order| step(ids, order)).collect();
            History { about, rigor: Rigor::Same, steps }
        };
        [IDS, IDS].concat().into_iter().map(&mut history).collect()
    }

    /// What other clients may do to the keys of a call.
    fn others(&self, values: &Values, rng: &mut Rng) -> Vec<Words> {
        let Some(token) = &self.act.token else {
            let stock = self.stock(values, STOCKS[rng.usize(..STOCKS.len())]);
            let (keys, end) = (self.keys(values), rng.u64(600_000..900_000).to_string());
            let ends = command([b"PEXPIRE", &keys[rng.usize(..keys.len())], end.as_bytes()]);
            return vec![stock.clone(), stock, ends];
        };
        let own = self.text(token, values);
        let [longer, other] = [[&own[..], b"0"].concat(), [b"0", &own[..]].concat()];
        let upper = own.to_ascii_uppercase();
        [(&own[..], true), (&own, false), (&longer, true), (&other, false), (b"", false)]
            .into_iter()
            .chain([(&upper[..], true)])
            .map(|(holder, ends)| self.held(values, holder, ends))
            .collect()
    }

    /// Stocks that are no usual ones.
    fn stocks(&self) -> Vec<History> {
        // Of a bare stock, -1 is unlimited.
        let negative = if self.act.buyers.is_some() { Rigor::Same } else { Rigor::Known };
        let texts = ["", "abc", "nan", "1.5", "5.0", " 5", "1e3", "99999999999999999999"];
        let usual = self.usual();
        let all = [
            ("a stock of -1, which is unlimited for a command", negative, &["-1"][..]),
            ("a negative stock, which a command refuses", negative, &["-5"]),
            ("stocks that are no integers", Rigor::MayRefuse, &texts),
        ];
        let of = |(about, rigor, stocks): (_, _, &[&str])| {
            let before = stocks.iter().map(|stock| vec![self.stock(&usual, stock)]);
            before.map(|before| one(about, rigor, before, &usual)).collect_vec()
        };
        all.into_iter().filter(|_| self.act.deed == Deed::Sell).flat_map(of).collect()
    }

    /// Each argument empty, negative, fractional or a text, where a usual call finds what it looks
    /// for.
    fn arguments(&self) -> Vec<History> {
        let odd = ["", "0", "-1", "1.5", "abc", "1e2", " 1", "99999999999999999999"];
        let of = |(role, odd): (Role, &str)| {
            let mut values = self.usual();
            values.insert(role, odd.into());
            one("odd arguments", Rigor::Odd, vec![self.found(&values)], &values)
        };
        self.call.roles().into_iter().cartesian_product(odd).map(of).collect()
    }

    /// Each key of every type.
    fn types(&self) -> Vec<History> {
        let usual = self.usual();
        // All that the script passes to other writes is in it: as members or fields, or as scored
        // ones. What these answer may be what it replies.
        let others = self.act.extras.iter().flatten().map(|word| self.text(word, &usual));
        let args = self.call.values(&usual).into_iter().map(|(_, value)| value).chain(others);
        let args = args.chain([b"1".to_vec()]);
        let items: Words = args.flat_map(|arg| [arg, b"1".to_vec()]).collect();
        let scored = items.iter().rev().cloned().collect();
        let kinds: [(&[u8], Words); 6] = [
            (b"SET", command([b"5"])),
            (b"HSET", items.clone()),
            (b"SADD", items.clone()),
            (b"RPUSH", items),
            (b"ZADD", scored),
            (b"XADD", command([b"*", b"a", b"b"])),
        ];
        let of = |(key, (name, items)): (Vec<u8>, (&[u8], Words))| {
            let found = Some(self.found(&usual)).filter(|words| words[1] != key);
            let other = [command([name, &key]), items].concat();
            let before = found.into_iter().chain([other]).collect();
            one("keys of other types", Rigor::MayRefuse, before, &usual)
        };
        self.keys(&usual).into_iter().cartesian_product(kinds).map(of).collect()
    }
}
