//! What could take a script's place: a command, in words of `seckill.scripts` if these can say it,
//! else in a line of Lua that calls it and makes the script's replies. All are proposals until
//! they have been compared with the script.

use std::collections::BTreeSet;

use domain::fields::ORDER_FIELDS;
use itertools::Itertools;

use crate::answers::{Answer, MISSING, Number, number_in};
use crate::examination::{DEFAULTS, Setting};
use crate::learn::{Act, Deed};
use crate::template::{Part, Pattern, Slot, Template};

/// What a line of Lua asks before it calls the command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Whether the user has bought: 2.
    Bought,
    /// Whether the stock is missing: 9.
    Missing,
    /// Whether a stock is there, but empty: 8.
    Empty,
}

const BOUGHT: i64 = 2;
const EMPTY: i64 = 8;

/// How the number that the command answers becomes an outcome.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It is the outcome.
    Itself,
    /// Above 0 is accepted, 0 is sold out, -1 is missing: SECKILL.DEDUCT.
    StockBefore,
    /// From 0 on is accepted, -1 is missing: SECKILL.RETURN.
    StockAfter,
}

#[derive(Clone)]
pub struct Candidate<'a> {
    pub act: &'a Act,
    /// The command, its words and its settings.
    pub name: &'static str,
    words: Vec<Template>,
    pub settings: Vec<Setting>,
    pub units: Option<Template>,
    asks: &'static [Ask],
    outcome: Outcome,
    /// What the script also writes after an accepted try.
    extras: Vec<Vec<Template>>,
}

/// Every order in which a script may ask what the module asks, each with its answer to a missing
/// stock, and whether a stock of -1 is unlimited.
const WAYS: [(&[Ask], &str, bool); 11] = [
    (&[], "error", false),
    (&[], "sold-out", false),
    (&[Ask::Bought], "error", false),
    (&[Ask::Bought], "sold-out", false),
    (&[Ask::Missing], "error", false),
    (&[Ask::Bought, Ask::Missing], "error", false),
    (&[Ask::Missing, Ask::Bought], "error", false),
    (&[], "error", true),
    (&[], "sold-out", true),
    (&[Ask::Empty], "error", false),
    (&[Ask::Bought, Ask::Empty], "sold-out", false),
];

/// The candidates for what a script was seen to do. `order` is the id of the order, if the script
/// gets one and does nothing with it; `casts` are the arguments that it makes a number of, before
/// it writes them or not.
pub fn candidates<'a>(
    act: &'a Act,
    order: Option<Slot>,
    casts: &BTreeSet<Slot>,
) -> Vec<Candidate<'a>> {
    let cast = |word: &Template| match word.only().filter(|slot| casts.contains(slot)) {
        Some(slot) => Pattern(vec![Part::Number(slot)]),
        None => word.clone(),
    };
    let numbers = |one: Candidate<'a>| {
        let extras = one.extras.iter().map(|words| words.iter().map(cast).collect()).collect();
        let other = Candidate { extras, ..one.clone() };
        let differs = other.extras != one.extras;
        std::iter::once(one).chain(differs.then_some(other))
    };
    proposals(act, order).into_iter().flat_map(numbers).collect()
}

fn proposals(act: &Act, order: Option<Slot>) -> Vec<Candidate<'_>> {
    let units = match act.units {
        Ok(units) => Some(Template::place(units)),
        Err(1) => None,
        Err(count) => Some(Template::constant_of(&count.to_string())),
    };
    let (name, outcome) = match act.deed {
        Deed::Sell if act.buyers.is_some() => ("SECKILL.TRYKEYS", Outcome::Itself),
        Deed::Sell => ("SECKILL.DEDUCT", Outcome::StockBefore),
        Deed::Return => ("SECKILL.RETURN", Outcome::StockAfter),
        Deed::Release => ("LOCK.RELEASE", Outcome::Itself),
        Deed::Renew => ("LOCK.RENEW", Outcome::Itself),
        Deed::Acquire => ("LOCK.ACQUIRE", Outcome::Itself),
    };
    let lease = match (act.deed, &act.lease) {
        (Deed::Renew | Deed::Acquire, None) => return Vec::new(),
        // Commands take it in ms.
        (Deed::Renew | Deed::Acquire, Some((own, true))) => Some(own.thousandfold()),
        (Deed::Renew | Deed::Acquire, Some((own, false))) => Some(own.clone()),
        _ => None,
    };
    let words = std::iter::once(&act.key).chain(&act.token).chain(&lease);
    let one = Candidate {
        act,
        name,
        words: words.chain(&units).cloned().collect(),
        units,
        outcome,
        settings: Vec::new(),
        asks: &[],
        extras: act.extras.clone(),
    };
    let asking = |asks| Candidate { asks, ..one.clone() };
    match act.deed {
        Deed::Sell if act.buyers.is_some() => with_buyers(&one, order),
        Deed::Sell if act.units.is_ok() => vec![one.clone(), asking(&[Ask::Empty])],
        Deed::Sell | Deed::Return => vec![one],
        _ => vec![one.clone(), asking(&[Ask::Missing])],
    }
}

