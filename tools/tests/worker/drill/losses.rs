//! What is lost: one of these, at one of these moments, with or without the database.

use std::fs::{self, File};
use std::path::PathBuf;

use kit::harness::last_appended;
use redis::Value;

use super::{COMMANDS, Drill, UNITS};
use crate::harness::{Server, text};

/// What is lost, by what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Nothing,
    /// The server's end: it returns to its last save.
    Save,
    /// The end of its log.
    Log,
    /// What a replica lacks that becomes the primary.
    Replica,
    /// The same; then the old primary is back, each without what the other has sold.
    Split,
    /// The same; then the old primary follows the new one and takes over again: all that the
    /// worker sees is a process that it knows.
    Failback,
    /// All that the server has. The sales are opened anew, with what is unsold.
    Everything,
    /// What these commands of another client delete. The sale goes on.
    Deleted(&'static [&'static str]),
    /// A key of each sale, by its prefix: a copy is put in its place that is older.
    OldKey(&'static str),
    /// All keys of a shard.
    Shard,
}

/// When, in the life of what is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// No worker has read it.
    Unread,
    /// A worker has written it all.
    Read,
    /// Some of it.
    Mixed,
    Twice,
    /// Once, and what was answered then, after some answers.
    Answered,
    /// Once, and again while an answer is given.
    Answering,
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Mostly one operator; sometimes two, sometimes one who is killed.
    Mostly,
    /// Two at once, who don't agree.
    Two,
    /// One who is killed, and types it again.
    Killed,
}

#[derive(Clone, Copy, Debug)]
pub struct Loss {
    pub what: What,
    pub when: When,
    /// The database returns to a backup, too.
    pub database: bool,
    pub who: Who,
}

const fn of(what: What, when: When) -> Loss {
    Loss { what, when, database: false, who: Who::Mostly }
}

const fn deleted(when: When, by: &'static [&'static str]) -> Loss {
    of(What::Deleted(by), when)
}

const fn by(who: Who, what: What) -> Loss {
    Loss { who, ..of(what, When::Mixed) }
}

const fn with_database(what: What) -> Loss {
    Loss { database: true, ..of(what, When::Mixed) }
}

/// All kinds of loss. A round's is its seed, divided by how many there are.
pub const LOSSES: [Loss; 42] = [
    of(What::Save, When::Unread),
    of(What::Save, When::Read),
    of(What::Save, When::Twice),
    of(What::Save, When::Answered),
    of(What::Save, When::Answering),
    by(Who::Two, What::Save),
    by(Who::Killed, What::Save),
    of(What::Log, When::Unread),
    of(What::Log, When::Read),
    of(What::Log, When::Twice),
    of(What::Replica, When::Unread),
    of(What::Replica, When::Read),
    of(What::Replica, When::Twice),
    of(What::Replica, When::Answered),
    of(What::Replica, When::Answering),
    by(Who::Two, What::Replica),
    of(What::Split, When::Mixed),
    of(What::Failback, When::Unread),
    of(What::Failback, When::Read),
    of(What::Everything, When::Unread),
    of(What::Everything, When::Read),
    with_database(What::Nothing),
    with_database(What::Save),
    with_database(What::Replica),
    of(What::OldKey("book"), When::Mixed),
    of(What::OldKey("voucher"), When::Mixed),
    deleted(When::Mixed, &["DEL seckill:stock:7 seckill:stock:8"]),
    deleted(When::Mixed, &["DEL seckill:order:7 seckill:order:8"]),
    deleted(When::Mixed, &["DEL seckill:units:7 seckill:units:8"]),
    deleted(When::Mixed, &["DEL seckill:hold:7 seckill:hold:8"]),
    deleted(When::Mixed, &["DEL seckill:extra:7 seckill:extra:8"]),
    deleted(When::Mixed, &["DEL seckill:payments:7 seckill:payments:8"]),
    deleted(When::Mixed, &["DEL seckill:book:7 seckill:book:8"]),
    deleted(When::Mixed, &["DEL stream.orders.pairing"]),
    deleted(When::Unread, &["DEL stream.orders"]),
    deleted(When::Unread, &["DEL stream.orders.confirmed"]),
    deleted(When::Unread, &["DEL stream.orders.released"]),
    deleted(When::Unread, &["XGROUP DESTROY stream.orders seckill-worker"]),
    deleted(When::Unread, &["XTRIM stream.orders MAXLEN 2"]),
    deleted(
        When::Unread,
        &["XTRIM stream.orders.confirmed MAXLEN 2", "XTRIM stream.orders.released MAXLEN 2"],
    ),
    deleted(
        When::Read,
        &[
            "XGROUP SETID stream.orders seckill-worker 0",
            "XGROUP DESTROY stream.orders.released seckill-worker",
        ],
    ),
    of(What::Shard, When::Mixed),
];

