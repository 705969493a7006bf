//! Examines one script: explore, understand, find faults, cure, prove.

use anyhow::Result;
use seckill_tools::sanitize::sanitize;

use crate::cluster::{Cluster, Node};
use crate::cure::{self, Cure, Way};
use crate::explore::{Run, explore};
use crate::faults::Facts;
use crate::finding::{Accepted, Codes, Finding, Runs, Weight};
use crate::history::{self, Scenario};
use crate::lock::Lock;
use crate::managed::Managed;
use crate::obstacles;
use crate::options::Kind;
use crate::part;
use crate::prove::{Prover, Row, Sameness, alone};
use crate::reading::{Reading, Try};
use crate::reply::Reply;
use crate::report::{Examined, Verdict};
use crate::roles::Roles;
use crate::sale::Sale;
use crate::server::{Programs, Server};
use crate::source::Source;
use crate::template::{Slot, Template};
use crate::trial::Trial;
use crate::vain::Vain;
use crate::watch::{Watch, eval};
use crate::what::{self, Judged};
use crate::world::{Cell, Kind as Type};

/// Scenarios in which a line must do the same as the script, or it is not shown at all.
const SOUND: [&str; 6] = [
    history::BUYS,
    history::LAST,
    history::SOLD_OUT,
    history::BOUGHT,
    history::OFTEN,
    history::MANY,
];

/// The servers of one worker.
pub struct Bench<'a> {
    pub plain: Server,
    pub module: Server,
    pub node: &'a Node<'a>,
}

impl<'a> Bench<'a> {
    pub fn new(programs: &Programs, node: &'a Node<'a>) -> Result<Self> {
        let start = |module| Server::start(programs, &[], module);
        let (plain, module) = (start(false)?, start(true)?);
        Ok(Self { plain, module, node })
    }

    pub fn examine(&self, kind: Option<Kind>, source: &Source, roles: &Roles) -> Result<Examined> {
        let examined = self.examine_alone(kind, source, roles)?;
        // The text that is joined before or after it may contain what it lacks.
        Ok(match examined.findings.first() {
            Some(found) if source.is_part && examined.verdict == Verdict::Broken => {
                let seen = "other source text is put before or behind it, and alone";
                part::examined(
                    source,
                    &format!("{seen} it would be broken: {}", found.text.trim_end_matches('.')),
                )
            }
            _ => examined,
        })
    }

