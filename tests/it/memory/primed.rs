//! A server that uses every memory, and the check that none of them makes an answer stale.
//!
//! All keys have the hash tag `{t}`, so that they have the same names with and without a cluster.
//!
//! | key | what it primes |
//! | --- | --- |
//! | voucher `{t}u`, unmanaged, bought by alice | that it has no rules; alice's mark; whole |
//! | voucher `{t}m`, managed, sold out, two orders held | that no hold is due; whole; the index |
//! | voucher `{t}p`, whose rules are away, with a hold that is due | the index: a parked key |
//! | lock `{t}lock`, held by ann; bob waits | the queues |

use std::cell::Cell;

use crate::cluster::whole_cluster;
use crate::harness::{Client, Server, database, text, wait_for};
use crate::observe::{integer, words};
use redis::Value;

pub const RULES_OF_PARKED: &str = "{t}rules-of-p";

/// Rules of a sale that has ended, so that an unmanaged voucher with them answers differently.
/// Commands have the word RULES for them. By the total, nothing of it is sold.
pub const RULES: &str =
    "'{\"total\":8,\"begin\":null,\"end\":1,\"limit\":1,\"hold\":null,\"sale\":7}'";

pub const OVER: &str = "SET seckill:voucher:{t}u RULES";

/// The voucher that is tried last before an event: what is remembered of it is found elsewhere than
/// what is remembered of the other one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Last {
    Unmanaged,
    Managed,
}

pub const LASTS: [Last; 2] = [Last::Unmanaged, Last::Managed];

impl Last {
    pub fn voucher(self) -> &'static str {
        match self {
            Self::Unmanaged => "{t}u",
            Self::Managed => "{t}m",
        }
    }

    pub fn other(self) -> Self {
        match self {
            Self::Unmanaged => Self::Managed,
            Self::Managed => Self::Unmanaged,
        }
    }
}

pub struct Primed {
    pub server: Server,
    pub bob: Option<Client>,
    last: Last,
    /// What is being tested, for messages.
    what: String,
    tries: Cell<u32>,
}

/// Tries a voucher in one step and returns what the keys demand and what was answered. A user's
/// order id must be new.
const TRY: &str = r"
    local voucher, user, id = ARGV[1], ARGV[2], ARGV[3]
    local function key(kind) return 'seckill:' .. kind .. ':' .. voucher end
    local rules, stock = redis.call('GET', key('voucher')), redis.call('GET', key('stock'))
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local function demanded()
        if rules then
            local terms = cjson.decode(rules)
            if tonumber(terms['begin']) and now < terms['begin'] then return 3 end
            if tonumber(terms['end']) and now >= terms['end'] then return 4 end
            local has = redis.call('HGET', key('units'), user)
            has = has and tonumber(string.match(has, '^%d+')) or 0
            if has + 1 > terms['limit'] then return 2 end
        end
        if not stock then return 'NOVOUCHER' end
        if rules then
            local due = redis.call('ZRANGEBYSCORE', key('hold'), '-inf', now)
            for _, order in ipairs(due) do
                local entry = redis.call('HGET', key('book'), order)
                if entry and string.sub(entry, 1, 4) == 'held' then return 0 end
            end
            -- Total is left, held and sold, whoever has written the stock. Nobody waits here.
            local taken = 0
            for _, has in ipairs(redis.call('HVALS', key('units'))) do
                taken = taken + tonumber(string.match(has, '^%d+'))
            end
            return math.min(stock, cjson.decode(rules)['total'] - taken) > 0 and 0 or 1
        end
        if tonumber(stock) < 1 then return 1 end
        return redis.call('SISMEMBER', key('order'), user) == 1 and 2 or 0
    end
    local wanted = demanded()
    -- What a managed voucher sells, its primary sells.
    local is_replica = string.find(redis.call('INFO', 'replication'), 'role:slave')
    if is_replica and rules and wanted == 0 then wanted = 'READONLY' end
    local got = redis.pcall('SECKILL.TRY', voucher, user, id)
    if type(got) == 'table' then got = string.match(got.err, '^%S+') end
    return {tostring(wanted), tostring(got)}";

impl Primed {
    pub fn single() -> Self {
        Self::on(Server::start())
    }

    pub fn cluster() -> Self {
        Self::on(whole_cluster())
    }

    /// A server to be primed with `again`.
    pub fn on(server: Server) -> Self {
        // Otherwise these tests would spend most of their time waiting for the timer.
        server.check("> CONFIG SET seckill.hold-sweep-ms 2\nOK");
        let (last, what) = (Last::Unmanaged, String::new());
        Self { server, bob: None, last, what, tries: Cell::new(0) }
    }

