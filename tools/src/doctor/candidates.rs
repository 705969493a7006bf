//! What could take a script's place: a command, in words of `seckill.scripts` if these can say it,
//! else in a line of Lua that calls it and makes the script's replies. All are proposals until
//! they have been compared with the script.

mod tries;

use crate::call::Slot;
use crate::conf::Setting;
use crate::learn::{Lock, LockDeed, Return, Sale};
use crate::reply::Reply;
use crate::template::{Part, Template};

/// A command with its words, as templates.
#[derive(Clone, Debug)]
pub struct Command {
    pub name: &'static str,
    pub words: Vec<Template>,
    pub settings: Vec<Setting>,
}

/// What a line of Lua asks before it calls the command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// Whether the user has bought: 2.
    Bought,
    /// Whether the stock is missing: 9.
    Missing,
}

pub const BOUGHT: i64 = 2;
pub const MISSING: i64 = 9;

/// How the number that the command answers becomes an outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is the outcome.
    Itself,
    /// Above 0 is accepted, 0 is sold out, -1 is missing: SECKILL.DEDUCT.
    StockBefore,
    /// From 0 on is accepted, -1 is missing: SECKILL.RETURN.
    StockAfter,
}

#[derive(Clone, Debug)]
pub struct Candidate {
    pub command: Command,
    pub asks: Vec<Ask>,
    pub outcome: Outcome,
    /// The stock, and who has bought it.
    pub stock: Option<Template>,
    pub buyers: Option<(Template, Slot)>,
    /// What the script also writes after an accepted try.
    pub extras: Vec<Vec<Template>>,
    /// All keys that it reads or writes.
    pub keys: Vec<Template>,
    /// A lease in seconds, which the command takes in ms: the place of the word.
    pub seconds: Option<usize>,
}

/// What the script answers for an outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Always(Reply),
    /// The stock after the call.
    Left,
    /// The stock before the call.
    Before,
    /// One of its arguments.
    Argument(Slot),
    /// The number in another key.
    Number(Template),
    /// A number in digits.
    Digits(Box<Answer>),
    List(Vec<Answer>),
}

impl Answer {
    /// Whether the stock is in it.
    pub fn counts(&self) -> bool {
        match self {
            Self::Left | Self::Before | Self::Number(_) => true,
            Self::Digits(inner) => inner.counts(),
            Self::List(all) => all.iter().any(Self::counts),
            _ => false,
        }
    }

    /// The Lua expression for it; `left` has the stock after the call, and before it.
    fn lua(&self, left: &dyn Fn(bool) -> Option<String>) -> Option<String> {
        match self {
            Self::Always(reply) => reply.lua(),
            Self::Left => left(false),
            Self::Before => left(true),
            Self::Argument(slot) => Some(slot.to_string()),
            Self::Number(key) => Some(number_in(key)),
            Self::Digits(inner) => Some(format!("tostring({})", inner.lua(left)?)),
            Self::List(all) => {
                let all = all.iter().map(|one| one.lua(left)).collect::<Option<Vec<_>>>()?;
                // Lua ends a list at the first nil, and false is nil for clients.
                Some(format!("{{{}}}", all.join(", ")))
            }
        }
    }
}

fn text(text: &str) -> Template {
    Template(vec![Part::Text(text.into())])
}

/// Lua for the number in a key.
fn number_in(key: &Template) -> String {
    format!("tonumber(redis.call('GET', {}) or 0)", key.lua())
}

fn slot(slot: Slot) -> Template {
    Template(vec![Part::Slot(slot)])
}

impl Candidate {
    fn new(command: Command, outcome: Outcome, keys: Vec<Template>) -> Self {
        Self {
            command,
            asks: Vec::new(),
            outcome,
            stock: None,
            buyers: None,
            extras: Vec::new(),
            keys,
            seconds: None,
        }
    }

