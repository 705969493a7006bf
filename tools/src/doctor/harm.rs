//! What a script breaks, shown by a session: commands from an empty server to the harm, which are
//! played again on a fresh server. The harm is judged on keys, by code that knows nothing of the
//! script.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::bench::{Bench, Called, Entry, Seen};
use crate::call::{Call, Role, Slot, Values};
use crate::keyspace::{Cell, Keyspace, Kind, planted};
use crate::learn::{Marks, Sale, is_fault, marks};
use crate::reply::Reply;
use crate::server::{Programs, Server};
use crate::template::Template;
use crate::wire::Words;

/// Commands that end in a harm, and what it is.
#[derive(Clone, Debug)]
pub struct Session {
    pub harm: String,
    /// The script is called by EVAL, with its text.
    pub commands: Vec<Words>,
    pub replies: Vec<Reply>,
}

/// One call of a history, with the keys before and after.
struct Turn {
    words: Words,
    reply: Reply,
    /// The key of the stock.
    stock: Vec<u8>,
    before: Keyspace,
    after: Keyspace,
    /// Units that left the stock.
    taken: i64,
    /// The other keys that changed, by their kind and the caller's words in them.
    shape: BTreeSet<(Template, Kind)>,
    /// Whether anything was added to another key.
    adds: bool,
    calls: Vec<Called>,
}

impl Turn {
    fn new(words: Words, before: Keyspace, seen: Seen) -> Self {
        let Seen { reply, after, calls, .. } = seen;
        let (shape, stock) = (BTreeSet::new(), Vec::new());
        Self { words, reply, stock, before, after, taken: 0, shape, adds: false, calls }
    }
}

pub struct Judge<'b, 'a> {
    pub bench: &'b mut Bench<'a>,
    pub entry: &'b Entry,
    pub call: &'b Call,
    pub text: &'b [u8],
}

/// The stock, the users who try, how many units each wants, and whether the stock expires.
const PLAYS: [(i64, &[u64], Option<i64>, bool); 10] = [
    (1, &[1, 2, 3], None, false),
    (10, &[1, 1, 2, 2, 3], None, false),
    (3, &[1, 2, 3, 4, 5], None, true),
    (2, &[1, 2, 3, 4, 5], None, false),
    (1, &[1, 2], Some(2), false),
    (9, &[1, 2], Some(10), false),
    (3, &[1, 2], Some(5), false),
    (10, &[1, 2, 3, 4, 5, 6], Some(2), false),
    (5, &[1, 1, 2], Some(2), true),
    (10, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13], None, false),
];

impl Judge<'_, '_> {
    /// A session with a harm to a stock, the shortest first.
    pub fn of_sale(&mut self, sale: &Sale) -> Result<Option<Session>> {
        let ids = self.ids(sale);
        let plenty = self.play(sale, &ids, b"1000", &[1, 2], None, false)?;
        let Some(accepted) = plenty.1.first().filter(|turn| turn.taken > 0) else {
            return Ok(None);
        };
        let same_reply = plenty.1.iter().all(|turn| turn.reply == accepted.reply);
        let is_error = accepted.reply.is_error();
        let model = Model { accepted, same_reply };
        if is_error {
            return Ok(None);
        }
        for (stock, users, units, expires) in PLAYS {
            if units.is_some() && sale.units.is_err() {
                continue;
            }
            let text = stock.to_string();
            let (setup, turns) = self.play(sale, &ids, text.as_bytes(), users, units, expires)?;
            if let Some(harm) = model.harm(&turns, stock) {
                return self.shown_again(setup, turns, harm);
            }
        }
        Ok(None)
    }

    /// A call that deducts and then fails, whatever the state is.
    pub fn of_failure(&mut self, sale: &Sale) -> Result<Option<Session>> {
        if !is_fault(&sale.seen.reply) {
            return Ok(None);
        }
        let ids = self.ids(sale);
        let (setup, turns) = self.play(sale, &ids, b"5", &[1], None, false)?;
        let harm = turns.first().and_then(halves);
        match harm {
            Some(harm) => self.shown_again(setup, turns, (0, harm)),
            None => Ok(None),
        }
    }

