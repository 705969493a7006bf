//! What could take a script's place: a command, in words of `seckill.scripts` if these can say it,
//! else in a line of Lua that calls it and makes the script's replies. All are proposals until
//! they have been compared with the script.

use std::collections::BTreeSet;

use domain::fields::ORDER_FIELDS;
use itertools::Itertools;
use seckill_tools::sanitize::is_hidden;

use crate::answers::{Answer, MISSING};
use crate::examination::{DEFAULTS, Setting};
use crate::learn::{Act, Deed};
use crate::template::{Slot, Template};

/// What a line of Lua asks before it calls the command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Whether the user has bought: 2.
    Bought,
    /// Whether the stock is missing: 9.
    Missing,
}

const BOUGHT: i64 = 2;

/// Answers the stock before where it took units, 0 where there are too few, and -1 where it found
/// none. Other commands answer the outcome.
const DEDUCT: &str = "SECKILL.DEDUCT";

#[derive(Clone)]
pub struct Candidate<'a> {
    pub act: &'a Act,
    /// The command, its words and its settings.
    pub name: &'static str,
    words: Vec<Template>,
    pub settings: Vec<Setting>,
    pub units: Option<Template>,
    asks: &'static [Ask],
    /// What the script also writes after an accepted try.
    extras: Vec<Vec<Template>>,
}

/// Every order in which a script may ask what the module asks, each with its answer to a missing
/// stock.
const WAYS: [(&[Ask], &str); 6] = [
    (&[], "error"),
    (&[], "sold-out"),
    (&[Ask::Bought], "error"),
    (&[Ask::Bought], "sold-out"),
    (&[Ask::Missing], "error"),
    (&[Ask::Missing, Ask::Bought], "error"),
];

/// The candidates for what a script was seen to do. `order` is the id of the order, if the script
/// gets one and does nothing with it; `casts` are the arguments that it makes a number of, which it
/// may have done before it writes them.
pub fn candidates<'a>(
    act: &'a Act,
    order: Option<Slot>,
    casts: &BTreeSet<Slot>,
) -> Vec<Candidate<'a>> {
    let cast = |word: &Template| match word.only().filter(|slot| casts.contains(slot)) {
        Some(slot) => Template::number(slot),
        None => word.clone(),
    };
    let units = act.units.map(Template::place);
    let name = match act.deed {
        Deed::Sell if act.buyers.is_some() => "SECKILL.TRYKEYS",
        Deed::Sell => DEDUCT,
        Deed::Release => "LOCK.RELEASE",
        Deed::Renew => "LOCK.RENEW",
        Deed::Acquire => "LOCK.ACQUIRE",
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
        settings: Vec::new(),
        asks: &[],
        extras: act.extras.iter().map(|words| words.iter().map(cast).collect()).collect(),
    };
    match act.deed {
        Deed::Sell if act.buyers.is_some() => with_buyers(&one, order),
        Deed::Sell => vec![one],
        _ => vec![one.clone(), Candidate { asks: &[Ask::Missing], ..one }],
    }
}

fn with_buyers<'a>(one: &Candidate<'a>, order: Option<Slot>) -> Vec<Candidate<'a>> {
    let order = order.map_or_else(|| Template::constant_of("0"), Template::place);
    let units = one.units.iter().flat_map(|units| [Template::constant_of("UNITS"), units.clone()]);
    let one = Candidate { words: units.collect(), ..one.clone() };
    let mut all = Vec::new();
    for (asks, missing) in WAYS {
        let by_names = one.by_prefixes(&order, missing).filter(|_| asks.is_empty());
        let ways = by_names.into_iter().chain(one.by_keys(&order, missing));
        all.extend(ways.map(|one| Candidate { asks, ..one }));
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
        let utf8 = |text: &[u8]| {
            let text = String::from_utf8(text.to_vec()).ok();
            text.filter(|text| !text.chars().any(is_hidden))
        };
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

    fn call(&self) -> String {
        format!("redis.call('{}', {})", self.name, self.words.iter().map(Template::lua).join(", "))
    }

    /// Lua that calls the command and replies what it answers, if that is all that the script does.
    pub fn plain(&self, answers: &[(i64, Answer)]) -> Option<String> {
        let is_same = |(code, answer): &(i64, Answer)| match (self.name, code) {
            (DEDUCT, 0) => answer.lua == "b",
            (DEDUCT, 1) => answer.lua == "0",
            (DEDUCT, _) => answer.lua == "-1",
            _ => answer.lua == code.to_string(),
        };
        let is_plain = self.asks.is_empty() && self.extras.is_empty();
        (is_plain && answers.iter().all(is_same)).then(|| format!("return {}", self.call()))
    }

    /// The same as the words of `seckill.scripts` after the sha1, if these can say it.
    pub fn native(&self) -> Option<String> {
        let words = self.words.iter().map(Template::word).collect::<Option<Vec<_>>>()?;
        Some(format!("{} {}", self.name, words.join(" ")))
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
        };
        let value = self.asks.iter().map(ask).collect::<String>() + &self.call();
        let lua = match self.name {
            DEDUCT => {
                format!("local b = {value} local o = b > 0 and 0 or b == 0 and 1 or {MISSING} ")
            }
            _ => format!("local o = {value} "),
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

    /// Lua for the stock after the call and before it, which a reply may tell where the command
    /// answered an outcome.
    pub fn stocks(&self, outcome: i64) -> [String; 2] {
        let units = self.units.as_ref().map_or("1".into(), Template::lua);
        if self.name == DEDUCT && outcome == 0 {
            return [format!("b - {units}"), "b".into()];
        }
        let left = format!("tonumber(redis.call('GET', {}) or 0)", self.act.key.lua());
        [left.clone(), format!("{left} + {units}")]
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
