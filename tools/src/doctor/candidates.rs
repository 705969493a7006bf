//! What could take a script's place: a command, in words of `seckill.scripts` if these can say it,
//! else in a line of Lua that calls it and makes the script's replies. All are proposals until
//! they have been compared with the script.

mod proposals;

pub use proposals::{of_lock, of_return, of_sale};

use itertools::Itertools;

use crate::call::Slot;
use crate::conf::Setting;
use crate::reply::{Reply, quoted};
use crate::template::Template;

/// What a line of Lua asks before it calls the command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// Whether the user has bought: 2.
    Bought,
    /// Whether the stock is missing: 9.
    Missing,
    /// Whether a stock is there, but empty: 8.
    Empty,
}

pub const BOUGHT: i64 = 2;
pub const MISSING: i64 = 9;
const EMPTY: i64 = 8;

/// How the number that the command answers becomes an outcome.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is the outcome.
    #[default]
    Itself,
    /// Above 0 is accepted, 0 is sold out, -1 is missing: SECKILL.DEDUCT.
    StockBefore,
    /// From 0 on is accepted, -1 is missing: SECKILL.RETURN.
    StockAfter,
}

#[derive(Clone, Default, Debug)]
pub struct Candidate {
    /// The command, its words and its settings.
    pub name: &'static str,
    pub words: Vec<Template>,
    pub settings: Vec<Setting>,
    pub units: Option<Template>,
    pub asks: Vec<Ask>,
    pub outcome: Outcome,
    /// Who has bought it.
    pub buyers: Option<(Template, Slot)>,
    /// What the script also writes after an accepted try.
    pub extras: Vec<Vec<Template>>,
    /// All keys that it reads or writes, the stock or the lock first.
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
    /// A number between two texts, such as JSON.
    Within(Vec<u8>, Box<Answer>, Vec<u8>),
    List(Vec<Answer>),
}

impl Answer {
    /// Whether the stock is in it.
    pub fn counts(&self) -> bool {
        match self {
            Self::Left | Self::Before | Self::Number(_) => true,
            Self::Within(_, inner, _) => inner.counts(),
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
            Self::Within(before, inner, after) => {
                let [before, after] = [before, after].map(|text| quoted(text));
                Some(format!("{before} .. {} .. {after}", inner.lua(left)?))
            }
            Self::List(all) => {
                let all = all.iter().map(|one| one.lua(left)).collect::<Option<Vec<_>>>()?;
                // Lua ends a list at the first nil, and false is nil for clients.
                Some(format!("{{{}}}", all.join(", ")))
            }
        }
    }
}

/// Lua for the number in a key.
fn number_in(key: &Template) -> String {
    format!("tonumber(redis.call('GET', {}) or 0)", key.lua())
}

impl Candidate {
    /// Whether it makes the names of keys from settings.
    pub fn by_names(&self) -> bool {
        self.name == "SECKILL.TRY"
    }

