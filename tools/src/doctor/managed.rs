//! The managed voucher that comes near a script with a begin, an end or a limit per user: proposed,
//! and tried beside the script.

use anyhow::Result;
use domain::sale::Outcome;

use crate::cure::{ACCEPTED, BOUGHT, SOLD_OUT};
use crate::faults::Facts;
use crate::finding::{Accepted, Codes};
use crate::history::{self, a_try};
use crate::prove::Prover;
use crate::reading::{Means, Reading, Try};
use crate::reply::Reply;
use crate::sale::{Place, Sale};
use crate::server::Client;
use crate::trial::{Side, now_ms};
use crate::watch::eval;
use crate::wire::Words;
use crate::world::{Kind, World, planted};

const NOT_STARTED: i64 = Outcome::NotStarted.code();
const ENDED: i64 = Outcome::Ended.code();

/// Calls of the script, and tries of the voucher beside them, each time it is tried.
const CALLS: usize = 80;
const HOUR_MS: i64 = 3_600_000;
/// The limit that is passed to a script whose caller says it.
const SAID_LIMIT: &str = "2";

/// The rules of the voucher, as the script is seen to have them.
pub struct Managed<'a> {
    sale: &'a Sale,
    codes: &'a Codes,
    /// A number, or `n` if an argument says it.
    limit: Option<&'a String>,
    /// The reply to a user who has bought as much as the script allows.
    at_limit: Option<&'a Reply>,
}

impl<'a> Managed<'a> {
    pub fn of(facts: &'a Facts<'a>, limit: Option<&'a String>) -> Self {
        let often = facts.runs[history::OFTEN].steps.last();
        let refused = often.filter(|step| step.taken() <= 0).map(|step| &step.reply);
        let at_limit = refused.or(facts.codes.bought.as_ref());
        Self { sale: facts.sale, codes: &facts.codes, limit, at_limit }
    }

    /// Whether a mark that the script keeps is the limit of a user.
    fn is_limit(&self, place: &Place) -> Option<&'a String> {
        let of_user = place.slots().any(|slot| Some(slot) == self.sale.user);
        self.limit.filter(|_| of_user && place.kind != Kind::Set)
    }

    /// For a mark beside the buyers.
    pub fn of_mark(&self, place: &Place) -> Option<String> {
        let limit = self.is_limit(place)?;
        Some(format!(
            "and sells a user at most {}. A managed voucher keeps that itself: {}.",
            if limit == "n" { "what an argument says" } else { limit },
            self.shown(&format!("LIMIT {limit}"))
        ))
    }

    /// For arguments that are the begin and the end of the sale.
    pub fn of_window(&self) -> Option<String> {
        let mut rules = Vec::new();
        let (mut sells, mut is_same) = (Vec::new(), true);
        for (side, when, rule, code) in self.sides() {
            sells.push(format!("{when} {} (else it replies {})", side.slot, side.reply));
            rules.push(format!("{rule} unix-ms"));
            is_same &= side.reply == Reply::Int(code);
        }
        let same = if is_same { ", the very replies of your script" } else { "" };
        (!sells.is_empty()).then(|| {
            format!(
                "It sells {}, by the server's time. A managed voucher has these itself: {}, and \
                 3 before the begin, 4 after the end{same}.",
                sells.join(" and "),
                self.shown(&rules.join(" "))
            )
        })
    }

    fn sides(&self) -> impl Iterator<Item = (&'a Side, &'static str, &'static str, i64)> {
        let window = &self.sale.window;
        let begin = window.begin.iter().map(|side| (side, "from", "BEGIN", NOT_STARTED));
        begin.chain(window.end.iter().map(|side| (side, "until", "END", ENDED)))
    }

    /// The commands, and what a try answers.
    fn shown(&self, rules: &str) -> String {
        let answers = [(self.codes.sold_out.as_ref(), SOLD_OUT), (self.at_limit, BOUGHT)];
        let mut own = answers.into_iter().filter_map(|(own, code)| Some((own?, code)));
        let is_same = self.codes.accepted == Accepted::Code(Reply::Int(ACCEPTED))
            && own.all(|(own, code)| *own == Reply::Int(code));
        let units = if self.sale.units.is_some() { " [UNITS n]" } else { "" };
        format!(
            "SECKILL.CREATE voucher stock {rules}, then SECKILL.TRY voucher user orderid{units} \
             answers 0 accepted, 1 sold out, 2 at the limit{}",
            if is_same { ", as your script does" } else { "" }
        )
    }

    /// Tries the voucher beside the script, if it was proposed: during the sale, before its begin
    /// and after its end. Says whether they answer alike.
    pub fn tried(&self, prover: &Prover<'_>, reading: &Reading) -> Result<Option<String>> {
        let limit = self.sale.marks.iter().find_map(|place| self.is_limit(place));
        let has_window = self.sides().next().is_some();
        if self.sale.user.is_none() || limit.is_none() && !has_window {
            return Ok(None);
        }
        let window = &self.sale.window;
        let times = [(true, -1, 1), (window.begin.is_some(), 1, 2), (window.end.is_some(), -2, -1)];
        let mut first_bought = false;
        let mut calls = 0;
        for (_, begin, end) in times.into_iter().filter(|(is_there, ..)| *is_there) {
            let mut pair = Pair {
                managed: self,
                plain: prover.plain.client()?,
                module: prover.defaults()?,
                script: prover.script,
                begin: begin * HOUR_MS,
                end: end * HOUR_MS,
            };
            let limit = limit.map(|limit| if limit == "n" { SAID_LIMIT } else { limit });
            if let Err(difference) = pair.compare(reading, limit, &mut first_bought)? {
                return Ok(Some(format!(
                    "The doctor has created that voucher and tried it beside your script: they \
                     differ, {difference}."
                )));
            }
            calls += CALLS;
        }
        let but = if first_bought {
            ", except that a user at the limit is answered 2 also when all is sold"
        } else {
            ""
        };
        Ok(Some(format!(
            "The doctor has created that voucher and tried it beside your script: in {calls} \
             calls they sold the same and answered alike{but}."
        )))
    }
}