    fn examine_alone(
        &self,
        kind: Option<Kind>,
        source: &Source,
        roles: &Roles,
    ) -> Result<Examined> {
        let mut examined = Examined::new(&source.name);
        let mut watch = Watch::of(&self.plain)?;
        let loaded = watch.client.call(&[&b"SCRIPT"[..], b"LOAD", &source.text])?;
        if loaded.refuses() {
            if let Some(seen) = part::of_load(&loaded, source) {
                return Ok(part::examined(source, &seen));
            }
            let text = format!("The server can't load it: {}.", source.error(&loaded));
            examined.verdict = Verdict::Broken;
            examined.findings.push(Finding::broken("does-not-load", text));
            return Ok(examined);
        }
        let sha1 = loaded.text();
        examined.sha1.clone_from(&sha1);
        let runs = explore(&mut watch, source, roles)?;
        let slots = roles.slots(source);
        let prover =
            Prover { plain: &self.plain, module: &self.module, script: &source.text, sha1: &sha1 };
        let least = runs[0].clone();
        let fails = runs.iter().all(|run| run.seen.reply.is_error());
        if kind != Some(Kind::Sell) && !least.sells() && !fails {
            let named = source.names("del") || source.names("unlink");
            let said = kind == Some(Kind::Unlock);
            // If it deletes something without comparing a token, it need not be about a lock.
            let deletes = runs.iter().any(|run| !run.effects().gone.is_empty());
            let told = said || source.is_of_locks() && named && !deletes;
            let vain = Vain::of(&runs, source).filter(|_| said || source.is_of_locks());
            let lock = Lock::of(&runs, &slots, roles, told, vain.as_ref());
            let is_meant = said || source.is_of_locks();
            let fits = |lock: &Lock| is_meant && lock.releases() || compares(&runs);
            if let Some(lock) = lock.filter(fits) {
                self.lock(&mut examined, &lock, &prover)?;
                return Ok(examined);
            }
        }
        let mut trial = Trial { watch: &mut watch, script: &source.text, slots: &slots };
        // What it was seen to do may have been luck.
        if source.draws_lots() && !fails && !(least.sells() && trial.sells_always(&least)?) {
            let text = "It calls math.random: the same call does not always do the same. Put what \
                        follows the draw into a script of its own and examine that.";
            examined.obstacles = vec![text.to_owned()];
            return Ok(examined);
        }
        if least.sells() {
            let (least, units) = trial.simplest(least)?;
            let counted = trial.counted(&least)?;
            if trial.is_steady(&least)?
                && !trial.is_reentrant(&least)?
                && let Some(mut sale) = Sale::of(&least, &slots, roles, units.as_ref(), &counted)
            {
                sale.window = trial.window(&least)?;
                let readings = sale.readings(&least, roles);
                self.sale(&mut examined, &sale, &readings, &prover)?;
                return Ok(examined);
            }
        }
        let template = |text: &[u8]| Template::of(text, &slots);
        examined.saw = what::saw(&runs[0].effects(), &template);
        match what::judge(&runs, &slots, source) {
            Judged::Broken(finding) => {
                examined.verdict = Verdict::Broken;
                examined.findings.push(finding);
            }
            Judged::Helper { what, near } => {
                let vain = Vain::of(&runs, source);
                let vain = vain.map(|vain| Finding::weak("always-true", vain.told()));
                examined.findings.extend(vain);
                examined.verdict = Verdict::Helper;
                examined.what = "a helper";
                examined.obstacles = vec![what, format!("Near: {near}")];
            }
            Judged::Unclear(why) => {
                examined.obstacles = vec![format!("What it did: {why}."), what::help(source)];
            }
            Judged::Part(seen) => return Ok(part::examined(source, &seen)),
        }
        Ok(examined)
    }

    fn lock(&self, examined: &mut Examined, lock: &Lock, prover: &Prover<'_>) -> Result<()> {
        lock.examine(examined, prover)?;
        examined.what = lock.what();
        examined.verdict = verdict(&examined.findings, &examined.rows, &examined.cures);
        let mut lines = examined.cures.iter().filter_map(|cure| cure.way.lua());
        let told = lines.any(|lua| lua.starts_with("return redis.call"));
        examined.direct = told.then(|| lock.direct().to_owned());
        Ok(())
    }

