//! The worker's reaction to errors: an order that can't be written stays pending, and only an
//! operator releases sold units.

use std::collections::BTreeMap;

use redis::Value;

use crate::databases::{Database, Kind};
use crate::harness::{Server, text, wait_for};
use crate::shop::{GROUP, Shop, entries};
use crate::worker::Worker;

const TABLE: &str = "seckill_orders";
pub const QUICK: [&str; 4] = ["--retry", "5ms", "--claim-after", "200ms"];

impl Shop {
    /// Makes the table refuse rows for which a condition on `NEW` is true.
    pub fn refuse(&self, condition: &str) {
        let usual = if self.database.kind == Kind::Postgres { "P0001" } else { "1644" };
        self.refuse_with(condition, usual);
    }

    /// Like `refuse`, with an error of this number or state.
    fn refuse_with(&self, condition: &str, error: &str) {
        let when = format!("BEFORE INSERT ON {TABLE} FOR EACH ROW");
        match self.database.kind {
            Kind::Sqlite => self.sql(&format!(
                "CREATE TRIGGER broken {when} WHEN {condition} \
                 BEGIN SELECT RAISE(ABORT, 'the trigger is broken'); END"
            )),
            Kind::Postgres => {
                self.sql(&format!(
                    "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
                     $$ BEGIN RAISE EXCEPTION 'the trigger is broken' USING ERRCODE = '{error}'; \
                     END $$"
                ));
                self.sql(&format!(
                    "CREATE TRIGGER broken {when} WHEN ({condition}) EXECUTE FUNCTION refuse()"
                ));
            }
            Kind::MariaDb | Kind::MySql => self.sql(&format!(
                "CREATE TRIGGER broken {when} BEGIN IF {condition} THEN SIGNAL SQLSTATE '45000' \
                 SET MYSQL_ERRNO = {error}, MESSAGE_TEXT = 'the trigger is broken'; END IF; END"
            )),
        }
    }

    pub fn refuse_no_more(&self) {
        match self.database.kind {
            Kind::Postgres => self.sql(&format!("DROP TRIGGER broken ON {TABLE}")),
            _ => self.sql("DROP TRIGGER broken"),
        }
    }

    /// An operator gives up an entry; returns the exit code and the output.
    pub fn dead_letter(
        &self,
        entry: &str,
        options: &[&str],
        answer: &str,
    ) -> (Option<i32>, String) {
        self.asked(&[&["dead-letter", entry], options].concat(), answer)
    }

    /// The ids of pending entries of the order stream.
    pub fn pending(&self) -> Vec<String> {
        let pending = self.run(&format!("XPENDING stream.orders {GROUP} - + 1000"));
        let Value::Array(pending) = pending else { panic!("{pending:?}") };
        let id = |entry: &Value| match entry {
            Value::Array(fields) => text(&fields[0]),
            other => panic!("{other:?}"),
        };
        pending.iter().map(id).collect()
    }

    /// Waits until everything is read, and only this many orders are pending.
    pub fn wait_for_pending(&self, worker: &Worker, number: usize) {
        let last = self.stream_field("stream.orders", "last-generated-id");
        let reached = wait_for("entries to stay pending", || {
            let group = self.group("stream.orders", GROUP)?;
            let is_read = group["last-delivered-id"] == last;
            (is_read && group["pending"] == number.to_string()).then_some(())
        });
        reached.unwrap_or_else(|late| panic!("{late}: {:?}\n{}", self.pending(), worker.log()));
    }

    /// Checks that no entry was given up and no unit was released.
    pub fn nothing_is_released(&self) {
        assert_eq!(self.run("EXISTS stream.orders.dlq"), Value::Int(0));
        assert_eq!(entries(&self.server, "stream.orders.released").len(), 0);
    }
}

/// The next sale of the voucher has an order of the same id and user: it is not this one.
#[test]
fn an_entry_of_an_earlier_sale_can_be_given_up() {
    let shop = Shop::of("tea 9 LIMIT 5 HOLD 600000");
    shop.run(&format!("XGROUP CREATE stream.orders {GROUP} 0 MKSTREAM"));
    shop.buy("tea", "ann", "o1");
    shop.run(&format!("XREADGROUP GROUP {GROUP} away STREAMS stream.orders >"));
    shop.run("SECKILL.DROP tea FORCE");
    shop.run("SECKILL.CREATE tea 9 LIMIT 5 HOLD 600000");
    assert_eq!(shop.run("SECKILL.TRY tea ann o1 UNITS 2"), Value::Int(0));
    let entry = shop.pending().remove(0);
    let (code, said) = shop.dead_letter(&entry, &["--yes"], "");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("No sale that is on has the order of ann"), "{said}");
    assert_eq!((shop.pending().len(), &*shop.info("tea", "held")), (0, "2"));
}

