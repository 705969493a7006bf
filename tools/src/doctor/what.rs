//! Classifies a script that neither sells nor releases a lock, by what it did: helpers, pops,
//! carts, counters, scripts that always fail. Says nothing that is not certain.

use seckill_tools::sanitize::{sanitize, sanitize_bytes};

use crate::explore::{Effects, Run};
use crate::finding::{Finding, left_behind};
use crate::part;
use crate::source::Source;
use crate::template::{Slot, Template};
use crate::watch::{looks, writes};
use crate::wire::Words;
use crate::world::{Cell, Kind};

pub enum Judged {
    Broken(Finding),
    /// What it is, and which command is near.
    Helper {
        what: String,
        near: String,
    },
    Unclear(String),
    /// It can't run alone, with the reason for that conclusion.
    Part(String),
}

/// Errors in the text itself, which occur whatever the data and the arguments are.
const CERTAIN: [&str; 12] = [
    "modify a readonly table",
    "attempted to create global variable",
    "not allowed from script",
    "at least one argument for this redis",
    "nonexistent global variable",
    "attempt to call",
    "number of args calling",
    "wrong number of arguments",
    "nknown Redis command",
    "nknown command",
    "attempt to compare",
    "arguments must be strings or integers",
];

fn is_certain(error: &str, source: &Source) -> bool {
    // An error about a decoded planted value proves nothing.
    let text = String::from_utf8_lossy(&source.text);
    let decodes = ["cjson", "cmsgpack", "struct."].iter().any(|word| text.contains(word));
    let compares = error.contains("attempt to compare");
    // With computed indexes, the script may have been called with too few arguments.
    let misses = source.reckons && (compares || error.contains("arguments must be"));
    CERTAIN.iter().any(|words| error.contains(words)) && !(decodes && compares) && !misses
}

pub fn judge(runs: &[Run], slots: &[Slot], source: &Source) -> Judged {
    let best = &runs[0];
    if let Some(command) = source.foreign_command() {
        let own = command.starts_with("seckill.") || command.starts_with("lock.");
        let command = sanitize(&command.to_uppercase());
        if own && best.effects().is_none() {
            let what = format!("It calls the module already: {command}.");
            let near = "the command itself, without a script, which is cheaper";
            return Judged::Helper { what, near: near.into() };
        }
        if best.effects().is_none() {
            let text = format!("it calls {command}, which the doctor's server does not have");
            return Judged::Unclear(text);
        }
    }
    let taken = best.seen.reply.is_error() && !best.effects().taken.is_empty();
    if taken {
        return fails_after(best, source);
    }
    if runs.iter().all(|run| run.seen.reply.is_error()) {
        return always_fails(runs, source);
    }
    if best.effects().is_none() {
        if let Some(judged) = never_gets_on(runs, source) {
            return judged;
        }
        if let Some(finding) = one_key(runs) {
            return Judged::Broken(finding);
        }
        return changes_nothing(runs, source);
    }
    let template = |text: &[u8]| Template::of(text, slots);
    helper(best, runs, &template)
}

/// For a script that takes a unit and then fails, whatever was planted.
fn fails_after(run: &Run, source: &Source) -> Judged {
    let error = source.error(&run.seen.reply);
    let made = run.effects().made;
    let remembered = made.iter().any(|(cell, _)| matches!(cell.kind, Kind::Set | Kind::Hash));
    let done: Vec<String> = run.seen.calls.iter().filter(|call| writes(call)).map(name).collect();
    let orders = source.names("xadd");
    let text = format!(
        "It takes the unit and then fails, every time: {error}. What it called before, {}, stays: \
         Redis rolls nothing back. {}",
        done.join(" and "),
        left_behind(true, remembered, orders)
    );
    if is_certain(&error, source) {
        Judged::Broken(Finding::broken("deducts-then-fails", text))
    } else {
        let because = "Perhaps it wants other arguments or keys than it was given here";
        Judged::Unclear(format!("{text} {because}"))
    }
}

fn name(call: &Words) -> String {
    sanitize_bytes(&call[0])
}

