//! Examines a script that releases a lock: alone, then beside LOCK.RELEASE.

use anyhow::Result;

use crate::cluster::Cluster;
use crate::cure;
use crate::findings::{Finding, Weight};
use crate::reply::Reply;
use crate::report::{Examined, Kind, Row, Sameness, Verdict};
use crate::roles::Roles;
use crate::sale::Pair;
use crate::server::{Client, Server};
use crate::shape::keys_of;
use crate::source::Source;
use crate::state::{self, State};
use crate::template::{Slot, Template};
use crate::trace::Watch;
use crate::watch::eval;

/// A script that releases a lock, understood.
struct Unlock {
    slots: Vec<Slot>,
    lock: Template,
    token: Template,
}

/// What the lock holds, and what the caller thinks.
struct Scenario {
    name: &'static str,
    held: Held,
    token: &'static [u8],
}

enum Held {
    By(&'static [u8]),
    Nobody,
    List,
}

struct Ran {
    reply: Reply,
    before: State,
    after: State,
}

const MINE: &str = "a lock of mine";
const OTHERS: &str = "a lock of another";
const FREE: &str = "no lock";

fn scenarios() -> Vec<Scenario> {
    let row = |(name, held, token)| Scenario { name, held, token };
    let rows: [(&'static str, Held, &'static [u8]); 9] = [
        (MINE, Held::By(b"token-1"), b"token-1"),
        (OTHERS, Held::By(b"token-2"), b"token-1"),
        (FREE, Held::Nobody, b"token-1"),
        ("a token that begins alike", Held::By(b"token-12"), b"token-1"),
        ("a token that is the same number", Held::By(b"01"), b"1"),
        ("another's lock, and no token", Held::By(b"token-2"), b""),
        ("no lock, and no token", Held::Nobody, b""),
        ("odd bytes in my token", Held::By(b"\x00\xff %d\r\n"), b"\x00\xff %d\r\n"),
        ("the lock's key is a list", Held::List, b"token-1"),
    ];
    rows.into_iter().map(row).collect()
}

impl Unlock {
    /// Looks for the key that is deleted, and for whose value is asked.
    fn of(
        watch: &mut Watch,
        source: &Source,
        roles: &Roles,
    ) -> Result<std::result::Result<Self, String>> {
        let slots = roles.slots(source);
        let marked: Vec<Slot> =
            slots.iter().copied().filter(|slot| !roles.fixed.contains_key(slot)).collect();
        let value = |slot: Slot| roles.fixed.get(&slot).cloned().unwrap_or_else(|| slot.mark());
        let call = eval(&source.text, &slots, &value);
        watch.client.must(&["FLUSHALL"])?;
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let seen = watch.run(&call)?;
        for call in &seen.calls {
            keys.extend(keys_of(watch, call)?);
        }
        if seen.calls.iter().any(|call| call[0].starts_with(b"H")) {
            return Ok(Err(
                "it keeps the lock in a hash, and LOCK.RELEASE is for locks in strings".into(),
            ));
        }
        let Some(lock) = keys.first().map(|key| Template::of(key, &marked)) else {
            return Ok(Err(format!("it looks at no key, and replies {}", seen.reply)));
        };
        let lock = roles.slot("lock").map_or(lock, alone);
        let in_lock: Vec<Slot> = lock.slots().collect();
        let rest: Vec<Slot> =
            marked.iter().copied().filter(|slot| !in_lock.contains(slot)).collect();
        let told = roles.slot("token");
        // The token is the slot that has the lock deleted when the lock holds it.
        let key = lock.text(&value);
        for slot in told.into_iter().chain(rest.clone()) {
            watch.client.must(&["FLUSHALL"])?;
            watch.client.must(&[&b"SET"[..], &key, &slot.mark()])?;
            watch.run(&call)?;
            if watch.client.call(&[b"EXISTS", key.as_slice()])? == Reply::Int(0) {
                return Ok(Ok(Self { slots, lock, token: alone(slot) }));
            }
        }
        // Without a slot for it nothing is compared at all.
        let token = told.or(rest.first().copied()).map_or_else(|| Template(Vec::new()), alone);
        Ok(Ok(Self { slots, lock, token }))
    }

    fn value(&self, slot: Slot, token: &[u8]) -> Vec<u8> {
        if self.token.slot() == Some(slot) { token.to_vec() } else { b"order:1".to_vec() }
    }

    fn key(&self) -> Vec<u8> {
        self.lock.text(&|slot| self.value(slot, b""))
    }

