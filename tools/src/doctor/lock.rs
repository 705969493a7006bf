//! Examines a script that releases a lock: alone, then beside LOCK.RELEASE.

use anyhow::Result;

use crate::cure::{Cure, Way, again};
use crate::explore::Run;
use crate::finding::Finding;
use crate::history::Ran;
use crate::prove::{Prover, Row, Sameness, compare, published};
use crate::reply::Reply;
use crate::roles::Roles;
use crate::server::Client;
use crate::template::{Slot, Template};
use crate::watch::{eval, writes};
use crate::wire::Words;
use crate::world::{Kind, World};

/// A script that releases a lock, understood.
pub struct Unlock {
    pub slots: Vec<Slot>,
    pub lock: Template,
    pub token: Option<Slot>,
    /// Its writing calls besides the deletion, such as PUBLISH.
    pub extras: Vec<Vec<Template>>,
    /// Another key that it reads: its behavior may depend on it.
    pub also: Option<Template>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    By(&'static [u8]),
    Nobody,
    List,
}

pub struct Compared {
    pub findings: Vec<Finding>,
    pub rows: Vec<Row>,
    pub cures: Vec<Cure>,
    pub understood: Vec<(&'static str, String)>,
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

impl Unlock {
    /// Derived from the runs: the lock is a string that contained the mark of a slot and was
    /// deleted or, with `told`, the first key that was read.
    pub fn of(runs: &[Run], slots: &[Slot], roles: &Roles, told: bool) -> Option<Self> {
        let marked = slots.to_vec();
        let template = |text: &[u8]| Template::of(text, &marked);
        let deleted = runs.iter().filter(|run| !run.seen.reply.is_error()).find_map(|run| {
            let effects = run.effects();
            let [cell] = effects.gone.as_slice() else { return None };
            let only = effects.taken.is_empty() && effects.given.is_empty();
            let token = template(run.plan.cells.get(cell)?).slot()?;
            let lock = template(&cell.key);
            let only = only && cell.kind == Kind::Text && lock.slots().all(|slot| slot != token);
            let releases = |call: &Words| {
                call.len() == 2
                    && call[1] == cell.key
                    && (call[0] == b"DEL" || call[0] == b"UNLINK")
            };
            let beside = |call: &&Words| writes(call) && !releases(call);
            let extras = run.seen.calls.iter().filter(beside);
            let extras = extras.map(|call| call.iter().map(|word| template(word)).collect());
            let other = |call: &&Words| !writes(call) && call.get(1) != Some(&cell.key);
            let also = run.seen.calls.iter().find(other).and_then(|call| call.get(1));
            let also = also.map(|key| template(key));
            only.then(|| (lock, Some(token), extras.collect(), also))
        });
        let looked = || {
            let call = runs.iter().find_map(|run| run.seen.calls.first())?;
            let lock = template(call.get(1)?);
            let token = slots.iter().copied().find(|slot| lock.slots().all(|own| own != *slot));
            Some((lock, token, Vec::new(), None))
        };
        let (lock, token, extras, also) = deleted.or_else(|| if told { looked() } else { None })?;
        let lock = roles.slot("lock").map_or(lock, Template::alone);
        Some(Self {
            slots: slots.to_vec(),
            lock,
            token: roles.slot("token").or(token),
            extras,
            also,
        })
    }

    fn value(&self, slot: Slot, token: &[u8]) -> Vec<u8> {
        match slot {
            slot if self.token == Some(slot) => token.to_vec(),
            slot if self.lock.slots().any(|own| own == slot) => b"order:1".to_vec(),
            Slot::Key(number) => format!("key{number}").into_bytes(),
            // It may be a time to live, or a message.
            Slot::Arg(_) | Slot::Field(_) => b"10000".to_vec(),
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
                Held::By(token) => client.must(&[&b"SET"[..], &key, token, b"PX", b"3600000"])?,
                Held::List => client.must(&[&b"RPUSH"[..], &key, b"not a lock"])?,
                Held::Nobody => Reply::Nil,
            };
            let before = World::read(client)?;
            let reply = client.eval(&call(token))?;
            Ok(Ran::of_one(reply, before, World::read(client)?))
        };
        SCENARIOS.into_iter().map(run).collect()
    }

    pub fn examine(&self, prover: &Prover<'_>) -> Result<Compared> {
        let script =
            |token: &[u8]| eval(prover.script, &self.slots, &|slot| self.value(slot, token));
        let mut plain = prover.plain.client()?;
        let theirs = self.run_all(&mut plain, &script)?;
        let said = published(&mut plain)?;
        let releases = gone(&theirs[MINE]) && !gone(&theirs[OTHERS]);
        let mut compared = Compared {
            findings: self.findings(&theirs),
            rows: Vec::new(),
            cures: Vec::new(),
            understood: self.understood(releases.then_some(&theirs)),
        };
        let Some(token) = self.token.filter(|_| self.also.is_none()) else { return Ok(compared) };
        for way in self.ways(token, &theirs, releases) {
            let cure = Cure { way, settings: Vec::new(), notes: Vec::new() };
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
            if compared.rows.is_empty() || same && compared.cures.is_empty() {
                compared.rows = rows;
            }
            if same || !compared.findings.is_empty() {
                compared.cures.push(cure);
            }
        }
        Ok(compared)
    }

    /// The lines that could replace it.
    fn ways(&self, token: Slot, theirs: &[Ran], releases: bool) -> Vec<Way> {
        let [mine, others, free] = [MINE, OTHERS, FREE].map(|at| &theirs[at].first().reply);
        let lock = self.lock.lua();
        let call = format!("redis.call('LOCK.RELEASE', {lock}, {token})");
        let usual = Way::Lua(format!("return {call}"));
        let mut ways = Vec::new();
        if let Some(slot) = self.lock.slot().filter(|_| self.extras.is_empty()) {
            ways.push(Way::Native(format!("LOCK.RELEASE {slot} {token}")));
        }
        let codes = (mine.lua(), others.lua(), free.lua());
        let (Some(yes), Some(no), Some(none)) = codes else { return vec![usual] };
        let fails = mine.is_error() || others.is_error();
        let plain = yes == "1" && no == "0" && none == "0" && self.extras.is_empty();
        if !releases || fails || plain {
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

    fn findings(&self, theirs: &[Ran]) -> Vec<Finding> {
        let mut findings: Vec<Finding> = Vec::new();
        if self.token.is_none() {
            let text = "It is given no token, so it deletes the lock of any holder: give every \
                holder a token of its own, and compare it.";
            return vec![Finding::broken("no-token", text)];
        }
        let has = |findings: &[Finding], code| findings.iter().any(|found| found.code == code);
        for (number, ((name, held, token), ran)) in SCENARIOS.iter().zip(theirs).enumerate() {
            let (mine, reply) = (*held == Held::By(token), &ran.first().reply);
            let leaves = mine && !gone(ran) && !reply.is_error();
            if leaves && !has(&findings, "never-releases") {
                let when = if number == MINE { "" } else { " with odd bytes" };
                let text = format!(
                    "It never releases a lock: called with the token{when} that the lock holds, it \
                     leaves the lock and replies {reply}."
                );
                findings.push(Finding::broken("never-releases", text));
            }
            if !mine && gone(ran) && !has(&findings, "deletes-others") {
                let when = if number == OTHERS { String::new() } else { format!(" ({name})") };
                let text = format!(
                    "It deletes the lock of another{when}: a holder that is late, after the lease \
                     has ended, takes the lock away from the new holder."
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
            () => slot.to_string(),
        };
        let call: Vec<_> =
            self.slots.iter().map(|slot| format!("{slot} {}", name(*slot))).collect();
        let mut lines = vec![("called with", call.join(", ")), ("lock", self.lock.shown(&name))];
        if let Some(theirs) = replies {
            let [mine, others, free] = [MINE, OTHERS, FREE].map(|at| &theirs[at].first().reply);
            let mut text = format!("{mine} released, {others} not yours");
            if free != others {
                text += &format!(", {free} no lock");
            }
            lines.push(("replies", text));
        }
        lines
    }
}

fn gone(ran: &Ran) -> bool {
    let lock = ran.before.cells.keys().next();
    lock.is_some_and(|lock| !ran.after.has_key(&lock.key))
}
