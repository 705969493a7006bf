//! The first start of workers on an empty database, and what is not a first start.

use crate::check::expect;
use crate::databases::Database;
use crate::harness::Server;
use crate::shop::{GROUP, STREAMS, Shop, databases};
use crate::worker::Worker;

const LOST: &str = "was written to other tables before";

impl Shop {
    /// What the tables say of a group: how many entries it lacks, and why it is to be checked.
    fn doubts(&self, group: &str) -> [String; 2] {
        let rest = format!("FROM seckill_groups WHERE group_name = '{group}'");
        let columns = ["deleted", "COALESCE(unchecked, 'nothing')"];
        let [row] = &self.database.texts(columns, &rest)[..] else { panic!("{rest}") };
        row.clone()
    }

    /// SQLite does not take such a change of the row of a group, until it is let.
    fn hold_back(&self, change: &str) {
        self.sql(&format!(
            "CREATE TRIGGER hold BEFORE {change} ON seckill_groups BEGIN SELECT RAISE(ABORT, \
             'held back'); END"
        ));
    }

    fn lose_the_database(&self) {
        let path = self.database.url.strip_prefix("sqlite:").expect("a file");
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{path}{end}"));
        }
    }
}

fn assert_no_doubts(shop: &Shop, group: &str, workers: &[Worker]) {
    for worker in workers {
        for word in [LOST, "was missing", "is to be checked"] {
            assert!(!worker.log().contains(word), "{}", worker.log());
        }
    }
    assert_eq!(shop.doubts(group), ["0", "nothing"]);
}

#[test]
fn workers_that_start_at_once_find_nothing_lost() {
    for database in databases() {
        let shop = Shop::open(database).selling("phone 100");
        shop.buy_many("phone", 0..9);
        for group in ["g0", "g1", "g2", "g3", "g4"] {
            let mut workers = [(); 3].map(|()| shop.once(&["--group", group]));
            for worker in &mut workers {
                assert!(worker.ended().success(), "{}", worker.log());
            }
            assert_no_doubts(&shop, group, &workers);
        }
    }
}

/// Two workers are held back before each write of the database, and one of them is killed there.
#[test]
fn a_first_start_that_is_interrupted_goes_on() {
    for change in ["INSERT", "UPDATE"] {
        let shop = Shop::of("phone 100");
        shop.buy_many("phone", 0..9);
        shop.drain(&["--group", "another"]);
        shop.hold_back(change);
        let mut workers = [(); 2].map(|()| shop.worker(&["--claim-after", "50ms"]));
        workers.iter().for_each(|worker| worker.wait_for_word("held back"));
        workers[0].kill9();
        shop.sql("DROP TRIGGER hold");
        shop.drain(&[]);
        shop.wait_until_drained(&mut workers[1]);
        assert_no_doubts(&shop, GROUP, &workers);
        shop.check();
    }
}

/// However early: before the group has read anything, and before the tables have it that the server
/// has their id.
#[test]
fn a_database_that_is_lost_is_told_however_early() {
    for is_held in [false, true] {
        let shop = Shop::of("phone 100");
        shop.drain(&["--group", "another"]);
        if is_held {
            shop.hold_back("UPDATE");
            let mut first = shop.worker(&[]);
            first.wait_for_word("held back");
            first.kill9();
        } else {
            shop.drain(&[]);
        }
        shop.lose_the_database();
        let second = shop.worker(&[]);
        second.wait_for_word(LOST);
        second.wait_for_word("is to be checked: the tables were lost, or are others");
    }
}

/// Two workers of a group that name two databases, at once.
#[test]
fn another_database_is_told_at_the_first_start() {
    let shop = Shop::of("phone 100");
    shop.drain(&["--group", "another"]);
    shop.hold_back("INSERT");
    let first = shop.worker(&[]);
    first.wait_for_word("held back");
    let other = Database::sqlite();
    let mut args = shop.worker_args();
    *args.last_mut().expect("the database") = other.url_to_make();
    let second = Worker::start(&args, shop.server.dir());
    let is_paired = format!("HEXISTS stream.orders.pairing {GROUP}");
    second.wait("its pairing", || shop.count(&is_paired) == 1);
    shop.sql("DROP TRIGGER hold");
    first.wait_for_word(LOST);
    assert!(!second.log().contains(LOST), "{}", second.log());
}

/// The ids of the entries up to which another consumer has read are a part of the pairing id.
#[test]
fn a_group_that_has_read_entries_of_any_ids_is_paired() {
    for shop in Shop::on_each("phone 100") {
        for stream in STREAMS {
            let id = format!("{}-{}", u64::MAX, u64::MAX - 1);
            shop.run(&format!("XADD {stream} {id} a b"));
            shop.run(&format!("XGROUP CREATE {stream} {GROUP} {id}"));
        }
        shop.drain(&[]);
        assert_eq!(shop.doubts(GROUP), ["0", "nothing"]);
    }
}

/// Each hash tag has streams of its own. What is not paired is not compared: nothing could be
/// answered.
#[test]
fn the_printed_command_pairs_the_streams_of_its_hash_tag() {
    let server = Server::with().config("seckill.hash-tags yes").start();
    let mut shop = Shop::on(server, Database::sqlite(), &["a", "b"]);
    shop.sell_managed("{a}7", 5, "LIMIT 5");
    shop.sell_managed("{b}7", 5, "LIMIT 5");
    shop.loses(&[], |shop| {
        shop.buy("{a}7", "ann", "1");
        shop.buy("{b}7", "ben", "2");
    });
    let mut worker = shop.once(&[]);
    worker.ended();
    assert!(!worker.log().contains("panicked"), "{}", worker.log());
    shop.resolves(&["--re-pair"], 1, &["nothing was done: a worker that reads stream.orders at"]);
    let told = expect(&shop, &[], 3, &["stream.orders:{a} is not paired with the tables"]);
    let commands: Vec<&str> =
        told.lines().filter_map(|line| Some(line.split_once("from now on: ")?.1)).collect();
    assert_eq!(commands.len(), 2, "{told}");
    shop.pasted(commands[0]);
    let half = expect(&shop, &[], 1, &["\n1. order 1 of ann for voucher {a}7", "\nDIFFERENT: 1 "]);
    let at = |words| half.find(words).expect("the words");
    assert!(at("stream.orders:{b} is not paired") < at("\n1. order 1 of ann"), "{half}");
    shop.pasted(commands[1]);
    shop.once(&[]).ended();
    expect(&shop, &[], 1, &["1. order 1 of ann for voucher {a}7", "2. order 2 of ben"]);
}