    fn run(&self, client: &mut Client, script: &[u8], scenario: &Scenario) -> Result<Ran> {
        client.must(&["FLUSHALL"])?;
        let key = self.key();
        match scenario.held {
            Held::By(token) => client.must(&[&b"SET"[..], &key, token, b"PX", b"3600000"])?,
            Held::List => client.must(&[&b"RPUSH"[..], &key, b"not a lock"])?,
            Held::Nobody => redis::Value::Nil,
        };
        let before = state::read(client)?;
        let reply =
            client.eval(&eval(script, &self.slots, &|slot| self.value(slot, scenario.token)))?;
        Ok(Ran { reply, before, after: state::read(client)? })
    }
}

fn alone(slot: Slot) -> Template {
    Template(vec![crate::template::Part::Slot(slot)])
}

/// `Err` in the inner result says why the script is not understood.
pub fn examine(
    pair: &Pair,
    source: &Source,
    roles: &Roles,
) -> Result<std::result::Result<Examined, String>> {
    let mut watch = Watch::of(&pair.plain)?;
    let unlock = match Unlock::of(&mut watch, source, roles)? {
        Ok(unlock) => unlock,
        Err(why) => return Ok(Err(why)),
    };
    drop(watch);
    let theirs = run_all(&pair.plain, &unlock, &source.text)?;
    let find = |name: &str| theirs.iter().find(|(scenario, _)| scenario.name == name);
    let (Some((_, mine)), Some((_, others)), Some((_, free))) =
        (find(MINE), find(OTHERS), find(FREE))
    else {
        return Ok(Err("a scenario is missing".into()));
    };
    if unlock.token.0.is_empty() {
        let text = "It is given no token, so it deletes the lock of whoever holds it: give every \
            holder a token of its own, and compare it.";
        return Ok(Ok(without_token(source, &unlock, vec![Finding::broken("no-token", text)])));
    }
    let key = unlock.key();
    let gone = |ran: &Ran| ran.before.contains_key(&key) && !ran.after.contains_key(&key);
    let mut findings = findings(&unlock, &theirs, gone);
    let releases = gone(mine) && !gone(others);
    let (replacement, notes) = replacement(&unlock, mine, others, free, releases);
    let ours = run_all(&pair.module, &unlock, replacement.as_bytes())?;
    let rows: Vec<Row> = theirs
        .iter()
        .zip(&ours)
        .map(|((scenario, yours), (_, module))| compare(scenario, yours, module))
        .collect();
    findings.sort_by_key(|finding| finding.weight);
    let broken = findings.iter().any(|finding| finding.weight == Weight::Broken);
    let differs = rows.iter().any(|row| row.sameness == Sameness::Differs);
    let verdict = match (broken, differs) {
        (true, _) => Verdict::Broken,
        (_, true) => Verdict::Differs,
        _ => Verdict::DropIn,
    };
    let plain = replacement.starts_with("return redis.call(");
    Ok(Ok(Examined {
        verdict,
        rows,
        notes,
        direct: plain.then(|| "LOCK.RELEASE lock token".into()),
        replacement: Some(replacement),
        understood: understood(
            &unlock,
            releases.then_some((&mine.reply, &others.reply, &free.reply)),
        ),
        ..without_token(source, &unlock, findings)
    }))
}

fn without_token(source: &Source, unlock: &Unlock, findings: Vec<Finding>) -> Examined {
    Examined {
        file: source.name.clone(),
        kind: Kind::Unlock,
        verdict: Verdict::Broken,
        understood: understood(unlock, None),
        rows: Vec::new(),
        findings,
        obstacles: Vec::new(),
        settings: Vec::new(),
        keys_because: None,
        notes: Vec::new(),
        direct: None,
        replacement: None,
        cluster: None::<Cluster>,
    }
}

fn run_all(server: &Server, unlock: &Unlock, script: &[u8]) -> Result<Vec<(Scenario, Ran)>> {
    let mut client = server.client()?;
    let run = |scenario: Scenario| {
        let ran = unlock.run(&mut client, script, &scenario)?;
        Ok((scenario, ran))
    };
    scenarios().into_iter().map(run).collect()
}

fn findings(
    unlock: &Unlock,
    theirs: &[(Scenario, Ran)],
    gone: impl Fn(&Ran) -> bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (scenario, ran) in theirs {
        let mine = matches!(scenario.held, Held::By(token) if token == scenario.token);
        if mine
            && !gone(ran)
            && findings.iter().all(|found: &Finding| found.code != "never-releases")
        {
            let when = if scenario.name == MINE { "" } else { " when there are odd bytes in it" };
            let text = format!(
                "It never gives up a lock: called with the token that the lock holds{when}, it \
                 leaves the lock and replies {}.",
                ran.reply
            );
            findings.push(Finding::broken("never-releases", text));
        }
        if !mine && gone(ran) && findings.iter().all(|found| found.code != "deletes-others") {
            let text = format!(
                "It deletes the lock of another{}: whoever comes too late, after the lease has \
                 ended, takes the lock away from its new holder.",
                if scenario.name == OTHERS {
                    String::new()
                } else {
                    format!(" ({})", scenario.name)
                }
            );
            findings.push(Finding::broken("deletes-others", text));
        }
    }
    if let Some((_, ran)) = theirs.iter().find(|(scenario, _)| scenario.name == FREE)
        && ran.reply.is_error()
    {
        let text = format!("It fails when there is no lock: {}.", ran.reply);
        findings.push(Finding::weak("missing-lock", text));
    }
    let declared = |slot: Slot| matches!(slot, Slot::Key(_));
    if unlock.token.slots().any(declared) && !unlock.lock.slots().any(declared) {
        let text = "KEYS and ARGV are swapped: the token is declared as a key and the lock is \
            not. A cluster client goes to the node of the token, and access rules look at the \
            wrong name.";
        findings.push(Finding::weak("swapped", text));
    } else if unlock.lock.slot().is_none_or(|slot| !declared(slot)) {
        let text =
            "The lock's key is not declared as a key, so no cluster client can find its node.";
        findings.push(Finding::weak("undeclared-keys", text));
    }
    findings
}

/// The line that takes its place, and what a reader has to know.
fn replacement(
    unlock: &Unlock,
    mine: &Ran,
    others: &Ran,
    free: &Ran,
    releases: bool,
) -> (String, Vec<String>) {
    let codes = (mine.reply.lua(), others.reply.lua());
    let usual = || {
        let notes = vec!["It replies 1 for released, and 0 for not yours or not there.".to_owned()];
        (cure::release(&unlock.lock, &unlock.token, "1", "0", None), notes)
    };
    let (Some(yes), Some(no)) = codes else { return usual() };
    if !releases || mine.reply.is_error() || others.reply.is_error() {
        return usual();
    }
    if yes == no && free.reply == others.reply {
        let notes =
            vec!["It tells nobody whether the lock was released, as your script.".to_owned()];
        return (cure::release_silently(&unlock.lock, &unlock.token, &yes), notes);
    }
    let absent = if free.reply == others.reply { None } else { free.reply.lua() };
    (cure::release(&unlock.lock, &unlock.token, &yes, &no, absent.as_deref()), Vec::new())
}

fn compare(scenario: &Scenario, yours: &Ran, module: &Ran) -> Row {
    let mut differences = Vec::new();
    if !yours.reply.is_like(&module.reply) {
        differences
            .push(format!("your script replies {}, the module {}", yours.reply, module.reply));
    }
    for (key, one, other) in state::differences(&yours.after, &module.after) {
        differences.push(format!("{key}: your script leaves {one}, the module {other}"));
    }
    let refuses = module.reply.refuses() && module.before == module.after;
    let sameness = if differences.is_empty() {
        Sameness::Same
    } else if refuses && matches!(scenario.held, Held::List) {
        Sameness::Refused
    } else {
        Sameness::Differs
    };
    let short = |reply: &Reply| match reply {
        Reply::Error(_) | Reply::Refusal(_) => "error".to_owned(),
        other => other.to_string(),
    };
    let (name, module) = (scenario.name.to_owned(), Some(short(&module.reply)));
    Row { name, yours: short(&yours.reply), module, sameness, differences }
}

fn understood(
    unlock: &Unlock,
    replies: Option<(&Reply, &Reply, &Reply)>,
) -> Vec<(&'static str, String)> {
    let name = |slot: Slot| match () {
        () if unlock.token.slot() == Some(slot) => "token".to_owned(),
        () if unlock.lock.slot() == Some(slot) => "lock".to_owned(),
        () => slot.to_string(),
    };
    let call: Vec<_> = unlock.slots.iter().map(|slot| format!("{slot} {}", name(*slot))).collect();
    let mut lines = vec![("called with", call.join(", ")), ("lock", unlock.lock.shown(&name))];
    if let Some((mine, others, free)) = replies {
        let mut text = format!("{mine} released, {others} not yours");
        if free != others {
            text += &format!(", {free} no lock");
        }
        lines.push(("replies", text));
    }
    lines
}