    /// All words that it passes on.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let extras = self.extras.iter().flatten();
        self.command.words.iter().chain(extras).chain(&self.keys)
    }

    /// Whether a script that does so also calls PUBLISH.
    pub fn publishes(&self) -> bool {
        let is =
            |words: &Vec<Template>| words.first().and_then(Template::constant) == Some(b"PUBLISH");
        self.extras.iter().any(is)
    }

    fn call(&self) -> String {
        let mut words: Vec<String> = self.command.words.iter().map(Template::lua).collect();
        if let Some(word) = self.seconds.and_then(|at| words.get_mut(at)) {
            *word = format!("{word} * 1000");
        }
        format!("redis.call('{}', {})", self.command.name, words.join(", "))
    }

    /// Lua that sets `o` to the outcome.
    fn outcome(&self) -> String {
        let call = self.call();
        let mut lua = String::new();
        let value = match self.outcome {
            Outcome::Itself => call,
            Outcome::StockBefore => {
                lua += &format!("local b = {call} ");
                format!("b > 0 and 0 or b == 0 and 1 or {MISSING}")
            }
            Outcome::StockAfter => {
                lua += &format!("local b = {call} ");
                format!("b >= 0 and 0 or {MISSING}")
            }
        };
        let asks = self.asks.iter().filter_map(|ask| match ask {
            Ask::Bought => {
                let (buyers, user) = self.buyers.as_ref()?;
                let asked = format!("redis.call('SISMEMBER', {}, {user}) == 1", buyers.lua());
                Some(format!("{asked} and {BOUGHT} or "))
            }
            Ask::Missing => {
                let stock = self.stock.as_ref()?.lua();
                Some(format!("redis.call('EXISTS', {stock}) == 0 and {MISSING} or "))
            }
        });
        lua + &format!("local o = {}{value} ", asks.collect::<String>()) + &self.writes()
    }

    fn writes(&self) -> String {
        if self.extras.is_empty() {
            return String::new();
        }
        let call = |words: &Vec<Template>| {
            let words: Vec<String> = words.iter().map(Template::lua).collect();
            format!("redis.call({}) ", words.join(", "))
        };
        let accepted = i64::from(self.command.name.starts_with("LOCK"));
        let calls = self.extras.iter().map(call).collect::<String>();
        format!("if o == {accepted} then {calls}end ")
    }

    /// Lua whose reply is the outcome.
    pub fn probe(&self) -> String {
        self.outcome() + "return o"
    }

    /// The words of `seckill.scripts` after the sha1, if the script's replies are the command's.
    pub fn native(&self, answers: &[(i64, Answer)]) -> Option<String> {
        let is_own = |(outcome, answer): &(i64, Answer)| match (self.outcome, outcome) {
            (Outcome::StockBefore, 0) => *answer == Answer::Before,
            (Outcome::StockBefore, 1) => *answer == Answer::Always(Reply::Int(0)),
            (Outcome::StockAfter, 0) => *answer == Answer::Left,
            (Outcome::StockBefore | Outcome::StockAfter, _) => {
                *answer == Answer::Always(Reply::Int(-1))
            }
            (Outcome::Itself, code) => *answer == Answer::Always(Reply::Int(*code)),
        };
        let plain = self.asks.is_empty() && self.extras.is_empty();
        if !plain || !answers.iter().all(is_own) {
            return None;
        }
        let word = |(at, word): (usize, &Template)| match word.constant() {
            Some(text) if self.seconds == Some(at) => {
                Some(format!("{}000", std::str::from_utf8(text).ok()?))
            }
            _ if self.seconds == Some(at) => None,
            _ => word.word(),
        };
        let words = self.command.words.iter().enumerate().map(word);
        let words = words.collect::<Option<Vec<String>>>()?;
        Some(format!("{} {}", self.command.name, words.join(" ")))
    }

    /// Lua that does what the script does; none if its replies can't be made.
    pub fn lua(&self, answers: &[(i64, Answer)]) -> Option<String> {
        let is_own = |(code, answer): &(i64, Answer)| *answer == Answer::Always(Reply::Int(*code));
        let plain = self.asks.is_empty() && self.extras.is_empty();
        if plain && self.outcome == Outcome::Itself && answers.iter().all(is_own) {
            return Some(format!("return {}", self.call()));
        }
        let left = |code: i64, before: bool| match (self.outcome, before) {
            (Outcome::StockBefore, true) if code == 0 => Some("b".to_owned()),
            (Outcome::StockAfter, false) if code == 0 => Some("b".to_owned()),
            (Outcome::StockBefore, false) if code == 0 => {
                let units = self.command.words.get(1).map_or_else(|| "1".into(), Template::lua);
                Some(format!("b - {units}"))
            }
            (_, false) => Some(number_in(self.stock.as_ref()?)),
            _ => None,
        };
        let mut lua = self.outcome();
        let (mut table, mut others) = (Vec::new(), Vec::new());
        for (code, answer) in answers {
            let value = answer.lua(&|before| left(*code, before))?;
            match answer {
                Answer::Always(_) => table.push(format!("[{code}] = {value}")),
                _ => others.push(format!("if o == {code} then return {value} end ")),
            }
        }
        lua.extend(others);
        lua += &format!("return ({{{}}})[o]", table.join(", "));
        Some(lua)
    }

    /// What the histories of such a command leave out.
    pub fn not_compared(&self) -> Vec<String> {
        let all = match self.command.name {
            "SECKILL.DEDUCT" | "SECKILL.RETURN" => "negative stocks, of which -1 is unlimited",
            "LOCK.RENEW" | "LOCK.ACQUIRE" => "leases of more than a day, which are refused",
            _ => return Vec::new(),
        };
        vec![all.to_owned()]
    }

    /// What follows from the line, for people.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let name = self.command.name;
        let word = |at: usize| self.command.words.get(at).and_then(Template::constant);
        if name == "SECKILL.TRYKEYS" {
            let text =
                "SECKILL.TRYKEYS knows no managed voucher (reservations, limits, begin and end).";
            notes.push(text.to_owned());
        }
        if name == "SECKILL.TRY" && word(2) == Some(b"0") {
            let text = "The order id is the constant 0, so the line can't be used on a managed \
                voucher: there one user buys, and everybody else is answered ORDERID. With * in \
                its place the server makes an id, and the reply becomes a list.";
            notes.push(text.to_owned());
        }
        if !self.command.settings.is_empty() {
            let text = "The settings bind every application on this server that calls SECKILL.TRY, \
                or SECKILL.TRYKEYS without FIELDS and MISSING.";
            notes.push(text.to_owned());
        }
        notes
    }
}

