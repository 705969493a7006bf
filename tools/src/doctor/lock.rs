//! Examines a script that releases or renews a lock: alone, then beside LOCK.RELEASE or LOCK.RENEW.

use anyhow::Result;

use crate::cure::{Cure, Way, again};
use crate::deed::{self, Deed, Lease};
use crate::explore::Run;
use crate::finding::Finding;
use crate::history::Ran;
use crate::prove::{Prover, Row, Sameness, alone, compare, published};
use crate::reply::Reply;
use crate::report::Examined;
use crate::roles::Roles;
use crate::server::Client;
use crate::template::{Slot, Template};
use crate::vain::Vain;
use crate::watch::{eval, writes};
use crate::wire::Words;
use crate::world::{Cell, Kind, World, is_near, planted};

/// A script that releases or renews a lock, understood.
pub struct Lock {
    slots: Vec<Slot>,
    lock: Template,
    /// Whether the lock is a string, or a hash with the token as a field.
    kind: Kind,
    token: Option<Slot>,
    deed: Deed,
    /// Its writing calls besides that, such as PUBLISH.
    extras: Vec<Vec<Template>>,
    /// Another key that it reads: its behavior may depend on it.
    also: Option<Template>,
    /// Why it does not matter whose lock it is.
    vain: Option<String>,
}

/// The lease before a renewal, and the one after it, if the script is given a lease.
const OLD_LEASE_MS: i64 = 3_600_000;
const LEASE_MS: i64 = 60_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    By(&'static [u8]),
    Nobody,
    List,
}

const MINE: usize = 0;
const OTHERS: usize = 1;
const FREE: usize = 2;

/// The scenario's name, who holds the lock, and the token of the call.
const SCENARIOS: [(&str, Held, &[u8]); 9] = [
    ("a lock of mine", Held::By(b"token-1"), b"token-1"),
    ("a lock of another", Held::By(b"token-2"), b"token-1"),
    ("no lock", Held::Nobody, b"token-1"),
    ("a token that begins alike", Held::By(b"token-12"), b"token-1"),
    ("a token that is the same number", Held::By(b"01"), b"1"),
    ("another's lock, and no token", Held::By(b"token-2"), b""),
    ("no lock, and no token", Held::Nobody, b""),
    ("odd bytes in my token", Held::By(b"\x00\xff %d\r\n"), b"\x00\xff %d\r\n"),
    ("the lock's key is a list", Held::List, b"token-1"),
];

impl Lock {
    /// Derived from the runs: the lock is a string that contained the mark of a slot and was
    /// deleted or got another time to live or, with `told`, the first key that was read.
    pub fn of(
        runs: &[Run],
        slots: &[Slot],
        roles: &Roles,
        told: bool,
        vain: Option<&Vain>,
    ) -> Option<Self> {
        let template = |text: &[u8]| Template::of(text, slots);
        let lock = |lock: Template, kind, token, deed| Self {
            slots: slots.to_vec(),
            lock,
            kind,
            token,
            deed,
            extras: Vec::new(),
            also: None,
            vain: vain.map(Vain::told),
        };
        let ran = runs.iter().filter(|run| !run.seen.reply.is_error()).find_map(|run| {
            let (cell, deed) = deed::of(run, slots)?;
            let token = template(run.plan.cells.get(&cell)?).slot()?;
            let name = template(&cell.key);
            let is_lease = matches!(deed, Deed::Renew(Lease::Given(slot, _)) if slot == token);
            if cell.kind != Kind::Text || is_lease || name.slots().any(|slot| slot == token) {
                return None;
            }
            let does = |call: &Words| deed::does(deed, call, &cell.key);
            let extras = run.seen.calls.iter().filter(|call| writes(call) && !does(call));
            let other = |call: &&Words| !writes(call) && call.get(1) != Some(&cell.key);
            let also = run.seen.calls.iter().find(other).and_then(|call| call.get(1));
            Some(Self {
                extras: extras
                    .map(|call| call.iter().map(|word| template(word)).collect())
                    .collect(),
                also: also.map(|key| template(key)),
                ..lock(name, Kind::Text, Some(token), deed)
            })
        });
        let released = |key: &[u8], kind| {
            let name = template(key);
            let token = slots.iter().copied().find(|slot| name.slots().all(|own| own != *slot));
            lock(name, kind, token, Deed::Release)
        };
        let asked = || vain.map(|vain| released(&vain.key, vain.kind));
        let looked = || {
            let call = runs.iter().find_map(|run| run.seen.calls.first()).filter(|_| told)?;
            Some(released(call.get(1)?, Kind::Text))
        };
        let found = ran.or_else(asked).or_else(looked)?;
        Some(Self {
            lock: roles.slot("lock").map_or(found.lock.clone(), Template::alone),
            token: roles.slot("token").or(found.token),
            ..found
        })
    }

