//! What is lost.

use std::fs::{self, File};

use kit::harness::last_appended;
use redis::Value;

use super::{COMMANDS, Drill, VOUCHERS, file};
use crate::harness::Server;
use crate::shop::STREAMS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The server returns to its last save, and so do its clients' answers.
    OlderRdb,
    /// Twice.
    Two,
    /// A replica that lacks the end becomes the primary.
    Promotion,
    /// A replica becomes the primary, then the old primary is back, each without what the other
    /// has sold.
    Failback,
    /// The end of the log is lost.
    CutLog,
    /// The database returns to a backup.
    Database,
    /// Server and database return, each to its own backup.
    Both,
    /// The pairing id is deleted.
    Pairing,
    /// The records of payments are deleted.
    Payments,
    /// A stream is deleted, and with it its group.
    Stream,
    /// Entries are deleted before they were read.
    Trimmed,
    /// The group reads everything again.
    ReadAgain,
    /// The server returns to its last save after answers of the operator.
    Resolved,
}

pub const LOSSES: [Loss; 13] = [
    Loss::OlderRdb,
    Loss::Two,
    Loss::Promotion,
    Loss::Failback,
    Loss::CutLog,
    Loss::Database,
    Loss::Both,
    Loss::Pairing,
    Loss::Payments,
    Loss::Stream,
    Loss::Trimmed,
    Loss::ReadAgain,
    Loss::Resolved,
];

impl Drill {
    pub fn lose(&mut self, loss: Loss) {
        match loss {
            Loss::OlderRdb => self.returns(),
            Loss::Two => (0..2).for_each(|_| self.returns()),
            Loss::Promotion => _ = self.promotes(),
            Loss::Failback => {
                let primary = self.promotes();
                self.sell();
                self.sells_at(primary);
                self.sell();
            }
            Loss::CutLog => {
                let log = last_appended(self.shop.server.dir());
                let end = fs::metadata(&log).expect("its log").len();
                self.sell();
                self.shop.server.kill9();
                let file = File::options().write(true).open(log).expect("its log");
                file.set_len(end).expect("a cut");
                self.shop.server.fix_aof();
                self.shop.server.start_again();
            }
            Loss::Database => self.restores(Self::sell),
            Loss::Both => self.restores(Self::returns),
            Loss::Pairing => {
                self.sell();
                self.client("DEL stream.orders.pairing");
            }
            Loss::Payments => {
                self.sell();
                for voucher in VOUCHERS {
                    self.client(&format!("DEL seckill:payments:{voucher}"));
                }
            }
            Loss::Stream => {
                (0..COMMANDS).for_each(|_| self.command());
                let stream = *self.random.choice(&STREAMS).expect("one");
                self.client(&format!("DEL {stream}"));
                (0..COMMANDS).for_each(|_| self.command());
            }
            Loss::Trimmed => {
                (0..COMMANDS).for_each(|_| self.command());
                for stream in STREAMS {
                    self.client(&format!("XTRIM {stream} MAXLEN 2"));
                }
            }
            Loss::ReadAgain => {
                self.sell();
                self.shop.read_again();
            }
            Loss::Resolved => {
                self.returns();
                self.client("SAVE");
                self.returns_after = self.random.u32(1..4);
            }
        }
    }

    /// What is sold after a save is lost.
    fn returns(&mut self) {
        self.client("SAVE");
        self.sell();
        self.returns_to_the_save();
    }

    pub fn returns_to_the_save(&mut self) {
        self.shop.returns_to_the_save();
        println!("-- the server returns to its save");
    }

    /// A replica lacks what is sold after its promotion. Returns the primary before.
    fn promotes(&mut self) -> Server {
        let replica = Server::with().port().replica_of(&self.shop.server).start();
        self.shop.server.wait_for_replica(&replica);
        assert_eq!(replica.call(&["REPLICAOF", "NO", "ONE"]), Value::Okay);
        self.sell();
        println!("-- the replica is the primary");
        self.sells_at(replica)
    }

    /// This is the server from now on. Returns the one before.
    fn sells_at(&mut self, server: Server) -> Server {
        let before = std::mem::replace(&mut self.shop.server, server);
        self.statements = self.shop.statements(&file(self.shop.database.kind));
        before
    }

    /// The database returns to its backup after this.
    fn restores(&mut self, act: impl FnOnce(&mut Self)) {
        // Of a database server another test makes no backup: there the worker was down.
        let Some(path) = self.shop.database.url.strip_prefix("sqlite:").map(str::to_owned) else {
            return act(self);
        };
        let backup = format!("{path}.backup");
        self.drain();
        fs::copy(&path, &backup).expect("a backup");
        act(self);
        for more in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{path}{more}"));
        }
        fs::copy(&backup, &path).expect("it is restored");
        println!("-- the database returns to its backup");
    }
}
