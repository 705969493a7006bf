//! Each sale of a voucher has an id: a late request for an earlier sale changes nothing.

use crate::harness::Server;
use crate::reject::{letter, ordered};
use redis::Value;
use std::collections::HashSet;

const CREATE: &str = "SECKILL.CREATE 7 5 HOLD 900000";

/// Rejects an entry of the order stream; returns its order's fate by the dead letter.
fn rejected(server: &Server, id: &str) -> String {
    server.check(&format!("> SECKILL.REJECT stream.orders g {id}\n1"));
    letter(server, "stream.orders.dlq", "dlqOrder")
}

#[test]
fn what_is_late_from_an_earlier_sale_touches_nothing() {
    let server = Server::observed().start();
    server.run(CREATE);
    let old_entry = ordered(&server, "SECKILL.TRY 7 alice o1");
    let old = server.sale_of("7");
    server.check("> SECKILL.DROP 7 FORCE\n1");
    server.run(CREATE);
    let new = server.sale_of("7");
    assert_ne!(old, new);
    let entry = ordered(&server, "SECKILL.TRY 7 alice o1");
    for late in ["CONFIRM 7 alice o1", "CANCEL 7 alice o1", "EXTEND 7 alice o1 9000000"] {
        let reply = server.silent(&format!("SECKILL.{late} SALE {old}"));
        assert_eq!(reply, Value::Int(0), "{late}");
    }
    assert_eq!(
        server.silent(&format!("SECKILL.CANCEL 7 alice o1 SALE {old} IF held")),
        Value::Int(0)
    );
    for late in ["DROP 7 FORCE", "ALTER 7 END 1", "RESTOCK 7 5", "RESTOCK 7 TOTAL 9"] {
        server.refused(&format!("SECKILL.{late} SALE {old}"), "SALE");
    }
    for late in ["bob o2", "alice o1"] {
        assert_eq!(server.silent(&format!("SECKILL.TRY 7 {late} SALE {old}")), Value::Int(4));
    }
    assert_eq!(rejected(&server, &old_entry), "unknown");
    server.assert_book("7", [4, 1, 0]);
    // The id of the current sale.
    server.check(&format!("> SECKILL.TRY 7 alice o1 SALE {new}\n0"));
    server.check(&format!("> SECKILL.ALTER 7 SALE {new} LIMIT 2\nOK"));
    server.check(&format!("> SECKILL.RESTOCK 7 TOTAL 5 SALE {new}\n4"));
    server.check(&format!("> SECKILL.EXTEND 7 alice o1 9000000 SALE {new}\n1"));
    server.check(&format!("> SECKILL.CONFIRM 7 alice o1 sale {new}\n1"));
    server.check(&format!("> SECKILL.CANCEL 7 alice o1 IF held SALE {new}\n3"));
    assert_eq!(rejected(&server, &entry), "rejected");
    server.assert_book("7", [5, 0, 0]);
    // A voucher that has no rules any more is not changed either.
    let entry = ordered(&server, "SECKILL.TRY 7 bob o2");
    server.check("> SECKILL.DROP 7 FORCE\n1\n> SET seckill:stock:7 5\nOK");
    server.check("> SECKILL.TRY 7 bob o2\n0");
    assert_eq!(rejected(&server, &entry), "unknown");
    server.check("> GET seckill:stock:7\n4\n> SCARD seckill:order:7\n1");
    // An application's own field of this name does not name a sale.
    let entry = crate::reject::appended(
        &server,
        "stream.orders",
        "userId bob voucherId 7 id o2 sale summer",
    );
    assert_eq!(rejected(&server, &entry), "rejected");
}

#[test]
fn sales_made_at_once_have_ids_of_their_own() {
    let server = Server::start();
    let mut seen = HashSet::new();
    for _ in 0..100 {
        let steps = [
            CREATE, "SECKILL.INFO 7", "SECKILL.DROP 7", CREATE, "SECKILL.INFO 7", "SECKILL.DROP 7",
        ];
        let replies = server.transaction(&steps);
        for info in [&replies[1], &replies[4]] {
            let Value::Array(pairs) = info else { panic!("{info:?}") };
            let name = Value::BulkString(b"sale".to_vec());
            let pair = pairs.chunks(2).find(|pair| pair[0] == name);
            let Some([_, Value::Int(sale)]) = pair else { panic!("{info:?}") };
            assert!(seen.insert(*sale), "{sale} twice");
            assert!(sale.to_string().len() == 16, "{sale}");
        }
    }
}

#[test]
fn a_sale_keeps_its_id() {
    let server = Server::observed().start();
    server.run("SET seckill:stock:7 9");
    server.check("> SECKILL.CREATE 7 ADOPT LIMIT 2\nOK");
    let sale = server.sale_of("7");
    server.check("> SECKILL.ALTER 7 LIMIT 3 HOLD 900000\nOK\n> SECKILL.RESTOCK 7 5\n14");
    assert_eq!(server.sale_of("7"), sale);
    server.assert_reload_changes_nothing();
    assert_eq!(server.sale_of("7"), sale);
    // An unmanaged sale has no id.
    server.run("SET seckill:stock:8 9");
    let Value::Array(pairs) = server.run("SECKILL.INFO 8") else { panic!("no pairs") };
    assert_eq!(pairs[25], Value::Nil);
}