fn always_fails(runs: &[Run], source: &Source) -> Judged {
    if let Some(finding) = one_key(runs) {
        return Judged::Broken(finding);
    }
    // The run with the most calls and then the most planted cells.
    let far = |run: &&Run| (run.seen.calls.len(), run.plan.cells.len());
    let Some(deepest) = runs.iter().max_by_key(far) else {
        return Judged::Unclear("it was never run".into());
    };
    let error = source.error(&deepest.seen.reply);
    let count = runs.len();
    if is_certain(&error, source) {
        let when = format!(
            "Every call ends in an error, whatever is in its keys ({count} worlds were planted)"
        );
        fails_by_its_text(deepest, source, &when)
    } else {
        Judged::Unclear(format!("every one of {count} calls ended in an error, at last: {error}"))
    }
}

/// For a run that ended in an error in the script's text.
fn fails_by_its_text(run: &Run, source: &Source, when: &str) -> Judged {
    match part::of_run(&run.seen.reply, source) {
        Some(seen) => Judged::Part(seen),
        None => {
            let text = format!("{when}: {}.", source.error(&run.seen.reply));
            Judged::Broken(Finding::broken("always-fails", text))
        }
    }
}

/// For a script that never changed anything, and failed with an error in its text after its checks.
fn never_gets_on(runs: &[Run], source: &Source) -> Option<Judged> {
    let of_text = |run: &&Run| {
        let error = run.seen.reply.text();
        let compares = error.contains("attempt to compare");
        run.seen.reply.is_error() && is_certain(&error, source) && !compares
    };
    let run = runs.iter().filter(of_text).max_by_key(|run| run.seen.calls.len())?;
    let when = format!(
        "In {} worlds it changed nothing, and where it gets past its checks it ends in an error",
        runs.len()
    );
    Some(fails_by_its_text(run, source, &when))
}

/// Two kinds of commands on one key: one of them always fails.
fn one_key(runs: &[Run]) -> Option<Finding> {
    let run = runs.iter().find(|run| run.seen.reply.text().contains("WRONGTYPE"))?;
    let all: Vec<_> = run.seen.calls.iter().flat_map(looks).collect();
    let (last, before) = all.split_last()?;
    let other = before.iter().find(|look| {
        look.key == last.key && look.kind.is_some() && last.kind.is_some() && look.kind != last.kind
    })?;
    let text = format!(
        "It calls commands for two types, {:?} and {:?}, on one key: whatever the key holds, one \
         of them fails. {}.",
        other.kind?,
        last.kind?,
        sanitize(&run.seen.reply.text())
    );
    Some(Finding::broken("one-key", text))
}

fn changes_nothing(runs: &[Run], source: &Source) -> Judged {
    const WRITES: [&str; 12] = [
        "decr", "decrby", "incrby", "incr", "sadd", "xadd", "set", "hincrby", "hset", "lpush",
        "del", "srem",
    ];
    let called = |word: &str| {
        runs.iter()
            .flat_map(|run| &run.seen.calls)
            .any(|c| c[0].eq_ignore_ascii_case(word.as_bytes()))
    };
    let never: Vec<String> = WRITES
        .iter()
        .filter(|word| source.names(word) && !called(word))
        .map(|word| word.to_uppercase())
        .collect();
    if let Some(finding) = stops_at_a_question(runs, &never) {
        return Judged::Broken(finding);
    }
    let mut replies: Vec<String> = runs.iter().map(|run| run.seen.reply.to_string()).collect();
    replies.sort();
    replies.dedup();
    replies.truncate(5);
    let mut read: Vec<String> =
        runs.iter().flat_map(|run| run.seen.calls.iter().map(name)).collect();
    read.sort();
    read.dedup();
    if never.is_empty() && !read.is_empty() {
        let what = format!(
            "It only reads ({}), and changed nothing in {} worlds.",
            read.join(", "),
            runs.len()
        );
        let near = "SECKILL.STATUS and SECKILL.INFO answer such questions for managed vouchers.";
        return Judged::Helper { what, near: near.into() };
    }
    Judged::Unclear(format!(
        "in {} worlds it called {}, changed nothing, never got to {}, and replied {}",
        runs.len(),
        if read.is_empty() { "nothing".to_owned() } else { read.join(", ") },
        if never.is_empty() { "a write".to_owned() } else { never.join(", ") },
        replies.join(" or ")
    ))
}

