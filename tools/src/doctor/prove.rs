//! Compares a cure with the script: in every scenario, and in a long random history in which stocks
//! are created and deleted and every argument of unknown meaning has a new value each time.

use anyhow::{Context, Result};
use seckill_tools::server_info::fields;
use serde::Serialize;

use crate::conf::DEFAULTS;
use crate::cure::{Cure, Way};
use crate::finding::Runs;
use crate::history::{Ran, Scenario, a_try};
use crate::reading::{Means, Reading, Try};
use crate::reply::Reply;
use crate::sale::Sale;
use crate::server::{Client, Server};
use crate::template::Slot;
use crate::watch::eval;
use crate::wire::Words;
use crate::world::{World, planted};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sameness {
    Same,
    /// The module refuses and changes nothing where the keys are damaged or the script fails
    /// half-way.
    Refused,
    Differs,
    /// There is no cure to compare it with.
    #[serde(rename = "")]
    Alone,
}

/// A scenario with its replies.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub name: String,
    #[serde(rename = "script")]
    pub yours: String,
    pub module: Option<String>,
    #[serde(rename = "result")]
    pub sameness: Sameness,
    pub differences: Vec<String>,
}

/// The number of random calls that compare a cure with the script.
pub const CALLS: usize = 300;

/// Usually few units, sometimes more than a script may allow.
const UNITS: [&str; 12] = ["1", "1", "1", "2", "2", "3", "5", "6", "10", "11", "101", "1001"];

pub struct Prover<'a> {
    pub plain: &'a Server,
    pub module: &'a Server,
    pub script: &'a [u8],
    pub sha1: &'a str,
}

impl Prover<'_> {
    /// The module with the settings at their defaults.
    pub fn defaults(&self) -> Result<Client> {
        let mut client = self.module.client()?;
        for (name, value) in DEFAULTS.into_iter().chain([("seckill.scripts", "")]) {
            client.must(&["CONFIG", "SET", name, value])?;
        }
        Ok(client)
    }

    /// The module with the settings of a cure; for a line of `seckill.scripts`, also with that
    /// line.
    pub fn set(&self, cure: &Cure) -> Result<Client> {
        let mut client = self.defaults()?;
        client.must(&["SCRIPT", "FLUSH"])?;
        for (name, value) in &cure.settings {
            client.must(&["CONFIG", "SET", name, value])?;
        }
        if let Way::Native(command) = &cure.way {
            let line = format!("{} {command}", self.sha1);
            client.must(&["CONFIG", "SET", "seckill.scripts", &line])?;
        }
        Ok(client)
    }

    /// The call of the cure: the script's own EVALSHA, or EVAL of the line that replaces it.
    pub fn call(&self, way: &Way, slots: &[Slot], value: &impl Fn(Slot) -> Vec<u8>) -> Words {
        match way {
            Way::Lua(lua) => eval(lua.as_bytes(), slots, value),
            Way::Native(_) => {
                let mut call = eval(self.sha1.as_bytes(), slots, value);
                call[0] = b"EVALSHA".to_vec();
                call
            }
        }
    }

    /// Compares in all scenarios, and in the random history last.
    pub fn compare(
        &self,
        sale: &Sale,
        reading: &Reading,
        scenarios: &[Scenario],
        theirs: &Runs,
        cure: &Cure,
    ) -> Result<Vec<Row>> {
        let mut module = match self.set(cure) {
            Ok(module) => module,
            Err(refused) => {
                let differences = vec![refused.to_string()];
                let (name, yours, module) = ("the settings".into(), String::new(), None);
                let sameness = Sameness::Differs;
                return Ok(vec![Row { name, yours, module, sameness, differences }]);
            }
        };
        let mut rows = Vec::new();
        // SECKILL.DEDUCT has documented rules of its own for stocks below zero.
        let bare = sale.buyers().is_none();
        for scenario in scenarios {
            let negative =
                matches!(scenario.stock, crate::history::Stock::Units(n) if n.starts_with('-'));
            if bare && negative {
                continue;
            }
            let call = |a_try: &Try| {
                self.call(&cure.way, &sale.slots, &|slot| reading.value(slot, a_try, false))
            };
            let ours = scenario.run(&mut module, sale, reading, &call)?;
            let damaged = scenario.is_damaged();
            rows.push(compare(scenario.name, damaged, &theirs[scenario.name], &ours));
        }
        let mut plain = self.plain.client()?;
        rows.push(self.random(sale, reading, cure, (&mut plain, &mut module), true)?);
        Ok(rows)
    }

    /// Whether replies and keys are equal as long as the stock keys exist.
    pub fn is_near(&self, sale: &Sale, reading: &Reading, cure: &Cure) -> Result<bool> {
        let (mut plain, mut module) = (self.plain.client()?, self.set(cure)?);
        let row = self.random(sale, reading, cure, (&mut plain, &mut module), false)?;
        Ok(row.sameness == Sameness::Same)
    }

    fn random(
        &self,
        sale: &Sale,
        reading: &Reading,
        cure: &Cure,
        (plain, module): (&mut Client, &mut Client),
        stocks_go: bool,
    ) -> Result<Row> {
        let mut rng = fastrand::Rng::with_seed(16);
        let mut differences = Vec::new();
        for client in [&mut *plain, &mut *module] {
            client.must(&["FLUSHALL"])?;
            client.must(&["CONFIG", "RESETSTAT"])?;
        }
        let replaced = replaced(module)?;
        for voucher in ["7", "8", "9"].into_iter().filter(|_| !stocks_go) {
            let stock = sale.stock_cell(reading, &Try { voucher, ..a_try(0) });
            plain.must(&planted(&stock, b"5"))?;
            module.must(&planted(&stock, b"5"))?;
        }
        for number in 0..CALLS {
            let user = (1000 + rng.usize(..7)).to_string().into_bytes();
            let voucher = ["7", "8", "9"][rng.usize(..3)];
            let units = UNITS[rng.usize(..UNITS.len())];
            let a_try =
                Try { voucher, user, order: (5000 + number).to_string(), units, stock: None };
            let mut reading = reading.clone();
            for means in reading.means.values_mut() {
                if let Means::Always(text) = means {
                    *text = [0, 1, 1, 1, 2, 3, 20][rng.usize(..7)].to_string().into_bytes();
                }
            }
            let stock = sale.stock_cell(&reading, &a_try);
            let event = match rng.usize(..12) {
                0 if stocks_go && number < CALLS - 20 => vec![b"DEL".to_vec(), stock.key.clone()],
                0 | 1 => planted(&stock, rng.u32(0..14).to_string().as_bytes()),
                2 => planted(&stock, b"5000"),
                _ => vec![b"PING".to_vec()],
            };
            let value = |slot| reading.value(slot, &a_try, false);
            plain.must(&event)?;
            module.must(&event)?;
            let yours = plain.eval(&eval(self.script, &sale.slots, &value))?;
            let ours = module.eval(&self.call(&cure.way, &sale.slots, &value))?;
            if !yours.is_like(&ours) && differences.len() < 2 {
                let text = format!("your script replies {yours}, the module {ours}");
                differences.push(format!("call {}: {text}", number + 1));
            }
        }
        let (yours, ours) = (World::read(plain)?, World::read(module)?);
        differences.extend(yours.differences(&ours).into_iter().take(3));
        let (yours, ours) = (published(plain)?, published(module)?);
        if yours != ours {
            differences.push(format!("your script publishes {yours} messages, the module {ours}"));
        }
        if let Way::Native(_) = cure.way {
            let count = self::replaced(module)?.saturating_sub(replaced);
            if count != CALLS {
                differences.push(format!("the module answered {count} of {CALLS} calls itself"));
            }
        }
        let sameness = if differences.is_empty() { Sameness::Same } else { Sameness::Differs };
        let same = sameness == Sameness::Same;
        let yours = if same { "same replies, same keys" } else { "see below" }.to_owned();
        let (name, module) = (format!("{CALLS} random calls"), Some(yours.clone()));
        Ok(Row { name, yours, module, sameness, differences })
    }
}