    pub fn releases(&self) -> bool {
        self.deed == Deed::Release
    }

    pub fn what(&self) -> &'static str {
        if self.releases() { "releases a lock" } else { "renews a lock" }
    }

    /// The command that a client can call without any script.
    pub fn direct(&self) -> &'static str {
        match self.deed {
            Deed::Release => "LOCK.RELEASE lock token",
            Deed::Renew(_) => "LOCK.RENEW lock token lease-ms",
        }
    }

    /// Why no command takes its place.
    fn obstacle(&self) -> Option<String> {
        let command = self.direct().split(' ').next().unwrap_or_default();
        match &self.also {
            _ if self.kind == Kind::Hash => Some(format!(
                "It keeps the lock in a hash, as Redisson does. {command} is for a lock that is a \
                 string: LOCK.ACQUIRE lock token lease-ms, or SET lock token NX PX lease-ms."
            )),
            Some(key) => Some(format!(
                "It also looks at {}, and {command} does not: what it does may depend on it.",
                key.shown(&|slot| slot.to_string())
            )),
            None => None,
        }
    }

    fn value(&self, slot: Slot, token: &[u8]) -> Vec<u8> {
        match slot {
            slot if self.token == Some(slot) => token.to_vec(),
            slot if self.lock.slots().any(|own| own == slot) => b"order:1".to_vec(),
            Slot::Key(number) => format!("key{number}").into_bytes(),
            slot => match self.deed {
                Deed::Renew(Lease::Given(lease, unit_ms)) if lease == slot => {
                    (LEASE_MS / unit_ms).to_string().into_bytes()
                }
                // It may be a time to live, or a message.
                _ => b"10000".to_vec(),
            },
        }
    }

    fn run_all(
        &self,
        client: &mut Client,
        call: &dyn Fn(&[u8]) -> Vec<Vec<u8>>,
    ) -> Result<Vec<Ran>> {
        let key = self.lock.text(&|slot| self.value(slot, b""));
        client.must(&["CONFIG", "RESETSTAT"])?;
        let run = |(_, held, token): (_, Held, &[u8])| {
            client.must(&["FLUSHALL"])?;
            match held {
                Held::By(token) => {
                    let item = if self.kind == Kind::Hash { token.to_vec() } else { Vec::new() };
                    let cell = Cell { key: key.clone(), kind: self.kind, item };
                    client.must(&planted(&cell, token))?;
                    client.must(&[&b"PEXPIRE"[..], &key, OLD_LEASE_MS.to_string().as_bytes()])?
                }
                Held::List => client.must(&[&b"RPUSH"[..], &key, b"not a lock"])?,
                Held::Nobody => Reply::Nil,
            };
            let before = World::read(client)?;
            let reply = client.eval(&call(token))?;
            Ok(Ran::of_one(reply, before, World::read(client)?))
        };
        SCENARIOS.into_iter().map(run).collect()
    }

    /// Adds what is found out to the result.
    pub fn examine(&self, examined: &mut Examined, prover: &Prover<'_>) -> Result<()> {
        let script =
            |token: &[u8]| eval(prover.script, &self.slots, &|slot| self.value(slot, token));
        let mut plain = prover.plain.client()?;
        let theirs = self.run_all(&mut plain, &script)?;
        let said = published(&mut plain)?;
        let works = self.is_done(&theirs[MINE]) && !self.is_done(&theirs[OTHERS]);
        examined.findings = self.findings(&theirs);
        examined.understood = self.understood(works.then_some(&theirs));
        examined.obstacles.extend(self.obstacle());
        if self.kind == Kind::Hash {
            let rows = SCENARIOS.iter().zip(&theirs);
            examined.rows = rows.map(|((name, ..), ran)| alone(name, ran)).collect();
        }
        let is_open = examined.obstacles.is_empty();
        let Some(token) = self.token.filter(|_| is_open) else { return Ok(()) };
        for way in self.ways(token, &theirs, works) {
            let notes = self.notes(examined.cures.is_empty());
            let cure = Cure { way, settings: Vec::new(), notes };
            let mut module = prover.set(&cure)?;
            let call =
                |token: &[u8]| prover.call(&cure.way, &self.slots, &|slot| self.value(slot, token));
            let ours = self.run_all(&mut module, &call)?;
            let row = |((name, held, _), (one, two)): (&(&str, Held, _), _)| {
                compare(name, *held == Held::List, one, two)
            };
            let rows: Vec<Row> = SCENARIOS.iter().zip(theirs.iter().zip(&ours)).map(row).collect();
            // Keys don't show published messages.
            let says = published(&mut module)? == said;
            let same = says && rows.iter().all(|row| row.sameness != Sameness::Differs);
            if examined.rows.is_empty() || same && examined.cures.is_empty() {
                examined.rows = rows;
            }
            if same || !examined.findings.is_empty() {
                examined.cures.push(cure);
            }
        }
        Ok(())
    }

    fn notes(&self, is_first: bool) -> Vec<String> {
        let note = match self.deed {
            Deed::Release => {
                "Without the module, DELEX lock IFEQ token (Redis 8.4) or DELIFEQ lock token \
                 (Valkey 9.0) releases a lock, too. LOCK.RELEASE also hands it to the first client \
                 that waits in LOCK.ACQUIRE."
            }
            Deed::Renew(_) => {
                "LOCK.RENEW takes a lease in ms, from 1 to seckill.lock-lease-ms-max (a day)."
            }
        };
        is_first.then(|| note.to_owned()).into_iter().collect()
    }

    /// The lines that could replace it.
    fn ways(&self, token: Slot, theirs: &[Ran], works: bool) -> Vec<Way> {
        let [mine, others, free] = [MINE, OTHERS, FREE].map(|at| &theirs[at].first().reply);
        let lock = self.lock.lua();
        let (command, lease, lua) = match self.deed {
            Deed::Release => ("LOCK.RELEASE", Some(String::new()), String::new()),
            Deed::Renew(Lease::Ms(ms)) => ("LOCK.RENEW", Some(format!(" {ms}")), format!(", {ms}")),
            Deed::Renew(Lease::Given(slot, 1)) => {
                ("LOCK.RENEW", Some(format!(" {slot}")), format!(", {slot}"))
            }
            Deed::Renew(Lease::Given(slot, unit)) => {
                ("LOCK.RENEW", None, format!(", {slot} * {unit}"))
            }
        };
        let call = format!("redis.call('{command}', {lock}, {token}{lua})");
        let usual = Way::Lua(format!("return {call}"));
        let mut ways = Vec::new();
        if let (Some(slot), Some(lease), true) = (self.lock.slot(), lease, self.extras.is_empty()) {
            ways.push(Way::Native(format!("{command} {slot} {token}{lease}")));
        }
        let codes = (mine.lua(), others.lua(), free.lua());
        let (Some(yes), Some(no), Some(none)) = codes else { return vec![usual] };
        let fails = mine.is_error() || others.is_error();
        let plain = yes == "1" && no == "0" && none == "0" && self.extras.is_empty();
        if !works || fails || plain {
            ways.push(usual);
            return ways;
        }
        let check = if free == others || free.is_error() {
            String::new()
        } else {
            format!("if redis.call('EXISTS', {lock}) == 0 then return {none} end ")
        };
        let extras: String = self.extras.iter().map(|call| again(call) + " ").collect();
        ways.push(Way::Lua(if yes == no && no == none && extras.is_empty() {
            format!("{call} return {yes}")
        } else {
            format!("{check}if {call} == 1 then {extras}return {yes} end return {no}")
        }));
        ways
    }

    fn is_done(&self, ran: &Ran) -> bool {
        let Some(lock) = ran.before.cells.keys().next().map(|cell| &cell.key) else { return false };
        match self.deed {
            Deed::Release => !ran.after.has_key(lock),
            Deed::Renew(_) => !is_near(ran.before.ttl.get(lock), ran.after.ttl.get(lock)),
        }
    }

    fn findings(&self, theirs: &[Ran]) -> Vec<Finding> {
        let mut findings: Vec<Finding> = Vec::new();
        let vain = self.vain.as_ref().map(|text| format!(" {text}")).unwrap_or_default();
        if self.token.is_none() {
            let text = "It is given no token, so it deletes the lock of any holder: give every \
                holder a token of its own, and compare it.";
            return vec![Finding::broken("no-token", format!("{text}{vain}"))];
        }
        let has = |findings: &[Finding], code| findings.iter().any(|found| found.code == code);
        for (number, ((name, held, token), ran)) in SCENARIOS.iter().zip(theirs).enumerate() {
            let (mine, reply) = (*held == Held::By(token), &ran.first().reply);
            let leaves = mine && !self.is_done(ran) && !reply.is_error();
            if leaves && !has(&findings, "never-releases") {
                let when = if number == MINE { "" } else { " with odd bytes" };
                let text = format!(
                    "It never {}: called with the token{when} that the lock holds, it leaves the \
                     lock and replies {reply}.",
                    self.what()
                );
                findings.push(Finding::broken("never-releases", text));
            }
            if !mine && self.is_done(ran) && !has(&findings, "deletes-others") {
                let when = if number == OTHERS { String::new() } else { format!(" ({name})") };
                let text = format!(
                    "It deletes the lock of another{when}: a holder that is late, after the lease \
                     has ended, takes the lock away from the new holder.{vain}"
                );
                findings.push(Finding::broken("deletes-others", text));
            }
        }
        let free = &theirs[FREE].first().reply;
        if free.is_error() {
            let text = format!("It fails when there is no lock: {free}.");
            findings.push(Finding::weak("missing-lock", text));
        }
        let declared = Slot::is_key;
        if self.token.is_some_and(declared) && !self.lock.slots().any(declared) {
            let text = "KEYS and ARGV are swapped: the token is declared as a key and the lock is \
                not. A cluster client goes to the node of the token, and access rules look at the \
                wrong name.";
            findings.push(Finding::weak("swapped", text));
        } else if self.lock.slot().is_none_or(|slot| !declared(slot)) {
            let text = "The lock's key is not declared as a key, so no cluster client can find its \
                node.";
            findings.push(Finding::weak("undeclared-keys", text));
        }
        findings
    }

    fn understood(&self, replies: Option<&Vec<Ran>>) -> Vec<(&'static str, String)> {
        let name = |slot: Slot| match () {
            () if self.token == Some(slot) => "token".to_owned(),
            () if self.lock.slot() == Some(slot) => "lock".to_owned(),
            () if matches!(self.deed, Deed::Renew(Lease::Given(own, _)) if own == slot) => {
                "lease".to_owned()
            }
            () => slot.to_string(),
        };
        let call: Vec<_> =
            self.slots.iter().map(|slot| format!("{slot} {}", name(*slot))).collect();
        let mut lines = vec![("called with", call.join(", ")), ("lock", self.lock.shown(&name))];
        if let Some(theirs) = replies {
            let [mine, others, free] = [MINE, OTHERS, FREE].map(|at| &theirs[at].first().reply);
            let done = if self.releases() { "released" } else { "renewed" };
            let mut text = format!("{mine} {done}, {others} not yours");
            if free != others {
                text += &format!(", {free} no lock");
            }
            lines.push(("replies", text));
        }
        lines
    }
}