/// A script and a managed voucher that get the same tries.
struct Pair<'a> {
    managed: &'a Managed<'a>,
    plain: Client,
    module: Client,
    script: &'a [u8],
    /// Relative to now.
    begin: i64,
    end: i64,
}

impl Pair<'_> {
    /// The difference, if there is one; and notes whether buyers are told from sold out first.
    fn compare(
        &mut self,
        reading: &Reading,
        limit: Option<&str>,
        first_bought: &mut bool,
    ) -> Result<Result<(), String>> {
        let sale = self.managed.sale;
        let reading = self.reading(reading, limit)?;
        let stock = sale.stock_cell(&reading, &a_try(0));
        // Few enough that it is sold out again and again.
        let mut left: i64 = 3;
        for client in [&mut self.plain, &mut self.module] {
            client.must(&["FLUSHALL"])?;
        }
        self.plain.must(&planted(&stock, left.to_string().as_bytes()))?;
        self.create(left, limit)?;
        let mut rng = fastrand::Rng::with_seed(31);
        for number in 1..=CALLS {
            if number % 10 == 0 {
                left += 1;
                self.plain.must(&planted(&stock, left.to_string().as_bytes()))?;
                self.module.must(&["SECKILL.RESTOCK", "7", "1"])?;
            }
            let a_try = Try {
                user: (1000 + rng.usize(..9)).to_string().into_bytes(),
                order: (5000 + number).to_string(),
                units: ["1", "1", "2", "3"][rng.usize(..4)],
                ..a_try(0)
            };
            for (cell, value) in sale.guard_cells(&reading, &a_try) {
                self.plain.must(&planted(&cell, &value))?;
            }
            let value = |slot| reading.value(slot, &a_try, false);
            let yours = self.plain.eval(&eval(self.script, &sale.slots, &value))?;
            let before = left;
            left = World::read(&mut self.plain)?.number(&stock).unwrap_or_default();
            let mut words: Words = [b"SECKILL.TRY", &b"7"[..], &a_try.user, a_try.order.as_bytes()]
                .map(<[u8]>::to_vec)
                .into();
            if sale.units.is_some() {
                words.extend([b"UNITS".to_vec(), a_try.units.into()]);
            }
            let ours = self.module.must(&words)?;
            let ours_left = self.module.must(&["GET", "seckill:stock:7"])?.text();
            let told = self.means(&ours, &yours, before, left);
            let sold_out = self.managed.codes.sold_out.as_ref() == Some(&yours);
            let is_late = ours == Reply::Int(BOUGHT) && sold_out;
            *first_bought |= is_late && !told;
            if ours_left != left.to_string() || !told && !is_late {
                return Ok(Err(format!(
                    "call {number}: your script replies {yours} and leaves {left} units, the \
                     voucher answers {ours} and leaves {ours_left}"
                )));
            }
        }
        Ok(Ok(()))
    }

    /// The arguments: begin and end in the script's own unit, and the limit.
    fn reading(&self, reading: &Reading, limit: Option<&str>) -> Result<Reading> {
        let now = now_ms()?;
        let mut reading = reading.clone();
        for (side, _, rule, _) in self.managed.sides() {
            let at = now + if rule == "BEGIN" { self.begin } else { self.end };
            let at = if side.in_seconds { at / 1000 } else { at };
            reading.means.insert(side.slot, Means::Said(at.to_string().into_bytes()));
        }
        if let (Some(limit), Some("n")) = (limit, self.managed.limit.map(String::as_str)) {
            for means in reading.means.values_mut() {
                if let Means::Always(text) = means {
                    *text = limit.as_bytes().to_vec();
                }
            }
        }
        Ok(reading)
    }

    fn create(&mut self, stock: i64, limit: Option<&str>) -> Result<()> {
        let now = now_ms()?;
        let mut words: Vec<String> = vec!["SECKILL.CREATE".into(), "7".into(), stock.to_string()];
        for (_, _, rule, _) in self.managed.sides() {
            let at = now + if rule == "BEGIN" { self.begin } else { self.end };
            words.extend([rule.to_owned(), at.to_string()]);
        }
        words.extend(limit.into_iter().flat_map(|limit| ["LIMIT".to_owned(), limit.to_owned()]));
        self.module.must(&words).map(drop)
    }

    /// Whether the script's reply means what the voucher answers.
    fn means(&self, ours: &Reply, yours: &Reply, before: i64, left: i64) -> bool {
        let codes = self.managed.codes;
        let window = &self.managed.sale.window;
        let side = |side: &Option<Side>| side.as_ref().is_some_and(|side| side.reply == *yours);
        match ours {
            Reply::Int(ACCEPTED) => match &codes.accepted {
                Accepted::Code(own) => own == yours,
                Accepted::Left => *yours == Reply::Int(left),
                Accepted::Before => *yours == Reply::Int(before),
                Accepted::Varies => left < before,
            },
            Reply::Int(SOLD_OUT) => codes.sold_out.as_ref() == Some(yours),
            Reply::Int(BOUGHT) => self.managed.at_limit == Some(yours),
            Reply::Int(NOT_STARTED) => side(&window.begin),
            Reply::Int(ENDED) => side(&window.end),
            _ => false,
        }
    }
}