    /// A fault of the text: every call fails.
    pub fn of_fault(&mut self) -> Result<Option<Session>> {
        let values = marks(self.call, Marks::Rising);
        self.bench.clear_plain()?;
        let before = self.bench.keys()?;
        let seen = self.bench.run(&self.entry.words(self.call, &values))?;
        if !is_fault(&seen.reply) {
            return Ok(None);
        }
        let harm = format!("every call fails, whatever is in the keys: {}", seen.reply);
        let turn = Turn::new(self.with_text(&values), before, seen);
        self.shown_again(Vec::new(), vec![turn], (0, harm))
    }

    /// A lock of another token that a call deletes, though it looks at the lock. Unless `is_sure`
    /// that it is one, it must spare the lock of another token.
    pub fn of_lock(
        &mut self,
        key: &Template,
        kind: Kind,
        is_sure: bool,
    ) -> Result<Option<Session>> {
        const TOKENS: [(&str, &str); 4] = [
            ("12", "13"),
            ("7f3e", "a90c"),
            ("5d1b6c1e-0a41-4b7e-9a52-3f7f0c8e2d10", "c2a9e8f4-7be3-4d0f-8f6d-90b1a2c3d4e5"),
            ("1782938471625347073", "1782938471625347074"),
        ];
        let mut is_spared = false;
        for (own, other) in TOKENS {
            let mut values = marks(self.call, Marks::Rising);
            for (role, value) in &mut values {
                if matches!(role, Role::Token | Role::Other(_)) {
                    *value = own.into();
                }
            }
            let name = key.text(self.call, &values);
            let item = if kind == Kind::Hash { other.into() } else { Vec::new() };
            let cell = Cell { key: name.clone(), kind, item };
            let value = if kind == Kind::Hash { "1" } else { other };
            let setup = vec![planted(&cell, value.as_bytes())];
            self.bench.clear_plain()?;
            self.bench.prepare_plain(&setup)?;
            let before = self.bench.keys()?;
            let seen = self.bench.run(&self.entry.words(self.call, &values))?;
            let looks = seen.calls.iter().any(|call| !call.writes() && call.gets(&name));
            is_spared |= seen.after.has_key(&name);
            if seen.after.has_key(&name) || !looks || !(is_sure || is_spared) {
                continue;
            }
            let harm =
                format!("another's lock is deleted: {other} holds it, and {own} releases it");
            let turn = Turn::new(self.with_text(&values), before, seen);
            return self.shown_again(setup, vec![turn], (0, harm));
        }
        Ok(None)
    }

    fn with_text(&self, values: &Values) -> Words {
        let mut words = self.entry.words(self.call, values);
        if let Entry::Sha(_) = self.entry {
            words[0] = b"EVAL".to_vec();
            words[1] = self.text.to_vec();
        }
        words
    }

    /// Arguments that are ids: they were in a key, a member or a value that changed.
    fn ids(&self, sale: &Sale) -> BTreeSet<Role> {
        let written = sale.seen.calls.iter().filter(|call| call.writes());
        let values = marks(self.call, Marks::Rising);
        let other = marks(self.call, Marks::Falling);
        let is_in = |word: &[u8], role: &Role| {
            [&values, &other].iter().any(|values| {
                values.get(role).is_some_and(|mark| {
                    word.windows(mark.len()).any(|part| part == mark.as_slice())
                })
            })
        };
        let words: Vec<&Vec<u8>> = written.flat_map(|call| &call.words).collect();
        let role = |slot: Slot| self.call.word(slot)?.only_role();
        let fixed = sale.stock.slots().chain(sale.item.slots()).chain(sale.units.ok());
        let fixed: Vec<Role> = fixed.filter_map(role).chain([Role::Voucher]).collect();
        let roles = self.call.roles().into_iter().filter(|role| !fixed.contains(role));
        roles.filter(|role| words.iter().any(|word| is_in(word, role))).collect()
    }