/// To what a server returns.
pub enum Copy {
    Save,
    /// So many bytes of its log.
    Log(PathBuf, u64),
    Replica(Box<Server>),
}

impl Drill {
    pub fn lose(&mut self) {
        if !self.loss.database {
            return self.loses();
        }
        self.drain();
        let tables = ["tb_voucher_order", "tb_seckill_voucher"];
        self.shop.backs_up(&tables);
        self.loses();
        self.shop.restores(&tables);
        println!("-- the database is as it was");
    }

    fn loses(&mut self) {
        let vouchers = self.vouchers();
        match self.loss.what {
            What::Nothing => self.sell(),
            What::Save | What::Log | What::Replica | What::Split | What::Failback => {
                self.loses_its_end();
                if self.loss.when == When::Twice {
                    self.loses_its_end();
                }
                if matches!(self.loss.when, When::Answered | When::Answering) {
                    self.copies();
                    self.returns_after = self.random.u32(1..4);
                }
            }
            What::Everything => {
                self.sells_until_loss();
                self.shop.server.kill9();
                self.shop.server.start_again();
                for voucher in vouchers {
                    let rows = format!("FROM seckill_orders WHERE voucher_id = '{voucher}'");
                    let units = self.shop.database.numbers(["units"], &rows);
                    let units: i64 = units.iter().map(|[units]| units).sum();
                    self.opens(voucher, (UNITS - units).max(0));
                }
            }
            What::Deleted(commands) => {
                self.sells_until_loss();
                commands.iter().for_each(|command| _ = self.client(command));
                self.sells_until_loss();
            }
            What::OldKey(key) => {
                let names = vouchers.map(|it| format!("seckill:{key}:{it}"));
                for name in &names {
                    self.client(&format!("COPY {name} backup.{name}"));
                }
                self.sell();
                for name in &names {
                    self.client(&format!("RENAME backup.{name} {name}"));
                }
            }
            What::Shard => {
                self.sell();
                let voucher = *self.random.choice(&vouchers).expect("one");
                let Value::Array(keys) = self.shop.run(&format!("KEYS *{voucher}*")) else {
                    panic!("no keys");
                };
                for key in keys {
                    self.client(&format!("DEL {}", text(&key)));
                }
            }
        }
    }

    fn loses_its_end(&mut self) {
        self.copies();
        self.sells_until_loss();
        self.returns();
    }

    fn sells_until_loss(&mut self) {
        match self.loss.when {
            When::Unread => (0..COMMANDS).for_each(|_| self.command()),
            When::Read => {
                (0..COMMANDS).for_each(|_| self.command());
                self.drain();
            }
            _ => self.sell(),
        }
    }

    /// What comes after this is lost.
    fn copies(&mut self) {
        self.copy = Some(match self.loss.what {
            What::Log => {
                let log = last_appended(self.shop.server.dir());
                let end = fs::metadata(&log).expect("its log").len();
                Copy::Log(log, end)
            }
            What::Replica | What::Split | What::Failback => {
                let replica = Server::with().port().replica_of(&self.shop.server).start();
                self.shop.server.wait_for_replica(&replica);
                assert_eq!(replica.call(&["REPLICAOF", "NO", "ONE"]), Value::Okay);
                Copy::Replica(Box::new(replica))
            }
            _ => {
                self.client("SAVE");
                Copy::Save
            }
        });
    }

    pub fn returns(&mut self) {
        self.is_to_be_seen = true;
        match self.copy.take().expect("a copy") {
            Copy::Save => self.shop.returns_to_the_save(),
            Copy::Log(log, end) => {
                self.shop.server.kill9();
                let file = File::options().write(true).open(log).expect("its log");
                file.set_len(end).expect("a cut");
                self.shop.server.fix_aof();
                self.shop.server.start_again();
            }
            Copy::Replica(replica) => {
                let primary = self.sells_at(*replica);
                match self.loss.what {
                    What::Split => {
                        self.sell();
                        // To a worker that was never at the replica nothing is lost.
                        let is_seen = !self.is_to_be_seen;
                        self.sells_at(primary);
                        self.is_to_be_seen = is_seen;
                        self.sell();
                    }
                    What::Failback => {
                        (0..COMMANDS / 2).for_each(|_| self.command());
                        let port = self.shop.server.port().to_string();
                        let follow = primary.call(&["REPLICAOF", "127.0.0.1", &port]);
                        assert_eq!(follow, Value::Okay);
                        self.shop.server.wait_for_replica(&primary);
                        assert_eq!(primary.call(&["REPLICAOF", "NO", "ONE"]), Value::Okay);
                        self.sells_at(primary);
                    }
                    _ => {}
                }
            }
        }
        println!("-- the server has lost its end");
    }

    /// This is the server from now on. Returns the one before.
    fn sells_at(&mut self, server: Server) -> Server {
        let before = std::mem::replace(&mut self.shop.server, server);
        self.statements = self.shop.statements(&self.file());
        before
    }
}