    /// All words that it passes on.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let extras = self.extras.iter().flatten();
        self.words.iter().chain(extras).chain(&self.keys)
    }

    /// Whether a script that does so also calls PUBLISH.
    pub fn publishes(&self) -> bool {
        let is =
            |words: &Vec<Template>| words.first().and_then(Template::constant) == Some(b"PUBLISH");
        self.extras.iter().any(is)
    }

    fn call(&self) -> String {
        let mut words: Vec<String> = self.words.iter().map(Template::lua).collect();
        if let Some(word) = self.seconds.and_then(|at| words.get_mut(at)) {
            *word = format!("{word} * 1000");
        }
        format!("redis.call('{}', {})", self.name, words.join(", "))
    }

    /// Lua that sets `o` to the outcome.
    fn outcome(&self) -> String {
        let stock = self.keys.first().map(Template::lua).unwrap_or_default();
        let asks = self.asks.iter().map(|ask| match (ask, &self.buyers) {
            (Ask::Bought, Some((buyers, user))) => {
                let asked = format!("redis.call('SISMEMBER', {}, {user}) == 1", buyers.lua());
                format!("{asked} and {BOUGHT} or ")
            }
            (Ask::Bought, None) => String::new(),
            (Ask::Missing, _) => {
                format!("redis.call('EXISTS', {stock}) == 0 and {MISSING} or ")
            }
            // A number that no command answers.
            (Ask::Empty, _) => {
                format!("tonumber(redis.call('GET', {stock}) or 1) <= 0 and -{EMPTY} or ")
            }
        });
        let value = asks.collect::<String>() + &self.call();
        let empty = if self.asks.contains(&Ask::Empty) {
            format!("b == -{EMPTY} and {EMPTY} or ")
        } else {
            String::new()
        };
        let lua = match self.outcome {
            Outcome::Itself if empty.is_empty() => format!("local o = {value} "),
            Outcome::Itself => format!("local b = {value} local o = {empty}b "),
            Outcome::StockBefore => format!(
                "local b = {value} local o = b > 0 and 0 or b == 0 and 1 or {empty}{MISSING} "
            ),
            Outcome::StockAfter => {
                format!("local b = {value} local o = b >= 0 and 0 or {MISSING} ")
            }
        };
        lua + &self.writes()
    }

    fn writes(&self) -> String {
        if self.extras.is_empty() {
            return String::new();
        }
        let call = |words: &Vec<Template>| {
            format!("redis.call({}) ", words.iter().map(Template::lua).join(", "))
        };
        let accepted = i64::from(self.name.starts_with("LOCK"));
        let calls = self.extras.iter().map(call).collect::<String>();
        format!("if o == {accepted} then {calls}end ")
    }

    /// Lua whose reply is the outcome.
    pub fn probe(&self) -> String {
        self.outcome() + "return o"
    }

    /// Whether the command alone does all and answers so.
    fn is_own(&self, answers: &[(i64, Answer)]) -> bool {
        let own = |outcome: i64| match (self.outcome, outcome) {
            (Outcome::StockBefore, 0) => Answer::Before,
            (Outcome::StockBefore, 1) => Answer::Always(Reply::Int(0)),
            (Outcome::StockAfter, 0) => Answer::Left,
            (Outcome::StockBefore | Outcome::StockAfter, _) => Answer::Always(Reply::Int(-1)),
            (Outcome::Itself, code) => Answer::Always(Reply::Int(code)),
        };
        let is_plain = self.asks.is_empty() && self.extras.is_empty();
        is_plain && answers.iter().all(|(outcome, answer)| *answer == own(*outcome))
    }

    /// The words of `seckill.scripts` after the sha1, if the script's replies are the command's.
    pub fn native(&self, answers: &[(i64, Answer)]) -> Option<String> {
        if !self.is_own(answers) {
            return None;
        }
        let word = |(at, word): (usize, &Template)| match word.constant() {
            Some(text) if self.seconds == Some(at) => {
                Some(format!("{}000", std::str::from_utf8(text).ok()?))
            }
            _ if self.seconds == Some(at) => None,
            _ => word.word(),
        };
        let words = self.words.iter().enumerate().map(word);
        let words = words.collect::<Option<Vec<String>>>()?;
        Some(format!("{} {}", self.name, words.join(" ")))
    }

    /// Lua that does what the script does; none if its replies can't be made.
    pub fn lua(&self, answers: &[(i64, Answer)]) -> Option<String> {
        if self.outcome == Outcome::Itself && self.is_own(answers) {
            return Some(format!("return {}", self.call()));
        }
        let left = |code: i64, before: bool| match (self.outcome, before) {
            (Outcome::StockBefore, true) if code == 0 => Some("b".to_owned()),
            (Outcome::StockAfter, false) if code == 0 => Some("b".to_owned()),
            (Outcome::StockBefore, false) if code == 0 => {
                let units = self.units.as_ref().map_or_else(|| "1".into(), Template::lua);
                Some(format!("b - {units}"))
            }
            (_, false) => Some(number_in(self.keys.first()?)),
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
        let all = match self.name {
            "SECKILL.DEDUCT" | "SECKILL.RETURN" => "negative stocks, of which -1 is unlimited",
            "LOCK.RENEW" | "LOCK.ACQUIRE" => {
                "leases below ten seconds, or of more than a day, which are refused"
            }
            _ => return Vec::new(),
        };
        vec![all.to_owned()]
    }

    /// What follows from the line, for people.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let word = |at: usize| self.words.get(at).and_then(Template::constant);
        if self.name == "SECKILL.TRYKEYS" {
            let text =
                "SECKILL.TRYKEYS knows no managed voucher (reservations, limits, begin and end).";
            notes.push(text.to_owned());
        }
        if self.by_names() && word(2) == Some(b"0") {
            let text = "The order id is the constant 0, so the line can't be used on a managed \
                voucher: there one user buys, and everybody else is answered ORDERID. With * in \
                its place the server makes an id, and the reply becomes a list.";
            notes.push(text.to_owned());
        }
        if !self.settings.is_empty() {
            let text = "The settings bind every application on this server that calls SECKILL.TRY, \
                or SECKILL.TRYKEYS without FIELDS and MISSING.";
            notes.push(text.to_owned());
        }
        notes
    }
}