    /// Empties the server and primes everything again, for the next event.
    pub fn again(&mut self, what: &str, last: Last) {
        self.again_after(&[], what, last);
    }

    /// Like `again`, after these commands: their events occur before anything is remembered.
    pub fn again_after(&mut self, before: &[&str], what: &str, last: Last) {
        (self.what, self.last) = (format!("{what}, {last:?} last"), last);
        let server = &self.server;
        self.bob = None;
        server.wait_for_queue(0);
        server.check("> FLUSHALL\nOK");
        self.run(before);
        server.check("> SET seckill:stock:{t}u 9\nOK");
        for voucher in ["{t}m", "{t}p"] {
            server.check(&format!("> SECKILL.CREATE {voucher} 2 HOLD 900000\nOK"));
            server.check(&format!("> SECKILL.TRY {voucher} ann a1\n0"));
            server.check(&format!("> SECKILL.TRY {voucher} bea b1\n0"));
        }
        server.run(&format!("RENAME seckill:voucher:{{t}}p {RULES_OF_PARKED}"));
        server.run("ZADD seckill:hold:{t}p 5 a1");
        server.check("> LOCK.ACQUIRE {t}lock ann 1000000\n1");
        self.bob = Some(server.waiter("LOCK.ACQUIRE {t}lock bob 1000000 BLOCK 600000"));
        self.wait_until_looked_at();
        for last in [self.last.other(), self.last] {
            match last {
                Last::Unmanaged => {
                    self.server.check("> SECKILL.TRY {t}u alice a1\n0");
                    self.server.check("> SECKILL.TRY {t}u alice a2\n2");
                    self.server.check("> SECKILL.TRY {t}u alice a2\n2");
                }
                Last::Managed => {
                    self.server.check("> SECKILL.TRY {t}m cat c1\n1\n> SECKILL.TRY {t}m cat c1\n1");
                }
            }
        }
    }

    /// Waits until the module has looked at every changed holds key: a hold that is placed later
    /// has expired.
    pub fn wait_until_looked_at(&self) {
        let server = &self.server;
        server.check("> SECKILL.CREATE {t}probe 1 HOLD 1\nOK\n> SECKILL.TRY {t}probe a o\n0");
        server.wait_for_state("{t}probe", "o", "expired");
        server.check("> SECKILL.DROP {t}probe\n1");
    }

    fn try_args(&self, voucher: &str, user: &str) -> Vec<Vec<u8>> {
        self.tries.set(self.tries.get() + 1);
        let id = format!("check-{}", self.tries.get());
        ["EVAL", TRY, "1", "{t}", voucher, user, &id].map(|word| word.as_bytes().to_vec()).into()
    }

    fn assert_right(&self, voucher: &str, user: &str, reply: Value) {
        let what = &self.what;
        assert!(matches!(reply, Value::Array(_)), "{what}: {voucher} {user}: {reply:?}");
        let reply = words(reply);
        assert_eq!(reply[1], reply[0], "{what}: {user} tried {voucher}; right is what is right");
    }

    /// Runs commands and tries of both vouchers, which are both remembered, in one step: no timer
    /// fires and no turn of the event loop ends in between.
    pub fn at_once<A: AsRef<str>>(&self, commands: &[A]) {
        let server = &self.server;
        // cat is new to both vouchers; alice has bought from one.
        for user in ["cat", "alice"] {
            server.run("MULTI");
            let commands = commands.iter().filter(|_| user == "cat");
            for command in commands.clone() {
                server.run(&command.as_ref().replace("RULES", RULES));
            }
            let tried = [self.last, self.last.other()].map(Last::voucher);
            tried.iter().for_each(|voucher| drop(server.call(&self.try_args(voucher, user))));
            let mut replies = match server.run("EXEC") {
                Value::Array(replies) => replies,
                other => panic!("{}: {other:?}", self.what),
            };
            let outcomes = replies.split_off(replies.len() - tried.len());
            for (command, reply) in commands.zip(replies) {
                let is_error = matches!(reply, Value::ServerError(_));
                assert!(!is_error, "{}: {}: {reply:?}", self.what, command.as_ref());
            }
            tried.iter().zip(outcomes).for_each(|(it, reply)| self.assert_right(it, user, reply));
        }
    }

    /// Runs commands one by one.
    pub fn run<A: AsRef<str>>(&self, commands: &[A]) {
        for command in commands {
            let reply = self.server.run(&command.as_ref().replace("RULES", RULES));
            let is_error = matches!(reply, Value::ServerError(_));
            assert!(!is_error, "{}: {}: {reply:?}", self.what, command.as_ref());
        }
    }