    #[allow(clippy::too_many_arguments)]
    fn play(
        &mut self,
        sale: &Sale,
        ids: &BTreeSet<Role>,
        stock: &[u8],
        users: &[u64],
        units: Option<i64>,
        expires: bool,
    ) -> Result<(Vec<Words>, Vec<Turn>)> {
        let base = marks(self.call, Marks::Rising);
        let values_of = |user: u64, turn: u64| {
            let mut values = base.clone();
            for role in ids {
                // A user who comes again has another order, but the same of everything else.
                let step = if *role == Role::Order { turn } else { user };
                let mark = base.get(role).cloned().unwrap_or_default();
                let number = String::from_utf8_lossy(&mark).parse::<u64>();
                let value = number.map_or_else(|_| mark, |n| (n + step).to_string().into_bytes());
                values.insert(*role, value);
            }
            if let Some(role) = sale.units.ok().and_then(|slot| self.call.word(slot)?.only_role()) {
                values.insert(role, units.unwrap_or(1).to_string().into_bytes());
            }
            values
        };
        let first = values_of(users[0], 0);
        let stock_cell = Cell {
            key: sale.stock.text(self.call, &first),
            kind: sale.kind,
            item: sale.item.text(self.call, &first),
        };
        let mut setup = vec![planted(&stock_cell, stock)];
        setup.extend(sale.needs.clone());
        if expires {
            setup.push(vec![b"EXPIRE".to_vec(), stock_cell.key.clone(), b"3600".to_vec()]);
        }
        self.bench.clear_plain()?;
        self.bench.prepare_plain(&setup)?;
        let mut turns = Vec::new();
        let mut before = self.bench.keys()?;
        for (at, user) in users.iter().enumerate() {
            let values = values_of(*user, at as u64);
            let seen = self.bench.run(&self.entry.words(self.call, &values))?;
            let slots: Vec<(Slot, Vec<u8>)> =
                self.call.slots().map(|(slot, word)| (slot, word.value(&values))).collect();
            let changes = before.changes(&seen.after);
            let others: Vec<&Cell> = changes.iter().filter(|cell| **cell != stock_cell).collect();
            let number = |keys: &Keyspace| keys.number(&stock_cell);
            let taken = number(&before).zip(number(&seen.after)).map_or(0, |(old, new)| old - new);
            turns.push(Turn {
                words: self.with_text(&values),
                reply: seen.reply,
                stock: stock_cell.key.clone(),
                taken,
                shape: others
                    .iter()
                    .map(|cell| (Template::of(&cell.key, &slots), cell.kind))
                    .collect(),
                adds: others.iter().any(|cell| !before.cells.contains_key(cell)),
                before,
                after: seen.after.clone(),
                calls: seen.calls,
            });
            before = seen.after;
        }
        Ok((setup, turns))
    }

    /// Plays a session again, on a server of its own: none if it ends otherwise there.
    fn shown_again(
        &mut self,
        setup: Vec<Words>,
        turns: Vec<Turn>,
        (last, harm): (usize, String),
    ) -> Result<Option<Session>> {
        let turns: Vec<Turn> = turns.into_iter().take(last + 1).collect();
        let mut commands: Vec<Words> =
            setup.iter().cloned().chain(turns.iter().map(|turn| turn.words.clone())).collect();
        // What is left of the stock or the lock.
        commands.extend(setup.first().and_then(|planted| match planted[0].as_slice() {
            b"SET" => Some(vec![b"GET".to_vec(), planted[1].clone()]),
            b"HSET" => Some(vec![b"HGET".to_vec(), planted[1].clone(), planted[2].clone()]),
            _ => None,
        }));
        let (replies, after) = replay(self.bench.programs, self.text, &commands)?;
        let ours = turns.iter().zip(replies.iter().skip(setup.len()));
        let same = ours.into_iter().all(|(turn, reply)| turn.reply == *reply);
        let end = turns.last().is_some_and(|turn| turn.after.changes(&after).is_empty());
        Ok((same && end).then_some(Session { harm, commands, replies }))
    }
}