    fn sale(
        &self,
        examined: &mut Examined,
        sale: &Sale,
        readings: &[Reading],
        prover: &Prover<'_>,
    ) -> Result<()> {
        let scenarios = history::all(sale);
        let mut client = self.plain.client()?;
        let mut all: Vec<(Reading, Runs)> = Vec::new();
        for reading in readings {
            let mut runs = Runs::new();
            let value = |slot, a_try: &Try| reading.value(slot, a_try, false);
            let call = |a_try: &Try| eval(prover.script, &sale.slots, &|slot| value(slot, a_try));
            for scenario in &scenarios {
                runs.insert(scenario.name, scenario.run(&mut client, sale, reading, &call)?);
                let buys = runs[history::BUYS].first();
                if buys.taken() <= 0 || buys.reply.is_error() {
                    break;
                }
            }
            if runs.len() == scenarios.len() {
                all.push((reading.clone(), runs));
            }
        }
        let facts: Vec<Facts<'_>> = all.iter().map(|(_, runs)| Facts::of(sale, runs)).collect();
        // The best reading sells most, and its replies distinguish repeats from sold out.
        let worth = |facts: &Facts<'_>| {
            let codes = &facts.codes;
            let told = codes.bought.is_some() && codes.bought != codes.sold_out;
            (facts.sold_of_ten().0.min(10), told)
        };
        let best = (0..facts.len()).max_by_key(|at| (worth(&facts[*at]), std::cmp::Reverse(*at)));
        let Some(best) = best else {
            examined.obstacles = vec![format!(
                "It took a unit once, and never again with arguments that a shop would use. Seen: \
                 it {}.",
                what::saw(&sale.effects, &|text| Template::of(text, &sale.slots))
            )];
            return Ok(());
        };
        let others: Vec<Vec<Finding>> = facts.iter().map(Facts::findings).collect();
        let everywhere = |finding: &&Finding| {
            others.iter().all(|found| found.iter().any(|other| other.code == finding.code))
        };
        examined.findings = others[best].iter().filter(everywhere).cloned().collect();
        let (reading, runs) = &all[best];
        let codes = &facts[best].codes;
        examined.understood = understood(sale, codes);
        let limit = Facts::limit(&facts, best);
        let managed = Managed::of(&facts[best], limit.as_ref());
        examined.obstacles = obstacles::of(sale, &managed);
        examined.obstacles.extend(managed.tried(prover, reading)?);
        examined.what = if sale.user.is_none() { "takes units from a bare stock" } else { "sells" };
        let begins_by_itself = examined.findings.iter().any(|f| f.code == "sells-without-stock");
        let bare = sale.marks.is_empty() && sale.orders.is_none();
        if bare && begins_by_itself && !sale.effects.touched.is_empty() {
            let text = "It counts down a number that it creates itself, with a time to live: a \
                        quota or a rate limiter. Near: no command limits rates.";
            *examined = Examined { what: "a helper", ..Examined::new(&examined.file) };
            examined.verdict = Verdict::Helper;
            examined.obstacles = vec![text.to_owned()];
            return Ok(());
        }
        let two_meanings = ["last-unit", "one-reply"];
        if examined.findings.iter().any(|found| two_meanings.contains(&found.code)) {
            let text = "A replacement with the same replies would keep this fault. Give sold out \
                        a reply that no sale has, such as -1, in the script and in its caller.";
            examined.obstacles.insert(0, text.to_owned());
        }
        self.cure(examined, sale, prover, (reading, runs), codes, &scenarios)?;
        let node = Cluster::examine(self.node, sale, reading, prover.script, &examined.cures)?;
        examined.findings.extend(node.findings.iter().cloned());
        examined.findings.sort_by_key(|finding| finding.weight);
        examined.cluster = Some(node);
        examined.verdict = verdict(&examined.findings, &examined.rows, &examined.cures);
        Ok(())
    }

    /// Keeps the cures that are proved, and for a broken script all of them.
    fn cure(
        &self,
        examined: &mut Examined,
        sale: &Sale,
        prover: &Prover<'_>,
        (reading, runs): (&Reading, &Runs),
        codes: &Codes,
        scenarios: &[Scenario],
    ) -> Result<()> {
        let broken = examined.findings.iter().any(|found| found.weight == Weight::Broken);
        let of_user = examined.findings.iter().any(|found| found.code == "buyers-of-user");
        let corrected = if of_user { sale.with_buyers_of_voucher() } else { sale.clone() };
        let mut ways = cure::ways(&corrected, codes);
        ways.retain(|_| examined.obstacles.is_empty());
        let mut nearest: Option<(usize, Cure, Vec<Row>)> = None;
        let mut meant = Vec::new();
        for cure in ways {
            let rows = prover.compare(sale, reading, scenarios, runs, &cure)?;
            let differ = rows.iter().filter(|row| row.sameness == Sameness::Differs).count();
            if differ == 0 || broken {
                meant.push((cure, rows));
            } else if nearest.as_ref().is_none_or(|(least, ..)| differ < *least) {
                nearest = Some((differ, cure, rows));
            }
        }
        // What a broken script was meant to do has its reply to a sale.
        let says = |(_, rows): &(Cure, Vec<Row>)| {
            rows.iter().all(|row| row.name != history::BUYS || row.sameness == Sameness::Same)
        };
        if meant.iter().any(says) {
            meant.retain(says);
        }
        for (cure, rows) in meant {
            if examined.cures.is_empty() {
                examined.rows = rows;
            }
            examined.cures.push(cure);
        }
        if let (Some((_, cure, rows)), true) = (nearest, examined.cures.is_empty()) {
            let sound = |row: &&Row| SOUND.contains(&row.name.as_str());
            let same = rows.iter().filter(sound).all(|row| row.sameness == Sameness::Same);
            let is_lua = matches!(cure.way, Way::Lua(_));
            if is_lua && same && prover.is_near(sale, reading, &cure)? {
                examined.rows = rows;
                examined.cures.push(cure);
            } else {
                // The line would omit something that the script does.
                let differs = rows.iter().rfind(|row| row.sameness == Sameness::Differs);
                examined.obstacles.extend(differs.map(|row| {
                    let how = row.differences.first().map_or("", String::as_str);
                    format!("The nearest command does something else: {}, {how}.", row.name)
                }));
            }
        }
        if examined.rows.is_empty() {
            let row = |scenario: &Scenario| alone(scenario.name, &runs[scenario.name]);
            examined.rows = scenarios.iter().map(row).collect();
        }
        examined.direct = cure::direct(&examined.cures);
        Ok(())
    }
}