/// The script stops after a question, whether the reply is 0 or 1.
fn stops_at_a_question(runs: &[Run], never: &[String]) -> Option<Finding> {
    if never.is_empty() {
        return None;
    }
    let asks = |run: &&Run| {
        let last = run.seen.calls.last().map(name).unwrap_or_default();
        ["SISMEMBER", "EXISTS", "HEXISTS"].contains(&last.as_str())
    };
    let stopped: Vec<&Run> = runs.iter().filter(asks).collect();
    let first = stopped.first()?;
    let furthest = runs.iter().map(|run| run.seen.calls.len()).max()?;
    let same = stopped.iter().all(|run| run.seen.reply == first.seen.reply);
    let yes = |run: &&Run| {
        let looks = run.seen.calls.last().map(looks).unwrap_or_default();
        looks.iter().any(|look| look.is_in(&run.seen.before))
    };
    let both = stopped.iter().any(&yes) && !stopped.iter().all(&yes);
    let far = stopped.iter().all(|run| run.seen.calls.len() == furthest);
    if !(same && both && far) || first.seen.reply.is_error() {
        return None;
    }
    let asked = first.seen.calls.last().map(name).unwrap_or_default();
    let text = format!(
        "Whether {asked} answers 0 or 1, it stops there and replies {}, and never gets to {}. In \
         Lua 0 counts as true: compare the answer with 1.",
        first.seen.reply,
        never.join(", ")
    );
    Some(Finding::broken("always-duplicate", text))
}

/// Describes what a run did.
pub fn saw(effects: &Effects, template: &impl Fn(&[u8]) -> Template) -> String {
    let key = |cell: &Cell| {
        let key = template(&cell.key).shown(&|slot| slot.to_string());
        let item = template(&cell.item).shown(&|slot| slot.to_string());
        match cell.kind {
            Kind::Text | Kind::Stream => key,
            Kind::Hash => format!("field {item} of {key}"),
            _ => format!("{item} in {key}"),
        }
    };
    let mut parts = Vec::new();
    parts.extend(effects.taken.iter().map(|(cell, _)| format!("takes from {}", key(cell))));
    parts.extend(effects.given.iter().map(|(cell, _)| format!("adds to {}", key(cell))));
    parts.extend(effects.made.iter().map(|(cell, _)| format!("writes {}", key(cell))));
    parts.extend(effects.entries.iter().map(|(cell, _)| format!("appends to {}", key(cell))));
    parts.extend(effects.gone.iter().map(|cell| format!("removes {}", key(cell))));
    parts.extend(effects.rewritten.iter().map(|cell| format!("overwrites {}", key(cell))));
    let touched = effects.touched.iter().map(|name| {
        format!("sets the time to live of {}", template(name).shown(&|slot| slot.to_string()))
    });
    parts.extend(touched);
    parts.truncate(8);
    parts.join(", ")
}