/// Runs commands on a fresh server, and says what it answers and what is in its keys then.
fn replay(
    programs: &Programs,
    library: &[u8],
    commands: &[Words],
) -> Result<(Vec<Reply>, Keyspace)> {
    let server = Server::start(programs, false)?;
    let mut client = server.client()?;
    let mut replies = Vec::new();
    for words in commands {
        if words[0] == b"FCALL" && replies.len() < commands.len() {
            client.call(&[&b"FUNCTION"[..], b"LOAD", b"REPLACE", library])?;
        }
        replies.push(client.eval(words)?);
    }
    let after = Keyspace::read(&mut client)?;
    Ok((replies, after))
}

/// How an accepted call looks.
struct Model<'t> {
    accepted: &'t Turn,
    /// Whether accepted calls have one reply.
    same_reply: bool,
}

impl Model<'_> {
    /// The turn with which a harm is done, and what it is.
    fn harm(&self, turns: &[Turn], stock: i64) -> Option<(usize, String)> {
        let found = turns.iter().position(|turn| halves(turn).is_some());
        if let Some(at) = found {
            return Some((at, halves(&turns[at])?));
        }
        self.oversold(turns, stock).or_else(|| self.lost(turns))
    }

    fn sells(&self, turn: &Turn) -> bool {
        let told = !self.same_reply || turn.reply == self.accepted.reply;
        turn.taken > 0 && !turn.reply.refuses() && turn.shape == self.accepted.shape && told
    }

    /// More units sold than there were: the script looked at the stock, and sold what it had not.
    fn oversold(&self, turns: &[Turn], stock: i64) -> Option<(usize, String)> {
        let looks = |call: &Called| !call.writes() && call.gets(&self.accepted.stock);
        // Without a trace of the buyers, only one constant reply tells that a call has sold.
        let told =
            if self.accepted.shape.is_empty() { self.same_reply } else { self.accepted.adds };
        if !told || !self.accepted.calls.iter().any(looks) {
            return None;
        }
        let mut sold = 0;
        for (at, turn) in turns.iter().enumerate() {
            if self.sells(turn) && (self.same_reply || turn.adds) {
                sold += turn.taken;
            }
            if sold > stock {
                let harm = format!("more units are sold than there were: {sold} of {stock}");
                return Some((at, harm));
            }
        }
        None
    }

    /// A unit that left the stock, though the call was answered like one that sells nothing, and
    /// left nothing where those that sell leave something.
    fn lost(&self, turns: &[Turn]) -> Option<(usize, String)> {
        if !self.same_reply || self.accepted.shape.is_empty() || !self.accepted.adds {
            return None;
        }
        let other = |turn: &&Turn| turn.reply != self.accepted.reply;
        let replies = |takes: bool| {
            let own = turns.iter().filter(other).filter(move |turn| (turn.taken > 0) == takes);
            own.map(|turn| &turn.reply).collect::<Vec<_>>()
        };
        let (refusals, drifts) = (replies(false), replies(true));
        let at = turns.iter().position(|turn| {
            let leaves_less = turn.shape.len() < self.accepted.shape.len()
                && turn.shape.is_subset(&self.accepted.shape)
                && !turn.adds;
            let repeated = drifts.iter().filter(|reply| **reply == &turn.reply).count() > 1;
            let is_refusal = other(&turn) && (refusals.contains(&&turn.reply) || repeated);
            turn.taken > 0 && leaves_less && is_refusal && stock_of(turn) >= 0
        })?;
        let reply = &turns[at].reply;
        let harm = format!(
            "a unit is gone: the call is answered {reply}, as calls that get nothing are, and \
             leaves nothing but a smaller stock"
        );
        Some((at, harm))
    }
}

/// The stock after a turn that changed nothing else, as a number.
fn stock_of(turn: &Turn) -> i64 {
    let changed = turn.before.changes(&turn.after);
    changed.iter().filter_map(|cell| turn.after.number(cell)).min().unwrap_or(0)
}

/// Whether a call wrote and then failed.
fn halves(turn: &Turn) -> Option<String> {
    let changed = turn.before.changes(&turn.after);
    let first = changed.first().filter(|_| turn.reply.is_error())?;
    Some(format!(
        "it is written by halves: the call fails ({}), and has changed {first}",
        turn.reply
    ))
}