/// Orders that are sold and confirmed, whose fields have the names of the server's settings.
#[test]
fn the_names_of_fields_are_the_servers_also_when_they_change() {
    let fields = "seckill.order-fields \"buyer item order\"";
    let shop = Shop::on(Server::with().config(fields).start(), Database::sqlite(), &[""])
        .selling("tea 50 HOLD 600000");
    for number in 0..20 {
        shop.buy("tea", &format!("u{number}"), &format!("o{number}"));
        shop.run(&format!("SECKILL.CONFIRM tea u{number} o{number}"));
    }
    shop.drain(&[]);
    assert_eq!(shop.rows().values().filter(|row| row.state == "sold").count(), 20);
    shop.server.call(&["CONFIG", "SET", "seckill.order-fields", "u v i"]);
    shop.buy("tea", "ann", "o99");
    shop.once(&["--unchecked"]).summary_with(3);
    shop.nothing_is_released();
    assert_eq!(shop.pending().len(), 1, "what may be an order stays");
    shop.drain(&[]);
    assert_eq!(shop.row_count(), 21);
}

/// The shop's script names fields as the server's settings don't.
#[test]
fn an_entry_with_other_fields_stays_until_the_worker_knows_them() {
    let shop = Shop::of("phone 50");
    for number in 0..30 {
        shop.run(&format!("XADD stream.orders * userId u{number} voucherId 7 orderId o{number}"));
    }
    shop.buy("phone", "ann", "o99");
    let mut worker = shop.once(&[]);
    worker.ended();
    let log = worker.log();
    let summary = worker.summary_with(3);
    assert_eq!((&summary["parked"], &summary["rows_inserted"]), (&30.into(), &1.into()));
    let told = "no field id, but it has userId voucherId orderId: if it is an order, start the \
                worker with --order-fields";
    assert!(log.contains(told), "{log}");
    assert_eq!(log.matches("and 29 more can't be written").count(), 1, "one line a batch: {log}");
    shop.nothing_is_released();
    let summary = shop.drain(&["--order-fields", "userId voucherId orderId"]);
    assert_eq!(summary["rows_inserted"], 30, "{summary}");
    shop.buy("phone", "ben", "o100");
    shop.drain(&["--order-fields", "userId voucherId orderId"]);
    assert_eq!(shop.row_count(), 32, "the server's names are known, too");
}

#[test]
fn settings_that_may_not_be_read_are_asked_for() {
    let shop = Shop::of("phone 10");
    shop.buy("phone", "ann", "o1");
    shop.run("ACL SETUSER default -info");
    shop.ends(&["--once"], 1, "+info");
    shop.drain(&["--unchecked"]);
    assert_eq!(shop.row_count(), 1);
}

/// A trigger of the table that refuses every order of a voucher, by a number or state of its own,
/// is not the orders' fault, and not that of others.
#[test]
fn what_refuses_some_orders_stops_no_others() {
    for shop in Shop::on_each("phone 1000, tea 100 HOLD 600000") {
        shop.drain(&[]);
        let errors: &[&str] = match shop.database.kind {
            Kind::Sqlite => &[""],
            Kind::Postgres => &["XY123", "21000", "44000", "42501", "57014", "40001"],
            Kind::MariaDb | Kind::MySql => &["1242", "1365", "31001", "1205"],
        };
        for (round, error) in errors.iter().enumerate() {
            shop.refuse_with("NEW.voucher_id = 'tea'", error);
            for number in 0..10 {
                shop.buy("tea", &format!("u{round}-{number}"), &format!("t{round}-{number}"));
                shop.buy("phone", &format!("u{round}-{number}"), &format!("p{round}-{number}"));
            }
            let mut worker = shop.worker(&QUICK);
            shop.wait_for_pending(&worker, 10);
            shop.buy("phone", &format!("late{round}"), &format!("late{round}"));
            shop.wait_for_pending(&worker, 10);
            assert!(!worker.log().contains("database is down"), "{error}: {}", worker.log());
            shop.nothing_is_released();
            shop.refuse_no_more();
            shop.wait_until_drained(&mut worker);
            assert_eq!(worker.terminate().code(), Some(0), "{}", worker.log());
            shop.check();
            assert_eq!(shop.row_count(), 21 * (round + 1));
        }
    }
}

/// Orders that the database refuses stay pending, sold ones and held ones.
#[test]
fn what_the_database_refuses_is_released_by_nobody() {
    for shop in Shop::on_each("phone 1000000, tea 100 HOLD 600000, cup 100 LIMIT 1") {
        shop.drain(&[]);
        shop.refuse("NEW.units > 0 AND NEW.order_id IN ('paid', 'held', 'sold', 'plain')");
        for (voucher, id) in [("tea", "paid"), ("tea", "held"), ("cup", "sold"), ("phone", "plain")]
        {
            shop.buy(voucher, &format!("user-{id}"), id);
        }
        shop.run("SECKILL.CONFIRM tea user-paid paid");
        let mut worker = shop.worker(&QUICK);
        // The confirmation is refused with its order: it would make the same row.
        shop.wait_for_pending(&worker, 4);
        // An order of another user that the database accepts shows that the database works.
        for number in 0..20 {
            shop.buy_many("phone", number..number + 1);
            shop.let_pass(20);
        }
        shop.wait_for_pending(&worker, 4);
        shop.nothing_is_released();
        shop.refuse_no_more();
        shop.wait_until_drained(&mut worker);
        assert!(worker.terminate().success(), "{}", worker.log());
        shop.check();
    }
}