    /// Tries both vouchers, the one tried last first. Not the voucher without its rules: a try
    /// would release its due hold, which the timer has to do.
    pub fn check_tries(&self) {
        for voucher in [self.last.voucher(), self.last.other().voucher()] {
            for user in ["alice", "cat", "dan"] {
                let reply = self.server.call(&self.try_args(voucher, user));
                self.assert_right(voucher, user, reply);
            }
        }
    }

    /// Due holds of managed vouchers expire, in every database, and INFO counts the rest.
    pub fn check_holds(&self) {
        let server = &self.server;
        let mut client = server.client();
        let expired = wait_for("what is due to expire", || {
            let now = client.clock_ms();
            (count_holds(&mut client, now)[0] == 0).then_some(())
        });
        expired.unwrap_or_else(|late| panic!("{}: {late}\n{}", self.what, server.log()));
        let mut found = (0, [0, 0]);
        let counted = wait_for("the count of holds", || {
            // Holds of other vouchers count until they are due.
            let [managed, other] = count_holds(&mut client, i64::MAX);
            found = (server.info_number("seckill_holds_open"), [managed, other]);
            (managed..=managed + other).contains(&found.0).then_some(())
        });
        counted.unwrap_or_else(|late| {
            let (shown, [managed, other]) = found;
            panic!("{}: {late}: {shown}, not {managed} to {other} more", self.what)
        });
    }

    /// If the lock is free, bob has it; otherwise bob waits, and gets it when it is released.
    pub fn check_line(&mut self) {
        let server = &self.server;
        let mut bob = self.bob.take().expect("bob waits");
        let quiet = wait_for("bob to have the lock or to wait for it", || {
            let owner = server.owner("{t}lock");
            let is_quiet = match owner.as_str() {
                "" => false,
                "bob" => server.in_queue() == 0,
                _ => server.field("LOCK.INFO {t}lock", "waiters") == Value::Int(1),
            };
            is_quiet.then_some(owner)
        });
        let owner = quiet.unwrap_or_else(|late| panic!("{}: {late}\n{}", self.what, server.log()));
        if owner != "bob" {
            // A lock with a time may have gone meanwhile, and be bob's.
            server.run(&format!("LOCK.RELEASE {{t}}lock {owner}"));
        }
        assert_eq!(bob.receive(), Value::Int(1), "{}", self.what);
        assert_eq!(server.owner("{t}lock"), "bob", "{}", self.what);
        assert!(integer(&server.run("PTTL {t}lock")) > 900_000, "{}", self.what);
    }

    /// bob is answered with this error.
    pub fn check_line_ended(&mut self, word: &str) {
        let mut bob = self.bob.take().expect("bob waits");
        let reply = text(&bob.receive());
        assert!(reply.starts_with(&format!("{word} ")), "{}: {reply}", self.what);
    }

    pub fn check(&mut self) {
        self.check_tries();
        self.check_holds();
        self.check_line();
    }
}

/// The number of holds up to a deadline: of managed vouchers, and of others.
fn count_holds(client: &mut Client, until_ms: i64) -> [i64; 2] {
    let mut counts = [0, 0];
    for db in 0..6 {
        // A cluster may have one database only.
        if client.call(&["SELECT", &db.to_string()]) != Value::Okay {
            break;
        }
        for voucher in ["{t}u", "{t}m", "{t}p"] {
            let keys = format!("EXISTS seckill:voucher:{voucher} seckill:book:{voucher}");
            let is_managed = client.run(&keys) == Value::Int(2);
            let count = client.run(&format!("ZCOUNT seckill:hold:{voucher} -inf {until_ms}"));
            counts[usize::from(!is_managed)] += integer(&count);
        }
    }
    client.run(&format!("SELECT {}", database()));
    counts
}

/// Primes a server for each way in which an event can occur, with each voucher tried last, and
/// calls `fire`.
pub fn each(
    mut primed: Primed,
    ways: &[&[&'static str]],
    mut fire: impl FnMut(&mut Primed, &[&'static str]),
) {
    for way in ways {
        for last in LASTS {
            primed.again(&way.join("; "), last);
            fire(&mut primed, way);
        }
    }
}

/// `each`, for ways that are commands in one step.
pub fn each_at_once(primed: Primed, ways: &[&[&'static str]]) {
    each(primed, ways, |primed, way| {
        primed.at_once(way);
        primed.check();
    });
}
