//! The first start of workers on an empty database, and what is not a first start.

use crate::databases::Database;
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
