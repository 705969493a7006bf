//! Releases: cancelled or expired rows, users who buy again, streams read in any order.

use redis::Value;

use crate::databases::{Database, Kind};
use crate::shop::{GROUP, Shop};
use crate::worker::until;

const RELEASED: &str = "stream.orders.released";

impl Shop {
    /// The state of a voucher's order in the table, "none" if there is no row.
    fn state(&self, voucher: &str, id: &str) -> String {
        let row = self.rows().remove(&(voucher.to_owned(), id.to_owned()));
        row.map_or_else(|| "none".to_owned(), |row| row.state)
    }

    fn cancel(&self, voucher: &str, user: &str, id: &str) {
        let cancelled = self.run(&format!("SECKILL.CANCEL {voucher} {user} {id}"));
        assert_eq!(cancelled, Value::Int(1), "{voucher} {user} {id}");
    }

    fn wait_for_state(&self, voucher: &str, id: &str, state: &str) {
        let what = format!("{voucher} {id} to be {state}");
        until(&what, || self.row_count() > 0 && self.state(voucher, id) == state);
    }

    /// A consumer reads the releases and never acknowledges, like a worker that dies.
    fn read_by_the_dead(&self) {
        self.run(&format!("XGROUP CREATE {RELEASED} {GROUP} 0"));
        let read = self.run(&format!("XREADGROUP GROUP {GROUP} dead STREAMS {RELEASED} >"));
        assert!(matches!(read, Value::Array(_)), "{read:?}");
    }
}

#[test]
fn cancelled_expired_and_bought_again() {
    for shop in Shop::on_each("phone 10, tea 10 LIMIT 1, cup 10 LIMIT 1 HOLD 30") {
        let mut worker = shop.worker(&["--retry", "5ms"]);
        for voucher in ["phone", "tea", "cup"] {
            shop.buy(voucher, "alice", "a1");
            shop.buy(voucher, "bob", "b1");
        }
        for voucher in ["phone", "tea"] {
            shop.cancel(voucher, "alice", "a1");
            shop.buy(voucher, "alice", "a2");
        }
        // An unmanaged voucher knows no order ids: a user may buy with the same one again.
        shop.cancel("phone", "bob", "b1");
        assert_eq!(shop.run("SECKILL.TRY phone bob b1"), Value::Int(0));
        shop.wait_for_state("cup", "a1", "expired");
        // Nobody is too late to cancel.
        assert_eq!(shop.run("SECKILL.ALTER cup HOLD 600000"), Value::Okay);
        shop.buy("cup", "alice", "a2");
        shop.cancel("cup", "alice", "a2");
        shop.wait_until_drained(&mut worker);
        shop.wait_for_state("cup", "b1", "expired");
        shop.wait_until_drained(&mut worker);
        for (voucher, id, state) in [
            ("phone", "a1", "cancelled"),
            ("phone", "a2", "sold"),
            ("phone", "b1", "sold"),
            ("tea", "a1", "cancelled"),
            ("tea", "a2", "sold"),
            ("cup", "a2", "cancelled"),
        ] {
            assert_eq!(shop.state(voucher, id), state, "{voucher} {id}");
        }
        shop.check();
        assert_eq!(shop.dead_letters().len(), 0);
        assert!(worker.terminate().success(), "{}", worker.log());
    }
}

/// A user's new order is read while the row of the old order is still live, because the consumer of
/// its release is dead. That is no reason to reject anything.
fn an_order_that_comes_before_the_give_back_of_the_last_one(kind: Kind) {
    let Some(database) = Database::open(kind) else { return };
    let shop = Shop::open(database).selling("phone 10, tea 10 LIMIT 1");
    for voucher in ["phone", "tea"] {
        shop.buy(voucher, "alice", "a1");
    }
    shop.drain(&[]);
    for voucher in ["phone", "tea"] {
        shop.cancel(voucher, "alice", "a1");
    }
    shop.read_by_the_dead();
    for voucher in ["phone", "tea"] {
        shop.buy(voucher, "alice", "a2");
    }
    let options = ["--retry", "2ms", "--claim-after", "1500ms"];
    let mut worker = shop.worker(&options);
    shop.wait_until_drained(&mut worker);
    for voucher in ["phone", "tea"] {
        assert_eq!(shop.state(voucher, "a1"), "cancelled", "{voucher}");
        assert_eq!(shop.state(voucher, "a2"), "sold", "{voucher}\n{}", worker.log());
    }
    shop.check();
    assert_eq!(shop.dead_letters().len(), 0);
    assert!(worker.terminate().success(), "{}", worker.log());
}

on_databases! {
    an_order_that_comes_before_the_give_back_of_the_last_one:
        sqlite Sqlite, postgres Postgres, mariadb MariaDb, mysql MySql
}