/// The fault of an entry must be recorded, but the dead letters can't be written.
#[test]
fn a_dead_letter_that_is_refused_loses_nothing() {
    let shop = Shop::of("phone 10");
    shop.buy("phone", "ann", "o1");
    shop.run("XADD stream.orders.released * userId ann voucherId phone id o1 reason whim");
    shop.run("SET stream.orders.released.dlq nonsense");
    let mut worker = shop.worker(&QUICK);
    worker.wait_for_word("no dead letter can be made");
    let group = shop.group("stream.orders.released", GROUP).expect("a group");
    assert_eq!(group["pending"], "1");
    shop.run("DEL stream.orders.released.dlq");
    shop.wait_until_drained(&mut worker);
    let letters: Vec<BTreeMap<String, String>> =
        entries(&shop.server, "stream.orders.released.dlq").into_iter().map(|it| it.1).collect();
    assert_eq!(letters.len(), 1);
    assert_eq!((&*letters[0]["reason"], &*letters[0]["dlqOrder"]), ("whim", "unknown"));
    shop.check();
}

#[test]
fn an_operator_is_asked_before_anything_is_given_up() {
    let shop = Shop::of("tea 100 HOLD 600000 LIMIT 5");
    shop.drain(&[]);
    shop.refuse("NEW.units > 0");
    for id in ["paid", "held", "kept\u{202e}"] {
        shop.buy("tea", "ann", id);
    }
    shop.run("SECKILL.CONFIRM tea ann paid");
    shop.once(&[]).summary_with(3);
    let pending = shop.pending();
    assert_eq!(pending.len(), 3);
    let left = || shop.run("GET seckill:stock:tea");
    assert_eq!(left(), Value::BulkString(b"97".to_vec()));
    for (entry, answer, words) in [
        (&*pending[0], "no\n", "SOLD: it may be paid"),
        (&*pending[0], "y\n", "nothing was done"),
        (&*pending[0], "", "nothing was done"),
        ("17", "yes\n", "17-0 of stream.orders is not pending"),
    ] {
        let (code, said) = shop.dead_letter(entry, &[], answer);
        assert_eq!(code, Some(1), "{entry} {answer}: {said}");
        assert!(said.contains(words), "{entry} {answer}: {said}");
    }
    let (code, said) = shop.dead_letter("O1", &[], "yes\n");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("must be the id of a stream entry, such as 15"), "{said}");
    // The server has lost an order, whose user tried again and is in the queue.
    let Value::BulkString(held) = shop.run("HGET seckill:book:tea held") else { panic!() };
    for (entry, words) in
        [(&b"waiting:1:99:ann"[..], "waits in the queue"), (&held[..], "held, not paid")]
    {
        shop.server.call(&[b"HSET", b"seckill:book:tea".as_slice(), b"held", entry]);
        let (code, said) = shop.dead_letter(&pending[1], &[], "no\n");
        assert!(code == Some(1) && said.contains(words), "{said}");
    }
    assert_eq!(shop.pending(), pending);
    shop.nothing_is_released();

    let (code, said) = shop.dead_letter(&pending[0], &["--reason", "refunded"], "yes\n");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(left(), Value::BulkString(b"98".to_vec()));
    let (code, said) = shop.dead_letter(&pending[1], &[], "yes\n");
    assert!(code == Some(0) && said.contains("held, not paid"), "{said}");
    assert_eq!(left(), Value::BulkString(b"99".to_vec()));
    let (code, said) = shop.dead_letter(&pending[2], &["--keep-units"], "yes\n");
    assert!(code == Some(0) && said.contains("Its units stay sold"), "{said}");
    // What was bought can't disguise the question.
    assert!(said.contains(r"kept\u{202e}") && !said.contains('\u{202e}'), "{said}");
    assert_eq!(left(), Value::BulkString(b"99".to_vec()));
    let letters = shop.dead_letters();
    let letters: Vec<_> = letters.iter().map(|it| (&*it["dlqReason"], &*it["dlqOrder"])).collect();
    let by_operator = "given up by an operator";
    assert_eq!(
        letters,
        [("refunded", "rejected"), (by_operator, "rejected"), (by_operator, "unknown")]
    );
    assert!(shop.pending().is_empty());
}
