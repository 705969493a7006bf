//! Held orders that can't be written, since their statements are at fault: they stay, and others go
//! on.

use crate::databases::Kind;
use crate::harness::wait_for;
use crate::policy::QUICK;
use crate::shop::{GROUP, Shop, databases};
use crate::worker::Worker;

impl Shop {
    /// A sale of held orders, the statements for which write a table of their own; the others write
    /// nothing. Returns the file of statements.
    pub fn with_held_orders(&mut self) -> String {
        self.sql("CREATE TABLE held_orders (id BIGINT PRIMARY KEY)");
        let id = match self.database.kind {
            Kind::Postgres => "CAST(:order_id AS BIGINT)",
            _ => ":order_id",
        };
        self.sell_managed("tea", 100, "HOLD 600000");
        (0..20).for_each(|number| self.buy("tea", &format!("u{number}"), &number.to_string()));
        self.statements(&format!("on_held = [\"INSERT INTO held_orders (id) VALUES ({id})\"]"))
    }

    /// A held order that can't be written stays, while confirmations of other orders are written.
    pub fn stays(&self, worker: &Worker, id: u32, paid: std::ops::Range<u32>) {
        let refused = || worker.log().matches("can't be written").count();
        let before = refused();
        self.buy("tea", &format!("u{id}"), &id.to_string());
        worker.wait("an order to be parked", || refused() > before);
        for number in paid {
            self.run(&format!("SECKILL.CONFIRM tea u{number} {number}"));
            let last = self.stream_field("stream.orders.confirmed", "last-generated-id");
            let written = wait_for("a confirmation to be written", || {
                let group = self.group("stream.orders.confirmed", GROUP)?;
                (group["last-delivered-id"] == last && group["pending"] == "0").then_some(())
            });
            written.unwrap_or_else(|late| panic!("{late}\n{}", worker.log()));
            self.let_pass(20);
        }
        self.wait_for_pending(worker, 1);
        self.nothing_is_released();
    }
}

/// Whatever else is written.
#[test]
fn an_order_stays_for_a_fault_of_its_statements() {
    for database in databases() {
        let mut shop = Shop::open(database);
        let file = shop.with_held_orders();
        let options = [&QUICK[..], &["--statements", &file]].concat();
        let mut worker = shop.worker(&options);
        shop.wait_until_drained(&mut worker);
        shop.sql("ALTER TABLE held_orders RENAME TO moved");
        shop.stays(&worker, 100, 0..10);
        shop.sql("ALTER TABLE moved RENAME TO held_orders");
        shop.wait_until_drained(&mut worker);
        shop.refuse("NEW.state = 'held'");
        shop.stays(&worker, 101, 10..20);
        shop.refuse_no_more();
        shop.wait_until_drained(&mut worker);
        assert!(worker.terminate().success(), "{}", worker.log());
        assert_eq!(shop.database.numbers(["COUNT(*)"], "FROM held_orders"), [[22]]);
        shop.check();
    }
}