/// Every order in which a script may ask what the module asks, each with its answer to a missing
/// stock, and whether a stock of -1 is unlimited.
const WAYS: [(&[Ask], &str, bool); 9] = [
    (&[], "error", false),
    (&[], "sold-out", false),
    (&[Ask::Bought], "error", false),
    (&[Ask::Bought], "sold-out", false),
    (&[Ask::Missing], "error", false),
    (&[Ask::Bought, Ask::Missing], "error", false),
    (&[Ask::Missing, Ask::Bought], "error", false),
    (&[], "error", true),
    (&[], "sold-out", true),
];

/// The word for the units, if there is not always one.
fn units(units: Result<Slot, i64>) -> Option<Template> {
    match units {
        Ok(units) => Some(slot(units)),
        Err(1) => None,
        Err(count) => Some(text(&count.to_string())),
    }
}

pub fn of_sale(sale: &Sale) -> Vec<Candidate> {
    let units = units(sale.units);
    let Some((buyers, user)) = &sale.buyers else {
        let words = std::iter::once(sale.stock.clone()).chain(units).collect();
        let command = Command { name: "SECKILL.DEDUCT", words, settings: Vec::new() };
        let mut one = Candidate::new(command, Outcome::StockBefore, vec![sale.stock.clone()]);
        one.stock = Some(sale.stock.clone());
        one.extras.clone_from(&sale.extras);
        one.keys.extend(sale.extra_keys.iter().cloned());
        return vec![one];
    };
    let mut all = Vec::new();
    for (asks, missing, unlimited) in WAYS {
        let by_names =
            tries::by_names(sale, buyers, *user, &units, missing).filter(|_| asks.is_empty());
        let by_keys = tries::by_keys(sale, buyers, *user, &units, missing);
        for mut command in by_names.into_iter().chain([by_keys]) {
            if unlimited {
                command.settings.push(("seckill.unlimited-stock", "yes".to_owned()));
            }
            let stream = sale.orders.as_ref().map(|orders| orders.stream.clone());
            let mut keys = vec![sale.stock.clone(), buyers.clone()];
            keys.extend(stream);
            keys.extend(sale.extra_keys.iter().cloned());
            let mut one = Candidate::new(command, Outcome::Itself, keys);
            one.asks = asks.to_vec();
            one.stock = Some(sale.stock.clone());
            one.buyers = Some((buyers.clone(), *user));
            one.extras.clone_from(&sale.extras);
            all.push(one);
        }
    }
    all
}

/// A lock as the commands treat it, then with another answer for a lock that is not there.
pub fn of_lock(lock: &Lock) -> Vec<Candidate> {
    let mut words = vec![lock.lock.clone(), lock.token.clone()];
    let mut seconds = None;
    let name = match (lock.deed, &lock.lease) {
        (LockDeed::Release, _) => "LOCK.RELEASE",
        (deed, Some((lease, in_seconds))) => {
            seconds = in_seconds.then_some(2);
            words.push(lease.clone());
            if deed == LockDeed::Renew { "LOCK.RENEW" } else { "LOCK.ACQUIRE" }
        }
        (_, None) => return Vec::new(),
    };
    let command = Command { name, words, settings: Vec::new() };
    let mut one = Candidate::new(command, Outcome::Itself, vec![lock.lock.clone()]);
    one.seconds = seconds;
    one.stock = Some(lock.lock.clone());
    one.extras.clone_from(&lock.extras);
    one.keys.extend(lock.extra_keys.iter().cloned());
    let mut other = one.clone();
    other.asks = vec![Ask::Missing];
    vec![one, other]
}

pub fn of_return(stock: &Return) -> Candidate {
    let units = units(stock.units);
    let words = std::iter::once(stock.stock.clone()).chain(units).collect();
    let command = Command { name: "SECKILL.RETURN", words, settings: Vec::new() };
    let mut one = Candidate::new(command, Outcome::StockAfter, vec![stock.stock.clone()]);
    one.stock = Some(stock.stock.clone());
    one
}