/// Whether a string was deleted or renewed because of its value: with another value it stayed.
fn compares(runs: &[Run]) -> bool {
    let cells = runs.iter().flat_map(|run| {
        let effects = run.effects();
        let touched = effects.touched.into_iter();
        let touched = touched.map(|key| Cell { key, kind: Type::Text, item: Vec::new() });
        effects.gone.into_iter().chain(touched)
    });
    cells.into_iter().any(|cell| {
        runs.iter().any(|run| {
            run.plan.cells.contains_key(&cell)
                && !run.seen.reply.is_error()
                && run.effects().is_none()
        })
    })
}

fn verdict(findings: &[Finding], rows: &[Row], cures: &[Cure]) -> Verdict {
    let broken = findings.iter().any(|finding| finding.weight == Weight::Broken);
    let differs = rows.iter().any(|row| row.sameness == Sameness::Differs);
    match () {
        () if broken => Verdict::Broken,
        () if cures.is_empty() || differs => Verdict::Differs,
        () => Verdict::DropIn,
    }
}

fn understood(sale: &Sale, codes: &Codes) -> Vec<(&'static str, String)> {
    let name = |slot| sale.name(slot);
    let slot = |slot: &Slot| {
        let name = name(*slot);
        if name == slot.to_string() { name } else { format!("{slot} {name}") }
    };
    let call: Vec<_> = sale.slots.iter().map(slot).collect();
    let mut lines = vec![("called with", call.join(", ")), ("stock", sale.stock.shown(&name))];
    let buyers = sale.buyers();
    lines.extend(
        sale.marks.iter().map(|place| {
            (if Some(place) == buyers { "buyers" } else { "marks" }, place.shown(&name))
        }),
    );
    if let Some((stream, fields)) = &sale.orders {
        let fields: Vec<String> = fields.iter().map(|(name, _)| sanitize(name)).collect();
        lines.push(("orders", format!("{}, fields {}", stream.shown(&name), fields.join(" "))));
    } else {
        lines.push(("orders", "no stream".to_owned()));
    }
    let own = |call: &&Vec<Template>| call[0].constant() != Some(b"XADD");
    for call in sale.extras.iter().filter(own) {
        let words: Vec<_> = call.iter().map(|word| word.shown(&name)).collect();
        lines.push(("also", words.join(" ")));
    }
    let code = |reply: Option<&Reply>, what: &str| reply.map(|reply| format!("{reply} {what}"));
    let accepted = match &codes.accepted {
        Accepted::Code(reply) => code(Some(reply), "accepted"),
        Accepted::Left => Some("the units left when accepted".into()),
        Accepted::Before => Some("the units there were when accepted".into()),
        Accepted::Varies => None,
    };
    let replies = [
        accepted,
        code(codes.sold_out.as_ref(), "sold out"),
        code(codes.bought.as_ref(), "already bought"),
        code(codes.missing.as_ref(), "without a stock key"),
    ];
    let replies: Vec<_> = replies.into_iter().flatten().collect();
    if !replies.is_empty() {
        lines.push(("replies", replies.join(", ")));
    }
    lines
}