fn with_buyers<'a>(one: &Candidate<'a>, order: Option<Slot>) -> Vec<Candidate<'a>> {
    let order = order.map_or_else(|| Template::constant_of("0"), Template::place);
    let units = one.units.iter().flat_map(|units| [Template::constant_of("UNITS"), units.clone()]);
    let one = Candidate { words: units.collect(), ..one.clone() };
    let mut all = Vec::new();
    for (asks, missing, is_unlimited) in WAYS {
        if one.act.units.is_err() && asks.contains(&Ask::Empty) {
            continue;
        }
        let by_names = one.by_prefixes(&order, missing).filter(|_| asks.is_empty());
        for mut one in by_names.into_iter().chain(one.by_keys(&order, missing)) {
            one.asks = asks;
            let unlimited = ("seckill.unlimited-stock", "yes".to_owned());
            one.settings.extend(is_unlimited.then_some(unlimited));
            all.push(one);
        }
    }
    all
}

impl Candidate<'_> {
    /// SECKILL.TRY, which makes the names of keys from prefixes and the voucher.
    fn by_prefixes(&self, order: &Template, missing: &str) -> Option<Self> {
        let act = self.act;
        let (buyers, user) = act.buyers.as_ref()?;
        let (stock_prefix, voucher) = act.key.prefixed()?;
        let (buyers_prefix, other) = buyers.prefixed()?;
        let utf8 = |text: &[u8]| String::from_utf8(text.to_vec()).ok();
        let (stream, fields, order) = match &act.orders {
            Some(own) if own.values[1].only() == Some(voucher) => {
                (utf8(own.stream.constant()?)?, own.names.join(" "), &own.values[2])
            }
            Some(_) => return None,
            None => (String::new(), ORDER_FIELDS.to_owned(), order),
        };
        let mut settings = vec![
            ("seckill.stock-prefix", utf8(stock_prefix)?),
            ("seckill.buyers-prefix", utf8(buyers_prefix)?),
            ("seckill.order-stream", stream),
            ("seckill.order-fields", fields),
            ("seckill.missing-stock", missing.to_owned()),
        ];
        settings.retain(|(name, value)| !DEFAULTS.contains(&(*name, value.as_str())));
        let words = [Template::place(voucher), Template::place(*user), order.clone()];
        let words = words.into_iter().chain(self.words.clone()).collect();
        (voucher == other).then(|| Self { name: "SECKILL.TRY", words, settings, ..self.clone() })
    }

    /// SECKILL.TRYKEYS, which is told everything.
    fn by_keys(&self, order: &Template, missing: &str) -> Option<Self> {
        let act = self.act;
        let (stock, (buyers, user)) = (&act.key, act.buyers.as_ref()?);
        let (stream, voucher, order) = match &act.orders {
            Some(orders) => (&orders.stream, &orders.values[1], &orders.values[2]),
            None => (stock, stock, order),
        };
        let user = Template::place(*user);
        let names = act.orders.iter().flat_map(|orders| &orders.names).map(String::as_str);
        let fields = if act.orders.is_some() { "FIELDS" } else { "NOSTREAM" };
        let constants = std::iter::once(fields).chain(names).chain(["MISSING", missing]);
        let words = [stock, buyers, stream, voucher, &user, order].into_iter().chain(&self.words);
        let words = words.cloned().chain(constants.map(Template::constant_of)).collect();
        Some(Self { words, ..self.clone() })
    }

    /// Whether a script that does so also calls PUBLISH.
    pub fn publishes(&self) -> bool {
        self.extras.iter().any(|words| words[0].constant() == Some(b"PUBLISH"))
    }

    fn call(&self) -> String {
        format!("redis.call('{}', {})", self.name, self.words.iter().map(Template::lua).join(", "))
    }

    /// Lua that calls the command and replies what it answers, if that can be all.
    pub fn plain(&self) -> Option<String> {
        let is_plain = self.asks.is_empty() && self.extras.is_empty();
        is_plain.then(|| format!("return {}", self.call()))
    }

    /// The same as the words of `seckill.scripts` after the sha1, if these can say it.
    pub fn native(&self) -> Option<String> {
        let words = self.words.iter().map(Template::word).collect::<Option<Vec<_>>>()?;
        self.plain().map(|_| format!("{} {}", self.name, words.join(" ")))
    }

    /// Lua that sets `o` to the outcome.
    fn outcome(&self) -> String {
        let stock = self.act.key.lua();
        let ask = |ask: &Ask| match (ask, &self.act.buyers) {
            (Ask::Bought, Some((buyers, user))) => {
                let buyers = buyers.lua();
                format!("redis.call('SISMEMBER', {buyers}, {user}) == 1 and {BOUGHT} or ")
            }
            (Ask::Bought, None) => String::new(),
            (Ask::Missing, _) => format!("redis.call('EXISTS', {stock}) == 0 and {MISSING} or "),
            // A number that no command answers.
            (Ask::Empty, _) => {
                format!("tonumber(redis.call('GET', {stock}) or 1) <= 0 and -{EMPTY} or ")
            }
        };
        let value = self.asks.iter().map(ask).collect::<String>() + &self.call();
        let is_asked = self.asks.contains(&Ask::Empty);
        let empty = if is_asked { format!("b == -{EMPTY} and {EMPTY} or ") } else { String::new() };
        let outcome = match self.outcome {
            Outcome::Itself => format!("{empty}b"),
            Outcome::StockBefore => {
                format!("b > 0 and 0 or b == 0 and 1 or {empty}{MISSING}")
            }
            Outcome::StockAfter => format!("b >= 0 and 0 or {MISSING}"),
        };
        let lua = match self.outcome {
            Outcome::Itself if !is_asked => format!("local o = {value} "),
            _ => format!("local b = {value} local o = {outcome} "),
        };
        if self.extras.is_empty() {
            return lua;
        }
        let accepted = i64::from(self.name.starts_with("LOCK"));
        let call = |words: &Vec<Template>| {
            format!("redis.call({}) ", words.iter().map(Template::lua).join(", "))
        };
        format!("{lua}if o == {accepted} then {}end ", self.extras.iter().map(call).join(""))
    }

    /// Lua whose reply is the outcome.
    pub fn probe(&self) -> String {
        self.outcome() + "return o"
    }

    /// What a reply may tell where the command answered an outcome: the stock, or another key.
    pub fn numbers(&self, outcome: i64) -> Vec<Number<'_>> {
        let key = &self.act.key;
        let stock = |lua, is_before| Number { lua, key, is_before, is_stock: true };
        let of_stock = match (self.outcome, outcome) {
            (Outcome::StockBefore, 0) => {
                let units = self.units.as_ref().map_or("1".into(), Template::lua);
                vec![stock(format!("b - {units}"), false), stock("b".into(), true)]
            }
            (Outcome::StockAfter, 0) => vec![stock("b".into(), false)],
            _ => vec![stock(number_in(key), false)],
        };
        let other = |key| Number { lua: number_in(key), key, is_before: false, is_stock: false };
        of_stock.into_iter().chain(self.act.keys().skip(1).map(other)).collect()
    }

    /// Lua that does what the script does.
    pub fn lua(&self, answers: &[(i64, Answer)]) -> String {
        let (mut lua, mut table) = (self.outcome(), Vec::new());
        for (code, Answer { lua: value, always, .. }) in answers {
            match always {
                Some(_) => table.push(format!("[{code}] = {value}")),
                None => lua += &format!("if o == {code} then return {value} end "),
            }
        }
        lua + &format!("return ({{{}}})[o]", table.join(", "))
    }
}