/// How many messages were published, which no key shows.
pub fn published(client: &mut Client) -> Result<String> {
    let info = client.must(&["INFO", "commandstats"])?.text();
    let calls = fields(&info).get("cmdstat_publish").and_then(|stat| stat.strip_prefix("calls="));
    Ok(calls.and_then(|rest| rest.split(',').next()).unwrap_or("0").to_owned())
}

/// How many calls the module has answered instead of running Lua.
fn replaced(client: &mut Client) -> Result<usize> {
    let info = client.must(&["INFO", "seckill"])?.text();
    let count = fields(&info).get("seckill_scripts_replaced").and_then(|count| count.parse().ok());
    count.context("no count of replaced scripts")
}

/// Compares two results of a scenario. On damaged keys the module may refuse, whatever the script
/// does.
pub fn compare(name: &str, is_damaged: bool, theirs: &Ran, ours: &Ran) -> Row {
    let mut differences = Vec::new();
    let many = ours.steps.len() > 1;
    for (number, (yours, module)) in theirs.replies().iter().zip(ours.replies()).enumerate() {
        if !yours.is_like(module) && differences.len() < 2 {
            let place = if many { format!("try {}: ", number + 1) } else { String::new() };
            differences.push(format!("{place}your script replies {yours}, the module {module}"));
        }
    }
    differences.extend(theirs.after.differences(&ours.after).into_iter().take(3));
    let refuses = ours.replies().iter().all(|reply| reply.refuses()) && ours.before == ours.after;
    let half_done = theirs.steps.iter().any(|step| step.reply.is_error() && step.changed);
    let sameness = if differences.is_empty() {
        Sameness::Same
    } else if refuses && (is_damaged || half_done) {
        Sameness::Refused
    } else {
        Sameness::Differs
    };
    let (yours, module) = (said(&theirs.replies()), Some(said(&ours.replies())));
    Row { name: name.into(), yours, module, sameness, differences }
}

/// The script alone, if nothing could replace it.
pub fn alone(name: &str, ran: &Ran) -> Row {
    let (yours, sameness, differences) = (said(&ran.replies()), Sameness::Alone, Vec::new());
    Row { name: name.into(), yours, module: None, sameness, differences }
}

/// Replies in a row of a table: `0, 2`, or `10 x 0, 20 x 1` if there are many.
fn said(replies: &[&Reply]) -> String {
    let words: Vec<String> = replies.iter().map(|reply| reply.short()).collect();
    if words.len() <= 3 {
        return words.join(", ");
    }
    // In the order of their first occurrence.
    let mut counts: Vec<(&String, usize)> = Vec::new();
    for word in &words {
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    if counts.len() > 3 {
        return format!("{} different replies", counts.len());
    }
    let counts: Vec<_> = counts.iter().map(|(word, count)| format!("{count} x {word}")).collect();
    counts.join(", ")
}