/// Names a helper by its effects; the first row that fits counts.
fn helper(run: &Run, runs: &[Run], template: &impl Fn(&[u8]) -> Template) -> Judged {
    let effects = run.effects();
    let saw = saw(&effects, template);
    let calls = |names: &[&str]| {
        run.seen.calls.iter().any(|call| names.iter().any(|n| call[0] == n.as_bytes()))
    };
    let guarded = effects.given.first().is_some_and(|(cell, _)| {
        // It never creates the number if the number doesn't exist.
        runs.iter().all(|run| run.effects().made.iter().all(|(made, _)| made != cell))
    });
    let sets = run.seen.calls.iter().any(|call| {
        call[0] == b"SET" && call.iter().any(|w| w.eq_ignore_ascii_case(b"NX"))
            || call[0] == b"SETNX"
    });
    let adds = !effects.given.is_empty() || calls(&["INCR", "INCRBY", "HINCRBY"]);
    let (what, near) = if !effects.taken.is_empty() && !effects.gone.is_empty() {
        (
            "It takes from one place and removes a marker in another: it confirms a reservation, \
             or a token is used up",
            "A managed voucher with HOLD keeps reservations; SECKILL.CONFIRM and SECKILL.CANCEL \
             end them.",
        )
    } else if !effects.taken.is_empty() && !effects.given.is_empty() {
        ("It moves units from one number to another", "Managed vouchers count held and sold units.")
    } else if adds && !(effects.gone.is_empty() && effects.rewritten.is_empty()) {
        (
            "It releases units and removes or changes a marker: a rollback or a cancellation",
            "SECKILL.CANCEL does both in one step, once for each order.",
        )
    } else if guarded && effects.made.is_empty() && effects.touched.is_empty() {
        (
            "It adds to a number that is there already: if that is a stock, it releases units",
            "SECKILL.RETURN adds to a bare stock, SECKILL.RESTOCK to a managed voucher, and \
             SECKILL.CANCEL releases what a user has bought.",
        )
    } else if effects.gone.iter().any(|cell| cell.kind == Kind::List)
        || calls(&["SPOP", "LPOP", "RPOP", "ZPOPMIN"])
    {
        (
            "It takes an item out of a collection: a prize, a code, or work from a queue",
            "SECKILL.DRAW takes a code from a list, at most one for each user; SECKILL.UNDRAW puts \
             it back.",
        )
    } else if adds && effects.made.iter().any(|(cell, _)| cell.kind == Kind::Set) {
        (
            "It adds to a number and remembers for whom: units that are released once, or a sale \
             that counts up",
            "SECKILL.CANCEL releases once per order; SECKILL.TRY counts down from a stock.",
        )
    } else if calls(&["SETBIT"]) {
        (
            "It sets a bit: a seat map, or a list of days",
            "No command sells seats; a voucher with a stock of 1 for each seat does.",
        )
    } else if calls(&["ZADD", "ZREMRANGEBYSCORE", "ZREM"]) {
        ("It keeps a sorted set: a sliding window, a ranking, or a delayed queue", "No command.")
    } else if sets && effects.gone.is_empty() {
        (
            "It writes a key only if there is none: a lock, or a mark against repeats",
            "LOCK.ACQUIRE takes a lock with a lease; a repeated order id of a managed voucher is \
             answered as at first.",
        )
    } else if !effects.touched.is_empty() && effects.count() == effects.touched.len() {
        (
            "It gives a key a new time to live: perhaps it keeps a lock or a session",
            "LOCK.RENEW renews a lock that is a string, if the token is its holder's.",
        )
    } else if !effects.gone.is_empty() && effects.made.is_empty() {
        (
            "It only removes: a clean-up, or the end of a marker",
            "SECKILL.DROP removes a managed voucher, SECKILL.CANCEL releases one order; \
             LOCK.RELEASE deletes a lock if the token matches.",
        )
    } else if calls(&["HINCRBY", "HSET", "HSETNX", "HMSET"]) {
        (
            "It keeps fields of a hash: a cart, a tally or the state of an order",
            "No command keeps carts; SECKILL.ORDER shows orders of a managed voucher.",
        )
    } else if calls(&["INCR", "INCRBY"]) {
        (
            "It counts, and may refuse at a limit: a rate limiter, or a maker of ids",
            "SECKILL.NEXTID makes ids; a managed voucher has a LIMIT per user.",
        )
    } else if calls(&["LPUSH", "RPUSH", "XADD", "PUBLISH"]) {
        ("It appends to a queue and takes no units", "SECKILL.TRY appends the order it sells.")
    } else if calls(&["SET", "MSET", "SETEX"]) {
        (
            "It writes what is left of a sale, or prepares one: a warm-up or a recovery",
            "SECKILL.CREATE makes a managed voucher, with ADOPT of a stock that is there; \
             SECKILL.RETURN adds units.",
        )
    } else if calls(&["SADD"]) {
        ("It adds to a set and takes no units", "SECKILL.TRY remembers the buyers it sells to.")
    } else {
        return Judged::Unclear(format!("it {saw}, and replied {}", run.seen.reply));
    };
    Judged::Helper { what: format!("{what}. Seen: it {saw}."), near: near.into() }
}

/// What a user can do about a script that was not understood.
pub fn help(source: &Source) -> String {
    let counted = format!("it seems to take {} KEYS and {} ARGV", source.keys, source.args);
    let reckons = if source.reckons { ", and perhaps more" } else { "" };
    format!(
        "If it sells or releases a lock, say what it is called with: {counted}{reckons}. For \
         instance --keys \"stock buyers request\" --argv \"voucher user order\"; `changes` is what \
         differs per try, `counter` what belongs to a user, =text what is always the same."
    )
}
